"""What silences a finding: ``# noqa: DFT201``, on its line, and ``# dfannotate: ignore[DFT201] reason``, there or alone
on the line above.

A code has to be named. ``# noqa`` without one speaks to other tools, and so do the codes of others in a list: both are
left as they are. A comment behind a string over several lines, or behind lines joined by backslashes, speaks for all of
them, as it does for ruff; one behind the last line of what was found does so too.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dfannotate.edits import Edit, Rewrite, Splice
from dfannotate.rules import Finding

_CODE = r"[A-Za-z]+[0-9]+"
_CODES = rf"{_CODE}(?:\s*[,\s]\s*{_CODE})*"
_DIRECTIVE = re.compile(
    rf"#\s*(?:noqa\s*:\s*(?P<noqa>{_CODES})(?![\w-])|dfannotate\s*:\s*ignore\s*\[\s*(?P<ignore>{_CODES})\s*,?\s*\])",
    re.IGNORECASE,
)
_BARE = re.compile(rf"#\s*noqa(?!\s*:\s*{_CODE})(?![\w-])", re.IGNORECASE)
_HINT = re.compile(r"#[^\r\n]*(?:noqa\s*:[^\r\n]*DFT|dfannotate\s*:)", re.IGNORECASE)
_OURS = re.compile(r"DFT[0-9]{3}", re.IGNORECASE)


@dataclass(frozen=True)
class Directive:
    """One comment that silences, or the part of a comment that does. Columns are 0-based and in characters.

    ``line`` is where it stands, ``lines`` those of the findings that it silences; ``start`` to ``end`` is all of it,
    its reason included, ``first`` to ``last`` its codes. ``alone``: nothing else stands on its line."""

    line: int
    lines: frozenset[int]
    start: int
    end: int
    first: int
    last: int
    codes: tuple[str, ...]
    alone: bool

    @property
    def ours(self) -> tuple[str, ...]:
        """Its codes that are of this tool, in capitals."""
        return tuple(code.upper() for code in self.codes if _OURS.fullmatch(code))


@dataclass(frozen=True)
class Suppressions:
    """All that a file says about silence. ``joined``: line -> the last of the lines that belong together with it."""

    directives: tuple[Directive, ...] = ()
    joined: Mapping[int, int] = field(default_factory=dict)

    def split(self, findings: Iterable[Finding]) -> tuple[list[Finding], dict[Directive, set[str]]]:
        """The findings that stand, and which codes of each directive were of use."""
        used: dict[Directive, set[str]] = {directive: set() for directive in self.directives}
        standing: list[Finding] = []
        for finding in findings:
            lines = {finding.line, self.joined.get(finding.line, finding.line)}
            last = finding.end_line if finding.end_column > 1 else max(finding.line, finding.end_line - 1)
            lines |= {last, self.joined.get(last, last)}
            silenced = False
            for directive in self.directives:
                if finding.code in directive.ours and not lines.isdisjoint(directive.lines):
                    used[directive].add(finding.code)
                    silenced = True
            if not silenced:
                standing.append(finding)
        return standing, used


def in_python(text: str, lines: Sequence[str]) -> Suppressions:
    """The suppressions of a Python file; its tokens are looked at only where something like one is in the text."""
    if not _HINT.search(text):
        return Suppressions()
    comments, joined = _tokens(text)
    found: list[Directive] = []
    for line, column in comments:
        found += _directives(lines, line, column)
    return Suppressions(tuple(found), joined)


def in_text(lines: Sequence[str]) -> Suppressions:
    """The suppressions of a file whose comments begin with ``#`` at the start of a line or after white space."""
    found: list[Directive] = []
    for number, line in enumerate(lines, 1):
        if _HINT.search(line) and (match := re.search(r"(?:^|(?<=\s))#", line)):
            found += _directives(lines, number, match.start())
    return Suppressions(tuple(found))


def bare_lines(lines: Sequence[str], findings: Iterable[Finding]) -> list[int]:
    """The lines of findings that have a ``# noqa`` without a code, which silences nothing here."""
    return sorted({f.line for f in findings if f.line <= len(lines) and _BARE.search(lines[f.line - 1])})


def without(lines: Sequence[str], directive: Directive, codes: Iterable[str]) -> Edit:
    """The edit that takes ``codes`` out of a directive, and all of it where none is left."""
    gone = set(codes)
    line = lines[directive.line - 1]
    kept = [code for code in directive.codes if code.upper() not in gone]
    if kept:
        return Rewrite(directive.line, directive.first, directive.line, directive.last, ", ".join(kept))
    rest = line[directive.end :].strip()
    if directive.alone and not rest:
        return Splice(directive.line, directive.line + 1)
    start = directive.start
    if not rest:
        start = len(line[:start].rstrip(" \t"))
    return Rewrite(directive.line, start, directive.line, directive.end)


def _directives(lines: Sequence[str], number: int, column: int) -> Iterator[Directive]:
    """Those of one comment, which begins at ``column``."""
    line = lines[number - 1].rstrip("\r\n")
    for match in _DIRECTIVE.finditer(line, column):
        group = "noqa" if match["noqa"] else "ignore"
        more = line.find("#", match.end())
        alone = not line[: match.start()].strip()
        covered = {number}
        if alone and group == "ignore":
            covered.add(_next_code(lines, number))
        yield Directive(
            number,
            frozenset(covered),
            match.start(),
            len(line.rstrip()) if more < 0 else more,
            match.start(group),
            match.end(group),
            tuple(re.findall(_CODE, match[group])),
            alone,
        )


def _next_code(lines: Sequence[str], number: int) -> int:
    """The line below that is not a comment: several may stand above it."""
    following = number + 1
    while following <= len(lines) and lines[following - 1].lstrip().startswith("#"):
        following += 1
    return following


def _tokens(text: str) -> tuple[list[tuple[int, int]], dict[int, int]]:
    """Where comments begin (line, column), and which lines a string or backslashes join: line -> the last one."""
    comments: list[tuple[int, int]] = []
    spans: list[tuple[int, int]] = []
    opened: list[int] = []
    previous: tokenize.TokenInfo | None = None
    # To the tokenizer, a lone ``\r`` ends no line.
    reader = io.StringIO(text.replace("\r\n", "\n").replace("\r", "\n"), newline="\n").readline
    try:
        for token in tokenize.generate_tokens(reader):
            kind = tokenize.tok_name[token.type]
            if kind == "COMMENT":
                comments.append(token.start)
            if kind in ("FSTRING_START", "TSTRING_START"):
                opened.append(token.start[0])
            elif kind in ("FSTRING_END", "TSTRING_END"):
                spans.append((opened.pop(), token.end[0]))
            elif kind == "STRING":
                spans.append((token.start[0], token.end[0]))
            if (
                previous is not None
                and token.start[0] > previous.end[0]
                and tokenize.tok_name[previous.type] not in ("NEWLINE", "NL", "COMMENT", "INDENT", "DEDENT", "ENCODING")
                and kind not in ("ENDMARKER", "DEDENT", "INDENT")
                and not opened
            ):
                spans.append((previous.end[0], token.start[0]))
            previous = token
    except (tokenize.TokenError, SyntaxError, IndentationError):
        return comments, {}
    joined: dict[int, int] = {}
    for first, last in sorted(spans, reverse=True):  # the last ones first, so that chains lead to the end
        end = joined.get(last, last)
        for line in range(first, last):
            joined[line] = max(end, joined.get(line, end))
    return comments, joined
