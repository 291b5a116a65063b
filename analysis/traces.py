"""What is known about a traced run after one pass over its files: plain values, small whatever the size of the trace.

They pickle, so a file can be read in another process, and they are all that the checks get to see.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from dfannotate.analysis.audit import Audit
from dfannotate.analysis.figures import OverlapAnswer

Role = Literal["main", "worker", "rank"]
ProblemKind = Literal["unreadable", "truncated", "corrupt", "not-gzip", "changing", "crowded"]

MICROSECONDS: Mapping[str, float] = {"NS": 1e-3, "US": 1.0, "MS": 1e3, "SEC": 1e6}
"""Length in microseconds of each time unit that a trace can declare."""

DEFAULT_UNIT = "US"
"""The unit of every trace that declares none (the tracer had no other before it wrote the unit down)."""


class TraceError(Exception):
    """A trace folder that cannot be read at all; the message says why and what to do."""


@dataclass(frozen=True)
class Tally:
    """The events of one (category, name) in one process.

    ``count`` and ``duration`` (in the unit of the trace) are of all records that could be read, an aggregated record
    standing for as many calls as it says. ``repeated`` and ``repeated_duration`` are the part of them that repeats a
    record read before in the same file: copies of one call, not further calls."""

    count: int = 0
    duration: int = 0
    aggregated: int = 0
    repeated: int = 0
    repeated_duration: int = 0
    first: int | None = None
    """When the one read first began. It tells which clock they are on, not which was the earliest."""
    longest: int = 0
    negative: int = 0
    """Records with a negative duration."""
    bare: int = 0
    """Records without arguments; of a large file an estimate from a sample, 0 only where none was met."""
    keys: tuple[str, ...] = ()
    """The arguments of the one read first."""

    @property
    def calls(self) -> int:
        """Calls that the records stand for, each once."""
        return max(0, self.count - self.repeated)


@dataclass(frozen=True)
class Problem:
    """Something that stopped the reading of a file, or a part of it. ``offset`` is in bytes of the file as it lies on
    the disk, ``line`` the number of lines that were read before."""

    kind: ProblemKind
    message: str
    offset: int
    line: int


@dataclass(frozen=True)
class BadLine:
    """A line that is not a record: its number (from 1, in the uncompressed text), why, and how it begins."""

    line: int
    reason: str
    text: str


@dataclass(frozen=True)
class ProcessTrace:
    """What one file says about one process. Times are in ``unit``, and None where no event has one."""

    pid: int | None
    ppid: int | None = None
    host: str | None = None
    executable: str | None = None
    command: str | None = None
    version: str | None = None
    unit: str = DEFAULT_UNIT
    declared_units: tuple[str, ...] = ()
    """As the records declare them, known or not; none before the tracer wrote the unit down."""
    started: int | None = None
    """The time of the start record, on the clock of the machine whatever the events are on."""
    ended: int | None = None
    first: int | None = None
    last: int | None = None
    events: Mapping[tuple[str, str], Tally] = field(default_factory=dict)
    starts: int = 0
    """Start records, copies of one record counted once."""
    ends: int = 0
    finalized: bool = False
    """There is an end record of the process itself."""
    declared_events: int | None = None
    """Number of events that the end record claims, where it can be held against what was read."""
    log_file: str | None = None
    """The path of the file as the tracer opened it."""
    forked: tuple[int, ...] = ()
    """Children that this process forked, as far as the trace recorded the calls."""
    spawned: tuple[int, ...] = ()
    """Worker processes that multiprocessing started by spawn, as far as the trace recorded their command lines."""
    rank: int | None = None
    bare: bool = False
    """Of the first generations, which wrote neither start and end records nor metadata."""
    metadata: Mapping[str, str] = field(default_factory=dict)

    @property
    def count(self) -> int:
        return sum(tally.count for tally in self.events.values())

    @property
    def aggregated(self) -> bool:
        return any(tally.aggregated for tally in self.events.values())

    def microseconds(self, duration: int) -> float:
        """``duration`` of this process's clock, in microseconds."""
        return duration * MICROSECONDS[self.unit]


@dataclass(frozen=True)
class FileSummary:
    """One trace file. ``members`` is the number of whole gzip members, None for plain text."""

    path: Path
    name: str
    """Relative to the trace folder, with ``/``."""
    size: int = 0
    checksum: int = 0
    members: int | None = None
    lines: int = 0
    bad_lines: int = 0
    bad_samples: tuple[BadLine, ...] = ()
    problems: tuple[Problem, ...] = ()
    processes: tuple[ProcessTrace, ...] = ()
    repeated_lines: int = 0
    repeats_sampled: bool = False
    """``repeated_lines`` is an estimate from a sample (the file has more events than are remembered)."""

    @property
    def events(self) -> int:
        """Calls that the records of all processes stand for, as they stand."""
        return sum(process.count for process in self.processes)

    @property
    def empty(self) -> bool:
        return self.size == 0 and not self.problems

    @property
    def truncated(self) -> bool:
        return any(problem.kind == "truncated" for problem in self.problems)

    @property
    def lossy(self) -> bool:
        """Records that were written, or should have been, cannot be read."""
        return self.empty or bool(self.problems) or self.bad_lines > 0


@dataclass(frozen=True)
class Process:
    """One process of the run, in one file; ``trace`` says nothing but the pid for a file without a record."""

    file: FileSummary
    role: Role
    trace: ProcessTrace
    named_pid: int | None = None
    """The process that the name of the file was made for, where it is not the one that its records are of."""

    @property
    def recorded(self) -> bool:
        """It left at least a record."""
        return bool(self.trace.starts or self.trace.ends or self.trace.events)

    @property
    def label(self) -> str:
        """How a message names it."""
        return f"process {self.trace.pid}" if self.trace.pid is not None else self.file.name


@dataclass(frozen=True)
class Total:
    """The events of one (category, name) over all processes; ``count`` are calls, repeated records counted once."""

    category: str
    name: str
    count: int
    total_us: float
    processes: int


@dataclass(frozen=True)
class Traces:
    """A traced run: the files of one folder, sorted by name, and the processes in them."""

    root: Path
    files: tuple[FileSummary, ...]
    processes: tuple[Process, ...]
    audit: Audit | None = None
    """The calls that were really made, where the run counted them."""
    workers_expected: int | None = None
    """How many worker processes the user says there were."""
    overlap: OverlapAnswer | None = None
    """The overlap that the user asked after."""

    def absent_children(self) -> tuple[int, ...]:
        """Children that were forked, or spawned as workers, while traced, and that no file belongs to."""
        present = {process.trace.pid for process in self.processes}
        mentioned = {child for one in self.processes for child in (*one.trace.forked, *one.trace.spawned)}
        return tuple(sorted(mentioned - present))

    def totals(self) -> tuple[Total, ...]:
        """All events by (category, name), sorted."""
        merged: dict[tuple[str, str], tuple[int, float, int]] = {}
        for process in self.processes:
            for key, tally in process.trace.events.items():
                count, total, processes = merged.get(key, (0, 0.0, 0))
                duration = process.trace.microseconds(tally.duration - tally.repeated_duration)
                merged[key] = (count + tally.calls, total + duration, processes + 1)
        return tuple(Total(category, name, *merged[category, name]) for category, name in sorted(merged))

    def lossy_files(self) -> Iterator[FileSummary]:
        """Files in which records are known to be missing."""
        return (file for file in self.files if file.lossy)
