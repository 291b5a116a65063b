"""How much of A is hidden behind B, across all processes.

The dynamic-interval event-splitting algorithm. Time since the first event of A or B is divided into buckets of one
width, the interval: twice the 99th percentile of the durations of the events of A and B (nearest rank), or the longest,
or what the user says. Each event is split at the edges of the buckets. The events of one process that nest or overlap
are merged first, as a process is not busier for being busy twice. Of each bucket and of both A and B, then:

    busy(bucket)    = the busy time of the process that is busy longest in it
    overlap(bucket) = max(0, busy_A + busy_B - width)

and the sums of both over all buckets are A's total, B's total and the overlap. That overlap is a lower bound: two
processes that together are busy for longer than the bucket lasts must have been busy at once. It depends on the
interval. Beside it stands the exact overlap, the measure of the instants at which some process is in A and some
process is in B: a sweep over the union of A's intervals and the union of B's. Always lower bound <= exact <= the
smaller union.

Everything is counted in whole nanoseconds, and the same bit for bit wherever it is computed.

An aggregated record says how many calls a second had, not when they were: nothing can be said about their overlap, and
a run that has some among A or B is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Literal, TypeAlias

from dfannotate.analysis.figures import Overlap, ProcessShare, RoundShare, Side, percent
from dfannotate.analysis.patterns import Patterns, parse_patterns
from dfannotate.analysis.traces import TraceError, Traces
from dfannotate.manifest import Manifest

if TYPE_CHECKING:
    import pandas as pd

    from dfannotate.analysis.frame import Trace
    from dfannotate.analysis.intervals import Durations
    from dfannotate.analysis.partials import Partial, ProcessKey, Request, Rounds
    from dfannotate.analysis.schedule import Schedule
    from dfannotate.analysis.sweep import Sums

Interval: TypeAlias = Literal["p99", "max"] | int
"""The width of a bucket: a rule, or ns."""

By: TypeAlias = Literal["process", "round"]

_NS = 1000  # in a microsecond


def parse_interval(text: str) -> Interval:
    """``p99``, ``max``, or microseconds, as fine as thousandths. Raises ``ValueError`` for anything else."""
    if text == "p99":
        return "p99"
    if text == "max":
        return "max"
    try:
        width = Decimal(text) * _NS
    except InvalidOperation:
        width = Decimal(0)
    if not width.is_finite() or width != width.to_integral_value() or not 1 <= width <= 10**17:
        raise ValueError(f"{text!r} is not p99, max or a number of microseconds (at least 0.001, at most three years)")
    return int(width)


@dataclass(frozen=True)
class Question:
    """What is asked: the overlap of A and B, in buckets of which width, and in which further detail. ``rounds`` are the
    events that are rounds (None: the first of the names in ``ROUND_NAMES`` that occurs)."""

    a: Patterns
    b: Patterns
    interval: Interval = "p99"
    by: By | None = None
    rounds: Patterns | None = None

    def request(self) -> Request:
        """What must be known of each file to answer it."""
        from dfannotate.analysis.partials import Request

        return Request(self.a, self.b, self.by == "round", self.rounds)


def answer(
    question: Question, traces: Traces, partial: Partial, schedule: Schedule, manifest: Manifest | None = None
) -> Overlap:
    """The figures of a run that was gathered for the question's own request and whose contributions ``schedule`` still
    holds. Raises ``TraceError`` where there is no answer: A or B without an event, or without their times, or files
    that are missing or empty."""
    _refuse_incomplete(traces, manifest)
    sides = (_side(traces, question.a, "A"), _side(traces, question.b, "B"))
    rounds = None
    if question.by == "round":
        rounds = next((found for found in partial.rounds if found is not None), None)
        if rounds is None:
            raise TraceError(_no_rounds(question))
    overlap = _figures(question, sides, partial, schedule, rounds)
    warnings = (*_warnings_of_trace(traces, question), *overlap.warnings)
    return replace(overlap, warnings=warnings)


def _figures(
    question: Question, sides: tuple[Side, Side], partial: Partial, schedule: Schedule, rounds: Rounds | None
) -> Overlap:
    """Everything that is measured. The totals of ``sides`` are filled in."""
    from dfannotate.analysis.intervals import Grid
    from dfannotate.analysis.sweep import Sums

    interval, warnings = _width(question.interval, partial.durations)
    warnings += _warnings_of_times(partial, sides)
    sums = Sums(Grid(0, interval), rounds)
    buckets = 0
    chunks = [stock.chunks for stock in partial.stocks]
    if chunks:
        first = min(int(chunk[:, 0].min()) for chunk in chunks)
        last = max(int(chunk[:, 1].max()) for chunk in chunks)
        sums = Sums(Grid(first, interval), rounds)
        buckets = -(-(last - first) // interval)
        _sweep(sums, partial, last, schedule, by_process=question.by == "process")
    a, b = (replace(side, total=total) for side, total in zip(sides, sums.totals, strict=True))
    overlap = Overlap(
        a=a,
        b=b,
        interval=interval,
        buckets=buckets,
        lower=sums.lower,
        exact=sums.exact,
        a_union=sums.unions[0],
        b_union=sums.unions[1],
        same_process=sum(both for _, _, both in sums.processes.values()),
        same_process_a=sum(own for own, _, _ in sums.processes.values()),
        processes=_shares(sums) if question.by == "process" else (),
        rounds=_rounds(sums, rounds) if rounds is not None else (),
    )
    return replace(overlap, warnings=(*warnings, *_warnings_of_figures(overlap, sums)))


def _sweep(sums: Sums, partial: Partial, end: int, schedule: Schedule, *, by_process: bool) -> None:
    from dfannotate.analysis.schedule import Portion
    from dfannotate.analysis.sweep import Against, hide, measure, merge_hidden, merge_measured, plan

    portions = plan(partial.stocks, sums.grid, end)
    for portion, measured in zip(portions, schedule.combine(measure, portions, merge_measured), strict=True):
        sums.add(measured, portion.argument)
        if by_process:
            against = Portion(Against(portion.argument, measured.unions), portion.groups)
            for hidden in schedule.combine(hide, [against], merge_hidden):
                sums.add_hidden(hidden)


def _width(interval: Interval, durations: Durations) -> tuple[int, list[str]]:
    """The width of a bucket in ns, and what must be said about it."""
    if isinstance(interval, int):
        return interval, []
    longest = max(durations.longest, 1)
    if interval == "max":
        return longest, []
    width = 2 * durations.percentile(99)
    if not width:
        return longest, [
            "99 in 100 events take no time at all, so that they give no width for a bucket; the longest event does"
        ]
    if durations.level:
        return width, ["there are so many different durations that their 99th percentile is exact to 0.1 % only"]
    return width, []


# --- what there is no answer to --------------------------------------------------------------------------------------


def _refuse_incomplete(traces: Traces, manifest: Manifest | None) -> None:
    """Raise ``TraceError`` if what is missing could hold any part of A or B."""
    from dfannotate.analysis.checks.workers import Workers

    unreadable = [file for file in traces.files if any(problem.kind == "unreadable" for problem in file.problems)]
    if unreadable:
        raise TraceError(f"{unreadable[0].name}: {unreadable[0].problems[0].message}")
    empty = [file.name for file in traces.files if file.empty]
    workers = Workers().run(traces, manifest, ())
    reason = workers.message if workers.status == "fail" else ""
    if empty:
        reason = f"{_some(empty)} of 0 bytes: the process ended without finalize, and its events are lost"
    if reason:
        raise TraceError(
            f"{traces.root}: no overlap can be told, as events of some processes are missing ({reason});"
            " `dfannotate verify` says more, and a frame of the events that are there can be asked in a notebook"
        )


def _side(traces: Traces, patterns: Patterns, name: str) -> Side:
    """The events of A or B; its total is not known yet."""
    from dfannotate.analysis.partials import key_of

    events = 0
    processes = set()
    for process in traces.processes:
        tallies = [tally for key, tally in process.trace.events.items() if patterns.match(*key)]
        if any(tally.aggregated for tally in tallies):
            raise TraceError(
                f"{process.file.name}: the events of {name} ({patterns.text}) are aggregated: their records say how"
                " many calls there were and not when, so nothing can be said about their overlap; trace without"
                " aggregation"
            )
        if tallies:
            events += sum(tally.calls for tally in tallies)
            processes.add(key_of(process.trace, process.file.name))
    if not events:
        known = sorted({total.category for total in traces.totals()})
        there = f"the categories in it are {_some(known)}" if known else "it has no event at all"
        raise TraceError(f"{traces.root}: no event matches {name} ({patterns.text}); {there}")
    return Side(patterns.text, events, len(processes), 0)


def _no_rounds(question: Question) -> str:
    from dfannotate.analysis.partials import ROUND_NAMES

    if question.rounds:
        return f"no event matches the rounds ({question.rounds.text})"
    return (
        f"no event's name ends in {', '.join(ROUND_NAMES)}, so there are no rounds to tell apart; name the event of a"
        " round with --round CATEGORY:NAME"
    )


# --- what must be said beside the figures ----------------------------------------------------------------------------


def _warnings_of_trace(traces: Traces, question: Question) -> list[str]:
    warnings = []
    lossy = [file.name for file in traces.lossy_files()]
    if lossy:
        warnings.append(f"events of {_some(lossy)} are lost (`dfannotate verify` says which); the figures lack them")
    unfinished = [process.label for process in traces.processes if not process.trace.finalized and process.recorded]
    if unfinished:
        warnings.append(f"{_some(unfinished)} did not finalize the trace: what it did last is not in the figures")
    matching = [
        process
        for process in traces.processes
        if any(question.a.match(*key) or question.b.match(*key) for key in process.trace.events)
    ]
    if any(file.repeated_lines for file in traces.files):
        warnings.append(
            "records stand more than once; they change no overlap, but count in the 99th percentile that the interval"
            " is made of"
        )
    if any(process.trace.starts > 1 or process.trace.ends > 1 for process in matching):
        warnings.append(
            "several processes wrote under one pid into one file (so did this generation of the tracer): they are taken"
            " for one process"
        )
    hosts = {process.trace.host for process in matching}
    if len(hosts) > 1:
        warnings.append(f"the events come from {len(hosts)} hosts: the overlap of one with another trusts their clocks")
    return warnings


def _warnings_of_times(partial: Partial, sides: tuple[Side, Side]) -> list[str]:
    warnings = []
    if partial.unusable:
        warnings.append(
            f"{partial.unusable} events have times that cannot be (none, negative, beyond 2116, or ten years long) and"
            " are left out"
        )
    if partial.shared:
        a, b = (side.pattern for side in sides)
        warnings.append(f"{partial.shared} events belong to A ({a}) and to B ({b}) both: they overlap with themselves")
    return warnings


def _warnings_of_figures(overlap: Overlap, sums: Sums) -> list[str]:
    warnings = []
    idle = [name for name, side in (("A", overlap.a), ("B", overlap.b)) if not side.total]
    if idle:
        warnings.append(f"the events of {' and '.join(idle)} take no time: there is no percentage of nothing")
    if overlap.lower < overlap.exact / 2:
        warnings.append(
            f"buckets of {overlap.interval / _NS:.0f} us prove less than half of the exact overlap; shorter ones"
            " (--interval) prove more"
        )
    if len(sums.processes) > 1:
        share = percent(overlap.same_process, overlap.same_process_a)
        warnings.append(
            f"same-process figure: {overlap.same_process / _NS:.0f} us"
            + (f", {share:.1f} % of A" if share is not None else "")
            + "; it sees only what one process does at once with itself, and must not be taken for the overlap: what is"
            f" hidden behind another of the {len(sums.processes)} processes is not in it"
        )
    return warnings


def _some(names: Sequence[str], limit: int = 3) -> str:
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more


# --- in detail -------------------------------------------------------------------------------------------------------


def _shares(sums: Sums) -> tuple[ProcessShare, ...]:
    return tuple(
        ProcessShare(_pid(key), key[0] or None, a, b, *sums.hidden.get(key, (0, 0)), both)
        for key, (a, b, both) in sorted(sums.processes.items())
    )


def _pid(key: ProcessKey) -> int | None:
    return None if key[2] else key[1]


def _rounds(sums: Sums, rounds: Rounds) -> tuple[RoundShare, ...]:
    times = sums.rounds or [rounds.starts * 0] * 3
    columns = (rounds.starts, rounds.ends, *times)
    return tuple(
        RoundShare(number, *row)
        for number, row in enumerate(zip(*(column.tolist() for column in columns), strict=True))
    )


# --- of a frame ------------------------------------------------------------------------------------------------------


def overlap(frame: pd.DataFrame | Trace, a: str, b: str, interval: str | int = "p99", by: By | None = None) -> Overlap:
    """The overlap of A and B, ``CATEGORY`` or ``CATEGORY:NAME`` patterns, among the events of a frame.

    ``frame`` is ``open_trace(...).events``, or a part of it, with at least its columns ``pid``, ``category``, ``name``,
    ``start_ns`` and ``duration_ns``; what is not in it does not count, and whether all processes of the run are is not
    asked. Of the trace itself (``open_trace(...)``) it is asked, as on the command line. ``interval`` is "p99", "max"
    or microseconds. Raises ``ValueError`` for a pattern or an interval that is none, and ``TraceError`` where there is
    no answer."""
    question = Question(parse_patterns(a), parse_patterns(b), parse_interval(str(interval)), by)
    from dfannotate.analysis.frame import Trace, contribution_of

    if isinstance(frame, Trace):
        from dfannotate.analysis.partials import gather
        from dfannotate.analysis.schedule import schedule_on

        with schedule_on() as schedule:
            traces, partial = gather(frame.path, schedule, question.request())
            return answer(question, traces, partial, schedule)
    if by == "round":
        raise ValueError("rounds are events of their own: ask for them with the trace, not with a frame")
    from dfannotate.analysis.schedule import Here

    contribution, counts = contribution_of(frame, question.a, question.b)
    for name, patterns, (events, _) in zip("AB", (question.a, question.b), counts, strict=True):
        if not events:
            raise TraceError(f"no event of the frame matches {name} ({patterns.text})")
    sides = (Side(a, *counts[0], 0), Side(b, *counts[1], 0))
    return _figures(question, sides, contribution.partial, Here(results=(contribution,)), None)
