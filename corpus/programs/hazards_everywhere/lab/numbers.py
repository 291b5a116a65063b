"""Functions that look at frames, that call themselves, or that are not plain ones."""

import inspect
import sys
import warnings
from contextlib import contextmanager
from typing import overload

count = 0


def counted(n):
    def add(m):
        global count
        nonlocal n
        count += m
        n -= 1
        return n

    while add(1):
        pass
    else:
        return count


def factorial(n): return 1 if n < 2 else n * factorial(n - 1)


def squares(n):
    for number in range(n):
        yield number * number


def caller():
    for frame in (sys._getframe(1),):
        return frame.f_code.co_name


def where_am_i():
    for name in (caller(), inspect.currentframe().f_code.co_name):
        if name != "where_am_i":
            return name
    return "here"


def warn_of_the_caller(text):
    for level in (3,):
        warnings.warn(text, DeprecationWarning, stacklevel=3)


def deprecated():
    for text in ("old",):
        warn_of_the_caller(text)


def old_way():
    for _ in range(1):
        deprecated()


@contextmanager
def undone(table):
    before = dict(table)
    yield table
    table.update(before)


@overload
def fails(step: int) -> int: ...
@overload
def fails(step: None = None) -> None: ...
def fails(step=None):
    with undone({}) as table:
        table["x"] = step
        match table:
            case {"x": None}:
                raise LookupError("""none
  at all""")


class Table(dict):
    def __missing__(self, key):
        for known in self:
            print(known)
        raise KeyError(key)


if sys.version_info > (3,):
    async def late(): return "late"
else:
    def late(): return None
del late
