"""Every real trace of the corpus against what is known to be true about it."""

from __future__ import annotations

from collections import Counter

import pytest

from dfannotate.analysis import Outcome, discover
from dfannotate.analysis.reader import open_traces
from dfannotate.analysis.traces import Process, Traces
from tests.conftest import REAL_TRACES, TRACES, RealTrace


def events_of(process: Process) -> dict[str, int]:
    counted: Counter[str] = Counter()
    for (_, name), tally in process.trace.events.items():
        counted[name] += tally.count
    return dict(counted)


def outcomes(traces: Traces) -> dict[str, Outcome]:
    return {outcome.id: outcome for outcome in (check.run(traces, None, ()) for check in discover())}


def test_the_corpus_is_whole() -> None:
    folders = {folder.name for folder in TRACES.iterdir() if folder.is_dir() and not folder.name.startswith("_")}
    assert folders == {trace.name for trace in REAL_TRACES}
    assert any(trace.checks_failed for trace in REAL_TRACES)
    assert any(not trace.checks_failed for trace in REAL_TRACES)


def test_each_file_is_read_as_it_is(real_trace: RealTrace) -> None:
    traces = open_traces(real_trace.folder)
    assert [file.name for file in traces.files] == sorted(real_trace.files)
    assert len(traces.processes) == len(traces.files)
    for process in traces.processes:
        file, known = process.file, real_trace.files[process.file.name]
        assert file.size == known["bytes"]
        assert file.members == known["gzip_members"]
        assert file.truncated == known["truncated"]
        assert file.empty == known["empty"]
        assert file.bad_lines == known["unparsable_lines"]
        assert process.trace.pid == known["pid"]
        assert process.trace.ppid == known["ppid"]
        assert process.role == known["role"]
        assert events_of(process) == (known["aggregated"] or known["events"])
        assert process.trace.aggregated == (known["aggregated"] is not None)


def test_calls_are_what_was_really_called_or_the_loss_is_told(real_trace: RealTrace) -> None:
    really = real_trace.truth["calls_really_made"]
    traces = open_traces(real_trace.folder)
    counted: Counter[str] = Counter()
    for total in traces.totals():
        counted[total.name] += total.count
    lost = {name for name, calls in really.items() if counted[name] != calls}
    assert all(counted[name] < really[name] for name in lost)
    failed = {name for name, outcome in outcomes(traces).items() if outcome.status == "fail"}
    assert failed == real_trace.checks_failed
    assert failed or not lost


@pytest.mark.parametrize(
    ("case", "unit"), [("ns-metric", "NS"), ("fork", "US"), ("no-metadata", "US"), ("spawn-2.0.3", "US")]
)
def test_the_time_unit_is_the_trace_s_own(case: str, unit: str) -> None:
    traces = open_traces(TRACES / case)
    assert {process.trace.unit for process in traces.processes} == {unit}
    epoch = next(total for total in traces.totals() if total.name == "epoch")
    # an epoch of these runs takes between ten milliseconds and ten seconds
    assert 1e4 < epoch.total_us / epoch.count < 1e7


def test_the_trace_of_a_killed_1x_process_is_complete_but_for_its_end() -> None:
    finalized = outcomes(open_traces(TRACES / "sigkill-1.0.11"))["finalized"]
    assert finalized.status == "warn"
    assert "every event at once" in finalized.message


def test_repeated_records_are_counted_once() -> None:
    traces = open_traces(TRACES / "fork-2.0.3-duplicates")
    (file,) = traces.files
    # four children repeat the parent's start; the two of the second epoch also its 4 steps and its epoch
    assert file.repeated_lines == 4 + 2 * (4 + 1)
    assert not file.repeats_sampled
    totals = {total.name: total.count for total in traces.totals()}
    assert totals["train_step"] == 8
    assert totals["epoch"] == 2


def test_children_that_left_no_file_are_known() -> None:
    coverage = outcomes(open_traces(TRACES / "small-workers-deleted"))["coverage"]
    assert coverage.details["processes_without_file"] == [11849, 11850]


def test_the_break_of_a_cut_file_is_placed() -> None:
    (file,) = open_traces(TRACES / "sigkill").files
    (problem,) = file.problems
    assert problem.kind == "truncated"
    assert problem.offset == file.size
    assert file.bad_lines == 1
    assert file.bad_samples[0].line == file.lines
