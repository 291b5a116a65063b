"""One file under all rules: which of them look at it, what they find, what of that is silenced."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from dfannotate import vocabulary
from dfannotate.rules import CODE, Finding, Module, Project, Rule, TextFile
from dfannotate.rules.dft001_syntax_error import SyntaxFault
from dfannotate.rules.dft002_unused_suppression import UnusedSuppression
from dfannotate.rules.suppress import Directive, Suppressions, bare_lines, in_python, in_text
from dfannotate.source import ParseFailure, Source

Release = tuple[int, int, int]

MENTION = re.compile(vocabulary.MENTION)
_MENTIONS = tuple(part.encode() for part in vocabulary.MENTIONS)
_MENTION_BYTES = re.compile(vocabulary.MENTION.encode())


def mentions(data: bytes) -> bool:
    """Whether a file mentions the tracer itself."""
    return any(part in data for part in _MENTIONS) and _MENTION_BYTES.search(data) is not None


_ALWAYS = frozenset({SyntaxFault.CODE})
_META = frozenset({SyntaxFault.CODE, UnusedSuppression.CODE})


class UnknownCode(ValueError):
    """A code, or the beginning of codes, that no rule has."""


@dataclass(frozen=True)
class Checked:
    """What the rules found in one file, in the order of the source, and the lines of findings that carry a ``# noqa``
    without a code."""

    findings: tuple[Finding, ...]
    bare: tuple[int, ...] = ()


def choose(rules: Sequence[Rule], select: Iterable[str] = (), ignore: Iterable[str] = ()) -> tuple[Rule, ...]:
    """The rules that ``select`` names (all without) and ``ignore`` does not, by code, beginning of a code, or ``ALL``;
    the longer one wins, as it does in ruff. A syntax error is always among them, unless it is ignored itself. Raises
    ``UnknownCode``."""
    selected = [_checked(code, rules) for code in select] or ["ALL"]
    ignored = [_checked(code, rules) for code in ignore]
    return tuple(
        rule
        for rule in rules
        if max((_weight(code, rule) for code in ignored), default=0)
        < max((_weight(code, rule) for code in (*selected, *(_ALWAYS & {rule.CODE}))), default=0)
    )


def _checked(code: str, rules: Sequence[Rule]) -> str:
    wanted = code.strip().upper()
    if wanted == "ALL" or (wanted and any(rule.CODE.startswith(wanted) for rule in rules)):
        return wanted
    raise UnknownCode(f"{code!r}: no rule has this code; `dfannotate rule --all` lists them")


def _weight(code: str, rule: Rule) -> int:
    """How closely ``code`` names a rule, 0 where it does not."""
    if code == "ALL":
        return 1
    return 1 + len(code) if rule.CODE.startswith(code) else 0


def release_of(version: str) -> Release:
    """``2.1.1.post45`` as numbers; those of the newest release where it is none."""
    match = re.match(r"(\d+)\.(\d+)\.(\d+)", version) or re.match(r"(\d+)\.(\d+)\.(\d+)", vocabulary.NEWEST_TARGET)
    assert match is not None
    return int(match[1]), int(match[2]), int(match[3])


NEWEST = release_of(vocabulary.NEWEST_TARGET)


def check(module: Module, rules: Sequence[Rule], release: Release = NEWEST) -> Checked:
    """The findings in a module, for the tracer of ``release``."""
    mentions = bool(MENTION.search(module.text)) or bool(module.usage.imports)
    found: list[Finding] = []
    for rule in rules:
        if release >= rule.SINCE and (mentions if rule.NEEDS_TRACER else _concerns(rule, module.text, module.project)):
            found += rule.check(module)
    return _settled(module.path, module.lines, found, rules, in_python(module.text, module.lines))


def check_text(file: TextFile, rules: Sequence[Rule], release: Release = NEWEST) -> Checked:
    """The findings in a file that is no Python."""
    found: list[Finding] = []
    for rule in rules:
        if release >= rule.SINCE:
            found += rule.check_text(file)
    return _settled(file.path, file.lines, found, rules, in_text(file.lines))


def check_failure(failure: ParseFailure, rules: Sequence[Rule]) -> Checked:
    """The finding for a file that does not parse; none where nobody wants it."""
    return Checked(tuple(rule.found(failure) for rule in rules if isinstance(rule, SyntaxFault)))


def words_of(rules: Iterable[Rule]) -> tuple[bytes, ...]:
    """The words that make a file matter in a project that uses the tracer, though it does not mention the tracer."""
    return tuple(sorted({word.encode() for rule in rules if not rule.NEEDS_TRACER for word in rule.WORDS}))


def _concerns(rule: Rule, text: str, project: Project) -> bool:
    return any(word in text for word in rule.WORDS) and project.is_traced


def _settled(
    path: str, lines: Sequence[str], found: Iterable[Finding], rules: Sequence[Rule], suppressions: Suppressions
) -> Checked:
    places: dict[tuple[int, int, str], Finding] = {}
    for finding in found:
        places.setdefault((finding.line, finding.column, finding.code), finding)
    findings = [places[key] for key in sorted(places)]
    if suppressions.directives:
        findings, used = suppressions.split(findings)
        findings = sorted([*findings, *_unused(path, lines, rules, suppressions, used)])
    return Checked(tuple(findings), tuple(bare_lines(lines, findings)))


def _unused(
    path: str,
    lines: Sequence[str],
    rules: Sequence[Rule],
    suppressions: Suppressions,
    used: Mapping[Directive, Collection[str]],
) -> list[Finding]:
    unused = next((rule for rule in rules if isinstance(rule, UnusedSuppression)), None)
    if unused is None:
        return []
    judged = {rule.CODE for rule in rules} - _META | _codes_of_nobody(suppressions, rules)
    found = [
        finding
        for directive in suppressions.directives
        if UnusedSuppression.CODE not in directive.ours  # it may say of itself that it stays
        for finding in unused.found(path, lines, directive, used[directive], judged)
    ]
    return suppressions.split(found)[0]


def _codes_of_nobody(suppressions: Suppressions, rules: Sequence[Rule]) -> set[str]:
    """Codes in our form that no rule has, whether it was asked for or not."""
    from dfannotate.rules import discover

    known = {rule.CODE for rule in (*discover(), *rules)}
    return {code for directive in suppressions.directives for code in directive.ours if code not in known}


# --- what other modules hand on ---------------------------------------------------------------------------------------


class Exports:
    """The roles of the names that the modules of a project hand on, each module looked into once.

    ``find``: a file's path and a module as the file imports it -> the path of that module, None where the project has
    no such. ``read``: a path -> its source, None where it cannot be one that hands the tracer on."""

    def __init__(self, find: Callable[[str, str], str | None], read: Callable[[str], Source | None]) -> None:
        self._find = find
        self._read = read
        self._known: dict[str, Mapping[str, str]] = {}

    def __call__(self, path: str, module: str) -> Mapping[str, str]:
        found = self._find(path, module)
        return self.of(found) if found is not None else _NOTHING

    def of(self, path: str) -> Mapping[str, str]:
        """Top-level name -> role, for the module at ``path``."""
        if path not in self._known:
            self._known[path] = _NOTHING  # modules that import each other: whoever asks second gets nothing
            source = self._read(path)
            if source is not None:
                from dfannotate.usage import Usage

                usage = Usage(source, lambda module: self(path, module))
                self._known[path] = dict(usage.exports)
        return self._known[path]


_NOTHING: Mapping[str, str] = MappingProxyType({})

__all__ = [
    "CODE",
    "MENTION",
    "NEWEST",
    "Checked",
    "Exports",
    "UnknownCode",
    "check",
    "check_failure",
    "check_text",
    "choose",
    "mentions",
    "release_of",
    "words_of",
]
