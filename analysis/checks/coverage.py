"""Did every annotated function leave an event, and every process a file?

A silent function proves nothing by itself: it may never have been called. It does where a process that could have
called it left nothing, or where nothing annotated left an event at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from dfannotate.analysis import Check, Expectation, Outcome
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
        absent = _absent_processes(traces)
        details: dict[str, Any] = {
            "annotated": len(sites),
            "fired": len(fired),
            "silent": [
                {"category": category, "event": event, "places": sites[category, event]} for category, event in silent
            ],
            "files_with_losses": lost,
            "processes_without_file": list(absent),
        }
        gone: list[str] = []
        if lost:
            gone.append(f"events of {_some(lost)} are lost")
        if absent:
            gone.append(
                f"child processes {_some([str(pid) for pid in absent])} left no file (not traced, or fewer than"
                f" {MINIMUM_EVENTS} events each: then finalize takes the file away)"
            )
        because = "; ".join(gone)
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
        names = _some([f"{category}:{event}" for category, event in silent])
        if silent and gone:
            return Outcome(self.id, "fail", f"{share}; silent: {names}; {because}", details)
        if lost:
            return Outcome(self.id, "fail", f"{share}, but {because}", details)
        if silent:
            return Outcome(self.id, "warn", f"{share}; silent: {names} (never called, or raised every time)", details)
        if absent:
            return Outcome(self.id, "warn", f"{share}, but {because}", details)
        return Outcome(self.id, "pass", share, details)


def _sites(manifest: Manifest | None) -> dict[tuple[str, str], list[str]]:
    """The events that annotations log, each with the places (``path:line``) that log it."""
    sites: dict[tuple[str, str], list[str]] = {}
    for entry in manifest.files if manifest else ():
        for site in entry.sites:
            if site.event:
                sites.setdefault((site.category, site.event), []).append(f"{entry.path}:{site.line}")
    return dict(sorted(sites.items()))


def _absent_processes(traces: Traces) -> tuple[int, ...]:
    """Children that were forked, or spawned as workers, while traced, and that no file belongs to."""
    present = {process.trace.pid for process in traces.processes}
    mentioned = {child for process in traces.processes for child in (*process.trace.forked, *process.trace.spawned)}
    return tuple(sorted(mentioned - present))


def _some(names: Sequence[str], limit: int = 5) -> str:
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more
