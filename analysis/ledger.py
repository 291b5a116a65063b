"""Calls held against events: what was counted without the tracer, process by process, and what the trace has of it.

An event of a decorated function is written when a call returns, that of a region however it ends. Calls that end
before tracing starts or after it is finalized leave none. Forked children of old generations write into the file of
their parent and under its pid; their calls are held against it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from dfannotate.analysis.audit import NOT_STARTED, Audit, AuditProcess, AuditSite, SiteCalls
from dfannotate.analysis.traces import Process, ProcessTrace, Traces
from dfannotate.vocabulary import MINIMUM_EVENTS

Key = tuple[str, str]


@dataclass(frozen=True)
class Balance:
    """One kind of event in one process: the calls that must have left one, those that may have, and the events."""

    pid: int
    host: str
    key: Key
    functions: tuple[str, ...]
    must: int
    may: int
    events: int
    reason: str
    """The likely reason why events are missing; empty where none is."""

    @property
    def lost(self) -> int:
        return max(0, self.must - self.events)

    @property
    def excess(self) -> int:
        return max(0, self.events - self.must - self.may)


@dataclass(frozen=True)
class Ledger:
    """``untraced`` are processes that called annotated functions and never traced; their calls are among the lost."""

    balances: tuple[Balance, ...]
    without_trace: tuple[AuditProcess, ...]
    not_counted: tuple[Process, ...]
    """Processes of the trace that have events of annotated functions and no counts."""

    @property
    def lost(self) -> tuple[Balance, ...]:
        return tuple(balance for balance in self.balances if balance.lost)

    @property
    def excess(self) -> tuple[Balance, ...]:
        return tuple(balance for balance in self.balances if balance.excess)


def balance(traces: Traces, audit: Audit) -> Ledger:
    """Hold the trace of a run against its audit."""
    keys = audit.events()
    traced = _Traced(traces, audit)
    must: dict[int, dict[Key, int]] = defaultdict(lambda: defaultdict(int))
    may: dict[int, dict[Key, int]] = defaultdict(lambda: defaultdict(int))
    functions: dict[tuple[int, Key], set[str]] = defaultdict(set)
    first: dict[int, AuditProcess] = {}
    without_trace: dict[int, AuditProcess] = {}
    for process in audit.processes:
        of_trace = traced.holder(process)
        group = process.pid if of_trace is None else of_trace
        first.setdefault(group, process)
        for index, calls in process.calls.items():
            site = audit.sites[index]
            if site.key not in keys:
                continue
            certain, possible = _events_of(site, calls, process)
            must[group][site.key] += certain
            may[group][site.key] += possible
            functions[group, site.key].add(site.function)
            if certain and of_trace is None:
                without_trace[process.pid] = process
    balances = []
    for group, process in first.items():
        seen = traced.events(group, keys)
        for key in sorted({*must[group], *seen}):
            lost = must[group][key] > seen.get(key, 0)
            balances.append(
                Balance(
                    pid=group,
                    host=process.host,
                    key=key,
                    functions=tuple(sorted(functions[group, key])),
                    must=must[group][key],
                    may=may[group][key],
                    events=seen.get(key, 0),
                    reason=_reason(process, traced.of(group), sum(must[group].values())) if lost else "",
                )
            )
    not_counted = tuple(
        one
        for one in traces.processes
        if one.trace.pid is not None and one.trace.pid not in first and any(key in keys for key in one.trace.events)
    )
    return Ledger(tuple(balances), tuple(without_trace.values()), not_counted)


def _events_of(site: AuditSite, calls: SiteCalls, process: AuditProcess) -> tuple[int, int]:
    """How many events calls of a function must have left, and how many more they may have."""
    if process.state == NOT_STARTED:
        # What runs while modules are imported comes before any tracing; what runs later was to be traced.
        return calls.returned["before"] + (calls.raised["before"] if site.kind == "region" else 0), 0
    late = calls.total("after")  # of a thread that goes on while the trace is being closed
    if site.kind == "region":
        return calls.total("traced"), late
    if site.kind == "event":  # where it raised, the expressions of its clock may have had no value yet
        return calls.returned["traced"], calls.raised["traced"] + late
    return calls.returned["traced"], late


def writes_for_children(trace: ProcessTrace) -> bool:
    """Whether forked children write into the file of this process, as in every generation before 2.1."""
    version = trace.version or ""
    old = version.startswith(("v1.", "v2.0.")) or (version.isdigit() and 100_000 <= int(version) < 200_000)
    return old or trace.bare or trace.ends > 1


class _Traced:
    """The processes of a trace, as those of an audit find them."""

    def __init__(self, traces: Traces, audit: Audit) -> None:
        self._by_pid: dict[int, list[Process]] = defaultdict(list)
        for process in traces.processes:
            if process.trace.pid is not None:
                self._by_pid[process.trace.pid].append(process)
        self._parents = {one.pid: one.ppid for one in audit.processes if one.forked}

    def of(self, pid: int) -> list[Process]:
        return self._by_pid.get(pid, [])

    def holder(self, process: AuditProcess) -> int | None:
        """The pid under which the events of a process stand: its own, or that of the nearest forebear whose file its
        children write into."""
        if any(_same_host(one, process) and (one.recorded or not one.file.empty) for one in self.of(process.pid)):
            return process.pid
        pid: int | None = process.pid
        for _ in range(len(self._parents)):
            pid = self._parents.get(pid) if pid is not None else None
            if pid is None:
                break
            if any(writes_for_children(one.trace) for one in self.of(pid)):
                return pid
        return None

    def events(self, pid: int, keys: Iterable[Key]) -> dict[Key, int]:
        found: dict[Key, int] = defaultdict(int)
        for process in self.of(pid):
            for key, tally in process.trace.events.items():
                found[key] += tally.calls
        return {key: found[key] for key in keys if found.get(key)}


def _same_host(process: Process, counted: AuditProcess) -> bool:
    return process.trace.host is None or process.trace.host == counted.host


def _reason(process: AuditProcess, traced: list[Process], calls: int) -> str:
    if process.state == NOT_STARTED:
        return "tracing never started there" if process.enabled else "tracing is turned off in its environment"
    if not traced:
        if calls < MINIMUM_EVENTS:
            return f"it left no file: finalize deletes the trace of a process with fewer than {MINIMUM_EVENTS} events"
        return "it left no file"
    files = [one.file for one in traced]
    if any(file.empty for file in files):
        return f"{files[0].name} is empty: it was killed, or ended without finalize"
    if any(file.problems for file in files):
        return f"{files[0].name} is cut off or damaged"
    if any(file.bad_lines for file in files):
        return f"{files[0].name} has lines that are not records"
    if not any(one.trace.finalized for one in traced):
        return "it was killed, or ended without finalize"
    return "the tracer wrote no event for them: arguments that it refuses (their names or values), or records taken out"
