"""A good trace, broken in every way one can think of: each break is caught by the check that should catch it.

The good one is real (corpus/traces/audited): two forked workers and a spawned one, with the manifest of the program and
the counts of its calls. All breaks are made in its text or bytes, and read and checked like any trace.
"""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from dfannotate.analysis import Outcome, discover
from dfannotate.analysis.audit import read_audit
from dfannotate.analysis.reader import open_traces
from dfannotate.analysis.traces import Traces
from dfannotate.manifest import Manifest, Site, load
from tests.conftest import TRACES, RealTrace

GOOD = TRACES / "audited"
CHECKS = discover()
HOUR = 3_600_000_000

Record = dict[str, Any]


@dataclass
class Run:
    """The trace in hand: the records of each file, and the bytes of those that are no longer what they say."""

    records: dict[str, list[Record]]
    manifest: Manifest
    raw: dict[str, bytes] = field(default_factory=dict)

    @classmethod
    def good(cls) -> Run:
        return cls({path.name: read(path) for path in sorted(GOOD.glob("*.gz"))}, load(GOOD / "manifest.json"))

    def names(self, role: str) -> list[str]:
        """The files of the main process, of the forked workers, of the spawned one."""
        found = {"main": [], "fork": [], "spawn": []}  # type: dict[str, list[str]]
        for name, records in self.records.items():
            is_main = any(record["name"] == "main" for record in records)
            found["main" if is_main else "fork" if "-fork" in name else "spawn"].append(name)
        return found[role]

    @property
    def worker(self) -> str:
        return self.names("fork")[0]

    @property
    def main(self) -> str:
        return self.names("main")[0]

    def lines(self, name: str) -> list[bytes]:
        return [json.dumps(record, separators=(",", ":")).encode() + b"\n" for record in self.records[name]]

    def content(self, name: str) -> bytes:
        """The file as it is written: the tracer writes one gzip member."""
        return self.raw[name] if name in self.raw else gzip.compress(b"".join(self.lines(name)), 6, mtime=0)

    def put(self, name: str, text: bytes) -> None:
        """Give a file this text."""
        self.raw[name] = gzip.compress(text, 6, mtime=0)

    def where(self, name: str, event: str | None = None) -> list[int]:
        """The positions of the events of a file, all or those of one name."""
        return [
            index
            for index, record in enumerate(self.records[name])
            if record["ph"] == 1 and (record["name"] == event if event else record["cat"] == "program")
        ]

    def every(self) -> Iterator[Record]:
        for records in self.records.values():
            yield from records

    def recount(self) -> None:
        """Let the end records claim what is there now."""
        for records in self.records.values():
            complete = [record for record in records if record["ph"] == 1]
            for record in records:
                if record["name"] == "end":
                    record["args"]["num_events"] = len(complete) - 1

    def write(self, folder: Path) -> None:
        for name in {*self.records, *self.raw}:
            (folder / name).write_bytes(self.content(name))
        shutil.copytree(GOOD / "audit", folder / "audit")


def read(path: Path) -> list[Record]:
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


def outcomes(folder: Path, manifest: Manifest | None) -> dict[str, Outcome]:
    traces = replace(open_traces(folder, jobs=1), audit=read_audit(folder))
    return {check.id: check.run(traces, manifest, ()) for check in CHECKS}


# --- the ways to break it ---------------------------------------------------------------------------------------------

Break = Callable[[Run], None]
BREAKS: dict[str, tuple[Break, set[str], set[str]]] = {}
"""By what is done: the break, the checks that must fail for it, and those that must at least warn."""


def breaks(*fail: str, warn: str = "") -> Callable[[Break], Break]:
    def register(function: Break) -> Break:
        BREAKS[function.__name__.replace("_", "-")] = (function, set(fail), set(warn.split()))
        return function

    return register


@breaks("workers", "audit")
def worker_file_removed(run: Run) -> None:
    del run.records[run.worker]


@breaks("workers", "audit")
def spawned_worker_file_removed(run: Run) -> None:
    del run.records[run.names("spawn")[0]]


@breaks("workers", "audit")
def all_worker_files_removed(run: Run) -> None:
    for name in [*run.names("fork"), *run.names("spawn")]:
        del run.records[name]


@breaks("audit")
def main_file_removed(run: Run) -> None:
    del run.records[run.main]


@breaks("integrity", "finalized", "workers", "coverage", "audit")
def worker_file_emptied(run: Run) -> None:
    run.raw[run.worker] = b""


@breaks("integrity", "finalized", "workers", "audit")
def spawned_worker_file_emptied(run: Run) -> None:
    run.raw[run.names("spawn")[0]] = b""


@breaks("integrity", "finalized", "audit")
def main_file_emptied(run: Run) -> None:
    run.raw[run.main] = b""


@breaks("integrity", "coverage")
def gzip_cut_in_the_middle(run: Run) -> None:
    data = run.content(run.worker)
    run.raw[run.worker] = data[: len(data) // 2]


@breaks("integrity")
def gzip_cut_in_its_trailer(run: Run) -> None:
    run.raw[run.worker] = run.content(run.worker)[:-3]


@breaks("finalized", "audit")
def last_gzip_member_lost(run: Run) -> None:
    lines = run.lines(run.worker)
    run.put(run.worker, b"".join(lines[: len(lines) // 2]))


@breaks("finalized")
def first_gzip_member_lost(run: Run) -> None:
    lines = run.lines(run.worker)
    run.put(run.worker, b"".join(lines[len(lines) // 2 :]))


@breaks("integrity")
def gzip_member_damaged(run: Run) -> None:
    data = bytearray(run.content(run.main))
    data[len(data) // 2] ^= 0xFF
    run.raw[run.main] = bytes(data)


@breaks("integrity")
def gzip_checksum_changed(run: Run) -> None:
    data = bytearray(run.content(run.main))
    data[-6] ^= 1
    run.raw[run.main] = bytes(data)


@breaks("integrity")
def noise_behind_the_last_member(run: Run) -> None:
    run.raw[run.main] = run.content(run.main) + b"\x07noise" * 20


@breaks("integrity")
def text_under_the_name_of_gzip(run: Run) -> None:
    run.raw[run.worker] = b"".join(run.lines(run.worker))


@breaks("integrity", "finalized")
def another_file_under_the_name_of_a_trace(run: Run) -> None:
    run.raw[run.worker] = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4


@breaks("finalized", "audit")
def line_lost(run: Run) -> None:
    del run.records[run.main][run.where(run.main, "read")[3]]


@breaks("integrity")
def line_duplicated(run: Run) -> None:
    index = run.where(run.worker, "read")[1]
    run.records[run.worker].insert(index, dict(run.records[run.worker][index]))


@breaks(warn="finalized audit")
def line_duplicated_under_another_number(run: Run) -> None:
    index = run.where(run.worker, "read")[1]
    run.records[run.worker].insert(index, {**run.records[run.worker][index], "id": 77})


@breaks("integrity", "finalized", "audit")
def line_garbled(run: Run) -> None:
    lines = run.lines(run.worker)
    index = run.where(run.worker, "read")[1]
    lines[index] = lines[index].replace(b'"name"', b'"na')
    run.put(run.worker, b"".join(lines))


@breaks("integrity", "finalized", "audit")
def line_cut(run: Run) -> None:
    lines = run.lines(run.worker)
    index = run.where(run.worker, "work")[0]
    lines[index] = lines[index][:40] + b"\n"
    run.put(run.worker, b"".join(lines))


@breaks("integrity", "audit")
def byte_that_is_no_text(run: Run) -> None:
    lines = run.lines(run.worker)
    index = run.where(run.worker, "read")[1]
    lines[index] = lines[index].replace(b"read", b"re\xffd")
    run.put(run.worker, b"".join(lines))


@breaks("integrity")
def hole_of_zeros(run: Run) -> None:
    lines = run.lines(run.main)
    run.put(run.main, b"".join([*lines[:12], b"\0" * 500 + b"\n", *lines[12:]]))


@breaks("integrity", "audit")
def pid_changed_in_one_line(run: Run) -> None:
    run.records[run.worker][run.where(run.worker)[0]]["pid"] += 1000


@breaks("integrity", "workers", "audit")
def pid_changed_in_a_file(run: Run) -> None:
    for record in run.records[run.worker]:
        record["pid"] += 1000


@breaks("integrity")
def two_files_exchanged(run: Run) -> None:
    one, other = run.names("fork")
    run.records[one], run.records[other] = run.records[other], run.records[one]


@breaks("finalized", "audit")
def workers_events_dropped(run: Run) -> None:
    run.records[run.worker] = [record for record in run.records[run.worker] if record["cat"] != "program"]


@breaks("audit")
def workers_events_dropped_and_recounted(run: Run) -> None:
    workers_events_dropped(run)
    run.recount()


@breaks("audit", "coverage")
def events_of_a_function_dropped_and_recounted(run: Run) -> None:
    for name, records in run.records.items():
        run.records[name] = [record for record in records if record["name"] != "read"]
    run.recount()


@breaks("audit")
def one_event_dropped_and_recounted(run: Run) -> None:
    del run.records[run.main][run.where(run.main, "add")[4]]
    run.recount()


@breaks("finalized")
def more_events_claimed_than_there_are(run: Run) -> None:
    run.records[run.worker][-1]["args"]["num_events"] += 5


@breaks("arguments")
def arguments_stripped_from_one_event(run: Run) -> None:
    del run.records[run.main][run.where(run.main, "read")[2]]["args"]


@breaks("arguments")
def arguments_stripped_from_a_file(run: Run) -> None:
    for record in run.records[run.worker]:
        if record["ph"] == 1 and record["cat"] == "program":
            del record["args"]


@breaks("arguments")
def arguments_stripped_from_everything(run: Run) -> None:
    for record in run.every():
        if record["ph"] == 1:
            del record["args"]


@breaks(warn="arguments")
def argument_of_an_event_missing(run: Run) -> None:
    for index in run.where(run.main, "add"):
        del run.records[run.main][index]["args"]["total"]


@breaks("clock")
def unit_swapped_in_a_file(run: Run) -> None:
    for record in run.records[run.worker]:
        if record["name"] == "CM":
            record["args"]["value"] = "NS"


@breaks("clock")
def unit_swapped_everywhere(run: Run) -> None:
    for record in run.every():
        if record["name"] == "CM":
            record["args"]["value"] = "NS"
        if record["name"] == "end":
            record["args"]["cfg"]["time_metric"] = "NS"


@breaks("clock")
def unit_unknown(run: Run) -> None:
    for record in run.every():
        if record["name"] == "CM":
            record["args"]["value"] = "WEEKS"


@breaks("clock")
def unit_undeclared_in_a_file(run: Run) -> None:
    run.records[run.worker] = [record for record in run.records[run.worker] if record["name"] != "CM"]
    run.records[run.worker][-1]["args"]["cfg"].pop("time_metric")


@breaks("integrity")
def two_files_merged(run: Run) -> None:
    one, other = run.names("fork")
    run.raw[one] = run.content(one) + run.content(other)
    del run.records[other]


@breaks("integrity")
def file_copied(run: Run) -> None:
    run.raw["copy.pfw.gz"] = run.content(run.worker)


@breaks("integrity")
def file_copied_and_compressed_anew(run: Run) -> None:
    run.raw["copy.pfw.gz"] = gzip.compress(b"".join(run.lines(run.worker)), 1, mtime=5)


@breaks("integrity")
def file_copied_over_another_worker(run: Run) -> None:
    one, other = run.names("fork")
    run.raw[other] = run.content(one)


@breaks(warn="integrity")
def file_renamed(run: Run) -> None:
    run.records["trace-other.pfw.gz"] = run.records.pop(run.worker)


@breaks("finalized")
def start_record_lost(run: Run) -> None:
    run.records[run.worker] = [record for record in run.records[run.worker] if record["name"] != "start"]


@breaks("finalized")
def end_record_lost(run: Run) -> None:
    run.records[run.worker] = [record for record in run.records[run.worker] if record["name"] != "end"]


def shift(run: Run, name: str, by: int) -> None:
    for record in run.records[name]:
        if "ts" in record:
            record["ts"] += by


@breaks("clock")
def workers_clock_an_hour_ahead(run: Run) -> None:
    shift(run, run.worker, HOUR)


@breaks("clock")
def workers_clock_an_hour_behind(run: Run) -> None:
    shift(run, run.names("spawn")[0], -HOUR)


@breaks("clock")
def clock_of_the_first_process_an_hour_ahead(run: Run) -> None:
    shift(run, run.main, HOUR)


@breaks("clock")
def clock_set_back_during_the_run(run: Run) -> None:
    run.records[run.worker][-1]["ts"] -= HOUR


@breaks("clock")
def events_on_a_clock_that_begins_at_zero(run: Run) -> None:
    for record in run.every():
        if record.get("cat") == "program":
            record["ts"] %= 1000
    shift(run, run.main, -30 * 365 * 24 * HOUR)


@breaks(warn="clock")
def one_function_on_a_simulated_clock(run: Run) -> None:
    for index in run.where(run.main, "add"):
        run.records[run.main][index]["ts"] %= 1_000_000


@breaks("clock")
def negative_duration(run: Run) -> None:
    run.records[run.main][run.where(run.main, "read")[4]]["dur"] = -7


@breaks("clock")
def duration_below_zero_as_the_tracer_writes_it(run: Run) -> None:
    run.records[run.main][run.where(run.main, "read")[4]]["dur"] = 2**64 - 7


@breaks("clock")
def event_that_begins_before_tracing(run: Run) -> None:
    record = run.records[run.main][run.where(run.main, "main")[0]]
    record["ts"], record["dur"] = 0, record["ts"]


@breaks("audit", "coverage")
def category_renamed(run: Run) -> None:
    for record in run.every():
        if record["cat"] == "program":
            record["cat"] = "other"


@breaks("audit")
def event_renamed_in_one_line(run: Run) -> None:
    run.records[run.main][run.where(run.main, "read")[0]]["name"] = "reads"


@breaks("audit")
def host_changed(run: Run) -> None:
    for record in run.records[run.worker]:
        if record["name"] == "HH":
            record["args"]["name"] = "elsewhere"


@breaks(warn="workers")
def file_of_another_run_added(run: Run) -> None:
    path = next((TRACES / "fork").glob("*-fork.pfw.gz"))
    run.raw[path.name] = path.read_bytes()


@breaks(warn="coverage")
def function_of_the_manifest_that_nothing_knows_of(run: Run) -> None:
    (entry,) = run.manifest.files
    site = Site("decorator", "elsewhere", "elsewhere", "program", 999)
    run.manifest = replace(run.manifest, files=(replace(entry, sites=(*entry.sites, site)),))


@pytest.mark.parametrize("name", sorted(BREAKS))
def test_each_break_is_caught_by_the_check_that_should_catch_it(name: str, tmp_path: Path) -> None:
    run = Run.good()
    function, fail, warn = BREAKS[name]
    function(run)
    run.write(tmp_path)
    found = outcomes(tmp_path, run.manifest)
    statuses = {check: outcome.status for check, outcome in found.items()}
    assert {check for check in fail if statuses[check] != "fail"} == set(), statuses
    assert {check for check in warn if statuses[check] not in ("fail", "warn")} == set(), statuses
    # A message for people, about what is wrong.
    assert all(found[check].message for check in fail | warn)


def test_there_are_enough_of_them() -> None:
    assert len(BREAKS) >= 25
    caught = {check for _, fail, warn in BREAKS.values() for check in fail | warn}
    assert caught == {"integrity", "finalized", "workers", "coverage", "audit", "arguments", "clock"}


# --- every place of a break -------------------------------------------------------------------------------------------


def integrity(folder: Path) -> tuple[str, Traces]:
    (check,) = (check for check in CHECKS if check.id == "integrity")
    traces = open_traces(folder, jobs=1)
    return check.run(traces, None, ()).status, traces


def test_a_file_cut_at_any_byte_is_caught(tmp_path: Path) -> None:
    run = Run.good()
    path = tmp_path / run.worker
    data = run.content(run.worker)
    for size in range(len(data)):
        path.write_bytes(data[:size])
        assert integrity(tmp_path)[0] == "fail", size


def test_any_byte_that_changes_is_caught_or_changes_nothing(tmp_path: Path) -> None:
    run = Run.good()
    path = tmp_path / run.worker
    data = run.content(run.worker)
    path.write_bytes(data)
    status, good = integrity(tmp_path)
    assert status == "pass"
    for offset in range(len(data)):
        path.write_bytes(data[:offset] + bytes([data[offset] ^ 0x55]) + data[offset + 1 :])
        status, traces = integrity(tmp_path)
        if status != "fail":
            assert offset < 10, offset  # the head of gzip: time, system, how hard was compressed
            assert traces.totals() == good.totals()


def test_any_event_that_is_lost_is_caught_and_its_process_named(tmp_path: Path) -> None:
    good = Run.good()
    for name in good.records:
        for index in good.where(name):
            folder = tmp_path / f"{name}-{index}"
            folder.mkdir()
            run = Run.good()
            lost = run.records[name].pop(index)
            run.recount()
            run.write(folder)
            audit = outcomes(folder, run.manifest)["audit"]
            assert audit.status == "fail"
            assert f"1 of {audit.details['lost'][0]['calls']} program:{lost['name']} in process {lost['pid']}" in (
                audit.message
            )
            shutil.rmtree(folder)


def test_an_event_that_is_lost_is_missed_without_metadata_too(tmp_path: Path) -> None:
    path = next((TRACES / "no-metadata").glob("*-app.pfw.gz"))
    records = read(path)
    for index, record in enumerate(records):
        if record["ph"] == 1 and record["cat"] != "dftracer":
            lines = [json.dumps(other) + "\n" for other in records if other is not record]
            (tmp_path / path.name).write_bytes(gzip.compress("".join(lines).encode()))
            found = outcomes(tmp_path, None)["finalized"]
            assert (found.status, "1 of them cannot be read" in found.message) == ("fail", True), index


# --- and what is good passes ------------------------------------------------------------------------------------------


def test_the_good_run_is_proven_to_be_whole(tmp_path: Path) -> None:
    Run.good().write(tmp_path)
    for folder in (GOOD, tmp_path):
        found = outcomes(folder, load(GOOD / "manifest.json"))
        statuses = {check: outcome.status for check, outcome in found.items()}
        expected = dict.fromkeys(("integrity", "finalized", "workers", "audit", "arguments", "clock"), "pass")
        assert {check: statuses[check] for check in expected} == expected
        assert statuses["coverage"] == "warn"
        assert "events lost: 0 (36 calls in 5 processes" in found["audit"].message
        reasons = {one["event"]: one["reason"] for one in found["coverage"].details["silent"]}
        assert reasons == {
            "never": "never called, or stopped before its end",
            "prepare": "only called before tracing started in its process",
            "refuse": "raised every time",
        }


def test_no_good_trace_fails_and_no_broken_one_passes(real_trace: RealTrace) -> None:
    path = real_trace.folder / "manifest.json"
    found = outcomes(real_trace.folder, load(path) if path.exists() else None)
    assert {check for check, outcome in found.items() if outcome.status == "fail"} == real_trace.checks_failed
