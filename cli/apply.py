"""``dfannotate apply``: read every file, ask the project as a whole, plan every file, and only then write."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any

from dfannotate import vocabulary
from dfannotate.cli import files
from dfannotate.cli.config import DEFAULT_CATEGORY, DEFAULT_FUNCTIONS, Config, Functions
from dfannotate.cli.discover import dirty_files, find_sources
from dfannotate.cli.locate import Locator, module_name
from dfannotate.cli.run import Crash, Lanes
from dfannotate.cli.show import Messages, Output, UserError, count, print_json, progress
from dfannotate.cli.state import FOLDER, MANIFEST_NAME, project_root, state_folder
from dfannotate.codemods import Context
from dfannotate.codemods.annotate import annotate
from dfannotate.codemods.project import FileSummary, Project, summarize
from dfannotate.codemods.revert import exact_text, structural_text
from dfannotate.edits import EditError, unified_diff
from dfannotate.facts import ModuleFacts, find_facts
from dfannotate.manifest import FileEntry, Manifest, load, save
from dfannotate.rules.selection import why_file_left_out
from dfannotate.source import ParseFailure, Source, read_source, split_lines


@dataclass(frozen=True)
class ApplyOptions:
    """The flags of ``apply``, configuration already taken into account."""

    paths: tuple[Path, ...] = (Path(),)
    check: bool = False
    diff: bool = False
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    entry: tuple[Path, ...] = ()
    category: str = DEFAULT_CATEGORY
    functions: Functions = DEFAULT_FUNCTIONS
    target: str | None = None
    manifest: Path | None = None
    jobs: int | None = None
    allow_dirty: bool = False
    output: Output = "text"
    quiet: bool = False


@dataclass(frozen=True)
class Failure:
    """A file that could not be processed. ``line`` and ``column`` are 0 where the place is unknown."""

    path: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}: {self.message}" if self.line else f"{self.path}: {self.message}"


@dataclass(frozen=True)
class Outcome:
    """What is to become of a file: ``data`` is its new content, None where it stays as it is."""

    entry: FileEntry
    data: bytes | None
    diff: str
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Read:
    """A file as it is on disk, and as it would be without annotations of an earlier ``apply``."""

    data: bytes
    base: Source
    facts: ModuleFacts


_read_files: dict[str, _Read] = {}
"""What this process has read; a lane keeps it from the first pass for the second."""


def apply(options: ApplyOptions, config: Config) -> int:
    """Annotate, or say what would be annotated. Returns the exit code. Raises ``UserError`` and ``ManifestError``
    where nothing can be done at all."""
    messages = Messages(options.quiet)
    root = project_root(options.paths[0])
    manifest_path = options.manifest or root / FOLDER / MANIFEST_NAME
    target = options.target or _installed_target()
    old = load(manifest_path) if manifest_path.exists() else Manifest(target)
    paths = find_sources((*options.paths, *options.entry), root=root, include=options.include, exclude=options.exclude)
    if not paths:
        raise UserError(f"{', '.join(map(str, options.paths))}: no Python files here")
    named = {path.resolve() for path in (*options.paths, *options.entry)}
    entries = {_relative(path.resolve(), root) for path in options.entry}
    shown = {_relative(path, root): path for path in paths}

    failures: list[Failure] = []
    left_out: dict[str, str] = {}
    outcomes: dict[str, Outcome] = {}
    known = old.by_path()
    weights = [path.stat().st_size if path.is_file() else 0 for path in shown.values()]
    with Lanes(list(shown), weights, options.jobs) as lanes:
        summaries: list[FileSummary] = []
        reading = {rel: (str(path), module_name(path), known.get(rel)) for rel, path in shown.items()}
        with progress("reading", len(shown), quiet=options.quiet) as advance:
            for rel, summary in lanes.map(read_file, reading):
                advance(1)
                if isinstance(summary, FileSummary):
                    summaries.append(summary)
                else:
                    failures.append(_failure(rel, summary))
        summaries.sort(key=lambda summary: summary.path)
        project = Project(summaries, _console_scripts(root), Locator(root))
        planning: dict[str, tuple[object, ...]] = {}
        for summary in summaries:
            rel = summary.path
            reason = None if shown[rel] in named else why_file_left_out(rel, summary.facts)
            if reason:
                left_out[rel] = reason
                continue
            is_entry = rel in entries or (not entries and rel.endswith("__main__.py"))
            category = _category(rel, root, options.category)
            every = options.functions == "all"
            context = project.context(rel, category, is_entry=is_entry, every_function=every)
            planning[rel] = (context, options.diff)
        with progress("planning", len(planning), quiet=options.quiet) as advance:
            for rel, outcome in lanes.map(plan_file, planning):
                advance(1)
                if isinstance(outcome, Outcome):
                    outcomes[rel] = outcome
                else:
                    failures.append(_failure(rel, outcome))
    outcomes = dict(sorted(outcomes.items()))
    changed = [rel for rel, outcome in outcomes.items() if outcome.data is not None]
    if not (options.check or options.diff):
        refused = _write(options, root, manifest_path, old, target, shown, outcomes)
        failures.extend(refused)
        changed = [rel for rel in changed if rel not in {failure.path for failure in refused}]
    failures.sort(key=lambda failure: (failure.path, failure.line))
    _show(options, messages, target, changed, outcomes, left_out, failures)
    if failures:
        return 2
    return 1 if options.check and changed else 0


# --- per file, in a lane ----------------------------------------------------------------------------------------------


def read_file(rel: str, path: str, module: str, entry: FileEntry | None) -> FileSummary | Failure:
    """First pass: read, parse, find the facts."""
    try:
        data = files.read_bytes(Path(path), rel)
        source = read_source(rel, data)
        base = source if entry is None else _without_annotations(source, entry)
    except ParseFailure as failure:
        return Failure(rel, failure.line, failure.column, failure.reason)
    except EditError as error:
        return Failure(rel, 0, 0, str(error))
    facts = find_facts(base)
    _read_files[rel] = _Read(data, base, facts)
    return summarize(rel, module, facts)


def plan_file(rel: str, context: Context, want_diff: bool) -> Outcome | Failure:
    """Second pass: plan, edit, check."""
    read = _read_files.pop(rel)
    try:
        annotated = annotate(read.base, read.facts, context)
    except EditError as error:
        return Failure(rel, 0, 0, str(error))
    text = annotated.edited.text if annotated.edited else read.base.text
    data = read.base.encode(text)
    if data == read.data:
        return Outcome(annotated.entry, None, "", annotated.notes)
    diff = ""
    if want_diff:
        hunks = annotated.edited.hunks if annotated.edited and read.base.encode(read.base.text) == read.data else None
        diff = _diff(rel, read, text, hunks)
    return Outcome(annotated.entry, data, diff, annotated.notes)


def _without_annotations(source: Source, entry: FileEntry) -> Source:
    if source.sha256 == entry.sha256_before:
        return source
    text = exact_text(source, entry)
    if text is None:
        text = structural_text(source, entry)
    return source if text == source.text else read_source(source.path, source.encode(text))


def _diff(rel: str, read: _Read, text: str, hunks: Any) -> str:
    if hunks is not None:
        return "".join(unified_diff(rel, read.base.lines, split_lines(text), hunks))
    import difflib

    now = read_source(rel, read.data).lines
    return "".join(difflib.unified_diff(now, split_lines(text), rel, rel))


# --- the project ------------------------------------------------------------------------------------------------------


def _relative(path: Path, root: Path) -> str:
    return Path(os.path.relpath(path, root)).as_posix()


def _category(rel: str, root: Path, wanted: str) -> str:
    """The category of a file's events: the wanted one, or the module's name (a package's for its ``__init__``)."""
    if wanted != DEFAULT_CATEGORY:
        return wanted
    path = root / rel
    name = path.parent.name if path.name == "__init__.py" else path.stem
    # Names reach the trace unescaped: what could break a line of it must not be in them.
    return re.sub(r"[^\w.+-]", "_", name) or "module"


def _installed_target() -> str:
    try:
        installed = metadata.version(vocabulary.DISTRIBUTION_NATIVE)
    except metadata.PackageNotFoundError:
        return vocabulary.NEWEST_TARGET
    return installed if installed.startswith("2.") else vocabulary.NEWEST_TARGET


def _console_scripts(root: Path) -> Iterable[str]:
    from dfannotate.cli.scripts import console_scripts

    return console_scripts(root)


def _failure(rel: str, result: Failure | Crash) -> Failure:
    return result if isinstance(result, Failure) else Failure(rel, 0, 0, result.text)


# --- writing and showing ----------------------------------------------------------------------------------------------


def _write(
    options: ApplyOptions,
    root: Path,
    manifest_path: Path,
    old: Manifest,
    target: str,
    shown: Mapping[str, Path],
    outcomes: Mapping[str, Outcome],
) -> list[Failure]:
    """Write the manifest, then the files. A run that is killed in between leaves files that are named in the manifest
    and still have the hash from before: ``apply`` and ``revert`` take them for what they are."""
    changed = {rel: outcome for rel, outcome in outcomes.items() if outcome.data is not None}
    known = old.by_path()
    refused: list[Failure] = []
    if not options.allow_dirty:
        dirty = dirty_files(root, [shown[rel] for rel in changed])
        refused = [
            Failure(rel, 0, 0, "uncommitted changes; commit or stash them, or use --allow-dirty")
            for rel in changed
            if shown[rel] in dirty
        ]
    refused_paths = {failure.path for failure in refused}
    entries = [o.entry for rel, o in outcomes.items() if rel not in refused_paths and _is_worth_noting(o.entry)]
    new = old.merged(target, entries)
    if new != old or not manifest_path.exists():
        if manifest_path.parent.name == FOLDER:
            state_folder(manifest_path.parent.parent)
        save(new, manifest_path)
    unwritten: list[Failure] = []
    for rel, outcome in changed.items():
        if rel in refused_paths or outcome.data is None:
            continue
        try:
            files.replace(shown[rel], outcome.data, rel)
        except files.WriteError as error:
            unwritten.append(Failure(rel, 0, 0, str(error).removeprefix(f"{rel}: ")))
    if unwritten:
        lost = {failure.path for failure in unwritten}
        kept = [known[rel] for rel in lost if rel in known]
        save(new.merged(target, kept, lost - set(known)), manifest_path)
    return refused + unwritten


def _is_worth_noting(entry: FileEntry) -> bool:
    return bool(entry.sites or entry.skipped)


def _show(
    options: ApplyOptions,
    messages: Messages,
    target: str,
    changed: list[str],
    outcomes: Mapping[str, Outcome],
    left_out: Mapping[str, str],
    failures: list[Failure],
) -> None:
    notes = [note for outcome in outcomes.values() for note in outcome.notes]
    would = options.check or options.diff
    if options.output == "json":
        print_json(
            {
                "ok": not failures and not (options.check and changed),
                "target": target,
                "changed": changed,
                "files": [_entry_as_json(outcome.entry) for outcome in outcomes.values()],
                "left_out": [{"path": path, "reason": reason} for path, reason in sorted(left_out.items())],
                "errors": [asdict(failure) for failure in failures],
                "notes": notes,
                **({"diff": {rel: outcomes[rel].diff for rel in changed}} if options.diff else {}),
            }
        )
    elif options.diff:
        for rel in changed:
            print(outcomes[rel].diff, end="")
    else:
        for rel in changed:
            print(f"{'would annotate' if would else 'annotated'} {rel}: {_sites_in_words(outcomes[rel].entry)}")
    for note in notes:
        messages.warning(note)
    for failure in failures:
        messages.error(str(failure))
    sites = [site for outcome in outcomes.values() for site in outcome.entry.sites]
    skipped = Counter(skip.reason for outcome in outcomes.values() for skip in outcome.entry.skipped)
    messages.note(
        f"{count(len(changed), 'file')} {'would be annotated' if would else 'annotated'}, "
        f"{len(outcomes) - len(changed)} unchanged, {len(left_out)} left out, {len(failures)} failed; "
        f"{count(sum(site.kind != 'lifecycle' for site in sites), 'function')} traced, "
        f"{skipped.total()} left alone"
        + (f" ({', '.join(f'{reason} {count}' for reason, count in skipped.most_common(4))}, …)" if skipped else "")
    )
    if sites and not any(outcome.entry.entry for outcome in outcomes.values()):
        messages.warning("no entry point found, so nothing would start the tracing: name the script with --entry FILE")


def _entry_as_json(entry: FileEntry) -> dict[str, Any]:
    """The manifest's entry without what only ``revert`` needs."""
    return {
        key: value
        for key, value in asdict(replace(entry, undo=())).items()
        if key not in ("undo", "names", "introduced")
    }


def _sites_in_words(entry: FileEntry) -> str:
    functions = sum(site.kind != "lifecycle" for site in entry.sites)
    words = [count(functions, "function")] if functions or not entry.entry else []
    return ", ".join([*words, "entry point"] if entry.entry else words)
