"""Opens traces: the only module that does.

A trace file is text, one JSON object a line, plain (``.pfw``) or as concatenated gzip members (``.pfw.gz``). Told apart
here by what is in them, not by versions:

- older generations put ``[`` on the first line and ``]`` on the last; a process that appends to the file afterwards
  leaves ``]{...}`` or ``][`` on one line;
- ``ph`` is "X" or 1 for an event, "M" or 4 for metadata, 2 for a counter, 3 for an aggregated record that stands for
  as many calls as it says; the first generations wrote every number as a string;
- strings are written unescaped, so that a quote or a newline in a name makes lines that are not JSON.

One pass over a file gives a ``FileSummary``; ``events`` goes over it again and gives every event. Both work in blocks:
memory depends on the number of different (category, name) pairs, never on the number of events.
"""

from __future__ import annotations

import io
import json
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import msgspec
from isal import isal_zlib

from dfannotate.analysis.inflate import MAGIC, Members
from dfannotate.analysis.processes import assign, pid_in_name
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

_READ = 1 << 16
_BAD_SAMPLES = 20
_BAD_EXCERPT = 100
_REPEAT_MEMORY = 1 << 15
_STRINGS = 1000
_CHILDREN = 100_000
_BRACKETS = b"[], \t\r\n"
_WORTH_A_POOL = 8 << 20
_SPAWN_COMMAND = "spawn_main"
"""In the command line with which multiprocessing starts a worker by spawn."""

_X, _COMPLETE = TRACE.complete_phases
_M, _METADATA = TRACE.metadata_phases


class Event(msgspec.Struct, gc=False):
    """One line, as it stands. ``args`` is the undecoded JSON of the arguments; times are in the unit of the trace."""

    name: str
    ph: int | str
    cat: str = ""
    pid: int | None = None
    tid: int | None = None
    ts: int | None = None
    dur: int | None = None
    id: int | None = None
    args: msgspec.Raw = msgspec.Raw(b"")


_DECODER = msgspec.json.Decoder(Event, strict=False)  # not strict: numbers may stand in quotes


# --- from the folder to summaries ------------------------------------------------------------------------------------


def find_files(path: Path) -> tuple[Path, ...]:
    """The trace files of a folder and the folders below it, sorted; or the file itself. A folder that cannot be listed
    stands among them, so that reading it tells what may be missing.

    Raises ``TraceError`` if there is none."""
    if path.is_file():
        return (path,)
    if not path.exists():
        raise TraceError(f"{path}: no such folder; name the folder that holds the trace files")
    if not path.is_dir():
        raise TraceError(f"{path}: neither a folder nor a trace file")
    unreadable: list[OSError] = []
    found = [
        Path(folder, name)
        for folder, _, names in os.walk(path, onerror=unreadable.append)
        for name in names
        if name.endswith((TRACE_SUFFIX, TRACE_SUFFIX_GZIP))
    ]
    if unreadable and not found:
        raise TraceError(f"{path}: cannot be read ({unreadable[0].strerror})")
    if not found:
        raise TraceError(
            f"{path}: no trace file (*{TRACE_SUFFIX}, *{TRACE_SUFFIX_GZIP}) in it: nothing was traced. Run the program"
            f" with `dfannotate run -- COMMAND`, or with {ENV_ENABLE}=1 and {ENV_LOG_FILE}={path / 'run'}; it must"
            f" initialize the tracer, and a process that logs fewer than {MINIMUM_EVENTS} events leaves no file"
        )
    return tuple(sorted([*found, *(Path(error.filename) for error in unreadable)]))


def open_traces(path: Path, *, jobs: int | None = None, progress: Callable[[int, int], None] | None = None) -> Traces:
    """Read every trace file of a folder (or one file) once.

    ``jobs`` is the number of processes, by default one a core; few or small files are read in this one. ``progress``
    is called after each file with the number of files read and of all. A file that cannot be read is a ``Problem`` of
    that file. Raises ``TraceError`` where there is no trace at all."""
    paths = find_files(path)
    base = path if path.is_dir() else path.parent
    names = [file.relative_to(base).as_posix() for file in paths]
    if jobs is None:
        jobs = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    jobs = min(jobs, len(paths))
    if jobs > 1 and sum(_size(file) for file in paths) >= _WORTH_A_POOL:
        files = _summarize_parallel(paths, names, jobs, progress)
    else:
        files = []
        for file, name in zip(paths, names, strict=True):
            files.append(summarize(file, name))
            if progress:
                progress(len(files), len(paths))
    return Traces(path, tuple(files), assign(files))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _summarize_parallel(
    paths: tuple[Path, ...], names: list[str], jobs: int, progress: Callable[[int, int], None] | None
) -> list[FileSummary]:
    done: dict[int, FileSummary] = {}
    try:
        with ProcessPoolExecutor(jobs, initializer=_die_of_interrupts) as pool:
            # the largest first, so that none is left alone at the end
            order = sorted(range(len(paths)), key=lambda index: -_size(paths[index]))
            futures = {pool.submit(summarize, paths[index], names[index]): index for index in order}
            for future in as_completed(futures):
                done[futures[future]] = future.result()
                if progress:
                    progress(len(done), len(paths))
    except BrokenProcessPool:
        pass  # a reading process was killed; what it had in hand is read here
    return [done[index] if index in done else summarize(paths[index], names[index]) for index in range(len(paths))]


def _die_of_interrupts() -> None:
    """An interrupt from the keyboard reaches every process; only the first is to say something about it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


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
        problems=tuple(text.problems),
        processes=summary.processes(pid_in_name(path.name)),
        repeated_lines=summary.repeated,
        repeats_sampled=summary.mask > 0,
    )


def events(file: FileSummary) -> Iterator[list[Event]]:
    """The events of a file, in its order, in batches of bounded size: complete and aggregated records, without the
    tracer's own start and end."""
    for batch in _Text(file.path).batches():
        yield [
            event
            for event in batch
            if (event.ph in TRACE.complete_phases and not _is_tracers(event)) or event.ph == TRACE.aggregated_phase
        ]


def arguments(event: Event) -> dict[str, Any]:
    """The decoded arguments; empty where there are none. What a manual event wrote as JSON, because the tracer cannot
    hold it otherwise (an integer beyond 32 bits, nan, a lone surrogate), is what it was."""
    raw = bytes(event.args)
    value = msgspec.json.decode(raw) if raw else None
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


class _Measured:
    """A file that keeps the length and the checksum of what was read of it, whichever way it was gone through."""

    def __init__(self, raw: io.FileIO) -> None:
        self.size = 0
        self.checksum = 0
        self._raw = raw
        self._position = 0

    def read(self, size: int, /) -> bytes:
        block = self._raw.read(size) or b""
        self._position += len(block)
        if self._position > self.size:
            fresh = block[self.size - self._position :]
            self.checksum = isal_zlib.crc32(fresh, self.checksum)
            self.size = self._position
        return block

    def seek(self, offset: int, /) -> int:
        self._position = self._raw.seek(offset)
        return self._position


class _Text:
    """The lines of one file, decoded batch by batch, with all that was wrong about them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = 0
        self.checksum = 0
        self.members: int | None = None
        self.lines = 0
        self.bad_lines = 0
        self.bad_samples: list[BadLine] = []
        self.problems: list[Problem] = []

    def batches(self) -> Iterator[list[Event]]:
        """The records, in order. Raises nothing for a bad file."""
        try:
            with self.path.open("rb", buffering=0) as raw:
                stream = _Measured(raw)
                try:
                    for chunk in self._whole_lines(self._blocks(stream)):
                        batch = self._decode(chunk)
                        if batch:
                            yield batch
                finally:
                    self.size, self.checksum = stream.size, stream.checksum
        except OSError as error:
            if self.path.is_dir():
                self._problem("unreadable", "this folder cannot be listed; what is in it is not part of the result", 0)
            else:
                self._problem("unreadable", f"cannot be read ({error.strerror or error})", self.size)

    def _problem(self, kind: ProblemKind, message: str, offset: int) -> None:
        self.problems.append(Problem(kind, message, offset, self.lines))

    def _bad(self, line: int, reason: str, text: bytes) -> None:
        self.bad_lines += 1
        if len(self.bad_samples) < _BAD_SAMPLES:
            self.bad_samples.append(BadLine(line, reason, text[:_BAD_EXCERPT].decode("utf-8", "backslashreplace")))

    def _blocks(self, stream: _Measured) -> Iterator[bytes]:
        """The uncompressed text in blocks."""
        head = stream.read(len(MAGIC))
        stream.seek(0)
        if head and (head.startswith(MAGIC[:2]) or MAGIC.startswith(head)):
            members = Members(stream, self._problem)
            try:
                yield from members.blocks()
            finally:
                self.members = members.whole
            return
        if self.path.name.endswith(TRACE_SUFFIX_GZIP):
            self.members = 0
            if head:
                self._problem("not-gzip", "named as gzip, but does not begin as gzip does; read as plain text", 0)
        while block := stream.read(_READ):
            yield block

    def _whole_lines(self, blocks: Iterable[bytes]) -> Iterator[bytes]:
        """Blocks cut at line ends; the last may lack its newline. Lines beyond the limit are left out and counted."""
        carry = b""
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
                carry += block
                if len(carry) > LINE_LIMIT:
                    self._bad(self.lines + 1, f"longer than {LINE_LIMIT} bytes", carry)
                    carry, skipping = b"", True
                continue
            yield carry + block[:end]
            carry = block[end:]
        if carry:
            yield carry
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
                return records
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass
        records = []
        for line in io.BytesIO(chunk):
            self.lines += 1
            bare = line.strip(_BRACKETS)
            if not bare:
                continue
            try:
                bare.decode()
                records += _DECODER.decode_lines(bare)
            except msgspec.ValidationError as error:
                self._bad(self.lines, f"not a record of a trace: {_reason(error)}", bare)
            except msgspec.DecodeError as error:
                self._bad(self.lines, f"not JSON: {_reason(error)}", bare)
            except UnicodeDecodeError as error:
                self._bad(self.lines, f"not UTF-8: byte 0x{bare[error.start]:02x}", bare)
            except RecursionError:
                self._bad(self.lines, "not a record of a trace: nested too deep", bare)
        return records


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
                self._other(process, event)
                continue
            key = (event.cat, event.name)
            tally = tallies.get(key)
            if tally is None:
                tally = tallies[key] = self._tally(process, event)
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
            process = self._processes[pid] = _Process(pid)
        return process

    def _tally(self, process: _Process, event: Event) -> _Tally:
        if not process.tallies and TRACE.old_host in _arguments(event):
            process.bare = True
            process.host = str(_arguments(event)[TRACE.old_host])
        tally = _Tally(_is_tracers(event) or (event.cat == TRACE.libc_category and event.name == TRACE.fork_event))
        tally.first = event.ts
        tally.keys = tuple(_arguments(event))
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
        values = _arguments(event)
        if not _is_tracers(event):
            child = _integer(values.get(TRACE.fork_result))
            if child is not None and child > 0 and len(process.forked) < _CHILDREN:
                process.forked.add(child)
        elif event.name == TRACE.start_event:
            if len(process.starts) < _CHILDREN:
                process.starts.add((event.tid, event.ts, event.id))
            process.start = process.start or values
            if event.ts is not None and (process.started is None or event.ts < process.started):
                process.started = event.ts
        else:
            if len(process.ends) < _CHILDREN:
                process.ends.append(event.tid)
            process.end = values
            if event.ts is not None and (process.ended is None or event.ts > process.ended):
                process.ended = event.ts

    def _other(self, process: _Process, event: Event) -> None:
        """Metadata and aggregated records; counters are not events."""
        if event.ph == TRACE.aggregated_phase:
            values = _arguments(event)
            calls = _integer(values.get(TRACE.calls))
            duration = event.dur
            if duration is None:
                duration = _integer(values.get(TRACE.duration_sum, values.get(TRACE.duration)))
            key = (event.cat, event.name)
            tally = process.tallies.get(key)
            if tally is None:
                tally = process.tallies[key] = self._tally(process, event)
            tally.count += 1 if calls is None else calls
            tally.aggregated += 1
            tally.duration += duration or 0
            process.aggregated = True
            if event.ts is not None:
                process.first = event.ts if process.first is None else min(process.first, event.ts)
                process.last = event.ts if process.last is None else max(process.last, event.ts)
        elif event.ph in TRACE.metadata_phases:
            values = _arguments(event)
            name, value = str(values.get("name", "")), str(values.get("value", ""))
            process.numbered_metadata |= event.id is not None
            if event.name == TRACE.host_record:
                process.host = name
            elif event.name == TRACE.custom_record:
                if name == TRACE.time_metric:
                    process.unit = process.unit or value
                elif len(process.metadata) < _STRINGS:
                    process.metadata[name] = value
            elif event.name in (TRACE.string_record, TRACE.path_record):
                if _SPAWN_COMMAND in name and event.tid is not None and event.tid != event.pid:
                    if len(process.spawned) < _CHILDREN:
                        process.spawned.add(event.tid)
                elif len(self._strings) < _STRINGS:
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
            unit = str(configuration.get(TRACE.time_metric))
        threads = {thread for thread, _, _ in process.starts}
        ends = process.ends
        declared = _integer(process.end.get(TRACE.event_count))
        # comparable where one process wrote the file and numbers its events alone
        comparable = len(process.starts) == len(ends) == 1 and not process.numbered_metadata
        return ProcessTrace(
            pid=process.pid,
            ppid=_integer(process.start.get(TRACE.parent)),
            host=process.host or common.host,
            executable=self._strings.get(str(process.start.get(TRACE.executable_hash))),
            command=self._strings.get(str(process.start.get(TRACE.command_hash))),
            version=str(process.start[TRACE.version]) if TRACE.version in process.start else None,
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


def _arguments(event: Event) -> dict[str, Any]:
    """As ``arguments``, for records whose JSON was found to be nested too deep or odd in another way: none."""
    try:
        return arguments(event)
    except (msgspec.DecodeError, RecursionError):
        return {}


def _units(process: _Process, common: _Process, configuration: object) -> tuple[str, ...]:
    """The units that the records of a process declare, each once."""
    of_end = configuration.get(TRACE.time_metric) if isinstance(configuration, dict) else None
    found = (process.unit, common.unit, _text(of_end))
    return tuple(dict.fromkeys(unit for unit in found if unit is not None))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _integer(value: object) -> int | None:
    try:
        return int(value) if isinstance(value, (int, str)) else None
    except ValueError:
        return None


def _reason(error: Exception) -> str:
    return str(error).removeprefix("JSON is malformed: ").replace("$[0]", "$")
