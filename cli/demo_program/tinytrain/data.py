"""The data set: one file of JSON lines a shard."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Sample:
    inputs: tuple[float, ...]
    target: float

    @property
    def width(self) -> int:
        return len(self.inputs)

    @classmethod
    def from_line(cls, line: str) -> Sample:
        fields = json.loads(line)
        return cls(tuple(fields["inputs"]), fields["target"])


def write_dataset(folder: Path, shards: int, rows: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(shards):
        write_shard(folder / f"shard-{number:03}.jsonl", rows, seed=number)


def write_shard(path: Path, rows: int, seed: int) -> None:
    source = random.Random(seed)
    with open(path, "w", encoding="utf-8") as stream:
        for _ in range(rows):
            inputs = [source.uniform(-1, 1) for _ in range(4)]
            target = math.tanh(0.7 * inputs[0] - 0.3 * inputs[1] + 0.1 * inputs[3]) + source.gauss(0, 0.01)
            stream.write(json.dumps({"inputs": inputs, "target": target}) + "\n")


class ShardDataset:
    """Shards by number, each read from its file when it is asked for."""

    def __init__(self, folder: Path) -> None:
        self.paths = sorted(folder.glob("shard-*.jsonl"))

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, number: int) -> list[Sample]:
        with open(self.paths[number], encoding="utf-8") as stream:
            return [Sample.from_line(line) for line in stream]


def batches(samples: list[Sample], size: int) -> Iterator[list[Sample]]:
    for start in range(0, len(samples), size):
        yield samples[start : start + size]
