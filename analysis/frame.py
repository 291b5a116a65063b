"""A traced run as pandas frames, for notebooks. The columns are declared here, once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dfannotate.analysis.reader import Event, arguments, events, open_traces
from dfannotate.analysis.traces import DEFAULT_UNIT, FileSummary, Traces
from dfannotate.vocabulary import TRACE, TRACE_UNITS

if TYPE_CHECKING:
    import pandas as pd

    from dfannotate.analysis.partials import Contribution
    from dfannotate.analysis.patterns import Patterns

_NANOSECONDS = {unit: 10**9 // a_second for unit, a_second in TRACE_UNITS.items()}
_LARGEST = 2**63 - 1


@dataclass(frozen=True)
class Column:
    """``dtype`` is the pandas one; ``unit`` is empty for what has none."""

    name: str
    dtype: str
    unit: str
    meaning: str


_FILE = Column("file", "category", "", "trace file, relative to the folder")
_HOST = Column("host", "category", "", "host of the process, missing where the trace does not say")

EVENTS = (
    _FILE,
    _HOST,
    Column("pid", "Int64", "", "process that logged the event"),
    Column("tid", "Int64", "", "thread that logged the event"),
    Column("category", "category", "", "category of the annotation"),
    Column("name", "category", "", "name of the event"),
    Column("start_ns", "Int64", "ns", "begin, since the epoch; of an aggregated record, of its interval"),
    Column("duration_ns", "Int64", "ns", "length; of an aggregated record, the sum of its calls"),
    Column("calls", "int64", "", "calls that the record stands for: 1, or more for an aggregated one"),
    Column("args", "object", "", "arguments as JSON text, empty without metadata"),
)
"""One row an event. Times that 64 bits cannot hold (an event around the initialization itself has them) are missing."""

PROCESSES = (
    _FILE,
    _HOST,
    Column("pid", "Int64", "", "process"),
    Column("ppid", "Int64", "", "its parent"),
    Column("role", "category", "", "main, worker or rank"),
    Column("rank", "Int64", "", "rank among the processes of a parallel run"),
    Column("events", "int64", "", "calls that its records stand for, as they stand"),
    Column("finalized", "bool", "", "whether it finished its trace"),
    Column("bytes", "int64", "B", "length of the file"),
    Column("unit", "category", "", "time unit of the file (NS, US, MS, SEC); all frames are in ns"),
    Column("start_ns", "Int64", "ns", "begin of its first event, since the epoch"),
    Column("end_ns", "Int64", "ns", "end of its last event, since the epoch"),
    Column("command", "object", "", "command line, empty where the trace does not say"),
)
"""One row a process in a file."""

METADATA = (
    _FILE,
    _HOST,
    Column("pid", "Int64", "", "process that logged it"),
    Column("key", "object", "", "what the program calls it"),
    Column("value", "object", "", "its value, as text"),
)
"""One row for each thing that a program wrote down about itself (``log_metadata``)."""


class Trace:
    """A traced run. The frames are made when they are first asked for; ``events`` holds every event in memory."""

    def __init__(self, path: Path, traces: Traces) -> None:
        self.path = path
        self.traces = traces
        """What a reading without frames knows of the run."""

    @cached_property
    def events(self) -> pd.DataFrame:
        """One row an event; columns as in ``EVENTS``. Reads the files once more."""
        return event_frame(self.traces)

    @cached_property
    def processes(self) -> pd.DataFrame:
        """One row a process; columns as in ``PROCESSES``."""
        return process_frame(self.traces)

    @cached_property
    def metadata(self) -> pd.DataFrame:
        """What the program wrote down about itself; columns as in ``METADATA``."""
        return metadata_frame(self.traces)


def open_trace(path: str | Path, *, jobs: int | None = None) -> Trace:
    """Open the trace files of a folder (or one file), with ``jobs`` processes (default: one a core).

    Files that cannot be read are no error, but a matter for ``verify``. Raises ``TraceError`` where there is no trace
    at all."""
    path = Path(path)
    return Trace(path, open_traces(path, jobs=jobs))


def event_frame(traces: Traces) -> pd.DataFrame:
    """All events of a run; columns as in ``EVENTS``. Reads the files once more, and holds every event in memory."""
    import pandas as pd

    columns: dict[str, list[Any]] = {column.name: [] for column in EVENTS}
    for file in traces.files:
        for batch in events(file):
            _append(columns, batch, file)
    return pd.DataFrame({column.name: pd.Series(columns[column.name], dtype=column.dtype) for column in EVENTS})


def process_frame(traces: Traces) -> pd.DataFrame:
    """All processes of a run; columns as in ``PROCESSES``."""
    rows = []
    for process in traces.processes:
        trace = process.trace
        factor = _NANOSECONDS[trace.unit]
        rows.append(
            (
                process.file.name,
                trace.host,
                trace.pid,
                trace.ppid,
                process.role,
                trace.rank,
                trace.count,
                trace.finalized,
                process.file.size,
                trace.unit,
                _scaled(trace.first, factor),
                _scaled(trace.last, factor),
                trace.command or "",
            )
        )
    return _frame(PROCESSES, rows)


def metadata_frame(traces: Traces) -> pd.DataFrame:
    """What the programs wrote down about themselves; columns as in ``METADATA``."""
    rows = [
        (process.file.name, process.trace.host, process.trace.pid, key, value)
        for process in traces.processes
        for key, value in process.trace.metadata.items()
    ]
    return _frame(METADATA, rows)


def _frame(columns: Sequence[Column], rows: Sequence[tuple[object, ...]]) -> pd.DataFrame:
    import pandas as pd

    cells = {column.name: [row[index] for row in rows] for index, column in enumerate(columns)}
    return pd.DataFrame({column.name: pd.Series(cells[column.name], dtype=column.dtype) for column in columns})


def _append(columns: dict[str, list[Any]], batch: Iterable[Event], file: FileSummary) -> None:
    factors = {process.pid: _NANOSECONDS[process.unit] for process in file.processes}
    hosts = {process.pid: process.host for process in file.processes}
    for event in batch:
        calls, duration = 1, event.dur
        if event.ph == TRACE.aggregated_phase:
            values = arguments(event)
            calls = int(values.get(TRACE.calls, 1))
            duration = (
                event.dur if event.dur is not None else values.get(TRACE.duration_sum, values.get(TRACE.duration))
            )
        factor = factors.get(event.pid, _NANOSECONDS[DEFAULT_UNIT])
        row = (
            file.name,
            hosts.get(event.pid),
            event.pid,
            event.tid,
            event.cat,
            event.name,
            _scaled(event.ts, factor),
            _scaled(duration, factor),
            calls,
            bytes(event.args).decode(),
        )
        for column, value in zip(EVENTS, row, strict=True):
            columns[column.name].append(value)


def _scaled(value: int | None, factor: int) -> int | None:
    if value is None or abs(value) > _LARGEST // factor:
        return None
    return int(value) * factor


def contribution_of(frame: pd.DataFrame, a: Patterns, b: Patterns) -> tuple[Contribution, tuple[tuple[int, int], ...]]:
    """The events of A and of B in a frame of events, as a file contributes them; and how many events and processes each
    of the two has. Raises ``TraceError`` for aggregated records, which have no times of their own."""
    import numpy as np

    from dfannotate.analysis.intervals import durations_of, union
    from dfannotate.analysis.partials import ABSURD_SECONDS, LATEST, Contribution, Partial, Spans, Stock
    from dfannotate.analysis.traces import TraceError

    kinds = frame.groupby(["category", "name"], observed=True, sort=False).ngroup().to_numpy()
    firsts = frame.iloc[np.unique(kinds, return_index=True)[1]]
    names = list(zip(firsts["category"].astype(str), firsts["name"].astype(str), strict=True))
    wanted = [np.array([side.match(*name) for name in names], np.bool_)[kinds] for side in (a, b)]
    if "calls" in frame and (frame["calls"].to_numpy()[wanted[0] | wanted[1]] > 1).any():
        raise TraceError("aggregated records among A or B: they say how many calls there were and not when")
    start = frame["start_ns"].fillna(-1).to_numpy(np.int64)
    duration = frame["duration_ns"].fillna(0).to_numpy(np.int64)
    usable = (start >= 0) & (duration >= 0) & (duration <= ABSURD_SECONDS * 10**9) & (start <= LATEST - duration)
    pid = frame["pid"].fillna(-1).to_numpy(np.int64)
    host = _texts(frame, "host")
    file = np.where(pid < 0, _texts(frame, "file"), "")
    keys: dict[tuple[str, int, str], int] = {}
    process = np.array(
        [keys.setdefault(key, len(keys)) for key in zip(host, pid.tolist(), file, strict=True)], np.int64
    )
    spans = []
    counts = []
    for side, mine in enumerate(wanted):
        counts.append((int(mine.sum()), len(np.unique(process[mine]))))
        for key, number in keys.items():
            chosen = mine & usable & (process == number)
            runs = union(start[chosen], start[chosen] + duration[chosen])
            if len(runs):
                extent = (runs.starts[:1], runs.ends[-1:], np.array([len(runs)], np.int64))
                spans.append(Spans(key, side, 1, *extent, (runs,)))
    chunks = [np.stack((part.firsts, part.lasts, part.counts), axis=1) for part in spans]
    either = wanted[0] | wanted[1]
    partial = Partial(
        (),
        durations_of(duration[either & usable]),
        (Stock(0, tuple(keys), np.concatenate(chunks)),) if chunks else (),
        (),
        int((either & ~usable).sum()),
        int((wanted[0] & wanted[1] & usable).sum()),
    )
    return Contribution(partial, tuple(spans)), tuple(counts)


def _texts(frame: pd.DataFrame, column: str) -> list[str]:
    if column not in frame:
        return [""] * len(frame)
    return frame[column].astype(object).where(frame[column].notna(), "").astype(str).tolist()
