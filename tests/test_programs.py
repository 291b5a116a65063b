"""Every program of the corpus, annotated and traced for real: it does what it did, and its trace holds every call.

The calls are counted in a run of the program as it was, by ``call_counter``, which knows no tracer.
"""

from __future__ import annotations

import ast
import gzip
import json
import shutil
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from dfannotate import manifest as manifests
from dfannotate.cli.main import main
from tests.conftest import DESCRIPTION, PROGRAMS, WITHOUT_TORCH, described, files_of, run_for_real

HERE = Path(__file__).parent
COUNTER = HERE / "call_counter"

# The tracer's own records, and the calls of the C library that it intercepts.
NOT_CALLS = {"dftracer", "POSIX", "STDIO"}
EVENT_KINDS = {"decorator", "init", "region"}


@dataclass(frozen=True)
class Run:
    """One way to start a program. ``command`` has the places {python}, {bin}, {program} and {out}."""

    command: tuple[str, ...]
    exit_code: int
    traced: bool = True
    """Whether it comes to a traced call at all; there is nothing to verify where it does not."""


@dataclass(frozen=True)
class Program:
    name: str
    runs: tuple[Run, ...]
    annotated: tuple[str, ...]
    entry: tuple[str, ...]
    python_path: tuple[str, ...]
    needs: tuple[str, ...] = ()
    before_start: Mapping[str, int] = field(default_factory=dict)
    """Calls that are made while the modules are imported, when tracing has not started yet: they leave no event."""
    functions: tuple[str, ...] = ("worthwhile",)
    """Values of ``--functions`` that it is annotated with."""
    left_alone: tuple[str, ...] = ()
    """Functions that must have no annotation."""

    @property
    def folder(self) -> Path:
        return PROGRAMS / self.name


@dataclass(frozen=True)
class Outcome:
    exit_code: int
    stdout: str
    stderr: str
    left: tuple[str, ...]
    """What the program left in its working directory."""


@dataclass(frozen=True)
class Calls:
    """Calls by (file, qualified name): those that returned, and those that raised."""

    returned: Counter[tuple[str, str]]
    raised: Counter[tuple[str, str]]


def load_program(folder: Path) -> Program:
    description = described(folder)
    runs = tuple(Run(tuple(run["command"]), run["exit_code"], run.get("traced", True)) for run in description["runs"])
    return Program(
        folder.name,
        runs,
        tuple(description["annotated"]),
        tuple(description.get("entry", ())),
        tuple(description.get("python_path", ())),
        tuple(description.get("needs", ())),
        description.get("before_start", {}),
        tuple(description.get("functions", ("worthwhile",))),
        tuple(description.get("left_alone", ())),
    )


PROGRAM_LIST = [load_program(path.parent) for path in sorted(PROGRAMS.glob(f"*/{DESCRIPTION}"))]


def copy_of(program: Program, to: Path) -> Path:
    return Path(shutil.copytree(program.folder, to, ignore=shutil.ignore_patterns(DESCRIPTION, "__pycache__")))


def execute(
    program: Program,
    run: Run,
    source: Path,
    scratch: Path,
    *,
    before: tuple[str, ...] = (),
    environ: Mapping[str, str] | None = None,
    path: tuple[Path, ...] = (),
) -> Outcome:
    """Run a copy of a program in an empty working directory, with all that it makes below ``scratch``."""
    work = scratch / "work"
    work.mkdir(parents=True)
    places = {
        "python": sys.executable,
        "bin": str(Path(sys.executable).parent),
        "program": str(source),
        "out": str(scratch / "out"),
    }
    if "torch" not in program.needs:
        path = (*path, WITHOUT_TORCH)
    ended = run_for_real(
        [*before, *(word.format_map(places) for word in run.command)],
        work,
        path=(*path, *(source / entry for entry in program.python_path)),
        environ={"PYTHONWARNINGS": "ignore", **(environ or {})},
    )
    left = tuple(sorted(str(found.relative_to(work)) for found in work.rglob("*")))
    return Outcome(ended.returncode, ended.stdout, ended.stderr, left)


def qualified_names(path: Path) -> dict[tuple[int, str], str]:
    """(line where the code of a function begins, its name) -> its qualified name."""
    names: dict[tuple[int, str], str] = {}

    def walk(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                first = min([child.lineno, *(decorator.lineno for decorator in child.decorator_list)])
                names[first, child.name] = prefix + child.name
                walk(child, f"{prefix}{child.name}.<locals>.")
            elif isinstance(child, ast.ClassDef):
                walk(child, f"{prefix}{child.name}.")
            else:
                walk(child, prefix)

    walk(ast.parse(path.read_bytes()), "")
    return names


def counted(program: Program, run: Run, source: Path, scratch: Path) -> tuple[Outcome, Calls]:
    """Run a program as it is, with its calls counted."""
    counts = scratch / "counts"
    counts.mkdir(parents=True)
    environ = {"COUNTED_ROOT": str(source), "COUNTS_FOLDER": str(counts)}
    outcome = execute(program, run, source, scratch, environ=environ, path=(COUNTER,))
    names: dict[str, dict[tuple[int, str], str]] = {}
    returned: Counter[tuple[str, str]] = Counter()
    raised: Counter[tuple[str, str]] = Counter()
    for path in counts.iterdir():
        for line in path.read_text().splitlines():
            how, file, first, name = line.split("\t")
            if file not in names:
                names[file] = qualified_names(source / file)
            # Module and class bodies, lambdas and comprehensions end too, and are no functions of that name.
            function = names[file].get((int(first), name))
            if function is not None:
                (returned if how == "returned" else raised)[file, function] += 1
    return outcome, Calls(returned, raised)


def events_in(folder: Path) -> Counter[tuple[str, str]]:
    """The calls that a trace holds, by (category, name), read with nothing but gzip and json."""
    found: Counter[tuple[str, str]] = Counter()
    for path in folder.iterdir():
        with gzip.open(path, "rt", encoding="utf-8") as stream:
            for line in stream:
                record = json.loads(line)
                if record["ph"] == 1 and record["cat"] not in NOT_CALLS:
                    found[record["cat"], record["name"]] += 1
    return found


WAYS = [(program, functions) for program in PROGRAM_LIST for functions in program.functions]


@pytest.mark.parametrize(("program", "functions"), WAYS, ids=[f"{p.name}-{f}" for p, f in WAYS])
def test_annotated_program_does_what_it_did_and_its_trace_holds_every_call(
    program: Program, functions: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    original = copy_of(program, tmp_path / "original")
    before: list[tuple[Outcome, Calls]] = []
    for number, run in enumerate(program.runs):
        plain = execute(program, run, original, tmp_path / f"plain-{number}")
        assert plain.exit_code == run.exit_code, plain.stderr
        again, calls = counted(program, run, original, tmp_path / f"counted-{number}")
        assert (again.exit_code, again.stdout) == (plain.exit_code, plain.stdout), again.stderr
        before.append((plain, calls))

    source = copy_of(program, tmp_path / "annotated")
    entries = [word for entry in program.entry for word in ("--entry", str(source / entry))]
    entries += ["--functions", functions]
    assert main(["apply", str(source), *entries]) == 0, capsys.readouterr().err
    manifest_path = source / ".dfannotate" / "manifest.json"
    manifest = manifests.load(manifest_path)
    sites = {
        (entry.path, site.function): (site.category, site.event, site.kind)
        for entry in manifest.files
        for site in entry.sites
        if site.kind in EVENT_KINDS
    }
    reasons = {f"{entry.path}:{skip.function}": skip.reason for entry in manifest.files for skip in entry.skipped}
    for function in program.annotated:
        file, _, name = function.partition(":")
        assert (file, name) in sites, f"{function} was left out: {reasons.get(function, 'without a reason')}"
    assert not {function for function in program.left_alone if tuple(function.split(":")) in sites}

    annotated = files_of(source)
    assert main(["apply", str(source), *entries]) == 0, capsys.readouterr().err
    assert files_of(source) == annotated, "a second apply changed something"

    for number, (run, (plain, calls)) in enumerate(zip(program.runs, before, strict=True)):
        off = execute(program, run, source, tmp_path / f"off-{number}")
        assert (off.exit_code, off.stdout, off.left) == (plain.exit_code, plain.stdout, plain.left), off.stderr

        traces = tmp_path / f"traces-{number}"
        traced = (sys.executable, "-m", "dfannotate", "run", "--trace-dir", str(traces), "--")
        on = execute(program, run, source, tmp_path / f"on-{number}", before=traced)
        assert (on.exit_code, on.stdout, on.left) == (plain.exit_code, plain.stdout, plain.left), on.stderr

        expected: Counter[tuple[str, str]] = Counter()
        for place, (category, event, kind) in sites.items():
            # A decorated function that raises leaves no event, a region does.
            ended = calls.returned[place] + (calls.raised[place] if kind == "region" else 0)
            expected[category, event] += ended - program.before_start.get(":".join(place), 0)
        assert events_in(traces) == +expected, on.stderr

        if run.traced:
            capsys.readouterr()
            code = main(["verify", str(traces), "--manifest", str(manifest_path), "--format", "json"])
            report = json.loads(capsys.readouterr().out)
            bad = [check for check in report["checks"] if check["status"] == "fail"]
            assert (code, bad) == (0, [])

    assert main(["revert", str(source)]) == 0, capsys.readouterr().err
    assert files_of(source) == files_of(original), "revert did not give back the same bytes"


def test_programs_are_found_and_know_nothing_of_the_tracer() -> None:
    assert len(PROGRAM_LIST) >= 6
    for program in PROGRAM_LIST:
        for path, content in files_of(program.folder).items():
            assert b"dftracer" not in content, f"{program.name}/{path}"


COUNTED_PROGRAM = """\
import multiprocessing, os, signal, subprocess, sys, threading

def work(number):
    return number

def nothing():
    pass

def fails():
    raise ValueError

class Thing:
    def __init__(self):
        for _ in range(3):
            self.twice()

    @staticmethod
    def twice():
        return [work(value) for value in (1, 2)]

def generates():
    yield 1
    yield 2

def child(count):
    for number in range(count):
        work(number)

def stopped():
    work(1)
    os.kill(os.getpid(), signal.SIGKILL)

def main():
    fork = multiprocessing.get_context("fork")
    for target, arguments in ((child, (5,)), (stopped, ())):
        process = fork.Process(target=target, args=arguments)
        process.start()
        process.join()
    if os.fork() == 0:
        child(7)
        os._exit(0)
    os.wait()
    thread = threading.Thread(target=child, args=(11,))
    thread.start()
    thread.join()
    spawn = multiprocessing.get_context("spawn").Process(target=child, args=(13,))
    spawn.start()
    spawn.join()

if __name__ == "__main__":
    main()
    nothing()
    Thing()
    list(generates())
    try:
        fails()
    except ValueError:
        pass
"""


def test_counter_counts_every_call_in_every_process_however_it_ends(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "counted.py").write_text(COUNTED_PROGRAM)
    run = Run(("{python}", "{program}/counted.py"), 0, traced=False)
    outcome, calls = counted(Program("counted", (run,), (), (), ()), run, source, tmp_path / "scratch")

    assert outcome.exit_code == 0, outcome.stderr
    assert {name: count for (_, name), count in calls.returned.items()} == {
        # forked child, child killed by SIGKILL, child left by os._exit, thread, spawned child, three times two values
        "work": 5 + 1 + 7 + 11 + 13 + 3 * 2,
        "child": 4,  # stopped() never returns
        "main": 1,
        "nothing": 1,
        "Thing.__init__": 1,
        "Thing.twice": 3,
    }
    assert {name: count for (_, name), count in calls.raised.items()} == {"fails": 1}
