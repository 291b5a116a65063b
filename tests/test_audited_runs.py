"""Programs with workers, run for real with ``run --audit``: ``verify`` proves that no event is lost, or names the loss.

Pytest runs those that differ most from one another; ``make workers`` runs every start method for each.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dfannotate.cli.environment import without_tracer_variables
from dfannotate.cli.main import main
from dfannotate.manifest import FileEntry, Manifest, Site, save
from dfannotate.source import digest
from tests.conftest import PROGRAMS, TIMEOUT

WITHOUT_TORCH = Path(__file__).parent / "without_torch"
START = [sys.executable, "-m", "dfannotate", "run", "--audit"]
EVERY = "EVERY_WORKER_COMBINATION"

# Starts a script under a start method that it does not ask for itself.
UNDER = (
    "import multiprocessing, runpy, sys\n"
    "if __name__ == '__main__':\n"
    "    multiprocessing.set_start_method(sys.argv[1])\n"
    "    sys.argv = sys.argv[2:]\n"
    "    sys.path[0] = ''\n"
    "    runpy.run_path(sys.argv[0], run_name='__main__')\n"
)

CHILDREN = [("processes_children", "children.py", method) for method in ("fork", "spawn", "forkserver")]
TRAINING = [("torch_training", "train.py", method) for method in ("fork", "spawn", "forkserver")]
CASES = [*CHILDREN, *TRAINING] if os.environ.get(EVERY) else [*CHILDREN[1:], TRAINING[0]]


def annotated(name: str, folder: Path) -> Path:
    source = folder / "source"
    shutil.copytree(PROGRAMS / name, source)
    (source / "pyproject.toml").touch()
    assert main(["apply", "--quiet", str(source)]) == 0
    return source


def run(source: Path, folder: Path, *command: str, torch: bool, code: int = 0) -> Path:
    """Run a command in a project with its calls counted; the folder of its traces."""
    traces = folder / "traces"
    environ = {**without_tracer_variables(os.environ), "PYTHONWARNINGS": "ignore"}
    if not torch:
        environ["PYTHONPATH"] = os.pathsep.join([environ.get("PYTHONPATH", ""), str(WITHOUT_TORCH)])
    done = subprocess.run(
        [*START, "--trace-dir", str(traces), "--", sys.executable, *command],
        cwd=source,
        env=environ,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    assert done.returncode == code, done.stderr
    return traces


def report(
    traces: Path, source: Path, capsys: pytest.CaptureFixture[str], *options: str
) -> tuple[int, dict[str, dict[str, Any]]]:
    """The exit code of verify, and its checks by id."""
    capsys.readouterr()
    manifest = source / ".dfannotate" / "manifest.json"
    code = main(["verify", str(traces), "--manifest", str(manifest), "--format", "json", *options])
    return code, {check["id"]: check for check in json.loads(capsys.readouterr().out)["checks"]}


@pytest.mark.parametrize(("name", "script", "method"), CASES, ids=[f"{name}-{method}" for name, _, method in CASES])
def test_no_event_of_a_run_with_workers_is_lost(
    name: str, script: str, method: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = annotated(name, tmp_path)
    (source / "under.py").write_text(UNDER)
    training = name == "torch_training"
    command = ("under.py", method, script, str(tmp_path / "out"), "--epochs", "1") if training else (script, method)
    traces = run(source, tmp_path, *command, torch=training)
    # How many workers of a pool come to begin before it is closed, only the run knows.
    code, checks = report(traces, source, capsys, *(("--workers", "2") if training else ()))
    audit = checks["audit"]
    assert (code, audit["status"]) == (0, "pass"), checks
    assert audit["details"]["events_lost"] == 0
    assert audit["details"]["calls"] > 64
    assert checks["workers"]["status"] == "pass"
    assert {worker["started_by"] for worker in checks["workers"]["details"]["workers"]} <= {method, "fork"}
    assert checks["coverage"]["status"] == "pass", checks["coverage"]


def test_threads_forks_and_further_interpreters_are_counted_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = annotated("processes", tmp_path)
    traces = run(source, tmp_path, "crawl.py", str(tmp_path / "out"), torch=False)
    code, checks = report(traces, source, capsys)
    assert code == 0, checks
    # The first process, two children of multiprocessing, one of os.fork that leaves by os._exit, a second interpreter.
    assert checks["audit"]["details"]["processes"] == 5
    assert checks["audit"]["status"] == "pass"
    assert [one["function"] for one in checks["audit"]["details"]["raised"]] == ["fail"]


KILLED = """\
import multiprocessing, os, signal, sys

def read(number):
    with open(os.devnull) as stream:
        stream.read()
    return number

def work(numbers, ends):
    for number in numbers:
        read(number)
    if ends:
        os.kill(os.getpid(), signal.SIGKILL)

def main(method):
    context = multiprocessing.get_context(method)
    processes = [context.Process(target=work, args=(range(5 + ends), ends)) for ends in (False, True)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    print(processes[1].pid)

if __name__ == "__main__":
    main(sys.argv[1])
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_killed_worker_is_named_with_what_it_lost(
    method: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "pyproject.toml").touch()
    (source / "program.py").write_text(KILLED)
    assert main(["apply", "--quiet", str(source)]) == 0
    traces = run(source, tmp_path, "program.py", method, torch=False)
    code, checks = report(traces, source, capfd)
    assert code == 1
    assert checks["audit"]["status"] == "fail"
    (lost,) = checks["audit"]["details"]["lost"]
    # The call of work() itself never ended.
    assert (lost["event"], lost["calls"], lost["events"], lost["number"]) == ("read", 6, 0, 6)
    assert f"events lost: 6: 6 of 6 program:read in process {lost['pid']}" in checks["audit"]["message"]
    assert checks["workers"]["status"] == "fail"
    assert str(lost["pid"]) in checks["workers"]["message"]
    (worker,) = checks["workers"]["details"]["workers"]
    assert worker["pid"] != lost["pid"]
    assert checks["integrity"]["status"] == checks["finalized"]["status"] == "fail"


def test_a_program_that_logs_before_and_after_tracing_is_told_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "pyproject.toml").touch()
    (source / "work.py").write_text(
        "def work(number):\n    with open('/dev/null') as stream:\n        stream.read()\n    return number\nwork(0)\n"
        "def never(number):\n    with open('/dev/null') as stream:\n        stream.read()\n"
        "def fails(number):\n    with open('/nothing/there') as stream:\n        stream.read()\n"
    )
    (source / "program.py").write_text(
        "import atexit\nimport work\natexit.register(work.work, 9)\n\ndef main():\n    for number in range(7):\n"
        "        work.work(number)\n    for number in range(3):\n        try:\n            work.fails(number)\n"
        "        except OSError:\n            pass\n\nif __name__ == '__main__':\n    main()\n"
    )
    assert main(["apply", "--quiet", str(source)]) == 0
    traces = run(source, tmp_path, "program.py", torch=False)
    code, checks = report(traces, source, capsys, "--expect", "work:work=7")
    assert code == 0, checks
    details = checks["audit"]["details"]
    assert details["events_lost"] == 0
    assert [(one["function"], one["calls"]) for one in details["raised"]] == [("fails", 3)]
    assert [(one["function"], one["calls"]) for one in details["before_start"]] == [("work", 1)]
    assert [(one["function"], one["calls"]) for one in details["after_finalize"]] == [("work", 1)]
    silent = {one["event"]: one["reason"] for one in checks["coverage"]["details"]["silent"]}
    assert silent == {"fails": "raised every time", "never": "never called, or stopped before its end"}


REFUSED = """\
from dftracer.python import dftracer, dft_fn
log = dftracer.initialize_log(logfile=None, data_dir=None, process_id=-1)
x = dft_fn("C")
@x.log
def step_by(a, step):
    return a
@x.log_static
def other(a):
    return a
for number in range(6):
    other(number)
    try:
        step_by(1, step=number if number < 4 else (number, number))
    except TypeError:
        pass
log.finalize()
"""


def test_calls_whose_arguments_the_tracer_refuses_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "program.py").write_text(REFUSED)
    sites = (Site("decorator", "step_by", "step_by", "C", 5), Site("decorator", "other", "other", "C", 8))
    entry = FileEntry("program.py", "C", True, "", digest(REFUSED.encode()), sites)
    save(Manifest("2.2.0", (entry,)), source / ".dfannotate" / "manifest.json")
    traces = run(source, tmp_path, "program.py", torch=False)
    code, checks = report(traces, source, capsys)
    assert code == 1
    assert checks["audit"]["details"]["refused"] == [{"function": "step_by", "place": "program.py:5", "calls": 2}]
    assert checks["audit"]["details"]["events_lost"] == 0
