"""Does every real call of an annotated function have its event? The one check that can prove that nothing is lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar

from dfannotate.analysis import Check, Expectation, Outcome, Status
from dfannotate.analysis.audit import DISTURBED, THREADED, Audit, Phase
from dfannotate.analysis.ledger import Balance, Ledger, balance
from dfannotate.analysis.traces import Traces
from dfannotate.manifest import Manifest
from dfannotate.vocabulary import HAZARDOUS_NAMES, LOG_STATIC


class Audited(Check):
    """The calls that ``run --audit`` counted, against the events, process by process."""

    id: ClassVar[str] = "audit"
    position: ClassVar[int] = 60

    def run(self, traces: Traces, manifest: Manifest | None, expectations: Sequence[Expectation]) -> Outcome:
        audit = traces.audit
        if audit is None:
            return Outcome(self.id, "skip", "the calls of this run were not counted (dfannotate run --audit)")
        if not audit.processes:
            reason = "; ".join(audit.problems) or (
                "no Python process counted its calls: they were started without the variables of the run, or as"
                " python -I, -E or -S, which read neither PYTHONPATH nor a sitecustomize"
            )
            return Outcome(self.id, "skip", reason, {"problems": list(audit.problems)})
        ledger = balance(traces, audit)
        calls = sum(one.must for one in ledger.balances)
        lost = ledger.lost
        refused = _refused(audit)
        doubts = _doubts(audit, ledger)
        untraced = _calls_in(audit, "importing") + _calls_in(audit, "before")
        late = _calls_in(audit, "after")
        details: dict[str, Any] = {
            "processes": len(audit.processes),
            "calls": calls,
            "events_lost": sum(one.lost for one in lost),
            "lost": [_evidence(one, one.lost) for one in lost],
            "in_excess": [_evidence(one, one.excess) for one in ledger.excess],
            "refused": refused,
            "raised": _by_function(audit, raised=True),
            "before_start": _by_function(audit, "importing", "before"),
            "after_finalize": _by_function(audit, "after"),
            "not_counted": [{"pid": one.trace.pid, "file": one.file.name} for one in ledger.not_counted],
            "disturbed": [one.pid for one in audit.processes if one.flags & DISTURBED],
            "problems": list(audit.problems),
        }
        remarks = []
        if untraced and not lost:
            remarks.append(f"{untraced} more calls ended before tracing started in their process, and left none")
        if late:
            remarks.append(f"{late} calls ended after their process had finalized its trace, and left none")
        faults = [_losses(lost)] if lost else []
        if refused:
            shown = ", ".join(f"{one['calls']} of {one['function']} ({one['place']})" for one in refused[:5])
            faults.append(
                f"the tracer refused the arguments of calls and raised in their place: {shown}; it converts what is"
                f" called {', '.join(sorted(HAZARDOUS_NAMES))}, decorate them with {LOG_STATIC} (dfannotate apply does)"
            )
        if faults:
            return Outcome(self.id, "fail", "; ".join([*faults, *doubts, *remarks]), details)
        if ledger.excess:
            first = ledger.excess[0]
            doubts.insert(
                0,
                f"process {first.pid} has {first.excess} more events {first.key[0]}:{first.key[1]} than calls were"
                " counted, so something besides the annotated function logs them, or records stand twice, or calls in"
                " threads that are not Python's own were missed",
            )
        count = len(audit.processes)
        where = f"{calls} calls in {count} process{'' if count == 1 else 'es'}"
        if doubts:
            status: Status = "warn" if ledger.excess else "skip"
            return Outcome(self.id, status, "; ".join([f"not proven: {doubts[0]}", *doubts[1:], *remarks]), details)
        if not calls:
            message = "no annotated function was called while its process was traced"
            return Outcome(self.id, "skip", "; ".join([message, *remarks]), details)
        message = f"events lost: 0 ({where}, each with its event)"
        return Outcome(self.id, "warn" if late else "pass", "; ".join([message, *remarks]), details)


def _losses(lost: Sequence[Balance], limit: int = 5) -> str:
    total = sum(one.lost for one in lost)
    shown = [
        f"{one.lost} of {one.must} {one.key[0]}:{one.key[1]} in process {one.pid} ({one.reason})"
        for one in sorted(lost, key=lambda one: -one.lost)[:limit]
    ]
    more = f" and {len(lost) - limit} more" if len(lost) > limit else ""
    return f"events lost: {total}: {', '.join(shown)}{more}"


def _doubts(audit: Audit, ledger: Ledger) -> list[str]:
    """Why the counts may be short of the truth."""
    doubts = []
    disturbed = [str(one.pid) for one in audit.processes if one.flags & DISTURBED]
    if disturbed:
        doubts.append(
            f"the program set a profiler of its own (sys.setprofile) in process {', '.join(disturbed[:5])}, which ended"
            " the counting there; from Python 3.12 on both go together"
        )
    threaded = [str(one.pid) for one in audit.processes if one.flags & THREADED]
    if threaded:
        doubts.append(f"process {', '.join(threaded[:5])} ran threads without the interpreter's lock, and miscounts")
    if ledger.not_counted:
        names = ", ".join(one.label for one in ledger.not_counted[:5])
        doubts.append(
            f"the calls of {names} were not counted (started as python -I, -E or -S, or with a PYTHONPATH of its own)"
        )
    return [*doubts, *audit.problems]


def _calls_in(audit: Audit, phase: Phase) -> int:
    return sum(calls.total(phase) for process in audit.processes for calls in process.calls.values())


def _by_function(audit: Audit, *phases: Phase, raised: bool = False) -> list[dict[str, Any]]:
    found: Counter[int] = Counter()
    for process in audit.processes:
        for index, calls in process.calls.items():
            found[index] += sum(calls.raised.values()) if raised else calls.total(*phases)
    return [
        {"function": audit.sites[index].function, "place": audit.sites[index].place, "calls": count}
        for index, count in sorted(found.items())
        if count
    ]


def _refused(audit: Audit) -> list[dict[str, Any]]:
    found: Counter[int] = Counter()
    for process in audit.processes:
        found.update({index: calls.refused for index, calls in process.calls.items() if calls.refused})
    return [
        {"function": audit.sites[index].function, "place": audit.sites[index].place, "calls": count}
        for index, count in sorted(found.items())
    ]


def _evidence(one: Balance, count: int) -> dict[str, Any]:
    return {
        "pid": one.pid,
        "host": one.host,
        "functions": list(one.functions),
        "category": one.key[0],
        "event": one.key[1],
        "calls": one.must,
        "events": one.events,
        "number": count,
        "reason": one.reason,
    }
