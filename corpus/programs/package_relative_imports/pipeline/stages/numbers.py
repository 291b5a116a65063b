from __future__ import annotations

from typing import TYPE_CHECKING

from .base import Stage

if TYPE_CHECKING:
    from ..storage import Store


class Double(Stage):
    def work(self, store: Store, key: str) -> int:
        record = store.load(key)
        record["value"] *= 2
        store.save(key, record)
        return record["value"]


class Total(Stage):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.so_far = 0
        for start in (name, ""):
            self.so_far += len(start) * 0

    def work(self, store: Store, key: str) -> int:
        self.so_far += store.load(key)["value"]
        return self.so_far
