"""One file under ``lint``: what it hands on, what is found in it, and its repair. Runs in the lanes."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dfannotate import vocabulary
from dfannotate.cli import files
from dfannotate.cli.lint_formats import Outcome, Shown, excerpt
from dfannotate.cli.lint_project import Asked, Asker, LintProject, Table, takes_all
from dfannotate.cli.show import diff_of
from dfannotate.rules import Finding, Module, Rule, TextFile, discover
from dfannotate.rules.engine import (
    Checked,
    check,
    check_failure,
    check_text,
    mentions,
    release_of,
    words_of,
)
from dfannotate.source import ParseFailure, Source, parse_bytes_as_text, read_source

if TYPE_CHECKING:
    from dfannotate.usage import Usage

LAUNCH_SUFFIXES = (".sh", ".bash", ".sbatch", ".slurm", ".pbs", ".yml", ".yaml", ".env", ".dockerfile")
LAUNCH_NAMES = re.compile(r"(?:Dockerfile|Containerfile)(?:\..+)?|\.env(?:\..+)?|\.envrc")
_SHEBANG = re.compile(rb"#![^\n]*\b(?:sh|bash|zsh|dash|ksh)\b")

_here: str | None = None
"""The current folder, with a separator behind it."""
_data: dict[str, bytes] = {}
"""What this process has read; a lane keeps it from the first look for the second."""
_usages: dict[str, tuple[Usage, Asked]] = {}
"""The tracer in the files that mention it, as if they stood alone, and what they wanted to know of others."""
_projects: dict[int, tuple[Setup, LintProject]] = {}


@dataclass(frozen=True)
class Look:
    """The first look at a file: whether it mentions the tracer, what it hands on, or why it cannot be read."""

    mentions: bool
    exports: Mapping[str, str] = field(default_factory=dict)
    error: str = ""


@dataclass(frozen=True)
class Setup:
    """What every file of a run is looked at with; it travels to the lanes."""

    root: Path
    codes: tuple[str, ...]
    target: str
    repairs: bool
    want_diff: bool
    want_excerpt: bool
    table: Table
    looked_at: frozenset[str]
    is_traced: bool
    leads_out: bool
    """Whether the files may import others of the project that are not looked at."""
    names: tuple[str, ...] = ()
    """What is handed on under names that do not give the tracer away."""


def forget() -> None:
    """Nothing of an earlier run in the same process holds any more."""
    global _here
    _here = None
    for kept in (_data, _usages, _projects):
        kept.clear()


def look(path: str) -> Look:
    """First look: the bytes of a file, and its tree where it mentions the tracer."""
    try:
        data = files.read_bytes(Path(path), path)
    except ParseFailure as failure:
        return Look(False, error=failure.reason)
    _data[path] = data
    if not mentions(data):
        return Look(False)
    if not _is_text(path, data):
        try:
            from dfannotate.usage import Usage

            source, asker = read_source(shown_path(path), data), Asker()
            usage = Usage(source, asker)
            _usages[path] = (usage, asker.asked)
            return Look(True, dict(usage.exports))
        except ParseFailure:
            pass  # the second look says so
    return Look(True)


def look_again(path: str, setup: Setup) -> Mapping[str, str]:
    """What a file that does not mention the tracer hands on."""
    if not (_uses_a_name(_data[path], setup) or takes_all(_data[path])):
        return {}
    try:
        source = read_source(shown_path(path), _data[path])
    except ParseFailure:
        return {}
    return _project(setup).all_exports(path, source)


def inspect(path: str, shown: str, setup: Setup, ignored: Sequence[str] = ()) -> Outcome | None:
    """Second look: what the rules find, None where they have no business."""
    data = _data[path]
    rules = [rule for rule in discover() if rule.CODE in setup.codes and rule.CODE not in ignored]
    return inspect_data(path, shown, data, setup, rules)


def inspect_data(path: str, shown: str, data: bytes, setup: Setup, rules: Sequence[Rule]) -> Outcome | None:
    if _is_text(path, data):
        return _inspect_text(shown, data, setup, rules) if mentions(data) else None
    project = _project(setup)
    if not (
        mentions(data)
        or _uses_a_name(data, setup)
        or (setup.is_traced and any(word in data for word in words_of(rules)))
        or (setup.leads_out and project.gets_the_tracer(path, data))
    ):
        return None
    project.is_called(shown, path, data)
    known, asked = _usages.pop(path, (None, ()))
    try:
        source = known.source if known else read_source(shown, data)
    except ParseFailure as failure:
        found = check_failure(failure, rules)
        return Outcome(shown, _all_shown(found.findings, setup, _lines(data)), failed=bool(found.findings))
    generation = vocabulary.generation_of(setup.target) or vocabulary.CURRENT
    release = release_of(setup.target)
    module = Module(source, project, generation)
    if known and project.is_unmoved(path, asked):
        module.usage = known
    checked = check(module, rules, release)
    text, fixed = source.text, Counter[str]()
    if setup.repairs and any(finding.fix is not None for finding in checked.findings):
        from dfannotate.codemods.repair import repair

        repaired = repair(source, rules, project, generation, project.context, release)
        text, checked, fixed = repaired.text, repaired.checked, repaired.fixed
    return _outcome(shown, source, text, checked, fixed, setup)


def _inspect_text(shown: str, data: bytes, setup: Setup, rules: Sequence[Rule]) -> Outcome:
    release = release_of(setup.target)
    try:
        source = parse_bytes_as_text(shown, data)
    except ParseFailure:
        return Outcome(shown)  # a launch file in no encoding that we know: not Python, so nobody asked for its syntax
    checked = check_text(TextFile(shown, source.text), rules, release)
    text, fixed = source.text, Counter[str]()
    if setup.repairs and any(finding.fix is not None for finding in checked.findings):
        from dfannotate.codemods.repair import repair_text

        again = partial(_check_text_again, shown, rules, release)
        repaired = repair_text(source, checked, again)
        text, checked, fixed = repaired.text, repaired.checked, repaired.fixed
    return _outcome(shown, source, text, checked, fixed, setup)


def _check_text_again(shown: str, rules: Sequence[Rule], release: tuple[int, int, int], text: str) -> Checked:
    return check_text(TextFile(shown, text), rules, release)


def _outcome(shown: str, source: Source, text: str, checked: Checked, fixed: Counter[str], setup: Setup) -> Outcome:
    from dfannotate.source import split_lines

    lines = source.lines if text == source.text else split_lines(text)
    diff = ""
    if setup.want_diff and text != source.text:
        diff = diff_of(shown, source.lines, lines)
    return Outcome(
        shown,
        _all_shown(checked.findings, setup, lines),
        bare=checked.bare,
        fixed=fixed,
        seen=source.sha256,
        data=source.encode(text) if text != source.text else None,
        diff=diff,
    )


def _all_shown(findings: Iterable[Finding], setup: Setup, lines: Sequence[str]) -> tuple[Shown, ...]:
    return tuple(
        Shown(
            replace(finding, fix=None),
            finding.fix is not None,
            excerpt(finding, lines) if setup.want_excerpt else "",
        )
        for finding in findings
    )


def _lines(data: bytes) -> list[str]:
    from dfannotate.source import split_lines

    return split_lines(data.decode("utf-8", "replace").removeprefix("\ufeff"))


def _project(setup: Setup) -> LintProject:
    """The project of a run, one a process. A lane is sent the setup with every call, equal each time."""
    known = _projects.get(0)
    if known is None or known[0] != setup:
        known = _projects[0] = (setup, LintProject(setup.root, setup.table, setup.looked_at, setup.is_traced))
    return known[1]


def _uses_a_name(data: bytes, setup: Setup) -> bool:
    """Whether a file holds a name under which another hands the tracer on."""
    if not setup.names:
        return False
    pattern = rb"(?<!\w)(?:" + b"|".join(re.escape(name.encode()) for name in setup.names) + rb")(?!\w)"
    return re.search(pattern, data) is not None


def _is_text(path: str, data: bytes) -> bool:
    """Whether a file is read as text, and not as Python: by its name, or, without a suffix, by its first line."""
    name = os.path.basename(path)
    return is_launch_file(name) or ("." not in name and _SHEBANG.match(data) is not None)


def is_launch_file(name: str) -> bool:
    return name.lower().endswith(LAUNCH_SUFFIXES) or LAUNCH_NAMES.fullmatch(name) is not None


def shown_path(path: str) -> str:
    """A path as a user would type it: relative to the current folder where it lies below it."""
    global _here
    if _here is None:
        try:
            _here = os.getcwd().rstrip(os.sep) + os.sep
        except OSError:  # the current folder is gone
            _here = "\0"
    return path[len(_here) :] if path.startswith(_here) else path
