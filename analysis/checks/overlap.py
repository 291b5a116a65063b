"""Is as much of A hidden behind B as there must be?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from dfannotate.analysis import Check, Expectation, Outcome
from dfannotate.analysis.traces import Traces
from dfannotate.manifest import Manifest


class HiddenEnough(Check):
    """The overlap in percent of A against the least that the user wants: the exact overlap, or its lower bound by
    buckets, each of what it counts as A (see ``dfannotate.analysis.figures``)."""

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
        shares = [share for share in (found.exact_pct_of_a, found.pct_of_a) if share is not None]
        if not shares:
            return Outcome(self.id, "fail", f"{asked.text}: the events of A take no time at all", details)
        message = (
            f"{asked.text}: {shares[0]:.1f} % of A are hidden behind B ({found.exact / 1000:.0f} us; by buckets at"
            f" least {shares[-1]:.1f} %, {found.lower / 1000:.0f} us)"
        )
        if asked.minimum is None:
            return Outcome(self.id, "pass", message, details)
        if max(shares) < asked.minimum:
            return Outcome(self.id, "fail", f"{message}; {asked.minimum:g} % are wanted", details)
        return Outcome(self.id, "pass", f"{message}; {asked.minimum:g} % are wanted", details)
