"""Each check on runs made up for it, and the way checks and expectations are found and read."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from dfannotate.analysis import Check, Expectation, Outcome, discover, parse_expectation
from dfannotate.analysis import checks as checks_package
from dfannotate.analysis.processes import assign
from dfannotate.analysis.reader import open_traces
from dfannotate.analysis.traces import BadLine, FileSummary, Problem, ProcessTrace, Tally, Traces
from dfannotate.manifest import FileEntry, Manifest, ManualEvent, Site
from tests.conftest import TRACES

CHECKS: Mapping[str, Check] = {check.id: check for check in discover()}


def process(
    pid: int | None, events: Mapping[str, int] | None = None, *, finalized: bool = True, **more: object
) -> ProcessTrace:
    """A process that logged so many events of each ``CATEGORY:NAME``, and claims as many at its end."""
    tallies = {}
    for key, count in (events or {}).items():
        category, name = key.split(":")
        tallies[category, name] = Tally(count=count, duration=10 * count)
    trace = ProcessTrace(
        pid=pid,
        host="node",
        events=tallies,
        starts=1,
        ends=int(finalized),
        finalized=finalized,
        declared_events=sum((events or {}).values()) + 1 if finalized else None,
    )
    return replace(trace, **more)  # type: ignore[arg-type]  # the fields that the test is about


def file(name: str, *processes: ProcessTrace, **more: object) -> FileSummary:
    checksum = sum(name.encode())
    whole = FileSummary(Path(name), name, size=100, checksum=checksum, lines=9, processes=processes)
    return replace(whole, **more)  # type: ignore[arg-type]  # the fields that the test is about


def empty(name: str) -> FileSummary:
    return FileSummary(Path(name), name, processes=(ProcessTrace(None),))


def run(*files: FileSummary) -> Traces:
    return Traces(Path("traces"), files, assign(files))


def manifest(*events: str) -> Manifest:
    sites = []
    for line, event in enumerate(events, 1):
        category, _, name = event.partition(":")
        sites.append(Site("decorator", name, name, category, line))
    sites.append(Site("lifecycle", "", "", "", 99))
    return Manifest("2.2.0", (FileEntry("app.py", "app", True, "", "", tuple(sites)),))


def outcome(
    check: str, traces: Traces, known: Manifest | None = None, expectations: Sequence[Expectation] = ()
) -> Outcome:
    return CHECKS[check].run(traces, known, expectations)


MAIN = file("run-app.pfw", process(1, {"C:f": 3, "C:g": 2}))


def test_checks_are_found_by_walking() -> None:
    modules = {path.stem for path in Path(str(checks_package.__file__)).parent.glob("*.py")} - {"__init__"}
    order = ["integrity", "finalized", "workers", "coverage", "counts", "audit", "arguments", "clock", "overlap"]
    assert list(CHECKS) == [name for name in order if name in modules]
    assert modules == set(CHECKS)


def test_a_whole_run_passes() -> None:
    results = {
        name: outcome(name, run(MAIN), manifest("C:f", "C:g"), [parse_expectation("C:f=3")]).status for name in CHECKS
    }
    # One process of a made-up run: without workers, counts of its calls or arguments there is nothing to hold it to.
    assert {name for name, status in results.items() if status == "skip"} <= {"workers", "audit", "overlap"}
    assert set(results.values()) == {"pass", "skip"}


# --- integrity ---


@pytest.mark.parametrize(
    ("files", "says"),
    [
        pytest.param([MAIN, empty("run-fork.pfw")], "1 file of 0 bytes (run-fork.pfw)", id="empty"),
        pytest.param(
            [file("a.pfw", process(1), problems=(Problem("truncated", "cut off", 90, 7),))],
            "a.pfw: cut off (byte 90, after 7 whole lines)",
            id="truncated",
        ),
        pytest.param(
            [file("a.pfw", process(1), bad_lines=2, bad_samples=(BadLine(4, "not JSON", "x"),))],
            "2 lines are not a record (the first: a.pfw line 4, not JSON)",
            id="bad-lines",
        ),
        pytest.param([file("a.pfw", process(1), repeated_lines=14)], "14 records stand more than once", id="repeated"),
        pytest.param(
            [file("a.pfw", process(1), repeated_lines=70_000, repeats_sampled=True)],
            "about 70000 records stand more than once",
            id="repeated-sampled",
        ),
        pytest.param(
            [file("a.pfw", process(1), checksum=5), file("b.pfw", process(1), checksum=5)],
            "identical files: a.pfw, b.pfw",
            id="identical",
        ),
        pytest.param(
            [file("a.pfw", process(1)), file("b.pfw", process(1))],
            "process 1 is claimed by 2 files",
            id="claimed-twice",
        ),
    ],
)
def test_integrity_fails(files: list[FileSummary], says: str) -> None:
    result = outcome("integrity", run(*files))
    assert result.status == "fail"
    assert says in result.message


def test_one_pid_on_two_hosts_is_two_processes() -> None:
    other = replace(process(1), host="node2")
    assert outcome("integrity", run(file("a.pfw", process(1)), file("b.pfw", other))).status == "pass"


# --- finalized ---


@pytest.mark.parametrize(
    ("files", "status", "says"),
    [
        pytest.param([MAIN], "pass", "every process (1)", id="finalized"),
        pytest.param([empty("a.pfw")], "fail", "a.pfw left no end record", id="empty-file"),
        pytest.param(
            [MAIN, file("b.pfw", process(2, {"C:f": 1}, finalized=False))],
            "fail",
            "process 2 left no end record",
            id="one-of-two",
        ),
        pytest.param(
            [file("a.pfw", process(1, {"C:f": 1}, finalized=False, version="v1.0.11"))],
            "warn",
            "writes every event at once",
            id="unbuffered-generation",
        ),
        pytest.param(
            [file("a.pfw", process(1, {"C:f": 1}, finalized=False, version="100008"))],
            "warn",
            "writes every event at once",
            id="unbuffered-generation-as-number",
        ),
        pytest.param(
            [file("a.pfw", process(1, {"C:f": 1}, finalized=False, version="20003"))],
            "fail",
            "left no end record",
            id="buffered-generation",
        ),
        pytest.param(
            [file("a.pfw", process(1, {"C:f": 1}, finalized=False, starts=0, bare=True))],
            "skip",
            "neither start nor end records",
            id="generation-without-end-records",
        ),
        pytest.param(
            [file("a.pfw", process(1, {"C:f": 3}, declared_events=9))], "fail", "5 of them cannot be read", id="too-few"
        ),
        pytest.param(
            [file("a.pfw", process(1, {"C:f": 3}, declared_events=3))], "warn", "1 more events than", id="too-many"
        ),
    ],
)
def test_finalized(files: list[FileSummary], status: str, says: str) -> None:
    result = outcome("finalized", run(*files))
    assert result.status == status
    assert says in result.message


# --- coverage ---

LOSSY = [empty("run-0123456789abcdef-fork.pfw")]
FORKING = file("run-app.pfw", process(1, {"C:f": 3, "C:g": 2}, forked=(77,)))
SPAWNING = file("run-app.pfw", process(1, {"C:f": 3, "C:g": 2}, spawned=(77,)))
CHILD = file("run-fork.pfw", process(77, {"C:h": 3}))


@pytest.mark.parametrize(
    ("files", "sites", "status", "says"),
    [
        pytest.param([MAIN], ["C:f", "C:g"], "pass", "2 of 2", id="all-fired"),
        pytest.param([MAIN], ["C:f", "C:h"], "warn", "silent: C:h", id="one-silent"),
        pytest.param([MAIN], ["D:f"], "fail", "none of the 1 annotated", id="other-category"),
        pytest.param([MAIN], [], "skip", "names no annotation", id="nothing-annotated"),
        pytest.param([MAIN, *LOSSY], ["C:f"], "fail", "are lost", id="empty-file-all-fired"),
        pytest.param([MAIN, *LOSSY], ["C:f", "C:h"], "fail", "silent: C:h", id="empty-file-one-silent"),
        pytest.param(LOSSY, ["C:f"], "fail", "none of the 1 annotated", id="only-an-empty-file"),
        pytest.param([FORKING], ["C:f"], "warn", "child processes 77 left no file", id="child-absent-all-fired"),
        pytest.param([FORKING], ["C:h"], "fail", "child processes 77 left no file", id="child-absent-one-silent"),
        pytest.param([FORKING, CHILD], ["C:f", "C:h"], "pass", "2 of 2", id="child-there"),
        pytest.param([SPAWNING], ["C:f", "C:h"], "fail", "child processes 77", id="spawned-child-absent"),
    ],
)
def test_coverage(files: list[FileSummary], sites: list[str], status: str, says: str) -> None:
    result = outcome("coverage", run(*files), manifest(*sites))
    assert result.status == status
    assert says in result.message


@pytest.mark.parametrize(
    ("files", "status"),
    [
        pytest.param([MAIN], "skip", id="nothing-to-say"),
        pytest.param([FORKING], "fail", id="child-absent"),
        pytest.param([MAIN, *LOSSY], "fail", id="empty-file"),
    ],
)
def test_coverage_without_a_manifest(files: list[FileSummary], status: str) -> None:
    assert outcome("coverage", run(*files)).status == status


def test_silent_events_are_listed_with_their_places() -> None:
    known = manifest("C:f", "C:h", "C:h")
    result = outcome("coverage", run(MAIN), known)
    (silent,) = result.details["silent"]
    assert silent["places"] == ["app.py:2", "app.py:3"]
    assert silent["reason"] == "never called, or raised every time"


# What the annotations of the traced program would stand for in a manifest.
APP = ("IO:Samples.__getitem__", "IO:augment", "COMPUTE:train_step", "APP:epoch")


@pytest.mark.parametrize(
    ("case", "status"),
    [
        ("fork", "pass"),
        ("fork-1.0.11-one-file", "pass"),
        ("fork-2.0.3-duplicates", "pass"),
        ("fork-2.1.0", "pass"),
        ("fork-preload-broken", "fail"),
        ("forkserver", "pass"),
        ("no-finalize", "fail"),
        ("no-metadata", "pass"),
        ("sigkill", "fail"),
        ("small-workers-deleted", "fail"),
        ("spawn", "pass"),
        ("spawn-1.0.11", "pass"),
        ("spawn-broken", "fail"),
        ("sigterm", "warn"),  # a loop over one function: the others are silent, and nothing is lost
        ("aggregated", "warn"),
    ],
)
def test_coverage_of_real_runs(case: str, status: str) -> None:
    assert outcome("coverage", open_traces(TRACES / case), manifest(*APP)).status == status


# --- counts ---


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("IO:read=3", ("IO", "read", 3, False)),
        ("IO:read>=3", ("IO", "read", 3, True)),
        ("IO:a:b=3", ("IO", "a:b", 3, False)),
        ("IO:a=b=3", ("IO", "a=b", 3, False)),
        ("IO:a=1>=3", ("IO", "a=1", 3, True)),
        ("*:*>=0", ("*", "*", 0, True)),
        ("IO:f.<locals>.g=1", ("IO", "f.<locals>.g", 1, False)),
    ],
)
def test_expectations_are_read(text: str, parts: tuple[str, str, int, bool]) -> None:
    found = parse_expectation(text)
    assert (found.category, found.name, found.count, found.at_least) == parts


@pytest.mark.parametrize(
    "text", ["", "IO", "IO:read", "IO:read=", "IO:read=-1", "read=3", ":read=3", "IO:=3", "IO:a=x"]
)
def test_other_expectations_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="CATEGORY:NAME=N"):
        parse_expectation(text)


@pytest.mark.parametrize(
    ("texts", "status"),
    [
        ([], "skip"),
        (["C:f=3"], "pass"),
        (["C:f=2"], "fail"),
        (["C:f>=2"], "pass"),
        (["C:*=5"], "pass"),
        (["C:[fg]=5", "?:f=3"], "pass"),
        (["C:F=3"], "fail"),
        (["C:nothing=0"], "pass"),
        (["C:nothing>=1"], "fail"),
        (["C:f=3", "C:g=3"], "fail"),
    ],
    ids=lambda value: " ".join(value) or "none" if isinstance(value, list) else value,
)
def test_counts(texts: Iterable[str], status: str) -> None:
    result = outcome("counts", run(MAIN), None, [parse_expectation(text) for text in texts])
    assert result.status == status


def test_a_name_with_pattern_characters_is_matched_as_it_stands() -> None:
    traces = run(file("a.pfw", process(1, {"C:read[0]": 2})))
    assert outcome("counts", traces, None, [parse_expectation("C:read[0]=2")]).status == "pass"


@pytest.mark.parametrize(
    ("case", "expectation"),
    [
        ("aggregated", "IO:augment=200"),
        ("fork-2.0.3-duplicates", "COMPUTE:train_step=8"),
        ("fork", "IO:*=64"),
        ("fork-1.0.11-one-file", "COMPUTE:train_step=4"),
    ],
)
def test_counts_of_real_runs(case: str, expectation: str) -> None:
    result = outcome("counts", open_traces(TRACES / case), None, [parse_expectation(expectation)])
    assert result.status == "pass"


def test_what_is_only_estimated_does_not_pass() -> None:
    trace = replace(process(1), events={("C", "f"): Tally(count=80_000, repeated=10_000)})
    traces = run(file("a.pfw", trace, repeated_lines=10_000, repeats_sampled=True))
    assert outcome("counts", traces, None, [parse_expectation("C:f>=1")]).status == "fail"


# --- workers ---

FORK = file("run-fork.pfw", process(77, {"C:h": 3}, ppid=1))
OTHER = file("run2-fork.pfw", process(78, {"C:h": 3}, ppid=1))
FORKSERVER = "/usr/bin/python;-c;from multiprocessing.forkserver import main"


def makers(*lines: int) -> Manifest:
    sites = tuple(Site("dataloader", "main", "", "", line) for line in lines)
    return Manifest("2.2.0", (FileEntry("app.py", "app", True, "", "", sites),))


@pytest.mark.parametrize(
    ("files", "expected", "known", "status", "says"),
    [
        pytest.param([MAIN], None, None, "skip", "speaks of workers", id="nothing-known"),
        pytest.param([MAIN], None, makers(5, 9), "warn", "app.py:5, app.py:9", id="loaders-and-no-worker"),
        pytest.param([MAIN], 0, makers(5), "pass", "no worker processes left a trace, as expected", id="none-expected"),
        pytest.param([MAIN, FORK], None, None, "skip", "nothing says how many", id="one-of-how-many"),
        pytest.param([MAIN, FORK], 1, None, "pass", "1 worker process left", id="one-expected"),
        pytest.param([MAIN, FORK], 2, None, "fail", "2 are expected", id="one-too-few"),
        pytest.param([MAIN, FORK, OTHER], 1, None, "fail", "each epoch", id="one-too-many"),
        pytest.param([FORKING, FORK], None, None, "pass", "as many as the trace says", id="as-many-as-forked"),
        pytest.param([FORKING, FORK, OTHER], None, None, "skip", "nothing says", id="more-than-known-of"),
        pytest.param([FORKING], None, None, "fail", "child processes 77", id="child-absent"),
        pytest.param([SPAWNING], None, None, "fail", "child processes 77", id="spawned-child-absent"),
        pytest.param([MAIN, empty("w-fork.pfw")], None, None, "fail", "nothing but an empty file", id="empty"),
    ],
)
def test_workers(
    files: list[FileSummary], expected: int | None, known: Manifest | None, status: str, says: str
) -> None:
    result = outcome("workers", replace(run(*files), workers_expected=expected), known)
    assert (result.status, says in result.message) == (status, True), result.message


@pytest.mark.parametrize(
    ("name", "more", "how"),
    [
        pytest.param("run-0123456789abcdef-fork.pfw.gz", {"ppid": 1}, "fork", id="by-suffix"),
        pytest.param("run-0123456789abcdef-.pfw.gz", {"ppid": 1}, "fork", id="by-empty-suffix"),
        pytest.param("run-0123456789abcdef-app.pfw.gz", {"executable": "DEFAULT-spawn"}, "spawn", id="by-executable"),
        pytest.param("run-0123456789abcdef-app.pfw.gz", {"ppid": 9, "command": FORKSERVER}, "forkserver", id="command"),
        pytest.param("anything.pfw", {"ppid": 1}, "?", id="by-parent"),
    ],
)  # fmt: skip
def test_workers_are_told_by_what_the_trace_says(name: str, more: dict[str, object], how: str) -> None:
    worker_trace = replace(process(77, {"C:h": 3}), **more)  # type: ignore[arg-type]  # as each case says
    result = outcome("workers", run(MAIN, file(name, worker_trace)))
    (worker,) = result.details["workers"]
    assert (worker["pid"], worker["started_by"]) == (77, how)


# --- arguments ---


def tallied(**more: object) -> FileSummary:
    """A file with one kind of event, whose tally the test is about."""
    return file("a.pfw", replace(process(1), events={("C", "add"): replace(Tally(count=9), **more)}))  # type: ignore[arg-type]


def adding(*names: str) -> Manifest:
    site = Site("event", "add", "add", "C", 5)
    event = ManualEvent("add", outcome=True, ints=tuple((name, name) for name in names))
    return Manifest("2.2.0", (FileEntry("app.py", "app", True, "", "", (site,), events=(event,)),))


@pytest.mark.parametrize(
    ("files", "known", "status"),
    [
        pytest.param([tallied(keys=("hhash", "n"))], adding("n"), "pass", id="there"),
        pytest.param([tallied(keys=("hhash",))], adding("n"), "warn", id="one-lacking"),
        pytest.param([tallied(bare=9)], adding("n"), "fail", id="none-though-given"),
        pytest.param([tallied(bare=9)], adding(), "warn", id="none-though-maybe-given"),
        pytest.param([tallied(bare=9)], None, "skip", id="no-metadata"),
        pytest.param([tallied(bare=2, keys=("hhash",))], None, "fail", id="some-without"),
        pytest.param([tallied(count=9, aggregated=9)], None, "skip", id="aggregated"),
        pytest.param([file("a.pfw", process(1))], None, "skip", id="no-event"),
        pytest.param([MAIN], adding("n"), "skip", id="none-of-those"),
    ],
)
def test_arguments(files: list[FileSummary], known: Manifest | None, status: str) -> None:
    assert outcome("arguments", run(*files), known).status == status


# --- clock ---

NOW = 1_800_000_000_000_000
"""Microseconds since the epoch, in 2027."""
MINUTE = 60_000_000


def timed(pid: int, started: int = NOW, ended: int = NOW + MINUTE, **more: object) -> ProcessTrace:
    trace = replace(process(pid, {"C:f": 1}), started=started, ended=ended, declared_units=("US",))
    return replace(trace, **more)  # type: ignore[arg-type]  # the fields that the test is about


def at(pid: int, first: int, longest: int = 5, category: str = "C", name: str = "f") -> ProcessTrace:
    """A process with one event, which begins at ``first``."""
    return timed(pid, events={(category, name): Tally(count=1, first=first, longest=longest)})


@pytest.mark.parametrize(
    ("traces", "status", "says"),
    [
        pytest.param([timed(1)], "pass", "declared by the trace", id="agree"),
        pytest.param([timed(1, declared_units=())], "pass", "only unit of this generation", id="old-generation"),
        pytest.param([timed(1, declared_units=("US", "NS"))], "fail", "two units", id="two-units"),
        pytest.param([timed(1, declared_units=("DAYS",))], "fail", "unknown unit", id="unknown-unit"),
        pytest.param([timed(1), timed(2, unit="MS", started=NOW // 1000, ended=NOW // 1000)], "fail", "different units",
                     id="units-differ"),
        pytest.param([timed(1), timed(2, declared_units=())], "fail", "no unit of time", id="one-without-unit"),
        pytest.param([timed(1, started=NOW // 1000)], "fail", "years 2010 to 2100", id="in-1970"),
        pytest.param([timed(1, unit="NS", declared_units=("NS",))], "fail", "years 2010 to 2100", id="wrong-unit"),
        pytest.param([timed(1), timed(2, NOW + 5 * MINUTE, NOW + 6 * MINUTE, ppid=1)], "warn",
                     "its parent 1 finalized its trace", id="child-after-its-parent"),
        pytest.param([timed(1), timed(2, NOW - 5 * MINUTE, NOW, ppid=1)], "fail",
                     "its parent 1 was not traced", id="child-before-its-parent"),
        pytest.param([timed(1), timed(2, NOW + MINUTE // 2, NOW + 9 * MINUTE, ppid=1)], "pass", "",
                     id="child-that-outlives-its-parent"),
        pytest.param([timed(1, ended=NOW - MINUTE)], "fail", "ends before it starts", id="set-back"),
        pytest.param([timed(1), timed(2, NOW + 5 * MINUTE, NOW + 6 * MINUTE, host="other")], "warn",
                     "never run at the same time", id="hosts-apart"),
        pytest.param([timed(1), timed(2, NOW + MINUTE // 2, NOW + 6 * MINUTE, host="other")], "pass", "",
                     id="hosts-together"),
        pytest.param([at(1, NOW), at(2, 12, name="g")], "warn",
                     "category C has events on the machine's clock (f) and on another (g)", id="two-clocks"),
        pytest.param([at(1, NOW), at(2, 12, category="SIM")], "pass", "", id="a-category-each"),
        pytest.param([at(1, 0, NOW)], "fail", "start of tracing itself", id="around-the-start"),
        pytest.param([at(1, NOW, 2**64 - 5)], "fail", "longer than ten years", id="below-zero"),
    ],
)  # fmt: skip
def test_clock(traces: list[ProcessTrace], status: str, says: str) -> None:
    result = outcome("clock", run(*(file(f"{trace.pid}.pfw", trace) for trace in traces)))
    assert (result.status, says in result.message) == (status, True), result.message


def test_a_clock_that_the_manifest_says_is_simulated_is_one_though_its_times_look_real() -> None:
    event = ManualEvent("sim", start="now", duration="1")
    site = Site("event", "sim", "sim", "C", 5)
    known = Manifest("2.2.0", (FileEntry("app.py", "app", True, "", "", (site,), events=(event,)),))
    files = [file("1.pfw", at(1, NOW)), file("2.pfw", at(2, NOW, name="sim"))]
    assert outcome("clock", run(*files)).status == "pass"
    assert outcome("clock", run(*files), known).status == "warn"


# --- integrity, of names and processes ---


def test_a_tool_may_put_the_processes_of_a_run_into_one_file_under_its_own_name() -> None:
    both = (process(1, {"C:f": 3}), process(2, {"C:f": 3}))
    assert outcome("integrity", run(file("merged.pfw.gz", *both))).status == "pass"
    assert outcome("integrity", run(file("run-0123456789abcdef-app.pfw.gz", *both))).status == "fail"


def test_a_file_made_for_another_process_is_found_by_the_hash_in_its_name() -> None:
    def named(pid: int, of: int) -> FileSummary:
        name = hashlib.md5(f"app.py-node-{of}".encode()).digest()[::2].hex()
        return file(f"run-{name}-app.pfw.gz", process(pid, {"C:f": 3}, executable="app.py"))

    assert outcome("integrity", run(named(5000, 5000))).status == "pass"
    result = outcome("integrity", run(named(5000, 5012)))
    assert result.status == "fail"
    assert "was made for process 5012, and its records are of process 5000" in result.message
