"""Is as much of A hidden behind B as there must be?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from dfannotate.analysis import Check, Expectation, Outcome
from dfannotate.analysis.traces import Traces
from dfannotate.manifest import Manifest


class HiddenEnough(Check):
    """The lower bound of the overlap, in percent of A, against the least that the user wants. The trace proves it;
    the exact overlap, which stands beside it, can only be larger."""

    id: ClassVar[str] = "overlap"
    position: ClassVar[int] = 90

    def run(self, traces: Traces, manifest: Manifest | None, expectations: Sequence[Expectation]) -> Outcome:
        asked = traces.overlap
        if asked is None:
            return Outcome(self.id, "skip", "no overlap is asked after (--overlap A:B)", {"overlap": None})
        details = asked.as_details()
        found = asked.overlap
        if found is None:
            return Outcome(self.id, "fail", f"{asked.text}: {asked.refusal}", details)
        share = found.pct_of_a
        if share is None:
            return Outcome(self.id, "fail", f"{asked.text}: the events of A take no time at all", details)
        message = (
            f"{asked.text}: at least {share:.1f} % of A are hidden behind B"
            f" ({found.lower / 1000:.0f} us; {found.exact / 1000:.0f} us exactly)"
        )
        if asked.minimum is None:
            return Outcome(self.id, "pass", message, details)
        if share < asked.minimum:
            return Outcome(self.id, "fail", f"{message}, {asked.minimum:g} % are wanted", details)
        return Outcome(self.id, "pass", f"{message}, {asked.minimum:g} % were wanted", details)
