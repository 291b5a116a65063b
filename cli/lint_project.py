"""What the rules may ask about the other files of a project: what its modules hand on of the tracer, and what ``apply``
would be told about a file's classes and calls.

Modules are looked for where Python would look: beside the file, from the top of its package, from the project root and
from the folders in it. Each is read once, and parsed only where it can hand the tracer on.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from dfannotate import vocabulary
from dfannotate.source import ParseFailure, Source, read_source

Asked = Sequence[tuple[str, "str | None"]]

if TYPE_CHECKING:
    from dfannotate.codemods import Context
    from dfannotate.codemods.index import FileSummary
    from dfannotate.codemods.project import Project
    from dfannotate.facts import ModuleFacts
    from dfannotate.rules.loaders import Maker

Table = Mapping[str, Mapping[str, str]]
"""Absolute path -> name -> role, for the files that hand something of the tracer on."""

_FROM = re.compile(rb"^[ \t]*from[ \t]+([.\w]+)[ \t]+import\b[ \t]*(\([^)]*\)|(?:[^\n\\]|\\\r?\n)*)", re.MULTILINE)
_IMPORT = re.compile(rb"^[ \t]*import[ \t]+([^\n;#]+)", re.MULTILINE)
_STAR = re.compile(rb"^[ \t]*from[ \t]+\S+[ \t]+import[ \t]*\*", re.MULTILINE)
_BOUND = re.compile(rb"^[ \t]*(?:(?:async[ \t]+)?def[ \t]+(\w+)|(\w+)[ \t]*(?::[^=\n]+)?=(?!=))", re.MULTILINE)
_UNSEEN = re.compile(rb"^[ \t]*(?:@|(?:async[ \t]+)?with\b)[^\n]*", re.MULTILINE)
"""Decorators and regions: what is in a function of an annotated file, and is not what it returns."""
_STATEMENT = re.compile(rb"^(?=[^\s#)\]}])", re.MULTILINE)
_ALIAS = re.compile(rb"(?:([.\w]+)[ \t\r\n\\]+as[ \t\r\n\\]+)?([.\w]+|\*)")
_COMMENT = re.compile(rb"#[^\n]*")
_FURTHEST = 3
"""How many modules that do not mention the tracer themselves may stand between a use and the tracer."""


class Handed(Mapping[str, str]):
    """What a module hands on, as one file sees it. ``names`` are those that may be of the tracer's; what they are is
    looked up when one of them is asked for. It is true where the file takes one of them as an attribute."""

    def __init__(
        self, names: frozenset[str], is_taken: Callable[[], bool], full: Callable[[], Mapping[str, str]]
    ) -> None:
        self.names = names
        self._is_taken = is_taken
        self._full = full

    def __getitem__(self, name: str) -> str:
        if name not in self.names:
            raise KeyError(name)
        return self._full()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._full())

    def __len__(self) -> int:
        return len(self._full())

    def __bool__(self) -> bool:
        return self._is_taken()


class LintProject:
    """The project around the files of one run.

    ``looked_at``: the absolute paths of those files; ``table``: what is known of what they hand on, so that a file of
    ``looked_at`` that is not in it hands nothing on."""

    def __init__(self, root: Path, table: Table, looked_at: frozenset[str], is_traced: bool = False) -> None:
        self.root = root
        self.is_traced = is_traced
        self._looked_at = looked_at
        self._table = table
        self._absolute: dict[str, str] = {}
        self._data: dict[str, bytes | None] = {}
        self._folders: dict[str, frozenset[str]] = {}
        self._tops: dict[str, str] = {}
        self._bases: dict[str, list[str]] = {}
        self._places: dict[tuple[str, str], str | None] = {}
        self._names: dict[str, frozenset[str]] = {path: frozenset(roles) for path, roles in table.items()}
        self._full: dict[str, Mapping[str, str]] = dict(table)
        self._taken: dict[tuple[str, frozenset[str]], bool] = {}
        self._contexts: dict[str, Context] = {}
        self._indexes: dict[str, Project] = {}

    def is_called(self, shown: str, path: str, data: bytes) -> None:
        """From now on, rules call the file at ``path`` so."""
        self._absolute[shown] = path
        self._data[path] = data

    # --- what rules ask ---------------------------------------------------------------------------------------------

    def exports(self, path: str, module: str) -> Mapping[str, str]:
        return self._handed(self._absolute.get(path, path), module)

    def leaves_out(self, facts: ModuleFacts) -> bool:
        from dfannotate.rules.selection import why_file_left_out

        path = os.path.relpath(os.path.realpath(self._absolute.get(facts.path, facts.path)), self.root)
        return why_file_left_out(Path(path).as_posix(), facts) is not None

    def makers(self, facts: ModuleFacts) -> Mapping[str, Maker]:
        return self._index_of(facts).makers(facts.path)

    def context(self, facts: ModuleFacts) -> Context:
        """What the codemods plan by: the file itself, and the modules that it leads to."""
        if facts.sha256 not in self._contexts:
            from dfannotate.cli.apply import module_category

            path = Path(self._absolute.get(facts.path, facts.path))
            is_entry = path.name == "__main__.py"
            index = self._index_of(facts)
            self._contexts[facts.sha256] = index.context(facts.path, module_category(path), is_entry=is_entry)
        return self._contexts[facts.sha256]

    def _index_of(self, facts: ModuleFacts) -> Project:
        """A file and, as far as is asked for them, the modules that it leads to. Those are found once a run."""
        if facts.sha256 not in self._indexes:
            from dfannotate.cli.locate import module_name
            from dfannotate.codemods.index import summarize
            from dfannotate.codemods.project import Project

            path = Path(self._absolute.get(facts.path, facts.path))
            summary = summarize(facts.path, module_name(path), facts)
            self._indexes[facts.sha256] = Project([summary], self._console_scripts, self._locate)
        return self._indexes[facts.sha256]

    @cached_property
    def _locate(self) -> Callable[[str], FileSummary | None]:
        from dfannotate.cli.locate import Locator

        return cache(Locator(self.root))

    @cached_property
    def _console_scripts(self) -> tuple[str, ...]:
        from dfannotate.cli.scripts import console_scripts

        return tuple(console_scripts(self.root))

    # --- what a run asks --------------------------------------------------------------------------------------------

    def gets_the_tracer(self, path: str, data: bytes) -> bool:
        """Whether a file that does not mention the tracer may have it from another module of the project."""
        self._data[path] = data
        for module, names in _imported(data):
            here = self._handed(path, module)
            if not names and here:
                return True
            for name, _ in names:
                if name == "*":
                    if here.names:
                        return True
                elif name in here.names or self._handed(path, _joined(module, name)):
                    return True
        return False

    def all_exports(self, path: str, source: Source) -> dict[str, str]:
        """What a file hands on, other modules taken into account."""
        from dfannotate.usage import Usage

        self._data.setdefault(path, source.text.encode())
        return dict(Usage(source, lambda module: self._handed(path, module)).exports)

    def is_unmoved(self, path: str, asked: Asked) -> bool:
        """Whether a file is the same with what other modules hand on as without: ``asked`` is what it wanted to know
        of them."""
        return not any(
            self._handed(path, module) if name is None else name in self._handed(path, module).names
            for module, name in asked
        )

    # --- what is handed on ------------------------------------------------------------------------------------------

    def _handed(self, path: str, module: str) -> Handed:
        place = self._find(path, module)
        names = self._names_of(place, _FURTHEST) if place is not None and place != path else frozenset[str]()
        if place is None or not names:
            return _NOTHING
        return Handed(names, lambda: self._takes(path, names), lambda: self._all_of(place))

    def _takes(self, path: str, names: frozenset[str]) -> bool:
        """Whether one of ``names`` stands in a file behind a dot."""
        key = (path, names)
        if key not in self._taken:
            pattern = rb"\.\s*(?:" + b"|".join(sorted(re.escape(name.encode()) for name in names)) + rb")(?!\w)"
            self._taken[key] = re.search(pattern, self._bytes(path) or b"") is not None
        return self._taken[key]

    def _names_of(self, path: str, hops: int) -> frozenset[str]:
        """The top-level names of a module that may be something of the tracer's, by its text."""
        known = self._names.get(path)
        if known is None:
            self._names[path] = frozenset()  # modules that import each other
            data = None if path in self._looked_at else self._bytes(path)
            self._names[path] = known = frozenset(self._possible_names(path, data, hops)) if data else frozenset()
        return known

    def _possible_names(self, path: str, data: bytes, hops: int) -> set[str]:
        found: set[str] = set()
        for module, names in _imported(data):
            if module.partition(".")[0] in vocabulary.TRACER_IMPORTS or vocabulary.is_shim(module):
                star = vocabulary.exported_names(module) or vocabulary.exported_names(vocabulary.MODULE)
                found.update(star if any(name == "*" for name, _ in names) else (local for _, local in names))
                if not names:
                    found.add(module.partition(".")[0])
            elif hops and names and (place := self._find(path, module)) is not None and place != path:
                theirs = self._names_of(place, hops - 1)
                for name, local in names if theirs else ():
                    found.update(theirs if name == "*" else {local} if name in theirs else ())
        return _with_derived(data, found) if found else found

    def _all_of(self, path: str) -> Mapping[str, str]:
        """What a module hands on: name -> role."""
        if path not in self._full:
            self._full[path] = {}  # modules that import each other: whoever asks second gets nothing
            try:
                source = read_source(path, self._bytes(path) or b"")
            except ParseFailure:
                return {}
            self._full[path] = self.all_exports(path, source)
        return self._full[path]

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
        if folder not in self._bases:
            self._bases[folder] = list(dict.fromkeys([folder, self._top_of(folder), *self._roots]))
        for base in self._bases[folder]:
            there = self._listing(base)
            if parts and (parts[0] in there or f"{parts[0]}.py" in there):
                return self._module_at(base, parts)
        return None

    @cached_property
    def _roots(self) -> list[str]:
        """The project's root, and the folders in it, which may hold its packages (``src``, ``python``)."""
        root = os.fspath(self.root)
        below = [os.path.join(root, name) for name in sorted(self._listing(root)) if not name.startswith(".")]
        return [root, *(path for path in below if not path.endswith(".py") and os.path.isdir(path))]

    def _top_of(self, folder: str) -> str:
        """The folder that the package of ``folder`` lies in."""
        if folder not in self._tops:
            above = os.path.dirname(folder)
            is_package = above != folder and "__init__.py" in self._listing(folder)
            self._tops[folder] = self._top_of(above) if is_package else folder
        return self._tops[folder]

    def _module_at(self, base: str, parts: Sequence[str]) -> str | None:
        folder = os.path.join(base, *parts[:-1])
        there = self._listing(folder)
        if parts and f"{parts[-1]}.py" in there:
            return os.path.join(folder, f"{parts[-1]}.py")
        package = os.path.join(folder, *parts[-1:])
        is_there = (not parts or parts[-1] in there) and "__init__.py" in self._listing(package)
        return os.path.join(package, "__init__.py") if is_there else None

    def _listing(self, folder: str) -> frozenset[str]:
        if folder not in self._folders:
            try:
                self._folders[folder] = frozenset(os.listdir(folder))
            except OSError:
                self._folders[folder] = frozenset()
        return self._folders[folder]

    def _bytes(self, path: str) -> bytes | None:
        if path not in self._data:
            try:
                with open(path, "rb") as stream:
                    self._data[path] = stream.read()
            except OSError:
                self._data[path] = None
        return self._data[path]


class Asker:
    """Stands in for other modules while nothing is known of them, and remembers what was asked: (module, name), or
    None for the name where it was whether the module hands on anything at all."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str | None]] = []

    def __call__(self, module: str) -> Mapping[str, str]:
        return _Asked(module, self.asked)


class _Asked(Mapping[str, str]):
    def __init__(self, module: str, asked: list[tuple[str, str | None]]) -> None:
        self._module = module
        self._asked = asked

    def __getitem__(self, name: str) -> str:
        self._asked.append((self._module, name))
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        self._asked.append((self._module, "*"))
        return 0

    def __bool__(self) -> bool:
        self._asked.append((self._module, None))
        return False


def takes_all(data: bytes) -> bool:
    """Whether a file takes all names of some module."""
    return _STAR.search(data) is not None


_NOTHING = Handed(frozenset(), lambda: False, dict)


def _joined(module: str, name: str) -> str:
    return f"{module}{name}" if module.endswith(".") else f"{module}.{name}"


def _imported(data: bytes) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The modules that the imports of a file name, by its text, each with (name, local name) of what is taken from it;
    nothing of that where the module itself is imported."""
    for module, what in _FROM.findall(data):
        names = [
            (name or local, local) for name, local in _ALIAS.findall(_COMMENT.sub(b"", what)) if local != b"import"
        ]
        yield (
            module.decode(),
            [(name.decode("utf-8", "replace"), local.decode("utf-8", "replace")) for name, local in names],
        )
    for what in _IMPORT.findall(data):
        for part in what.split(b","):
            if words := part.split():
                yield words[0].decode("utf-8", "replace"), []


def _with_derived(data: bytes, found: set[str]) -> set[str]:
    """``found``, and the top-level names of what is made of it: values, and functions that may return it."""
    starts = [match.start() for match in _STATEMENT.finditer(data)]
    statements = [data[start:end] for start, end in zip(starts, [*starts[1:], len(data)], strict=True)]
    statements = [s for s in statements if not s.startswith((b"class ", b"class\t", b"@", b"from ", b"import "))]
    for _ in range(4):
        pattern = re.compile(rb"(?<![\w.])(?:" + b"|".join(re.escape(name.encode()) for name in found) + rb")(?!\w)")
        before = len(found)
        for statement in statements:
            if pattern.search(_UNSEEN.sub(b"", statement)):
                is_function = statement.startswith((b"def ", b"async "))
                bound = [name or other for name, other in _BOUND.findall(statement)]
                found.update(name.decode("utf-8", "replace") for name in (bound[:1] if is_function else bound))
        if len(found) == before:
            break
    return found
