"""Events as a pandas frame. The columns are declared here, once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dfannotate.analysis.reader import Event, arguments, events
from dfannotate.analysis.traces import DEFAULT_UNIT, FileSummary, Traces
from dfannotate.vocabulary import TRACE

if TYPE_CHECKING:
    import pandas as pd

_NANOSECONDS = {"NS": 1, "US": 1_000, "MS": 1_000_000, "SEC": 1_000_000_000}
_LARGEST = 2**63 - 1


@dataclass(frozen=True)
class Column:
    """``dtype`` is the pandas one; ``unit`` is empty for what has none."""

    name: str
    dtype: str
    unit: str
    meaning: str


EVENTS = (
    Column("file", "category", "", "trace file, relative to the folder"),
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


def event_frame(traces: Traces) -> pd.DataFrame:
    """All events of a run; columns as in ``EVENTS``. Reads the files once more, and holds every event in memory."""
    import pandas as pd

    columns: dict[str, list[Any]] = {column.name: [] for column in EVENTS}
    for file in traces.files:
        for batch in events(file):
            _append(columns, batch, file)
    return pd.DataFrame({column.name: pd.Series(columns[column.name], dtype=column.dtype) for column in EVENTS})


def _append(columns: dict[str, list[Any]], batch: Iterable[Event], file: FileSummary) -> None:
    factors = {process.pid: _NANOSECONDS[process.unit] for process in file.processes}
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
