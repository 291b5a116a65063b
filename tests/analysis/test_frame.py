"""Events as frames."""

from __future__ import annotations

from pathlib import Path

import pytest

from dfannotate.analysis.frame import EVENTS, event_frame
from dfannotate.analysis.reader import open_traces

CORPUS = Path(__file__).parents[2] / "corpus" / "traces"


@pytest.mark.parametrize("case", ["fork", "spawn-1.0.11", "ns-metric", "aggregated", "no-finalize"])
def test_the_frame_holds_what_the_summary_counts(case: str) -> None:
    traces = open_traces(CORPUS / case)
    frame = event_frame(traces)
    assert [(name, str(dtype)) for name, dtype in frame.dtypes.items()] == [
        (column.name, column.dtype) for column in EVENTS
    ]
    for total in traces.totals():
        rows = frame[(frame["category"] == total.category) & (frame["name"] == total.name)]
        assert rows["calls"].sum() == total.count
        assert rows["duration_ns"].sum() == round(total.total_us * 1000)
        assert rows["pid"].nunique() == total.processes
    assert len(frame) == 0 or frame["start_ns"].min() > 1_700_000_000 * 10**9


def test_times_that_do_not_fit_are_missing(tmp_path: Path) -> None:
    (tmp_path / "run.pfw").write_text(
        '{"name":"f","cat":"C","pid":1,"ts":18446744073709551615,"dur":3,"ph":1}\n{"name":"f","cat":"C","pid":1,"ph":1}\n'
    )
    frame = event_frame(open_traces(tmp_path))
    assert frame["start_ns"].isna().tolist() == [True, True]
    assert frame["duration_ns"].tolist()[0] == 3000
    assert frame["args"].tolist() == ["", ""]
