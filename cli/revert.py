"""``dfannotate revert``: every annotation out again, by the manifest."""

from __future__ import annotations

import difflib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from dfannotate.cli import files
from dfannotate.cli.apply import Failure
from dfannotate.cli.config import Config
from dfannotate.cli.discover import dirty_files
from dfannotate.cli.show import Messages, Output, UserError, count, print_json, progress
from dfannotate.cli.state import FOLDER, MANIFEST_NAME, project_root
from dfannotate.codemods.revert import exact_text, structural_text
from dfannotate.edits import EditError
from dfannotate.manifest import FileEntry, Manifest, load, save
from dfannotate.source import ParseFailure, digest, read_source, split_lines


@dataclass(frozen=True)
class RevertOptions:
    """The flags of ``revert``, configuration already taken into account."""

    paths: tuple[Path, ...] = (Path(),)
    check: bool = False
    diff: bool = False
    manifest: Path | None = None
    allow_dirty: bool = False
    output: Output = "text"
    quiet: bool = False


@dataclass(frozen=True)
class Reverted:
    """A file without its annotations. ``how``: ``exact`` gives the bytes from before, ``structure`` keeps edits made
    since, ``none`` where it holds no annotation any more (or is gone)."""

    path: str
    how: Literal["exact", "structure", "none"]
    before: str = ""
    after: str = ""
    data: bytes | None = None


def revert(options: RevertOptions, config: Config) -> int:
    """Take the annotations out, or say from which files. Returns the exit code. Raises ``UserError`` where there is no
    manifest, ``ManifestError`` where it is broken."""
    messages = Messages(options.quiet)
    root = project_root(options.paths[0])
    manifest_path = options.manifest or root / FOLDER / MANIFEST_NAME
    if not manifest_path.exists():
        raise UserError(f"{manifest_path}: no manifest, so nothing is known to be annotated here (see --manifest)")
    manifest = load(manifest_path)
    wanted = [entry for entry in manifest.files if _is_below(root / entry.path, options.paths)]
    failures: list[Failure] = []
    results: list[Reverted] = []
    with progress("reverting", len(wanted), quiet=options.quiet) as advance:
        for entry in wanted:
            advance(1)
            result = revert_file(root / entry.path, entry)
            if isinstance(result, Failure):
                failures.append(result)
            else:
                results.append(result)
    changed = [result for result in results if result.data is not None]
    if not (options.check or options.diff):
        written, refused = _write(options, root, changed, manifest)
        failures.extend(refused)
        gone = {result.path for result in results if result.data is None} | set(written)
        _forget(manifest, manifest_path, gone)
        changed = [result for result in changed if result.path in written]
    _show(options, messages, changed, failures)
    if failures:
        return 2
    return 1 if options.check and changed else 0


def revert_file(path: Path, entry: FileEntry) -> Reverted | Failure:
    """One file's text without its annotations."""
    if not entry.sites or not path.exists():
        return Reverted(entry.path, "none")
    try:
        data = files.read_bytes(path, entry.path)
        if digest(data) == entry.sha256_before:
            return Reverted(entry.path, "none")
        source = read_source(entry.path, data)
        text = exact_text(source, entry)
        how: Literal["exact", "structure"] = "exact" if text is not None else "structure"
        if text is None:
            text = structural_text(source, entry)
    except ParseFailure as failure:
        return Failure(entry.path, failure.line, failure.column, failure.reason)
    except EditError as error:
        return Failure(entry.path, 0, 0, str(error))
    if text == source.text:
        return Reverted(entry.path, "none")
    return Reverted(entry.path, how, source.text, text, source.encode(text))


def _is_below(path: Path, paths: tuple[Path, ...]) -> bool:
    real = path.resolve()
    return any(real == (given := named.resolve()) or given in real.parents for named in paths)


def _write(
    options: RevertOptions, root: Path, changed: list[Reverted], manifest: Manifest
) -> tuple[list[str], list[Failure]]:
    # A file that is exactly what apply wrote has no changes of the user's, whatever git says of it.
    asked = [] if options.allow_dirty else [result for result in changed if result.how != "exact"]
    dirty = dirty_files(root, [root / result.path for result in asked])
    written: list[str] = []
    failures: list[Failure] = []
    for result in changed:
        if root / result.path in dirty:
            failures.append(
                Failure(result.path, 0, 0, "uncommitted changes; commit or stash them, or use --allow-dirty")
            )
            continue
        try:
            files.replace((root / result.path).resolve(), result.data or b"", result.path)
            written.append(result.path)
        except files.WriteError as error:
            failures.append(Failure(result.path, 0, 0, str(error).removeprefix(f"{result.path}: ")))
    return written, failures


def _forget(manifest: Manifest, path: Path, gone: set[str]) -> None:
    """Files are reverted first, the manifest follows: a run killed in between finds them without annotations."""
    left = manifest.merged(manifest.target, (), gone)
    if left.files:
        save(left, path)
    else:
        path.unlink(missing_ok=True)


def _show(options: RevertOptions, messages: Messages, changed: list[Reverted], failures: list[Failure]) -> None:
    would = options.check or options.diff
    if options.output == "json":
        print_json(
            {
                "ok": not failures and not (options.check and changed),
                "changed": [{"path": result.path, "how": result.how} for result in changed],
                "errors": [asdict(failure) for failure in failures],
                **({"diff": {result.path: _diff(result) for result in changed}} if options.diff else {}),
            }
        )
    elif options.diff:
        for result in changed:
            print(_diff(result), end="")
    else:
        for result in changed:
            kept = "" if result.how == "exact" else " (edited since; your edits stay)"
            print(f"{'would revert' if would else 'reverted'} {result.path}{kept}")
    for failure in failures:
        messages.error(str(failure))
    messages.note(f"{count(len(changed), 'file')} {'would be ' if would else ''}reverted, {len(failures)} failed")


def _diff(result: Reverted) -> str:
    return "".join(
        difflib.unified_diff(split_lines(result.before), split_lines(result.after), result.path, result.path)
    )
