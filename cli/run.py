"""The pool: a function over many files, in this process for a handful, in processes beyond.

Every file belongs to one *lane* (a process of its own), so that a second pass over a file finds what the first left in
memory. ``except Exception`` stands here and nowhere else: a file that fails stops no other.

A lane is a plain process at the end of a pipe, not an executor: no thread runs in this process, which forks, and a lane
whose other end is gone ends by itself, also where this process was killed.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

Item = TypeVar("Item")
Result = TypeVar("Result")

FEW = 8
"""Up to so many files no process is started."""

BATCH = 16
"""Results sent back at once: enough to hide the sending, few enough to show progress."""


@dataclass(frozen=True)
class Crash:
    """Why there is no result: an unexpected exception (a bug, but not one that stops the other files), or a lane that
    was killed."""

    text: str


@dataclass
class _Lane:
    """One process, this end of its pipe, and the items it still owes."""

    process: BaseProcess
    connection: Connection[Any, Any]
    owed: list[Any] = field(default_factory=list)


def available_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Lanes(Generic[Item]):
    """Items in fixed lanes, heaviest first into the lightest lane. Used as a context manager, within which the garbage
    collector rests: trees have no cycles, and it would walk those that are kept again and again."""

    def __init__(self, items: Sequence[Item], weights: Sequence[int], jobs: int | None) -> None:
        count = jobs or available_cores()
        self._count = 1 if len(items) <= FEW and jobs is None else max(1, min(count, len(items)))
        self._lane_of: dict[Item, int] = {}
        self._lanes: list[_Lane] = []
        loads = [0] * self._count
        for weight, index in sorted(((weight, index) for index, weight in enumerate(weights)), reverse=True):
            lane = loads.index(min(loads))
            self._lane_of[items[index]] = lane
            loads[lane] += weight + 1

    def __enter__(self) -> Lanes[Item]:
        self._collects = gc.isenabled()
        gc.disable()
        if self._count > 1:
            import multiprocessing  # a tenth of what a command costs that looks at one file

            context = multiprocessing.get_context("fork" if sys.platform == "linux" else None)
            for _ in range(self._count):
                here, there = context.Pipe()
                # A fork has this process's ends of all pipes, and while it has, the end of this process goes unnoticed.
                strangers = [*(lane.connection for lane in self._lanes), here]
                process = context.Process(target=_serve, args=(there, strangers), daemon=True)
                process.start()
                there.close()
                self._lanes.append(_Lane(process, here))
        return self

    def __exit__(self, *error: object) -> None:
        for lane in self._lanes:
            lane.connection.close()
            if any(error):
                lane.process.terminate()
        for lane in self._lanes:
            lane.process.join()
        if self._collects:
            gc.enable()

    def map(
        self, function: Callable[..., Result], arguments: Mapping[Item, tuple[object, ...]]
    ) -> Iterator[tuple[Item, Result | Crash]]:
        """``function(item, *arguments[item])`` for each item, in no particular order. With processes, ``function`` must
        be importable and its result picklable."""
        if not self._lanes:
            for item, more in arguments.items():
                yield item, _guarded(function, (item, *more))
            return
        for number, lane in enumerate(self._lanes):
            lane.owed = [item for item in arguments if self._lane_of[item] == number]
            # A lane answers nothing before it has heard all, so that neither end waits for the other to read.
            with suppress(OSError):
                lane.connection.send((function, [(item, *arguments[item]) for item in lane.owed]))
        from multiprocessing.connection import Connection, wait

        waiting = {lane.connection: lane for lane in self._lanes if lane.owed}
        while waiting:
            for ready in wait(list(waiting)):
                assert isinstance(ready, Connection)
                lane = waiting[ready]
                try:
                    results: list[Result | Crash] = ready.recv()
                except (EOFError, OSError):
                    lane.process.join()
                    results = [Crash(_how_it_ended(lane.process))] * len(lane.owed)
                yield from zip(lane.owed, results, strict=False)
                del lane.owed[: len(results)]
                if not lane.owed:
                    del waiting[ready]


def _how_it_ended(process: BaseProcess) -> str:
    code = process.exitcode or 0
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"exit code {code}"
    return f"the process that worked on it was killed ({name}; out of memory?); run again, with --jobs 1 if it recurs"


def _serve(connection: Connection[Any, Any], strangers: Sequence[Connection[Any, Any]]) -> None:
    """The life of a lane: calls come in, results go out in batches, until the other end is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is answered by the process that started this one
    for stranger in strangers:
        stranger.close()
    with suppress(EOFError, OSError):
        while True:
            function, calls = connection.recv()
            for start in range(0, len(calls), BATCH):
                results = [_guarded(function, call) for call in calls[start : start + BATCH]]
                connection.send_bytes(_pickled(results))


def _pickled(results: list[Any]) -> bytes:
    import pickle

    try:
        return pickle.dumps(results, pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        return pickle.dumps([Crash(_report(error))] * len(results))


def _guarded(function: Callable[..., Result], call: tuple[object, ...]) -> Result | Crash:
    try:
        return function(*call)
    except Exception as error:
        return Crash(_report(error))


def _report(error: Exception) -> str:
    import traceback

    place = traceback.extract_tb(error.__traceback__)[-1]
    text = " ".join(str(error).split())
    return (
        f"internal error: {type(error).__name__}: {text} ({os.path.basename(place.filename)}:{place.lineno});"
        " the file was left alone; please report this"
    )
