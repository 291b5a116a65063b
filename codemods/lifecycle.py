"""The initialize/finalize pair where a program begins and ends.

In a ``__main__`` guard it is a ``try: … finally:`` around the guard's body. In a function that a console script enters,
in a script without either, and where threads or exit handlers outlive the guard, it is a start that happens once and a
finalize at exit: after a finalize every later event is lost and every later fork dies. With MPI, the tracer starts
after MPI and ends before it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from dfannotate import vocabulary
from dfannotate.codemods import Codemod, Plan, PlannedSite, top_line
from dfannotate.edits import Indent, Splice
from dfannotate.facts import Block, FunctionFacts, Guard, MpiStatement
from dfannotate.shapes import finish_lines, finish_now_line, start_lines, start_once_lines

START_RANK = 0
"""Behind the imports, where both stand at the same line."""

MODULE = "<module>"


class Lifecycle(Codemod):
    """One pair a program, in its entry point."""

    ID: ClassVar[str] = "lifecycle"
    ORDER: ClassVar[int] = -1  # it reserves functions, which must then stay undecorated

    def plan(self, plan: Plan) -> None:
        facts, context = plan.facts, plan.context
        if facts.initialize_lines:
            plan.is_entry = bool(facts.guards) or context.is_entry
            return
        finalizes = [m for m in facts.mpi if m.what == "finalize"]
        begins = bool(facts.guards or context.is_entry or context.entry_functions)
        starts = [m for m in facts.mpi if m.what == "init"] if begins else []
        if starts:
            _after_mpi_init(plan, starts)
        else:
            self._at_entries(plan)
        for statement in finalizes:
            _before_mpi_finalize(plan, statement)
        _reserve_callers(plan)

    def _at_entries(self, plan: Plan) -> None:
        facts, context = plan.facts, plan.context
        for function in facts.functions:
            if function.scope == "module" and function.name in context.entry_functions:
                _in_function(plan, function)
        guards = [guard for guard in facts.guards if not _calls_entry(plan, [n for s in guard.body for n in s.names])]
        if len(guards) == 1 and _is_last(plan, guards[0]) and not context.outlives:
            _in_guard(plan, guards[0])
        elif guards:
            # What runs after the guard, or outlives it, would be cut off by a finalize in it.
            _at_guard_start(plan, guards[0])
        elif context.is_entry and not facts.guards and not context.entry_functions:
            names = [name for statement in facts.statements for name in statement.names]
            if not _calls_entry(plan, names):
                _in_module(plan)


def _in_guard(plan: Plan, guard: Guard) -> None:
    worlds = [m.first_line for m in plan.facts.mpi if m.what == "world" and guard.line < m.first_line <= guard.end_line]
    rest = [statement for statement in guard.body if statement.first_line > max(worlds, default=0)]
    first = rest[0].first_line if rest and not guard.block.broken else guard.block.first
    block = replace(guard.block, first=first)
    names, unit = plan.names, plan.facts.indent_unit
    before = (*start_lines(names, unit), "try:")
    after = ("finally:", *(unit + line for line in finish_lines(names, unit)))
    _wrap(plan, block, before, after)
    _note_start(plan, MODULE, guard.line)


def _at_guard_start(plan: Plan, guard: Guard) -> None:
    _put_first(plan, guard.block, start_once_lines(plan.names, plan.facts.indent_unit))
    _note_start(plan, MODULE, guard.line, "atexit")


def _in_function(plan: Plan, function: FunctionFacts) -> None:
    if function.is_async or function.is_generator or function.block is None:
        plan.notes.append(f"{plan.facts.path}:{function.line}: {function.name}() cannot hold the start of tracing")
        return
    lines = start_once_lines(plan.names, plan.facts.indent_unit)
    worlds = [m for m in plan.facts.mpi if m.what == "world" and m.direct and m.alone and m.function == function.name]
    if worlds:
        _splice(plan, worlds[-1].end_line + 1, worlds[-1].indent, lines)
    else:
        _put_first(plan, function.block, lines)
    _note_start(plan, function.qualname, 0, "atexit")


def _in_module(plan: Plan) -> None:
    worlds = [m.end_line + 1 for m in plan.facts.mpi if m.what == "world" and not m.function and m.direct]
    line = max([top_line(plan.facts), *worlds])
    _splice(plan, line, "", start_once_lines(plan.names, plan.facts.indent_unit))
    _note_start(plan, MODULE, line, "atexit")


def _after_mpi_init(plan: Plan, starts: list[MpiStatement]) -> None:
    for statement in starts:
        if not statement.alone:
            plan.notes.append(
                f"{plan.facts.path}:{statement.first_line}: MPI starts on a line with other statements; "
                "put it on a line of its own, so that tracing can start after it"
            )
            continue
        lines = start_once_lines(plan.names, plan.facts.indent_unit)
        _splice(plan, statement.end_line + 1, statement.indent, lines)
        _note_start(plan, statement.function or MODULE, 0 if statement.function else statement.first_line, "atexit")


def _before_mpi_finalize(plan: Plan, statement: MpiStatement) -> None:
    if not statement.alone:
        plan.notes.append(
            f"{plan.facts.path}:{statement.first_line}: MPI ends on a line with other statements; "
            "put it on a line of its own, so that tracing can end before it"
        )
        return
    _splice(plan, statement.first_line, statement.indent, (finish_now_line(plan.names),))
    plan.use(0 if statement.function else statement.first_line, "logger")


def _splice(plan: Plan, line: int, indent: str, lines: tuple[str, ...]) -> None:
    plan.edits.append(Splice(line, line, tuple(indent + text for text in lines), START_RANK))


def _note_start(plan: Plan, function: str, first_use: int, *more: str) -> None:
    plan.use(first_use, "logger", "enabled", *more)
    mark = f"{plan.names.log} = {plan.names.logger}.{vocabulary.INITIALIZE}("
    plan.sites.append(PlannedSite("lifecycle", function, "", "", 0, mark))
    plan.is_entry = True
    if function != MODULE:
        plan.reserved[function] = "entry-point"


def _reserve_callers(plan: Plan) -> None:
    """A decorated function around the start of tracing would be logged as having begun in 1970."""
    names = {*plan.reserved, *plan.context.entry_calls}
    grown = bool(names)
    while grown:
        grown = False
        for function in plan.facts.functions:
            if function.qualname not in plan.reserved and any(call.name in names for call in function.calls):
                plan.reserved[function.qualname] = "around-initialize"
                names.add(function.name)
                grown = True


def _calls_entry(plan: Plan, names: list[str]) -> bool:
    entries = {*plan.context.entry_functions, *plan.context.entry_calls}
    return not entries.isdisjoint(names)


def _is_last(plan: Plan, guard: Guard) -> bool:
    return all(s.kind in ("definition", "guard") for s in plan.facts.statements if s.first_line > guard.end_line)


def _wrap(plan: Plan, block: Block, before: tuple[str, ...], after: tuple[str, ...]) -> None:
    """Move a block in, between the given lines at its old level."""
    lines = [tuple(block.prefix + line for line in part) for part in (before, after)]
    unit = plan.facts.indent_unit
    plan.edits.append(Indent(block.first, block.last, block.prefix, unit, lines[0], lines[1], block.broken))


def _put_first(plan: Plan, block: Block, lines: tuple[str, ...]) -> None:
    """Put lines before a block; one that stands behind its header's colon gets a line of its own."""
    if block.broken:
        first = tuple(block.prefix + line for line in lines)
        plan.edits.append(Indent(block.first, block.last, block.prefix, "", first, (), block.broken))
    else:
        _splice(plan, block.first, block.prefix, lines)
