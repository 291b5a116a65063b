"""Can the times be believed, and can those of different processes be compared?

A trace says in which unit its times are; the start and end records of a process are on the clock of its machine.
Events that a program logs itself may be on a clock of its own, of a simulation say, and do not belong into one sum
with others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from dfannotate.analysis import Check, Expectation, Outcome, Status
from dfannotate.analysis.processes import start_method
from dfannotate.analysis.traces import MICROSECONDS, Process, Traces
from dfannotate.manifest import Manifest
from dfannotate.vocabulary import TRACE

_SECOND = 1e6
_DAY = 86_400 * _SECOND
_YEAR = 365 * _DAY
_EARLIEST, _LATEST = 40 * _YEAR, 130 * _YEAR
"""Between 2010 and 2100, in microseconds since the epoch: when traces are taken."""
_ABSURD = 10 * _YEAR
"""No call takes as long; the event of a function that initializes the tracer itself does, beginning at 0."""
_SLACK = 2 * _SECOND
"""How far the clock of one machine may be set back, and a child's file be from its parent's."""


class Clock(Check):
    """Units, durations, and the clocks of hosts and processes against each other."""

    id: ClassVar[str] = "clock"
    position: ClassVar[int] = 80

    def run(self, traces: Traces, manifest: Manifest | None, expectations: Sequence[Expectation]) -> Outcome:
        processes = [process for process in traces.processes if process.recorded]
        if not processes:
            return Outcome(self.id, "skip", "there is no record with a time")
        found = _Findings()
        found.units(processes)
        found.durations(processes)
        found.dates(processes)
        found.families(processes)
        found.outside(processes)
        found.hosts(processes)
        found.mixtures(processes, _simulated_by_manifest(manifest))
        units = sorted({process.trace.unit for process in processes})
        details: dict[str, Any] = {"units": units, "findings": found.details}
        if found.faults or found.remarks:
            status: Status = "fail" if found.faults else "warn"
            return Outcome(self.id, status, "; ".join([*found.faults, *found.remarks]), details)
        declared = all(process.trace.declared_units for process in processes)
        how = "declared by the trace" if declared else "the only unit of this generation"
        return Outcome(self.id, "pass", f"times are in {units[0]} ({how}), and agree in all processes", details)


class _Findings:
    def __init__(self) -> None:
        self.faults: list[str] = []
        self.remarks: list[str] = []
        self.details: list[dict[str, Any]] = []

    def _fault(self, kind: str, message: str, where: Iterable[Process]) -> None:
        self._note(self.faults, kind, message, where)

    def _remark(self, kind: str, message: str, where: Iterable[Process]) -> None:
        self._note(self.remarks, kind, message, where)

    def _note(self, notes: list[str], kind: str, message: str, where: Iterable[Process]) -> None:
        notes.append(message)
        self.details.append({"kind": kind, "message": message, "processes": [process.trace.pid for process in where]})

    def units(self, processes: Sequence[Process]) -> None:
        odd = [process for process in processes if set(process.trace.declared_units) - set(MICROSECONDS)]
        if odd:
            units = sorted({unit for process in odd for unit in process.trace.declared_units})
            self._fault("unknown unit", f"{_list(odd)}: unknown unit of time ({', '.join(units)})", odd)
        two = [process for process in processes if len(set(process.trace.declared_units)) > 1]
        if two:
            units = sorted(two[0].trace.declared_units)
            self._fault("two units", f"{_list(two)}: two units of time are declared ({', '.join(units)})", two)
        all_units = sorted({process.trace.unit for process in processes})
        if len(all_units) > 1:
            first = [process for process in processes if process.trace.unit == all_units[0]]
            message = f"processes count in different units: {', '.join(all_units)} ({all_units[0]} in {_list(first)})"
            self._fault("units differ", message, first)
        declaring = [process for process in processes if process.trace.declared_units]
        silent = [process for process in processes if not process.trace.declared_units]
        if declaring and silent:
            self._fault("no unit", f"{_list(silent)}: no unit of time is declared, as other processes do", silent)

    def durations(self, processes: Sequence[Process]) -> None:
        for process in processes:
            for (category, name), tally in process.trace.events.items():
                where = f"{category}:{name} in {process.label}"
                if tally.negative:
                    self._fault("negative duration", f"{where}: {tally.negative} durations are negative", [process])
                if process.trace.microseconds(tally.longest) > _ABSURD:
                    hint = (
                        " (a function or region around the start of tracing itself ends so)" if not tally.first else ""
                    )
                    self._fault("absurd duration", f"{where}: lasts longer than ten years{hint}", [process])

    def dates(self, processes: Sequence[Process]) -> None:
        odd = [
            process
            for process in processes
            if (start := _started(process)) is not None and not _EARLIEST < start < _LATEST
        ]
        if odd:
            message = (
                f"{_list(odd)}: the trace begins outside of the years 2010 to 2100, so its unit ({odd[0].trace.unit})"
                " or its clock is wrong"
            )
            self._fault("date", message, odd)

    def families(self, processes: Sequence[Process]) -> None:
        """A child begins while its parent runs."""
        by_pid = {(process.trace.host, process.trace.pid): process for process in processes}
        odd: list[Process] = []
        late: list[Process] = []
        for process in processes:
            parent = by_pid.get((process.trace.host, process.trace.ppid))
            start = _started(process)
            if parent is None or parent is process or start is None:
                continue
            begin, end = _started(parent), _ended(parent)
            if begin is not None and start < begin - _SLACK:
                odd.append(process)
            elif end is not None and start > end + _SLACK:
                # A process may finalize its trace and go on; only forking is what it cannot do any more, then.
                (odd if start_method(process) == "fork" else late).append(process)
        if odd:
            message = (
                f"{_list(odd)}: begins at a time when its parent {odd[0].trace.ppid} was not traced, so the clock of"
                " one of them was set"
            )
            self._fault("parent and child", message, odd)
        if late:
            message = (
                f"{_list(late)}: begins after its parent {late[0].trace.ppid} finalized its trace, which was too early,"
                " or the clock of one of them was set"
            )
            self._remark("parent and child", message, late)

    def outside(self, processes: Sequence[Process]) -> None:
        """An end that comes before its start."""
        odd = [
            process
            for process in processes
            if (start := _started(process)) is not None
            and (end := _ended(process)) is not None
            and end < start - _SLACK
        ]
        if odd:
            self._fault("end before start", f"{_list(odd)}: ends before it starts; the clock was set back", odd)

    def hosts(self, processes: Sequence[Process]) -> None:
        """Hosts of one run that never run at the same time."""
        spans: dict[str, tuple[float, float]] = {}
        for process in processes:
            start, end = _started(process), _ended(process)
            if process.trace.host is None or start is None:
                continue
            low, high = spans.get(process.trace.host, (start, start))
            spans[process.trace.host] = min(low, start), max(high, end if end is not None else start)
        if len(spans) < 2:
            return
        latest = max(spans, key=lambda host: spans[host][0])
        earliest = min(spans, key=lambda host: spans[host][1])
        apart = spans[latest][0] - spans[earliest][1]
        if apart > _SLACK:
            message = (
                f"hosts {earliest} and {latest} never run at the same time ({apart / _SECOND:.0f} s lie between): their"
                " clocks disagree, or they are of different runs"
            )
            of_them = [process for process in processes if process.trace.host in (earliest, latest)]
            self._remark("hosts", message, of_them)

    def mixtures(self, processes: Sequence[Process], simulated: frozenset[tuple[str, str]]) -> None:
        """Events on the clock of the machine and others, far from it, in one category."""
        clocks: dict[str, dict[bool, str]] = defaultdict(dict)
        for process in processes:
            start, end = _started(process), _ended(process)
            for (category, name), tally in process.trace.events.items():
                if tally.first is None or category == TRACE.tracer_category:
                    continue
                at = process.trace.microseconds(tally.first)
                known = start is not None
                low = (start if start is not None else _EARLIEST) - _DAY
                high = (end if end is not None else _LATEST) + _DAY
                own = (category, name) in simulated or (not low < at < high)
                # An event that begins at 0 and lasts until now is not simulated, but was begun before tracing.
                if at == 0 and process.trace.microseconds(tally.longest) > _ABSURD:
                    continue
                if known or own:
                    clocks[category].setdefault(own, name)
        mixed = {category: names for category, names in clocks.items() if len(names) > 1}
        for category, names in sorted(mixed.items()):
            message = (
                f"category {category} has events on the machine's clock ({names[False]}) and on another"
                f" ({names[True]}); their times cannot be added or compared, give them categories of their own"
            )
            self._remark("two clocks", message, ())


def _simulated_by_manifest(manifest: Manifest | None) -> frozenset[tuple[str, str]]:
    """The events that a manifest puts on a clock of their own."""
    found = set()
    for entry in manifest.files if manifest else ():
        own = {event.function for event in entry.events if event.start}
        found |= {(site.category, site.event) for site in entry.sites if site.kind == "event" and site.function in own}
    return frozenset(found)


def _started(process: Process) -> float | None:
    """When a process began to be traced, in microseconds since the epoch."""
    started = process.trace.started
    return None if started is None else process.trace.microseconds(started)


def _ended(process: Process) -> float | None:
    """The last that is known of a process on the clock of its machine."""
    ended = process.trace.ended
    return None if ended is None else process.trace.microseconds(ended)


def _list(processes: Sequence[Process], limit: int = 3) -> str:
    names = ", ".join(process.label for process in processes[:limit])
    return names + (f" and {len(processes) - limit} more" if len(processes) > limit else "")
