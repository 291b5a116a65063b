"""What opens or ends something is traced however little it does; questions and values are not."""
from abc import ABC, abstractmethod
from typing import overload
from dftracer.python import dft_fn as DFTracerFn

_dft = DFTracerFn("lifecycle-names")


class Backend(ABC):
    @abstractmethod
    def open(self, path): ...

    @overload
    def save(self, path: str) -> None: ...

    @overload
    def save(self, path: int) -> None: ...

    @_dft.log
    def save(self, path):
        self.last = path

    @_dft.log
    def db_close(self):
        self.db = None

    def is_open(self):
        return self.db is not None

    def needs_sync(self):
        return False

    @property
    def auto_save(self):
        return True

    @_dft.log
    def checkpoint_all(self):
        self.saved = True

    def name(self):
        return self.__class__.__name__

    def __repr__(self):
        return f"<{open(self.path).read()}>"
