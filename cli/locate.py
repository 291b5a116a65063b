"""Finding the modules of a project that were not asked for: a base class may stand in any of them."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from dfannotate.cli import files
from dfannotate.codemods.index import FileSummary, summarize
from dfannotate.facts import find_facts
from dfannotate.source import ParseFailure, read_source

if TYPE_CHECKING:
    from rope.base.project import Project as RopeProject
    from rope.base.resources import Folder


@cache
def is_package(folder: Path) -> bool:
    """Whether Python takes a folder for a package, other than a namespace."""
    return (folder / "__init__.py").is_file()


def module_name(path: Path) -> str:
    """The dotted name under which a file is imported: it begins at the outermost of the packages that the file lies
    in, or is the file's stem."""
    parts = [] if path.name == "__init__.py" and is_package(path.parent) else [path.stem]
    folder = path.parent
    while is_package(folder):
        parts.insert(0, folder.name)
        folder = folder.parent
    return ".".join(parts)


class Locator:
    """Module name -> what the project's file of that name holds, found by rope's rules for source folders.

    Modules outside the project root are not read: what is known of them is in tables."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()
        self._project: RopeProject | None = None
        self._folders: list[tuple[Folder, frozenset[str]]] = []

    def __call__(self, module: str) -> FileSummary | None:
        """The summary of ``module``, None where the project has no such module or it cannot be read."""
        if self._project is None:
            from rope.base.project import Project as RopeProject

            self._project = RopeProject(str(self._root), ropefolder="")
            # What ``find_module`` goes through, which would look for these folders anew for each module.
            folders = [*self._project.get_source_folders(), *self._project.get_python_path_folders()]
            self._folders = [(folder, _names_in(folder.real_path)) for folder in folders]
        found = (self._project.find_relative_module(module, folder, 1) for folder in self._holding(module))
        resource = next((resource for resource in found if resource is not None), None)
        if resource is None:
            return None
        path = Path(resource.real_path)
        path = path / "__init__.py" if path.is_dir() else path
        if path.suffix != ".py" or not path.is_relative_to(self._root):
            return None
        relative = path.relative_to(self._root).as_posix()
        try:
            return summarize(relative, module, find_facts(read_source(relative, files.read_bytes(path, relative))))
        except ParseFailure:
            return None

    def _holding(self, module: str) -> list[Folder]:
        """The folders that have the first part of a dotted name."""
        head = module.partition(".")[0]
        return [folder for folder, names in self._folders if head in names or f"{head}.py" in names]


def _names_in(folder: str) -> frozenset[str]:
    try:
        return frozenset(os.listdir(folder))
    except OSError:
        return frozenset()
