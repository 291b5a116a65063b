"""``dfannotate lint``: what is stale, broken or missing in files that use the tracer, and, with ``--fix``, its repair.

It runs on every commit, so nothing is imported that it does not need, and no file is parsed that does not mention the
tracer. Files are looked at twice: first each by itself (does it mention the tracer, what does it hand on to others),
then by the rules, which may ask what the others hand on.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn, TextIO

from dfannotate import vocabulary
from dfannotate.cli import files
from dfannotate.cli.config import Config, find_file, load_config
from dfannotate.cli.lint_file import (
    Setup,
    forget,
    inspect,
    inspect_data,
    is_launch_file,
    look,
    look_again,
    shown_path,
)
from dfannotate.cli.lint_formats import FORMATS, Outcome, Shown, print_statistics
from dfannotate.cli.run import Crash, Lanes
from dfannotate.cli.show import Messages, UserError, count
from dfannotate.cli.state import FOLDER, MANIFEST_NAME, ROOT_MARKS, project_root
from dfannotate.rules import Rule, discover
from dfannotate.rules.engine import (
    UnknownCode,
    choose,
    mentions,
    words_of,
)
from dfannotate.source import ParseFailure

STDIN = "-"


@dataclass(frozen=True)
class LintOptions:
    """The flags of ``lint``, configuration already taken into account."""

    paths: tuple[Path, ...] = (Path(),)
    fix: bool = False
    diff: bool = False
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    output: str = "full"
    statistics: bool = False
    stdin_filename: Path | None = None
    quiet: bool = False
    target: str = vocabulary.NEWEST_TARGET
    jobs: int | None = None

    @property
    def repairs(self) -> bool:
        return self.fix or self.diff


# --- the command line -------------------------------------------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message}. See '{self.prog} --help'.")


def parser() -> argparse.ArgumentParser:
    """The flags. They are read by the standard library: the command's usual one takes longer to import than a file
    takes to be checked."""
    made = _Parser(
        prog="dfannotate lint",
        usage="dfannotate lint [OPTIONS] [FILES]...",
        description="Flag stale, broken and missing annotations.",
        epilog="Exit codes: 0 nothing found, 1 findings (with --diff: something to fix), 2 it could not be done.",
        allow_abbrev=False,
    )
    add = made.add_argument
    add("paths", nargs="*", metavar="FILES", type=Path, help="files and folders; default: the current folder")
    add("--fix", action="store_true", help="put right what can be; exit 1 if findings remain")
    add("--diff", action="store_true", help="print what --fix would change, and write nothing; exit 1 if anything")
    add("--select", action="append", metavar="CODES", help="only these rules: codes or beginnings of codes, or ALL")
    add("--ignore", action="append", metavar="CODES", help="not these rules")
    add("--output-format", choices=sorted(FORMATS), default="full", help="default: full")
    add("--statistics", action="store_true", help="how often each rule found something, instead of the findings")
    add("--stdin-filename", metavar="NAME", type=Path, help="what the file is called that - reads from standard input")
    add("-q", "--quiet", action="store_true", help="only findings, warnings and errors")
    return made


def main(arguments: Sequence[str]) -> int:
    """Run ``lint`` with its arguments. Returns the exit code. Raises ``UserError``."""
    try:
        given = parser().parse_args(list(arguments))
    except SystemExit as leave:  # --help
        return int(leave.code or 0)
    paths: list[Path] = given.paths or [Path()]
    if Path(STDIN) in paths and len(paths) > 1:
        raise UserError("standard input (-) is linted alone")
    if given.fix and given.diff:
        raise UserError("--fix or --diff, not both")
    from_stdin = paths == [Path(STDIN)]
    if given.stdin_filename is not None and not from_stdin:
        raise UserError("--stdin-filename goes with -")
    start = (given.stdin_filename or Path()) if from_stdin else paths[0]
    config = load_config(start)
    options = LintOptions(
        paths=tuple(paths),
        fix=given.fix,
        diff=given.diff,
        select=_codes(given.select) or config.select,
        ignore=_codes(given.ignore) or config.ignore,
        output=given.output_format,
        statistics=given.statistics,
        stdin_filename=(given.stdin_filename or Path("stdin.py")) if from_stdin else None,
        quiet=given.quiet,
        target=config.target or _target_of_manifest(project_root(start), config) or vocabulary.NEWEST_TARGET,
        jobs=config.jobs,
    )
    return lint(options, config, start)


def _codes(given: list[str] | None) -> tuple[str, ...]:
    return tuple(code for part in given or () for code in part.split(",") if code.strip())


def _target_of_manifest(root: Path, config: Config) -> str | None:
    """The release that ``apply`` wrote for. It stands at the head of the manifest, which may be long."""
    try:
        with open(config.manifest or root / FOLDER / MANIFEST_NAME, encoding="utf-8") as stream:
            head = stream.read(1000)
    except (OSError, UnicodeDecodeError):
        return None
    match = re.search(r'"target": "([\w.]+)"', head)
    return match[1] if match and vocabulary.generation_of(match[1]) else None


# --- the run ----------------------------------------------------------------------------------------------------------


def lint(options: LintOptions, config: Config, start: Path) -> int:
    """Check, and repair where that is asked for. Returns the exit code. Raises ``UserError`` where nothing can be done
    at all."""
    forget()
    rules = _chosen(options, config, start)
    root = project_root(start)
    if options.stdin_filename is not None:
        return _lint_stdin(options, config, root, rules)
    paths = _paths(options.paths, root)
    with Lanes(paths, [files.size_of(path) for path in paths], options.jobs) as lanes:
        outcomes = _look_and_check(options, config, root, rules, paths, lanes)
    if options.fix:
        outcomes = {path: _written(path, outcome) for path, outcome in outcomes.items()}
    return _show(options, rules, root, outcomes, len(paths))


def _chosen(options: LintOptions, config: Config, start: Path) -> tuple[Rule, ...]:
    try:
        return choose(discover(), options.select, options.ignore)
    except UnknownCode as error:
        configured = any(code in str(error) for code in (*config.select, *config.ignore))
        place = f"{find_file(start)}: tool.dfannotate: " if configured else ""
        raise UserError(f"{place}{error}") from None


def _paths(given: Sequence[Path], root: Path) -> list[str]:
    """The files to look at, absolute. A file that is named is always taken."""
    if all(not path.is_dir() for path in given):
        return sorted({os.path.realpath(path) for path in given})
    from dfannotate.cli.discover import find_sources

    return [os.fspath(path) for path in find_sources(given, root=root, wanted=is_wanted)]


def is_wanted(name: str) -> bool:
    """Whether a file is looked at where its folder is named: Python, and what launches programs."""
    return name.endswith(".py") or is_launch_file(name)


def _look_and_check(
    options: LintOptions, config: Config, root: Path, rules: Sequence[Rule], paths: Sequence[str], lanes: Lanes[str]
) -> dict[str, Outcome]:
    outcomes: dict[str, Outcome] = {}
    table: dict[str, Mapping[str, str]] = {}
    concerned: set[str] = set()
    for path, looked in lanes.map(look, dict.fromkeys(paths, ())):
        if isinstance(looked, Crash) or looked.error:
            outcomes[path] = Outcome(shown_path(path), error=looked.text if isinstance(looked, Crash) else looked.error)
        elif looked.mentions:
            concerned.add(path)
            if looked.exports:
                table[path] = looked.exports
    everything = frozenset(path for path in paths if path not in outcomes)
    is_traced = bool(concerned) or _is_traced(options, config, root, rules, everything)
    ignored = _Ignored(config)
    setup = replace(
        _setup(options, root, rules),
        table=table,
        looked_at=everything,
        is_traced=is_traced,
        leads_out=_may_lead_out(options.paths, root),
    )
    setup = _handed_on(setup, lanes, everything, concerned)
    asked = everything if setup.names or setup.is_traced or setup.leads_out else concerned
    checking = {path: (shown_path(path), setup, ignored.at(path)) for path in asked}
    for path, outcome in lanes.map(inspect, checking):
        if isinstance(outcome, Crash):
            outcomes[path] = Outcome(shown_path(path), error=outcome.text)
        elif outcome is not None:
            outcomes[path] = outcome
    return dict(sorted(outcomes.items()))


def _setup(options: LintOptions, root: Path, rules: Sequence[Rule]) -> Setup:
    """What the flags say; what the files say is still to come."""
    return Setup(
        root=root,
        codes=tuple(rule.CODE for rule in rules),
        target=options.target,
        repairs=options.repairs,
        want_diff=options.diff,
        want_excerpt=options.output == "full" and not options.statistics,
        table={},
        looked_at=frozenset(),
        is_traced=False,
        leads_out=False,
    )


def _handed_on(setup: Setup, lanes: Lanes[str], everything: frozenset[str], concerned: set[str]) -> Setup:
    """The setup with what is handed on by modules that do not say where they have it from, until no more is found."""
    for _ in range(5):
        names = {name for roles in setup.table.values() for name in roles}
        more = tuple(sorted(name for name in names if not mentions(name.encode())))
        if more == setup.names:
            break
        setup = replace(setup, names=more)
        found = dict(setup.table)
        for path, exports in lanes.map(look_again, dict.fromkeys(everything - concerned, (setup,))):
            if not isinstance(exports, Crash) and exports:
                found[path] = exports
        setup = replace(setup, table=found)
    return setup


def _may_lead_out(given: Sequence[Path], root: Path) -> bool:
    """Whether files may import others of the project that are not among those looked at."""
    folders = (Path(os.path.realpath(path)) for path in given if path.is_dir())
    return _is_project(root) and not any(root.is_relative_to(folder) for folder in folders)


def _is_project(root: Path) -> bool:
    return any((root / mark).exists() for mark in ROOT_MARKS)


def _is_traced(
    options: LintOptions, config: Config, root: Path, rules: Sequence[Rule], looked_at: frozenset[str]
) -> bool:
    """Whether a project is traced none of whose files looked at mentions the tracer: ``apply`` left its manifest, or
    another file does. The others are searched only where it matters."""
    if (config.manifest or root / FOLDER / MANIFEST_NAME).is_file():
        return True
    if not _may_lead_out(options.paths, root):
        return False
    words = words_of(rules)
    if not any(word in data for path in looked_at if (data := _data_of(path)) for word in words):
        return False
    from dfannotate.cli.discover import find_sources

    others = (os.fspath(path) for path in find_sources([root], root=root))
    return any(mentions(_data_of(path) or b"") for path in others if path not in looked_at)


def _data_of(path: str) -> bytes | None:
    try:
        return files.read_bytes(Path(path), path)
    except ParseFailure:
        return None


class _Ignored:
    """``per-file-ignores``: patterns of paths, relative to the folder of the configuration, and codes."""

    def __init__(self, config: Config) -> None:
        self._specs: list[tuple[Path, Callable[[str], bool], tuple[str, ...]]] = []
        if config.per_file_ignores:
            from pathspec import GitIgnoreSpec

            from dfannotate.cli.discover import check_pattern

            for folder, pattern, codes in config.per_file_ignores:
                check_pattern(pattern, "tool.dfannotate.per-file-ignores")
                try:
                    chosen = {rule.CODE for rule in choose(discover(), codes)} if codes else set()
                    kept = chosen - {"DFT001"} if "DFT001" not in codes else chosen
                except UnknownCode as error:
                    raise UserError(f"tool.dfannotate.per-file-ignores: {pattern}: {error}") from None
                self._specs.append((folder, GitIgnoreSpec.from_lines([pattern]).match_file, tuple(sorted(kept))))

    def at(self, path: str) -> tuple[str, ...]:
        """The codes that are ignored in a file."""
        return tuple(
            code for folder, matches, codes in self._specs if matches(os.path.relpath(path, folder)) for code in codes
        )


# --- standard input ---------------------------------------------------------------------------------------------------


def _lint_stdin(options: LintOptions, config: Config, root: Path, rules: Sequence[Rule]) -> int:
    assert options.stdin_filename is not None
    data = sys.stdin.buffer.read()
    path = os.path.realpath(options.stdin_filename)
    shown = os.fspath(options.stdin_filename)
    ignored = _Ignored(config).at(path)
    wanted = [rule for rule in rules if rule.CODE not in ignored]
    is_traced = mentions(data) or _is_traced(options, config, root, rules, frozenset())
    setup = replace(_setup(options, root, wanted), is_traced=is_traced, leads_out=True)
    outcome = inspect_data(path, shown, data, setup, wanted) or Outcome(shown)
    if options.fix:
        sys.stdout.flush()
        sys.stdout.buffer.write(data if outcome.data is None else outcome.data)
        sys.stdout.buffer.flush()
    return _show(options, rules, root, {path: outcome}, 1, findings_to=sys.stderr if options.fix else None)


# --- writing and showing ----------------------------------------------------------------------------------------------


def _written(path: str, outcome: Outcome) -> Outcome:
    """The outcome after its fixes are written, or with the reason why they are not."""
    if outcome.data is None:
        return outcome
    try:
        files.replace(Path(path), outcome.data, outcome.seen)
    except files.WriteError as error:
        return replace(outcome, error=f"{error}; nothing of it was fixed", fixed=Counter(), data=None)
    return outcome


def _show(
    options: LintOptions,
    rules: Sequence[Rule],
    root: Path,
    outcomes: Mapping[str, Outcome],
    looked_at: int,
    findings_to: TextIO | None = None,
) -> int:
    messages = Messages(options.quiet)
    stream = findings_to or sys.stdout
    found = [shown for outcome in outcomes.values() for shown in outcome.findings]
    errors = [outcome for outcome in outcomes.values() if outcome.error]
    fixed = sum((outcome.fixed for outcome in outcomes.values()), Counter[str]())
    changed = [outcome for outcome in outcomes.values() if outcome.data is not None]
    if options.diff:
        for outcome in changed:
            stream.write(outcome.diff)
    elif options.statistics:
        print_statistics(found, options.output, stream)
    else:
        FORMATS[options.output](found, [(o.shown, o.error) for o in errors], rules, root, stream)
    for outcome in outcomes.values():
        for line in outcome.bare:
            codes = sorted({shown.finding.code for shown in outcome.findings if shown.finding.line == line})
            messages.warning(
                f"{outcome.shown}:{line}: `# noqa` without a code silences nothing here: `# noqa: {', '.join(codes)}`"
            )
    for outcome in errors:
        messages.error(f"{outcome.shown}: {outcome.error}")
    _summarize(messages, options, found, fixed, len(changed), looked_at)
    if errors or any(outcome.failed for outcome in outcomes.values()):
        return 2
    return int(bool(changed) if options.diff else bool(found))


def _summarize(
    messages: Messages, options: LintOptions, found: Sequence[Shown], fixed: Counter[str], changed: int, looked_at: int
) -> None:
    looked = f"{count(looked_at, 'file')} looked at"
    if options.diff:
        messages.note(
            f"would fix {count(fixed.total(), 'finding')} in {count(changed, 'file')}; {looked}"
            if changed
            else f"nothing to fix; {looked}"
        )
        return
    words = [f"fixed {fixed.total()}"] if options.fix else []
    words.append(count(len(found), "finding") + (" left" if options.fix else ""))
    fixable = sum(shown.fixable for shown in found)
    if fixable and not options.fix:
        words.append(f"{fixable} of them fixable with --fix")
    messages.note(f"{', '.join(words)}; {looked}")
