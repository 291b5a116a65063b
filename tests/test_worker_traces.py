"""Worker processes, annotated and traced for real: each leaves a finished trace that holds every call.

The programs count their calls themselves, in a file for each process, so that a trace is held against what happened in
the same run. ``make workers`` runs every combination (minutes); pytest runs those that differ most from one another.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from dfannotate.cli.main import main
from tests.conftest import PROGRAMS, WITHOUT_TORCH, run_for_real

EVERY = "EVERY_WORKER_COMBINATION"

LOADERS = ("loaders_initializers", "feed.py", {"feed.seed", "feed.Numbers.read", "feed.Seeds.set"})
CHILDREN = (
    "processes_children",
    "children.py",
    {"children.touch", "children.work", "children.prepare", "children.leave_thread", "children.Worker.run"},
)
METHODS = ("fork", "spawn", "forkserver")
MODES = (None, "FUNCTION", "PRELOAD")

Calls = Counter[tuple[int, str]]


@dataclass(frozen=True)
class Case:
    """One run: a program with its arguments, and the tracer's mode (None: the variable is not set)."""

    program: tuple[str, str, set[str]]
    arguments: tuple[str, ...]
    mode: str | None

    def __str__(self) -> str:
        return "-".join([self.program[0], *self.arguments, str(self.mode)])


def _cases() -> list[Case]:
    every = [
        Case(program, arguments, mode)
        for mode in MODES
        for method in METHODS
        for program, arguments in (
            (LOADERS, (method, "0")),
            (LOADERS, (method, "1")),
            (CHILDREN, (method,)),
        )
    ]
    if os.environ.get(EVERY):
        return every
    sample = {("fork", "1", "PRELOAD"), ("fork", "0", None), ("fork", "PRELOAD"), ("spawn", None), ("forkserver", None)}
    return [case for case in every if (*case.arguments, case.mode) in sample]


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


def _run(folder: Path, case: Case, work: Path, **environ: str) -> Outcome:
    work.mkdir()
    path = () if case.program is LOADERS else (WITHOUT_TORCH,)
    command: list[str | Path] = [sys.executable, folder / case.program[1], *case.arguments]
    done = run_for_real(command, work, path=path, environ={"PYTHONWARNINGS": "ignore", **environ})
    return Outcome(done.returncode, done.stdout, done.stderr)


def _marks(folder: Path, category: str) -> Calls:
    """The calls that each process noted itself."""
    return Counter(
        (int(path.name), f"{category}.{name}") for path in folder.iterdir() for name in path.read_text().split()
    )


def _events(folder: Path) -> Calls:
    """The events of each process; every file is complete, and finished."""
    found: Calls = Counter()
    for path in folder.glob("*.pfw.gz"):
        assert path.stat().st_size > 0, f"{path.name} is empty"
        with gzip.open(path, "rt", encoding="utf-8") as stream:
            records = [json.loads(line) for line in stream]
        assert any(r["cat"] == "dftracer" and r["name"] == "end" for r in records), f"{path.name} is not finished"
        found.update((r["pid"], f"{r['cat']}.{r['name']}") for r in records if r["ph"] == 1)
    return found


@pytest.mark.parametrize("case", _cases(), ids=str)
def test_every_worker_leaves_every_event(case: Case, tmp_path: Path) -> None:
    original = tmp_path / "original"
    shutil.copytree(PROGRAMS / case.program[0], original)
    source = tmp_path / "annotated"
    shutil.copytree(original, source)
    (source / "pyproject.toml").touch()
    assert main(["apply", "--quiet", str(source)]) == 0

    plain = _run(original, case, tmp_path / "plain")
    assert plain.code == 0, plain.err
    off = _run(source, case, tmp_path / "off")
    assert (off.code, off.out, off.err) == (plain.code, plain.out, plain.err)
    assert not list((tmp_path / "off").iterdir())

    traces, marks = tmp_path / "traces", tmp_path / "marks"
    traces.mkdir()
    marks.mkdir()
    environ = {
        "MARKS_FOLDER": str(marks),
        "DFTRACER_ENABLE": "1",
        "DFTRACER_LOG_FILE": str(traces / "trace"),
        "DFTRACER_DATA_DIR": str(traces),
        "DFTRACER_INC_METADATA": "1",
    }
    if case.mode:
        environ["DFTRACER_INIT"] = case.mode
    on = _run(source, case, tmp_path / "on", **environ)
    assert (on.code, on.out) == (plain.code, plain.out), on.err
    assert on.err == plain.err

    called = _marks(marks, Path(case.program[1]).stem)
    assert len({pid for pid, _ in called}) > 5, "hardly a worker did anything"
    events = _events(traces)
    assert Counter({key: count for key, count in events.items() if key[1] in case.program[2]}) == called
    assert main(["revert", "--quiet", str(source)]) == 0
    assert {p.name: p.read_bytes() for p in source.glob("*.py")} == {
        p.name: p.read_bytes() for p in original.glob("*.py")
    }


@pytest.mark.parametrize("on", [False, True], ids=["off", "on"])
def test_worker_whose_tracing_cannot_start_works_all_the_same(tmp_path: Path, on: bool) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "pyproject.toml").touch()
    program = source / "program.py"
    program.write_text(
        "import multiprocessing, os\n"
        "def work(path):\n    with open(path) as stream:\n        return len(stream.read())\n"
        "def child(path):\n    print('worked', work(path), flush=True)\n"
        "def main():\n"
        "    context = multiprocessing.get_context('spawn')\n"
        "    os.makedirs('here/dft.log')\n    os.chdir('here')\n"  # where the tracer opens a file
        "    process = context.Process(target=child, args=(os.devnull,))\n"
        "    process.start()\n    process.join()\n    print(process.exitcode)\n"
        "if __name__ == '__main__':\n    main()\n"
    )
    assert main(["apply", "--quiet", str(source)]) == 0
    environ = {"DFTRACER_ENABLE": "1"} if on else {}
    traces = tmp_path / "traces"
    traces.mkdir()
    case = Case(("", "program.py", set()), (), None)
    done = _run(
        source, case, tmp_path / "work", DFTRACER_LOG_FILE=str(traces / "t"), DFTRACER_DATA_DIR=str(traces), **environ
    )
    assert (done.code, done.out) == (0, "worked 0\n0\n"), done.err
    said = [line for line in done.err.splitlines() if "is not traced" in line]
    assert len(said) == on
    assert all("dfannotate: worker process" in line and "IsADirectoryError" in line for line in said)


@pytest.mark.parametrize("method", METHODS)
def test_workers_of_a_packages_main_module_work_under_every_start_method(tmp_path: Path, method: str) -> None:
    """A process that is not forked does not import such a module, so nothing of it may be needed there."""
    source = tmp_path / "source"
    (source / "app").mkdir(parents=True)
    (source / "pyproject.toml").touch()
    (source / "app" / "__init__.py").touch()
    (source / "app" / "work.py").write_text(
        "def prepare(number):\n    with open('/dev/null') as stream:\n        stream.read()\n"
        "def work(number):\n    for _ in range(3):\n        prepare(number)\n    return number\n"
    )
    (source / "app" / "__main__.py").write_text(
        "import multiprocessing, sys\nfrom app.work import prepare, work\n"
        "if __name__ == '__main__':\n"
        "    context = multiprocessing.get_context(sys.argv[1])\n"
        "    with context.Pool(1) as pool:\n        print(pool.map(work, [1, 2]))\n"
        "    with context.Pool(1, prepare, (1,)) as pool:\n        print(pool.map(work, [1, 2]))\n"
        "    process = context.Process(target=work, args=(1,))\n"
        "    process.start()\n    process.join()\n    print(process.exitcode)\n"
    )
    assert main(["apply", "--quiet", str(source)]) == 0
    traces = tmp_path / "traces"
    traces.mkdir()
    environ = {"DFTRACER_ENABLE": "1", "DFTRACER_LOG_FILE": str(traces / "t"), "DFTRACER_DATA_DIR": str(traces)}
    done = run_for_real([sys.executable, "-m", "app", method], source, environ=environ)
    assert (done.returncode, done.stdout) == (0, "[1, 2]\n[1, 2]\n0\n"), done.stderr
    names = Counter(name for _, name in _events(traces).elements())
    assert names["work.work"] == (5 if method == "fork" else 0)
    assert ("traced only where they are forked" in done.stderr) == (method != "fork")


LATE = """\
import multiprocessing, os, signal, time

class Told:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.2)

if multiprocessing.current_process().name != "MainProcess":
    Told()  # what is raised in a __del__ is dropped
"""
READ = "import os\ndef read():\n    with open(os.devnull) as stream:\n        stream.read()\n"
JOBS = """\
import multiprocessing
import read
import late

def work():
    for _ in range(5):
        read.read()

def start(method):
    process = multiprocessing.get_context(method).Process(target=work)
    process.start()
    process.join(60)
    print(process.exitcode)
"""
OTHERS = """\
import multiprocessing, time

def wait(ready, shared):
    shared["here"] = 1
    ready.set()
    time.sleep(60)

def start(method):
    context = multiprocessing.get_context(method)
    ready = context.Event()
    manager = context.Manager()
    shared = manager.dict()
    process = context.Process(target=wait, args=(ready, shared))
    process.start()
    ready.wait(60)
    process.terminate()
    process.join(30)
    print(process.exitcode)
    process.kill()
"""
TOLD = {
    "in-what-the-main-module-imports": {
        "program.py": "import jobs, sys\nif __name__ == '__main__':\n    jobs.start(sys.argv[1])\n"
    },
    "in-a-module-that-its-function-is-in": {
        "program.py": "import sys\nif __name__ == '__main__':\n    import jobs\n    jobs.start(sys.argv[1])\n"
    },
    "later-and-not-by-an-annotated-module": {
        "program.py": "import others, jobs, sys\nif __name__ == '__main__':\n    others.start(sys.argv[1])\n",
        "late.py": "",
        "others.py": OTHERS,
    },
}


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
@pytest.mark.parametrize("files", TOLD.values(), ids=TOLD)
def test_worker_that_is_told_to_stop_while_it_imports_stops(files: dict[str, str], method: str, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for name, text in {"pyproject.toml": "", "read.py": READ, "late.py": LATE, "jobs.py": JOBS, **files}.items():
        (source / name).write_text(text)
    assert main(["apply", "--quiet", str(source / "read.py"), str(source / "jobs.py")]) == 0
    case = Case(("", "program.py", set()), (method,), None)
    off = _run(source, case, tmp_path / "off")
    traces = tmp_path / "traces"
    traces.mkdir()
    environ = {"DFTRACER_ENABLE": "1", "DFTRACER_LOG_FILE": str(traces / "t"), "DFTRACER_DATA_DIR": str(traces)}
    on = _run(source, case, tmp_path / "on", **environ)
    assert (off.code, off.out) == (0, f"{-signal.SIGTERM}\n"), off.err
    assert (on.code, on.out) == (0, off.out), on.err
