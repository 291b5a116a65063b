"""Roles, and the pids of files that hold nothing but their name."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from dfannotate.analysis.processes import assign, pid_in_name
from dfannotate.analysis.traces import FileSummary, ProcessTrace, Tally

EVENTS = {("C", "f"): Tally(count=1)}


def hashed(executable: str, host: str, pid: int) -> str:
    """The tracer's name for a process: every second byte of a digest."""
    return hashlib.md5(f"{executable}-{host}-{pid}".encode()).digest()[0::2].hex()


def trace(pid: int, ppid: int | None = None, executable: str | None = "train.py", host: str = "a") -> ProcessTrace:
    return ProcessTrace(pid, ppid, host, executable, events=EVENTS, starts=1)


def of(name: str, *traces: ProcessTrace) -> FileSummary:
    return FileSummary(Path(name), name, size=9 if traces else 0, processes=traces or (ProcessTrace(None),))


def roles(*files: FileSummary) -> list[str]:
    return [process.role for process in assign(files)]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param([of("a.pfw", trace(10, 5))], ["main"], id="one"),
        pytest.param([of("a.pfw", trace(10, 5)), of("b.pfw", trace(11, 10))], ["main", "worker"], id="child"),
        pytest.param(
            [of("a.pfw", trace(10)), of("run-0123456789abcdef-fork.pfw.gz", trace(11))],
            ["main", "worker"],
            id="fork-suffix",
        ),
        pytest.param(
            [of("a.pfw", trace(10)), of("run-0123456789abcdef-.pfw.gz", trace(11))], ["main", "worker"], id="no-suffix"
        ),
        pytest.param(
            [of("a.pfw", trace(10, 5)), of("b.pfw", trace(11, 6, "DEFAULT-spawn"))], ["main", "worker"], id="spawn"
        ),
        pytest.param(
            [of("a.pfw", trace(10, 5)), of("b.pfw", trace(11, 5)), of("c.pfw", trace(12, 11))],
            ["rank", "rank", "worker"],
            id="ranks-of-one-launcher",
        ),
        pytest.param(
            [of("a.pfw", trace(10, 5)), of("b.pfw", trace(10, 5, host="b"))], ["rank", "rank"], id="ranks-on-two-hosts"
        ),
        pytest.param([of("a.pfw", trace(10, 5)), of("b.pfw", trace(20, 6))], ["main", "main"], id="two-programs"),
    ],
)
def test_roles(files: list[FileSummary], expected: list[str]) -> None:
    assert roles(*files) == expected


@pytest.mark.parametrize(
    ("executable", "pid", "role"), [("train.py", 5030, "main"), ("DEFAULT-spawn", 4711, "worker")], ids=str
)
def test_the_pid_of_an_empty_file_is_found_by_its_name(executable: str, pid: int, role: str) -> None:
    name = f"run-{hashed(executable, 'a', pid)}-app.pfw.gz"
    found = assign([of("run-app.pfw", trace(5000, 4999)), of(name)])[1]
    assert (found.trace.pid, found.trace.host) == (pid, "a")
    if role == "worker":
        assert found.role == role


def test_a_far_pid_is_not_guessed() -> None:
    name = f"run-{hashed('train.py', 'a', 3_000_000)}-app.pfw.gz"
    found = assign([of("run-app.pfw", trace(5000)), of(name)])[1]
    assert found.trace.pid is None
    assert found.role == "worker"


@pytest.mark.parametrize(
    ("name", "pid"),
    [
        ("run-app.py-12621-app.pfw", 12621),
        ("run-DEFAULT-spawn-12565-app.pfw", 12565),
        ("run-1234567812345678-app.pfw.gz", None),
        ("run.pfw", None),
    ],
)
def test_older_names_hold_the_pid(name: str, pid: int | None) -> None:
    assert pid_in_name(name) == pid
