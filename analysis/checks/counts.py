"""Are there as many events as the user says there must be?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from dfannotate.analysis import Check, Expectation, Outcome
from dfannotate.analysis.traces import Traces
from dfannotate.manifest import Manifest


class Counts(Check):
    """Each expectation against the sum of all events that it matches; aggregated records count for what they stand
    for, repeated ones once."""

    id: ClassVar[str] = "counts"
    position: ClassVar[int] = 50

    def run(self, traces: Traces, manifest: Manifest | None, expectations: Sequence[Expectation]) -> Outcome:
        if not expectations:
            return Outcome(self.id, "skip", "nothing is expected (--expect CATEGORY:NAME=N)", {"expected": []})
        estimated = {
            key
            for process in traces.processes
            if process.file.repeats_sampled
            for key, tally in process.trace.events.items()
            if tally.repeated
        }
        totals = traces.totals()
        results = []
        faults = []
        for expectation in expectations:
            matching = [total for total in totals if expectation.matches(total.category, total.name)]
            count = sum(total.count for total in matching)
            exact = not any((total.category, total.name) in estimated for total in matching)
            holds = exact and expectation.holds(count)
            results.append(
                {
                    "expect": expectation.text,
                    "count": count,
                    "exact": exact,
                    "holds": holds,
                    "events": [f"{total.category}:{total.name}" for total in matching],
                }
            )
            if not exact:
                faults.append(f"{expectation.text}: about {count}, but records are repeated and cannot be counted")
            elif not holds:
                faults.append(f"{expectation.text}: {count}" + ("" if matching else " (no such event)"))
        details = {"expected": results}
        if faults:
            return Outcome(self.id, "fail", "; ".join(faults), details)
        return Outcome(self.id, "pass", f"all {len(results)} as expected", details)
