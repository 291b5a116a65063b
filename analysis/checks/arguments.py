"""Do the events carry the arguments that they were given?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from dfannotate.analysis import Check, Expectation, Outcome
from dfannotate.analysis.traces import Process, Traces
from dfannotate.manifest import Manifest
from dfannotate.vocabulary import ENV_METADATA

Key = tuple[str, str]


class Arguments(Check):
    """Without its metadata the tracer drops every argument, and says nothing about it."""

    id: ClassVar[str] = "arguments"
    position: ClassVar[int] = 70

    def run(self, traces: Traces, manifest: Manifest | None, expectations: Sequence[Expectation]) -> Outcome:
        wanted = _wanted(manifest)
        events = [
            (process, key, tally)
            for process in traces.processes
            if process.trace.starts or process.trace.bare  # by the tracer itself; other tools write what they like
            for key, tally in process.trace.events.items()
            if tally.count > tally.aggregated
        ]
        bare = [(process, key, tally) for process, key, tally in events if tally.bare]
        carried = any(tally.keys for _, _, tally in events)
        bare_wanted = [one for one in bare if one[1] in wanted]
        lacking = [
            (process, key, missing)
            for process, key, tally in events
            if tally.keys and (missing := [name for name in wanted.get(key, ()) if name not in tally.keys])
        ]
        details: dict[str, Any] = {
            "without_arguments": [_evidence(process, key, {"events": tally.bare}) for process, key, tally in bare],
            "lacking": [_evidence(process, key, {"arguments": missing}) for process, key, missing in lacking],
            "expected": [
                {"category": key[0], "event": key[1], "arguments": list(names)} for key, names in wanted.items()
            ],
        }
        hint = f"the run must have {ENV_METADATA}=1 (dfannotate run sets it)"
        if bare_wanted:
            names = _some(sorted({f"{key[0]}:{key[1]}" for _, key, _ in bare_wanted}))
            return Outcome(self.id, "fail", f"events of {names} carry none of their arguments; {hint}", details)
        if bare and carried:
            count = sum(tally.bare for _, _, tally in bare)
            places = _some(sorted({process.label for process, _, _ in bare}))
            message = f"{count} events of {places} carry no arguments, and others of the run do"
            return Outcome(self.id, "fail", f"{message}: records were changed, or {hint} in every process", details)
        if lacking:
            process, (category, name), missing = lacking[0]
            message = f"{category}:{name} in {process.label} lacks {', '.join(missing)}: its expression raised"
            return Outcome(self.id, "warn", f"{message} ({len(lacking)} such)" if lacking[1:] else message, details)
        if bare and any(site.kind == "event" for entry in (manifest.files if manifest else ()) for site in entry.sites):
            message = f"no event carries arguments, and the manifest has events that may be given some; {hint}"
            return Outcome(self.id, "warn", message, details)
        if bare:
            reason = f"no event carries arguments, nor is it known who started whom; {hint}"
            return Outcome(self.id, "skip", reason, details)
        if not events:
            return Outcome(self.id, "skip", "there are no single events in this trace", details)
        if wanted and not any(key in wanted for _, key, _ in events):
            return Outcome(self.id, "skip", "no event that has arguments of its own was logged", details)
        return Outcome(self.id, "pass", "the events carry their arguments", details)


def _wanted(manifest: Manifest | None) -> Mapping[Key, tuple[str, ...]]:
    """The arguments that the manual events of a manifest were given."""
    wanted: dict[Key, tuple[str, ...]] = {}
    for entry in manifest.files if manifest else ():
        keys = {site.function: (site.category, site.event) for site in entry.sites if site.kind == "event"}
        for event in entry.events:
            names = tuple(name for name, _ in (*event.ints, *event.floats, *event.strings))
            if names and event.function in keys:
                wanted[keys[event.function]] = names
    return wanted


def _evidence(process: Process, key: Key, more: Mapping[str, Any]) -> dict[str, Any]:
    return {"pid": process.trace.pid, "file": process.file.name, "category": key[0], "event": key[1], **more}


def _some(names: Sequence[str], limit: int = 5) -> str:
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more
