"""Finding the modules of a project that were not asked for: a base class may stand in any of them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from dfannotate.cli import files
from dfannotate.codemods.project import FileSummary, summarize
from dfannotate.facts import find_facts
from dfannotate.source import ParseFailure, read_source

if TYPE_CHECKING:
    from rope.base.project import Project as RopeProject


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

    def __call__(self, module: str) -> FileSummary | None:
        """The summary of ``module``, None where the project has no such module or it cannot be read."""
        if self._project is None:
            from rope.base.project import Project as RopeProject

            project = RopeProject(str(self._root), ropefolder="")
            folders = project.get_source_folders()
            # rope would walk the whole tree for them at every question; during one run they stay what they are.
            project.get_source_folders = lambda: folders
            self._project = project
        resource = self._project.find_module(module)
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
