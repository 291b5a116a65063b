"""``dfannotate revert``: every annotation out again, by the manifest."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from dfannotate.cli import files, shim
from dfannotate.cli.apply import DIRTY, Failure, failure_of, lies_below, path_in_words, relative
from dfannotate.cli.config import Config, Writing
from dfannotate.cli.discover import dirty_files, find_sources
from dfannotate.cli.record import Record
from dfannotate.cli.run import Lanes
from dfannotate.cli.show import Messages, UserError, count, diff_of, print_json, progress
from dfannotate.cli.state import FOLDER, MANIFEST_NAME, project_root
from dfannotate.codemods.revert import exact_text, structural_text
from dfannotate.edits import EditError
from dfannotate.manifest import FileEntry, Manifest
from dfannotate.source import ParseFailure, digest, read_source, split_lines


@dataclass(frozen=True, kw_only=True)
class RevertOptions(Writing):
    """The flags of ``revert``, configuration already taken into account."""

    paths: tuple[Path, ...] = (Path(),)


@dataclass(frozen=True)
class Reverted:
    """A file without its annotations. ``how``: ``exact`` gives the bytes from before, ``structure`` keeps edits made
    since, ``none`` where it holds no annotation any more, ``gone`` where it is not there. ``seen`` is the SHA-256 of
    the content that is replaced by ``data``."""

    path: str
    how: Literal["exact", "structure", "none", "gone"]
    seen: str = ""
    data: bytes | None = None
    diff: str = ""


def revert(options: RevertOptions, config: Config) -> int:
    """Take the annotations out, or say from which files. Returns the exit code. Raises ``UserError`` where there is no
    manifest, ``ManifestError`` where it is broken."""
    root = project_root(options.paths[0])
    record = Record(options.manifest or root / FOLDER / MANIFEST_NAME, root)
    stamp = record.stamp()
    manifest = record.read()
    if manifest is None:
        raise UserError(f"{record.path}: no manifest, so nothing is known to be annotated here (see --manifest)")
    moved = _moved(manifest, options, root)
    is_below = lies_below(options.paths)
    wanted = {
        entry.path: (str(root / moved.get(entry.path, entry.path)), entry, options.diff)
        for entry in manifest.files
        if not entry.generated and (entry.path in moved or is_below(root / entry.path))
    }
    failures = _missing(options.paths, root, wanted)
    results: list[Reverted] = []
    with (
        Lanes(list(wanted), [1] * len(wanted), None) as lanes,
        progress("reverting", len(wanted), quiet=options.quiet) as advance,
    ):
        for rel, result in lanes.map(revert_file, wanted):
            advance(1)
            if isinstance(result, Reverted):
                results.append(result)
            else:
                failures.append(result if isinstance(result, Failure) else Failure(rel, 0, 0, result.text))
    results.sort(key=lambda result: result.path)
    changed = [result for result in results if result.data is not None]
    left = manifest.merged(manifest.target, (), [result.path for result in results])
    shims: dict[str, shim.Removal] = {entry.path: shim.fate(root, entry) for entry in shim.unneeded(left)}
    if not (options.check or options.diff):
        targets = {result.path: Path(os.path.realpath(wanted[result.path][0])) for result in results}
        refused, shims = _write(options, record, stamp, manifest, results, targets)
        failures.extend(refused)
        lost = {failure.path for failure in refused}
        changed = [result for result in changed if result.path not in lost]
    failures.sort(key=lambda failure: (failure.path, failure.line))
    gone = [result.path for result in results if result.how == "gone"]
    _show(options, root, changed, gone, moved, failures, shims)
    if failures:
        return 2
    return 1 if options.check and (changed or "removed" in shims.values()) else 0


def revert_file(rel: str, path: str, entry: FileEntry, want_diff: bool) -> Reverted | Failure:
    """One file's content without its annotations."""
    if not os.path.lexists(path):
        return Reverted(rel, "gone" if entry.sites else "none")
    if not entry.sites:
        return Reverted(rel, "none")
    try:
        data = files.read_bytes(Path(path), rel)
        if digest(data) == entry.sha256_before:
            return Reverted(rel, "none")
        source = read_source(rel, data)
        text = exact_text(source, entry)
        how: Literal["exact", "structure"] = "exact" if text is not None else "structure"
        if text is None:
            text = structural_text(source, entry)
    except ParseFailure as failure:
        return Failure(rel, failure.line, failure.column, failure.reason)
    except EditError as error:
        return failure_of(rel, error)
    if text == source.text:
        return Reverted(rel, "none")
    diff = ""
    if want_diff:
        diff = diff_of(rel, source.lines, split_lines(text))
    return Reverted(rel, how, source.sha256, source.encode(text), diff)


def _moved(manifest: Manifest, options: RevertOptions, root: Path) -> dict[str, str]:
    """Where annotated files that are gone from their place were moved to, below the paths named: path -> path."""
    gone = {entry.sha256_after: entry.path for entry in manifest.files if entry.sites}
    gone = {sha: rel for sha, rel in gone.items() if not (root / rel).exists()}
    if not gone:
        return {}
    known = manifest.by_path()
    found: dict[str, str] = {}
    for path in find_sources([path for path in options.paths if path.exists()], root=root):
        rel = relative(path, root)
        sha = None if rel in known else files.digest_of(path)
        if sha in gone:
            found[gone[sha]] = rel
    return found


def _missing(paths: tuple[Path, ...], root: Path, wanted: Mapping[str, object]) -> list[Failure]:
    """The paths named that are not there, and of which the manifest knows nothing."""
    missing = [path for path in paths if not path.exists()]
    known = {path: any(map(lies_below([path]), (root / rel for rel in wanted))) for path in missing}
    return [
        Failure(relative(Path(os.path.realpath(path)), root), 0, 0, "no such file or folder")
        for path in missing
        if not known[path]
    ]


def _write(
    options: RevertOptions,
    record: Record,
    stamp: object,
    manifest: Manifest,
    results: list[Reverted],
    targets: Mapping[str, Path],
) -> tuple[list[Failure], dict[str, shim.Removal]]:
    """Files are written first, the manifest follows: a run killed in between finds them without annotations. What was
    not written, and what became of the shims that nothing imports any more."""
    changed = [result for result in results if result.data is not None]
    # A file that is exactly what apply wrote has no changes of the user's, whatever git says of it.
    asked = [] if options.allow_dirty else [targets[result.path] for result in changed if result.how != "exact"]
    dirty = dirty_files(record.root, asked)
    failures = [Failure(result.path, 0, 0, DIRTY) for result in changed if targets[result.path] in dirty]
    refused = {failure.path for failure in failures}
    try:
        with files.locked(record.path.parent):
            record.settle()
            if record.stamp() != stamp:  # another run was faster
                manifest = record.read() or Manifest(manifest.target)
            for path in targets.values():
                with contextlib.suppress(OSError):
                    files.remove_leftover(path)
            for result in changed:
                if result.path in refused:
                    continue
                try:
                    files.replace(targets[result.path], result.data or b"", result.seen)
                except files.WriteError as error:
                    failures.append(Failure(result.path, 0, 0, str(error)))
            kept = {failure.path for failure in failures}
            done = {result.path for result in results} - kept
            left = manifest.merged(manifest.target, (), done)
            spare = shim.unneeded(left)
            shims: dict[str, shim.Removal] = {entry.path: shim.remove(record.root, entry) for entry in spare}
            record.finish(left.merged(manifest.target, (), shims))
    except OSError as error:
        raise UserError(
            f"{record.path}: cannot be written: {error.strerror or error}. Files may be reverted already; run again"
        ) from None
    return failures, shims


def _show(
    options: RevertOptions,
    root: Path,
    changed: list[Reverted],
    gone: list[str],
    moved: Mapping[str, str],
    failures: list[Failure],
    shims: Mapping[str, shim.Removal],
) -> None:
    messages = Messages(options.quiet)
    would = options.check or options.diff
    removed = [path for path, what in shims.items() if what == "removed"]
    where = {result.path: moved.get(result.path, result.path) for result in changed}
    if options.output == "json":
        print_json(
            {
                "ok": not failures and not (options.check and (changed or removed)),
                "changed": [
                    *({"path": where[result.path], "how": result.how} for result in changed),
                    *({"path": path, "how": "removed"} for path in removed),
                ],
                "gone": gone,
                "errors": [asdict(failure) for failure in failures],
                **({"diff": {where[result.path]: result.diff for result in changed}} if options.diff else {}),
            }
        )
    elif options.diff:
        for result in changed:
            print(result.diff, end="")
    else:
        for result in changed:
            kept = "" if result.how == "exact" else " (edited since; your edits stay)"
            print(f"{'would revert' if would else 'reverted'} {path_in_words(root, where[result.path])}{kept}")
        for path in removed:
            print(f"{'would remove' if would else 'removed'} {path_in_words(root, path)}")
    for path, what in shims.items():
        if what == "edited":
            messages.warning(shim.edited_in_words(path_in_words(root, path)))
    for path in gone:
        messages.warning(f"{path_in_words(root, path)}: annotated, but not there any more; nothing to revert")
    for failure in failures:
        messages.error(failure.in_words(root))
    messages.note(f"{count(len(changed), 'file')} {'would be ' if would else ''}reverted, {len(failures)} failed")
