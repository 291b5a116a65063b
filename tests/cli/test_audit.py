"""``run --audit``: what is counted, in every process however it ends, by every Python that is here."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dfannotate.analysis.audit import DISTURBED, FINALIZED, NOT_STARTED, STARTED, Audit, AuditProcess, Phase, read_audit
from dfannotate.cli import traced
from dfannotate.cli.audit import HOOK, VARIABLE, AuditError, find_manifest, make_plan, prepare
from dfannotate.cli.environment import without_tracer_variables
from dfannotate.manifest import FileEntry, Manifest, Site, SiteKind, save
from dfannotate.source import digest
from tests.conftest import TIMEOUT

VERSIONS = ("3.10", "3.11", "3.12", "3.13")


def interpreter(version: str) -> str | None:
    """A Python of this version: this one, one of pyenv's, or one on the path."""
    if version == f"{sys.version_info.major}.{sys.version_info.minor}":
        return sys.executable
    installed = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    return str(installed[-1]) if installed else shutil.which(f"python{version}")


PYTHONS = [found for version in VERSIONS if (found := interpreter(version))]
IDS = [version for version in VERSIONS if interpreter(version)]
WAY_IDS = [
    (version, method)
    for version in IDS
    for method in ("fork", "spawn", "forkserver")
    # Both ways to count, under every start method; for the other versions, what differs in them shows in one.
    if method == "fork" or version in ("3.11", "3.12")
]
WAYS = [(interpreter(version), method) for version, method in WAY_IDS]

# Stands in for the tracer, whose functions the counter knows by name and place.
TRACER = "def initialize_log():\n    return None\ndef finalize():\n    return None\n"

PROGRAM = """\
import functools, multiprocessing, os, signal, sys, threading, warnings
warnings.simplefilter("ignore")  # of a fork beside threads
from concurrent.futures import ProcessPoolExecutor
from dftracer.python import finalize, initialize_log

def wrap(function):
    @functools.wraps(function)
    def call(*arguments):
        return function(*arguments)
    return call

@wrap
def work(number):
    return number

@wrap
@wrap
def nothing(*ignored):
    pass

@wrap
def fails():
    raise ValueError

def depth(number):
    return depth(number - 1) if number else None

class Thing:
    @wrap
    def __init__(self):
        self.values = [work(value) for value in (1, 2)]

    @property
    def value(self):
        return 1

    @value.setter
    def value(self, new):
        work(new)

    @staticmethod
    def work():
        def inner():
            return None
        inner()

async def waits():
    for number in range(3):
        await pause()
    return None

async def breaks():
    await pause()
    raise ValueError

class pause:
    def __await__(self):
        yield

def drive(coroutine):
    try:
        while True:
            coroutine.send(None)
    except (StopIteration, ValueError):
        pass

def child(count):
    for number in range(count):
        work(number)

def traced(count):
    initialize_log()
    child(count)
    finalize()
    child(1)

def stopped():
    work(1)
    work(2)
    os.kill(os.getpid(), signal.SIGKILL)

work(0)  # while this module is imported, except in the first process

def main(method):
    work(0)
    initialize_log()
    context = multiprocessing.get_context(method)
    for target, arguments in ((traced, (5,)), (stopped, ())):
        process = context.Process(target=target, args=arguments)
        process.start()
        process.join()
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        list(pool.map(work, range(3)))
    if os.fork() == 0:
        child(7)
        os._exit(0)
    os.wait()
    threads = [threading.Thread(target=child, args=(500,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    list(map(work, range(11)))
    list(map(nothing, range(3)))
    thing = Thing()
    thing.value = thing.value
    Thing.work()
    depth(4)
    for _ in range(2):
        try:
            fails()
        except ValueError:
            pass
    drive(waits())
    drive(breaks())
    finalize()
    work(0)

if __name__ == "__main__":
    sys.setswitchinterval(1e-6)
    main(sys.argv[1])
"""

KINDS: dict[str, SiteKind] = {"waits": "region", "breaks": "region", "Thing.__init__": "init"}


def functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, int]]:
    """The qualified name of every function, and the line of its ``def``."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield prefix + child.name, child.lineno
            yield from functions(child, f"{prefix}{child.name}.<locals>.")
        else:
            yield from functions(child, f"{prefix}{child.name}." if isinstance(child, ast.ClassDef) else prefix)


def project(folder: Path, program: str = PROGRAM, *, name: str = "program.py") -> Path:
    """A project whose every function is annotated, by its manifest."""
    folder.mkdir(exist_ok=True)
    (folder / "pyproject.toml").touch()
    (folder / name).write_text(program)
    sites = [
        Site(KINDS.get(qualname, "decorator"), qualname, qualname, "C", line)
        for qualname, line in functions(ast.parse(program), "")
        if not qualname.startswith("wrap")
    ]
    entry = FileEntry(name, "C", True, "", digest(program.encode()), tuple(sites))
    save(Manifest("2.2.0", (entry,)), folder / ".dfannotate" / "manifest.json")
    tracer = folder / "site" / "dftracer" / "python"
    tracer.mkdir(parents=True)
    (tracer.parent / "__init__.py").touch()
    (tracer / "__init__.py").write_text(TRACER)
    return folder


def counted(folder: Path, python: str, *arguments: str, program: str = "program.py", code: int = 0) -> Audit:
    """Run the program of a project with its calls counted."""
    traces = folder / "traces"
    shutil.rmtree(traces, ignore_errors=True)
    traces.mkdir()
    plan = make_plan(folder / ".dfannotate" / "manifest.json", folder)
    assert not plan.remarks
    counters = prepare(traces, plan)
    path = os.pathsep.join([counters["PYTHONPATH"], str(folder / "site")])
    done = subprocess.run(
        [python, program, *arguments],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "DFTRACER_ENABLE": "1", **counters, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    assert done.returncode == code, done.stderr
    assert done.stderr == ""
    audit = read_audit(traces)
    assert audit is not None
    assert audit.problems == ()
    return audit


def calls(process: AuditProcess, audit: Audit, *phases: Phase, raised: bool = False) -> dict[str, int]:
    found: Counter[str] = Counter()
    for index, ends in process.calls.items():
        of_way = ends.raised if raised else ends.returned
        found[audit.sites[index].function] += sum(of_way[phase] for phase in phases)
    return {function: count for function, count in found.items() if count}


@pytest.mark.parametrize(("python", "method"), WAYS, ids=[f"{version}-{method}" for version, method in WAY_IDS])
def test_every_call_is_counted_in_every_process(python: str, method: str, tmp_path: Path) -> None:
    audit = counted(project(tmp_path / "project"), python, method)
    main = next(process for process in audit.processes if not process.forked and method in process.command)
    assert (main.state, main.flags) == (FINALIZED, 0)
    assert calls(main, audit, "importing") == {}
    assert calls(main, audit, "before")["work"] == 2
    assert calls(main, audit, "after")["work"] == 1
    expected = {
        "work": 4 * 500 + 11 + 2 + 1,
        "child": 4,
        "nothing": 3,
        "Thing.__init__": 1,
        "Thing.value": 2,  # read once, set once
        "Thing.work": 1,
        "Thing.work.<locals>.inner": 1,
        "depth": 5,
        "waits": 1,
    }
    found = calls(main, audit, "traced")
    assert {function: found.get(function) for function in expected} == expected
    raised = calls(main, audit, "traced", raised=True)
    assert raised == {"fails": 2, "breaks": 1}

    others = [process for process in audit.processes if process.pid != main.pid]
    in_children = Counter({process.pid: calls(process, audit, "before", "traced").get("work", 0) for process in others})
    # The pool's worker, the child left by os._exit, the killed one and the traced one; servers of the start methods
    # count nothing but what they import.
    assert sorted(count for count in in_children.values() if count) == [2, 3, 5, 7]
    fives = next(process for process in others if in_children[process.pid] == 5)
    assert fives.state == FINALIZED
    assert calls(fives, audit, "after")["work"] == 1
    killed = next(process for process in others if in_children[process.pid] == 2)
    assert killed.state == (STARTED if method == "fork" else NOT_STARTED)
    # Where processes are not forked, each imports the program, before it is traced.
    assert max(calls(process, audit, "importing").get("work", 0) for process in others) == (method != "fork")


@pytest.mark.parametrize("python", PYTHONS, ids=IDS)
def test_a_sitecustomize_that_is_there_runs_and_the_path_is_the_program_s_own(python: str, tmp_path: Path) -> None:
    folder = project(
        tmp_path / "project",
        "import json, sys\nimport sitecustomize\ndef f():\n    return sitecustomize.THERE\n"
        "assert f() == 1\nassert not any('audit_hook' in entry for entry in sys.path), sys.path\n",
    )
    (folder / "site" / "sitecustomize.py").write_text("THERE = 1\n")
    (process,) = counted(folder, python).processes
    assert process.calls[0].total() == 1


@pytest.mark.parametrize("python", PYTHONS, ids=IDS)
def test_recursion_to_the_limit_is_what_it_was(python: str, tmp_path: Path) -> None:
    program = (
        "def down(n):\n    try:\n        return down(n + 1)\n    except RecursionError:\n        return n\n"
        "def after():\n    return None\n"
        "assert down(0) > 100\nfor _ in range(9):\n    after()\n"
    )
    audit = counted(project(tmp_path / "project", program), python)
    (process,) = audit.processes
    # Either every call is counted, or it is known that they are not.
    assert calls(process, audit, "before").get("after") == 9 or process.flags & DISTURBED


def test_a_profiler_of_the_program_s_own_is_noted_where_it_ends_the_counting(tmp_path: Path) -> None:
    program = "import sys\ndef f():\n    return 1\nf()\nsys.setprofile(lambda *event: None)\nf()\n"
    audit = counted(project(tmp_path / "project", program), sys.executable)
    (process,) = audit.processes
    if hasattr(sys, "monitoring"):
        assert (calls(process, audit, "before"), process.flags) == ({"f": 2}, 0)
    else:
        assert (calls(process, audit, "before"), process.flags) == ({"f": 1}, DISTURBED)


def test_threads_that_are_profiled_by_the_counter_are_no_profilers_of_the_program_s(tmp_path: Path) -> None:
    program = (
        "import threading\ndef f():\n    return 1\n"
        "for _ in range(3):\n    t = threading.Thread(target=f)\n    t.start()\n    t.join()\n"
    )
    audit = counted(project(tmp_path / "project", program), sys.executable)
    (process,) = audit.processes
    assert (calls(process, audit, "before"), process.flags) == ({"f": 3}, 0)


def test_an_installed_copy_of_a_file_is_counted_as_the_file(tmp_path: Path) -> None:
    folder = project(tmp_path / "project", "def f():\n    return 1\n", name="module.py")
    (folder / "site" / "module.py").write_bytes((folder / "module.py").read_bytes())
    (folder / "start").mkdir()
    (folder / "start" / "main.py").write_text("import module\nassert 'site' in module.__file__\nmodule.f()\n")
    audit = counted(folder, sys.executable, program="start/main.py")
    (process,) = audit.processes
    assert calls(process, audit, "before") == {"f": 1}


def test_an_isolated_interpreter_is_not_counted_and_works(tmp_path: Path) -> None:
    folder = project(tmp_path / "project", "def f():\n    return 1\nf()\n")
    traces = folder / "traces"
    traces.mkdir()
    counters = prepare(traces, make_plan(folder / ".dfannotate" / "manifest.json", folder))
    subprocess.run([sys.executable, "-I", "program.py"], cwd=folder, env={**os.environ, **counters}, check=True)
    audit = read_audit(traces)
    assert audit is not None
    assert audit.processes == ()


def test_a_folder_that_cannot_be_written_disturbs_nothing(tmp_path: Path) -> None:
    environ = {**os.environ, VARIABLE: str(tmp_path / "gone"), "PYTHONPATH": str(HOOK)}
    done = subprocess.run([sys.executable, "-c", "print(1)"], env=environ, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")


# --- the plan ---


def test_functions_are_found_by_name_in_a_file_that_changed_since(tmp_path: Path) -> None:
    folder = project(tmp_path / "project", "def f():\n    return 1\ndef g():\n    return 2\n")
    (folder / "program.py").write_text("# a comment\n\n\ndef f():\n    return 1\nf()\n")
    plan = make_plan(folder / ".dfannotate" / "manifest.json", folder)
    assert plan.remarks == ("program.py:3: g is not there any more, and not counted",)
    assert [(site["function"], site["line"]) for site in json.loads(plan.text)["sites"]] == [("f", 4)]


def test_a_decorator_on_a_generator_or_coroutine_cannot_be_counted(tmp_path: Path) -> None:
    program = "def f():\n    yield 1\nasync def g():\n    pass\ndef h():\n    def i():\n        yield 1\n    return i\n"
    folder = project(tmp_path / "project", program)
    plan = json.loads(make_plan(folder / ".dfannotate" / "manifest.json", folder).text)
    countable = {site["function"]: site["countable"] for site in plan["sites"]}
    assert (countable["f"], countable["g"], countable["h"]) == (False, False, True)


def test_the_manifest_is_that_of_the_project_or_of_the_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = project(tmp_path / "project")
    path = folder / ".dfannotate" / "manifest.json"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "pyproject.toml").touch()
    monkeypatch.chdir(elsewhere)
    assert find_manifest(path, []) == (path, folder)
    assert find_manifest(None, ["python", str(folder / "program.py")]) == (path, folder)
    with pytest.raises(AuditError, match="dfannotate apply"):
        find_manifest(None, ["python", "-m", "program"])
    with pytest.raises(AuditError, match="no such manifest"):
        find_manifest(elsewhere / "gone.json", [])


def test_counts_of_another_run_are_in_the_way(tmp_path: Path) -> None:
    folder = project(tmp_path / "project", "def f():\n    return 1\n")
    plan = make_plan(folder / ".dfannotate" / "manifest.json", folder)
    prepare(tmp_path, plan)
    with pytest.raises(AuditError, match="another run"):
        prepare(tmp_path, plan)


# --- the command ---


@pytest.fixture
def with_tracer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spare the tests the start of a second interpreter, which is asked for the tracer."""
    monkeypatch.setattr(traced, "find_tracer", lambda interpreter: traced.Tracer(True, True))
    for name in set(os.environ) - set(without_tracer_variables(os.environ)):
        monkeypatch.delenv(name)


@pytest.mark.usefixtures("with_tracer")
def test_the_command_counts_beside_the_trace(tmp_path: Path, run_cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = project(
        tmp_path / "project",
        "import json, os, sys\ndef f():\n    return 1\nf()\n"
        "with open(sys.argv[1], 'w') as stream:\n    json.dump(dict(os.environ), stream)\n",
    )
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", "") + os.pathsep + str(folder / "site"))
    command = ("--", sys.executable, "program.py", tmp_path / "environ.json")
    done = run_cli("run", "--audit", "--trace-dir", tmp_path / "traces", *command)
    assert done.code == 0, done.err
    environ = json.loads((tmp_path / "environ.json").read_text())
    assert environ["PYTHONPATH"] == f"{HOOK}{os.pathsep}{os.environ['PYTHONPATH']}"
    # What the counters write to must not be among the files whose accesses are recorded.
    assert not environ[VARIABLE].startswith(environ["DFTRACER_DATA_DIR"])
    audit = read_audit(tmp_path / "traces")
    assert audit is not None
    (process,) = audit.processes
    assert calls(process, audit, "before") == {"f": 1}


@pytest.mark.usefixtures("with_tracer")
@pytest.mark.parametrize(
    ("manifest", "says"),
    [
        (None, "annotate the program with `dfannotate apply`"),
        ("{", "not JSON"),
        ('{"version": 1, "tool": "", "target": "2.2.0", "files": []}', "nothing to count"),
    ],
    ids=["none", "broken", "nothing annotated"],
)
def test_nothing_to_count_is_said_and_nothing_run(
    manifest: str | None, says: str, tmp_path: Path, run_cli: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyproject.toml").touch()
    if manifest is not None:
        (tmp_path / ".dfannotate").mkdir()
        (tmp_path / ".dfannotate" / "manifest.json").write_text(manifest)
    monkeypatch.chdir(tmp_path)
    done = run_cli("run", "--audit", "--", sys.executable, "-c", f"open({str(tmp_path / 'ran')!r}, 'w')")
    assert done.code == 2
    assert says in done.err
    assert not (tmp_path / "ran").exists()
    assert not (tmp_path / ".dfannotate" / "traces").exists()


def test_the_counter_and_the_command_name_one_variable() -> None:
    assert f'VARIABLE = "{VARIABLE}"' in (HOOK / "sitecustomize.py").read_text()


# --- reading ---


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("a.counts", b"", "a.counts cannot be read (0 bytes"),
        ("a.counts", b"\0" * 10_000, "a.counts cannot be read"),
        ("plan.json", b"{", "not a plan of version 1"),
        ("plan.json", b'{"version": 9}', "not a plan of version 1"),
        ("plan.json", b"[" * 100_000, "not a plan of version 1"),
        ("7.failed", b"the calls of process 7 were not counted\n", "process 7 were not counted"),
    ],
    ids=["empty", "other size", "not JSON", "other version", "deep", "failure"],
)
def test_what_is_broken_is_a_problem_and_no_error(name: str, data: bytes, says: str, tmp_path: Path) -> None:
    folder = project(tmp_path / "project", "def f():\n    return 1\n")
    prepare(tmp_path, make_plan(folder / ".dfannotate" / "manifest.json", folder))
    (tmp_path / "audit" / name).write_bytes(data)
    audit = read_audit(tmp_path)
    assert audit is not None
    assert says in " ".join(audit.problems)


def test_a_run_without_audit_has_none(tmp_path: Path) -> None:
    assert read_audit(tmp_path) is None
