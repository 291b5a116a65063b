"""Did every annotated function leave an event, and every process a file?

A silent function proves nothing by itself: it may never have been called, which the run's audit knows. It does where a
process that could have called it left nothing, or where nothing annotated left an event at all.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from dfannotate.analysis import Check, Expectation, Outcome, Status
from dfannotate.analysis.audit import PHASES, Audit, Phase
from dfannotate.analysis.ledger import Balance, Key, balance
from dfannotate.analysis.traces import Traces
from dfannotate.manifest import Manifest
from dfannotate.vocabulary import MINIMUM_EVENTS


class Coverage(Check):
    """The events of the manifest's sites against the trace, and the processes that the trace mentions against files."""

    id: ClassVar[str] = "coverage"
    position: ClassVar[int] = 40

    def run(self, traces: Traces, manifest: Manifest | None, expectations: Sequence[Expectation]) -> Outcome:
        sites = _sites(manifest)
        calls = {(total.category, total.name): total.count for total in traces.totals()}
        fired = [key for key in sites if calls.get(key)]
        silent = [key for key in sites if not calls.get(key)]
        lost = [file.name for file in traces.lossy_files()]
        absent = traces.absent_children()
        gone: list[str] = []
        if lost:
            gone.append(f"events of {_some(lost)} are lost")
        if absent:
            gone.append(
                f"child processes {_some([str(pid) for pid in absent])} left no file (not traced, or fewer than"
                f" {MINIMUM_EVENTS} events each: then finalize takes the file away)"
            )
        because = "; ".join(gone)
        reasons = _reasons(silent, traces, because)
        details: dict[str, Any] = {
            "annotated": len(sites),
            "fired": len(fired),
            "silent": [
                {
                    "category": category,
                    "event": event,
                    "places": sites[category, event],
                    "reason": reasons[category, event].text,
                }
                for category, event in silent
            ],
            "files_with_losses": lost,
            "processes_without_file": list(absent),
        }
        if not sites:
            if gone:
                return Outcome(self.id, "fail", f"{because}; what they did cannot be told from this trace", details)
            reason = "no manifest (--manifest FILE): nothing says what was annotated"
            if manifest is not None:
                reason = "the manifest names no annotation that logs an event"
            return Outcome(self.id, "skip", reason, details)
        if not fired:
            message = f"none of the {len(sites)} annotated functions left an event"
            hint = because or "is this the trace of the annotated program, and was the tracer initialized in it?"
            return Outcome(self.id, "fail", f"{message}; {hint}", details)
        share = f"{len(fired)} of {len(sites)} annotated functions left events"
        told = f"{share}; silent: {_in_words(silent, reasons)}" if silent else share
        if lost or any(reasons[key].weight == "fail" for key in silent):
            return Outcome(self.id, "fail", f"{told}; {because}" if because else told, details)
        known = traces.audit is not None and bool(traces.audit.processes)
        if absent and not known:
            return Outcome(self.id, "fail" if silent else "warn", f"{told}; {because}", details)
        status: Status = "warn" if any(reasons[key].weight == "warn" for key in silent) else "pass"
        return Outcome(self.id, status, told, details)


@dataclass(frozen=True)
class _Reason:
    """Why a function is silent, and how much it matters: what is in order passes."""

    text: str
    weight: Status


def _reasons(silent: Iterable[Key], traces: Traces, because: str) -> dict[Key, _Reason]:
    """The likely reason of each silence: by the run's audit where there is one, else by what is gone."""
    audit = traces.audit
    if audit is None or not audit.processes:
        guess = "its events may be among those that are gone" if because else "never called, or raised every time"
        return {key: _Reason(guess, "warn") for key in silent}
    ledger = balance(traces, audit)
    lost: dict[Key, list[Balance]] = defaultdict(list)
    for one in ledger.lost:
        lost[one.key].append(one)
    counted = audit.events()
    return {key: _reason(key, audit, lost[key], key in counted) for key in silent}


def _reason(key: Key, audit: Audit, lost: Sequence[Balance], counted: bool) -> _Reason:
    if not counted:
        return _Reason("its calls were not counted", "warn")
    refused = sum(calls.refused for _, _, calls in audit.calls(key))
    if refused:
        return _Reason(f"the tracer refused the arguments of {refused} calls, and raised in their place", "fail")
    if lost:
        where = ", ".join(f"process {one.pid}: {one.reason}" for one in lost[:2])
        return _Reason(f"called {sum(one.must for one in lost)} times, and every event is lost ({where})", "fail")
    phases: Counter[Phase] = Counter()
    returned: Counter[Phase] = Counter()
    for _, _, calls in audit.calls(key):
        phases.update({phase: calls.total(phase) for phase in PHASES})
        returned.update(calls.returned)
    if not phases.total():
        return _Reason("never called, or stopped before its end", "pass")
    if phases["traced"]:
        if not returned["traced"]:
            return _Reason("raised every time", "pass")
        return _Reason("called, by the audit; is this another trace?", "fail")
    if phases["after"]:
        return _Reason("only called after its process had finalized the trace", "warn")
    if phases["importing"] == phases.total():
        return _Reason("only called while modules were imported, before tracing started", "warn")
    return _Reason("only called before tracing started in its process", "warn")


def _in_words(silent: Sequence[Key], reasons: Mapping[Key, _Reason], limit: int = 5) -> str:
    """The silent events by reason, the gravest first."""
    order = ("fail", "warn", "pass")
    by_reason: dict[_Reason, list[str]] = defaultdict(list)
    for key in sorted(silent, key=lambda key: order.index(reasons[key].weight)):
        by_reason[reasons[key]].append(f"{key[0]}:{key[1]}")
    told = [f"{_some(names)} ({reason.text})" for reason, names in list(by_reason.items())[:limit]]
    return ", ".join(told)


def _sites(manifest: Manifest | None) -> dict[Key, list[str]]:
    """The events that annotations log, each with the places (``path:line``) that log it."""
    sites: dict[Key, list[str]] = {}
    for entry in manifest.files if manifest else ():
        for site in entry.sites:
            if site.event:
                sites.setdefault((site.category, site.event), []).append(f"{entry.path}:{site.line}")
    return dict(sorted(sites.items()))


def _some(names: Sequence[str], limit: int = 5) -> str:
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more
