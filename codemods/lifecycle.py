"""The initialize/finalize pair where a program begins and ends.

In a ``__main__`` guard it is a ``try: … finally:`` around the guard's body. In a function that a console script enters,
in a script without either, and where threads or exit handlers outlive the guard, it is a start that happens once and a
finalize at exit: after a finalize every later event is lost and every later fork dies. With MPI, the tracer starts
after MPI and ends before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from dfannotate import vocabulary
from dfannotate.codemods import Codemod, Plan, PlannedSite, top_line
from dfannotate.edits import Reshape, Splice
from dfannotate.facts import FunctionFacts, Guard, MpiStatement
from dfannotate.shapes import finish_lines, finish_now_line, start_lines, start_once_lines

if TYPE_CHECKING:
    import libcst as cst

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
            _reserve_own_starts(plan)
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
        for function in _entries(plan):
            _in_function(plan, function)
        guards = [guard for guard in facts.guards if not _calls_entry(plan, [n for s in guard.body for n in s.names])]
        if len(guards) == 1 and _is_last(plan, guards[0]) and not context.outlives:
            _in_guard(plan, guards[0])
        elif guards:
            # What runs after the guard, or outlives it, would be cut off by a finalize in it.
            _at_guard_start(plan, guards[0])
        elif context.is_entry and facts.statements and not facts.guards and not context.entry_functions:
            names = [name for statement in facts.statements for name in statement.names]
            if not _calls_entry(plan, names):
                _in_module(plan)


def _in_guard(plan: Plan, guard: Guard) -> None:
    worlds = [m.first_line for m in plan.facts.mpi if m.what == "world" and guard.line < m.first_line <= guard.end_line]
    before = sum(statement.first_line <= max(worlds, default=0) for statement in guard.body)
    if before == len(guard.body):
        before = 0
    names, unit = plan.names, plan.facts.indent_unit
    start = start_lines(names, unit, interrupt=plan.context.is_interrupted)

    def change(node: cst.CSTNode) -> cst.CSTNode:
        return _wrap_guard(node, before, start, finish_lines(names, unit), unit)

    plan.edits.append(Reshape(guard.line, guard.line, guard.end_line, change))
    _note_start(plan, MODULE, guard.line)


def _at_guard_start(plan: Plan, guard: Guard) -> None:
    lines = _start_once(plan)

    def change(node: cst.CSTNode) -> cst.CSTNode:
        return _put_first(node, lines, plan.facts.indent_unit)

    plan.edits.append(Reshape(guard.line, guard.line, guard.end_line, change))
    _note_start(plan, MODULE, guard.line, "atexit")


def _in_function(plan: Plan, function: FunctionFacts) -> None:
    if function.is_async or function.is_generator:
        plan.notes.append(f"{plan.facts.path}:{function.line}: {function.name}() cannot hold the start of tracing")
        return
    lines = _start_once(plan)
    worlds = [m for m in plan.facts.mpi if m.what == "world" and m.direct and m.alone and m.function == function.name]
    if worlds:
        _splice(plan, worlds[-1].end_line + 1, worlds[-1].indent, lines)
    elif function.block and function.block.starts_line:
        _splice(plan, function.block.first, function.block.prefix, lines)
    else:

        def change(node: cst.CSTNode) -> cst.CSTNode:
            return _put_first(node, lines, plan.facts.indent_unit)

        plan.edits.append(Reshape(function.line, function.line, function.end_line, change))
    _note_start(plan, function.qualname, function.line, "atexit")


def _in_module(plan: Plan) -> None:
    worlds = [m.end_line + 1 for m in plan.facts.mpi if m.what == "world" and not m.function and m.direct]
    line = max([top_line(plan.facts), *worlds])
    _splice(plan, line, "", _start_once(plan))
    _note_start(plan, MODULE, line, "atexit")


def _after_mpi_init(plan: Plan, starts: list[MpiStatement]) -> None:
    for statement in starts:
        if not statement.alone:
            plan.notes.append(
                f"{plan.facts.path}:{statement.first_line}: MPI starts on a line with other statements; "
                "put it on a line of its own, so that tracing can start after it"
            )
            continue
        lines = _start_once(plan)
        _splice(plan, statement.end_line + 1, statement.indent, lines)
        _note_start(plan, statement.function or MODULE, statement.first_line, "atexit")


def _before_mpi_finalize(plan: Plan, statement: MpiStatement) -> None:
    if not statement.alone:
        plan.notes.append(
            f"{plan.facts.path}:{statement.first_line}: MPI ends on a line with other statements; "
            "put it on a line of its own, so that tracing can end before it"
        )
        return
    _splice(plan, statement.first_line, statement.indent, (finish_now_line(plan.names),))
    plan.use(statement.first_line, "logger")
    if statement.function:  # its own event would be lost
        plan.reserved.setdefault(statement.function, "around-finalize")


def _start_once(plan: Plan) -> tuple[str, ...]:
    return start_once_lines(plan.names, plan.facts.indent_unit, interrupt=plan.context.is_interrupted)


def _splice(plan: Plan, line: int, indent: str, lines: tuple[str, ...]) -> None:
    plan.edits.append(Splice(line, line, tuple(indent + text for text in lines), START_RANK))


def _note_start(plan: Plan, function: str, line: int, *more: str) -> None:
    plan.use(line, "logger", "enabled", *more, *(["interrupt"] if plan.context.is_interrupted else []))
    mark = f"{plan.names.log} = {plan.names.logger}.{vocabulary.INITIALIZE}("
    plan.sites.append(PlannedSite("lifecycle", function, "", "", 0, mark, (line, 0)))
    plan.is_entry = True
    if function != MODULE:
        plan.reserved[function] = "entry-point"


def _reserve_own_starts(plan: Plan) -> None:
    """What starts tracing as the program has it, and what is around that."""
    for line in plan.facts.initialize_lines:
        function = plan.facts.function_at(line)
        if function:
            plan.reserved.setdefault(function.qualname, "starts-tracing")
    _reserve_callers(plan)


def _reserve_callers(plan: Plan) -> None:
    """A decorated function around the start of tracing would be logged as having begun in 1970, one around its end not
    at all. A method is known by its name alone, whatever object it is called on."""
    functions = {name for name in plan.reserved if "." not in name} | plan.context.entry_calls
    methods = {name.rpartition(".")[2] for name in plan.reserved if "." in name} | plan.context.starting_names
    grown = bool(functions or methods)
    while grown:
        grown = False
        for function in plan.facts.functions:
            called = {call.name for call in function.calls}
            if function.qualname not in plan.reserved and (
                not functions.isdisjoint(called) or not methods.isdisjoint(name.rpartition(".")[2] for name in called)
            ):
                plan.reserved[function.qualname] = "around-initialize"
                (functions if function.scope == "module" else methods).add(function.name)
                grown = True


def _entries(plan: Plan) -> list[FunctionFacts]:
    """What console scripts enter of this file. They import the module, and find nothing that a guard defines."""
    guards, names = plan.facts.guards, plan.context.entry_functions
    return [
        function
        for function in plan.facts.functions
        if function.scope == "module"
        and function.name in names
        and not any(guard.line <= function.line <= guard.end_line for guard in guards)
    ]


def _calls_entry(plan: Plan, names: list[str]) -> bool:
    entries = {*(function.name for function in _entries(plan)), *plan.context.entry_calls}
    return not entries.isdisjoint(names)


def _is_last(plan: Plan, guard: Guard) -> bool:
    return all(s.kind in ("definition", "guard") for s in plan.facts.statements if s.first_line > guard.end_line)


# --- LibCST -----------------------------------------------------------------------------------------------------------


def _statements(lines: tuple[str, ...], unit: str) -> list[cst.BaseStatement]:
    """The statements of lines that ``shapes`` wrote, indented by ``unit`` wherever they come to stand."""
    import libcst as cst

    module = cst.parse_module("\n".join(lines) + "\n")
    return [
        node.with_changes(body=node.body.with_changes(indent=unit)) if isinstance(node, cst.If) else node
        for node in module.body
    ]


def _block(body: cst.BaseSuite, unit: str) -> cst.IndentedBlock:
    """A suite as an indented block: ``if x: a; b`` has its statements on a line of their own then."""
    import libcst as cst

    if isinstance(body, cst.IndentedBlock):
        return body
    assert isinstance(body, cst.SimpleStatementSuite)
    line = cst.SimpleStatementLine(body=body.body, trailing_whitespace=body.trailing_whitespace)
    return cst.IndentedBlock(body=[line], indent=unit)


def _wrap_guard(
    node: cst.CSTNode, before: int, start: tuple[str, ...], finish: tuple[str, ...], unit: str
) -> cst.CSTNode:
    """The guard with ``start`` after its first ``before`` statements, and the rest of its body in a ``try``."""
    import libcst as cst

    assert isinstance(node, cst.If)
    block = _block(node.body, unit)
    kept, rest = block.body[:before], block.body[before:]
    attempt = cst.Try(
        body=cst.IndentedBlock(body=rest, footer=block.footer, indent=unit),
        finalbody=cst.Finally(body=cst.IndentedBlock(body=_statements(finish, unit), indent=unit)),
    )
    body = block.with_changes(body=[*kept, *_statements(start, unit), attempt], footer=[])
    return node.with_changes(body=body)


def _put_first(node: cst.CSTNode, lines: tuple[str, ...], unit: str) -> cst.CSTNode:
    """A block's statement with ``lines`` first in its body, behind the docstring."""
    import libcst as cst

    assert isinstance(node, (cst.If, cst.FunctionDef))
    block = _block(node.body, unit)
    before: list[cst.BaseStatement] = []
    after: list[cst.BaseStatement] = list(block.body)
    first = after[0]
    if isinstance(node, cst.FunctionDef) and isinstance(first, cst.SimpleStatementLine) and _is_docstring(first):
        if len(first.body) == 1:
            before = [after.pop(0)]
        else:  # "doc"; x = 1
            alone = first.body[0].with_changes(semicolon=cst.MaybeSentinel.DEFAULT)
            before = [first.with_changes(body=[alone], trailing_whitespace=cst.TrailingWhitespace())]
            after[0] = first.with_changes(body=first.body[1:], leading_lines=[])
    return node.with_changes(body=block.with_changes(body=[*before, *_statements(lines, unit), *after]))


def _is_docstring(line: cst.SimpleStatementLine) -> bool:
    import libcst as cst

    statement = line.body[0]
    if not isinstance(statement, cst.Expr):
        return False
    value = statement.value
    while isinstance(value, cst.ConcatenatedString):
        if "b" in value.left.prefix or isinstance(value.left, cst.FormattedString):
            return False
        value = value.right
    return isinstance(value, cst.SimpleString) and "b" not in value.prefix.lower()
