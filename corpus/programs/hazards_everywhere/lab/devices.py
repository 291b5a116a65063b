"""Devices: attributes that are no numbers, in the class, its objects, its bases and its heirs."""

from __future__ import annotations

import asyncio
import functools
from pathlib import Path
from typing import Any


class Base:
    """Its heirs have a method called step."""

    def __init__(self, folder: Path, image_size: tuple[int, int] = (1, 1), **options: Any) -> None:
        self.folder = folder
        self.image_size = image_size
        self.__dict__.update(options)

    @property
    def path(self) -> Path:
        """Where the device writes."""
        # the last one wins
        for path in (None, self._path):
            pass
        return path

    @path.setter
    def path(self, value: Path) -> None:
        with open(value, "w") as stream:
            stream.write("""empty
  so far
""")
        self._path = value

    @path.deleter
    def path(self) -> None: self._path.stat(); self._path.unlink(); del self._path

    @functools.cached_property
    def area(self) -> int:
        total = 0
        for side in self.image_size: total += side
        return total

    @staticmethod
    def volume(*sides: int) -> int:
        product = 1
        for side in sides:
            product *= side
        return product

    @classmethod
    def named(cls, name: str) -> Base:
        def make(step: str = "s") -> Base:
            nonlocal name
            name += step
            return cls(Path(name))

        return make()

    def save(self, text: str, epoch: object = None) -> None:
        with open(self.path, "a") as stream:
            stream.write(text)

    def load(self) -> list[str]:
        with open(self.path) as stream:
            return stream.read().split()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Base) and self.folder == other.folder

    def __len__(self) -> int:
        return len(self.image_size)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class Camera(Base):
    """A method called step, which is recursive."""

    def step(self, n: int) -> int:
        for more in (1,):
            n -= more
        return n if n < 0 else self.step(n)


class Scanner(Camera):
    """super() without arguments, and the cell that it needs."""

    @property
    def path(self) -> Path:
        try:
            for path in (super().path, super().path):
                pass
            return path
        finally:
            self.asked = __class__.__name__

    @path.setter
    def path(self, value: Path) -> None:
        value.parent.stat()
        Base.path.fset(self, value)

    @path.deleter
    def path(self) -> None:
        self._path.stat()
        Base.path.fdel(self)


class Proxy(Camera):
    """Has whatever it is asked for."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return f"no {name}"


class Line:
    async def __aenter__(self) -> Line:
        await asyncio.sleep(0)
        return self

    async def __aexit__(self, *error: object) -> None:
        for _ in range(2):
            await asyncio.sleep(0)

    async def fetch(self, folder: Path, step: int) -> str:
        """Fetch."""
        await asyncio.sleep(0)
        if step == 1:
            raise ConnectionError(step)
        with open(folder / f"{step}", "w+") as stream:
            stream.write(f"{step}")
        return "fetched" if step else \
            "first"
