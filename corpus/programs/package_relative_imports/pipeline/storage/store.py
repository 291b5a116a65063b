"""Records in files."""

from __future__ import annotations

import json
import os
from pathlib import Path

from .. import storage as _package


class Store:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.closed = False
        os.makedirs(folder, exist_ok=True)

    @classmethod
    def at(cls, name: str) -> Store:
        return cls(Path(name) / _package.__name__)

    @property
    def size(self) -> int:
        return len(self.keys())

    @staticmethod
    def file_name(key: str) -> str:
        return f"{key}.json"

    def fill(self, count: int) -> None:
        for number in range(count):
            self.save(f"r{number:02}", {"value": number})

    def keys(self) -> list[str]:
        return sorted(path.stem for path in self.folder.glob("*.json"))

    def load(self, key: str) -> dict[str, int]:
        with open(self.folder / self.file_name(key)) as stream:
            return json.load(stream)

    def save(self, key: str, record: dict[str, int]) -> None:
        with open(self.folder / self.file_name(key), "w") as stream:
            json.dump(record, stream)

    def close(self) -> None:
        with open(self.folder / "closed", "w") as stream:
            os.fsync(stream.fileno())
        self.closed = True
