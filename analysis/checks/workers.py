"""Is every worker process there?

What is a worker is told by the trace: whose child a process is by its start record, what program it ran, what the
trace says about forking; the names of files differ between versions and ways to start. How many there must have been
is known from the user, from the run's audit, or from the calls that started them; from nothing else, and then the
answer is open.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar

from dfannotate.analysis import Check, Expectation, Outcome
from dfannotate.analysis.audit import AuditProcess
from dfannotate.analysis.ledger import Ledger, balance, writes_for_children
from dfannotate.analysis.processes import start_method
from dfannotate.analysis.traces import Process, Traces
from dfannotate.manifest import Manifest, SiteKind
from dfannotate.vocabulary import MINIMUM_EVENTS

_MAKERS: frozenset[SiteKind] = frozenset({"dataloader", "process", "pool"})


class Workers(Check):
    """The worker processes of the trace against those that were started, by all that is known about these."""

    id: ClassVar[str] = "workers"
    position: ClassVar[int] = 30

    def run(self, traces: Traces, manifest: Manifest | None, expectations: Sequence[Expectation]) -> Outcome:
        workers = [process for process in traces.processes if process.role == "worker"]
        there = [process for process in workers if process.recorded]
        empty = [process for process in workers if not process.recorded]
        guests = sum(_guests(process) for process in traces.processes)
        found = len({_identity(process) for process in there}) + guests
        expected = traces.workers_expected
        ledger = balance(traces, traces.audit) if traces.audit else None
        silent = _without_trace(ledger, empty)
        absent = _absent(traces, ledger)
        makers = _makers(manifest)

        faults: list[str] = []
        if empty:
            faults.append(f"{_some([_with_pid(process) for process in empty])} left nothing but an empty file")
        for process, calls in silent:
            faults.append(f"process {process.pid} ({_kind(process)}) made {calls} traced calls and left no file")
        if absent:
            faults.append(
                f"child processes {_some([str(pid) for pid in absent])} were started and left no file (not traced,"
                f" taken away, or fewer than {MINIMUM_EVENTS} events each: then finalize deletes the file)"
            )
        if expected is not None and found != expected:
            faults.append(f"{_workers(found)} left a trace, {expected} are expected (--workers)" + _hint(found))
        details: dict[str, Any] = {
            "workers": [_evidence(process) for process in there],
            "in_their_parents_file": guests,
            "expected": expected,
            "empty": [_evidence(process) for process in empty],
            "without_file": sorted({*absent, *(process.pid for process, _ in silent)}),
            "made_at": makers,
        }
        if faults:
            return Outcome(self.id, "fail", "; ".join(faults), details)
        seen = f"{_workers(found)} left a trace"
        if guests:
            seen += f", {guests} of them inside their parent's file (so did this generation of the tracer)"
        if expected is not None:
            return Outcome(self.id, "pass", f"{seen}, as expected (--workers)", details)
        counted = ledger is not None and traces.audit is not None and bool(traces.audit.processes)
        if counted and ledger and ledger.not_counted:
            strange = _some([process.label for process in ledger.not_counted])
            reason = f"{strange} left a trace and no counts: of another run, or started as python -I or -E?"
            return Outcome(self.id, "warn", f"{seen}; {reason}", details)
        if counted:
            return Outcome(self.id, "pass", f"{seen}; by the audit no other process called a traced function", details)
        started = {child for process in traces.processes for child in (*process.trace.forked, *process.trace.spawned)}
        if there and all(process.trace.pid in started for process in there):
            return Outcome(self.id, "pass", f"{seen}, as many as the trace says were started", details)
        if found:
            reason = f"{seen}; nothing says how many there were (--workers N, or dfannotate run --audit)"
            return Outcome(self.id, "skip", reason, details)
        if makers:
            reason = (
                f"no worker left a trace, though {_some(makers)} can make some: with num_workers=0, or not reached?"
            )
            return Outcome(self.id, "warn", reason, details)
        return Outcome(self.id, "skip", "nothing in the trace or the manifest speaks of workers", details)


def _guests(process: Process) -> int:
    """Workers that wrote into the file of their parent: each that finalized left an end record there."""
    return max(0, process.trace.ends - 1) if writes_for_children(process.trace) else 0


def _identity(process: Process) -> tuple[object, ...]:
    if process.trace.pid is None:
        return (process.file.name,)
    return process.trace.host, process.trace.pid


def _without_trace(ledger: Ledger | None, empty: Sequence[Process]) -> list[tuple[AuditProcess, int]]:
    """Processes that called traced functions, by the audit, and left no file; with the number of these calls."""
    if ledger is None:
        return []
    known = {process.trace.pid for process in empty}
    calls: Counter[tuple[str, int]] = Counter()
    for one in ledger.balances:
        calls[one.host, one.pid] += one.must
    return [(process, calls[process.host, process.pid]) for process in ledger.without_trace if process.pid not in known]


def _absent(traces: Traces, ledger: Ledger | None) -> list[int]:
    """Children without a file, but for those of which the audit knows that they had nothing to leave."""
    absent = traces.absent_children()
    if ledger is None or traces.audit is None:
        return list(absent)
    counted = {process.pid for process in traces.audit.processes}
    with_calls = {process.pid for process in ledger.without_trace}
    spawned = {child for process in traces.processes for child in process.trace.spawned}
    return [pid for pid in absent if pid not in with_calls and pid not in counted and pid in spawned]


def _workers(count: int) -> str:
    return f"{count or 'no'} worker process{'' if count == 1 else 'es'}"


def _kind(process: AuditProcess) -> str:
    how = "forked" if process.forked else "started"
    return f"{how} by {process.ppid}: {process.command[:80]}"


def _makers(manifest: Manifest | None) -> list[str]:
    return [
        f"{entry.path}:{site.line}"
        for entry in (manifest.files if manifest else ())
        for site in entry.sites
        if site.kind in _MAKERS
    ]


def _hint(found: int) -> str:
    return "; a loader whose workers are not persistent starts new ones each epoch, and each counts" if found else ""


def _with_pid(process: Process) -> str:
    return f"process {process.trace.pid} ({process.file.name})" if process.trace.pid is not None else process.file.name


def _evidence(process: Process) -> dict[str, Any]:
    return {
        "pid": process.trace.pid,
        "ppid": process.trace.ppid,
        "host": process.trace.host,
        "started_by": start_method(process),
        "file": process.file.name,
        "events": process.trace.count,
    }


def _some(names: Sequence[str], limit: int = 5) -> str:
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more
