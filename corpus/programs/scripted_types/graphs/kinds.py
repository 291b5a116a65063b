from enum import Enum
from typing import Dict, List, NamedTuple, Optional

from .sparse import Adj as Adjacency

OptAdj = Optional[Adjacency]


class Scale:
    """The type of a field of a named tuple."""

    def __init__(self, by: int):
        self.by = by

    def factor(self) -> int:
        result = self.by
        return result


class Window(NamedTuple):
    scale: Scale
    size: int

    def area(self):
        size = self.size
        return size * size


class Mode(Enum):
    MEAN = 1
    SUM = 2

    def label(self):
        words = [self.name, str(self.value)]
        return " ".join(words)


class Mark:
    """Named in a type comment."""

    def __init__(self, at: int):
        self.at = at

    def doubled(self) -> int:
        result = self.at * 2
        return result


class Bias:
    """Made on the way."""

    def __init__(self, start: int):
        self.start = start

    def value(self) -> int:
        result = self.start
        return result

    def negated(self) -> int:
        result = -self.start
        return result


class Note:
    """The type of an attribute of a module."""

    def __init__(self, text: str):
        self.text = text

    def length(self) -> int:
        result = len(self.text)
        return result


class Counts:
    """Named by nothing that is compiled."""

    def __init__(self):
        self.seen: Dict[str, int] = {}

    def add(self, name: str) -> int:
        self.seen[name] = self.seen.get(name, 0) + 1
        return self.seen[name]

    def names(self) -> List[str]:
        result = sorted(self.seen)
        return result
