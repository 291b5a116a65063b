"""Calls held against events, on runs made up for it: whose events they are, how many there must be, and why not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from dfannotate.analysis import Outcome, discover
from dfannotate.analysis.audit import (
    DISTURBED,
    FINALIZED,
    NOT_STARTED,
    PHASES,
    STARTED,
    THREADED,
    Audit,
    AuditProcess,
    AuditSite,
    Phase,
    SiteCalls,
)
from dfannotate.analysis.ledger import balance
from dfannotate.analysis.processes import assign
from dfannotate.analysis.traces import FileSummary, ProcessTrace, Tally, Traces

CHECKS = {check.id: check for check in discover()}
SITES = (
    AuditSite("a.py", 3, "f", "f", "C", "decorator"),
    AuditSite("a.py", 9, "r", "r", "C", "region"),
    AuditSite("a.py", 15, "e", "e", "C", "event"),
    AuditSite("a.py", 20, "g", "g", "C", "decorator", countable=False),
    AuditSite("b.py", 4, "f", "f", "C", "decorator"),
)
F, REGION, EVENT, GENERATOR, OTHER_F = range(len(SITES))


def ends(returned: Mapping[Phase, int], raised: Mapping[Phase, int] | None = None, broken: int = 0) -> SiteCalls:
    full: list[dict[Phase, int]] = [
        {phase: counts.get(phase, 0) for phase in PHASES} for counts in (returned, raised or {})
    ]
    return SiteCalls(full[0], full[1], broken)


def traced(count: int, raised: int = 0) -> SiteCalls:
    return ends({"traced": count}, {"traced": raised})


def counted(pid: int, calls: Mapping[int, SiteCalls], *, ppid: int = 1, **more: object) -> AuditProcess:
    process = AuditProcess(pid, ppid, "node", "python a.py", True, True, FINALIZED, 0, calls)
    return replace(process, **more)  # type: ignore[arg-type]  # the fields that the test is about


def process(pid: int, events: Mapping[str, int], **more: object) -> ProcessTrace:
    tallies = {("C", name): Tally(count=count, duration=count) for name, count in events.items()}
    trace = ProcessTrace(pid, host="node", events=tallies, starts=1, ends=1, finalized=True)
    return replace(trace, **more)  # type: ignore[arg-type]  # the fields that the test is about


def file(name: str, *processes: ProcessTrace, **more: object) -> FileSummary:
    whole = FileSummary(Path(name), name, size=100, checksum=sum(name.encode()), lines=9, processes=processes)
    return replace(whole, **more)  # type: ignore[arg-type]  # the fields that the test is about


def run(*files: FileSummary, audit: Audit | None = None) -> Traces:
    return Traces(Path("traces"), files, assign(files), audit)


def audit(*processes: AuditProcess, problems: tuple[str, ...] = ()) -> Audit:
    return Audit(SITES, processes, problems)


def outcome(check: str, traces: Traces) -> Outcome:
    return CHECKS[check].run(traces, None, ())


def losses(traces: Traces) -> list[tuple[int, str, int]]:
    assert traces.audit is not None
    return [(one.pid, one.key[1], one.lost) for one in balance(traces, traces.audit).lost]


# --- how many events there must be ---


@pytest.mark.parametrize(
    ("site", "calls", "fewest", "most"),
    [
        pytest.param(F, traced(5), 5, 5, id="decorator-returns"),
        pytest.param(F, traced(5, raised=2), 5, 5, id="decorator-raises-and-logs-nothing"),
        pytest.param(REGION, traced(5, raised=2), 7, 7, id="region-logs-both"),
        pytest.param(EVENT, traced(5, raised=2), 5, 7, id="event-may-log-both"),
        pytest.param(F, ends({"traced": 5, "before": 3, "importing": 2}), 5, 5, id="nothing-before-tracing"),
        pytest.param(F, ends({"traced": 5, "after": 3}), 5, 8, id="while-the-trace-is-closed"),
    ],
)
def test_how_many_events_calls_must_and_may_leave(site: int, calls: SiteCalls, fewest: int, most: int) -> None:
    for count in range(10):
        traces = run(file("main.pfw", process(7, {SITES[site].event: count})), audit=audit(counted(7, {site: calls})))
        assert traces.audit is not None
        ledger = balance(traces, traces.audit)
        assert sum(one.lost for one in ledger.balances) == max(0, fewest - count)
        assert sum(one.excess for one in ledger.balances) == max(0, count - most)


def test_functions_of_one_name_are_counted_together() -> None:
    calls = {F: traced(2), OTHER_F: traced(3)}
    assert losses(run(file("m.pfw", process(7, {"f": 5})), audit=audit(counted(7, calls)))) == []
    assert losses(run(file("m.pfw", process(7, {"f": 4})), audit=audit(counted(7, calls)))) == [(7, "f", 1)]


def test_what_cannot_be_counted_is_not_held_against_anything() -> None:
    traces = run(file("m.pfw", process(7, {"g": 5})), audit=audit(counted(7, {GENERATOR: traced(9)})))
    assert losses(traces) == []


# --- whose events they are ---


def test_one_pid_on_two_hosts_is_two_processes() -> None:
    there = process(7, {"f": 3}, host="other")
    both = (counted(7, {F: traced(2)}), counted(7, {F: traced(3)}, host="other"))
    assert losses(run(file("a.pfw", process(7, {"f": 2})), file("b.pfw", there), audit=audit(*both))) == []
    assert losses(run(file("a.pfw", process(7, {"f": 5})), audit=audit(*both))) == [(7, "f", 3)]


def test_a_process_that_became_another_program_is_one() -> None:
    images = (counted(7, {F: traced(2)}), counted(7, {F: traced(3)}, forked=False))
    assert losses(run(file("a.pfw", process(7, {"f": 5})), audit=audit(*images))) == []


@pytest.mark.parametrize(
    ("version", "shared"),
    [("v1.0.11", True), ("100008", True), ("v2.0.3", True), ("v2.1.0", False), ("20003", False), (None, False)],
)
def test_forked_children_of_old_generations_are_held_against_their_parent_s_file(
    version: str | None, shared: bool
) -> None:
    main = process(7, {"f": 6}, version=version)
    processes = (
        counted(7, {F: traced(1)}, forked=False),
        counted(8, {F: traced(2)}, ppid=7),
        counted(9, {F: traced(3)}, ppid=8),  # a child of the child
    )
    traces = run(file("run-app.pfw", main), audit=audit(*processes))
    assert losses(traces) == ([] if shared else [(8, "f", 2), (9, "f", 3)])
    workers = outcome("workers", traces)
    assert workers.status == ("pass" if shared else "fail")
    assert ("process 9 (forked by 8" in workers.message) is not shared


def test_workers_inside_their_parent_s_file_are_told_by_its_end_records() -> None:
    traces = run(file("run-app.pfw", process(7, {"f": 6}, version="v1.0.11", ends=3)))
    assert outcome("workers", replace(traces, workers_expected=2)).status == "pass"
    assert outcome("workers", replace(traces, workers_expected=3)).status == "fail"


# --- why they are missing ---

MAIN = file("run-app.pfw", process(1, {"f": 3}))
KNOWN = counted(1, {F: traced(3)}, forked=False)


@pytest.mark.parametrize(
    ("more", "lost", "why"),
    [
        pytest.param((), counted(8, {F: traced(9)}), "it left no file", id="no-file"),
        pytest.param((), counted(8, {F: traced(2)}), "with fewer than 3 events", id="too-few-events"),
        pytest.param(
            (),
            counted(8, {F: ends({"before": 4})}, state=NOT_STARTED),
            "tracing never started there",
            id="never-initialized",
        ),
        pytest.param(
            (),
            counted(8, {F: ends({"before": 4})}, state=NOT_STARTED, enabled=False),
            "turned off in its environment",
            id="turned-off",
        ),
        pytest.param(
            (file("w-fork.pfw", ProcessTrace(8), size=0),),
            counted(8, {F: traced(4)}, state=STARTED),
            "w-fork.pfw is empty: it was killed",
            id="empty-file",
        ),
        pytest.param(
            (file("w-fork.pfw", process(8, {"f": 1}), bad_lines=2),),
            counted(8, {F: traced(4)}),
            "lines that are not records",
            id="bad-lines",
        ),
        pytest.param(
            (file("w-fork.pfw", process(8, {"f": 1}, finalized=False, ends=0)),),
            counted(8, {F: traced(4)}),
            "ended without finalize",
            id="not-finalized",
        ),
        pytest.param(
            (file("w-fork.pfw", process(8, {"f": 1})),), counted(8, {F: traced(4)}), "trace is whole", id="whole"
        ),
    ],
)
def test_a_loss_is_named_with_its_process_and_its_likely_reason(
    more: tuple[FileSummary, ...], lost: AuditProcess, why: str
) -> None:
    found = outcome("audit", run(MAIN, *more, audit=audit(KNOWN, lost)))
    assert found.status == "fail"
    assert "C:f in process 8" in found.message
    assert why in found.message
    (evidence,) = found.details["lost"]
    assert (evidence["pid"], evidence["functions"]) == (8, ["f"])


def test_what_a_process_without_tracing_only_imports_is_no_loss() -> None:
    helper = counted(8, {F: ends({"importing": 4})}, state=NOT_STARTED)
    traces = run(MAIN, audit=audit(KNOWN, helper))
    assert outcome("audit", traces).status == "pass"
    assert outcome("workers", traces).status == "pass"


def test_calls_after_the_end_are_warned_of() -> None:
    found = outcome("audit", run(MAIN, audit=audit(counted(1, {F: ends({"traced": 3, "after": 2})}))))
    assert found.status == "warn"
    assert "2 calls ended after their process had finalized" in found.message
    assert "events lost: 0" in found.message


def test_arguments_that_the_tracer_refuses_fail() -> None:
    calls = ends({"traced": 3}, {"traced": 1}, broken=5)
    found = outcome("audit", run(MAIN, audit=audit(counted(1, {F: calls}))))
    assert found.status == "fail"
    assert "4 of f (a.py:3)" in found.message


@pytest.mark.parametrize(
    ("known", "status", "says"),
    [
        pytest.param(None, "skip", "run --audit", id="no-audit"),
        pytest.param(audit(), "skip", "python -I", id="nothing-counted"),
        pytest.param(audit(problems=("the plan is gone",)), "skip", "the plan is gone", id="for-a-reason"),
        pytest.param(audit(KNOWN), "pass", "events lost: 0 (3 calls in 1 process, each", id="proven"),
        pytest.param(audit(replace(KNOWN, flags=DISTURBED)), "skip", "sys.setprofile", id="own-profiler"),
        pytest.param(audit(replace(KNOWN, flags=THREADED)), "skip", "interpreter's lock", id="free-threads"),
        pytest.param(audit(KNOWN, problems=("a file is broken",)), "skip", "a file is broken", id="broken-counts"),
        pytest.param(audit(counted(5, {})), "skip", "process 1 were not counted", id="process-not-counted"),
        pytest.param(audit(counted(1, {F: traced(2)})), "warn", "1 more events", id="more-events-than-calls"),
        pytest.param(
            audit(replace(KNOWN, flags=DISTURBED, calls={F: traced(4)})), "fail", "events lost: 1", id="lost"
        ),
    ],
)  # fmt: skip
def test_only_what_is_proven_passes(known: Audit | None, status: str, says: str) -> None:
    found = outcome("audit", run(MAIN, audit=known))
    assert (found.status, says in found.message) == (status, True), found.message


def test_no_call_at_all_proves_nothing() -> None:
    found = outcome("audit", run(file("m.pfw", process(1, {"other": 3})), audit=audit(counted(1, {}))))
    assert found.status == "skip"
    assert "no annotated function was called" in found.message
