"""What a user sees: results on stdout, everything else on stderr, colour and progress on a terminal only."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TextIO

if TYPE_CHECKING:
    from dfannotate.analysis.schedule import Advance

Output = Literal["text", "json"]
Colour = Literal["red", "green", "yellow", "cyan", "bold", "dim"]

SHOWN_ROWS = 50
"""A longer table is cut on a terminal and in a file alike."""

_CODES: dict[Colour, str] = {"red": "31", "green": "32", "yellow": "33", "cyan": "36", "bold": "1", "dim": "2"}


class UserError(Exception):
    """What the user asked for cannot be done. The message names the place and says what to do; ``main`` prints it
    after ``dfannotate: error:`` and exits with code 2."""


def wants_colour(stream: TextIO) -> bool:
    """Whether ``stream`` is a terminal whose user has not asked for plain text (``NO_COLOR``, ``TERM=dumb``)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def paint(text: str, colour: Colour, stream: TextIO) -> str:
    """``text`` in ``colour`` where ``stream`` can show it, else ``text``."""
    return f"\x1b[{_CODES[colour]}m{text}\x1b[0m" if wants_colour(stream) else text


def printable(text: str) -> str:
    """``text`` on one line, whatever is in it: control characters (a newline, the escapes that steer a terminal, marks
    that turn the direction of writing) and bytes that are no text are shown as escapes. For every name that comes from
    a trace, a program or a file system, and so for every message that may hold one."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape", "surrogatepass").decode("ascii")
        for character in text
    )


def diff_of(path: str, old: Sequence[str], new: Sequence[str]) -> str:
    """A unified diff of lines that come with their newlines; a last line without one is marked as ``diff`` does."""
    import difflib

    lines = difflib.unified_diff(old, new, path, path)
    return "".join(line if line.endswith(("\n", "\r")) else f"{line}\n\\ No newline at end of file\n" for line in lines)


@dataclass(frozen=True)
class Messages:
    """The stderr side of a command: one line a message, see ``printable``. ``quiet`` drops notes; warnings and errors
    are always said."""

    quiet: bool = False

    def note(self, text: str) -> None:
        """Say what was done, or what to type next."""
        if not self.quiet:
            print(printable(text), file=sys.stderr)

    def warning(self, text: str) -> None:
        """Say what the user should look at."""
        print(f"{paint('warning:', 'yellow', sys.stderr)} {printable(text)}", file=sys.stderr)

    def error(self, text: str) -> None:
        """Say what could not be done; the caller answers for the exit code."""
        print(f"{paint('error:', 'red', sys.stderr)} {printable(text)}", file=sys.stderr)


def print_json(value: dict[str, Any]) -> None:
    """Print ``value`` to stdout as one JSON object, keys in the order given. Non-ASCII text is escaped: a path may
    hold bytes that are no text, which no stream could encode."""
    json.dump(value, sys.stdout, indent=2)
    sys.stdout.write("\n")


def count(number: int, noun: str) -> str:
    """``1 file``, ``2 files``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], numbers: Container[str]) -> None:
    """Print rows of cells to stdout, at most ``SHOWN_ROWS`` of them; columns in ``numbers`` are aligned to the right.
    On a terminal by rich, else as plain text."""
    shown = rows[:SHOWN_ROWS]
    if wants_colour(sys.stdout):
        _rich_table(title, columns, shown, numbers)
    else:
        widths = [max(len(column), *(len(row[index]) for row in shown), 0) for index, column in enumerate(columns)]
        print(title)
        for row in [columns, *shown]:
            padded = (
                cell.rjust(width) if column in numbers else cell.ljust(width)
                for column, cell, width in zip(columns, row, widths, strict=True)
            )
            print(("  " + "  ".join(padded)).rstrip())
    if len(rows) > SHOWN_ROWS:
        print(f"  … and {len(rows) - SHOWN_ROWS} more (--format json has them all)")


def _rich_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], numbers: Container[str]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, justify="right" if column in numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console().print(table)


@contextmanager
def progress(description: str, total: int, *, quiet: bool = False) -> Iterator[Callable[[int], None]]:
    """A progress bar on stderr while the block runs; yields ``advance(count)``. Without a terminal, or with ``quiet``,
    nothing is shown and rich is not imported."""
    if quiet or total == 0 or not sys.stderr.isatty():
        yield lambda count: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(description, total=total)
        yield lambda count: bar.advance(task, count)


@contextmanager
def reading(*, quiet: bool = False) -> Iterator[Callable[[Advance], None] | None]:
    """How far the reading of a trace has come, on stderr while the block runs: files, events a second, what remains.

    Yields what is to be called with each advance. Without a terminal, or with ``quiet``, it yields None, nothing is
    shown and rich is not imported."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("reading traces"),
        BarColumn(),
        TextColumn("{task.fields[files]}"),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    begin = time.monotonic()
    # no thread that refreshes: the reading forks processes
    with Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=False) as bar:
        task = bar.add_task("", total=None, files="", rate="")

        def show(advance: Advance) -> None:
            rate = advance.events / max(time.monotonic() - begin, 1e-3)
            bar.update(
                task,
                completed=advance.size or advance.files,
                total=advance.all_size or advance.all_files,
                files=f"{advance.files:,} of {count(advance.all_files, 'file')}",
                rate=f"{rate:,.0f} events/s",
                refresh=True,
            )

        bar.refresh()
        yield show
