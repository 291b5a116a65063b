"""Can every file be read to its end, and does it hold each record once?"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any, ClassVar

from dfannotate.analysis import Check, Expectation, Outcome
from dfannotate.analysis.processes import is_of_one_process
from dfannotate.analysis.traces import FileSummary, Traces
from dfannotate.manifest import Manifest
from dfannotate.vocabulary import TRACE_SUFFIX, TRACE_SUFFIX_GZIP


class Integrity(Check):
    """Empty, cut off, damaged, unreadable files; lines that are not records; files or records that are there twice."""

    id: ClassVar[str] = "integrity"
    position: ClassVar[int] = 10

    def run(self, traces: Traces, manifest: Manifest | None, expectations: Sequence[Expectation]) -> Outcome:
        empty = [file.name for file in traces.files if file.empty]
        problems = [(file, problem) for file in traces.files for problem in file.problems]
        bad = [file for file in traces.files if file.bad_lines]
        repeated = [file for file in traces.files if file.repeated_lines]
        copies = _copies(traces.files)
        shared = _claiming_several(traces)
        misnamed = [process for process in traces.processes if process.named_pid is not None]
        renamed = _renamed(traces) if not misnamed else []
        claimed = _claimed_twice(traces, {name for group in copies for name in group[1:]})

        faults: list[str] = []
        if empty:
            faults.append(
                f"{_files(len(empty))} of 0 bytes ({_some(empty)}): the process ended without finalize (or was replaced"
                " by another program), and every event that it had logged is lost"
            )
        for file, problem in problems[:3]:
            line = f", after {problem.line} whole lines" if problem.line else ""
            faults.append(f"{file.name}: {problem.message} (byte {problem.offset}{line})")
        if len(problems) > 3:
            faults.append(f"{len(problems) - 3} more broken places")
        if bad:
            count = sum(file.bad_lines for file in bad)
            first = bad[0].bad_samples[0]
            faults.append(
                f"{count} {'lines are' if count > 1 else 'line is'} not a record (the first: {bad[0].name} line"
                f" {first.line}, {first.reason}); the events in them are lost"
            )
        if repeated:
            count = sum(file.repeated_lines for file in repeated)
            about = "about " if any(file.repeats_sampled for file in repeated) else ""
            faults.append(
                f"{about}{count} records stand more than once in {_some([file.name for file in repeated])}: forked"
                " children wrote what their parent had buffered into its file once more; they are counted once here,"
                " but not by other tools (from dftracer 2.1 on, each child has a file of its own)"
            )
        for group in copies:
            faults.append(f"identical files: {_some(group)}; their events are counted twice, take the copies away")
        for pid, names in claimed:
            faults.append(f"process {pid} is claimed by {len(names)} files: {_some(names)}; are two runs mixed here?")
        for name, pids in shared:
            faults.append(
                f"{name} holds records of processes {_some([str(pid) for pid in pids])}, and each process has a file of"
                " its own: were files put together, or was a pid changed?"
            )
        for process in misnamed[:3]:
            faults.append(
                f"{process.file.name} was made for process {process.named_pid}, and its records are of process"
                f" {process.trace.pid}"
            )

        details: dict[str, Any] = {
            "files": len(traces.files),
            "bytes": sum(file.size for file in traces.files),
            "lines": sum(file.lines for file in traces.files),
            "empty": empty,
            "broken": [
                {
                    "file": file.name,
                    "kind": problem.kind,
                    "message": problem.message,
                    "offset": problem.offset,
                    "whole_lines_before": problem.line,
                }
                for file, problem in problems
            ],
            "bad_lines": [
                {
                    "file": file.name,
                    "count": file.bad_lines,
                    "first": [
                        {"line": sample.line, "reason": sample.reason, "text": sample.text}
                        for sample in file.bad_samples
                    ],
                }
                for file in bad
            ],
            "repeated": [
                {"file": file.name, "records": file.repeated_lines, "estimated": file.repeats_sampled}
                for file in repeated
            ],
            "identical": copies,
            "claimed_twice": [{"pid": pid, "files": names} for pid, names in claimed],
            "several_processes": [{"file": name, "pids": pids} for name, pids in shared],
            "of_another_process": [
                {"file": process.file.name, "pid": process.trace.pid, "made_for": process.named_pid}
                for process in misnamed
            ],
            "renamed": [{"file": name, "was": was} for name, was in renamed],
        }
        if faults:
            return Outcome(self.id, "fail", "; ".join(faults), details)
        if renamed:
            name, was = renamed[0]
            more = f" ({len(renamed)} such)" if renamed[1:] else ""
            message = (
                f"every line is a record, but {name} was {was} when the tracer wrote it{more}: a copy, or renamed?"
            )
            return Outcome(self.id, "warn", message, details)
        return Outcome(self.id, "pass", f"{_files(len(traces.files))} read to the end, every line a record", details)


def _copies(files: Sequence[FileSummary]) -> list[list[str]]:
    same: dict[tuple[int, int, int], list[str]] = defaultdict(list)
    for file in files:
        if file.size and not any(problem.kind == "unreadable" for problem in file.problems):
            same[file.size, file.checksum, file.lines].append(file.name)
    return [names for names in same.values() if len(names) > 1]


def _claiming_several(traces: Traces) -> list[tuple[str, list[int]]]:
    """Files that are named as that of one process and hold records of several, with these. (Tools that put the traces
    of a run together name them as they like.)"""
    pids: dict[str, list[int]] = defaultdict(list)
    for process in traces.processes:
        if process.trace.pid is not None and process.recorded and is_of_one_process(process.file.path.name):
            pids[process.file.name].append(process.trace.pid)
    return [(name, found) for name, found in pids.items() if len(found) > 1]


def _renamed(traces: Traces) -> list[tuple[str, str]]:
    """Files that the tracer opened under another name, with that name; not where it is cut as the tracer cuts text."""
    per_file = Counter(process.file.name for process in traces.processes)
    found = []
    for process in traces.processes:
        was = PurePosixPath(process.trace.log_file or "").name
        whole = was.endswith((TRACE_SUFFIX, TRACE_SUFFIX_GZIP)) and per_file[process.file.name] == 1
        if whole and was.removesuffix(".gz") != process.file.path.name.removesuffix(".gz"):
            found.append((process.file.name, was))
    return found


def _claimed_twice(traces: Traces, copies: set[str]) -> list[tuple[int, list[str]]]:
    """Processes whose start stands in more than one file, copies of a file apart."""
    claims: dict[tuple[str | None, int], list[str]] = defaultdict(list)
    for process in traces.processes:
        if process.trace.pid is not None and process.trace.starts and process.file.name not in copies:
            claims[process.trace.host, process.trace.pid].append(process.file.name)
    return [(pid, names) for (_, pid), names in claims.items() if len(names) > 1]


def _files(count: int) -> str:
    return f"{count} file{'s' if count != 1 else ''}"


def _some(names: Sequence[str], limit: int = 3) -> str:
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more
