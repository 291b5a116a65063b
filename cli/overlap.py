"""``dfannotate overlap``: how much of A is hidden behind B, across all processes of a traced run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dfannotate.analysis.figures import Overlap, ProcessShare, RoundShare, percent
from dfannotate.analysis.overlap import Question, answer, parse_interval
from dfannotate.analysis.patterns import parse_patterns
from dfannotate.analysis.traces import TraceError
from dfannotate.cli.show import Messages, UserError, count, print_json, print_table, printable, reading
from dfannotate.cli.state import known_manifest

OK = 0

_PROCESS_COLUMNS = ("pid", "host", "A, us", "B, us", "A hidden", "B hidden", "same process, us")
_ROUND_COLUMNS = ("round", "duration, us", "A, us", "B, us", "overlap, us", "of A", "of B")


@dataclass(frozen=True)
class OverlapOptions:
    """What the command was asked; patterns, interval and address as they were written."""

    trace_dir: Path
    a: str
    b: str
    interval: str = "p99"
    by: Literal["process", "round"] | None = None
    rounds: str | None = None
    scheduler: str | None = None
    manifest: Path | None = None
    output: Literal["text", "json"] = "text"
    quiet: bool = False


def overlap(options: OverlapOptions) -> int:
    """Read the trace once, print the figures. Raises ``UserError`` where there are none: no event of A or B, files that
    are missing or empty, a scheduler that does not answer."""
    from dfannotate.analysis.partials import gather
    from dfannotate.analysis.schedule import schedule_on

    question = _question(options)
    manifest = known_manifest(options.manifest)
    try:
        with reading(quiet=options.quiet) as watch, schedule_on(options.scheduler) as schedule:
            traces, partial = gather(options.trace_dir, schedule, question.request(), watch)
            found = answer(question, traces, partial, schedule, manifest)
    except TraceError as error:
        raise UserError(str(error)) from None
    if options.output == "json":
        document = found.as_json()
        if options.by == "process":
            document["processes"] = [share.as_json() for share in found.processes]
        elif options.by == "round":
            document["rounds"] = [share.as_json() for share in found.rounds]
        print_json(document)
    else:
        _print_text(found, options)
    return OK


def _question(options: OverlapOptions) -> Question:
    parsed = []
    for flag, text in (("--a", options.a), ("--b", options.b), ("--round", options.rounds)):
        try:
            parsed.append(parse_patterns(text) if text is not None else None)
        except ValueError as error:
            raise UserError(f"{flag}: {error}") from None
    try:
        interval = parse_interval(options.interval)
    except ValueError as error:
        raise UserError(f"--interval: {error}") from None
    a, b, rounds = parsed
    if a is None or b is None:
        raise UserError("--a and --b are both needed")
    if rounds is not None and options.by != "round":
        raise UserError("--round says what a round is, and needs --by round")
    return Question(a, b, interval, options.by, rounds)


def _print_text(found: Overlap, options: OverlapOptions) -> None:
    messages = Messages(options.quiet)
    for warning in found.warnings:
        messages.warning(warning)
    columns = ("", "pattern", "events", "processes", "busiest, us", "any, us")
    rows = [
        (
            name,
            printable(side.pattern),
            f"{side.events:,}",
            f"{side.processes:,}",
            _time(side.total),
            _time(union),
        )
        for name, side, union in (("A", found.a, found.a_union), ("B", found.b, found.b_union))
    ]
    print_table("busy time, of the busiest process of each bucket and of any process", columns, rows, columns[2:])
    print(f"interval   {_time(found.interval)} us, {count(found.buckets, 'bucket')}")
    print(
        f"overlap    {_time(found.lower)} us at least: {_share(found.pct_of_a)} of A, {_share(found.pct_of_b)} of B,"
        f" {_share(found.pct_of_smaller)} of the smaller; stall {_share(found.stall_pct_of_a)} of A"
    )
    print(
        f"exactly    {_time(found.exact)} us: {_share(found.exact_pct_of_a)} of the time of A in any"
        f" process, {_share(found.exact_pct_of_b)} of that of B"
    )
    if options.by == "process":
        print()
        _print_shares("processes", _PROCESS_COLUMNS, [_process_row(share) for share in found.processes])
    elif options.by == "round":
        print()
        _print_shares("rounds", _ROUND_COLUMNS, [_round_row(share) for share in found.rounds])


def _print_shares(title: str, columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    print_table(title, columns, rows, {*columns} - {"host"})


def _process_row(share: ProcessShare) -> tuple[str, ...]:
    return (
        "?" if share.pid is None else str(share.pid),
        printable(share.host or "?"),
        _time(share.a),
        _time(share.b),
        _share(percent(share.a_hidden, share.a)),
        _share(percent(share.b_hidden, share.b)),
        _time(share.both),
    )


def _round_row(share: RoundShare) -> tuple[str, ...]:
    return (
        str(share.number),
        _time(share.end - share.start),
        _time(share.a),
        _time(share.b),
        _time(share.exact),
        _share(percent(share.exact, share.a)),
        _share(percent(share.exact, share.b)),
    )


def _time(ns: int) -> str:
    return f"{ns / 1000:,.0f}" if ns % 1000 == 0 or ns >= 10**6 else f"{ns / 1000:,.3f}"


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:.1f} %"
