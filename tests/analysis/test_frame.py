"""Events as frames."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dfannotate.analysis import open_trace
from dfannotate.analysis.frame import EVENTS, METADATA, PROCESSES, event_frame
from dfannotate.analysis.reader import open_traces
from tests.conftest import TRACES


@pytest.mark.parametrize("case", ["fork", "spawn-1.0.11", "ns-metric", "aggregated", "no-finalize"])
def test_the_frame_holds_what_the_summary_counts(case: str) -> None:
    traces = open_traces(TRACES / case)
    frame = event_frame(traces)
    assert [(name, str(dtype)) for name, dtype in frame.dtypes.items()] == [
        (column.name, column.dtype) for column in EVENTS
    ]
    for total in traces.totals():
        rows = frame[(frame["category"] == total.category) & (frame["name"] == total.name)]
        assert rows["calls"].sum() == total.count
        assert rows["duration_ns"].sum() == round(total.total_us * 1000)
        assert rows["pid"].nunique() == total.processes
    assert bool(len(frame)) == bool(traces.totals())
    assert (frame["start_ns"] > 1_700_000_000 * 10**9).all()


def test_times_that_do_not_fit_are_missing(tmp_path: Path) -> None:
    (tmp_path / "run.pfw").write_text(
        '{"name":"f","cat":"C","pid":1,"ts":18446744073709551615,"dur":3,"ph":1}\n{"name":"f","cat":"C","pid":1,"ph":1}\n'
    )
    frame = event_frame(open_traces(tmp_path))
    assert frame["start_ns"].isna().tolist() == [True, True]
    assert frame["duration_ns"].tolist()[0] == 3000
    assert frame["args"].tolist() == ["", ""]


@pytest.mark.parametrize("case", ["fork", "spawn-1.0.11", "ns-metric", "spawn-broken"])
def test_a_trace_opens_as_frames_with_the_declared_columns(case: str) -> None:
    trace = open_trace(str(TRACES / case))
    for frame, columns in ((trace.events, EVENTS), (trace.processes, PROCESSES), (trace.metadata, METADATA)):
        assert [(name, str(dtype)) for name, dtype in frame.dtypes.items()] == [
            (column.name, column.dtype) for column in columns
        ]
    assert len(trace.processes) == len(trace.traces.processes)
    assert trace.processes["events"].sum() == len(trace.events)
    assert trace.events is trace.events
    # the processes and their events agree on when things began
    first = trace.events.groupby("pid", observed=True)["start_ns"].min()
    for pid, start in zip(trace.processes["pid"], trace.processes["start_ns"], strict=True):
        if pid in first.index:
            assert start <= first[pid]


def test_metadata_is_what_programs_wrote_down(tmp_path: Path) -> None:
    (tmp_path / "run.pfw").write_text(
        '{"name":"CM","cat":"dftracer","pid":7,"tid":7,"ph":4,"args":{"name":"model","value":"unet"}}\n'
        '{"name":"f","cat":"C","pid":7,"tid":7,"ts":5,"dur":3,"ph":1}\n'
    )
    (row,) = open_trace(tmp_path).metadata.itertuples(index=False)
    assert (row.pid, row.key, row.value) == (7, "model", "unet")


def test_pandas_is_not_imported_before_a_frame_is_asked_for() -> None:
    code = "import sys, dfannotate.analysis as a; t = a.open_trace(sys.argv[1]); sys.exit('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code, str(TRACES / "fork")], check=False).returncode == 0
