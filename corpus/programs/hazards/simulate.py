"""Everything that a careless decorator breaks, used for real."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import pickle
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, overload


def resize(image: list[int], image_size: tuple[int, int] = (2, 2)) -> list[list[int]]:
    rows = []
    for row in range(image_size[0]):
        rows.append(image[row * image_size[1] : (row + 1) * image_size[1]])
    return rows


def schedule(total: int, epoch: int | None = None, step: str = "linear") -> list[float]:
    rates = []
    for number in range(total):
        rates.append(number / total if epoch is None else epoch * 1.0)
    return [*rates, len(step)]


class Base(ABC):
    registry: dict[str, type[Base]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        Base.registry[cls.__name__] = cls

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.opened = 0
        for number in range(2):
            self.opened += number

    @property
    def log_path(self) -> Path:
        for suffix in (".log",):
            return self.folder / (type(self).__name__.lower() + suffix)
        raise AssertionError

    @log_path.setter
    def log_path(self, value: Path) -> None:
        with open(value, "w") as stream:
            stream.write("moved")

    @functools.cached_property
    def table(self) -> list[int]:
        return [number * number for number in range(10)]

    @staticmethod
    def check(values: list[int]) -> int:
        total = 0
        for value in values:
            total += value
        return total

    @classmethod
    def create(cls, folder: Path, *names: str) -> list[Base]:
        made = []
        for name in names:
            made.append(cls.registry[name](folder))
        return made

    @abstractmethod
    def step(self) -> int: ...

    def save(self) -> None:
        with open(self.log_path, "a") as stream:
            stream.write(f"{self.opened}\n")

    def __getstate__(self) -> dict[str, Any]:
        return {"folder": self.folder, "opened": self.opened}


class Walker(Base):
    """A method called step: an inspecting decorator takes it for a number."""

    def step(self) -> int:
        for _ in range(3):
            self.opened += 1
        self.save()
        return self.opened

    def __enter__(self) -> Walker:
        self.save()
        return self

    def __exit__(self, *error: object) -> bool:
        self.save()
        return error[0] is KeyError


class Runner(Walker):
    """An attribute called epoch that is no number, and a super() without arguments."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.epoch = None
        with open(folder / "runner", "w") as stream:
            stream.write("made")

    def step(self) -> int:
        return super().step() + 10

    def load(self) -> list[str]:
        with open(self.log_path) as stream:
            return stream.read().split()


class Proxy:
    """Everything asked of it is a bound method of something else."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def touch(self) -> str:
        with open(self._inner.folder / "touched", "w") as stream:
            stream.write("x")
        return type(self._inner).__name__


@dataclass(order=True)
class Point:
    x: int
    y: int = 0
    near: list[int] = field(default_factory=list, compare=False)

    def __post_init__(self) -> None:
        for distance in range(2):
            self.near.append(self.x + distance)


@overload
def parse(value: int) -> int: ...
@overload
def parse(value: str) -> str: ...
def parse(value: int | str) -> int | str:
    for kind in (int, str):
        if isinstance(value, kind):
            return value
    raise TypeError(value)


@functools.lru_cache(maxsize=None)
def fibonacci(number: int) -> int:
    return number if number < 2 else fibonacci(number - 1) + fibonacci(number - 2)


def factorial(number: int) -> int:
    for smaller in (number - 1,):
        if smaller > 0:
            return number * factorial(smaller)
    return 1


def numbers(path: Path):
    with open(path) as stream:
        for line in stream:
            yield int(line)


@contextlib.contextmanager
def opened(path: Path):
    with open(path, "w") as stream:
        yield stream


async def read(path: Path) -> str:
    await asyncio.sleep(0)
    with open(path) as stream:
        return stream.read()


async def ticks(count: int):
    for number in range(count):
        await asyncio.sleep(0)
        yield number


async def read_all(path: Path) -> int:
    texts = await asyncio.gather(*(read(path) for _ in range(3)))
    return sum(map(len, texts)) + sum([number async for number in ticks(4)])


def fails_at(number: int, limit: int) -> int:
    for value in range(number):
        if value == limit:
            raise LookupError(value)
    return number


def caller_name() -> str:
    for frame in inspect.stack()[1:2]:
        return frame.function
    return ""


def named() -> str:
    names = []
    for _ in range(1):
        names.append(caller_name())
    return names[0]


def make_counter():
    count = 0

    def increase(by: int = 1) -> int:
        nonlocal count
        for _ in range(by):
            count += 1
        return count

    return increase


if sys.version_info >= (3,):

    def which() -> str:
        """The one that is defined."""
        with contextlib.suppress(KeyError):
            return "new"
        return ""

else:

    def which() -> str:
        with contextlib.suppress(KeyError):
            return "old"
        return ""


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    print(resize([1, 2, 3, 4]), resize([1, 2, 3], image_size=(3, 1)))
    print(schedule(2), schedule(2, epoch=3), schedule(1, None, "s"))
    walker, runner = Base.create(folder, "Walker", "Runner")
    print(walker.step(), runner.step(), runner.step(), Base.check([1, 2]), walker.check([3]))
    print(walker.table[3], walker.log_path.name)
    walker.log_path = folder / "moved.txt"
    with walker:
        raise KeyError("swallowed by __exit__")
    print(runner.load())


def more(folder: Path) -> None:
    runner = Runner(folder)
    print(pickle.loads(pickle.dumps(runner)).opened, Proxy(runner).touch(), Proxy(runner).load())
    print(Point(1) < Point(2, 1), Point(3).near, parse(1), parse("a"))
    print(fibonacci(20), fibonacci.cache_info().hits, factorial(5))
    with opened(folder / "numbers.txt") as stream:
        stream.write("1\n2\n3\n")
    print(sum(numbers(folder / "numbers.txt")), inspect.isgeneratorfunction(numbers))
    print(asyncio.run(read_all(folder / "numbers.txt")), inspect.iscoroutinefunction(read_all))
    for limit in (2, 9):
        try:
            print(fails_at(5, limit))
        except LookupError as error:
            print("lookup", error)
    print(named(), str(inspect.signature(schedule)), which())
    increase = make_counter()
    increase(2)
    print(increase())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
    more(Path(sys.argv[1]))
