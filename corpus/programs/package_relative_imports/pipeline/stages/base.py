"""What a stage is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..storage import Store


class Stage(ABC):
    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, store: Store) -> str:
        """Work through the store and say what came out."""
        results = []
        for key in store.keys():
            results.append(self.work(store, key))
        return f"{self.name}: {self.summary(results)}"

    @abstractmethod
    def work(self, store: Store, key: str) -> int: ...

    def summary(self, results: list[int]) -> str:
        return f"{len(results)} results, {sum(results)} in all"
