"""Rules: which functions deserve tracing and how (``selection``, ``safety``, ``roles``, ``loaders``), and what is wrong
with annotations that are there: one file a code, found by walking this folder.

A rule reads a ``Module`` and gives findings. It opens nothing and writes nothing: what a finding would change is its
``Fix``, which the one rewriting path carries out.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from abc import ABC
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING, ClassVar, Protocol

from dfannotate import vocabulary
from dfannotate.members import classes_in
from dfannotate.source import Source, split_lines

if TYPE_CHECKING:
    from dfannotate.edits import Edit
    from dfannotate.facts import ModuleFacts
    from dfannotate.rules.loaders import Maker
    from dfannotate.shapes import Names
    from dfannotate.usage import Usage

CODE = re.compile(r"DFT[0-9]{3}")
_MODULE_NAME = re.compile(r"dft[0-9]{3}_[a-z0-9_]+")


@dataclass(frozen=True)
class Request:
    """An annotation that a codemod is to plan: ``codemod`` is its ID, ``line`` that of the ``def`` or of the call
    (0: wherever the codemod sees fit)."""

    codemod: str
    line: int = 0


@dataclass(frozen=True)
class Fix:
    """What would put a finding right: edits, the tracer's names that their text needs (fields of ``Names``, imported
    where the module has them not, before line ``first_use``), and annotations that codemods are to plan."""

    edits: tuple[Edit, ...] = ()
    needs: frozenset[str] = frozenset()
    first_use: int = 0
    requests: tuple[Request, ...] = ()


@dataclass(frozen=True, order=True)
class Finding:
    """One fault. Lines and columns are 1-based, columns in characters; the end is exclusive."""

    path: str
    line: int
    column: int
    code: str
    name: str
    message: str
    end_line: int
    end_column: int
    fix: Fix | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Case:
    """A named example of a rule, test and documentation in one.

    ``findings``: the places (line, column) of this rule's findings, none for valid text. ``fixed``: the text after all
    fixes of this rule, None where it stays. ``files``: other files of the project, by path. ``target``: the release
    that is written for."""

    id: str
    text: str
    findings: tuple[tuple[int, int], ...] = ()
    fixed: str | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    path: str = "train.py"
    target: str = vocabulary.NEWEST_TARGET


class Project(Protocol):
    """What a rule may ask about the other files of the project."""

    @property
    def is_traced(self) -> bool:
        """Some file of the project uses the tracer, or the manifest names one."""
        ...

    def exports(self, path: str, module: str) -> Mapping[str, str]:
        """The roles (see ``usage``) of the names in a module of the project, as the file ``path`` imports it."""
        ...

    def leaves_out(self, facts: ModuleFacts) -> bool:
        """Whether ``apply`` passes a file over where it is not named: tests and the like are no part of the program."""
        ...

    def makers(self, facts: ModuleFacts) -> Mapping[str, Maker]:
        """What a file calls to make worker processes, classes of the project included, by the name in
        ``ModuleFacts.worker_calls``. Costs more than the facts."""
        ...


class NoProject:
    """A file on its own."""

    is_traced = False

    def exports(self, path: str, module: str) -> Mapping[str, str]:
        return {}

    def leaves_out(self, facts: ModuleFacts) -> bool:
        return False

    def makers(self, facts: ModuleFacts) -> Mapping[str, Maker]:
        return {}


class Module:
    """One Python file under the rules. Whatever costs much is made when the first rule asks for it."""

    def __init__(
        self, source: Source, project: Project, generation: vocabulary.Generation = vocabulary.CURRENT
    ) -> None:
        self.source = source
        self.project = project
        self.generation = generation
        self.path = source.path
        self.text = source.text
        self.lines = source.lines
        self.tree = source.tree

    @cached_property
    def usage(self) -> Usage:
        from dfannotate.usage import Usage

        return Usage(self.source, lambda module: self.project.exports(self.path, module))

    @cached_property
    def facts(self) -> ModuleFacts:
        """As the codemods see the file. Costs more than parsing: not for every module."""
        from dfannotate.facts import find_facts

        return find_facts(self.source, self.generation)

    @cached_property
    def names(self) -> Names:
        """The tracer's names in this module, or those that a fix would bring in."""
        from dataclasses import replace

        from dfannotate.shapes import choose_names

        names = choose_names(self.facts, module=self.generation.module)
        own = {
            role: local
            for role in ("logger", "function", "enabled", "instance")
            if (local := self.usage.local_name(role))
        }
        return replace(names, **own)

    def position(self, node: ast.AST) -> tuple[int, int, int, int]:
        """Begin and end of a node: lines 1-based, columns 0-based and in characters."""
        line, end_line = node.lineno, node.end_lineno or node.lineno  # type: ignore[attr-defined]
        column = self.column(line, node.col_offset)  # type: ignore[attr-defined]
        return line, column, end_line, self.column(end_line, node.end_col_offset or 0)  # type: ignore[attr-defined]

    def column(self, line: int, offset: int) -> int:
        """A column in characters, from one in bytes of UTF-8."""
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        return offset if text.isascii() else len(text.encode()[:offset].decode(errors="replace"))

    def segment(self, node: ast.AST) -> str:
        """The text of a node."""
        line, column, end_line, end_column = self.position(node)
        if line == end_line:
            return self.lines[line - 1][column:end_column]
        middle = self.lines[line : end_line - 1]
        return "".join([self.lines[line - 1][column:], *middle, self.lines[end_line - 1][:end_column]])


@dataclass(frozen=True)
class TextFile:
    """A file that is read as text: launch scripts, batch jobs, YAML, Dockerfiles, ``.env`` files."""

    path: str
    text: str

    @cached_property
    def lines(self) -> list[str]:
        return split_lines(self.text)


class Rule(ABC):
    """One kind of fault. The docstring says what it is, why it matters, and where that is documented.

    Subclasses set ``CODE``, ``NAME``, ``MESSAGE`` (with ``{}`` fields for ``finding``) and the cases, and implement
    ``check`` for Python modules that mention the tracer, or also ``check_text`` for launch files of any other kind."""

    CODE: ClassVar[str]
    NAME: ClassVar[str]
    MESSAGE: ClassVar[str]
    FIXABLE: ClassVar[bool] = False
    SINCE: ClassVar[tuple[int, int, int]] = (0, 0, 0)
    """The first release (native numbering) for which the rule holds."""
    VALID: ClassVar[tuple[Case, ...]]
    INVALID: ClassVar[tuple[Case, ...]]
    NEEDS_TRACER: ClassVar[bool] = True
    """Whether only modules that mention the tracer are looked at, in whatever way, its environment variables included;
    else every module that holds one of ``WORDS``, if the project is traced."""
    WORDS: ClassVar[tuple[str, ...]] = ()

    def check(self, module: Module) -> Iterable[Finding]:
        """The findings in a module that parses."""
        return ()

    def check_text(self, file: TextFile) -> Iterable[Finding]:
        """The findings in a file that is no Python."""
        return ()

    def finding(self, module: Module, node: ast.AST, fix: Fix | None = None, **values: object) -> Finding:
        """A finding at ``node``; ``values`` fill the fields of the message."""
        line, column, end_line, end_column = module.position(node)
        return self._finding(module.path, (line, column + 1, end_line, end_column + 1), fix, values)

    def finding_at(
        self, path: str, place: tuple[int, int, int, int], fix: Fix | None = None, **values: object
    ) -> Finding:
        """A finding at ``place``: line, column, end line, end column, all 1-based."""
        return self._finding(path, place, fix, values)

    def _finding(
        self, path: str, place: tuple[int, int, int, int], fix: Fix | None, values: Mapping[str, object]
    ) -> Finding:
        line, column, end_line, end_column = place
        message = self.MESSAGE.format(**values)
        return Finding(path, line, column, self.CODE, self.NAME, message, end_line, end_column, fix)


@cache
def discover() -> tuple[Rule, ...]:
    """Every rule of this folder, by code."""
    found: list[Rule] = []
    for info in pkgutil.iter_modules(__path__):
        if not _MODULE_NAME.fullmatch(info.name):
            continue
        module = importlib.import_module(f"{__name__}.{info.name}")
        found += [member() for member in classes_in(module, Rule)]
    return tuple(sorted(found, key=lambda rule: rule.CODE))
