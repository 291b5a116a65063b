"""Where the work on the files of a run is done: in this process, on the cores of this machine, or on a Dask cluster.

Whatever is computed from a run is a function of one file, whose result is small, and a merge of such results that is
associative and commutative; the places differ in who calls them, never in the answer.

What that means for 100,000 processes and 10 billion events, one file a process, 100,000 events each, on paper:

- Summaries. What ``verify`` knows of a file travels as 2.4 KB for twenty kinds of event and 9 KB for a hundred, and
  takes 12 KB and 54 KB of memory. The client holds all of them (its result has an entry for each process, so it
  cannot do with less than a part of each): 1.2 to 5.4 GB. They travel in a tree, ``FAN_IN`` at a
  time, so that the client waits for 12,500 answers instead of 100,000; the last merges hold all of them once more.
- Durations. At most 65,536 values and counts, 1 MB a file and 1 MB when all are merged: the size is bounded, so each
  merge in the tree takes ``FAN_IN`` MB and gives one.
- Intervals, for an overlap only. 16 bytes each where no two events of a process nest or touch: at most 1.6 MB a file,
  160 GB in all, spread over the memory (and, past a threshold of its own, the disks) of the workers; they stay where
  they were made. Time is cut into windows of about a million intervals each, here ten thousand; a window is
  reduced in a tree whose nodes hold the unions and the busy buckets of what is below them. A node's result is no larger
  than the intervals of its window together (16 MB, plus 100 bytes for each process that is active in it), and as a
  rule much smaller, since what many processes do at one time merges into few intervals. The client gets one such result
  a window and keeps of it a handful of sums. So no memory anywhere grows with the trace, apart from what holds the
  intervals themselves, which is divided by the number of workers. The number of tasks, files times windows, is kept
  down by giving each leaf as many files as hold a million intervals together.
"""

from __future__ import annotations

import logging
import os
import signal
import tempfile
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from dfannotate import __version__
from dfannotate.analysis.traces import TraceError

if TYPE_CHECKING:
    from distributed import Client
    from distributed import Future as Remote

FAN_IN = 8
"""How many results one merge takes, where merging is a task of its own."""

_WORTH_A_POOL = 8 << 20
_CONNECT_SECONDS = 5
_AHEAD = 4

Result = TypeVar("Result")
Head = TypeVar("Head")
Argument = TypeVar("Argument")


@dataclass(frozen=True)
class File:
    """A file to work on: where it is, its name in the results, its length in bytes (0 where it is unknown), and its
    place among all files."""

    path: Path
    name: str
    size: int
    number: int


@dataclass(frozen=True)
class Advance:
    """How far a piece of work has come: files and bytes that are done, of how many, and the events in them."""

    files: int
    all_files: int
    size: int
    all_size: int
    events: int


Watch = Callable[[Advance], None]


class ScheduleError(TraceError):
    """The work cannot be done where it was to be done; the message says why and what to do."""


@dataclass(frozen=True)
class Steps(Generic[Result, Head]):
    """What is done with every file. All of it must be importable by name where it runs.

    ``work`` gives the result for a file and raises nothing for what the file is like; ``head`` is the part of it that
    is wanted here, and ``merge`` makes one of several. ``events`` says, for the progress, how many events a head
    has."""

    work: Callable[[File], Result]
    head: Callable[[Result], Head]
    merge: Callable[[Sequence[Head]], Head]
    events: Callable[[Head], int]


@dataclass(frozen=True)
class Portion(Generic[Argument]):
    """A part of what is computed from the results: an argument, and the groups of files (by their number in what was
    given to ``gather``) whose results have to do with it. The files of one group are worked on together."""

    argument: Argument
    groups: Sequence[Sequence[int]]


class Schedule(ABC):
    """A place to work. Results of ``gather`` stay there until it is closed; ``combine`` goes on from them."""

    def scratch(self, files: Sequence[File]) -> Path | None:
        """A folder where ``work`` may leave what is large, if all that follows is done on this machine too and there
        is so much to read that it could matter."""
        return None

    @abstractmethod
    def gather(self, steps: Steps[Result, Head], files: Sequence[File], watch: Watch | None) -> Head:
        """Do ``work`` for every file (at least one); the heads of all, merged."""

    @abstractmethod
    def combine(
        self,
        work: Callable[[Sequence[Any], Argument], Result],
        portions: Sequence[Portion[Argument]],
        merge: Callable[[Sequence[Result]], Result],
    ) -> Iterator[Result]:
        """For each portion, in order: ``work(results of a group, argument)`` for each group, merged."""

    def __enter__(self) -> Schedule:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Let go of everything that is held."""


def schedule_on(address: str | None = None, *, jobs: int | None = None) -> Schedule:
    """The Dask cluster whose scheduler is at ``address``, or this machine: ``jobs`` processes, by default one a core.

    Raises ``ScheduleError`` where no cluster that could do the work answers."""
    return Here(jobs) if address is None else Cluster(address)


# --- this machine ----------------------------------------------------------------------------------------------------


class Here(Schedule):
    """This process, or as many processes as there are cores where there is enough to read. ``results`` are taken for
    what was gathered."""

    def __init__(self, jobs: int | None = None, results: Sequence[Any] = ()) -> None:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self._jobs = jobs or cores
        self._results = list(results)
        self._scratch: Path | None = None
        self._stack = ExitStack()

    def scratch(self, files: Sequence[File]) -> Path | None:
        if self._scratch is None and _worthwhile(files):
            folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="dfannotate-"))
            self._scratch = Path(folder)
        return self._scratch

    def gather(self, steps: Steps[Result, Head], files: Sequence[File], watch: Watch | None) -> Head:
        results: dict[int, Result] = {}
        count = _Count(files, watch)
        if self._jobs > 1 and len(files) > 1 and _worthwhile(files):
            try:
                with ProcessPoolExecutor(min(self._jobs, len(files)), initializer=_die_of_interrupts) as pool:
                    # the largest first, so that none is left alone at the end
                    order = sorted(range(len(files)), key=lambda index: -files[index].size)
                    futures = {pool.submit(steps.work, files[index]): index for index in order}
                    for future in as_completed(futures):
                        index = futures.pop(future)
                        results[index] = future.result()
                        count.add(1, files[index].size, steps.events(steps.head(results[index])))
            except BrokenProcessPool:
                pass  # a process was killed; what it had in hand is done here
        for index, file in enumerate(files):
            if index not in results:
                results[index] = steps.work(file)
                count.add(1, file.size, steps.events(steps.head(results[index])))
        self._results = [results[index] for index in range(len(files))]
        return steps.merge([steps.head(result) for result in self._results])

    def combine(
        self,
        work: Callable[[Sequence[Any], Argument], Result],
        portions: Sequence[Portion[Argument]],
        merge: Callable[[Sequence[Result]], Result],
    ) -> Iterator[Result]:
        for portion in portions:  # nothing has to travel, so all groups make one leaf
            yield work([self._results[index] for group in portion.groups for index in group], portion.argument)

    def close(self) -> None:
        self._results = []
        self._stack.close()


def _worthwhile(files: Sequence[File]) -> bool:
    return sum(file.size for file in files) >= _WORTH_A_POOL


def _die_of_interrupts() -> None:
    """An interrupt from the keyboard reaches every process; only the first is to say something about it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class _Count:
    """Adds up what is done, for whoever watches."""

    def __init__(self, files: Sequence[File], watch: Watch | None) -> None:
        self._watch = watch
        self._all = (len(files), sum(file.size for file in files))
        self._files = self._size = self._events = 0

    def add(self, files: int, size: int, events: int) -> None:
        self._files += files
        self._size += size
        self._events += events
        if self._watch:
            self._watch(Advance(self._files, self._all[0], self._size, self._all[1], self._events))


# --- a cluster -------------------------------------------------------------------------------------------------------


class Cluster(Schedule):
    """An existing Dask cluster, whose workers see the files under the same paths and have the same dfannotate."""

    def __init__(self, address: str) -> None:
        try:
            from distributed import Client
        except ImportError:
            raise ScheduleError(
                f"{address}: working on a Dask cluster needs the package distributed; install dfannotate[distributed]"
            ) from None
        self._address = address
        self._futures: list[Remote[Any]] = []
        # a failing connection is told once, below, and not in the log of the library too
        self._quiet = [logging.getLogger(name) for name in ("distributed", "tornado.application")]
        self._levels = [logger.level for logger in self._quiet]
        for logger in self._quiet:
            logger.setLevel(logging.CRITICAL + 1)
        try:
            self._client: Client = Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
        except Exception as error:
            self._restore_logging()
            raise ScheduleError(
                f"{address}: no Dask scheduler answers there within {_CONNECT_SECONDS} s ({_first_line(error)}); start"
                " one with `dask scheduler`, or leave --scheduler out to work on this machine"
            ) from None
        try:
            self._client.wait_for_workers(1, timeout=_CONNECT_SECONDS)
        except TimeoutError:
            self.close()
            raise ScheduleError(
                f"{address}: the scheduler has no worker; start some: `dask worker {address}`"
            ) from None
        except Exception as error:
            self.close()
            raise self._lost(error) from None

    def gather(self, steps: Steps[Result, Head], files: Sequence[File], watch: Watch | None) -> Head:
        files = [replace(file, path=file.path.absolute()) for file in files]
        try:
            self._ask_workers(files)
            self._futures = [self._client.submit(steps.work, file, pure=False) for file in files]
            return self._merged_heads(steps, files, watch)
        except ScheduleError:
            raise
        except Exception as error:
            raise self._lost(error) from None

    def _merged_heads(self, steps: Steps[Result, Head], files: Sequence[File], watch: Watch | None) -> Head:
        from distributed import as_completed as completed

        submit = self._client.submit
        count = _Count(files, watch)
        heads = [submit(steps.head, future, pure=False) for future in self._futures]
        portions = [range(first, min(first + FAN_IN, len(heads))) for first in range(0, len(heads), FAN_IN)]
        level = [submit(steps.merge, [heads[index] for index in portion], pure=False) for portion in portions]
        sizes = {
            submit(steps.events, future, pure=False): portion for future, portion in zip(level, portions, strict=True)
        }
        del heads
        for future, events in completed(list(sizes), loop=self._client.loop, with_results=True):
            portion = sizes[future]
            count.add(len(portion), sum(files[index].size for index in portion), events)
        merged: Head = self._tree(level, steps.merge).result()
        return merged

    def _tree(self, level: list[Remote[Any]], merge: Callable[[Sequence[Any]], Any]) -> Remote[Any]:
        while len(level) > 1:
            level = [
                self._client.submit(merge, level[first : first + FAN_IN], pure=False)
                for first in range(0, len(level), FAN_IN)
            ]
        return level[0]

    def combine(
        self,
        work: Callable[[Sequence[Any], Argument], Result],
        portions: Sequence[Portion[Argument]],
        merge: Callable[[Sequence[Result]], Result],
    ) -> Iterator[Result]:
        # a few portions at a time: enough to keep the workers busy, and no more than a few results in memory
        pending: deque[Remote[Any]] = deque()
        waiting = iter(portions)
        try:
            while True:
                for portion in waiting:
                    leaves = [
                        self._client.submit(
                            work, [self._futures[index] for index in group], portion.argument, pure=False
                        )
                        for group in portion.groups
                    ]
                    pending.append(self._tree(leaves, merge))
                    if len(pending) >= _AHEAD:
                        break
                if not pending:
                    return
                yield pending.popleft().result()
        except Exception as error:
            raise self._lost(error) from None

    def _ask_workers(self, files: Sequence[File]) -> None:
        """Whether every worker has this version of the package and sees the files."""
        samples = [str(files[index].path) for index in sorted({0, len(files) // 2, len(files) - 1})]

        # Functions inside of functions travel as code, not by name, so this one runs where the package is not.
        def answer() -> tuple[str, list[str]]:
            import os

            try:
                import dfannotate
                import dfannotate.analysis.intervals
                import dfannotate.analysis.partials
            except ImportError as error:
                return f"cannot import dfannotate ({error})", []
            return dfannotate.__version__, [sample for sample in samples if not os.path.lexists(sample)]

        answers = cast("dict[str, tuple[str, list[str]]]", self._client.run(answer))
        for worker, (version, unseen) in sorted(answers.items()):
            if version != __version__:
                what = version if version.startswith("cannot") else f"has dfannotate {version}"
                raise ScheduleError(
                    f"{self._address}: worker {worker} {what}; install dfannotate {__version__} with the distributed"
                    " extra in the environment of every worker"
                )
            if unseen:
                raise ScheduleError(
                    f"{self._address}: worker {worker} does not see {unseen[0]}; the trace must lie on storage that"
                    " every worker reaches by the same path"
                )

    def _lost(self, error: Exception) -> ScheduleError:
        from distributed.scheduler import KilledWorker

        if isinstance(error, KilledWorker):
            why = "several workers died one after the other of the same piece of work; is their memory large enough?"
        else:
            why = f"the work on the cluster broke off ({_first_line(error)}); try again, or leave --scheduler out"
        return ScheduleError(f"{self._address}: {why}")

    def close(self) -> None:
        self._futures = []
        with suppress(Exception):  # the cluster may be gone already
            self._client.close(timeout=_CONNECT_SECONDS)
        self._restore_logging()

    def _restore_logging(self) -> None:
        for logger, level in zip(self._quiet, self._levels, strict=True):
            logger.setLevel(level)


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), "") or type(error).__name__
