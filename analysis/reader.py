"""Opens traces: the only module that does.

A trace file is text, one JSON object a line, plain (``.pfw``) or as concatenated gzip members (``.pfw.gz``). Told apart
here by what is in them, not by versions:

- older generations put ``[`` on the first line and ``]`` on the last; a process that appends to the file afterwards
  leaves ``]{...}`` or ``][`` on one line;
- ``ph`` is "X" or 1 for an event, "M" or 4 for metadata, 2 for a counter, 3 for an aggregated record that stands for
  as many calls as it says; the first generations wrote every number as a string;
- strings are written unescaped, so that a quote or a newline in a name makes lines that are not JSON.

One pass over a file gives a ``FileSummary``; ``events`` goes over it again and gives every event. Both work in blocks:
memory depends on the number of different (category, name) pairs, never on the number of events, and is bounded for
those too. Nothing that a folder or a file holds raises, hangs or fills the memory: what is too much is a ``Problem``.
"""

from __future__ import annotations

import io
import json
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import msgspec
from isal import isal_zlib

from dfannotate.analysis.inflate import MAGIC, Members
from dfannotate.analysis.processes import assign, pid_in_name
from dfannotate.analysis.schedule import File, Here, Steps, Watch
from dfannotate.analysis.traces import (
    DEFAULT_UNIT,
    MICROSECONDS,
    BadLine,
    FileSummary,
    Problem,
    ProblemKind,
    ProcessTrace,
    Tally,
    TraceError,
    Traces,
)
from dfannotate.vocabulary import (
    ENV_ENABLE,
    ENV_LOG_FILE,
    JSON_ARGUMENTS,
    MINIMUM_EVENTS,
    TRACE,
    TRACE_SUFFIX,
    TRACE_SUFFIX_GZIP,
)

LINE_LIMIT = 1 << 20
"""Longest line in bytes that is taken for a record; the tracer itself cuts its lines at 16 KiB."""

OTHERS = ("(other)", "(other)")
"""Category and name of all events that there is no room to tell apart."""

_READ = 1 << 16
_PIECES = 4096
_BAD_SAMPLES = 20
_BAD_EXCERPT = 100
_REPEAT_MEMORY = 1 << 15
_STRINGS = 1000
_LONGEST_STRING, _LONGEST_KEY = 4096, 200
_KEYS = 50
_ROOM = 96 << 20
"""Bytes that may be kept of one file, reckoned by what a thing costs: room for a hundred thousand different events."""
_COST = 900
_PROCESS_COST = 3000
_CHILD_COST = 150
_NO_TRACE = 1_000_000
"""So many bad lines in a row, and what follows is not looked at."""
_STRETCH = 256 << 20
_RATIO = 800
_RATIO_WITHOUT_RECORDS = 100
"""What a gzip bomb is: a stretch of text so much longer than what it is packed in. Every record of a trace has a time
of its own, which takes some bytes, and lines are at most 16 KiB: packed as well as can be, that makes 650."""
_BRACKETS = b"[], \t\r\n"
_SPAWN_COMMAND = "spawn_main"
"""In the command line with which multiprocessing starts a worker by spawn."""

_X, _COMPLETE = TRACE.complete_phases
_M, _METADATA = TRACE.metadata_phases


_Signed: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class Event(msgspec.Struct, gc=False):
    """One line, as it stands. ``args`` is the undecoded JSON of the arguments; times are in the unit of the trace.
    Numbers lie between -2**64 and 2**64 (a negative duration may be written as an unsigned number)."""

    name: str
    ph: int | str
    cat: str = ""
    pid: _Signed | None = None
    tid: _Signed | None = None
    ts: _Signed | None = None
    dur: _Signed | None = None
    id: _Signed | None = None
    args: msgspec.Raw = msgspec.Raw(b"")


class _WideEvent(Event, gc=False):
    """The same with numbers of any size, for a closer look at lines that are refused."""

    pid: int | None = None
    tid: int | None = None
    ts: int | None = None
    dur: int | None = None
    id: int | None = None


_DECODER = msgspec.json.Decoder(Event, strict=False)  # not strict: numbers may stand in quotes
_WIDE_DECODER = msgspec.json.Decoder(_WideEvent, strict=False)
_LARGEST = 2**64


# --- from the folder to summaries ------------------------------------------------------------------------------------


def find_files(path: Path) -> tuple[Path, ...]:
    """The trace files of a folder and the folders below it, sorted; or the file itself. Links to folders are not
    followed. A folder that cannot be listed, and whatever is named as a trace file but is none, stands among them, so
    that reading it tells what may be missing.

    Raises ``TraceError`` if there is none."""
    if path.is_file():
        return (path,)
    if not path.exists():
        raise TraceError(f"{path}: no such folder; name the folder that holds the trace files")
    if not path.is_dir():
        raise TraceError(f"{path}: neither a folder nor a trace file")
    unreadable: list[OSError] = []
    found = list(_walk(path, unreadable))
    if unreadable and not found:
        raise TraceError(f"{path}: cannot be read ({unreadable[0].strerror})")
    if not found:
        raise TraceError(
            f"{path}: no trace file (*{TRACE_SUFFIX}, *{TRACE_SUFFIX_GZIP}) in it: nothing was traced. Run the program"
            f" with `dfannotate run -- COMMAND`, or with {ENV_ENABLE}=1 and {ENV_LOG_FILE}={path / 'run'}; it must"
            f" initialize the tracer, and a process that logs fewer than {MINIMUM_EVENTS} events leaves no file"
        )
    return tuple(sorted([*found, *(Path(error.filename) for error in unreadable)]))


def _walk(top: Path, unreadable: list[OSError]) -> Iterator[Path]:
    """What is named as a trace file, in any order. Not by ``os.walk``, which recurses and so has a depth that it fails
    at before Python 3.12."""
    folders = [str(top)]
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    elif entry.name.endswith((TRACE_SUFFIX, TRACE_SUFFIX_GZIP)):
                        yield Path(entry.path)
        except OSError as error:
            unreadable.append(error)


def open_traces(path: Path, *, jobs: int | None = None, watch: Watch | None = None) -> Traces:
    """Read every trace file of a folder (or one file) once.

    ``jobs`` is the number of processes, by default one a core; few or small files are read in this one. ``watch`` is
    told after each file how far the reading has come. A file that cannot be read is a ``Problem`` of that file. Raises
    ``TraceError`` where there is no trace at all."""
    with Here(jobs) as here:
        files = here.gather(Steps(_summarize_file, _alone, _sorted_files, _events_of), list_files(path), watch)
    return Traces(path, files, assign(files))


def list_files(path: Path) -> list[File]:
    """What ``find_files`` finds, each named relative to the folder, with its length."""
    base = path if path.is_dir() else path.parent
    return [
        File(found, found.relative_to(base).as_posix(), _size(found), number)
        for number, found in enumerate(find_files(path))
    ]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _summarize_file(file: File) -> FileSummary:
    return summarize(file.path, file.name)


def _alone(summary: FileSummary) -> tuple[FileSummary, ...]:
    return (summary,)


def _sorted_files(several: Sequence[tuple[FileSummary, ...]]) -> tuple[FileSummary, ...]:
    return tuple(sorted((file for files in several for file in files), key=lambda file: file.name))


def _events_of(files: Sequence[FileSummary]) -> int:
    return sum(file.events for file in files)


def summarize(
    path: Path, name: str | None = None, *, watch: Callable[[list[Event]], None] | None = None
) -> FileSummary:
    """Read one file once. Never raises for what the file is or holds: that is in ``problems`` and ``bad_lines``.

    ``watch`` is called with the records of the file, batch by batch, for those who want more of them in one reading."""
    text = _Text(path)
    summary = _Summary()
    for batch in text.batches():
        summary.add(batch)
        if watch:
            watch(batch)
    return FileSummary(
        path=path,
        name=name or path.name,
        size=text.size,
        checksum=text.checksum,
        members=text.members,
        lines=text.lines,
        bad_lines=text.bad_lines,
        bad_samples=tuple(text.bad_samples),
        problems=(*text.problems, *summary.problems(text.lines)),
        processes=summary.processes(pid_in_name(path.name)),
        repeated_lines=summary.repeated,
        repeats_sampled=summary.mask > 0,
    )


def events(file: FileSummary) -> Iterator[list[Event]]:
    """The events of a file, in its order, in batches of bounded size: complete and aggregated records, without the
    tracer's own start and end. Of a file that has grown since, those that are counted in its summary.

    Raises ``TraceError`` if it can no longer be read."""
    text = _Text(file.path, file)
    for batch in text.batches():
        yield [
            event
            for event in batch
            if (event.ph in TRACE.complete_phases and not _is_tracers(event)) or event.ph == TRACE.aggregated_phase
        ]
    known = {problem.kind for problem in file.problems}
    for problem in text.problems:
        if problem.kind == "unreadable" and problem.kind not in known:
            raise TraceError(f"{file.path}: could be read at first, but no more: {problem.message}")


def arguments(event: Event) -> dict[str, Any]:
    """The decoded arguments; empty where there are none, or where their JSON is nested too deep or odd in another way.
    What a manual event wrote as JSON, because the tracer cannot hold it otherwise (an integer beyond 32 bits, nan, a
    lone surrogate), is what it was."""
    raw = bytes(event.args)
    try:
        value = msgspec.json.decode(raw) if raw else None
    except (msgspec.DecodeError, RecursionError):
        return {}
    if not isinstance(value, dict):
        return {}
    if JSON_ARGUMENTS in value:
        _decode_json(value)
    return value


def _decode_json(values: dict[str, Any]) -> None:
    named = values[JSON_ARGUMENTS]
    texts = {key: values.get(key) for key in named.split(",")} if isinstance(named, str) else {}
    try:
        # Not by msgspec, which knows neither NaN nor a surrogate that stands alone.
        decoded = {key: json.loads(text) for key, text in texts.items() if isinstance(text, str)}
    except (ValueError, RecursionError):
        return  # an argument of the program's own that happens to be called so
    if decoded and len(decoded) == len(texts):
        values.update(decoded)
        del values[JSON_ARGUMENTS]


def _is_tracers(event: Event) -> bool:
    return event.cat == TRACE.tracer_category and event.name in (TRACE.start_event, TRACE.end_event)


# --- from bytes to records -------------------------------------------------------------------------------------------


class _NoFile(Exception):
    """What is named as a trace file cannot be one; the message says what it is."""


_KINDS = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def _open(path: Path) -> io.FileIO:
    """Open a trace file, and nothing but a file: a pipe would block for ever, a device never end.

    Raises ``_NoFile`` or ``OSError``."""
    try:
        _check_is_file(path, os.stat(path).st_mode)
        # should a pipe have taken its place in the meantime, opening it does not wait for a writer
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except FileNotFoundError:
        gone = "a link to something that is not there" if path.is_symlink() else "gone since the folder was listed"
        raise _NoFile(gone) from None
    try:
        _check_is_file(path, os.fstat(handle).st_mode)
    except _NoFile:
        os.close(handle)
        raise
    return io.FileIO(handle)


def _check_is_file(path: Path, mode: int) -> None:
    if stat.S_ISREG(mode):
        return
    if stat.S_ISDIR(mode):
        if path.is_symlink():
            raise _NoFile("a link to a folder, which was not followed; name that folder itself, if it is of this run")
        raise _NoFile("this folder cannot be listed; what is in it is not part of the result")
    kind = next((name for is_kind, name in _KINDS if is_kind(mode)), "no file")
    raise _NoFile(f"{kind}, not a trace file; it was not opened, take it out of the folder")


class _Measured:
    """A file that keeps the length and the checksum of what was read of it, whichever way it was gone through, and that
    ends where it ended when it was opened."""

    def __init__(self, raw: io.FileIO, limit: int) -> None:
        self.size = 0
        self.checksum = 0
        self.position = 0
        self._raw = raw
        self._limit = limit

    def read(self, size: int, /) -> bytes:
        block = self._raw.read(max(0, min(size, self._limit - self.position))) or b""
        self.position += len(block)
        if self.position > self.size:
            fresh = block[self.size - self.position :]
            self.checksum = isal_zlib.crc32(fresh, self.checksum)
            self.size = self.position
        return block

    def seek(self, offset: int, /) -> int:
        self.position = self._raw.seek(offset)
        return self.position


class _Text:
    """The lines of one file, decoded batch by batch, with all that was wrong about them."""

    def __init__(self, path: Path, known: FileSummary | None = None) -> None:
        """``known``: what was read of it before, where it is to be read the same again."""
        self.path = path
        self.changing = known is not None and any(problem.kind == "changing" for problem in known.problems)
        self._known = known
        self.size = 0
        self.checksum = 0
        self.members: int | None = None
        self.lines = 0
        self.bad_lines = 0
        self.bad_samples: list[BadLine] = []
        self.problems: list[Problem] = []
        self.records = 0
        self.bad_in_a_row = 0

    def batches(self) -> Iterator[list[Event]]:
        """The records, in order. Raises nothing for a bad file."""
        try:
            with _open(self.path) as raw:
                size = self._known.size if self._known else os.fstat(raw.fileno()).st_size
                stream = _Measured(raw, size)
                try:
                    for chunk in self._whole_lines(self._blocks(stream), lambda: self._changes(raw, size)):
                        batch = self._decode(chunk)
                        if batch:
                            self.records += len(batch)
                            yield batch
                        if self.bad_in_a_row >= _NO_TRACE:
                            message = f"the last {self.bad_in_a_row} lines are no records; the rest was not read"
                            self._problem("corrupt", message, stream.position)
                            break
                finally:
                    self.size, self.checksum = stream.size, stream.checksum
                if self._changes(raw, size):
                    # it was not cut off: the rest is being written
                    self.problems = [problem for problem in self.problems if problem.kind != "truncated"]
        except _NoFile as error:
            self._problem("unreadable", str(error), 0)
        except OSError as error:
            self._problem("unreadable", f"cannot be read ({error.strerror or error})", self.size)

    def _changes(self, raw: io.FileIO, size: int) -> bool:
        """Whether the file is being written, as far as can be told by now; said once."""
        if self._known is None and not self.changing:
            now = os.fstat(raw.fileno()).st_size
            if now != size:
                self.changing = True
                self._problem(
                    "changing",
                    f"{'grew' if now > size else 'shrank'} from {size} to {now} bytes while it was read, so its process"
                    " is still at work; verify again when the run has ended",
                    min(size, now),
                )
        return self.changing

    def _problem(self, kind: ProblemKind, message: str, offset: int) -> None:
        self.problems.append(Problem(kind, message, offset, self.lines))

    def _bad(self, line: int, reason: str, text: bytes) -> None:
        self.bad_lines += 1
        self.bad_in_a_row += 1
        if len(self.bad_samples) < _BAD_SAMPLES:
            self.bad_samples.append(BadLine(line, reason, text[:_BAD_EXCERPT].decode("utf-8", "backslashreplace")))

    def _blocks(self, stream: _Measured) -> Iterator[bytes]:
        """The uncompressed text in blocks."""
        head = stream.read(len(MAGIC))
        stream.seek(0)
        if head and (head.startswith(MAGIC[:2]) or MAGIC.startswith(head)):
            members = Members(stream, self._problem)
            try:
                yield from self._until_bomb(members.blocks(), stream)
            finally:
                self.members = members.whole
            return
        if self.path.name.endswith(TRACE_SUFFIX_GZIP):
            self.members = 0
            if head:
                self._problem("not-gzip", "named as gzip, but does not begin as gzip does; read as plain text", 0)
        while block := stream.read(_READ):
            yield block

    def _until_bomb(self, blocks: Iterable[bytes], stream: _Measured) -> Iterator[bytes]:
        """Blocks, up to where they are what a gzip bomb gives."""
        text, start, records = 0, 0, 0  # of a stretch: its length, where it begins in the file, the records before it
        for block in blocks:
            yield block
            text += len(block)
            if text < _STRETCH:
                continue
            ratio = text // max(1, stream.position - start)
            if ratio > _RATIO or (ratio > _RATIO_WITHOUT_RECORDS and self.records == records):
                message = f"a gzip bomb: {ratio} bytes of text for each byte of the file; the rest of it was not read"
                self._problem("unreadable", message, stream.position)
                return
            text, start, records = 0, stream.position, self.records

    def _whole_lines(self, blocks: Iterable[bytes], changes: Callable[[], bool]) -> Iterator[bytes]:
        """Blocks cut at line ends; the last may lack its newline, but is left out if the rest of it is being written.
        Lines beyond the limit are left out and counted."""
        carry: list[bytes] = []  # joined late: there may be any number of tiny blocks in a line
        length = 0
        skipping = False
        for block in blocks:
            if skipping:
                newline = block.find(b"\n")
                if newline < 0:
                    continue
                block = block[newline + 1 :]
                self.lines += 1
                skipping = False
            end = block.rfind(b"\n") + 1
            if not end:
                carry.append(block)
                if len(carry) > _PIECES:
                    carry = [b"".join(carry)]
                length += len(block)
                if length > LINE_LIMIT:
                    self._bad(self.lines + 1, f"longer than {LINE_LIMIT} bytes", b"".join(carry)[:_BAD_EXCERPT])
                    carry, length, skipping = [], 0, True
                continue
            carry.append(block[:end])
            yield b"".join(carry)
            length = len(block) - end
            carry = [block[end:]] if length else []
        if carry and not changes():
            yield b"".join(carry)
        elif skipping:
            self.lines += 1

    def _decode(self, chunk: bytes) -> list[Event]:
        """All records of whole lines at once; line by line where that fails, to find out which are bad."""
        newlines = chunk.count(b"\n") + (not chunk.endswith(b"\n"))
        try:
            if not chunk.isascii():
                chunk.decode()
            records = _DECODER.decode_lines(chunk)
            if len(records) == newlines:
                self.lines += newlines
                self.bad_in_a_row = 0
                return records
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass
        records = list[Event]()
        if not chunk.strip(_BRACKETS):
            self.lines += newlines
            return records
        for line in chunk.removesuffix(b"\n").split(b"\n"):
            self.lines += 1
            if not line:
                continue
            bare = line.strip(_BRACKETS)
            if not bare:
                continue
            try:
                bare.decode()
                found = _WIDE_DECODER.decode_lines(bare)
                if all(_fits(event) for event in found):
                    records += found
                    self.bad_in_a_row = 0
                else:
                    self._bad(self.lines, "not a record of a trace: a number that 64 bits cannot hold", bare)
            except msgspec.ValidationError as error:
                self._bad(self.lines, f"not a record of a trace: {_reason(error)}", bare)
            except msgspec.DecodeError as error:
                self._bad(self.lines, f"not JSON: {_reason(error)}", bare)
            except UnicodeDecodeError as error:
                self._bad(self.lines, f"not UTF-8: byte 0x{bare[error.start]:02x}", bare)
            except RecursionError:
                self._bad(self.lines, "not a record of a trace: nested too deep", bare)
        return records


def _fits(event: Event) -> bool:
    numbers = (event.pid, event.tid, event.ts, event.dur, event.id)
    return all(number is None or -_LARGEST < number < _LARGEST for number in numbers)


# --- from records to what is kept of them ----------------------------------------------------------------------------


class _Tally:
    """A ``Tally`` in the making. ``watched``: the record itself matters, not only that there was one."""

    __slots__ = (
        "aggregated",
        "bare",
        "count",
        "duration",
        "first",
        "keys",
        "longest",
        "negative",
        "repeated",
        "repeated_duration",
        "watched",
    )

    def __init__(self, watched: bool) -> None:
        self.count = 0
        self.duration = 0
        self.aggregated = 0
        self.repeated = 0
        self.repeated_duration = 0
        self.watched = watched
        self.first: int | None = None
        self.longest = 0
        self.negative = 0
        self.bare = 0
        self.keys: tuple[str, ...] = ()

    def stretch(self, duration: int) -> None:
        """Take a duration that is longer than any before, or negative."""
        if duration < 0:
            self.negative += 1
        else:
            self.longest = duration

    def freeze(self) -> Tally:
        return Tally(
            self.count,
            self.duration,
            self.aggregated,
            self.repeated,
            self.repeated_duration,
            self.first,
            self.longest,
            self.negative,
            self.bare,
            self.keys,
        )


class _Process:
    """A ``ProcessTrace`` in the making."""

    def __init__(self, pid: int | None) -> None:
        self.pid = pid
        self.tallies: dict[tuple[str, str], _Tally] = {}
        self.first: int | None = None
        self.last: int | None = None
        self.host: str | None = None
        self.unit: str | None = None
        self.start: dict[str, Any] = {}
        self.starts: set[tuple[int | None, int | None, int | None]] = set()
        self.ends: list[int | None] = []
        self.end: dict[str, Any] = {}
        self.started: int | None = None
        self.ended: int | None = None
        self.end_number: int | None = None
        self.numbered_metadata = False
        self.aggregated = False
        self.bare = False
        self.rank: int | None = None
        self.forked: set[int] = set()
        self.spawned: set[int] = set()
        self.metadata: dict[str, str] = {}


class _Summary:
    """Takes the records of one file and keeps what a summary holds."""

    def __init__(self) -> None:
        self.mask = 0
        self.repeated = 0
        self._processes: dict[int | None, _Process] = {}
        self._strings: dict[str, str] = {}
        self._room = _ROOM
        self._crowded = False
        # identity of a record -> where it stands in the order by which the sample is thinned out
        self._seen: dict[int, int] = {}

    def add(self, batch: list[Event]) -> None:
        """Count a batch. This loop is where the time of a reading goes: one look-up and a few additions an event."""
        pid: int | None = None
        process = self._process(None)
        tallies = process.tallies
        first, last = process.first, process.last
        mask = self.mask
        for event in batch:
            if event.pid != pid:
                process.first, process.last = first, last
                pid = event.pid
                process = self._process(pid)
                tallies = process.tallies
                first, last = process.first, process.last
            phase = event.ph
            if phase != _COMPLETE and phase != _X:
                process.first, process.last = first, last
                self._other(process, event)
                first, last = process.first, process.last
                continue
            tally = tallies.get((event.cat, event.name))
            if tally is None:
                tally = self._tally(process, event)
            time = event.ts
            duration = event.dur or 0
            tally.count += 1
            tally.duration += duration
            if not 0 <= duration <= tally.longest:
                tally.stretch(duration)
            if time is not None:
                if first is None or time < first:
                    first = time
                if last is None or time + duration > last:
                    last = time + duration
                number = event.id
                if number is not None and number > 0:
                    place = (time >> 3) + number
                    if not place & mask:
                        if not event.args:
                            tally.bare += mask + 1
                        if self._is_repeated(event, place):
                            tally.repeated += mask + 1
                            tally.repeated_duration += duration * (mask + 1)
                            self.repeated += mask + 1
                        mask = self.mask
            if tally.watched:
                self._watched(process, event)
        process.first, process.last = first, last

    def _process(self, pid: int | None) -> _Process:
        process = self._processes.get(pid)
        if process is None:
            if pid is not None and not self._take(_PROCESS_COST):
                return self._process(None)
            process = self._processes[pid] = _Process(pid)
        return process

    def _take(self, cost: int) -> bool:
        """Whether something more may be kept, that takes ``cost`` bytes."""
        if cost > self._room:
            self._crowded = True
            return False
        self._room -= cost
        return True

    def problems(self, line: int) -> tuple[Problem, ...]:
        """What the records of the file, with so many lines, were too many for."""
        if not self._crowded:
            return ()
        message = (
            "too many different events or processes to be told apart: those met last are counted together, as"
            f" {':'.join(OTHERS)}; keep what changes from call to call out of the names of events"
        )
        return (Problem("crowded", message, 0, line),)

    def _tally(self, process: _Process, event: Event) -> _Tally:
        """A new one for events like this, or the common one for all that there is no room for."""
        key = (event.cat, event.name)
        own = _is_tracers(event)
        cost = _COST + sys.getsizeof(event.cat) + sys.getsizeof(event.name)
        if not own and not self._take(cost):
            key = OTHERS
            if key in process.tallies:
                return process.tallies[key]
        values = arguments(event)
        if not process.tallies and TRACE.old_host in values:
            process.bare = True
            process.host = _string(values[TRACE.old_host])
        tally = _Tally(own or key == (TRACE.libc_category, TRACE.fork_event))
        tally.first = event.ts
        tally.keys = tuple(sys.intern(name) for name in islice(values, _KEYS) if len(name) < _LONGEST_KEY)
        process.tallies[key] = tally
        return tally

    def _is_repeated(self, event: Event, place: int) -> bool:
        """Whether a record with the same number, process, thread and times was read before.

        A forked child of some versions writes what its parent had buffered once more into the parent's file. Looked up
        among all events of a small file, and in a large one among an even sample of them, so that memory stays put."""
        identity = hash((event.id, event.pid, event.tid, event.ts, event.dur, event.name))
        if identity in self._seen:
            return True
        self._seen[identity] = place
        while len(self._seen) > _REPEAT_MEMORY:
            self.mask = self.mask * 2 + 1
            self._seen = {identity: place for identity, place in self._seen.items() if not place & self.mask}
        return False

    def _watched(self, process: _Process, event: Event) -> None:
        values = arguments(event)
        if not _is_tracers(event):
            child = _integer(values.get(TRACE.fork_result))
            if child is not None and child > 0 and child not in process.forked and self._take(_CHILD_COST):
                process.forked.add(child)
        elif event.name == TRACE.start_event:
            identity = (event.tid, event.ts, event.id)
            if identity not in process.starts and self._take(_CHILD_COST):
                process.starts.add(identity)
            process.start = process.start or _kept(values)
            if event.ts is not None and (process.started is None or event.ts < process.started):
                process.started = event.ts
        else:
            if self._take(_CHILD_COST):
                process.ends.append(event.tid)
            process.end = _kept(values)
            process.end_number = event.id
            if event.ts is not None and (process.ended is None or event.ts > process.ended):
                process.ended = event.ts

    def _other(self, process: _Process, event: Event) -> None:
        """Metadata and aggregated records; counters are not events."""
        if event.ph == TRACE.aggregated_phase:
            values = arguments(event)
            calls = _integer(values.get(TRACE.calls))
            duration = event.dur
            if duration is None:
                duration = _integer(values.get(TRACE.duration_sum, values.get(TRACE.duration)))
            tally = process.tallies.get((event.cat, event.name))
            if tally is None:
                tally = self._tally(process, event)
            tally.count += 1 if calls is None else max(0, calls)
            tally.aggregated += 1
            tally.duration += duration or 0
            process.aggregated = True
            if event.ts is not None:
                process.first = event.ts if process.first is None else min(process.first, event.ts)
                process.last = event.ts if process.last is None else max(process.last, event.ts)
        elif event.ph in TRACE.metadata_phases:
            values = arguments(event)
            name, value = _string(values.get("name")), _string(values.get("value"))
            process.numbered_metadata |= event.id is not None
            if event.name == TRACE.host_record:
                process.host = name
            elif event.name == TRACE.custom_record:
                if name == TRACE.time_metric:
                    process.unit = process.unit or value
                elif len(process.metadata) < _STRINGS and self._take(sys.getsizeof(name) + sys.getsizeof(value)):
                    process.metadata[name] = value
            elif event.name in (TRACE.string_record, TRACE.path_record):
                if _SPAWN_COMMAND in name and event.tid is not None and event.tid != event.pid:
                    if event.tid not in process.spawned and self._take(_CHILD_COST):
                        process.spawned.add(event.tid)
                elif len(self._strings) < _STRINGS and len(value) < _LONGEST_KEY:
                    self._strings[value] = name
            elif event.name == TRACE.process_record:
                rank = values.get(TRACE.rank, value if name == TRACE.rank else None)
                process.rank = _integer(rank) if process.rank is None else process.rank

    def processes(self, pid_of_name: int | None) -> tuple[ProcessTrace, ...]:
        """What is known of each process, in the order in which they turn up; ``pid_of_name`` for a file without any."""
        common = self._processes.get(None, _Process(None))
        found = [
            self._freeze(process, common)
            for process in self._processes.values()
            if process.pid is not None or process.tallies
        ]
        return tuple(found) or (ProcessTrace(pid_of_name),)

    def _freeze(self, process: _Process, common: _Process) -> ProcessTrace:
        configuration = process.end.get(TRACE.configuration)
        unit = process.unit or common.unit
        if unit is None and isinstance(configuration, dict):
            unit = _text(configuration.get(TRACE.time_metric))
        threads = {thread for thread, _, _ in process.starts}
        ends = process.ends
        declared = _integer(process.end.get(TRACE.event_count))
        if declared is None and process.end_number and any(number == 1 for _, _, number in process.starts):
            # Without metadata the end record claims nothing, but is numbered itself, after all that came before.
            declared = process.end_number - 1
        # comparable where one process wrote the file and numbers its events alone
        comparable = len(process.starts) == len(ends) == 1 and not process.numbered_metadata
        return ProcessTrace(
            pid=process.pid,
            ppid=_integer(process.start.get(TRACE.parent)),
            host=process.host or common.host,
            executable=self._strings.get(str(process.start.get(TRACE.executable_hash))),
            command=self._strings.get(str(process.start.get(TRACE.command_hash))),
            version=_string(process.start[TRACE.version]) if TRACE.version in process.start else None,
            unit=unit if unit is not None and unit in MICROSECONDS else DEFAULT_UNIT,
            declared_units=_units(process, common, configuration),
            started=process.started,
            ended=process.ended,
            log_file=_text(configuration.get(TRACE.log_file)) if isinstance(configuration, dict) else None,
            first=process.first,
            last=process.last,
            events={
                key: tally.freeze()
                for key, tally in process.tallies.items()
                if not (key[0] == TRACE.tracer_category and key[1] in (TRACE.start_event, TRACE.end_event))
            },
            starts=len(process.starts),
            ends=len(ends),
            # several ends: forked children wrote into the file, and which of them is the parent's, the thread tells
            finalized=bool(ends) and (len(ends) == 1 or not threads or not threads.isdisjoint(ends)),
            declared_events=declared if comparable else None,
            forked=tuple(sorted(process.forked)),
            spawned=tuple(sorted(process.spawned)),
            rank=process.rank if process.rank is not None else common.rank,
            bare=process.bare,
            metadata=process.metadata,
        )


def _units(process: _Process, common: _Process, configuration: object) -> tuple[str, ...]:
    """The units that the records of a process declare, each once."""
    of_end = configuration.get(TRACE.time_metric) if isinstance(configuration, dict) else None
    found = (process.unit, common.unit, _text(of_end))
    return tuple(dict.fromkeys(unit for unit in found if unit is not None))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _string(value: object) -> str:
    """A value of the arguments as text of bounded length; empty for what has parts."""
    return str(value)[:_LONGEST_STRING] if isinstance(value, (str, int, float)) else ""


_OF_INTEREST = (
    *(TRACE.parent, TRACE.executable_hash, TRACE.command_hash, TRACE.version),  # of the start
    *(TRACE.event_count, TRACE.time_metric, TRACE.log_file),  # of the end, and its configuration
)


def _kept(values: dict[str, Any]) -> dict[str, Any]:
    """Of the arguments of the tracer's own start and end, what is made use of."""
    kept: dict[str, Any] = {
        name: value if isinstance(value, int) else _string(value)
        for name in _OF_INTEREST
        if (value := values.get(name)) is not None
    }
    configuration = values.get(TRACE.configuration)
    if isinstance(configuration, dict):
        kept[TRACE.configuration] = _kept({**configuration, TRACE.configuration: None})
    return kept


def _integer(value: object) -> int | None:
    """A number that 64 bits can hold, in quotes or not."""
    try:
        number = int(value) if isinstance(value, (int, str)) else None
    except ValueError:
        return None
    return number if number is not None and -_LARGEST < number < _LARGEST else None


def _reason(error: Exception) -> str:
    return str(error).removeprefix("JSON is malformed: ").replace("$[0]", "$")
