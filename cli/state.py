"""Where the tool keeps what it leaves behind: the project root and its ``.dfannotate`` folder."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from dfannotate.cli.show import UserError
from dfannotate.manifest import Manifest, load

ROOT_MARKS = ("pyproject.toml", ".git")
FOLDER = ".dfannotate"
MANIFEST_NAME = "manifest.json"
TRACES_NAME = "traces"

# The manifest is worth committing (revert and verify read it); traces are not, and neither is this file.
IGNORE_TEXT = f"/*\n!/{MANIFEST_NAME}\n"


def project_root(start: Path) -> Path:
    """The nearest folder at or above ``start`` that holds one of ``ROOT_MARKS``; ``start`` itself (its folder, where
    it is a file) when there is none. Absolute."""
    here = Path(os.path.realpath(start))  # Path.resolve fails on a link that leads back to itself
    if not here.is_dir():
        here = here.parent
    for folder in (here, *here.parents):
        if any(os.path.exists(folder / mark) for mark in ROOT_MARKS):  # False for what may not be looked at, too
            return folder
    return here


def state_folder(root: Path) -> Path:
    """``root/.dfannotate``, made when it is missing, with the ``.gitignore`` that hides it from git except the
    manifest. An existing ``.gitignore`` is the user's and stays. Raises ``OSError`` where it cannot be made."""
    folder = root / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError), open(folder / ".gitignore", "x", encoding="ascii") as stream:
        stream.write(IGNORE_TEXT)
    return folder


def known_manifest(path: Path | None) -> Manifest | None:
    """The manifest at ``path``; for None that of the project around the current folder, if it has one.

    Raises ``UserError`` where there is none at ``path``, and ``ManifestError`` where it cannot be read."""
    if path is None:
        path = project_root(Path.cwd()) / FOLDER / MANIFEST_NAME
        if not os.path.exists(path):
            return None
    elif not path.exists():
        raise UserError(f"{path}: no such manifest; `dfannotate apply` writes one")
    return load(path)
