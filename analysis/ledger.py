"""Calls held against events: what was counted without the tracer, process by process, and what the trace has of it.

An event of a decorated function is written when a call returns, that of a region however it ends. Calls that end
before tracing starts or after it is finalized leave none. Forked children of old generations write into the file of
their parent and under its pid; their calls are held against it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection
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
    """Processes of the trace that have no counts."""

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
    accounts: dict[_Identity, _Account] = {}
    without_trace: dict[_Identity, AuditProcess] = {}
    for process in audit.processes:
        holder = traced.holder(process)
        account = accounts.setdefault(holder or (process.host, process.pid), _Account(process))
        for index, calls in process.calls.items():
            site = audit.sites[index]
            if site.key not in keys:
                continue
            certain, possible = _events_of(site, calls, process)
            account.must[site.key] += certain
            account.may[site.key] += possible
            account.functions[site.key].add(site.function)
            if certain and holder is None:
                without_trace[process.host, process.pid] = process
    balances = []
    for identity, account in accounts.items():
        seen = traced.events(identity, keys)
        for key in sorted({*account.must, *seen}):
            lost = account.must[key] > seen[key]
            balances.append(
                Balance(
                    pid=identity[1],
                    host=identity[0],
                    key=key,
                    functions=tuple(sorted(account.functions[key])),
                    must=account.must[key],
                    may=account.may[key],
                    events=seen[key],
                    reason=_reason(account.process, traced.of(identity), account.must.total()) if lost else "",
                )
            )
    counted = {process.pid for process in audit.processes}
    not_counted = tuple(
        one for one in traces.processes if one.recorded and one.trace.pid is not None and one.trace.pid not in counted
    )
    return Ledger(tuple(balances), tuple(without_trace.values()), not_counted)


_Identity = tuple[str, int]
"""Host and pid."""


class _Account:
    """What the processes that write into one file must have left there; ``process`` is the first of them."""

    def __init__(self, process: AuditProcess) -> None:
        self.process = process
        self.must: Counter[Key] = Counter()
        self.may: Counter[Key] = Counter()
        self.functions: dict[Key, set[str]] = defaultdict(set)


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
        self._parents = {(one.host, one.pid): (one.host, one.ppid) for one in audit.processes if one.forked}

    def of(self, identity: _Identity) -> list[Process]:
        """What the trace has of a process. A trace may lack its host; the pid must do, then."""
        host, pid = identity
        return [one for one in self._by_pid.get(pid, ()) if one.trace.host is None or one.trace.host == host]

    def holder(self, process: AuditProcess) -> _Identity | None:
        """Under whom the events of a process stand: itself, or the nearest forebear whose children write into its
        file. None where there is neither."""
        identity: _Identity | None = (process.host, process.pid)
        if any(one.recorded or not one.file.empty for one in self.of((process.host, process.pid))):
            return identity
        for _ in range(len(self._parents)):
            identity = self._parents.get(identity) if identity is not None else None
            if identity is None:
                break
            if any(writes_for_children(one.trace) for one in self.of(identity)):
                return identity
        return None

    def events(self, identity: _Identity, keys: Collection[Key]) -> Counter[Key]:
        found: Counter[Key] = Counter()
        for process in self.of(identity):
            for key, tally in process.trace.events.items():
                if key in keys:
                    found[key] += tally.calls
        return found


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
    return "its trace is whole without them: the tracer refused what they were to say, or records were taken out"
