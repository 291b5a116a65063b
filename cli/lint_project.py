"""What the rules may ask about the other files of a project: what its modules hand on of the tracer, and what ``apply``
would be told about a file's classes and calls.

Modules are looked for where Python would look: beside the file, from the top of its package, from the project root and
from the folders in it. Each is read once, and parsed only where it can hand the tracer on.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from dfannotate.rules.engine import Exports, mentions
from dfannotate.source import ParseFailure, Source, read_source

if TYPE_CHECKING:
    from dfannotate.codemods import Context
    from dfannotate.facts import ModuleFacts
    from dfannotate.rules.safety import Surroundings

Table = Mapping[str, Mapping[str, str]]
"""Absolute path -> name -> role, for the files that hand something of the tracer on."""

_STAR = re.compile(rb"^[ \t]*from[ \t]+\S+[ \t]+import[ \t]*\(?[ \t]*\*", re.MULTILINE)
_FROM = re.compile(rb"^[ \t]*from[ \t]+([.\w]+)[ \t]+import\b", re.MULTILINE)
_FURTHEST = 3
"""How many modules that do not mention the tracer themselves may stand between a use and the tracer."""


class LintProject:
    """The project around the files of one run. ``table``: what is known already of the files that are looked at;
    ``shown``: what rules call a file -> its absolute path."""

    def __init__(self, root: Path, table: Table, looked_at: frozenset[str], is_traced: bool = False) -> None:
        self.root = root
        self.is_traced = is_traced
        self._looked_at = looked_at
        self._table = table
        self._places: dict[tuple[str, str], str | None] = {}
        self._packages: dict[str, str] = {}
        self._data: dict[str, bytes | None] = {}
        self._hands_on: dict[str, bool] = {}
        self._exports = Exports(self._find, self._read)
        self._exports.know(table)
        self._contexts: dict[str, Context] = {}
        self._absolute: dict[str, str] = {}

    # --- what rules ask ---------------------------------------------------------------------------------------------

    def is_called(self, shown: str, path: str) -> None:
        """From now on, rules call the file at ``path`` so."""
        self._absolute[shown] = path

    def exports(self, path: str, module: str) -> Mapping[str, str]:
        return self._exports(self._absolute.get(path, path), module)

    def surroundings(self, path: str) -> Surroundings:
        from dfannotate.facts import find_facts

        absolute = self._absolute.get(path, path)
        data = self._bytes(absolute)
        try:
            source = read_source(path, data or b"")
        except ParseFailure:
            from dfannotate.rules.safety import Surroundings

            return Surroundings()
        return self.context(find_facts(source)).around

    def context(self, facts: ModuleFacts) -> Context:
        """What the codemods plan by: the file itself, and the modules that it leads to."""
        if facts.sha256 not in self._contexts:
            from dfannotate.cli.apply import _category
            from dfannotate.cli.config import DEFAULT_CATEGORY
            from dfannotate.cli.locate import Locator, module_name
            from dfannotate.cli.scripts import console_scripts
            from dfannotate.codemods.project import Project, summarize

            path = Path(self._absolute.get(facts.path, facts.path))
            summary = summarize(facts.path, module_name(path), facts)
            project = Project([summary], console_scripts(self.root), Locator(self.root))
            self._contexts[facts.sha256] = project.context(
                facts.path, _category(path, DEFAULT_CATEGORY), is_entry=path.name == "__main__.py"
            )
        return self._contexts[facts.sha256]

    def imports_the_tracer(self, path: str, data: bytes) -> bool:
        """Whether a file that does not mention the tracer may have it from a module of the project that is not among
        those looked at."""
        return self._may_lead_there(path, data, _FURTHEST)

    def all_exports(self, path: str, source: Source) -> dict[str, str]:
        """What a file hands on, other modules taken into account."""
        from dfannotate.usage import Usage

        return dict(Usage(source, lambda module: self._exports(path, module)).exports)

    # --- modules ----------------------------------------------------------------------------------------------------

    def _find(self, path: str, module: str) -> str | None:
        """The file of ``module`` as the file at ``path`` imports it."""
        folder = os.path.dirname(path)
        key = (folder, module)
        if key not in self._places:
            self._places[key] = self._found(folder, module)
        return self._places[key]

    def _found(self, folder: str, module: str) -> str | None:
        level = len(module) - len(module.lstrip("."))
        parts = [part for part in module.split(".") if part]
        if level:
            for _ in range(level - 1):
                folder = os.path.dirname(folder)
            return self._module_at(folder, parts)
        if not parts:
            return None
        for base in self._bases(folder):
            if self._has(base, parts[0]):
                return self._module_at(base, parts)
        return None

    def _bases(self, folder: str) -> Sequence[str]:
        top = self._top_of(folder)
        return list(dict.fromkeys([folder, top, *self._roots]))

    @cached_property
    def _roots(self) -> list[str]:
        root = os.fspath(self.root)
        try:
            with os.scandir(root) as entries:
                below = sorted(entry.path for entry in entries if entry.is_dir() and not entry.name.startswith("."))
        except OSError:
            below = []
        return [root, *below]

    def _top_of(self, folder: str) -> str:
        """The folder that the package of ``folder`` lies in."""
        if folder not in self._packages:
            above = os.path.dirname(folder)
            is_package = above != folder and os.path.isfile(os.path.join(folder, "__init__.py"))
            self._packages[folder] = self._top_of(above) if is_package else folder
        return self._packages[folder]

    def _has(self, base: str, head: str) -> bool:
        key = (base, f"/{head}")
        if key not in self._places:
            place = os.path.join(base, head)
            there = os.path.isfile(f"{place}.py") or os.path.isdir(place)
            self._places[key] = place if there else None
        return self._places[key] is not None

    def _module_at(self, base: str, parts: Sequence[str]) -> str | None:
        place = os.path.join(base, *parts)
        for candidate in (f"{place}.py", os.path.join(place, "__init__.py")):
            if candidate in self._looked_at or os.path.isfile(candidate):
                return candidate
        return None

    # --- files ------------------------------------------------------------------------------------------------------

    def _bytes(self, path: str) -> bytes | None:
        if path not in self._data:
            try:
                with open(path, "rb") as stream:
                    self._data[path] = stream.read()
            except OSError:
                self._data[path] = None
        return self._data[path]

    def _read(self, path: str) -> Source | None:
        """The source of a module that may hand the tracer on."""
        if path in self._looked_at and path not in self._table:
            return None  # it was asked, and hands nothing on
        data = self._bytes(path)
        if data is None or not (mentions(data) or self._may_lead_there(path, data, _FURTHEST)):
            return None
        try:
            return read_source(path, data)
        except ParseFailure:
            return None

    def _may_lead_there(self, path: str, data: bytes, hops: int) -> bool:
        """Whether a module takes anything from one that mentions the tracer, or that leads to such a one."""
        if path in self._hands_on:
            return self._hands_on[path]
        self._hands_on[path] = False
        found = False
        for module in {match.decode("ascii", "replace") for match in _FROM.findall(data)}:
            place = self._find(path, module)
            if place is None or place == path:
                continue
            if place in self._looked_at:
                found = place in self._table
            elif (other := self._bytes(place)) is not None:
                found = mentions(other) or (hops > 1 and self._may_lead_there(place, other, hops - 1))
            if found:
                break
        self._hands_on[path] = found
        return found
