"""Patterns for events, as the command line takes them: ``CATEGORY`` or ``CATEGORY:NAME``, in ``fnmatch`` syntax."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase


def matches(pattern: str, text: str) -> bool:
    """Whether ``text`` is what an ``fnmatch`` pattern describes, or the very text of the pattern."""
    return pattern == text or fnmatchcase(text, pattern)


@dataclass(frozen=True)
class Pattern:
    """All events whose category and name match."""

    category: str
    name: str = "*"

    def matches(self, category: str, name: str) -> bool:
        return matches(self.category, category) and matches(self.name, name)


@dataclass(frozen=True)
class Patterns:
    """All events that one of the patterns matches; ``text`` is how the user wrote them."""

    text: str
    patterns: tuple[Pattern, ...]

    def match(self, category: str, name: str) -> bool:
        return any(pattern.matches(category, name) for pattern in self.patterns)


def parse_patterns(text: str) -> Patterns:
    """``CATEGORY`` or ``CATEGORY:NAME``, several by commas. The category ends at the first ``:``; ``?`` stands for a
    comma in either of them and for a ``:`` in a category. Raises ``ValueError`` for anything else."""
    patterns = []
    for part in text.split(","):
        category, colon, name = part.strip().partition(":")
        if not category or (colon and not name):
            raise ValueError(f"{text!r} is not CATEGORY or CATEGORY:NAME, or several by commas (for example IO:read*)")
        patterns.append(Pattern(category, name if colon else "*"))
    return Patterns(text, tuple(patterns))


def parse_pair(text: str) -> tuple[Patterns, Patterns]:
    """``A:B``, two of what ``parse_patterns`` takes, both without a name or both with one.

    Raises ``ValueError`` for anything else, also where it cannot be told to which of the two a name belongs."""
    parts = text.split(":")
    if len(parts) == 2:
        return parse_patterns(parts[0]), parse_patterns(parts[1])
    if len(parts) == 4 and "," not in text:
        return parse_patterns(":".join(parts[:2])), parse_patterns(":".join(parts[2:]))
    raise ValueError(
        f"{text!r} is not A:B (for example IO:COMPUTE, or with names for both: IO:read*:COMPUTE:*; a ? stands for a"
        " colon in a name)"
    )
