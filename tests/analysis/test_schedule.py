"""The same answer wherever the work is done, and what is said where it cannot be done."""

from __future__ import annotations

import json
import logging
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dfannotate.analysis import schedule as schedules
from dfannotate.analysis import sweep, verify
from dfannotate.analysis.figures import Overlap
from dfannotate.analysis.overlap import Question, answer
from dfannotate.analysis.partials import Partial, gather
from dfannotate.analysis.patterns import parse_patterns
from dfannotate.analysis.schedule import Advance, Cluster, Here, Schedule, ScheduleError, schedule_on
from dfannotate.analysis.traces import Traces
from tests.conftest import TIMEOUT, RunCli

if TYPE_CHECKING:
    from distributed import LocalCluster

FILES = 21


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of 21 processes on three hosts, one with NS, one killed, one that wrote two files; 200 events each."""
    folder = tmp_path_factory.mktemp("run")
    chance = random.Random(5)
    for number in range(FILES):
        pid = 100 + (number if number != 20 else 19)
        factor = 1000 if number % 5 == 0 else 1
        head = {"pid": pid, "tid": pid}
        lines: list[dict[str, Any]] = [
            {"name": "HH", "cat": "dftracer", **head, "ph": 4, "args": {"name": f"node{pid % 3}", "value": "1"}},
            {
                "name": "CM",
                "cat": "dftracer",
                **head,
                "ph": 4,
                "args": {"name": "time_metric", "value": "NS" if factor > 1 else "US"},
            },
            {"name": "start", "cat": "dftracer", **head, "ph": 1, "id": 0, "ts": 10**9 * factor, "dur": 0},
        ]
        time = 10**9 + chance.randrange(5000)
        for event in range(200):
            time += chance.randrange(300)
            length = chance.randrange(500) if chance.random() < 0.98 else 20_000
            lines.append(
                {
                    "name": chance.choice(["read", "epoch", "step"]),
                    "cat": chance.choice(["IO", "COMPUTE"]),
                    **head,
                    "ph": 1,
                    "id": event + 1,
                    "ts": time * factor,
                    "dur": length * factor,
                }
            )
        if number != 7:
            lines.append({"name": "end", "cat": "dftracer", **head, "ph": 1, "ts": time * factor, "dur": 0})
        (folder / f"run-{number:02}.pfw").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def start_cluster(workers: int) -> Any:
    """A Dask scheduler in this process, and workers in processes of their own."""
    from distributed import LocalCluster

    return LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        dashboard_address=":0",
        silence_logs=logging.CRITICAL,
    )


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    """A Dask scheduler, and two workers in processes of their own."""
    with start_cluster(2) as started:
        yield started


QUESTION = Question(parse_patterns("IO"), parse_patterns("COMPUTE"))


def ask(
    folder: Path, place: Schedule, question: Question = QUESTION, watch: Callable[[Advance], None] | None = None
) -> tuple[Overlap, Traces]:
    with place as schedule:
        traces, partial = gather(folder, schedule, question.request(), watch)
        return answer(question, traces, partial, schedule), traces


@pytest.mark.parametrize(
    ("window", "by", "interval"),
    [(sweep.WINDOW, None, "p99"), (600, "process", "max"), (600, "round", 50_000)],
    ids=["one window", "windows that cut buckets, by process", "windows of many buckets, by round"],
)
def test_the_answer_is_the_same_everywhere(
    run_folder: Path, cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch, window: int, by: Any, interval: Any
) -> None:
    question = replace(QUESTION, by=by, interval=interval)
    alone = ask(run_folder, Here(1), question)
    assert alone[0].exact > 0
    monkeypatch.setattr(sweep, "WINDOW", window)
    monkeypatch.setattr(schedules, "_WORTH_A_POOL", 0)
    assert ask(run_folder, Here(1), question) == alone  # by way of scratch files
    assert ask(run_folder, Here(2), question) == alone
    assert ask(run_folder, Cluster(cluster.scheduler_address), question) == alone


def test_verify_says_the_same_on_a_cluster(run_folder: Path, cluster: LocalCluster) -> None:
    here = verify(run_folder, overlap="IO:COMPUTE", expectations=["IO:*>=1"])
    there = verify(run_folder, overlap="IO:COMPUTE", expectations=["IO:*>=1"], scheduler=cluster.scheduler_address)
    assert there == here


def kill_one(cluster: LocalCluster) -> int:
    """Kill one of the worker processes, which its keeper starts again, and say which."""
    from distributed import Client

    with Client(cluster.scheduler_address, set_as_default=False) as client:
        pids: Any = client.run(os.getpid)
    pid: int = sorted(pids.values())[0]
    os.kill(pid, signal.SIGKILL)
    return pid


@pytest.mark.parametrize("when", ["while the files are read", "when all files are read"])
def test_a_worker_that_is_killed_changes_nothing(run_folder: Path, cluster: LocalCluster, when: str) -> None:
    killed: list[int] = []

    def watch(advance: Advance) -> None:
        if not killed and (advance.files < FILES) == (when == "while the files are read"):
            killed.append(kill_one(cluster))

    found = ask(run_folder, Cluster(cluster.scheduler_address), watch=watch)
    assert killed
    assert found == ask(run_folder, Here(1))


def test_progress_tells_files_bytes_and_events(run_folder: Path, cluster: LocalCluster) -> None:
    for place in (Here(1), Cluster(cluster.scheduler_address)):
        seen: list[Advance] = []
        _, traces = ask(run_folder, place, watch=seen.append)
        size = sum(file.size for file in traces.files)
        assert seen[-1] == Advance(FILES, FILES, size, size, FILES * 200)
        assert [advance.files for advance in seen] == sorted(advance.files for advance in seen)


@pytest.mark.parametrize("seed", range(3))
def test_partials_merge_in_any_order_and_any_tree(run_folder: Path, seed: int) -> None:
    from dfannotate.analysis.partials import contribute, merge
    from dfannotate.analysis.schedule import File

    request = replace(QUESTION, by="round").request()
    paths = sorted(run_folder.iterdir())
    partials = [contribute(File(path, path.name, 0, n), request).partial for n, path in enumerate(paths)]
    expected = described(merge(partials))
    chance = random.Random(seed)
    chance.shuffle(partials)
    while len(partials) > 1:
        size = chance.randint(2, 5)
        partials = [merge(partials[first : first + size]) for first in range(0, len(partials), size)]
    assert described(partials[0]) == expected


def described(partial: Partial) -> tuple[object, ...]:
    return (
        partial.files,
        partial.durations.values.tolist(),
        partial.durations.counts.tolist(),
        [(stock.number, stock.processes, stock.chunks.tolist()) for stock in partial.stocks],
        [
            (rounds.process, rounds.starts.tolist(), rounds.ends.tolist()) if rounds else None
            for rounds in partial.rounds
        ],
        partial.unusable,
        partial.shared,
    )


# --- what cannot be done ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nonsense://", "tcp://no.such.host.invalid:8786"])
@pytest.mark.parametrize("command", [["verify"], ["overlap", "--a", "IO", "--b", "COMPUTE"]], ids=["verify", "overlap"])
def test_a_scheduler_that_does_not_answer(
    run_folder: Path, run_cli: RunCli, monkeypatch: pytest.MonkeyPatch, address: str, command: Sequence[str]
) -> None:
    monkeypatch.setattr(schedules, "_CONNECT_SECONDS", 1)
    result = run_cli(*command, run_folder, "--scheduler", address)
    assert (result.code, result.out) == (2, "")
    assert f"{address}: no Dask scheduler answers there" in result.err
    assert len(result.err.splitlines()) == 1


def test_a_scheduler_without_workers(run_folder: Path, run_cli: RunCli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedules, "_CONNECT_SECONDS", 1)
    with start_cluster(0) as empty:
        result = run_cli("verify", run_folder, "--scheduler", empty.scheduler_address)
    assert (result.code, result.out) == (2, "")
    assert "the scheduler has no worker" in result.err


WORKER = """
import importlib.abc, sys

class Without(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "dfannotate":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

MODE
from distributed.cli.dask_worker import main
main([sys.argv[1], "--no-nanny", "--nthreads", "1", "--no-dashboard"])
"""


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        ("sys.meta_path.insert(0, Without())", "cannot import dfannotate .No module named 'dfannotate'."),
        ("import dfannotate; dfannotate.__version__ = '0.0.9'", "has dfannotate 0.0.9"),
    ],
    ids=["without the package", "with another version"],
)
def test_workers_of_another_environment(
    run_folder: Path, run_cli: RunCli, monkeypatch: pytest.MonkeyPatch, mode: str, reason: str
) -> None:
    with start_cluster(0) as empty:
        command = [sys.executable, "-c", WORKER.replace("MODE", mode), empty.scheduler_address]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as worker:
            try:
                empty.wait_for_workers(1, timeout=TIMEOUT)
                with pytest.raises(ScheduleError, match=reason):
                    verify(run_folder, scheduler=empty.scheduler_address)
                result = run_cli("verify", run_folder, "--scheduler", empty.scheduler_address)
                assert (result.code, result.out) == (2, "")
            finally:
                worker.kill()


def test_workers_that_do_not_see_the_files(run_folder: Path, cluster: LocalCluster, tmp_path: Path) -> None:
    # the client alone sees it: the file is gone by the time that the workers are asked
    (tmp_path / "run.pfw").write_bytes((run_folder / "run-00.pfw").read_bytes())
    with Cluster(cluster.scheduler_address) as schedule:
        steps: Any = None
        files = [schedules.File(tmp_path / "elsewhere" / "run.pfw", "run.pfw", 0, 0)]
        with pytest.raises(ScheduleError, match=r"does not see .*elsewhere/run\.pfw; the trace must lie on storage"):
            schedule.gather(steps, files, None)


def test_without_the_extra_the_message_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ScheduleError, match=r"install dfannotate\[distributed\]"):
        schedule_on("tcp://127.0.0.1:8786")


def test_a_reading_process_that_is_killed_is_done_without(run_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dfannotate.analysis import partials

    parent = os.getpid()
    real = partials.contribute

    def deadly(file: schedules.File, request: Any) -> Any:
        if os.getpid() != parent and file.name == "run-03.pfw":
            os.kill(os.getpid(), signal.SIGKILL)
        return real(file, request)

    alone = ask(run_folder, Here(1))
    monkeypatch.setattr(schedules, "_WORTH_A_POOL", 0)
    monkeypatch.setattr(partials, "contribute", deadly)
    deadly.__module__, deadly.__qualname__ = partials.__name__, "contribute"
    assert ask(run_folder, Here(2)) == alone
