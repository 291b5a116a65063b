"""Stand-ins that are there to be named: nobody makes an object of them on the scripted way."""

from typing import List, Optional, Union

import torch
from torch import Tensor


def checked(count: int) -> int:
    if count < 0:
        raise ValueError("negative")
    return count


class Named:
    """A base, whose methods are not compiled with its heirs."""

    def describe(self, *extra):
        return [type(self).__name__, *extra]


class Storage:
    def __init__(self, rows: List[int]):
        self.kept = rows

    @property
    def rows(self) -> List[int]:
        found: List[int] = []
        for row in self.kept:
            found.append(row)
        return found

    def __len__(self) -> int:
        return checked(len(self.kept))


class Sparse(Named):
    def __init__(self, storage: Storage, value: Optional[Tensor] = None):
        self.held = storage
        self.value = value

    @classmethod
    def make(cls, rows: List[int]):
        storage = Storage(rows)
        return Sparse(storage, None)

    @property
    def storage(self) -> Storage:
        return self.held

    def total(self) -> int:
        result = 0
        for row in self.held.rows:
            result = Sparse.add(result, row)
        return result

    @staticmethod
    def add(first: int, second: int) -> int:
        total = first + second
        return total

    @torch.jit.unused
    def shown(self, *words):
        return " ".join([str(self.held.kept), *words])


Adj = Union[Tensor, Sparse]
