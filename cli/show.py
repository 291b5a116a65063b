"""What a user sees: results on stdout, everything else on stderr, colour and progress on a terminal only."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, TextIO

Output = Literal["text", "json"]
Colour = Literal["red", "green", "yellow", "cyan", "bold", "dim"]

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
