"""What the tracer would break or hide is left alone; its neighbours are traced."""
import contextlib
import functools
import sys
import warnings
from dftracer.python import dft_fn as DFTracerFn

_dft = DFTracerFn("hazards")


class Schedule:
    """The tracer would read ``self.step`` and turn it into an int."""

    @_dft.log_static
    def step(self):
        with open("schedule.log", "a") as stream:
            stream.write("step\n")


class Proxy:
    def __getattr__(self, name):
        return functools.partial(print, name)

    @_dft.log_static
    def load(self, path):
        return open(path).read()


class Store:
    @_dft.log_init
    def __init__(self, path):
        self._file = open(path)

    @property
    def size(self):
        with DFTracerFn("hazards", name="size"):
            return self._file.seek(0, 2)

    @staticmethod
    def remove(path):
        with DFTracerFn("hazards", name="remove"):
            open(path, "w").close()

    @classmethod
    @_dft.log
    def open_all(cls, paths):
        return [cls(path) for path in paths]

    @functools.cached_property
    def text(self):
        with DFTracerFn("hazards", name="text"):
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
    with DFTracerFn("hazards", name="caller"):
        return open(sys._getframe(1).f_code.co_filename).read()


def deprecated(path):
    with DFTracerFn("hazards", name="deprecated"):
        warnings.warn("use load", DeprecationWarning, 2)
        return open(path).read()


def walk(tree):
    with DFTracerFn("hazards", name="walk"):
        for child in tree:
            walk(child)


@_dft.log_static
def resize(image, image_size):
    image.save(f"{image_size}.png")


@_dft.log_static
def configure(**options):
    for name, value in options.items():
        print(name, value, file=open("options", "a"))


@_dft.log_static
def load(self):
    return self.path.read_text()


Schedule.load = load
