"""Reading ahead in child processes."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from multiprocessing.queues import Queue

from .data import Sample, ShardDataset

# The children inherit the data set instead of unpickling it.
_processes = multiprocessing.get_context("fork")


def normalized(samples: list[Sample]) -> list[Sample]:
    """Inputs clipped to the range that the model was made for."""
    kept = []
    for sample in samples:
        kept.append(Sample(tuple(max(-1.0, min(1.0, value)) for value in sample.inputs), sample.target))
    return kept


def read_shards(dataset: ShardDataset, numbers: list[int], out: Queue[tuple[int, list[Sample]]]) -> None:
    for number in numbers:
        out.put((number, normalized(dataset[number])))


class PrefetchingLoader:
    """Iterates over the shards in order, while ``workers`` children read them in any order."""

    def __init__(self, dataset: ShardDataset, workers: int) -> None:
        self.dataset = dataset
        self.workers = workers

    def __iter__(self) -> Iterator[list[Sample]]:
        queue: Queue[tuple[int, list[Sample]]] = _processes.Queue()
        children = []
        for worker in range(self.workers):
            numbers = list(range(worker, len(self.dataset), self.workers))
            child = _processes.Process(target=read_shards, args=(self.dataset, numbers, queue))
            child.start()
            children.append(child)
        early: dict[int, list[Sample]] = {}
        for number in range(len(self.dataset)):
            while number not in early:
                arrived, samples = queue.get(timeout=60)
                early[arrived] = samples
            yield early.pop(number)
        for child in children:
            child.join()
