"""Did every process finish its trace?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from dfannotate.analysis import Check, Expectation, Outcome
from dfannotate.analysis.traces import Process, ProcessTrace, Traces
from dfannotate.manifest import Manifest


class Finalized(Check):
    """An end record in every process, and as many events before it as it claims."""

    id: ClassVar[str] = "finalized"
    position: ClassVar[int] = 20

    def run(self, traces: Traces, manifest: Manifest | None, expectations: Sequence[Expectation]) -> Outcome:
        processes = traces.processes
        starts = any(process.trace.starts for process in processes)
        ends = any(process.trace.ends for process in processes)
        open_ended = [process for process in processes if not process.trace.finalized]
        bare = [process for process in open_ended if _writes_no_end(process, starts or ends)]
        written = [process for process in open_ended if not _writes_no_end(process, starts or ends)]
        direct = [process for process in written if _unbuffered(process.trace)]
        lost = [process for process in written if not _unbuffered(process.trace)]
        headless = [process for process in processes if _lost_its_start(process, starts)]
        short = [
            (process, declared - _numbered(process.trace))
            for process in processes
            if (declared := process.trace.declared_events) is not None and declared != _numbered(process.trace)
        ]
        missing = [(process, count) for process, count in short if count > 0]
        excess = [(process, -count) for process, count in short if count < 0]

        faults: list[str] = []
        if lost:
            faults.append(
                f"{_list(lost)} left no end record: finalize was not called, so what stood in the write buffer (16 MiB"
                " by default: usually everything) is lost. A process that is killed, that leaves by os._exit or that"
                " returns without finalize ends so"
            )
        if headless:
            faults.append(f"{_list(headless)} has no start record, with which every trace begins: its head is lost")
        faults += [
            f"{_name(process)}: the end record claims {process.trace.declared_events} events, {count} of them cannot"
            " be read"
            for process, count in missing
        ]
        remarks = []
        if direct:
            remarks.append(
                f"{_list(direct)} left no end record; this generation of the tracer writes every event at once, so"
                " only what was under way at the end is missing"
            )
        remarks += [
            f"{_name(process)}: {count} more events than the end record claims (logged while it was being finalized)"
            for process, count in excess
        ]
        details = {
            "processes": len(processes),
            "not_finalized": [_evidence(process) for process in lost + direct],
            "without_start_record": [_evidence(process) for process in headless],
            "events_missing": [{**_evidence(process), "events": count} for process, count in missing],
            "events_in_excess": [{**_evidence(process), "events": count} for process, count in excess],
            "without_end_records": [_evidence(process) for process in bare],
        }
        if faults:
            return Outcome(self.id, "fail", "; ".join(faults + remarks), details)
        if bare:
            reason = f"{_list(bare)} cannot be judged: the trace has neither start nor end records"
            return Outcome(self.id, "warn" if remarks else "skip", "; ".join([reason, *remarks]), details)
        if remarks:
            return Outcome(self.id, "warn", "; ".join(remarks), details)
        return Outcome(self.id, "pass", f"every process ({len(processes)}) finalized its trace", details)


def _writes_no_end(process: Process, any_written: bool) -> bool:
    """Of a generation, or from a tool, that writes no start and end records anywhere."""
    return process.trace.bare or (bool(process.trace.events) and not any_written)


def _lost_its_start(process: Process, any_written: bool) -> bool:
    """It has records, and none of its start, in a run whose processes write one."""
    trace = process.trace
    if trace.starts or trace.bare or not process.recorded:
        return False
    return bool(trace.ends) or any_written


def _unbuffered(trace: ProcessTrace) -> bool:
    """Versions 1.x, which say so as "v1.0.11" or as a number like 100008, have no write buffer."""
    version = trace.version or ""
    return version.startswith("v1.") or (version.isdigit() and 100_000 <= int(version) < 200_000)


def _numbered(trace: ProcessTrace) -> int:
    """What an end record counts: the events and the start record."""
    return trace.count + trace.starts


def _evidence(process: Process) -> dict[str, int | str | None]:
    return {"pid": process.trace.pid, "file": process.file.name}


def _name(process: Process) -> str:
    return f"process {process.trace.pid}" if process.trace.pid is not None else process.file.name


def _list(processes: Sequence[Process], limit: int = 3) -> str:
    names = ", ".join(_name(process) for process in processes[:limit])
    return names + (f" and {len(processes) - limit} more" if len(processes) > limit else "")
