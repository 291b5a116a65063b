"""Manual events and roles, traced for real: what the program says that it did is what its trace says."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dfannotate.analysis import reader
from dfannotate.cli.main import main
from tests.conftest import PROGRAMS, run_for_real


@dataclass(frozen=True)
class Event:
    category: str
    name: str
    ts: int
    dur: int
    args: dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    exit_code: int
    stdout: str
    stderr: str


def execute(script: Path, scratch: Path, *arguments: str, **environ: str) -> Outcome:
    """Run a program in an empty working directory; torch, which the tracer would import, is not there."""
    scratch.mkdir()
    done = run_for_real([sys.executable, script, *arguments], scratch, environ=environ)
    if not environ:  # traced, there is the tracer's own log
        assert os.listdir(scratch) == [], "the program left something in its working directory"
    return Outcome(done.returncode, done.stdout, done.stderr)


def traced(
    script: Path, scratch: Path, traces: Path, *arguments: str, extra: Mapping[str, str] | None = None
) -> tuple[Outcome, list[Event]]:
    """Run a program with tracing on; what it gave, and the events of its trace, of which every line must be good."""
    traces.mkdir()
    outcome = execute(
        script,
        scratch,
        *arguments,
        DFTRACER_ENABLE="1",
        DFTRACER_INC_METADATA="1",
        DFTRACER_LOG_FILE=str(traces / "run"),
        **(extra or {}),
    )
    return outcome, events_of(traces)


def events_of(traces: Path) -> list[Event]:
    opened = reader.open_traces(traces)
    assert [(file.bad_lines, file.problems) for file in opened.files] == [(0, ())] * len(opened.files)
    return [
        Event(event.cat, event.name, event.ts or 0, event.dur or 0, without_host(reader.arguments(event)))
        for file in opened.files
        for batch in reader.events(file)
        for event in batch
        if event.cat not in ("POSIX", "STDIO")
    ]


def without_host(args: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in args.items() if key != "hhash"}


def copy_of(name: str, to: Path) -> Path:
    return Path(shutil.copytree(PROGRAMS / name, to, ignore=shutil.ignore_patterns("__pycache__")))


def source_files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*.py")}


def apply(*arguments: str | Path) -> None:
    assert main(["apply", "--quiet", *map(str, arguments)]) == 0


# --- a simulated clock ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["US", "NS", "MS"])
def test_simulated_clock(metric: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Generators that end, return early, or are closed; functions with several ways out; a coroutine."""
    program = copy_of("simulated_clock", tmp_path / "program")
    before = source_files(program)
    plain = execute(program / "simulate.py", tmp_path / "plain")
    apply(program)
    annotated = source_files(program)
    apply(program)
    assert source_files(program) == annotated

    assert execute(program / "simulate.py", tmp_path / "off") == plain
    outcome, events = traced(
        program / "simulate.py", tmp_path / "on", tmp_path / "traces", extra={"DFTRACER_TIME_METRIC": metric}
    )
    assert outcome == plain

    scale = {"US": 10**6, "NS": 10**9, "MS": 10**3}[metric]
    said: Counter[tuple[str, int, int, str]] = Counter()
    for line in plain.stdout.splitlines():
        name, _, rest = line.partition(" ")
        if name in ("transfer", "lookup", "replicate"):
            begin, duration, host = rest.split(" ", 2)
            said[name, ticks(begin, scale), ticks(duration, scale), host] += 1
    # These two wait for ever: the program closes them at the end of the simulated time.
    said.update(("beat", 0, 2001 * scale, host) for host in ('node "a"\\1', "node b"))
    cluster = [event for event in events if event.category == "cluster"]
    logged = Counter((event.name, event.ts, event.dur, event.args["mhost"]) for event in cluster)
    assert logged == said
    assert sum(said.values()) == 12
    for event in cluster:
        if event.name == "transfer":
            assert event.args["limit"] == 1 << 40
            assert event.args["left"] == float("inf")
        elif event.name == "replicate":
            assert event.args == {"mhost": 'node "a"\\1', "others": 2}

    assert main(["verify", str(tmp_path / "traces"), "--manifest", str(program / ".dfannotate/manifest.json")]) == 0
    capsys.readouterr()
    assert main(["revert", "--quiet", str(program)]) == 0
    assert source_files(program) == before


def ticks(seconds: str, scale: int) -> int:
    return int(float(seconds) * scale + 0.5)


# --- operations with an outcome ---------------------------------------------------------------------------------------


def test_connection_outcome(tmp_path: Path) -> None:
    program = copy_of("connection_outcome", tmp_path / "program")
    script = program / "transport.py"
    plain = execute(script, tmp_path / "plain", str(tmp_path / "out-1"))
    apply(program)
    off = execute(script, tmp_path / "off", str(tmp_path / "out-2"))
    assert off == plain
    outcome, events = traced(script, tmp_path / "on", tmp_path / "traces", str(tmp_path / "out-3"))
    assert (outcome.exit_code, outcome.stdout) == (plain.exit_code, plain.stdout)
    assert plain.exit_code == 0, plain.stderr

    host = {"host": 'host-\ud800-"7"', "offset": 3 * 2**30}
    lost = 'ConnectionLost: "b" is too large\n\tfor host-\ud800-"7": C:\\full \u2028 caf\u00e9'
    missing = f"FileNotFoundError: [Errno 2] No such file or directory: '{tmp_path / 'out-3' / 'missing'}'"
    connection = [(event.name, event.args) for event in events if event.category == "connection"]
    assert connection == [
        ("push", {**host, "name": "a", "size": 9, "asked": 9}),
        ("push", {**host, "name": "b", "asked": 2000, "error": lost}),
        ("push", {**host, "name": "empty", "size": 0, "asked": 0}),
        ("pull", {"size": 9}),
        ("pull", {"size": 0}),
        ("pull", {"error": missing}),
        ("exec", {"source": "print(6 * 7)", "returned": 0}),
        ("exec", {"source": "raise SystemExit(3)", "returned": 3, "error": "Unspeakable"}),
        ("lines", {}),
        ("lines", {"error": "GeneratorExit"}),
        ("push", {**host, "name": "c", "size": 16, "asked": 16}),
    ]
    starts = [event.ts for event in events if event.category == "connection"]
    assert starts == sorted(starts)
    assert all(event.dur >= 0 for event in events)

    # What could not be evaluated is said once, and named.
    faults = outcome.stderr.splitlines()
    assert len(faults) == 3, outcome.stderr
    assert all(str(script) in fault for fault in faults)
    assert [fault.partition(": event ")[2].split(":")[0] for fault in faults] == ["push", "pull", "exec"]
    assert "'size'" in faults[0]
    assert "'data'" in faults[1]
    assert "an error that cannot be said" in faults[2]


# --- values -----------------------------------------------------------------------------------------------------------

VALUES_PROGRAM = """\
import json, sys

VALUES = json.load(open(sys.argv[1]))

def keep(value):
    return value

def main():
    for value in VALUES:
        keep(value)

if __name__ == "__main__":
    main()
"""

STRINGS = {
    "quotes": "say \"hi\" and 'ho'",
    "backslashes": "C:\\new\\table\\u0041",
    "newlines": "a\nb\r\nc\u2028d\x85e",
    "control": "".join(map(chr, range(32))) + "\x7f",
    "lone-surrogate": '\ud800 and \udfff " \\ \n',
    "astral": "\U0001f600 caf\u00e9 \u4e2d",
    "empty": "",
    "json": '{"a": [1, null]}',
    "digits": "3221225472",
    "nan": "NaN",
}
INTEGERS = [0, -1, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**63, 10**40, True]
FLOATS = [0.5, -2.25, 1e300, -1e300, float("inf"), float("-inf"), float("nan"), 3]


def listed(values: list[Any], folder: Path) -> str:
    """The values in a file, as the program takes them."""
    path = folder / "values.json"
    path.write_text(json.dumps(values))
    return str(path)


@pytest.mark.parametrize(
    ("kind", "values"),
    [("string", list(STRINGS.values())), ("int", INTEGERS), ("float", FLOATS)],
    ids=["strings", "integers", "floats"],
)
def test_values_are_read_back_as_they_were(kind: str, values: list[Any], tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(VALUES_PROGRAM)
    (tmp_path / "pyproject.toml").touch()
    apply(script)
    assert main(["event", "--quiet", str(script), "--function", "keep", "--outcome", f"--{kind}", "v=value"]) == 0
    outcome, events = traced(script, tmp_path / "on", tmp_path / "traces", listed(values, tmp_path))
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    read = [event.args["v"] for event in events if event.name == "keep"]
    assert [repr(float(v) if kind == "float" else v) for v in read] == [
        repr(float(v) if kind == "float" else int(v) if kind == "int" else v) for v in values
    ]


def test_a_string_that_no_line_can_hold_is_cut_and_said(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(VALUES_PROGRAM)
    (tmp_path / "pyproject.toml").touch()
    apply(script)
    values = ["x" * 11_000, '"' * 50_000, "\ud800" * 50_000, "short"]
    flags = ["--outcome", "--string", "v=value", "--string", "w=value[:7]"]
    assert main(["event", "--quiet", str(script), "--function", "keep", *flags]) == 0
    outcome, events = traced(script, tmp_path / "on", tmp_path / "traces", listed(values, tmp_path))
    read = [event.args for event in events if event.name == "keep"]
    assert [args["w"] for args in read] == [value[:7] for value in values]
    assert [args["v"] for args in read[::3]] == [values[0], values[3]]
    for args, value in zip(read[1:3], values[1:3], strict=True):
        assert value.startswith(args["v"])
        assert len(args["v"]) > 500
    assert outcome.stderr.count("v is cut off") == 1


# --- what must not be seen --------------------------------------------------------------------------------------------

SHY_PROGRAM = """\
import traceback

def told(value):
    print("evaluated", value)
    return value

def work(number):
    if number > 2:
        raise ValueError(number)
    return number

def waiting():
    begun = 1
    yield begun
    yield 2

FOREVER = waiting()

def main():
    next(FOREVER)
    print([work(number) for number in range(3)])
    try:
        work(3)
    except ValueError as error:
        print([frame.name for frame in traceback.extract_tb(error.__traceback__)])
        print([frame.line for frame in traceback.extract_tb(error.__traceback__)])

if __name__ == "__main__":
    main()
"""


def test_nothing_is_evaluated_with_tracing_off_and_no_error_changes_the_program(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(SHY_PROGRAM)
    (tmp_path / "pyproject.toml").touch()
    plain = execute(script, tmp_path / "plain")
    flags = ["--quiet", str(script), "--function"]
    assert main(["event", *flags, "work", "--outcome", "--int", "n=told(number)", "--float", "z=1 / (number - 1)"]) == 0
    assert main(["event", *flags, "waiting", "--start", "begun", "--duration", "'x'"]) == 0
    apply(script)
    assert execute(script, tmp_path / "off") == plain

    outcome, events = traced(script, tmp_path / "on", tmp_path / "traces")
    assert outcome.exit_code == 0
    assert [line for line in outcome.stdout.splitlines() if not line.startswith("evaluated")] == (
        plain.stdout.splitlines()
    )
    assert [event.args for event in events if event.name == "work"] == [
        {"n": 0, "z": -1},
        {"n": 1},
        {"n": 2, "z": 1},
        {"n": 3, "z": 0.5, "error": "ValueError: 3"},
    ]
    assert [event for event in events if event.name == "waiting"] == []
    faults = outcome.stderr.splitlines()
    assert sum("event work: ZeroDivisionError" in fault for fault in faults) == 1
    assert not any("Exception ignored" in fault for fault in faults), outcome.stderr


# --- categories by role -----------------------------------------------------------------------------------------------


def test_compute_against_data_can_be_told_by_role(tmp_path: Path) -> None:
    """A thread reads ahead while the model computes: most of the computing must be hidden behind reading."""
    program = copy_of("roles", tmp_path / "program")
    before = source_files(program)
    script = program / "pipeline.py"
    plain = execute(script, tmp_path / "plain", str(tmp_path / "out-1"))
    apply(program)
    assert execute(script, tmp_path / "off", str(tmp_path / "out-2")) == plain
    outcome, events = traced(script, tmp_path / "on", tmp_path / "traces", str(tmp_path / "out-3"))
    assert outcome == plain

    counts = Counter((event.category, event.name) for event in events)
    assert counts["data", "ShardDataset.__getitem__"] == 25
    assert counts["compute", "Model.forward"] == counts["compute", "Model.backward"] == 25
    assert counts["comm", "send_result"] == counts["comm", "receive_result"] == 25
    assert counts["device", "to_device"] == 25
    assert counts["checkpoint", "save_checkpoint"] == counts["pipeline", "train_epoch"] == 1
    assert counts["lifecycle", "close_links"] == counts["lifecycle", "Model.__init__"] == 1
    # Explicit patterns win, and what has no role is filed under its file.
    assert counts["logs", "write_log"] == counts["read-ahead", "PrefetchingLoader.fetch_batches"] == 1
    assert counts["pipeline.py", "shuffle_order"] == counts["pipeline.py", "main"] == 1

    busy = {category: spans(events, category) for category in ("compute", "data")}
    both = sum(max(0, min(a_end, b_end) - max(a, b)) for a, a_end in busy["compute"] for b, b_end in busy["data"])
    compute = sum(end - start for start, end in busy["compute"])
    assert compute >= 25 * 4000  # each forward step spins for 4 ms
    assert 0.5 * compute < both <= compute

    assert main(["revert", "--quiet", str(program)]) == 0
    assert source_files(program) == before


def spans(events: list[Event], category: str) -> list[tuple[int, int]]:
    """When something of a category was going on, as intervals that do not meet."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted((e.ts, e.ts + e.dur) for e in events if e.category == category):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


# --- programs that start the tracing themselves -----------------------------------------------------------------------

OWN_START = {
    "settings.py": (
        "import os\nfrom dftracer.python import dftracer\n\n\nclass Settings:\n    def begin_tracing(self):\n"
        "        return dftracer.initialize_log(os.environ.get('DFTRACER_LOG_FILE'), None, process_id=-1)\n\n"
        "    def load(self):\n        return [open(os.devnull).close() for _ in range(5)]\n"
    ),
    "launch.py": (
        "from settings import Settings\n\n\ndef prepare():\n    settings = Settings()\n"
        "    return settings, settings.begin_tracing()\n"
    ),
    "run.py": (
        "from launch import prepare\n\n\ndef work(settings):\n    return len(settings.load())\n\n\n"
        "def whole():\n    settings, log = prepare()\n    print(work(settings), work(settings))\n    return log\n\n\n"
        'if __name__ == "__main__":\n    whole().finalize()\n'
    ),
}


def test_what_is_around_a_start_of_the_programs_own_in_any_file_gives_no_event(tmp_path: Path) -> None:
    """It would begin before there is a trace: the tracer says 1970."""
    folder = tmp_path / "program"
    folder.mkdir()
    (folder / "pyproject.toml").touch()
    for name, text in OWN_START.items():
        (folder / name).write_text(text)
    apply("--functions", "all", folder)
    outcome, events = traced(folder / "run.py", tmp_path / "on", tmp_path / "traces")
    assert (outcome.exit_code, outcome.stdout) == (0, "5 5\n")
    own = [event for event in events if event.category in ("run", "launch", "settings")]
    assert Counter(event.name for event in own) == {"Settings.load": 2, "work": 2}
    assert min(event.ts for event in own) > max(event.dur for event in own)
