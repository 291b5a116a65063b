"""Folders and files that nobody made by tracing: each gets its message and its exit code, and costs little."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from dfannotate.analysis import reader
from dfannotate.analysis.inflate import MAGIC
from dfannotate.analysis.reader import OTHERS, Event, arguments, events, find_files, summarize
from dfannotate.analysis.traces import FileSummary, TraceError
from dfannotate.cli.main import main

GOOD_EVENTS = 40
MEMORY = 200 << 20
SECONDS = 60  # a test that takes so long hangs
NOBODY = 65534
NOON = 1_767_268_800_000_000  # of the first day of 2026, in microseconds


def line(number: int, name: str = "f", **more: object) -> bytes:
    record = {"id": number, "name": name, "cat": "C", "pid": 7, "tid": 7, "ts": NOON + number, "dur": 2, "ph": 1}
    return json.dumps({**record, **more}, separators=(",", ":")).encode() + b"\n"


def whole_trace(pid: int = 5) -> bytes:
    """What a process leaves that traced and finalized as it should: it has no part in what is wrong."""
    start = line(1, "start", cat="dftracer", pid=pid, tid=pid, args={"ppid": 1})
    calls = b"".join(line(number, "good", pid=pid, tid=pid) for number in range(2, GOOD_EVENTS + 2))
    end = line(GOOD_EVENTS + 2, "end", cat="dftracer", pid=pid, tid=pid, args={"num_events": GOOD_EVENTS + 1})
    return start + calls + end


def count(file: FileSummary, name: str = "f") -> int:
    return sum(
        tally.count for process in file.processes for (_, event), tally in process.events.items() if event == name
    )


def kinds(file: FileSummary) -> list[str]:
    return [problem.kind for problem in file.problems]


@pytest.fixture(autouse=True)
def _no_hanging() -> Iterator[None]:
    def give_up(number: int, frame: FrameType | None) -> None:
        raise TimeoutError("this hangs")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A trace folder with one whole trace in it; the current folder is no project."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "traces"
    folder.mkdir()
    (folder / "good.pfw").write_bytes(whole_trace())
    return folder


Verify = Callable[[Path], tuple[int, str, dict[str, Any]]]


@pytest.fixture
def verify(capsys: pytest.CaptureFixture[str]) -> Verify:
    """Exit code, the message of the check of integrity, and all of the result; the good trace is always counted."""

    def run(folder: Path) -> tuple[int, str, dict[str, Any]]:
        code = main(["verify", str(folder), "--format", "json"])
        out, err = capsys.readouterr()
        assert err == ""
        result: dict[str, Any] = json.loads(out)
        assert [event["count"] for event in result["events"] if event["name"] == "good"] == [GOOD_EVENTS]
        (integrity,) = (check for check in result["checks"] if check["id"] == "integrity")
        return code, integrity["message"], result

    return run


# --- what lies in a folder -------------------------------------------------------------------------------------------


def _pipe(folder: Path) -> None:
    os.mkfifo(folder / "run.pfw")


def _socket(folder: Path) -> None:
    os.chdir(folder)  # the name of a socket must be short
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("run.pfw")


def _device(folder: Path) -> None:
    (folder / "run.pfw").symlink_to("/dev/zero")


def _loop(folder: Path) -> None:
    (folder / "run.pfw").symlink_to("other.pfw")
    (folder / "other.pfw").symlink_to("run.pfw")


def _dangling(folder: Path) -> None:
    (folder / "run.pfw").symlink_to("nowhere")


def _link_to_a_folder(folder: Path) -> None:
    (folder / "run.pfw").symlink_to("..")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        pytest.param(_pipe, "run.pfw: a named pipe, not a trace file; it was not opened", id="pipe"),
        pytest.param(_socket, "run.pfw: a socket, not a trace file; it was not opened", id="socket"),
        pytest.param(_device, "run.pfw: a device, not a trace file; it was not opened", id="device"),
        pytest.param(_loop, "run.pfw: cannot be read (Too many levels of symbolic links)", id="link-to-itself"),
        pytest.param(_dangling, "run.pfw: a link to something that is not there", id="link-to-nothing"),
        pytest.param(_link_to_a_folder, "run.pfw: a link to a folder, which was not followed", id="link-to-a-folder"),
    ],
)
def test_what_is_no_file_is_named_and_not_opened(
    folder: Path, verify: Verify, make: Callable[[Path], None], message: str
) -> None:
    make(folder)
    code, integrity, _ = verify(folder)
    assert code == 2
    assert message in integrity


def test_a_pipe_is_not_opened_when_it_is_named_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "run.pfw")
    assert main(["verify", str(tmp_path / "run.pfw")]) == 2
    assert "neither a folder nor a trace file" in capsys.readouterr().err


def test_a_pipe_that_takes_the_place_of_a_file_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.pfw"
    path.write_bytes(line(1))
    status = os.stat(path)
    path.unlink()
    os.mkfifo(path)
    monkeypatch.setattr(os, "stat", lambda *_, **__: status)
    file = summarize(path)
    assert [problem.message.split(",")[0] for problem in file.problems] == ["a named pipe"]


def test_a_folder_that_is_named_as_a_file_is_a_folder(folder: Path, verify: Verify) -> None:
    (folder / "run.pfw").mkdir()
    (folder / "good.pfw").rename(folder / "run.pfw" / "good.pfw")
    (folder / "empty.pfw.gz").mkdir()
    code, _, result = verify(folder)
    assert code == 0
    assert [process["file"] for process in result["processes"]] == ["run.pfw/good.pfw"]


def test_links_to_folders_lead_nowhere(folder: Path, verify: Verify) -> None:
    (folder / "node").mkdir()
    (folder / "node" / "up").symlink_to("..")
    (folder / "node" / "itself").symlink_to("itself")
    code, _, result = verify(folder)
    assert code == 0
    assert len(result["processes"]) == 1


def test_folders_may_be_nested_deeper_than_python_recurses(folder: Path, verify: Verify) -> None:
    deep = [folder]
    for _ in range(sys.getrecursionlimit() + 100):
        deep.append(deep[-1] / "d")
        os.mkdir(deep[-1])
    (folder / "good.pfw").rename(deep[-1] / "good.pfw")
    try:
        assert verify(folder)[0] == 0
    finally:
        (deep[-1] / "good.pfw").unlink()
        for path in reversed(deep[1:]):
            path.rmdir()


@contextlib.contextmanager
def _unprivileged(top: Path) -> Iterator[None]:
    """Permissions do not stop root, who may run this."""
    if os.geteuid():
        yield
        return
    for path in (top, *top.parents):
        if path.is_relative_to(tempfile.gettempdir()) and path.stat().st_uid == 0 and not path.stat().st_mode & 0o001:
            path.chmod(path.stat().st_mode | 0o055)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_file_that_may_not_be_read(folder: Path, verify: Verify) -> None:
    assert verify(folder)[0] == 0  # and whatever is imported late is imported now: another user may not read it
    (folder / "good.pfw").chmod(0o644)
    (folder / "run.pfw").write_bytes(line(1))
    (folder / "run.pfw").chmod(0)
    with _unprivileged(folder):
        code, integrity, _ = verify(folder)
    assert code == 2
    assert "run.pfw: cannot be read (Permission denied)" in integrity


def test_a_folder_that_may_not_be_listed(folder: Path, verify: Verify) -> None:
    assert verify(folder)[0] == 0  # and whatever is imported late is imported now: another user may not read it
    (folder / "good.pfw").chmod(0o644)
    (folder / "node").mkdir()
    (folder / "node").chmod(0)
    with _unprivileged(folder):
        code, integrity, _ = verify(folder)
    (folder / "node").chmod(0o755)
    assert code == 2
    assert "node: this folder cannot be listed" in integrity


def test_a_file_that_is_gone_when_it_is_to_be_read(tmp_path: Path) -> None:
    path = tmp_path / "run.pfw"
    path.write_bytes(line(1))
    (found,) = find_files(tmp_path)
    path.unlink()
    (problem,) = summarize(found).problems
    assert (problem.kind, problem.message) == ("unreadable", "gone since the folder was listed")


def test_a_file_that_is_gone_when_it_is_to_be_read_again(tmp_path: Path) -> None:
    path = tmp_path / "run.pfw"
    path.write_bytes(line(1))
    file = summarize(path)
    path.unlink()
    with pytest.raises(TraceError, match=r"run\.pfw: could be read at first, but no more"):
        list(events(file))


# --- files that change while they are read ---------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".pfw", ".pfw.gz"])
@pytest.mark.parametrize("cut", [0, 1, 30], ids=["after-a-line", "before-its-newline", "in-a-line"])
def test_of_a_file_that_grows_what_was_there_is_read(tmp_path: Path, suffix: str, cut: int) -> None:
    """Not cut off, no bad line: the rest of it was being written."""
    text = b"".join(line(number, os.urandom(8).hex()) for number in range(1, 20_001))
    first, rest = text[: len(text) - cut], text[len(text) - cut :] + line(20_001)
    if suffix == ".pfw.gz":
        whole = gzip.compress(first) + gzip.compress(rest)
        first, rest = whole[: -40 - 10 * cut], whole[-40 - 10 * cut :]
    path = tmp_path / ("run" + suffix)
    path.write_bytes(first)

    def write(batch: list[Event]) -> None:
        if path.stat().st_size == len(first):
            with path.open("ab") as file:
                file.write(rest)

    file = summarize(path, watch=write)
    assert (file.size, kinds(file), file.bad_lines) == (len(first), ["changing"], 0)
    assert f"grew from {len(first)} to {len(first) + len(rest)} bytes while it was read" in file.problems[0].message
    (process,) = file.processes
    if suffix == ".pfw":
        assert process.count == 20_000 - (cut > 0)
    else:
        assert 19_000 < process.count <= 20_000
    assert sum(len(batch) for batch in events(file)) == process.count
    assert not summarize(path).lossy  # later on


def test_a_file_that_shrinks(tmp_path: Path) -> None:
    path = tmp_path / "run.pfw"
    path.write_bytes(b"".join(line(number) for number in range(1, 20_001)))
    file = summarize(path, watch=lambda batch: os.truncate(path, 1000))
    assert kinds(file) == ["changing"]
    assert "shrank" in file.problems[0].message
    assert 0 < count(file) < 20_000


def test_a_run_that_goes_on_is_not_all_right(folder: Path, verify: Verify, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder / "run.pfw"
    path.write_bytes(whole_trace(6).replace(b'"good"', b'"f"'))
    add = reader._Summary.add

    def write_and_add(summary: reader._Summary, batch: list[Event]) -> None:
        with path.open("ab") as file:
            file.write(line(99))
        add(summary, batch)

    monkeypatch.setattr(reader._Summary, "add", write_and_add)
    code, integrity, _ = verify(folder)
    assert code == 1
    assert "while it was read, so its process is still at work; verify again when the run has ended" in integrity


# --- what stands in a file -------------------------------------------------------------------------------------------

DEEP = 200_000


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param(b'{"name":"f","ph":1,"args":' + b'{"a":' * DEEP, "nested too deep", id="deep-arguments"),
        pytest.param(
            b'{"name":"f","ph":1,"args":' + b"[" * DEEP + b"]" * DEEP + b"}", "nested too deep", id="deep-list"
        ),
        pytest.param(b'{"name":"f","ph":1,"other":' + b"[" * DEEP + b"]" * DEEP + b"}", "nested too deep", id="other"),
        pytest.param(line(1, ts=10**20)[:-1], "a number that 64 bits cannot hold", id="time-of-10^20"),
        pytest.param(line(1, dur=-(10**20))[:-1], "a number that 64 bits cannot hold", id="negative-duration"),
        pytest.param(b'{"name":"f","ph":1,"pid":' + b"9" * 4000 + b"}", "64 bits", id="pid-of-4000-digits"),
        pytest.param(b'{"name":"f","ph":1,"ts":' + b"9" * 99_999 + b"}", "out of range", id="time-of-99999-digits"),
        pytest.param(b'{"name":"f","ph":1,"ts":1e400}', "out of range", id="time-beyond-floats"),
        pytest.param(b'{"name":"f","ph":1,"ts":NaN}', "not JSON", id="nan"),
        pytest.param(b'{"name":"f","ph":1,"ts":"NaN"}', "Expected `int | null`", id="nan-in-quotes"),
        pytest.param(b'{"name":"f","ph":1,"dur":-Infinity}', "not JSON", id="infinity"),
        pytest.param(b'{"name":"f","ph":1,"args":{"x":nan}}', "not JSON", id="nan-in-the-arguments"),
        pytest.param(b'{"name":"\x1b[2J","ph":1}', "not JSON", id="escape-as-it-is"),
        pytest.param(b'{"name":"\\ud800","ph":1}', "not JSON", id="half-a-character"),
    ],
)
def test_a_line_that_no_tracer_writes_is_a_bad_line(folder: Path, verify: Verify, text: bytes, reason: str) -> None:
    (folder / "good.pfw").write_bytes(whole_trace() + text + b"\n")
    code, integrity, _ = verify(folder)
    assert code == 1
    assert f"1 line is not a record (the first: good.pfw line {GOOD_EVENTS + 3}, " in integrity
    assert reason in integrity


def test_a_number_is_what_64_bits_hold_with_a_sign_or_without(tmp_path: Path) -> None:
    path = tmp_path / "run.pfw"
    path.write_bytes(line(1, dur=2**64 - 1) + line(2, ts=-(2**63)) + line(3, ts=2**64))
    file = summarize(path)
    assert (count(file), file.bad_lines) == (2, 1)


@pytest.mark.parametrize("calls", [10**30, -5, "9" * 5000, "many", {"a": 1}, None], ids=str)
def test_a_record_that_stands_for_an_absurd_number_of_calls(tmp_path: Path, calls: object) -> None:
    path = tmp_path / "run.pfw"
    path.write_bytes(line(1, ph=3, args={"dft_cnt": calls, "dur_sum": "9" * 5000}) + line(2))
    assert count(summarize(path)) in (1, 2)


def test_of_a_key_that_stands_twice_the_last_one_counts(tmp_path: Path) -> None:
    # as for the JSON of the standard library, and everything that is built on it
    text = b'{"name":"a","ph":1,"pid":1,"name":"b","pid":2}\n'
    path = tmp_path / "run.pfw"
    path.write_bytes(text)
    (process,) = summarize(path).processes
    assert json.loads(text) == {"name": "b", "ph": 1, "pid": process.pid}
    assert list(process.events) == [("", "b")]


@pytest.mark.parametrize(
    "args", ["[1]", '"text"', "5", "null", "{}", '{"x":1e999}', '{"x":"\\ud800"}', '{"x":' + "9" * 5000 + "}"]
)
def test_arguments_that_are_none(tmp_path: Path, args: str) -> None:
    path = tmp_path / "run.pfw"
    record = '{"name":"%s","cat":"%s","ph":%d,"pid":7,"ts":1,"args":%s}\n'
    shapes = [("f", "C", 1), ("f", "C", 3), ("start", "dftracer", 1), ("end", "dftracer", 1), ("CM", "dftracer", 4)]
    path.write_text("".join(record % (*shape, args) for shape in shapes))
    file = summarize(path)
    if file.bad_lines:  # refused as a whole
        assert file.bad_lines == len(shapes)
        return
    assert count(file) == 2
    assert [arguments(event) for batch in events(file) for event in batch] == [{}, {}]


def test_names_and_texts_of_the_tracer_s_own_records_may_be_anything(folder: Path, verify: Verify) -> None:
    deep = json.loads("[" * 400 + "]" * 400)
    odd = {"name": deep, "value": deep, "ppid": deep, "version": deep, "cfg": deep, "num_events": deep, "rank": deep}
    records = [
        line(number, name, cat="dftracer", ph=4, args=odd) for number, name in enumerate(("HH", "SH", "FH", "PR", "CM"))
    ]
    odd_end = line(90, "end", cat="dftracer", args={**odd, "cfg": {"time_metric": deep, "log_file": 10**400}})
    (folder / "run.pfw").write_bytes(b"".join(records) + line(1, "start", cat="dftracer", args=odd) + line(2) + odd_end)
    assert verify(folder)[0] in (0, 1)


SHOWN = "\x1b[31mred\x1b]0;title\x07\n\r\u202e\x7f"
ESCAPED = r"\x1b[31mred\x1b]0;title\x07\n\r\u202e\x7f"


def test_what_steers_a_terminal_is_shown_escaped(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = SHOWN + ".pfw"
    text = whole_trace(6).replace(b'"good"', json.dumps(SHOWN).encode()).replace(b'"C"', json.dumps(SHOWN).encode())
    (folder / name).write_bytes(text + b'{"name":"\x1b[2J"}\n')
    main(["verify", str(folder)])
    out, err = capsys.readouterr()
    assert {character for character in out + err if not character.isprintable()} == {"\n"}
    assert len(out.splitlines()) == out.count("\n")
    assert f"{ESCAPED}  {ESCAPED}" in out  # category and name
    assert f"{ESCAPED}.pfw line {GOOD_EVENTS + 3}" in out


def test_an_error_shows_the_name_of_a_folder_escaped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / SHOWN).mkdir()
    assert main(["verify", str(tmp_path / SHOWN)]) == 2
    (error,) = capsys.readouterr().err.splitlines()
    assert ESCAPED in error
    assert "nothing was traced" in error


def test_a_file_name_that_is_no_text(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        Path(os.fsdecode(os.fsencode(folder) + b"/\xff.pfw")).touch()
    except OSError:
        return  # a file system that takes text only
    for output in ("text", "json"):
        assert main(["verify", str(folder), "--format", output]) == 1
        assert "udcff.pfw" in capsys.readouterr().out


# --- too much of something -------------------------------------------------------------------------------------------


def test_more_different_names_than_there_is_room_for(
    folder: Path, verify: Verify, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "_ROOM", 100 * 1024)
    (folder / "run.pfw").write_bytes(
        line(1, "start", cat="dftracer")
        + b"".join(line(number, f"step_{number}") for number in range(2, 1002))
        + line(1002, "end", cat="dftracer")
    )
    code, integrity, result = verify(folder)
    assert code == 1
    assert "run.pfw: too many different events or processes to be told apart" in integrity
    (others,) = (event for event in result["events"] if (event["category"], event["name"]) == OTHERS)
    named = [event["count"] for event in result["events"] if event["name"].startswith("step_")]
    assert 50 < len(named) == sum(named)
    assert sum(named) + others["count"] == 1000  # none is lost
    assert [process["finalized"] for process in result["processes"]] == [True, True]


def test_more_processes_than_there_is_room_for(folder: Path, verify: Verify, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "_ROOM", 100 * 1024)
    (folder / "run.pfw").write_bytes(b"".join(line(1, pid=pid) for pid in range(10, 1010)))
    code, integrity, result = verify(folder)
    assert code == 1
    assert "run.pfw: too many different events or processes to be told apart" in integrity
    assert 10 < len(result["processes"]) < 100
    assert sum(process["events"] for process in result["processes"]) == 1000 + GOOD_EVENTS


def test_a_file_that_is_no_trace_is_given_up(folder: Path, verify: Verify, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "_NO_TRACE", 1000)
    (folder / "run.pfw").write_bytes(line(1) + b"x\n" * 500_000 + line(2))
    code, integrity, _ = verify(folder)
    assert code == 1
    assert "lines are no records; the rest was not read" in integrity


def test_bad_lines_between_good_ones_are_all_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "_NO_TRACE", 1000)
    path = tmp_path / "run.pfw"
    path.write_bytes((b"x\n" * 900 + line(1)) * 100)
    file = summarize(path)
    assert (count(file), file.bad_lines, file.problems) == (100, 90_000, ())


def test_what_packs_best_of_all_traces_is_no_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines as long as the tracer makes them, with equal arguments, and a simulated clock that ticks evenly."""
    monkeypatch.setattr(reader, "_STRETCH", 64 << 20)
    path = tmp_path / "run.pfw.gz"
    with gzip.open(path, "wb", 9) as file:
        for number in range(1, 5001):
            file.write(line(number, args={"x": "x" * (16_000)}))
    assert path.stat().st_size * 500 < 5000 * 16_000
    read = summarize(path)
    assert (count(read), read.problems) == (5000, ())


def test_members_of_a_byte_each(tmp_path: Path) -> None:
    path = tmp_path / "run.pfw.gz"
    text = line(1) + line(2)
    path.write_bytes(b"".join(gzip.compress(bytes([byte])) for byte in text) + gzip.compress(b"x") * 20_000)
    file = summarize(path)
    assert (count(file), file.members, file.bad_lines) == (2, len(text) + 20_000, 1)


def test_a_damaged_file_full_of_what_looks_like_the_beginning_of_a_member(tmp_path: Path) -> None:
    path = tmp_path / "run.pfw.gz"
    no_block = MAGIC + bytes(6) + b"\xff\x07"  # there is no type of block with this number
    path.write_bytes(gzip.compress(line(1)) + no_block * 1_000_000)
    file = summarize(path)
    assert count(file) == 1
    assert kinds(file) == ["corrupt"]


CHILD = """
import sys
from dfannotate.cli.main import main
code = main(sys.argv[1:])
try:
    with open("/proc/self/status") as status:
        peak = next(int(row.split()[1]) * 1024 for row in status if row.startswith("VmHWM"))
except OSError:
    import resource
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(peak, file=sys.stderr)
sys.exit(code)
"""


def _many(name: Callable[[int], str], count: int, **more: object) -> bytes:
    return b"".join(line(number, name(number), **more) for number in range(1, count + 1))


def _bomb() -> bytes:
    return gzip.compress(line(1)) + gzip.compress(bytes(16 << 20)) * 64


def _bomb_of_lines() -> bytes:
    return gzip.compress(line(1)) + gzip.compress(b"\n" * (16 << 20)) * 64


def _long_line() -> bytes:
    return line(1) + b'{"name":"' + b"x" * (100 << 20) + b'","ph":1}\n' + line(2)


@pytest.mark.parametrize(
    ("make", "code", "message"),
    [
        pytest.param(_bomb, 2, "a gzip bomb", id="bomb-of-zeros"),
        pytest.param(_bomb_of_lines, 2, "a gzip bomb", id="bomb-of-newlines"),
        pytest.param(_long_line, 1, "longer than 1048576 bytes", id="line-of-100-MB"),
        pytest.param(
            lambda: gzip.compress(_long_line(), 1), 1, "longer than 1048576 bytes", id="line-of-100-MB-packed"
        ),
        pytest.param(lambda: _many(lambda number: f"step_{number}", 120_000), 1, "too many different", id="names"),
        pytest.param(
            lambda: _many(lambda number: f"{number:06}" * 20_000, 900), 1, "too many different", id="long-names"
        ),
        pytest.param(
            lambda: _many(lambda number: "start", 30, cat="dftracer", args={"x": [{}] * 200_000}),
            1,
            "pass  integrity",
            id="arguments-of-a-megabyte",
        ),
    ],
)
def test_memory_is_bounded(tmp_path: Path, make: Callable[[], bytes], code: int, message: str) -> None:
    data = make()
    folder = tmp_path / "traces"
    folder.mkdir()
    (folder / f"run.pfw{'.gz' if data.startswith(MAGIC) else ''}").write_bytes(data)
    command = [sys.executable, "-c", CHILD, "verify", str(folder), "--quiet"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS)
    (peak,) = done.stderr.splitlines()
    assert message in done.stdout
    assert done.returncode == code
    assert int(peak) < MEMORY
