"""Finding the members of a folder (codemods, rules, checks) in its modules, so that no list names them."""

from __future__ import annotations

from types import ModuleType
from typing import Any


def classes_in(module: ModuleType, base: type) -> list[Any]:
    """The subclasses of ``base`` that ``module`` itself defines, in the order of the source."""
    # On Python 3.10 ``isinstance`` takes ``list[int]`` and ``Callable[[int], str]`` for classes: their type is asked.
    return [
        value
        for value in vars(module).values()
        if issubclass(type(value), type) and issubclass(value, base) and value.__module__ == module.__name__
    ]
