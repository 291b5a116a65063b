"""Codemods: each plans one kind of annotation for one file. They plan only; ``edits`` rewrites, ``cli`` writes.

A member is a module of this folder with a subclass of ``Codemod``; it is found by walking, no list names it.
"""

from __future__ import annotations

import importlib
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import PurePosixPath
from typing import ClassVar, get_args

from dfannotate import vocabulary
from dfannotate.edits import Edit, Splice
from dfannotate.facts import FunctionFacts, ModuleFacts, Statement
from dfannotate.manifest import ManualEvent, SiteKind, Skip
from dfannotate.members import classes_in
from dfannotate.rules.loaders import Maker
from dfannotate.rules.roles import Categories
from dfannotate.rules.safety import Surroundings, Treatment, treat
from dfannotate.rules.selection import is_short, why_left_out
from dfannotate.shapes import (
    Names,
    atexit_line,
    choose_names,
    event_class_lines,
    import_lines,
    instance_line,
    interrupt_lines,
)
from dfannotate.worker_shapes import Part, worker_lines

EVENT = "event"
"""The reason of a function that is logged as a manual event, and so is not left out."""

BLANK_ABOVE, BLANK_BELOW = "blank-above", "blank-below"

IMPORT_RANK = -10
"""Imports stand before anything else that is inserted at the same line."""


@dataclass(frozen=True)
class Shim:
    """The generated module that a file imports the tracer's names from: its dotted name, and its path relative to the
    project root. ``in_package_only``: the file may be run by its path too, and could not find the module then."""

    module: str
    path: str
    in_package_only: bool = False


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
    private_names: bool = False
    """Somebody takes all names of the module: the tracer's must not be among them."""
    outlives: bool = False
    """The project uses threads or exit handlers: a finalize at the end of the main module would come too early."""
    every_function: bool = False
    """Annotate all that can be, not only what is worth it."""
    categories: Categories = field(default_factory=Categories)
    """What goes before ``category``."""
    configured_events: tuple[ManualEvent, ...] = ()
    kept_events: tuple[ManualEvent, ...] = ()
    """Those that were asked for one by one; they go before the configured ones."""
    only_events: bool = False
    """Nothing but the events is annotated."""
    choices: Mapping[str, str] = field(default_factory=dict)
    """What is noted in the manifest of how the file was annotated."""
    makers: Mapping[str, Maker] = field(default_factory=dict)
    """What the file calls to make worker processes, by the name in ``ModuleFacts.worker_calls``."""
    process_classes: frozenset[str] = frozenset()
    """Classes of the file whose ``run`` is what a worker process runs."""
    starting_names: frozenset[str] = frozenset()
    """The names of functions elsewhere in the project that start the tracing as it has it, or are around that."""
    is_interrupted: bool = False
    """The project, or a library that it uses, answers Ctrl-C by catching ``KeyboardInterrupt``."""
    generation: vocabulary.Generation = vocabulary.CURRENT
    """The tracer that is written for."""
    shim: Shim | None = None
    in_large_package: bool = False
    """Many other modules may stand on the stack when this one is imported."""

    @property
    def events(self) -> tuple[ManualEvent, ...]:
        """All manual events, one a function."""
        kept = {event.function for event in self.kept_events}
        return (*self.kept_events, *(event for event in self.configured_events if event.function not in kept))


@dataclass(frozen=True)
class PlannedSite:
    """A site before its line in the new text is known: ``anchor`` is the line of the ``def`` in the old text, or 0 for
    a site that is found by its text ``mark``, or, without one, by its ``place``: line and column in the old text."""

    kind: SiteKind
    function: str
    event: str
    category: str
    anchor: int
    mark: str = ""
    place: tuple[int, int] = (0, 0)


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
    starts: set[str] = field(default_factory=set)
    """Qualified names of functions in whose body tracing starts, before anything else."""
    first_use: int = 0
    """The first line that needs the names when the module is imported; 0 where none does."""
    is_entry: bool = False
    instances: dict[str, str] = field(default_factory=dict)
    """Further categories -> the names of their instances."""
    shim: Shim | None = None
    """What the file comes to import from, known once the plan is finished."""
    blank: str = ""
    """``BLANK_ABOVE`` or ``BLANK_BELOW``: a blank line sets the imports apart from what stands there."""

    def __post_init__(self) -> None:
        context = self.context
        direct = context.generation.module
        self.names = choose_names(self.facts, context.private_names, context.shim.module if context.shim else direct)
        if context.shim and context.shim.in_package_only:
            self.names = replace(self.names, alone=direct)

    @cached_property
    def treatments(self) -> dict[int, Treatment]:
        """How each function is annotated, by the line of its ``def``. Asked for once all reservations are made."""
        return {function.line: self._treatment(function) for function in self.facts.functions}

    def _treatment(self, function: FunctionFacts) -> Treatment:
        own = self.facts.tracer
        if any(event.function == function.qualname for event in self.context.events):
            return Treatment("none", EVENT)
        if self.is_annotated(function):
            return Treatment("none", "annotated")
        if function.line <= max(own.import_line, own.instance_line):
            return Treatment("none", "before-tracer-import")
        if function.qualname in self.starts:
            return self._treatment_of_start(function)
        reason = self.reserved.get(function.qualname)
        if reason is None and not self.context.every_function:
            reason = why_left_out(function, self.facts)
        if reason:
            return Treatment("none", reason)
        treatment = treat(function, self.facts, self.context.around)
        if treatment.form == "plain" and self._is_called_often(function):
            # The decorator that looks at arguments takes up to four times as long, and would find nothing.
            return Treatment("static", "short")
        return treatment

    def _is_called_often(self, function: FunctionFacts) -> bool:
        """Whether a call does so little, for one item of many, that what a decorator costs is most of its time."""
        return function.name == "__next__" or (self.context.every_function and is_short(function, self.facts))

    def _treatment_of_start(self, function: FunctionFacts) -> Treatment:
        """A function in whose body the tracer starts is not begun when a decorator would look at the clock."""
        if function.block is None or function.block.broken:
            return Treatment("none", "starts-tracing")
        treatment = treat(function, self.facts, self.context.around)
        reason = None if self.context.every_function else why_left_out(function, self.facts)
        if reason or treatment.form == "none":
            return Treatment("none", reason or treatment.reason)
        return Treatment("region", "starts-tracing") if function.block.movable else Treatment("none", "immovable-body")

    def is_annotated(self, function: FunctionFacts) -> bool:
        """Whether the program's own author traces the function."""
        for name in function.decorators:
            head, _, last = name.rpartition(".")
            if last in vocabulary.DECORATORS and (self.facts.tracer_modules or head == self.names.instance):
                return True
        return False

    @property
    def category(self) -> str:
        """What the file's events are filed under where nothing else is said of a function."""
        return self.facts.tracer.instance_category or self.context.category

    def category_of(self, function: FunctionFacts) -> str:
        """What the events of a function are filed under."""
        return self.context.categories.category_of(function, self.facts) or self.category

    def use_instance(self, line: int, category: str) -> str:
        """The name of the instance for ``category``, which is needed from ``line`` on."""
        self.use(line, "function")
        if category == self.category:
            self.use(line, "instance")
            return self.names.instance
        if category not in self.instances:
            name = self.names.instance_for(category, self.facts.taken)
            self.instances[category] = name
            self.names = replace(self.names, instances=f"{self.names.instances} {name}".strip())
        return self.instances[category]

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
        missing = {name for name in self.needed & {"logger", "function", "enabled"} if not getattr(own, name)}
        lines: list[str] = []
        if "atexit" in self.needed:
            lines.append(atexit_line(self.names))
        if missing:
            lines += import_lines(self.names, missing, self.facts.indent_unit)
            self.shim = self.context.shim
        instances = {self.names.instance: self.category} if "instance" in self.needed and not own.instance else {}
        instances |= {name: category for category, name in self.instances.items()}
        if instances:
            named = self.context.in_large_package
            lines += ["", *(instance_line(self.names, *item, named=named) for item in sorted(instances.items()))]
        workers = [part for part in get_args(Part) if part in self.needed]
        if workers:
            given = (self.names.worker, self.names.logger, self.names.enabled, self.facts.indent_unit, workers)
            is_main = PurePosixPath(self.facts.path).name == "__main__.py"
            lines += ["", "", *worker_lines(*given, is_package_main=is_main)]
        if "interrupt" in self.needed:
            lines += ["", "", *interrupt_lines(self.names, self.facts.indent_unit)]
        if "event" in self.needed:
            lines += ["", "", *event_class_lines(self.names, self.facts.indent_unit, self.context.generation)]
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
        found += [member() for member in classes_in(loaded, Codemod)]
    return tuple(sorted(found, key=lambda codemod: (getattr(codemod, "ORDER", 0), codemod.ID)))


def make_plan(facts: ModuleFacts, context: Context) -> Plan:
    """The plan of all codemods for one file."""
    plan = Plan(facts, context)
    for codemod in discover():
        if codemod.ID == "events" or not context.only_events:
            codemod.plan(plan)
    plan.finish()
    plan.skipped.sort(key=lambda skip: skip.line)
    return plan


def top_line(facts: ModuleFacts, first_use: int = 0) -> int:
    """The line before which imports go: after the docstring, ``__future__`` and the first run of imports, and before
    the statement that holds ``first_use`` (0: no such limit).

    What the module sets between its imports for their sake (``os.environ``, ``sys.path``) belongs to the run: the
    tracer imports torch where it is installed, which must not happen before the program has prepared for it. Where the
    first definition stands in a part of the file that marks cut out, this part must hold the names that it uses."""
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
    if line < facts.section_line and (not first_use or facts.section_line < first_use):
        return facts.section_line + 1
    if not line:
        return facts.statements[0].first_line if facts.statements else 1
    for statement in facts.statements:  # what stands behind a semicolon goes with its line
        if statement.first_line <= line:
            line = max(line, statement.end_line) if not statement.alone else line
    return line + 1
