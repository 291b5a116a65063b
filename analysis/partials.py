"""What one file contributes to the result of a run, and how contributions are put together.

``contribute`` is a pure function of a file and a ``Request``: it may run in any process on any machine. What it gives
pickles. The part that is wanted of all files together (``Partial``) is merged by an associative and commutative
operation, so that it does not matter in what order, or in what tree, that is done. The intervals of the events stay
apart, in ``Contribution.spans``: 16 bytes for each run of events that neither nest nor touch, in memory, or in a file
in the folder for scratch that the request names (then some KB for a million events stay in memory).
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from pathlib import Path
from typing import TypeAlias

import numpy as np

from dfannotate.analysis.intervals import NONE, Array, Durations, Runs, durations_of, merge_durations, union
from dfannotate.analysis.patterns import Patterns
from dfannotate.analysis.processes import assign
from dfannotate.analysis.reader import Event, arguments, list_files, summarize
from dfannotate.analysis.schedule import File, Schedule, Steps, Watch
from dfannotate.analysis.traces import DEFAULT_UNIT, FileSummary, ProcessTrace, TraceError, Traces
from dfannotate.vocabulary import TRACE, TRACE_UNITS

ProcessKey: TypeAlias = tuple[str, int, str]
"""What tells processes apart: host ("" if unknown), pid (-1 if unknown), and the file where there is no pid."""

A, B = 0, 1
ROUND_NAMES = ("epoch", "round", "iteration", "step")
"""Last words of the names of events that are rounds, the first of them that occurs, unless a pattern says otherwise."""
ROUNDS_LIMIT = 1 << 20

_FLUSH = 1 << 19
_CHUNK = 1 << 13
LATEST = 2**62
"""Latest time in ns since the epoch (in the year 2116), half of what 64 bits hold: differences and buckets fit too."""
ABSURD_SECONDS = 10 * 365 * 86_400
"""An event that lasts longer is not one."""
_NAMES = 1 << 16
_CUSTOM = 1 << 7
_FIRST_ROUND = 1 << 2

_COMPLETE = frozenset(TRACE.complete_phases)


@dataclass(frozen=True)
class Request:
    """What is wanted of each file besides its summary: the intervals of the events of A and of B, and those of the
    events that are rounds (None: what ``ROUND_NAMES`` says). ``scratch`` is where intervals may be left."""

    a: Patterns | None = None
    b: Patterns | None = None
    by_round: bool = False
    rounds: Patterns | None = None
    scratch: Path | None = None


@dataclass(frozen=True, eq=False)
class Spans:
    """The runs of one side (A or B) in one process, as read from one file, in chunks of sorted runs. Chunks may overlap
    each other. ``firsts``, ``lasts`` (ns) and ``counts`` say what each covers; the runs themselves are in ``runs``, or
    in the file ``store`` from the byte ``offsets`` on, and become ns by ``factor``."""

    process: ProcessKey
    side: int
    factor: int
    firsts: Array
    lasts: Array
    counts: Array
    runs: tuple[Runs, ...] = ()
    store: Path | None = None
    offsets: Array = field(default_factory=lambda: NONE)

    def between(self, low: int, high: int) -> list[Runs]:
        """The runs in ``[low, high)``, in ns, chunk by chunk."""
        found = []
        for index in np.flatnonzero((self.firsts < high) & (self.lasts > low)):
            if self.store is None:
                runs = self.runs[index]
            else:
                count = int(self.counts[index])
                both = np.fromfile(self.store, np.int64, 2 * count, offset=int(self.offsets[index]))
                runs = Runs(both[:count], both[count:])
            if self.factor != 1:
                runs = Runs(runs.starts * self.factor, runs.ends * self.factor)
            clipped = runs.clip(low, high)
            if len(clipped):
                found.append(clipped)
        return found


@dataclass(frozen=True, eq=False)
class Rounds:
    """The rounds of the process that began its first one before all others (of several, the least key)."""

    process: ProcessKey
    starts: Array
    ends: Array


@dataclass(frozen=True, eq=False)
class Stock:
    """What intervals a file has, told by its place among all files: of which processes, and for each chunk (a row) its
    first and last ns and count."""

    number: int
    processes: tuple[ProcessKey, ...]
    chunks: Array


@dataclass(frozen=True, eq=False)
class Partial:
    """What is known of some of the files. ``durations`` are of the events of A or B, each event once; ``unusable`` is
    how many events of A or B were left out for their times, ``shared`` how many belong to both A and B."""

    files: tuple[FileSummary, ...]
    durations: Durations = field(default_factory=Durations)
    stocks: tuple[Stock, ...] = ()
    rounds: tuple[Rounds | None, ...] = ()
    unusable: int = 0
    shared: int = 0

    @property
    def events(self) -> int:
        return sum(file.events for file in self.files)


@dataclass(frozen=True, eq=False)
class Contribution:
    """What one file contributes: what is wanted of all files together, and its intervals, which stay where they are."""

    partial: Partial
    spans: tuple[Spans, ...] = ()


def gather(path: Path, schedule: Schedule, request: Request, watch: Watch | None = None) -> tuple[Traces, Partial]:
    """Read every trace file of a folder (or one file) once, wherever ``schedule`` says; the contributions stay there.

    Raises ``TraceError`` where there is no trace at all, and ``ScheduleError`` where the schedule fails."""
    files = list_files(path)
    if request.a is not None:
        scratch = schedule.scratch(files)
        request = Request(request.a, request.b, request.by_round, request.rounds, scratch)
    steps = Steps(partial(contribute, request=request), head_of, merge, _events_of)
    merged = schedule.gather(steps, files, watch)
    return Traces(path, merged.files, assign(merged.files)), merged


def contribute(file: File, request: Request) -> Contribution:
    """Read one file. Never raises for what the file is or holds; ``TraceError`` where there is no room for scratch."""
    if request.a is None or request.b is None:
        return Contribution(Partial((summarize(file.path, file.name),)))
    collector = _Collector(request, file)
    summary = summarize(file.path, file.name, watch=collector.add)
    return collector.finish(summary)


def head_of(contribution: Contribution) -> Partial:
    return contribution.partial


def _events_of(partial: Partial) -> int:
    return partial.events


def merge(partials: Sequence[Partial]) -> Partial:
    """What several partials know together. Associative and commutative: files come out sorted by name."""
    if len(partials) == 1:
        return partials[0]
    rounds = zip(*(partial.rounds for partial in partials), strict=True)
    return Partial(
        files=tuple(sorted((file for partial in partials for file in partial.files), key=lambda file: file.name)),
        durations=merge_durations([partial.durations for partial in partials]),
        stocks=tuple(
            sorted((stock for partial in partials for stock in partial.stocks), key=lambda stock: stock.number)
        ),
        rounds=tuple(reduce(_earlier, found) for found in rounds),
        unusable=sum(partial.unusable for partial in partials),
        shared=sum(partial.shared for partial in partials),
    )


def _earlier(one: Rounds | None, other: Rounds | None) -> Rounds | None:
    if one is None or other is None:
        return one or other
    if one.process == other.process:
        return _rounds(one.process, np.concatenate((one.starts, other.starts)), np.concatenate((one.ends, other.ends)))
    return min(one, other, key=lambda rounds: (int(rounds.starts[0]), rounds.process))


def _rounds(process: ProcessKey, starts: Array, ends: Array) -> Rounds:
    order = np.lexsort((ends, starts))
    return Rounds(process, starts[order][:ROUNDS_LIMIT], ends[order][:ROUNDS_LIMIT])


def key_of(trace: ProcessTrace, file: str) -> ProcessKey:
    """What tells the process apart from those of other files."""
    return (trace.host or "", -1 if trace.pid is None else trace.pid, file if trace.pid is None else "")


# --- from records to intervals ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Chunk:
    """Sorted runs, in the unit of the trace: what they cover, and the runs themselves or where they were put."""

    first: int
    last: int
    count: int
    runs: Runs | None
    offset: int


class _Process:
    """The events of one process, as they come: start, duration and what they belong to, in the unit of the trace."""

    def __init__(self) -> None:
        self.starts = array("q")
        self.durations = array("q")
        self.codes = array("B")
        self.unit: str | None = None
        self.chunks: tuple[list[_Chunk], list[_Chunk]] = ([], [])
        self.measured: list[Durations] = []
        self.rounds: dict[int, list[Runs]] = {}


class _Collector:
    """Takes the records of one file and keeps the intervals of the events that are wanted."""

    def __init__(self, request: Request, file: File) -> None:
        self._request = request
        self._file = file
        self._store = request.scratch / f"{os.getpid()}.runs" if request.scratch else None
        self._codes: dict[tuple[str, str], int] = {}
        self._processes: dict[int | None, _Process] = {}
        self._held = 0
        self._unusable = 0
        self._shared = 0
        self._kinds = 0
        if request.by_round:
            self._kinds = 1 if request.rounds else len(ROUND_NAMES)

    def add(self, batch: list[Event]) -> None:
        """Keep what is wanted of a batch: one look-up for each event, three additions for one that is wanted."""
        codes = self._codes
        pid: int | None = None
        process: _Process | None = None
        for event in batch:
            try:
                code = codes[event.cat, event.name]
            except KeyError:
                if len(codes) >= _NAMES:
                    codes.clear()  # more names than a program has: do not keep them all
                code = codes[event.cat, event.name] = self._code(event.cat, event.name)
            if not code:
                continue
            if process is None or event.pid != pid:
                pid = event.pid
                process = self._processes.get(pid)
                if process is None:
                    process = self._processes[pid] = _Process()
            if event.ph not in _COMPLETE:
                if code & _CUSTOM and event.ph in TRACE.metadata_phases:
                    _note_unit(process, event)
                continue
            start = event.ts
            duration = event.dur or 0
            if start is None or not 0 <= start <= LATEST or not 0 <= duration <= LATEST - start:
                self._unusable += 1
                continue
            process.starts.append(start)
            process.durations.append(duration)
            process.codes.append(code)
            self._held += 1
        if self._held >= _FLUSH:
            for process in self._processes.values():
                self._flush(process)
            self._held = 0

    def _code(self, category: str, name: str) -> int:
        """What events of this category and name are wanted for, as bits: A, B, rounds of some kind."""
        code = _CUSTOM if name == TRACE.custom_record else 0
        if category == TRACE.tracer_category and name in (TRACE.start_event, TRACE.end_event):
            return code
        request = self._request
        if request.a is not None and request.a.match(category, name):
            code |= 1 << A
        if request.b is not None and request.b.match(category, name):
            code |= 1 << B
        if request.by_round:
            if request.rounds:
                code |= _FIRST_ROUND if request.rounds.match(category, name) else 0
            else:
                word = name.replace("_", ".").replace(" ", ".").rpartition(".")[2].lower()
                code |= _FIRST_ROUND << ROUND_NAMES.index(word) if word in ROUND_NAMES else 0
        return code

    def _flush(self, process: _Process) -> None:
        """Turn what is held of a process into runs."""
        if not process.starts:
            return
        starts = np.frombuffer(process.starts, np.int64).copy()
        durations = np.frombuffer(process.durations, np.int64).copy()
        codes = np.frombuffer(process.codes, np.uint8).copy()
        process.starts, process.durations, process.codes = array("q"), array("q"), array("B")
        # what is around the start of the tracer's clock begins at 0 and lasts until today
        a_second = TRACE_UNITS[_unit(process.unit)]
        reach = LATEST // (10**9 // a_second)
        sane = (durations <= ABSURD_SECONDS * a_second) & (starts <= reach - durations)
        if not sane.all():
            self._unusable += int((~sane & (codes & (1 << A | 1 << B) > 0)).sum())
            starts, durations, codes = starts[sane], durations[sane], codes[sane]
        ends = starts + durations
        sides = codes & (1 << A | 1 << B)
        self._shared += int((sides == (1 << A | 1 << B)).sum())
        process.measured.append(durations_of(durations[sides > 0]))
        for side in (A, B):
            mine = codes & (1 << side) > 0
            runs = union(starts[mine], ends[mine])
            if len(runs):
                self._keep(process, side, runs)
        for kind in range(self._kinds):
            mine = codes & (_FIRST_ROUND << kind) > 0
            if mine.any():
                process.rounds.setdefault(kind, []).append(Runs(starts[mine], ends[mine]))

    def _keep(self, process: _Process, side: int, runs: Runs) -> None:
        size = _CHUNK if self._store else len(runs)
        for first in range(0, len(runs), size):
            chunk = Runs(runs.starts[first : first + size], runs.ends[first : first + size])
            offset = self._put_away(chunk)
            kept = None if self._store else chunk
            process.chunks[side].append(_Chunk(int(chunk.starts[0]), int(chunk.ends[-1]), len(chunk), kept, offset))

    def _put_away(self, chunk: Runs) -> int:
        """Write the chunk to the scratch file, if there is one; returns where it begins."""
        if self._store is None:
            return 0
        try:
            with self._store.open("ab") as stream:
                offset = stream.tell()
                stream.write(chunk.starts.tobytes() + chunk.ends.tobytes())
        except OSError as error:
            raise TraceError(
                f"{self._store.parent}: the intervals of the events cannot be kept there ({error.strerror}); they take"
                " up to 32 bytes an event, let TMPDIR name a folder with enough room"
            ) from None
        return offset

    def finish(self, summary: FileSummary) -> Contribution:
        """All that was kept, with times in ns: by then the trace has told its unit and its hosts."""
        traces = {trace.pid: trace for trace in summary.processes}
        spans: list[Spans] = []
        measured: list[Durations] = []
        rounds: list[Rounds | None] = [None] * self._kinds
        for pid, process in self._processes.items():
            trace = traces.get(pid, ProcessTrace(pid))
            process.unit = trace.unit
            self._flush(process)
            factor = 10**9 // TRACE_UNITS[_unit(trace.unit)]
            key = key_of(trace, self._file.name)
            for side in (A, B):
                if process.chunks[side]:
                    spans.append(self._spans(process.chunks[side], side, key, factor))
            measured += [_scaled(durations, factor) for durations in process.measured]
            for kind, parts in process.rounds.items():
                found = _rounds(
                    key,
                    np.concatenate([part.starts for part in parts]) * factor,
                    np.concatenate([part.ends for part in parts]) * factor,
                )
                rounds[kind] = _earlier(rounds[kind], found)
        chunks = [np.stack((part.firsts, part.lasts, part.counts), axis=1) for part in spans]
        processes = tuple(sorted({part.process for part in spans}))
        stocks = (Stock(self._file.number, processes, np.concatenate(chunks)),) if spans else ()
        partial = Partial((summary,), merge_durations(measured), stocks, tuple(rounds), self._unusable, self._shared)
        return Contribution(partial, tuple(spans))

    def _spans(self, chunks: Sequence[_Chunk], side: int, key: ProcessKey, factor: int) -> Spans:
        reach = LATEST // factor
        within = [chunk for chunk in chunks if chunk.last <= reach]
        self._unusable += sum(chunk.count for chunk in chunks) - sum(chunk.count for chunk in within)
        return Spans(
            key,
            side,
            factor,
            np.array([chunk.first for chunk in within], np.int64) * factor,
            np.array([chunk.last for chunk in within], np.int64) * factor,
            np.array([chunk.count for chunk in within], np.int64),
            tuple(chunk.runs for chunk in within if chunk.runs is not None),
            self._store,
            np.array([chunk.offset for chunk in within], np.int64),
        )


def _scaled(durations: Durations, factor: int) -> Durations:
    return Durations(durations.values * factor, durations.counts, durations.level, durations.longest * factor)


def _unit(unit: str | None) -> str:
    return unit if unit in TRACE_UNITS else DEFAULT_UNIT


def _note_unit(process: _Process, event: Event) -> None:
    values = arguments(event)
    if values.get("name") == TRACE.time_metric:
        process.unit = process.unit or str(values.get("value"))
