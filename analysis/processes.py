"""Which process each trace file belongs to, and what part it plays: main program, worker, or one of many ranks.

By what the trace says first (parents, executables, command lines), by file names where it says nothing: a file of
0 bytes has only its name, which is a hash of executable, host and pid.
"""

from __future__ import annotations

import hashlib
import re
import socket
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from dfannotate.analysis.traces import FileSummary, Process, ProcessTrace, Role
from dfannotate.vocabulary import TRACE, TRACE_SUFFIX

_NAME = re.compile(rf"(?:^|-)(?P<hash>[0-9a-f]{{16}})-(?P<suffix>[a-z]*){re.escape(TRACE_SUFFIX)}(?:\.gz)?")
_NAME_WITH_PID = re.compile(rf"-(?P<pid>[0-9]{{1,7}})-[a-z]*{re.escape(TRACE_SUFFIX)}(?:\.gz)?")
_NEARBY = 20_000
_TRIES = 300_000
"""How far from a known pid the pid of an empty file is looked for (processes of one run start close together), and how
many names are tried at most: under half a second."""
_MULTIPROCESSING = "multiprocessing"


def pid_in_name(name: str) -> int | None:
    """The pid that the older generations put into the name of the file."""
    match = _NAME_WITH_PID.search(name)
    return int(match["pid"]) if match and not _NAME.search(name) else None


def is_of_one_process(name: str) -> bool:
    """Whether a file is named as the tracer names that of one process."""
    return bool(_NAME.search(name) or _NAME_WITH_PID.search(name))


def assign(files: Sequence[FileSummary]) -> tuple[Process, ...]:
    """Every process of every file, with its role; files without a record have one process, whose pid may be None."""
    known = {trace.pid for file in files for trace in file.processes if trace.pid is not None}
    wanted = {
        match["hash"]
        for file in files
        for trace in file.processes
        if trace.pid is None and (match := _NAME.search(file.path.name))
    }
    named = _pids_of_names(wanted, files, known) if wanted else {}
    found: list[tuple[FileSummary, ProcessTrace, str | None]] = []
    for file in files:
        match = _NAME.search(file.path.name)
        for trace in file.processes:
            executable = trace.executable
            if trace.pid is None and match and match["hash"] in named:
                pid, host, executable = named[match["hash"]]
                trace = replace(trace, pid=pid, host=host)
            found.append((file, trace, executable))

    top: list[ProcessTrace] = []
    roles: list[Role] = []
    pids = {trace.pid for _, trace, _ in found}
    parents = Counter((trace.host, trace.ppid) for _, trace, _ in found if trace.ppid is not None)
    for file, trace, executable in found:
        worker = _is_worker(file, trace, executable, pids)
        roles.append("worker" if worker else "main")
        if not worker:
            top.append(trace)
    siblings = len(top) > 1 and (
        len({trace.host for trace in top}) > 1
        or any(trace.ppid is not None and parents[trace.host, trace.ppid] > 1 for trace in top)
        or all(trace.ppid is None for trace in top)
    )
    recorded = any(trace.events or trace.starts for trace in top)
    processes: list[Process] = []
    for (file, trace, executable), role in zip(found, roles, strict=True):
        if role == "main":
            if trace.rank is not None:
                role = "rank"
            elif executable is None and not trace.events and not trace.starts and recorded:
                role = "worker"  # nothing but an empty file, beside a main program that left a trace
            elif siblings:
                role = "rank"
        processes.append(Process(file, role, trace))
    return _with_contradictions(processes)


def start_method(process: Process) -> str:
    """How a worker came to be: ``fork``, ``spawn``, ``forkserver``, or ``?`` where nothing tells."""
    match = _NAME.search(process.file.path.name)
    command = process.trace.command or ""
    if f"from {_MULTIPROCESSING}.forkserver" in command:
        return "forkserver"
    if f"from {_MULTIPROCESSING}" in command or process.trace.executable == TRACE.spawn_executable:
        return "spawn"
    return "fork" if match and match["suffix"] in (TRACE.fork_suffix, "") else "?"


def _with_contradictions(processes: Sequence[Process]) -> tuple[Process, ...]:
    """With the pids of those files whose name was made for another process than the one in their records."""
    executables = {process.trace.executable for process in processes if process.trace.executable}
    if not executables:
        return tuple(processes)  # the names cannot be made again
    executables |= {TRACE.default_executable, TRACE.spawn_executable}
    doubtful: dict[str, Process] = {}
    for process in processes:
        match = _NAME.search(process.file.path.name)
        host, pid = process.trace.host, process.trace.pid
        if match and pid is not None and host and process.recorded:
            own = {_hash(executable, host, pid) for executable in executables}
            if match["hash"] not in own:
                doubtful[match["hash"]] = process
    if not doubtful:
        return tuple(processes)
    known = {process.trace.pid for process in processes if process.trace.pid is not None}
    known |= {process.trace.ppid for process in processes if process.trace.ppid is not None}
    named = _pids_of_names(set(doubtful), [process.file for process in processes], known)
    other = {id(doubtful[name]): pid for name, (pid, _, _) in named.items() if pid != doubtful[name].trace.pid}
    return tuple(
        replace(process, named_pid=other[id(process)]) if id(process) in other else process for process in processes
    )


def _hash(executable: str, host: str, pid: int) -> str:
    """What stands in the name of a trace file: every second byte of a digest, in hexadecimal."""
    return hashlib.md5(f"{executable}-{host}-{pid}".encode(), usedforsecurity=False).digest()[::2].hex()


def _is_worker(file: FileSummary, trace: ProcessTrace, executable: str | None, pids: Iterable[int | None]) -> bool:
    match = _NAME.search(file.path.name)
    if match and match["suffix"] in (TRACE.fork_suffix, ""):
        return True
    if trace.ppid is not None and trace.ppid != trace.pid and trace.ppid in pids:
        return True
    if executable is not None and executable.endswith(TRACE.spawn_executable):
        return True
    # workers of the fork server have a parent that leaves no trace, and are told by their command line
    return trace.command is not None and f"from {_MULTIPROCESSING}" in trace.command


def _pids_of_names(wanted: set[str], files: Sequence[FileSummary], known: set[int]) -> dict[str, tuple[int, str, str]]:
    """(pid, host, executable) of the hashes in file names, found by trying pids near those that are known."""
    traces = [trace for file in files for trace in file.processes]
    hosts = {trace.host for trace in traces if trace.host} or {socket.gethostname()}
    executables = {trace.executable for trace in traces if trace.executable}
    executables |= {TRACE.default_executable, TRACE.spawn_executable}
    children = {child for trace in traces for child in (*trace.forked, *trace.spawned)}
    found: dict[str, tuple[int, str, str]] = {}
    names = [(host, executable) for host in sorted(hosts) for executable in sorted(executables)]
    for pid in islice(_candidates(sorted(known), children), _TRIES // len(names)):
        for host, executable in names:
            name = _hash(executable, host, pid)
            if name in wanted:
                found[name] = (pid, host, executable)
        if len(found) == len(wanted):
            break
    return found


def _candidates(known: Sequence[int], children: Iterable[int]) -> Iterator[int]:
    """Pids to try, each once: children that the trace mentions, then outwards from the known ones."""
    tried = set(children)
    yield from sorted(tried)
    for step in range(_NEARBY):
        for pid in known:
            for candidate in (pid + step, pid - step):
                if candidate > 0 and candidate not in tried:
                    tried.add(candidate)
                    yield candidate
