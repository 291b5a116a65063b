"""``shim = true``: annotated files import from a small generated module, one a package, which may load the tracer.

So they do without being told where the project looks at what is imported, or the tracer imports the package itself.

Where it lies, and what it is called, is decided by how the project imports its modules: a module that its importer
could not find would break the program. Where that cannot be told, a file imports the tracer itself.
"""

from __future__ import annotations

import itertools
import keyword
import os
import sys
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from dfannotate import vocabulary
from dfannotate.cli import files
from dfannotate.cli.locate import is_package
from dfannotate.cli.show import diff_of
from dfannotate.codemods import Shim
from dfannotate.codemods.index import FileSummary
from dfannotate.codemods.shim import MARK, every_text, shim_text
from dfannotate.manifest import FileEntry, Manifest
from dfannotate.source import ParseFailure, digest, split_lines

Removal = Literal["removed", "edited", "gone"]


@dataclass(frozen=True)
class Due:
    """A shim that files import from. ``data`` is what is to be written in the place of what has the SHA-256 ``seen``
    (None: of nothing), None where it is right as it is; ``note`` is for the user."""

    entry: FileEntry
    seen: str | None = None
    data: bytes | None = None
    diff: str = ""
    note: str = ""


def is_shim_file(summary: FileSummary, old: Manifest) -> bool:
    """Whether a file is a shim, which is no part of the program."""
    entry = old.by_path().get(summary.path)
    named = vocabulary.is_shim(Path(summary.path).stem) and summary.facts.generated
    return named or (entry is not None and entry.generated)


class Places:
    """Which shim each file of a run imports from. ``reasons`` says of files that have to import the
    tracer itself, always or at times, why. ``watched``: the project looks at what its packages import."""

    def __init__(
        self,
        root: Path,
        paths: Mapping[str, Path],
        summaries: Collection[FileSummary],
        entries: Collection[str],
        old: Manifest,
    ) -> None:
        """``paths`` and ``entries`` (files that start the program) are those of the run, relative to ``root``."""
        self.reasons: dict[str, str] = {}
        self.watched = any(summary.facts.watches_imports for summary in summaries)
        self._root = root
        self._paths = paths
        self._known = old.by_path()
        self._names: dict[Path, str] = {}
        self._entries = entries
        absolute = {target for summary in summaries for target in summary.facts.imported if not target.startswith(".")}
        self._heads = {target.partition(".")[0] for target in absolute}
        self._pairs = {pair for target in absolute for pair in itertools.pairwise(target.split("."))}
        self._relative = {paths[s.path].parent for s in summaries if any(t.startswith(".") for t in s.facts.imported)}
        self._scripts = {paths[summary.path].parent for summary in summaries if self._is_script(summary)}
        self._roots = {paths[s.path].parent for s in summaries if self._is_script(s) and self._is_run_beside(s)}
        self._plain = {
            (paths[summary.path].parent, head) for summary in summaries for head in _heads(summary) - {"", "__future__"}
        }

    def of(self, summary: FileSummary) -> Shim | None:
        """The shim of a file, None where it has to import the tracer itself."""
        path = self._paths[summary.path]
        package = self._package(path)
        if package is None:
            return self._beside(path, summary)
        name = self._free_name(package)
        shim = Shim(f"{package.name}.{name}", self._relative_to_root(package / f"{name}.py"))
        if not self._is_script(summary):
            return shim
        uses_package = any(target.partition(".")[0] in ("", package.name) for target in summary.facts.imported)
        if uses_package and not self._imports_siblings(summary):
            return shim
        self.reasons[summary.path] = f"where it is run by its path, which would not find {shim.module}"
        return replace(shim, in_package_only=True)

    def is_imported_by_tracer(self, summary: FileSummary) -> bool:
        """Whether a file is of a package that the tracer imports itself, so that it cannot import the tracer."""
        path = self._paths[summary.path]
        package = self._package(path)
        return (path.stem if package is None else package.name) in vocabulary.IMPORTED_BY_TRACER

    def _beside(self, path: Path, summary: FileSummary) -> Shim | None:
        """A shim in the folder of a file that is in no package: for scripts, and what stands beside them."""
        folder = path.parent
        if (folder.name, path.stem) in self._pairs or folder in self._relative:
            self.reasons[summary.path] = f"as it is imported as a part of {folder.name}, which is no package"
            return None
        if folder in self._scripts or (folder, path.stem) in self._plain:
            name = self._free_name(folder)
            return Shim(name, self._relative_to_root(folder / f"{name}.py"))
        before = self._before(summary)
        if before is None:
            self.reasons[summary.path] = "as it is in no package, and nothing tells where it is imported from"
        return before

    def _before(self, summary: FileSummary) -> Shim | None:
        """What the file imported from until now: a run on a part of the project may not see what told where."""
        entry = self._known.get(summary.path)
        if entry is None or not entry.shim or not (self._root / entry.shim).is_file():
            return None
        return Shim(entry.names["module"], entry.shim)

    def _package(self, path: Path) -> Path | None:
        """The folder of the top-level package by whose name a file is imported; None where it is in none.

        That is the outermost, but for those that the project does not use as packages: an ``__init__.py`` too many."""
        chain = _packages_around(path)
        while chain and chain[0].name not in self._heads and self._is_import_root(chain[0]):
            del chain[0]
        before = self._known.get(self._relative_to_root(path))
        if chain and before is not None and before.shim and chain[0].name not in self._heads:
            name = before.names["module"].rpartition(".")[0]
            return next((folder for folder in chain if folder.name == name), None)
        return chain[0] if chain else None

    def _is_import_root(self, folder: Path) -> bool:
        """Whether what lies in a folder is imported by its bare name, by others or by a script beside it."""
        for first, second in self._pairs:
            inner = folder / first
            if is_package(inner) and ((inner / f"{second}.py").is_file() or is_package(inner / second)):
                return True
        return folder in self._roots

    def _is_script(self, summary: FileSummary) -> bool:
        return bool(summary.facts.guards) or summary.path in self._entries

    def _is_run_beside(self, summary: FileSummary) -> bool:
        """Whether a script imports what stands beside it by nothing but its bare name."""
        relative = any(target.startswith(".") for target in summary.facts.imported)
        return not relative and self._imports_siblings(summary)

    def _imports_siblings(self, summary: FileSummary) -> bool:
        folder = self._paths[summary.path].parent
        return any(
            head not in sys.stdlib_module_names and (folder / f"{head}.py").is_file() for head in _heads(summary)
        )

    def _free_name(self, folder: Path) -> str:
        """What the shim in ``folder`` is called: the usual name, unless that is somebody else's."""
        if folder not in self._names:
            numbered = (f"{vocabulary.SHIM}_{n}" for n in itertools.count(2))
            candidates = itertools.chain([vocabulary.SHIM], numbered)
            self._names[folder] = next(name for name in candidates if self._is_free(folder / f"{name}.py"))
        return self._names[folder]

    def _is_free(self, file: Path) -> bool:
        entry = self._known.get(self._relative_to_root(file))
        if entry is not None and entry.generated:
            return True
        if file.with_suffix("").exists():  # a package
            return False
        data = _content(file)
        return data is None if not os.path.lexists(file) else bool(data and data.startswith(MARK.encode()))

    def _relative_to_root(self, path: Path) -> str:
        return Path(os.path.relpath(path, self._root)).as_posix()


def due(
    root: Path, entries: Iterable[FileEntry], old: Manifest, generation: vocabulary.Generation, *, late: bool
) -> list[Due]:
    """The shims that the files of ``entries`` import from, and what is to be done for each. ``late``: those of packages
    are not to import the tracer, whoever imports it."""
    known = old.by_path()
    found = []
    for path in sorted({entry.shim for entry in entries if entry.shim and entry.sites}):
        folder = root / Path(path).parent
        is_late = (late and is_package(folder)) or folder.name in vocabulary.IMPORTED_BY_TRACER
        text = shim_text(generation, late=is_late)
        data = text.encode()
        entry = FileEntry(path, "", False, "", digest(data), generated=True)
        now = _content(root / path)
        if now == data:
            found.append(Due(entry))
        elif now is None:
            found.append(Due(entry, None, data, _diff(path, "", text)))
        elif now.decode(errors="replace") in every_text() or _is_as_written(now, known.get(path)):
            found.append(Due(entry, digest(now), data, _diff(path, now.decode(errors="replace"), text)))
        else:
            note = f"{path}: edited since dfannotate wrote it, so it stays as it is; delete it to have it written anew"
            found.append(Due(known.get(path, entry), note=note))
    return found


def write(root: Path, shims: Iterable[Due]) -> dict[str, str]:
    """Write the shims that are not right; path -> message for those that cannot be written."""
    failed = {}
    for shim in shims:
        if shim.data is None:
            continue
        path = root / shim.entry.path
        try:
            if shim.seen is None:
                files.create(path, shim.data)
            else:
                files.replace(path, shim.data, shim.seen)
        except files.WriteError as error:
            failed[shim.entry.path] = str(error)
    return failed


def unneeded(manifest: Manifest) -> list[FileEntry]:
    """The shims that no annotated file imports from any more."""
    needed = {entry.shim for entry in manifest.files if entry.sites}
    return [entry for entry in manifest.files if entry.generated and entry.path not in needed]


def fate(root: Path, entry: FileEntry) -> Removal:
    """What ``remove`` will come to."""
    now = _content(root / entry.path)
    if now is None:
        return "gone"
    return "removed" if _is_as_written(now, entry) else "edited"


def remove(root: Path, entry: FileEntry) -> Removal:
    """Remove a shim, unless it is no longer what was written. Raises ``OSError``."""
    what = fate(root, entry)
    if what == "removed":
        (root / entry.path).unlink()
    return what


def edited_in_words(path: str) -> str:
    """What is said of a shim that is not removed."""
    return f"{path}: edited since dfannotate wrote it, so it was left; nothing imports it any more"


def _is_as_written(data: bytes, entry: FileEntry | None) -> bool:
    # The mark is asked for too: whatever a manifest says, nothing else is ever replaced or removed.
    return entry is not None and digest(data) == entry.sha256_after and data.startswith(MARK.encode())


def _content(path: Path) -> bytes | None:
    try:
        return files.read_bytes(path, "")
    except ParseFailure:
        return None


def _diff(path: str, before: str, after: str) -> str:
    return diff_of(path, split_lines(before), split_lines(after))


def _heads(summary: FileSummary) -> set[str]:
    return {target.partition(".")[0] for target in summary.facts.imported} - {""}


def _packages_around(path: Path) -> list[Path]:
    """The packages that a file lies in, outermost first, those left out whose name no import can hold."""
    chain: list[Path] = []
    folder = path.parent
    while is_package(folder) and folder.name.isidentifier() and not keyword.iskeyword(folder.name):
        chain.insert(0, folder)
        folder = folder.parent
    return chain
