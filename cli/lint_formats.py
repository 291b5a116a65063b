"""How the findings of ``lint`` are shown: with the source, line by line, and for the programs that read them."""

from __future__ import annotations

import json
import os
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from dfannotate import __version__
from dfannotate.cli.show import paint
from dfannotate.rules import Finding

if TYPE_CHECKING:
    from dfannotate.rules import Rule

SARIF_VERSION = "2.1.0"
SARIF_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_AROUND = 2
"""Lines of source above and below what was found."""
_TAB = "    "


@dataclass(frozen=True)
class Shown:
    """A finding as it leaves its file: without its fix, with the lines of source around it."""

    finding: Finding
    fixable: bool
    excerpt: str = ""


@dataclass(frozen=True)
class Outcome:
    """What came of one file: ``data`` is its new content, None where it stays; ``seen`` the SHA-256 of the old one.

    ``bare``: lines of findings with a ``# noqa`` that names no code. ``failed``: it does not parse. ``error``: it could
    not be read or written."""

    shown: str
    findings: tuple[Shown, ...] = ()
    bare: tuple[int, ...] = ()
    fixed: Counter[str] = field(default_factory=Counter)
    seen: str = ""
    data: bytes | None = None
    diff: str = ""
    error: str = ""
    failed: bool = False


Errors = Sequence[tuple[str, str]]
Format = Callable[[Sequence[Shown], Errors, "Sequence[Rule]", Path, TextIO], None]


def excerpt(finding: Finding, lines: Sequence[str]) -> str:
    """The lines around a finding, with a mark under (of several lines: beside) what was found; tabs as four columns."""
    first, last = finding.line, min(max(finding.line, finding.end_line), max(1, len(lines)))
    if last > first and finding.end_column <= 1:
        last -= 1
    begin, end = max(1, first - _AROUND), min(len(lines), last + _AROUND)
    while begin < first and not lines[begin - 1].strip():
        begin += 1
    while end > last and not lines[end - 1].strip():
        end -= 1
    width = len(str(end))
    several = last > first
    made = [f"{'':{width}} |"]
    for number in range(begin, end + 1):
        text = lines[number - 1].rstrip("\r\n\f\x0b") if number <= len(lines) else ""
        beside = ("/ " if number == first else "| " if first < number <= last else "  ") if several else ""
        made.append(f"{number:{width}} | {beside}{_spread(text)}".rstrip())
        if number == last:
            made.append(f"{'':{width}} | {_mark(finding, text, several)}")
    if end > last:
        made.append(f"{'':{width}} |")
    return "\n".join(made)


def _mark(finding: Finding, text: str, several: bool) -> str:
    if several:
        return "|" + "_" * _columns(text[: max(1, finding.end_column - 1)]) + "^"
    start = _columns(text[: finding.column - 1])
    size = _columns(text[finding.column - 1 : finding.end_column - 1]) if finding.end_line == finding.line else 1
    return " " * start + "^" * max(1, size)


def _spread(text: str) -> str:
    return text.replace("\t", _TAB)


def _columns(text: str) -> int:
    """How wide a terminal shows ``text``."""
    if text.isascii():
        return len(_spread(text))
    return sum(
        0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in _spread(text)
    )


def place(finding: Finding) -> str:
    return f"{finding.path}:{finding.line}:{finding.column}"


def _full(found: Sequence[Shown], errors: Errors, rules: Sequence[Rule], root: Path, stream: TextIO) -> None:
    for shown in found:
        finding = shown.finding
        mark = f" [{paint('*', 'cyan', stream)}]" if shown.fixable else ""
        gutter = shown.excerpt.index("|") - 1 if "|" in shown.excerpt else 0
        print(f"{paint(finding.code, 'red', stream)}{mark} {finding.message}", file=stream)
        print(f"{'':{gutter}}--> {place(finding)}", file=stream)
        print(shown.excerpt, end="\n\n", file=stream)


def _concise(found: Sequence[Shown], errors: Errors, rules: Sequence[Rule], root: Path, stream: TextIO) -> None:
    for shown in found:
        finding = shown.finding
        mark = f" [{paint('*', 'cyan', stream)}]" if shown.fixable else ""
        print(f"{place(finding)}: {paint(finding.code, 'red', stream)}{mark} {finding.message}", file=stream)


def _json(found: Sequence[Shown], errors: Errors, rules: Sequence[Rule], root: Path, stream: TextIO) -> None:
    _dump([_as_json(shown) for shown in found], stream)


def _as_json(shown: Shown) -> dict[str, Any]:
    finding = shown.finding
    return {
        "code": finding.code,
        "name": finding.name,
        "message": finding.message,
        "path": finding.path,
        "line": finding.line,
        "column": finding.column,
        "end_line": finding.end_line,
        "end_column": finding.end_column,
        "fixable": shown.fixable,
    }


def _dump(value: object, stream: TextIO) -> None:
    json.dump(value, stream, indent=2)
    stream.write("\n")


def _github(found: Sequence[Shown], errors: Errors, rules: Sequence[Rule], root: Path, stream: TextIO) -> None:
    """Workflow commands: GitHub shows them beside the lines of a change."""
    for shown in found:
        finding = shown.finding
        values = {
            "title": f"dfannotate ({finding.code})",
            "file": finding.path,
            "line": str(finding.line),
            "col": str(finding.column),
            "endLine": str(finding.end_line),
            "endColumn": str(finding.end_column),
        }
        properties = ",".join(f"{key}={_escaped(value, of_property=True)}" for key, value in values.items())
        text = _escaped(f"{place(finding)}: {finding.code} {finding.message}")
        print(f"::error {properties}::{text}", file=stream)
    for path, reason in errors:
        print(f"::error title=dfannotate,file={_escaped(path, of_property=True)}::{_escaped(reason)}", file=stream)


def _escaped(text: str, *, of_property: bool = False) -> str:
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(":", "%3A").replace(",", "%2C") if of_property else text


def _sarif(found: Sequence[Shown], errors: Errors, rules: Sequence[Rule], root: Path, stream: TextIO) -> None:
    numbers = {rule.CODE: number for number, rule in enumerate(rules)}
    run: dict[str, Any] = {
        "tool": {
            "driver": {
                "name": "dfannotate",
                "semanticVersion": __version__,
                "rules": [_rule_as_sarif(rule) for rule in rules],
            }
        },
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"PROJECTROOT": {"uri": root.as_uri().rstrip("/") + "/"}},
        "invocations": [
            {
                "executionSuccessful": not errors,
                "toolExecutionNotifications": [
                    {
                        "level": "error",
                        "message": {"text": reason},
                        "locations": [{"physicalLocation": {"artifactLocation": _location(path, root)}}],
                    }
                    for path, reason in errors
                ],
            }
        ],
        "results": [_result(shown.finding, numbers, root) for shown in found],
    }
    _dump({"$schema": SARIF_SCHEMA, "version": SARIF_VERSION, "runs": [run]}, stream)


def _rule_as_sarif(rule: Rule) -> dict[str, Any]:
    from dfannotate.rules.catalogue import paragraphs

    first, *more = paragraphs(rule)
    return {
        "id": rule.CODE,
        "name": "".join(word.capitalize() for word in rule.NAME.split("-")),
        "shortDescription": {"text": first},
        "fullDescription": {"text": "\n\n".join([first, *more])},
        "help": {"text": f"dfannotate rule {rule.CODE}"},
        "defaultConfiguration": {"level": _level(rule.CODE)},
        "properties": {"fixable": rule.FIXABLE},
    }


def _level(code: str) -> str:
    return "error" if code == "DFT001" else "warning"


def _result(finding: Finding, numbers: dict[str, int], root: Path) -> dict[str, Any]:
    region = {
        "startLine": finding.line,
        "startColumn": finding.column,
        "endLine": max(finding.line, finding.end_line),
        "endColumn": max(1, finding.end_column),
    }
    return {
        "ruleId": finding.code,
        "ruleIndex": numbers[finding.code],
        "level": _level(finding.code),
        "message": {"text": finding.message},
        "locations": [{"physicalLocation": {"artifactLocation": _location(finding.path, root), "region": region}}],
    }


def _location(path: str, root: Path) -> dict[str, str]:
    """Relative to the project root where it lies below it: so a report can be read on another machine."""
    absolute = Path(os.path.abspath(path))
    if not absolute.is_relative_to(root):
        return {"uri": absolute.as_uri()}
    from urllib.parse import quote

    return {"uri": quote(os.fsencode(absolute.relative_to(root).as_posix())), "uriBaseId": "PROJECTROOT"}


FORMATS: dict[str, Format] = {
    "full": _full,
    "concise": _concise,
    "json": _json,
    "github": _github,
    "sarif": _sarif,
}


def print_statistics(found: Sequence[Shown], output: str, stream: TextIO) -> None:
    """How often each rule found something, the most frequent first."""
    counts = Counter(shown.finding.code for shown in found)
    about = {shown.finding.code: shown for shown in reversed(found)}
    fixable = Counter(shown.finding.code for shown in found if shown.fixable)
    rows = sorted(counts, key=lambda code: (-counts[code], code))
    if output == "json":
        _dump(
            [
                {"code": code, "name": about[code].finding.name, "count": counts[code], "fixable": fixable[code]}
                for code in rows
            ],
            stream,
        )
        return
    for line in _statistics_lines(rows, counts, fixable, about):
        print(line, file=stream)


def _statistics_lines(
    rows: Sequence[str], counts: Counter[str], fixable: Counter[str], about: dict[str, Shown]
) -> Iterator[str]:
    width = max((len(str(counts[code])) for code in rows), default=0)
    for code in rows:
        mark = "[*]" if fixable[code] == counts[code] else "[-]" if fixable[code] else "[ ]"
        yield f"{counts[code]:>{width}}  {code}  {mark} {about[code].finding.name}"
