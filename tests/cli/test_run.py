"""Lanes: the same results however many, and none lost without a word."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time

import pytest

from dfannotate.cli.run import FEW, Crash, Lanes, available_cores

ITEMS = [f"file{number}" for number in range(100)]
WEIGHTS = [len(ITEMS) - number for number in range(100)]
JOBS = [1, 2, 4]

_kept: dict[str, int] = {}


def first(item: str, number: int) -> int:
    _kept[item] = number
    return number * number


def second(item: str) -> int:
    return _kept.pop(item)


def fails_on_thirteen(item: str) -> str:
    if item == "file13":
        raise KeyError("no\nsuch thing")
    return item


def dies_on_thirteen(item: str) -> str:
    if item == "file13":
        os.kill(os.getpid(), signal.SIGKILL)
    return item


def cannot_be_sent(item: str) -> object:
    return (lambda: item) if item == "file13" else item


def same(item: str) -> str:
    return item


def process(item: str) -> int:
    return os.getpid()


@pytest.mark.parametrize("jobs", JOBS)
def test_every_item_once_and_a_second_pass_finds_what_the_first_left(jobs: int) -> None:
    with Lanes(ITEMS, WEIGHTS, jobs) as lanes:
        squares = list(lanes.map(first, {item: (number,) for number, item in enumerate(ITEMS)}))
        assert len(squares) == len(ITEMS)
        assert dict(squares) == {item: number * number for number, item in enumerate(ITEMS)}
        half = ITEMS[::2]
        assert dict(lanes.map(second, dict.fromkeys(half, ()))) == {item: 2 * n for n, item in enumerate(half)}


@pytest.mark.parametrize("jobs", JOBS)
def test_an_exception_is_the_result_of_its_item(jobs: int) -> None:
    with Lanes(ITEMS, WEIGHTS, jobs) as lanes:
        results = dict(lanes.map(fails_on_thirteen, dict.fromkeys(ITEMS, ())))
    crash = results.pop("file13")
    assert isinstance(crash, Crash)
    assert crash.text.startswith("internal error: KeyError: 'no\\nsuch thing' (test_run.py:")
    assert results == {item: item for item in ITEMS if item != "file13"}


@pytest.mark.parametrize("jobs", [2, 4])
def test_a_killed_process_is_told_of_each_of_its_items_and_stops_no_other(jobs: int) -> None:
    with Lanes(ITEMS, WEIGHTS, jobs) as lanes:
        results = dict(lanes.map(dies_on_thirteen, dict.fromkeys(ITEMS, ())))
        again = dict(lanes.map(same, dict.fromkeys(ITEMS, ())))
    assert set(results) == set(ITEMS)
    lost = {item for item, result in results.items() if isinstance(result, Crash)}
    assert "file13" in lost
    assert len(lost) <= len(ITEMS) / jobs + 1
    assert all("SIGKILL" in result.text for result in results.values() if isinstance(result, Crash))
    # What its items had left in memory is gone, so none of them has a second pass.
    told = {item for item, result in again.items() if isinstance(result, Crash)}
    assert lost <= told
    assert len(told) == len(ITEMS) / jobs


def test_a_result_that_cannot_be_sent_is_told(capfd: pytest.CaptureFixture[str]) -> None:
    with Lanes(ITEMS, WEIGHTS, 2) as lanes:
        results = dict(lanes.map(cannot_be_sent, dict.fromkeys(ITEMS, ())))
    assert isinstance(results["file13"], Crash)
    assert set(results) == set(ITEMS)
    assert "Traceback" not in capfd.readouterr().err


def test_a_handful_stays_in_this_process() -> None:
    with Lanes(ITEMS[:FEW], WEIGHTS[:FEW], None) as lanes:
        assert {pid for _, pid in lanes.map(process, dict.fromkeys(ITEMS[:FEW], ()))} == {os.getpid()}


def test_many_are_spread_over_as_many_processes_as_asked() -> None:
    with Lanes(ITEMS, WEIGHTS, 3) as lanes:
        pids = [pid for _, pid in lanes.map(process, dict.fromkeys(ITEMS, ()))]
    assert len(set(pids)) == 3
    assert os.getpid() not in pids
    assert max(map(pids.count, set(pids))) < 40  # the weights fall evenly
    with Lanes(ITEMS, WEIGHTS, None) as lanes:
        assert len({pid for _, pid in lanes.map(process, dict.fromkeys(ITEMS, ()))}) == available_cores()


def test_nothing_to_do() -> None:
    with Lanes[str]([], [], 4) as lanes:
        assert list(lanes.map(same, {})) == []


def test_more_processes_than_items() -> None:
    with Lanes(["a", "b"], [1, 1], 8) as lanes:
        assert dict(lanes.map(same, {"a": (), "b": ()})) == {"a": "a", "b": "b"}


def test_the_garbage_collector_rests_only_inside() -> None:
    with Lanes(["a"], [1], 1):
        assert not gc.isenabled()
    assert gc.isenabled()


def test_an_exception_inside_ends_the_processes() -> None:
    lanes = Lanes(ITEMS, WEIGHTS, 2)

    def go() -> None:
        with lanes:
            next(lanes.map(process, dict.fromkeys(ITEMS, ())))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        go()
    assert not [lane for lane in lanes._lanes if lane.process.is_alive()]


PARENT = """
import os, sys, time
from dfannotate.cli.run import Lanes
def work(item):
    time.sleep(0.2)
    return os.getpid()
items = list(range(40))
with Lanes(items, items, 3) as lanes:
    print(*[lane.process.pid for lane in lanes._lanes], flush=True)
    list(lanes.map(work, {item: () for item in items}))
"""


@pytest.mark.parametrize("kill", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_process_outlives_the_run_that_started_it(kill: signal.Signals) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert parent.stdout is not None
    pids = [int(pid) for pid in parent.stdout.readline().split()]
    assert len(pids) == 3
    parent.send_signal(kill)
    parent.wait(10)
    parent.stdout.close()
    deadline = time.monotonic() + 10
    while (alive := [pid for pid in pids if _is_alive(pid)]) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not alive


def _is_alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as stream:
            return stream.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
