"""Reading files of every shape, whole and broken."""

from __future__ import annotations

import gzip
import json
import os
import tracemalloc
import zlib
from collections.abc import Iterable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfannotate.analysis import reader, schedule
from dfannotate.analysis.reader import events, find_files, open_traces, summarize
from dfannotate.analysis.traces import FileSummary, TraceError
from tests.conftest import REAL_TRACES, TRACES

SIGKILL = next((TRACES / "sigkill").glob("*.pfw.gz")).read_bytes()
WHOLE = next((TRACES / "sigterm").glob("*.pfw.gz")).read_bytes()
DUPLICATES = next((TRACES / "fork-2.0.3-duplicates").glob("*.pfw.gz")).read_bytes()


def line(number: int, name: str = "f", **more: object) -> bytes:
    record = {"id": number, "name": name, "cat": "C", "pid": 7, "tid": 7, "ts": 1000 + number, "dur": 2, "ph": 1}
    return json.dumps({**record, **more}, separators=(",", ":")).encode() + b"\n"


def lines(numbers: Iterable[int], name: str = "f") -> bytes:
    return b"".join(line(number, name) for number in numbers)


def count(file: FileSummary, name: str = "f") -> int:
    return sum(
        tally.count for process in file.processes for (_, event), tally in process.events.items() if event == name
    )


def read(folder: Path, data: bytes, name: str = "run.pfw") -> FileSummary:
    path = folder / name
    path.write_bytes(data)
    return summarize(path)


def inflated(data: bytes) -> tuple[bytes, bool]:
    """All that zlib gives of concatenated members, byte by byte, and whether the last one is whole."""
    text = bytearray()
    whole = True
    while data:
        inflater = zlib.decompressobj(31)
        text += inflater.decompress(data)
        whole, data = inflater.eof, inflater.unused_data
    return bytes(text), whole


def records(text: bytes) -> tuple[int, int]:
    """Number of records and of bad lines in the text of a trace, by the json of the standard library."""
    good = bad = 0
    for row in text.split(b"\n"):
        bare = row.strip(b"[], \t\r")
        if not bare:
            continue
        try:
            json.loads(bare)
            good += 1
        except ValueError:
            bad += 1
    return good, bad


def all_records(path: Path) -> int:
    return sum(len(batch) for batch in reader._Text(path).batches())


def assert_cut(path: Path, cut: bytes) -> None:
    path.write_bytes(cut)
    text, whole = inflated(cut)
    file = summarize(path)
    assert (all_records(path), file.bad_lines) == records(text)
    assert file.truncated == (not whole)
    assert file.empty == (not cut)
    assert len(file.problems) == (0 if whole else 1)
    assert file.size == len(cut)


@given(share=st.floats(0, 1))
def test_a_cut_file_keeps_every_whole_line(tmp_path_factory: pytest.TempPathFactory, share: float) -> None:
    assert_cut(tmp_path_factory.mktemp("cut") / "run.pfw.gz", SIGKILL[: int(len(SIGKILL) * share)])


@pytest.mark.parametrize("data", [WHOLE, DUPLICATES], ids=["one-member", "five-members"])
def test_a_cut_at_any_byte_is_told(tmp_path: Path, data: bytes) -> None:
    for end in range(len(data) + 1):
        assert_cut(tmp_path / "run.pfw.gz", data[:end])


@given(parts=st.lists(st.integers(0, 40), min_size=1, max_size=6))
def test_concatenated_members_are_one_file(tmp_path_factory: pytest.TempPathFactory, parts: list[int]) -> None:
    folder = tmp_path_factory.mktemp("members")
    first = 1
    data = b""
    for size in parts:
        data += gzip.compress(lines(range(first, first + size)))
        first += size
    file = read(folder, data, "run.pfw.gz")
    assert file.members == len(parts)
    assert count(file) == sum(parts)
    assert not file.lossy


@given(breaks=st.sets(st.integers(1, 400), max_size=8))
def test_members_may_break_a_line(tmp_path_factory: pytest.TempPathFactory, breaks: set[int]) -> None:
    text = lines(range(1, 6))
    places = [0, *sorted(place for place in breaks if place < len(text)), len(text)]
    data = b"".join(gzip.compress(text[start:end]) for start, end in pairwise(places))
    file = read(tmp_path_factory.mktemp("split"), data, "run.pfw.gz")
    assert count(file) == 5
    assert not file.lossy


@given(place=st.integers(12, len(WHOLE) - 1), value=st.integers(1, 255))
def test_a_damaged_byte_is_told_and_the_members_around_are_kept(
    tmp_path_factory: pytest.TempPathFactory, place: int, value: int
) -> None:
    before, after = gzip.compress(lines(range(1, 50), "before")), gzip.compress(lines(range(50, 70), "after"))
    damaged = bytearray(WHOLE)
    damaged[place] ^= value
    file = read(tmp_path_factory.mktemp("damage"), before + bytes(damaged) + after, "run.pfw.gz")
    assert count(file, "before") == 49
    assert count(file, "after") == 20
    (problem,) = file.problems
    assert problem.kind == "corrupt"
    assert len(before) < problem.offset <= len(before) + len(WHOLE) + len(after)


def test_a_member_whose_end_is_damaged_does_not_swallow_the_next(tmp_path: Path) -> None:
    # flipped bits in the code for "end of block": the member runs on into what follows it
    for place in range(len(WHOLE) - 25, len(WHOLE)):
        damaged = bytearray(WHOLE)
        damaged[place] ^= 1
        file = read(tmp_path, bytes(damaged) + gzip.compress(lines(range(1, 20))), "run.pfw.gz")
        assert count(file) == 19
        assert [problem.kind for problem in file.problems] == ["corrupt"]


def test_the_lines_before_a_break_are_those_that_zlib_gives(tmp_path: Path) -> None:
    damaged = bytearray(WHOLE)
    damaged[600] ^= 0x55
    text = bytearray()
    inflater = zlib.decompressobj(31)
    with suppress(zlib.error):
        for byte in damaged:
            text += inflater.decompress(bytes([byte]))
    assert 0 < len(text) < len(inflated(WHOLE)[0])
    path = tmp_path / "run.pfw.gz"
    path.write_bytes(damaged)
    assert (all_records(path), summarize(path).bad_lines) == records(bytes(text))


# Every block of this gives more than one block of output: 4 KiB of it are half a megabyte of text.
DENSE = gzip.compress(b"".join(line(1, "f" * 200) * 12_000 for _ in range(2)))


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.77, 0.9, 0.999])
@pytest.mark.parametrize("damaged", [False, True], ids=["cut", "damaged"])
def test_dense_text_before_a_break_is_what_zlib_gives(tmp_path: Path, share: float, damaged: bool) -> None:
    place = int(len(DENSE) * share)
    data = bytearray(DENSE if damaged else DENSE[:place])
    if damaged:
        data[place : place + 4] = b"\xff\xff\xff\xff"
    text = bytearray()
    inflater = zlib.decompressobj(31)
    with suppress(zlib.error):
        for byte in data:
            text += inflater.decompress(bytes([byte]))
    path = tmp_path / "run.pfw.gz"
    path.write_bytes(data)
    file = summarize(path)
    good, bad = records(bytes(text))  # a damaged place may give rubbish for a while before it is noticed
    assert good > 500
    assert (all_records(path), file.bad_lines) == (good, bad)
    assert [problem.kind for problem in file.problems] == ["corrupt" if damaged else "truncated"]


@pytest.mark.parametrize(
    ("text", "good", "bad"),
    [
        pytest.param(b"[\n" + line(1) + b"]", 1, 0, id="brackets"),
        pytest.param(line(1) + b"]" + line(2) + b"][\n" + line(3), 3, 0, id="glued-brackets"),
        pytest.param(b"[" + line(1)[:-1] + b",\r\n" + line(2)[:-1] + b"]\r\n", 2, 0, id="commas-and-crlf"),
        pytest.param(line(1)[:-1], 1, 0, id="no-final-newline"),
        pytest.param(b"\n\n" + line(1) + b"\n", 1, 0, id="blank-lines"),
        pytest.param(line(1)[:-1] + line(2), 2, 0, id="two-records-on-a-line"),
        pytest.param(line(1) + b'{"name":"a"b","ph":1}\n' + line(2), 2, 1, id="quote-in-a-name"),
        pytest.param(line(1) + b'{"name":"a\nb","ph":1}\n' + line(2), 2, 2, id="newline-in-a-name"),
        pytest.param(line(1)[:-2] + b',"args":{"x":nan}}\n' + line(2), 1, 1, id="nan"),
        pytest.param(line(1) + b'{"name":"\xff","ph":1}\n' + line(2), 2, 1, id="name-not-utf-8"),
        pytest.param(line(1) + b'{"name":"f","ph":1,"args":{"x":"\xff"}}\n', 1, 1, id="argument-not-utf-8"),
        pytest.param('{"name":"f","cat":"ü","ph":1}\n'.encode(), 1, 0, id="utf-8"),
        pytest.param(line(1) + b'{"other":1}\n[1,2]\n5\n', 1, 3, id="json-but-no-record"),
        pytest.param(line(1) + b'{"name":"f","ph":1,"ts":"soon"}\n', 1, 1, id="time-is-no-number"),
        pytest.param(line(1) + b"[" * 100_000 + b"1\n", 1, 1, id="brackets-without-end"),
        pytest.param(line(1) + b'{"name":"f","ph":1,"args":' + b'{"a":' * 50_000 + b"\n", 1, 1, id="nested-deep"),
        pytest.param(line(1) + b"\0" * 5000, 1, 1, id="zeros"),
        pytest.param(os.urandom(0), 0, 0, id="nothing"),
    ],
)
@pytest.mark.parametrize("suffix", [".pfw", ".pfw.gz"])
def test_lines(tmp_path: Path, text: bytes, good: int, bad: int, suffix: str) -> None:
    data = gzip.compress(text) if suffix == ".pfw.gz" else text
    file = read(tmp_path, data, "run" + suffix)
    assert count(file) == good
    assert file.bad_lines == bad
    assert len(file.bad_samples) == min(bad, 20)
    assert not file.problems


def test_bad_lines_are_placed(tmp_path: Path) -> None:
    text = bytearray()
    for number in range(1, 20_001):
        text += b"broken\n" if number in (3, 9_999, 20_000) else line(number)
    file = read(tmp_path, bytes(text))
    assert file.lines == 20_000
    assert [sample.line for sample in file.bad_samples] == [3, 9_999, 20_000]
    assert count(file) == 19_997


def summarize_in(path: Path, memory: int) -> FileSummary:
    """The summary of a file, for which no more than ``memory`` bytes were taken at any moment."""
    tracemalloc.start()
    try:
        file = summarize(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < memory
    return file


def test_a_line_beyond_the_limit_is_bad_and_costs_no_memory(tmp_path: Path) -> None:
    text = line(1) + b'{"name":"' + b"x" * (64 << 20) + b'","ph":1}\n' + line(2) + b"y" * (3 << 20)
    path = tmp_path / "run.pfw.gz"
    path.write_bytes(gzip.compress(text, 1))
    file = summarize_in(path, 8 << 20)
    assert count(file) == 2
    assert [sample.line for sample in file.bad_samples] == [2, 4]
    assert file.lines == 4


def test_a_bomb_of_newlines_costs_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "run.pfw.gz"
    path.write_bytes(gzip.compress(b"\n" * (2 << 20), 9))
    file = summarize_in(path, 4 << 20)
    assert file.lines == 2 << 20
    assert not file.bad_lines


def test_numbers_in_quotes_and_the_host_of_the_first_generations(tmp_path: Path) -> None:
    record = (
        b'{"id":"%d","name":"f","cat":"C","pid":"12","tid":"24","ts":"100","dur":"5","ph":"X",'
        b'"args":{"hostname":"node3","p_idx":"-1","level":"1"}}\n'
    )
    file = read(tmp_path, b"[\n" + record % 1 + record % 2)
    (process,) = file.processes
    assert (process.pid, process.host, process.first, process.last, process.bare) == (12, "node3", 100, 105, True)
    assert process.events["C", "f"].count == 2
    assert process.events["C", "f"].duration == 10


@pytest.mark.parametrize(
    ("arguments", "calls", "duration"),
    [
        pytest.param({"dft_cnt": 30, "dur_sum": 700, "dur_min": 1, "dur_max": 90}, 30, 700, id="full"),
        pytest.param({"dft_cnt": 30, "dur": 700}, 30, 700, id="duration"),
        pytest.param({"dft_cnt": 30}, 30, 0, id="no-duration"),
    ],
)
def test_aggregated_records_stand_for_their_calls(
    tmp_path: Path, arguments: dict[str, int], calls: int, duration: int
) -> None:
    record = {"name": "f", "cat": "C", "pid": 7, "ts": 1000, "ph": 3, "args": arguments}
    file = read(tmp_path, json.dumps(record).encode() + b"\n" + line(1))
    tally = file.processes[0].events["C", "f"]
    assert (tally.count, tally.duration, tally.aggregated) == (calls + 1, duration + 2, 1)


@pytest.mark.parametrize(
    ("records", "unit"),
    [
        pytest.param(b'{"name":"CM","cat":"dftracer","pid":7,"ph":4,"args":{"name":"time_metric","value":"MS"}}', "MS"),
        pytest.param(b'{"name":"end","cat":"dftracer","pid":7,"ph":1,"args":{"cfg":{"time_metric":"SEC"}}}', "SEC"),
        pytest.param(b'{"name":"CM","cat":"dftracer","pid":7,"ph":4,"args":{"name":"time_metric","value":"?"}}', "US"),
        pytest.param(b"", "US"),
    ],
    ids=["metadata", "configuration-at-the-end", "unknown", "none"],
)
def test_time_unit(tmp_path: Path, records: bytes, unit: str) -> None:
    file = read(tmp_path, line(1) + records)
    assert file.processes[0].unit == unit


def test_a_file_of_several_processes(tmp_path: Path) -> None:
    file = read(tmp_path, line(1, pid=7, ts=50) + line(1, pid=8, ts=60) + line(2, pid=7, ts=70) + line(2, pid=8, ts=10))
    spans = {process.pid: (process.first, process.last, process.count) for process in file.processes}
    assert spans == {7: (50, 72, 2), 8: (10, 62, 2)}


@pytest.mark.parametrize(
    ("ends", "finalized"),
    [
        pytest.param([], False, id="none"),
        pytest.param([7], True, id="its-own"),
        pytest.param([9], True, id="one-from-another-thread"),
        pytest.param([8, 9], False, id="only-those-of-forked-children"),
        pytest.param([8, 7, 9], True, id="its-own-among-those-of-children"),
    ],
)
def test_the_end_must_be_the_process_s_own(tmp_path: Path, ends: list[int], finalized: bool) -> None:
    records = [line(1, "start", cat="dftracer"), line(2), line(3)]
    records += [line(4, "end", cat="dftracer", tid=thread) for thread in ends]
    (process,) = read(tmp_path, b"".join(records)).processes
    assert process.finalized == finalized
    assert (process.starts, process.ends, process.count) == (1, len(ends), 2)


def test_repeats_in_a_long_file_are_estimated_from_a_sample(tmp_path: Path) -> None:
    once = lines(range(1, 200_001))
    copied = lines(range(1, 50_001))
    file = read(tmp_path, once + copied)
    assert file.repeats_sampled
    assert file.repeated_lines == pytest.approx(50_000, rel=0.05)
    assert read(tmp_path, once).repeated_lines == 0


def test_equal_times_without_numbers_are_no_repeats(tmp_path: Path) -> None:
    # events of a simulated clock, as versions without numbering write them
    assert read(tmp_path, line(-1, ts=5) * 3).repeated_lines == 0


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        pytest.param("run.pfw.gz", line(1), "not-gzip", id="text-named-gzip"),
        pytest.param("run.pfw", gzip.compress(line(1)), None, id="gzip-named-text"),
        pytest.param("run.pfw.gz", gzip.compress(line(1)) + b"\0" * 4096, None, id="padding"),
        pytest.param("run.pfw.gz", gzip.compress(line(1)) + b"trailing", "corrupt", id="rubbish-behind"),
    ],
)
def test_what_is_in_a_file_counts_not_its_name(tmp_path: Path, name: str, data: bytes, kind: str | None) -> None:
    file = read(tmp_path, data, name)
    assert count(file) == 1
    assert [problem.kind for problem in file.problems] == ([kind] if kind else [])


def test_an_unreadable_file_does_not_stop_the_others(tmp_path: Path) -> None:
    (tmp_path / "a.pfw").write_bytes(line(1))
    (tmp_path / "b.pfw").symlink_to(tmp_path / "nowhere")
    traces = open_traces(tmp_path)
    assert [[problem.kind for problem in file.problems] for file in traces.files] == [[], ["unreadable"]]
    assert count(traces.files[0]) == 1


def test_files_are_found_in_folders_below(tmp_path: Path) -> None:
    for name in ("node1/run-a.pfw.gz", "run-b.pfw", "dft.log", "node1/notes.txt", "run.pfw.zindex"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    assert [path.relative_to(tmp_path).as_posix() for path in find_files(tmp_path)] == [
        "node1/run-a.pfw.gz",
        "run-b.pfw",
    ]
    assert find_files(tmp_path / "run-b.pfw") == (tmp_path / "run-b.pfw",)


def test_a_folder_that_cannot_be_listed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run.pfw").write_bytes(line(1))
    (tmp_path / "closed").mkdir()
    (tmp_path / "closed" / "run.pfw").write_bytes(line(1))
    scandir = os.scandir

    def refuse(path: str) -> object:  # permissions do not stop root, who may run this
        if Path(path).name == "closed":
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    traces = open_traces(tmp_path)
    assert [(file.name, len(file.problems)) for file in traces.files] == [("closed", 1), ("run.pfw", 0)]


@pytest.mark.parametrize("name", ["empty", "missing"])
def test_no_trace_is_an_error_that_says_what_to_do(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(TraceError, match="no trace file.*dfannotate run" if name == "empty" else "no such folder"):
        open_traces(tmp_path / name)


def test_processes_give_the_same_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule, "_WORTH_A_POOL", 0)
    for number in range(5):
        (tmp_path / f"{number}.pfw.gz").write_bytes(gzip.compress(lines(range(1, 100 * number))))
    calls: list[tuple[int, int]] = []
    together = open_traces(tmp_path, jobs=2, watch=lambda advance: calls.append((advance.files, advance.all_files)))
    assert together == open_traces(tmp_path, jobs=1)
    assert calls == [(number, 5) for number in range(1, 6)]


def test_events_are_those_that_are_counted(tmp_path: Path) -> None:
    for trace in REAL_TRACES:
        for file in open_traces(trace.folder).files:
            single = sum(process.count for process in file.processes)
            aggregated = sum(
                tally.count - tally.aggregated
                for process in file.processes
                for tally in process.events.values()
                if tally.aggregated
            )
            assert sum(len(batch) for batch in events(file)) == single - aggregated
