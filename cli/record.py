"""The manifest on disk, also where a run was killed while it wrote.

Before the first file is written, what is about to be true of the files goes into a second file beside the manifest;
when all are written, it goes into the manifest, and the second file goes. A run that is killed in between leaves both,
and each file, by its content, tells which of them speaks the truth about it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from dfannotate.cli import files
from dfannotate.cli.state import FOLDER, state_folder
from dfannotate.manifest import FileEntry, Manifest, load, save, temporary_of


@dataclass(frozen=True)
class Record:
    """The manifest of the project at ``root``, at ``path``."""

    path: Path
    root: Path

    @property
    def pending(self) -> Path:
        """What a run is about to do."""
        return self.path.with_name(f"{self.path.name}.pending")

    def read(self) -> Manifest | None:
        """What is annotated; None where nothing says so. Raises ``ManifestError``, ``OSError``."""
        manifest = load(self.path) if self.path.exists() else None
        if not self.pending.exists():
            return manifest
        meant = load(self.pending)
        settled = manifest or Manifest(meant.target)
        known = settled.by_path()
        done = [entry for entry in meant.files if self._is_done(entry, known.get(entry.path))]
        return settled.merged(meant.target, done)

    def _is_done(self, entry: FileEntry, before: FileEntry | None) -> bool:
        now = files.digest_of(self.root / entry.path)
        if entry.generated:  # there was nothing before
            return now == entry.sha256_after
        return now != (before.sha256_after if before else entry.sha256_before)

    def stamp(self) -> tuple[tuple[int, int] | None, ...]:
        """What changes when another run writes."""
        return tuple(_stamp(path) for path in (self.path, self.pending))

    def make_folder(self) -> None:
        """Make the folder of the manifest. Raises ``OSError``."""
        if self.path.parent.name == FOLDER:
            state_folder(self.path.parent.parent)
        else:
            self.path.parent.mkdir(parents=True, exist_ok=True)

    def settle(self) -> None:
        """Put into the manifest what a killed run left beside it, and remove what it left beside the files. Raises
        ``ManifestError``, ``OSError``."""
        if not self.pending.exists():
            return
        for entry in load(self.pending).files:
            with contextlib.suppress(OSError):
                files.remove_leftover(self.root / entry.path)
        self.finish(self.read() or Manifest(""))

    def begin(self, target: str, entries: Iterable[FileEntry]) -> None:
        """Say what is about to be written. Raises ``OSError``."""
        save(Manifest(target).merged(target, entries), self.pending)

    def finish(self, manifest: Manifest) -> None:
        """Say what is true now. Raises ``OSError``."""
        if manifest.files:
            save(manifest, self.path)
        else:
            self.path.unlink(missing_ok=True)
        self.pending.unlink(missing_ok=True)
        temporary_of(self.pending).unlink(missing_ok=True)
        temporary_of(self.path).unlink(missing_ok=True)


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        state = path.stat()
    except OSError:
        return None
    return state.st_ino, state.st_mtime_ns
