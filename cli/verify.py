"""``dfannotate verify``: a trace held against what was annotated and what is expected of it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from dfannotate.analysis import Expectation, Outcome, discover, parse_expectation
from dfannotate.analysis.audit import read_audit
from dfannotate.analysis.reader import find_files, open_traces
from dfannotate.analysis.traces import TraceError, Traces
from dfannotate.cli.show import Colour, UserError, paint, print_json, printable, progress, wants_colour
from dfannotate.cli.state import FOLDER, MANIFEST_NAME, project_root
from dfannotate.manifest import Manifest, load

OK, NO, FAILED = 0, 1, 2

_COLOURS: dict[str, Colour] = {"pass": "green", "fail": "red", "warn": "yellow", "skip": "dim"}
_PROCESS_COLUMNS = ("pid", "ppid", "host", "role", "events", "bytes", "finalized", "file")
_EVENT_COLUMNS = ("category", "name", "count", "total_us", "processes")
_NUMBERS = frozenset({"pid", "ppid", "events", "bytes", "count", "total_us", "processes"})
_SHOWN_ROWS = 50
_WIDEST = 120
"""Characters of a name that a table shows; a name may have as many as a line of a trace."""


def verify(
    trace_dir: Path,
    *,
    manifest: Path | None,
    expect: Sequence[str],
    workers: int | None = None,
    output: Literal["text", "json"],
    quiet: bool,
) -> int:
    """Read the trace, run every check, print the result. ``manifest`` None means the project's own, if it has one;
    ``workers`` is the number of worker processes that there must be.

    Returns 0 if no check fails, 1 if one does, 2 if a trace file could not be read. Raises ``UserError`` or
    ``ManifestError`` where there is nothing to check or nothing to check it against."""
    expectations = _expectations(expect)
    known = _manifest(manifest)
    try:
        count = len(find_files(trace_dir))
        with progress("reading traces", count, quiet=quiet) as advance:
            traces = open_traces(trace_dir, progress=lambda done, total: advance(1))
    except TraceError as error:
        raise UserError(str(error)) from None
    traces = replace(traces, audit=read_audit(trace_dir), workers_expected=workers)
    outcomes = [check.run(traces, known, expectations) for check in discover()]
    ok = not any(outcome.status == "fail" for outcome in outcomes)
    result = _result(traces, outcomes, ok)
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


def _manifest(path: Path | None) -> Manifest | None:
    if path is None:
        path = project_root(Path.cwd()) / FOLDER / MANIFEST_NAME
        if not path.exists():
            return None
    elif not path.exists():
        raise UserError(f"{path}: no such manifest; `dfannotate apply` writes one")
    return load(path)


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
    left_out = len(rows) - _SHOWN_ROWS
    cells = [[_cell(column, row[column]) for column in columns] for row in rows[:_SHOWN_ROWS]]
    if wants_colour(sys.stdout):
        _rich_table(title, columns, cells)
    else:
        widths = [max(len(column), *(len(row[index]) for row in cells), 0) for index, column in enumerate(columns)]
        print(title)
        for row in [list(columns), *cells]:
            padded = (
                cell.rjust(width) if column in _NUMBERS else cell.ljust(width)
                for column, cell, width in zip(columns, row, widths, strict=True)
            )
            print(("  " + "  ".join(padded)).rstrip())
    if left_out > 0:
        print(f"  … and {left_out} more (--format json has them all)")
    print()


def _rich_table(title: str, columns: Sequence[str], cells: Sequence[Sequence[str]]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, justify="right" if column in _NUMBERS else "left", overflow="fold")
    for row in cells:
        table.add_row(*(Text(cell) for cell in row))
    Console().print(table)


def _cell(column: str, value: object) -> str:
    if value is None:
        return "?"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if column == "total_us" and isinstance(value, float):
        return f"{value:.0f}"
    text = printable(str(value))
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"
