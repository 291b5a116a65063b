"""``dfannotate apply``: read every file, ask the project as a whole, plan every file, and only then write."""

from __future__ import annotations

import contextlib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any

from dfannotate import vocabulary
from dfannotate.cli import files, shim
from dfannotate.cli.config import DEFAULT_CATEGORY, ROLE_CATEGORY, Annotating, Config, Writing
from dfannotate.cli.discover import dirty_files, find_sources
from dfannotate.cli.locate import Locator, module_name
from dfannotate.cli.record import Record
from dfannotate.cli.run import Crash, Lanes
from dfannotate.cli.show import Messages, UserError, count, diff_of, print_json, progress
from dfannotate.cli.state import FOLDER, MANIFEST_NAME, ROOT_MARKS, project_root
from dfannotate.codemods import Context
from dfannotate.codemods.annotate import annotate
from dfannotate.codemods.index import FileSummary, summarize
from dfannotate.codemods.project import Project
from dfannotate.codemods.revert import exact_text, structural_text
from dfannotate.edits import EditError, unified_diff
from dfannotate.facts import ModuleFacts, find_facts
from dfannotate.manifest import WORKER_KINDS, FileEntry, Manifest, ManualEvent, Site
from dfannotate.rules.roles import ROLES, Categories
from dfannotate.rules.selection import why_file_left_out
from dfannotate.source import ParseFailure, Source, read_source, split_lines

DIRTY = "has changes that are not committed to git, or is new to it; commit it, or use --allow-dirty"


@dataclass(frozen=True, kw_only=True)
class ApplyOptions(Annotating, Writing):
    """The flags of ``apply``, configuration already taken into account."""

    paths: tuple[Path, ...] = (Path(),)
    event: ManualEvent | None = None
    """To be logged in the one file of ``paths``; nothing else is changed then."""


@dataclass(frozen=True)
class Failure:
    """A file that could not be processed, relative to the project root. ``line`` and ``column`` are 0 where the place
    is unknown."""

    path: str
    line: int
    column: int
    message: str

    def in_words(self, root: Path) -> str:
        """``path:line:column: message``, the path as a user would type it."""
        place = path_in_words(root, self.path)
        return f"{place}:{self.line}:{self.column}: {self.message}" if self.line else f"{place}: {self.message}"


@dataclass(frozen=True)
class Outcome:
    """What is to become of a file: ``data`` is its new content, None where it stays as it is. ``seen`` is the SHA-256
    of the content that this was decided by."""

    entry: FileEntry
    seen: str
    data: bytes | None
    diff: str
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Read:
    """A file as it is on disk, and as it would be without annotations of an earlier ``apply``."""

    data: bytes
    seen: str
    base: Source
    facts: ModuleFacts


@dataclass(frozen=True)
class _Done:
    """What ``apply`` came to. Paths are relative to the project root."""

    target: str
    outcomes: Mapping[str, Outcome]
    changed: list[str]
    left_out: Mapping[str, str]
    failures: list[Failure]
    has_entry: bool
    shims: list[shim.Due]
    shims_removed: list[str]
    reasons: Mapping[str, str]
    """Why a file that is annotated imports the tracer itself, where a shim is asked for."""


_read_files: dict[str, _Read] = {}
"""What this process has read; a lane keeps it from the first pass for the second."""


def apply(options: ApplyOptions, config: Config) -> int:
    """Annotate, or say what would be annotated. Returns the exit code. Raises ``UserError`` and ``ManifestError``
    where nothing can be done at all."""
    root = project_root(options.paths[0])
    record = Record(options.manifest or root / FOLDER / MANIFEST_NAME, root)
    target = options.target or _installed_target()
    generation = vocabulary.generation_of(target) or vocabulary.CURRENT
    stamp = record.stamp()
    old = record.read() or Manifest(target)
    _check_event_files(config)
    paths = _paths(options, root)
    around = _around(root, paths)
    failures: list[Failure] = []
    left_out: dict[str, str] = {}
    outcomes: dict[str, Outcome] = {}
    try:
        everything = {**paths, **around}
        with Lanes(list(everything), [files.size_of(path) for path in everything.values()], options.jobs) as lanes:
            summaries = _read_all(lanes, paths, around, root, old, failures, generation, quiet=options.quiet)
            left_out |= {summary.path: "generated" for summary in summaries if shim.is_shim_file(summary, old)}
            summaries = [summary for summary in summaries if summary.path not in left_out]
            left_out = {path: reason for path, reason in left_out.items() if path in paths}
            planning, places = _planning(options, config, root, old, paths, everything, summaries, left_out, generation)
            with progress("planning", len(planning), quiet=options.quiet) as advance:
                for rel, outcome in lanes.map(plan_file, planning):
                    advance(1)
                    if isinstance(outcome, Outcome):
                        outcomes[rel] = outcome
                    else:
                        failures.append(_failure(rel, outcome))
    finally:
        _read_files.clear()
    outcomes = dict(sorted(outcomes.items()))
    changed = [rel for rel, outcome in outcomes.items() if outcome.data is not None]
    shims = shim.due(root, [outcome.entry for outcome in outcomes.values()], old, generation, late=places.watched)
    removed = _unneeded_shims(options, root, old, outcomes)
    if not (options.check or options.diff):
        refused, removed = _write(options, record, stamp, old, target, paths, outcomes, shims)
        failures.extend(refused)
        lost = {failure.path for failure in refused}
        changed = [rel for rel in changed if rel not in lost]
        shims = [due for due in shims if due.entry.path not in lost]
    failures.sort(key=lambda failure: (failure.path, failure.line))
    if options.event is None:
        _warn_of_missed_events(options, config, root, left_out, [*outcomes, *(failure.path for failure in failures)])
    has_entry = any(entry.entry for entry in (*old.files, *(outcome.entry for outcome in outcomes.values())))
    reasons = places.reasons
    _show(options, root, _Done(target, outcomes, changed, left_out, failures, has_entry, shims, removed, reasons))
    if failures:
        return 2
    return 1 if options.check and (changed or removed or any(due.data is not None for due in shims)) else 0


def _paths(options: ApplyOptions, root: Path) -> dict[str, Path]:
    """The files to work on, by their path relative to ``root``."""
    folders = [path for path in options.entry if path.is_dir()]
    if folders:
        raise UserError(f"--entry {folders[0]}: a folder; name the file that starts the program")
    found = find_sources((*options.paths, *options.entry), root=root, include=options.include, exclude=options.exclude)
    if not found:
        places = ", ".join(map(str, options.paths))
        raise UserError(
            f"{places}: no Python files here (hidden, git-ignored, vendored and excluded ones are left out;"
            " a file that is named is taken all the same)"
        )
    return {relative(path, root): path for path in found}


def _was_applied(entry: FileEntry) -> bool:
    """Whether the annotations of a file are those of ``apply``, not only events that were asked for one by one."""
    return bool(entry.choices) or any(site.kind != "event" for site in entry.sites)


def _check_event_files(config: Config) -> None:
    for file, event in config.events:
        if not file.is_file():
            raise UserError(f"{file}: no such file; tool.dfannotate.events names it for {event.function}")


def _warn_of_missed_events(
    options: ApplyOptions, config: Config, root: Path, left_out: Mapping[str, str], taken: Iterable[str]
) -> None:
    """A configured event in a file that is not annotated would be missing in silence."""
    taken, is_below = set(taken), lies_below(options.paths)
    for file, event in config.events:
        rel = relative(Path(os.path.realpath(file)), root)
        if rel not in taken and is_below(file):
            reason = f" ({left_out[rel]})" if rel in left_out else ""
            Messages(options.quiet).warning(
                f"{path_in_words(root, rel)}: left out{reason}, so {event.function} is not logged: name the file"
            )


def _events(
    options: ApplyOptions, config: Config, path: Path, entry: FileEntry | None
) -> tuple[tuple[ManualEvent, ...], tuple[ManualEvent, ...]]:
    """The events of one file: those of the configuration, and those that were asked for one by one."""
    configured = tuple(event for file, event in config.events if os.path.realpath(file) == str(path))
    kept = entry.events if entry else ()
    if options.event is not None:
        kept = (*(event for event in kept if event.function != options.event.function), options.event)
    return configured, kept


def _around(root: Path, paths: Mapping[str, Path]) -> dict[str, Path]:
    """The other files of the project, which are read and not annotated: a method of a base class runs on the objects
    of classes that any of them may define. Without a mark of a project, nobody knows where it ends."""
    if not any((root / mark).exists() for mark in ROOT_MARKS):
        return {}
    return {rel: path for path in find_sources([root], root=root) if (rel := relative(path, root)) not in paths}


def _read_all(
    lanes: Lanes[str],
    paths: Mapping[str, Path],
    around: Mapping[str, Path],
    root: Path,
    old: Manifest,
    failures: list[Failure],
    generation: vocabulary.Generation,
    *,
    quiet: bool,
) -> list[FileSummary]:
    """First pass over all files; what cannot be read, and should be annotated, goes to ``failures``."""
    known = old.by_path()
    moved = _moved(old, root)
    summaries: list[FileSummary] = []
    reading = {
        rel: (str(path), module_name(path), known.get(rel), {} if rel in known else moved, rel in paths, generation)
        for rel, path in (*paths.items(), *around.items())
    }
    with progress("reading", len(reading), quiet=quiet) as advance:
        for rel, summary in lanes.map(read_file, reading):
            advance(1)
            if isinstance(summary, FileSummary):
                summaries.append(summary)
            elif rel in paths:
                failures.append(_failure(rel, summary))
    return sorted(summaries, key=lambda summary: summary.path)


def _planning(
    options: ApplyOptions,
    config: Config,
    root: Path,
    old: Manifest,
    paths: Mapping[str, Path],
    everything: Mapping[str, Path],
    summaries: list[FileSummary],
    left_out: dict[str, str],
    generation: vocabulary.Generation,
) -> tuple[dict[str, tuple[object, ...]], shim.Places]:
    """What the second pass is called with, for each file that is to be annotated, the others go to ``left_out``; and
    the shims that files import from."""
    project = Project(summaries, _console_scripts(root), Locator(root))
    named = {os.path.realpath(path) for path in (*options.paths, *options.entry)}
    entries = {relative(Path(os.path.realpath(path)), root) for path in options.entry}
    known = old.by_path()
    starts = {
        s.path for s in summaries if s.path in entries or (not entries and everything[s.path].name == "__main__.py")
    }
    places = shim.Places(root, everything, summaries, starts, old)
    planning: dict[str, tuple[object, ...]] = {}
    for summary in summaries:
        rel = summary.path
        if rel not in paths:
            continue
        reason = None if str(paths[rel]) in named else why_file_left_out(rel, summary.facts)
        by_tracer = places.is_imported_by_tracer(summary)
        place = places.of(summary) if (config.shim or by_tracer or places.watched) and not reason else None
        if by_tracer and place is None:
            reason = reason or "imported by the tracer"
        if reason:
            left_out[rel] = reason
            continue
        is_entry = rel in starts
        entry = known.get(rel)
        choices: Mapping[str, str] = {"functions": options.functions, "category": options.category}
        if options.event is not None and entry is not None:
            is_entry, choices = entry.entry, {**choices, **entry.choices}
        category = _category(paths[rel], choices["category"])
        context = project.context(rel, category, is_entry=is_entry, every_function=choices["functions"] == "all")
        configured, kept = _events(options, config, paths[rel], entry)
        only_events = options.event is not None and (entry is None or not _was_applied(entry))
        by_role = choices["category"] == ROLE_CATEGORY
        context = replace(
            context,
            categories=Categories(
                by_role, config.categories, rel, summary.module, project.bases(rel) if by_role else {}
            ),
            configured_events=() if only_events else configured,
            kept_events=kept,
            only_events=only_events,
            choices={} if only_events else choices,
        )
        would = options.check or options.diff
        planning[rel] = (replace(context, generation=generation, shim=place), options.diff, not would)
    return planning, places


# --- per file, in a lane ----------------------------------------------------------------------------------------------


def read_file(
    rel: str,
    path: str,
    module: str,
    entry: FileEntry | None,
    moved: Mapping[str, FileEntry],
    keep: bool = True,
    generation: vocabulary.Generation = vocabulary.CURRENT,
) -> FileSummary | Failure:
    """First pass: read, parse, find the facts. ``moved``: what apply wrote to files that are gone, by the SHA-256.
    ``keep``: there will be a second pass."""
    try:
        data = files.read_bytes(Path(path), rel)
        source = read_source(rel, data)
        entry = entry or moved.get(source.sha256)
        base = source if entry is None else _without_annotations(source, entry)
    except ParseFailure as failure:
        return Failure(rel, failure.line, failure.column, failure.reason)
    except EditError as error:
        return failure_of(rel, error)
    facts = find_facts(base, generation)
    if keep:
        _read_files[rel] = _Read(data, source.sha256, base, facts)
    return summarize(rel, module, facts)


def plan_file(rel: str, context: Context, want_diff: bool, want_data: bool = True) -> Outcome | Failure:
    """Second pass: plan, edit, check. Without ``want_data``, of a file that would change no more comes back than that
    it would."""
    read = _read_files[rel]  # kept to the end of the lane: to take the tree apart takes time, and nobody needs the room
    try:
        annotated = annotate(read.base, read.facts, context)
    except EditError as error:
        return failure_of(rel, error)
    text = annotated.edited.text if annotated.edited else read.base.text
    data = read.base.encode(text)
    if data == read.data:
        return Outcome(annotated.entry, read.seen, None, "", annotated.notes)
    diff = ""
    if want_diff:
        hunks = annotated.edited.hunks if annotated.edited and read.base.sha256 == read.seen else None
        diff = _diff(rel, read, text, hunks)
    return Outcome(annotated.entry, read.seen, data if want_data else b"", diff, annotated.notes)


def _without_annotations(source: Source, entry: FileEntry) -> Source:
    if source.sha256 == entry.sha256_before or not entry.sites:
        return source
    text = exact_text(source, entry)
    if text is None:
        text = structural_text(source, entry)
    return source if text == source.text else read_source(source.path, source.encode(text))


def failure_of(rel: str, error: EditError) -> Failure:
    """An edit that was given up, as a failure; the error's text begins with the path, and maybe a line."""
    match = re.fullmatch(r":(?:(\d+):)? *(.*)", str(error).removeprefix(rel), re.DOTALL)
    line, message = match.groups() if match else (None, str(error))
    return Failure(rel, int(line or 0), 1 if line else 0, f"{message}; the file was left alone")


def _diff(rel: str, read: _Read, text: str, hunks: Any) -> str:
    if hunks is not None:
        return "".join(unified_diff(rel, read.base.lines, split_lines(text), hunks))
    return diff_of(rel, read_source(rel, read.data).lines, split_lines(text))


# --- the project ------------------------------------------------------------------------------------------------------


def relative(path: Path, root: Path) -> str:
    """``path`` as the manifest has it."""
    return Path(os.path.relpath(path, root)).as_posix()


def path_in_words(root: Path, rel: str) -> str:
    """A path of the manifest as a user would type it: relative to the current folder where it lies below it."""
    path = Path(os.path.normpath(root / rel))
    with contextlib.suppress(ValueError, OSError):  # elsewhere, or the current folder is gone
        return os.fspath(path.relative_to(Path.cwd()))
    return os.fspath(path)


def lies_below(paths: Iterable[Path]) -> Callable[[Path], bool]:
    """Whether a path is one of ``paths``, or lies below one."""
    named = {Path(os.path.realpath(path)) for path in paths}

    def test(path: Path) -> bool:
        real = Path(os.path.realpath(path))
        return real in named or not named.isdisjoint(real.parents)

    return test


def _moved(old: Manifest, root: Path) -> dict[str, FileEntry]:
    """What was annotated and is gone, by the SHA-256 of what apply wrote: a file with this content was moved."""
    return {entry.sha256_after: entry for entry in old.files if entry.sites and not (root / entry.path).exists()}


def module_category(path: Path) -> str:
    """The category of a file's events where nothing is said: the module's name (a package's for its ``__init__``)."""
    name = path.parent.name if path.name == "__init__.py" else path.stem
    # Names reach the trace unescaped: what could break a line of it must not be in them.
    return re.sub(r"[^\w.+-]", "_", name) or "module"


def _category(path: Path, wanted: str) -> str:
    if wanted not in (DEFAULT_CATEGORY, ROLE_CATEGORY):
        return wanted
    name = module_category(path)
    # What a function of ``data.py`` does, whose role cannot be told, must not pass for the role of that name.
    return f"{name}.py" if wanted == ROLE_CATEGORY and name in ROLES else name


def _installed_target() -> str:
    for generation in reversed(vocabulary.GENERATIONS):
        with contextlib.suppress(metadata.PackageNotFoundError):
            installed = metadata.version(generation.distribution)
            if vocabulary.generation_of(installed) == generation:  # the Python half has numbers of its own
                return installed
    return vocabulary.NEWEST_TARGET


def _console_scripts(root: Path) -> Iterable[str]:
    from dfannotate.cli.scripts import console_scripts

    return console_scripts(root)


def _failure(rel: str, result: Failure | Crash) -> Failure:
    return result if isinstance(result, Failure) else Failure(rel, 0, 0, result.text)


# --- writing and showing ----------------------------------------------------------------------------------------------


def _write(
    options: ApplyOptions,
    record: Record,
    stamp: object,
    old: Manifest,
    target: str,
    paths: Mapping[str, Path],
    outcomes: Mapping[str, Outcome],
    shims: list[shim.Due],
) -> tuple[list[Failure], list[str]]:
    """Write the files, and the manifest around them (see ``cli/record.py``); what was not written, and the shims that
    nothing imports any more."""
    refused = [] if options.allow_dirty else _refused(record.root, old, paths, outcomes)
    kept = {failure.path for failure in refused}
    changed = {rel: outcome for rel, outcome in outcomes.items() if outcome.data is not None and rel not in kept}
    noted = [o.entry for rel, o in outcomes.items() if rel not in kept and _is_worth_noting(o.entry)]
    known = old.by_path()
    gone = _gone(options, record.root, old, outcomes)
    if not (noted or known):
        return refused, []
    try:
        record.make_folder()
        with files.locked(record.path.parent):
            record.settle()
            if record.stamp() != stamp:  # another run was faster
                old = record.read() or Manifest(target)
            generated = [due.entry for due in shims]
            if changed or any(due.data is not None for due in shims):
                record.begin(target, [*(outcome.entry for outcome in changed.values()), *generated])
            # What is imported is there before the first import of it, and goes after the last.
            failed = shim.write(record.root, shims)
            stranded = {rel: o for rel, o in changed.items() if o.entry.shim in failed}
            unwritten = [Failure(rel, 0, 0, f"{o.entry.shim}: {failed[o.entry.shim]}") for rel, o in stranded.items()]
            unwritten += _write_files(options, {r: o for r, o in changed.items() if r not in stranded}, paths)
            lost = {failure.path for failure in unwritten}
            forgotten = {rel for rel, o in outcomes.items() if rel not in kept and not _is_worth_noting(o.entry)}
            noted = [entry for entry in noted if entry.path not in lost]
            noted += [entry for entry in generated if entry.path not in failed]
            final = old.merged(target, noted, gone | (forgotten - lost))
            spare = shim.unneeded(final)
            removed = [entry.path for entry in spare if shim.remove(record.root, entry) == "removed"]
            record.finish(final.merged(target, (), [entry.path for entry in spare]))
    except OSError as error:
        raise UserError(
            f"{record.path}: cannot be written: {error.strerror or error}. No file is annotated without it: nothing was"
            " changed, or what was is known to the next run"
        ) from None
    return refused + unwritten, removed


def _unneeded_shims(options: ApplyOptions, root: Path, old: Manifest, outcomes: Mapping[str, Outcome]) -> list[str]:
    """The shims that will go once the outcomes are written."""
    if not any(entry.generated for entry in old.files):
        return []
    meant = old.merged(old.target, [o.entry for o in outcomes.values()], _gone(options, root, old, outcomes))
    return [entry.path for entry in shim.unneeded(meant) if shim.fate(root, entry) == "removed"]


def _refused(root: Path, old: Manifest, paths: Mapping[str, Path], outcomes: Mapping[str, Outcome]) -> list[Failure]:
    """The files that would be changed, but hold something that git does not have."""
    # A file that is exactly what apply wrote has no changes of the user's, whatever git says of it.
    ours = {entry.sha256_after for entry in old.files if entry.sites}
    asked = [rel for rel, outcome in outcomes.items() if outcome.data is not None and outcome.seen not in ours]
    dirty = dirty_files(root, [paths[rel] for rel in asked])
    return [Failure(rel, 0, 0, DIRTY) for rel in asked if paths[rel] in dirty]


def _gone(options: ApplyOptions, root: Path, old: Manifest, outcomes: Mapping[str, Outcome]) -> set[str]:
    """What the manifest names, and is no more: deleted where this run looked, or moved to where it looked."""
    seen, is_below = {outcome.seen for outcome in outcomes.values()}, lies_below(options.paths)
    return {
        entry.path
        for entry in old.files
        if not (root / entry.path).exists() and (entry.sha256_after in seen or is_below(root / entry.path))
    }


def _write_files(options: ApplyOptions, changed: Mapping[str, Outcome], paths: Mapping[str, Path]) -> list[Failure]:
    unwritten: list[Failure] = []
    for path in paths.values():
        with contextlib.suppress(OSError):
            files.remove_leftover(path)
    with progress("writing", len(changed), quiet=options.quiet) as advance:
        for rel, outcome in changed.items():
            advance(1)
            try:
                files.replace(paths[rel], outcome.data or b"", outcome.seen)
            except files.WriteError as error:
                unwritten.append(Failure(rel, 0, 0, str(error)))
    return unwritten


def _is_worth_noting(entry: FileEntry) -> bool:
    return bool(entry.sites or entry.skipped)


def _show(options: ApplyOptions, root: Path, done: _Done) -> None:
    messages = Messages(options.quiet)
    outcomes, changed, left_out, failures = done.outcomes, done.changed, done.left_out, done.failures
    notes = [note for outcome in outcomes.values() for note in outcome.notes]
    would = options.check or options.diff
    shims = {due.entry.path: due for due in done.shims if due.data is not None}
    changes = sorted([*changed, *shims, *done.shims_removed])
    notes += [due.note for due in done.shims if due.note]
    notes += _shim_notes(done) + _target_notes(done)
    if options.output == "json":
        print_json(
            {
                "ok": not failures and not (options.check and changes),
                "target": done.target,
                "changed": changes,
                "files": [_entry_as_json(outcome.entry) for outcome in outcomes.values()],
                "left_out": [{"path": path, "reason": reason} for path, reason in sorted(left_out.items())],
                "errors": [asdict(failure) for failure in failures],
                "notes": notes,
                **({"diff": {rel: _diff_of(rel, done) for rel in changes}} if options.diff else {}),
            }
        )
    elif options.diff:
        for rel in changes:
            print(_diff_of(rel, done), end="")
    elif options.event is not None:
        for rel, outcome in outcomes.items():
            print(_event_in_words(options, path_in_words(root, rel), outcome))
    else:
        for rel in changed:
            words = _sites_in_words(outcomes[rel].entry)
            print(f"{'would annotate' if would else 'annotated'} {path_in_words(root, rel)}: {words}")
        for rel in shims:
            print(f"{'would write' if would else 'wrote'} {path_in_words(root, rel)}: what annotated files import from")
        for rel in done.shims_removed:
            print(f"{'would remove' if would else 'removed'} {path_in_words(root, rel)}: nothing imports from it")
    for note in notes:
        messages.warning(note)
    for failure in failures:
        messages.error(failure.in_words(root))
    if options.event is not None:
        if not (failures or done.has_entry):
            messages.note("nothing starts the tracing yet: annotate the program with `dfannotate apply`")
        return
    sites = [site for outcome in outcomes.values() for site in outcome.entry.sites]
    if sites and not done.has_entry:
        messages.warning("no entry point found, so nothing would start the tracing: name the script with --entry FILE")
    messages.note(
        f"{count(len(changed), 'file')} {'would be annotated' if would else 'annotated'}, "
        f"{len(outcomes) - len(changed)} unchanged, {len(left_out)} left out, {len(failures)} failed; "
        f"{' and '.join(_traced_in_words(sites) or [count(0, 'function')])} traced, {_skips_in_words(outcomes)}"
    )
    if failures:
        messages.note("what failed was left as it was; put it right, or leave it out with --exclude, and run again")


def _diff_of(rel: str, done: _Done) -> str:
    if rel in done.outcomes:
        return done.outcomes[rel].diff
    return next((due.diff for due in done.shims if due.entry.path == rel), "")


def _target_notes(done: _Done) -> list[str]:
    """What the user should know of the tracer that is written for."""
    generation = vocabulary.generation_of(done.target)
    direct = any(outcome.entry.sites and not outcome.entry.shim for outcome in done.outcomes.values())
    if generation is None or not generation.on_unless_off or not direct:
        return []
    return [f"{generation.distribution} {done.target} traces unless {generation.enabled}=0 is set"]


def _shim_notes(done: _Done) -> list[str]:
    """Which annotated files import the tracer itself, where a shim was asked for, by the reason."""
    files_of: dict[str, list[str]] = {}
    for rel, outcome in done.outcomes.items():
        if rel in done.reasons and outcome.entry.sites:
            files_of.setdefault(done.reasons[rel], []).append(rel)
    return [
        f"{rels[0]}{f' and {len(rels) - 1} more' if rels[1:] else ''}: imports dftracer itself, {reason}"
        for reason, rels in files_of.items()
    ]


def _event_in_words(options: ApplyOptions, path: str, outcome: Outcome) -> str:
    assert options.event is not None
    site = next(site for site in outcome.entry.sites if site.function == options.event.function)
    how = "is logged already" if outcome.data is None else "would be logged" if options.check else "is logged now"
    return f"{path}:{site.line}: {site.function} {how} as {site.category}:{site.event}"


def _skips_in_words(outcomes: Mapping[str, Outcome]) -> str:
    skipped = Counter(skip.reason for outcome in outcomes.values() for skip in outcome.entry.skipped)
    reasons = [f"{reason} {number}" for reason, number in skipped.most_common(4)]
    if len(skipped) > len(reasons):
        reasons.append("…")
    return f"{skipped.total()} left alone" + (f" ({', '.join(reasons)})" if reasons else "")


def _entry_as_json(entry: FileEntry) -> dict[str, Any]:
    """The manifest's entry without what only ``revert`` needs."""
    return {
        key: value
        for key, value in asdict(replace(entry, undo=())).items()
        if key not in ("undo", "names", "introduced", "shim", "generated", "events", "choices")
    }


def _sites_in_words(entry: FileEntry) -> str:
    words = _traced_in_words(entry.sites)
    if entry.entry:
        words.append("entry point")
    return ", ".join(words or [count(0, "function")])


def _traced_in_words(sites: Iterable[Site]) -> list[str]:
    """How many functions are traced, and how many calls that start worker processes; what there is none of left out."""
    kinds = Counter(site.kind for site in sites)
    workers = sum(kinds[kind] for kind in WORKER_KINDS)
    functions = kinds.total() - workers - kinds["lifecycle"]
    return [count(number, noun) for number, noun in ((functions, "function"), (workers, "worker start")) if number]
