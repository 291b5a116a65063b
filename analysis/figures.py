"""How much of A is hidden behind B: the figures, as plain values. Times are in ns; none of them is ever rounded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


def percent(part: int, whole: int) -> float | None:
    """Never above 100 where ``part`` is not above ``whole``; None of nothing."""
    return 100 * part / whole if whole else None


def _us(time: int) -> float:
    return time / 1000


@dataclass(frozen=True)
class Side:
    """A or B: how it was asked for, its events, the processes that have some, and ``total``: the busy time of the
    busiest process of each bucket, summed."""

    pattern: str
    events: int
    processes: int
    total: int

    def as_json(self) -> dict[str, Any]:
        return {"events": self.events, "processes": self.processes, "total_us": _us(self.total)}


@dataclass(frozen=True)
class ProcessShare:
    """One process: for how long it is in A and in B, for how long of that some process, itself or another, is in the
    other one at the same time, and for how long it is in both itself."""

    pid: int | None
    host: str | None
    a: int
    b: int
    a_hidden: int
    b_hidden: int
    both: int

    def as_json(self) -> dict[str, Any]:
        return {
            "pid": self.pid,
            "host": self.host,
            "a_us": _us(self.a),
            "b_us": _us(self.b),
            "a_hidden_us": _us(self.a_hidden),
            "b_hidden_us": _us(self.b_hidden),
            "same_process_us": _us(self.both),
            "hidden_pct_of_a": percent(self.a_hidden, self.a),
            "hidden_pct_of_b": percent(self.b_hidden, self.b),
        }


@dataclass(frozen=True)
class RoundShare:
    """One round, ``[start, end)`` since the epoch: for how long some process is in A, in B, and in A and B at once."""

    number: int
    start: int
    end: int
    a: int
    b: int
    exact: int

    def as_json(self) -> dict[str, Any]:
        return {
            "round": self.number,
            "start_us": _us(self.start),
            "duration_us": _us(self.end - self.start),
            "a_us": _us(self.a),
            "b_us": _us(self.b),
            "overlap_exact_us": _us(self.exact),
            "overlap_exact_pct_of_a": percent(self.exact, self.a),
            "overlap_exact_pct_of_b": percent(self.exact, self.b),
        }


@dataclass(frozen=True)
class Overlap:
    """The overlap of A and B over all processes.

    ``interval`` is the width of the ``buckets``. ``lower`` is the lower bound that they give, ``exact`` the measure of
    the instants at which some process is in A and some process is in B, ``a_union`` and ``b_union`` that of the
    instants at which some process is in A, in B: lower <= exact <= min(a_union, b_union). ``same_process`` is for how
    long one and the same process is in both, summed over the processes, ``same_process_a`` for how long they are in
    A."""

    a: Side
    b: Side
    interval: int
    buckets: int
    lower: int
    exact: int
    a_union: int
    b_union: int
    same_process: int
    same_process_a: int
    warnings: tuple[str, ...] = ()
    processes: tuple[ProcessShare, ...] = ()
    rounds: tuple[RoundShare, ...] = ()

    @property
    def pct_of_a(self) -> float | None:
        """``lower``, in percent of A's total."""
        return percent(self.lower, self.a.total)

    @property
    def pct_of_b(self) -> float | None:
        return percent(self.lower, self.b.total)

    @property
    def stall_pct_of_a(self) -> float | None:
        """What of A is not hidden."""
        return percent(self.a.total - self.lower, self.a.total)

    @property
    def pct_of_smaller(self) -> float | None:
        return percent(self.lower, min(self.a.total, self.b.total))

    @property
    def exact_pct_of_a(self) -> float | None:
        """``exact``, in percent of the time at which some process is in A."""
        return percent(self.exact, self.a_union)

    @property
    def exact_pct_of_b(self) -> float | None:
        return percent(self.exact, self.b_union)

    def as_json(self) -> dict[str, Any]:
        return {
            "a": self.a.as_json(),
            "b": self.b.as_json(),
            "interval_us": _us(self.interval),
            "buckets": self.buckets,
            "overlap_us": _us(self.lower),
            "overlap_exact_us": _us(self.exact),
            "overlap_pct_of_a": self.pct_of_a,
            "stall_pct_of_a": self.stall_pct_of_a,
            "overlap_pct_of_b": self.pct_of_b,
            "overlap_pct_of_smaller_total": self.pct_of_smaller,
            "warnings": list(self.warnings),
        }


@dataclass(frozen=True)
class OverlapAnswer:
    """What came of the question after an overlap that ``verify`` was asked: the figures, or why there are none; and
    the percentage of A that is to be hidden at least, if one was given."""

    text: str
    minimum: float | None = None
    overlap: Overlap | None = None
    refusal: str = ""

    def as_details(self) -> Mapping[str, Any]:
        found = self.overlap.as_json() if self.overlap else {}
        return {"overlap": self.text, "minimum_pct": self.minimum, **found}
