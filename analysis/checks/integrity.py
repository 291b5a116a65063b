"""Can every file be read to its end, and does it hold each record once?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, ClassVar

from dfannotate.analysis import Check, Expectation, Outcome
from dfannotate.analysis.traces import FileSummary, Traces
from dfannotate.manifest import Manifest


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
        }
        if faults:
            return Outcome(self.id, "fail", "; ".join(faults), details)
        return Outcome(self.id, "pass", f"{_files(len(traces.files))} read to the end, every line a record", details)


def _copies(files: Sequence[FileSummary]) -> list[list[str]]:
    same: dict[tuple[int, int, int], list[str]] = defaultdict(list)
    for file in files:
        if file.size and not any(problem.kind == "unreadable" for problem in file.problems):
            same[file.size, file.checksum, file.lines].append(file.name)
    return [names for names in same.values() if len(names) > 1]


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
