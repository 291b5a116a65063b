"""Codemods: each plans one kind of annotation for one file. They plan only; ``edits`` rewrites, ``cli`` writes.

A member is a module of this folder with a subclass of ``Codemod``; it is found by walking, no list names it.
"""

from __future__ import annotations

import importlib
import pkgutil
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cache
from typing import ClassVar

from dfannotate.edits import Edit, Splice
from dfannotate.facts import ModuleFacts, Statement
from dfannotate.manifest import SiteKind, Skip
from dfannotate.rules.safety import Surroundings
from dfannotate.shapes import Names, atexit_line, choose_names, import_line, instance_line

BLANK_ABOVE, BLANK_BELOW = "blank-above", "blank-below"

IMPORT_RANK = -10
"""Imports stand before anything else that is inserted at the same line."""


@dataclass(frozen=True)
class Context:
    """What a plan for one file depends on, besides the facts of the file.

    ``category``: what the file's events are filed under. ``is_entry``: the program begins in this file, or may.
    ``entry_functions``: functions of this file that a console script enters. ``entry_calls``: names by which the file
    calls such a function, here or elsewhere. ``around``: what the project says about the file's classes and calls."""

    category: str
    is_entry: bool = False
    entry_functions: frozenset[str] = frozenset()
    entry_calls: frozenset[str] = frozenset()
    around: Surroundings = field(default_factory=Surroundings)


@dataclass(frozen=True)
class PlannedSite:
    """A site before its line in the new text is known: ``anchor`` is the line of the ``def`` in the old text, or 0 for
    a site that is found by its text ``mark``, which then stands near ``place``."""

    kind: SiteKind
    function: str
    event: str
    category: str
    anchor: int
    mark: str = ""
    place: int = 0


@dataclass
class Plan:
    """What will be done to one file. Codemods add to it, in the order of their names; ``finish`` adds the imports."""

    facts: ModuleFacts
    context: Context
    names: Names = field(init=False)
    edits: list[Edit] = field(default_factory=list)
    sites: list[PlannedSite] = field(default_factory=list)
    skipped: list[Skip] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    needed: set[str] = field(default_factory=set)
    """Fields of ``Names`` that the edits use."""
    reserved: dict[str, str] = field(default_factory=dict)
    """Qualified names of functions that must stay undecorated for the sake of an edit -> the reason."""
    first_use: int = 0
    """The first line that needs the names when the module is imported; 0 where none does."""
    is_entry: bool = False
    blank: str = ""
    """``BLANK_ABOVE`` or ``BLANK_BELOW``: a blank line sets the imports apart from what stands there."""

    def __post_init__(self) -> None:
        self.names = choose_names(self.facts)

    def use(self, line: int, *fields: str) -> None:
        """The given names are needed from ``line`` on (0: only once the module has been imported)."""
        self.needed.update(fields)
        if line:
            self.first_use = min(self.first_use or line, line)

    def finish(self) -> None:
        """Add the imports and the instance, where anything needs them and the file has them not."""
        if not self.needed:
            return
        own = self.facts.tracer
        missing = {name for name in self.needed - {"instance", "atexit"} if not getattr(own, name)}
        lines: list[str] = []
        if "atexit" in self.needed:
            lines.append(atexit_line(self.names))
        if missing:
            # A file that knows nothing of the tracer gets the usual pair, whichever of the two it uses today.
            if not own.function and not own.logger:
                missing |= {"function", "logger"}
            lines.append(import_line(self.names, missing))
        if "instance" in self.needed and not own.instance:
            lines += ["", instance_line(self.names, self.context.category)]
        if lines:
            line = top_line(self.facts, self.first_use)
            before = [statement for statement in self.facts.statements if statement.end_line < line]
            if not before:
                lines, self.blank = [*lines, ""], BLANK_BELOW
            elif before[-1].kind == "docstring":
                lines, self.blank = ["", *lines], BLANK_ABOVE
            self.edits.append(Splice(line, line, tuple(lines), IMPORT_RANK))


class Codemod(ABC):
    """One kind of annotation. ``ID`` is the module's name in kebab-case."""

    ID: ClassVar[str]

    @abstractmethod
    def plan(self, plan: Plan) -> None:
        """Add this codemod's edits, sites and skips to ``plan``, from ``plan.facts`` and ``plan.context``."""


@cache
def discover() -> tuple[Codemod, ...]:
    """Every codemod of this folder, by ID. A codemod whose plan reserves functions says so by ``ORDER``."""
    found: list[Codemod] = []
    for module in pkgutil.iter_modules(__path__):
        loaded = importlib.import_module(f"{__name__}.{module.name}")
        for value in vars(loaded).values():
            if isinstance(value, type) and issubclass(value, Codemod) and value.__module__ == loaded.__name__:
                found.append(value())
    return tuple(sorted(found, key=lambda codemod: (getattr(codemod, "ORDER", 0), codemod.ID)))


def make_plan(facts: ModuleFacts, context: Context) -> Plan:
    """The plan of all codemods for one file."""
    plan = Plan(facts, context)
    for codemod in discover():
        codemod.plan(plan)
    plan.finish()
    plan.skipped.sort(key=lambda skip: skip.line)
    return plan


def top_line(facts: ModuleFacts, first_use: int = 0) -> int:
    """The line before which imports go: after the docstring, ``__future__`` and the first run of imports, and before
    the statement that holds ``first_use`` (0: no such limit).

    What the module sets between its imports for their sake (``os.environ``, ``sys.path``) belongs to the run: the
    tracer imports torch where it is installed, which must not happen before the program has prepared for it."""
    anchor: Statement | None = None
    seen_import = False
    for statement in facts.statements:
        if first_use and first_use <= statement.end_line:
            break
        if statement.kind in ("docstring", "future"):
            anchor = statement
        elif statement.kind == "import":
            anchor, seen_import = statement, True
        elif seen_import and statement.kind != "environment":
            break
    line = max(anchor.end_line if anchor else 0, facts.tracer.import_line)
    if not line:
        return facts.statements[0].first_line if facts.statements else 1
    for statement in facts.statements:  # what stands behind a semicolon goes with its line
        if statement.first_line <= line:
            line = max(line, statement.end_line) if not statement.alone else line
    return line + 1
