"""The calls of annotated functions as they were counted without the tracer: what ``run --audit`` leaves beside a trace.

A folder ``audit`` in that of the traces holds the plan (what is counted, written before the run) and one file of
counters for each process, which is a memory map: what a process counted is there however it ended.

A counters file is a head (JSON, padded with NUL), then words of 64 bits: ``STATE``, ``FLAGS``, spare ones up to
``WORDS``, then for each site of the plan one word for each pair of phase and way to end.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

FOLDER = "audit"
PLAN = "plan.json"
SUFFIX = ".counts"
FAILURE_SUFFIX = ".failed"
VERSION = 1

HEAD = 1024
WORDS = 8
STATE, FLAGS = 0, 1
"""Which word is which."""
NOT_STARTED, STARTED, FINALIZED = 0, 1, 2
"""Values of ``STATE``: of the tracer in the process."""
DISTURBED, THREADED = 1, 2
"""Bits of ``FLAGS``: the program put a profiler of its own in the place of the counter; threads run without a lock, so
that counts are lost."""

Phase = Literal["importing", "before", "traced", "after"]
PHASES: tuple[Phase, ...] = ("importing", "before", "traced", "after")
"""When a call ended: before tracing started, while a module was being imported or otherwise; while the process was
traced; after it finalized its trace."""
ENDS = 2 * len(PHASES) + 1
"""Words of a site: phase by phase, first the calls that returned, then those that raised; and last the calls out of
which an exception came through the tracer's own decorator."""


@dataclass(frozen=True)
class AuditSite:
    """A function whose calls are counted. ``kind``, ``event`` and ``category`` are those of the manifest's site."""

    path: str
    line: int
    function: str
    event: str
    category: str
    kind: str
    countable: bool = True
    """The ends of its calls are the ends of its events. Not so where a decorator stands on a generator or coroutine
    function: the event is of the creation, which runs nothing that could be counted."""

    @property
    def key(self) -> tuple[str, str]:
        return self.category, self.event

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}"


@dataclass(frozen=True)
class SiteCalls:
    """Calls of one function in one process, by phase: those that returned, and those that raised."""

    returned: Mapping[Phase, int]
    raised: Mapping[Phase, int]
    broken: int = 0
    """Calls out of which an exception came through the tracer's decorator, the function's own among them."""

    @property
    def refused(self) -> int:
        """Calls whose arguments the tracer refused: it raised itself, before the function ran or when it had."""
        return max(0, self.broken - sum(self.raised.values()))

    def total(self, *phases: Phase) -> int:
        """All calls that ended in these phases, by default in any."""
        return sum(self.returned[phase] + self.raised[phase] for phase in phases or PHASES)


@dataclass(frozen=True)
class AuditProcess:
    """One Python interpreter: a process, or what it was before it was replaced by another program."""

    pid: int
    ppid: int
    host: str
    command: str
    forked: bool
    enabled: bool
    """The tracer was turned on in its environment."""
    state: int
    flags: int
    calls: Mapping[int, SiteCalls] = field(default_factory=dict)
    """By the index of the site; only those that were called."""


@dataclass(frozen=True)
class Audit:
    """``problems`` are the reasons for which something could not be counted, or not be read, in words."""

    sites: tuple[AuditSite, ...]
    processes: tuple[AuditProcess, ...]
    problems: tuple[str, ...] = ()

    def events(self) -> frozenset[tuple[str, str]]:
        """The (category, event) whose calls are counted, wherever they are logged."""
        uncountable = {site.key for site in self.sites if not site.countable}
        return frozenset(site.key for site in self.sites) - uncountable

    def calls(self, key: tuple[str, str]) -> Iterator[tuple[AuditProcess, AuditSite, SiteCalls]]:
        """The calls of all functions that log such an event, in every process."""
        for process in self.processes:
            for index, calls in process.calls.items():
                if self.sites[index].key == key:
                    yield process, self.sites[index], calls


def plan_text(sites: Sequence[AuditSite], files: Sequence[Mapping[str, Any]], tracer: Mapping[str, Any]) -> str:
    """The plan as JSON. ``files`` say which code belongs to which site, for the counter alone; ``tracer`` says by
    which names it knows the tracer's functions."""
    return json.dumps(
        {
            "version": VERSION,
            "head": HEAD,
            "words": WORDS,
            "ends": ENDS,
            "state": STATE,
            "flags": FLAGS,
            "tracer": dict(tracer),
            "sites": [vars(site) for site in sites],
            "files": list(files),
        }
    )


def read_audit(trace_dir: Path) -> Audit | None:
    """The counts of a run, None where it was not audited. Raises nothing for what is broken: it is a problem."""
    folder = (trace_dir if trace_dir.is_dir() else trace_dir.parent) / FOLDER
    if not folder.is_dir():
        return None
    try:
        if (folder / PLAN).exists() and not (folder / PLAN).is_file():
            raise ValueError("not a regular file")
        sites = _sites((folder / PLAN).read_bytes())
    except OSError as error:
        return Audit((), (), (f"{FOLDER}/{PLAN} cannot be read ({error.strerror})",))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        return Audit((), (), (f"{FOLDER}/{PLAN} is not a plan of version {VERSION} ({error})",))
    processes = []
    problems = []
    for path in sorted(folder.iterdir()):
        if path.name.endswith((SUFFIX, FAILURE_SUFFIX)) and not path.is_file():
            problems.append(f"{FOLDER}/{path.name} is not a regular file")
        elif path.name.endswith(FAILURE_SUFFIX):
            problems.append(_failure(path))
        elif path.name.endswith(SUFFIX):
            try:
                processes.append(_process(path.read_bytes(), len(sites)))
            except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
                problems.append(f"{FOLDER}/{path.name} cannot be read ({error})")
    return Audit(sites, tuple(processes), tuple(problems))


def _sites(data: bytes) -> tuple[AuditSite, ...]:
    document = json.loads(data)
    if document["version"] != VERSION:
        raise ValueError(f"version {document['version']!r}")
    return tuple(AuditSite(**site) for site in document["sites"])


def _process(data: bytes, sites: int) -> AuditProcess:
    if len(data) != HEAD + 8 * (WORDS + ENDS * sites):
        raise ValueError(f"{len(data)} bytes, which do not fit the plan")
    head = json.loads(data[:HEAD].rstrip(b"\0"))
    order = "<" if head["byteorder"] == "little" else ">"
    words = struct.unpack_from(f"{order}{WORDS + ENDS * sites}Q", data, HEAD)
    calls = {}
    for site in range(sites):
        ends = words[WORDS + ENDS * site : WORDS + ENDS * (site + 1)]
        if any(ends):
            returned, raised = (dict(zip(PHASES, ends[way : ENDS - 1 : 2], strict=True)) for way in (0, 1))
            calls[site] = SiteCalls(returned, raised, ends[-1])
    return AuditProcess(
        pid=int(head["pid"]),
        ppid=int(head["ppid"]),
        host=str(head["host"]),
        command=str(head["command"]),
        forked=bool(head["forked"]),
        enabled=bool(head["enabled"]),
        state=words[STATE],
        flags=words[FLAGS],
        calls=calls,
    )


def _failure(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError as error:
        return f"{FOLDER}/{path.name} cannot be read ({error.strerror})"
