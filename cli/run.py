"""The pool: a function over many files, in this process for a handful, in processes beyond.

Every file belongs to one *lane* (a process of its own), so that a second pass over a file finds what the first left in
memory. ``except Exception`` stands here and nowhere else: a file that fails stops no other.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

FEW = 8
"""Up to so many files no process is started."""

BATCH = 16
"""Files sent to a lane at once: enough to hide the sending, few enough to show progress."""


@dataclass(frozen=True)
class Crash:
    """What an unexpected exception said; a bug, but not one that stops the other files."""

    text: str


def available_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Lanes(Generic[Item]):
    """Items in fixed lanes, heaviest first into the lightest lane. Used as a context manager."""

    def __init__(self, items: Sequence[Item], weights: Sequence[int], jobs: int | None) -> None:
        count = jobs or available_cores()
        count = 1 if len(items) <= FEW and jobs is None else max(1, min(count, len(items)))
        self._lane: dict[Item, int] = {}
        loads = [0] * count
        for weight, index in sorted(((weight, index) for index, weight in enumerate(weights)), reverse=True):
            lane = loads.index(min(loads))
            self._lane[items[index]] = lane
            loads[lane] += weight + 1
        self._executors = (
            [ProcessPoolExecutor(max_workers=1, initializer=_start_lane) for _ in range(count)] if count > 1 else []
        )

    def __enter__(self) -> Lanes[Item]:
        return self

    def __exit__(self, *error: object) -> None:
        for executor in self._executors:
            executor.shutdown(wait=not any(error), cancel_futures=True)

    def map(
        self, function: Callable[..., Result], arguments: Mapping[Item, tuple[object, ...]]
    ) -> Iterator[tuple[Item, Result | Crash]]:
        """``function(item, *arguments[item])`` for each item, in no particular order. With processes, ``function`` must
        be importable and its result picklable."""
        if not self._executors:
            for item, more in arguments.items():
                yield item, _guarded(function, (item, *more))
            return
        batches: dict[Future[list[Result | Crash]], list[Item]] = {}
        for lane, executor in enumerate(self._executors):
            mine = [item for item in arguments if self._lane[item] == lane]
            for start in range(0, len(mine), BATCH):
                items = mine[start : start + BATCH]
                batches[executor.submit(_run_batch, function, [(item, *arguments[item]) for item in items])] = items
        for future in as_completed(batches):
            items = batches.pop(future)
            try:
                results = future.result()
            except BrokenProcessPool:
                results = [Crash("the process that worked on it was killed (out of memory?)")] * len(items)
            yield from zip(items, results, strict=True)


def _start_lane() -> None:
    # Trees have no cycles; with the collector on, it walks the trees that are kept again and again.
    gc.disable()


def _run_batch(function: Callable[..., Result], calls: list[tuple[object, ...]]) -> list[Result | Crash]:
    return [_guarded(function, call) for call in calls]


def _guarded(function: Callable[..., Result], call: tuple[object, ...]) -> Result | Crash:
    try:
        return function(*call)
    except Exception as error:
        if os.environ.get("DFANNOTATE_DEBUG"):
            raise
        return Crash(f"internal error: {type(error).__name__}: {error}")
