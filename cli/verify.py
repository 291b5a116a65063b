"""``dfannotate verify``: a trace held against what was annotated and what is expected of it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from dfannotate import analysis
from dfannotate.analysis import Expectation, Outcome, parse_expectation
from dfannotate.analysis.patterns import parse_pair
from dfannotate.analysis.traces import TraceError, Traces
from dfannotate.cli.show import Colour, UserError, paint, print_json, print_table, printable, reading
from dfannotate.cli.state import known_manifest

OK, NO, FAILED = 0, 1, 2

_COLOURS: dict[str, Colour] = {"pass": "green", "fail": "red", "warn": "yellow", "skip": "dim"}
_PROCESS_COLUMNS = ("pid", "ppid", "host", "role", "events", "bytes", "finalized", "file")
_EVENT_COLUMNS = ("category", "name", "count", "total_us", "processes")
_NUMBERS = frozenset({"pid", "ppid", "events", "bytes", "count", "total_us", "processes"})
_WIDEST = 120
"""Characters of a name that a table shows; a name may have as many as a line of a trace."""


def verify(
    trace_dir: Path,
    *,
    manifest: Path | None,
    expect: Sequence[str],
    workers: int | None = None,
    overlap: str | None = None,
    min_overlap: float | None = None,
    scheduler: str | None = None,
    output: Literal["text", "json"],
    quiet: bool,
) -> int:
    """Read the trace, run every check, print the result. ``manifest`` None means the project's own, if it has one;
    ``workers`` is the number of worker processes that there must be, ``overlap`` an A:B of which ``min_overlap``
    percent of A must be hidden behind B, ``scheduler`` the address of a Dask scheduler that does the work.

    Returns 0 if no check fails, 1 if one does, 2 if a trace file could not be read. Raises ``UserError`` or
    ``ManifestError`` where there is nothing to check or nothing to check it against."""
    expectations = _expectations(expect)
    if min_overlap is not None and overlap is None:
        raise UserError("--min-overlap needs --overlap A:B")
    known = known_manifest(manifest)
    try:
        if overlap is not None:
            parse_pair(overlap)
    except ValueError as error:
        raise UserError(f"--overlap: {error}") from None
    try:
        with reading(quiet=quiet) as watch:
            verification = analysis.verify(
                trace_dir,
                manifest=known,
                expectations=expectations,
                workers=workers,
                overlap=overlap,
                min_overlap=min_overlap,
                scheduler=scheduler,
                watch=watch,
            )
    except TraceError as error:
        raise UserError(str(error)) from None
    traces, ok = verification.traces, verification.ok
    result = _result(traces, verification.outcomes, ok)
    if output == "json":
        print_json(result)
    else:
        _print_text(result, quiet)
    if any(problem.kind == "unreadable" for file in traces.files for problem in file.problems):
        return FAILED
    return OK if ok else NO


def _expectations(texts: Sequence[str]) -> list[Expectation]:
    try:
        return [parse_expectation(text) for text in texts]
    except ValueError as error:
        raise UserError(f"--expect: {error}") from None


def _result(traces: Traces, outcomes: Sequence[Outcome], ok: bool) -> dict[str, Any]:
    """The JSON of the command: plain values, in the order of the contract."""
    return {
        "ok": ok,
        "checks": [
            {
                "id": outcome.id,
                "status": outcome.status,
                "message": outcome.message,
                "details": dict(outcome.details),
            }
            for outcome in outcomes
        ],
        "processes": [
            {
                "pid": process.trace.pid,
                "ppid": process.trace.ppid,
                "host": process.trace.host,
                "role": process.role,
                "file": process.file.name,
                "bytes": process.file.size,
                "events": process.trace.count,
                "finalized": process.trace.finalized,
            }
            for process in traces.processes
        ],
        "events": [
            {
                "category": total.category,
                "name": total.name,
                "count": total.count,
                "total_us": round(total.total_us, 3),
                "processes": total.processes,
            }
            for total in traces.totals()
        ],
    }


def _print_text(result: dict[str, Any], quiet: bool) -> None:
    if not quiet:
        _print_table("processes", _PROCESS_COLUMNS, result["processes"])
        events = sorted(result["events"], key=lambda event: -event["total_us"])
        _print_table("events", _EVENT_COLUMNS, events)
    for check in result["checks"]:
        status = paint(f"{check['status']:<4}", _COLOURS[check["status"]], sys.stdout)
        print(f"{status}  {check['id']:<9}  {printable(check['message'])}")
    failed = [check["id"] for check in result["checks"] if check["status"] == "fail"]
    if failed:
        print(paint(f"not ok: {', '.join(failed)} failed", "red", sys.stdout))
    else:
        warned = [check["id"] for check in result["checks"] if check["status"] == "warn"]
        print(paint("ok" + (f", with warnings: {', '.join(warned)}" if warned else ""), "green", sys.stdout))


def _print_table(title: str, columns: Sequence[str], rows: Sequence[dict[str, Any]]) -> None:
    cells = [[_cell(column, row[column]) for column in columns] for row in rows]
    print_table(title, columns, cells, _NUMBERS)
    print()


def _cell(column: str, value: object) -> str:
    if value is None:
        return "?"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if column == "total_us" and isinstance(value, float):
        return f"{value:.0f}"
    text = printable(str(value))
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"
