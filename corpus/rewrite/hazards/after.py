"""What the tracer would break or hide is left alone; its neighbours are traced."""
import contextlib
import functools
import sys
import warnings
from dftracer.python import dftracer, dft_fn as DFTracerFn

_dft = DFTracerFn("hazards")


class Schedule:
    """The tracer would read ``self.step`` and turn it into an int."""

    def step(self):
        with open("schedule.log", "a") as stream:
            stream.write("step\n")


class Proxy:
    def __getattr__(self, name):
        return functools.partial(print, name)

    def load(self, path):
        return open(path).read()


class Store:
    @_dft.log_init
    def __init__(self, path):
        self._file = open(path)

    @property
    def size(self):
        return self._file.seek(0, 2)

    @staticmethod
    def remove(path):
        open(path, "w").close()

    @classmethod
    def open_all(cls, paths):
        return [cls(path) for path in paths]

    @functools.cached_property
    def text(self):
        return self._file.read()

    def lines(self):
        yield from self._file

    @_dft.log
    def flush(self):
        self._file.flush()

    def __len__(self):
        return len(self._file.read())


@contextlib.contextmanager
def opened(path):
    with open(path) as stream:
        yield stream


def caller():
    return open(sys._getframe(1).f_code.co_filename).read()


def deprecated(path):
    warnings.warn("use load", DeprecationWarning, 2)
    return open(path).read()


def walk(tree):
    for child in tree:
        walk(child)


def resize(image, image_size):
    image.save(f"{image_size}.png")


def configure(**options):
    for name, value in options.items():
        print(name, value, file=open("options", "a"))


def load(self):
    return self.path.read_text()


Schedule.load = load
