"""Every real trace of the corpus against what is known to be true about it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from dfannotate.analysis import Outcome, discover
from dfannotate.analysis.reader import open_traces
from dfannotate.analysis.traces import Process, Traces

CORPUS = Path(__file__).parents[2] / "corpus" / "traces"
CASES = sorted(folder.parent.name for folder in CORPUS.glob("*/expected.json"))

# What a reader that takes the file line by line calls unparsable, and this one reads: brackets glued to records
# (`]{…}`) or to each other (`][`).
GLUED_BRACKETS = {"fork-1.0.11-one-file", "fork-2.0.3-duplicates"}

# Nothing of the run is left but an empty file: neither host nor executable is known, so the hash in its name is not.
UNKNOWN_PID = {"no-finalize"}

# Events are lost, or records stand there twice, and the trace shows it.
BROKEN = {
    "bad-json",
    "fork-2.0.3-duplicates",
    "fork-preload-broken",
    "no-finalize",
    "sigkill",
    "small-workers-deleted",
    "spawn-broken",
}


def expected(case: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((CORPUS / case / "expected.json").read_text(encoding="utf-8"))
    return document


def events_of(process: Process) -> dict[str, int]:
    counted: Counter[str] = Counter()
    for (_, name), tally in process.trace.events.items():
        counted[name] += tally.count
    return dict(counted)


def outcomes(traces: Traces) -> dict[str, Outcome]:
    return {outcome.id: outcome for outcome in (check.run(traces, None, ()) for check in discover())}


def test_the_corpus_is_whole() -> None:
    folders = {folder.name for folder in CORPUS.iterdir() if folder.is_dir() and not folder.name.startswith("_")}
    assert folders == set(CASES)
    assert len(CASES) == 21


@pytest.mark.parametrize("case", CASES)
def test_each_file_is_read_as_it_is(case: str) -> None:
    truth = expected(case)
    traces = open_traces(CORPUS / case)
    assert [file.name for file in traces.files] == sorted(truth["files"])
    assert len(traces.processes) == len(traces.files)
    for process in traces.processes:
        file, known = process.file, truth["files"][process.file.name]
        assert file.size == known["bytes"]
        assert file.members == known["gzip_members"]
        assert file.truncated == known["truncated"]
        assert file.empty == known["empty"]
        assert file.bad_lines == (0 if case in GLUED_BRACKETS else known["unparsable_lines"])
        assert process.trace.pid == (None if case in UNKNOWN_PID else known["pid"])
        assert process.trace.ppid == known["ppid"]
        assert process.role == known["role"]
        if case == "fork-1.0.11-one-file":
            # the two events that a line-by-line reader loses behind a bracket
            assert events_of(process) == {**known["events"], "train_step": 4}
        else:
            assert events_of(process) == (known["aggregated"] or known["events"])
        assert process.trace.aggregated == (known["aggregated"] is not None)


@pytest.mark.parametrize("case", CASES)
def test_calls_are_what_was_really_called_or_the_loss_is_told(case: str) -> None:
    truth = expected(case)
    traces = open_traces(CORPUS / case)
    counted: Counter[str] = Counter()
    for total in traces.totals():
        counted[total.name] += total.count
    lost = {name for name, calls in truth["calls_really_made"].items() if counted[name] != calls}
    assert all(counted[name] < truth["calls_really_made"][name] for name in lost)
    failed = {name for name, outcome in outcomes(traces).items() if outcome.status == "fail"}
    if lost:
        assert failed
    assert bool(failed) == (case in BROKEN)


@pytest.mark.parametrize(
    ("case", "unit"), [("ns-metric", "NS"), ("fork", "US"), ("no-metadata", "US"), ("spawn-2.0.3", "US")]
)
def test_the_time_unit_is_the_trace_s_own(case: str, unit: str) -> None:
    traces = open_traces(CORPUS / case)
    assert {process.trace.unit for process in traces.processes} == {unit}
    epoch = next(total for total in traces.totals() if total.name == "epoch")
    # an epoch of these runs takes between ten milliseconds and ten seconds
    assert 1e4 < epoch.total_us / epoch.count < 1e7


def test_the_trace_of_a_killed_1x_process_is_complete_but_for_its_end() -> None:
    finalized = outcomes(open_traces(CORPUS / "sigkill-1.0.11"))["finalized"]
    assert finalized.status == "warn"
    assert "every event at once" in finalized.message


def test_repeated_records_are_counted_once() -> None:
    traces = open_traces(CORPUS / "fork-2.0.3-duplicates")
    (file,) = traces.files
    # four children repeat the parent's start; the two of the second epoch also its 4 steps and its epoch
    assert file.repeated_lines == 4 + 2 * (4 + 1)
    assert not file.repeats_sampled
    totals = {total.name: total.count for total in traces.totals()}
    assert totals["train_step"] == 8
    assert totals["epoch"] == 2


def test_children_that_left_no_file_are_known() -> None:
    coverage = outcomes(open_traces(CORPUS / "small-workers-deleted"))["coverage"]
    assert coverage.details["processes_without_file"] == [11849, 11850]


def test_the_break_of_a_cut_file_is_placed() -> None:
    (file,) = open_traces(CORPUS / "sigkill").files
    (problem,) = file.problems
    assert problem.kind == "truncated"
    assert problem.offset == file.size
    assert file.bad_lines == 1
    assert file.bad_samples[0].line == file.lines
