"""Functions that are logged as manual events: on a simulated clock, or with the outcome of what they did.

The body goes into a ``try: … finally:``, so that the event is logged however the function ends: at any of its returns,
by an exception, or, for a generator, when it is exhausted or closed. The expressions stand in the function itself,
where its names are known and no closure is needed; each is guarded, so that an error takes one argument, not the event.
"""

from __future__ import annotations

import ast
import builtins
import difflib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import ClassVar

from dfannotate.codemods import Codemod, Plan, PlannedSite
from dfannotate.edits import EditError, Indent
from dfannotate.facts import FunctionFacts, ModuleFacts
from dfannotate.manifest import ManualEvent
from dfannotate.rules.safety import Surroundings, why_none
from dfannotate.shapes import event_lines
from dfannotate.source import Source

_UNFIT = frozenset({"overload", "compiled", "introspected", "signal-handler", "hook"})
"""Reasons for which a function cannot hold an event. Generators and stubs can: no wrapper is put around them."""

_MODULE_NAMES = frozenset({"__name__", "__file__", "__doc__", "__package__", "__spec__", "__loader__", "__builtins__"})
_LOCALS = frozenset({"locals", "vars", "dir"})
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Events(Codemod):
    """The events that were asked for by name."""

    ID: ClassVar[str] = "events"

    def plan(self, plan: Plan) -> None:
        for event in plan.context.events:
            for function in plan.facts.functions:
                if function.qualname == event.function:
                    _wrap(plan, function, event)


def _wrap(plan: Plan, function: FunctionFacts, event: ManualEvent) -> None:
    own = plan.facts.tracer
    if plan.is_annotated(function):
        raise _error(plan.facts, function, "is traced by its own decorator; take that off first")
    if function.line <= own.import_line:
        raise _error(plan.facts, function, "stands before the file's own import of the tracer; move that up")
    block = function.block
    assert block is not None  # see check_event
    name = event.name or function.qualname
    category = event.category or plan.category_of(function)
    unit = plan.facts.indent_unit
    before, after = event_lines(plan.names, unit, replace(event, name=name, category=category))
    lines = [tuple(block.prefix + line for line in part) for part in (before, after)]
    plan.edits.append(Indent(block.first, block.last, block.prefix, unit, lines[0], lines[1], block.broken))
    plan.use(function.line, "logger", "enabled", "event")
    plan.sites.append(PlannedSite("event", function.qualname, name, category, function.line))


# --- what can be told before the program runs -------------------------------------------------------------------------


def check_events(source: Source, facts: ModuleFacts, events: Iterable[ManualEvent]) -> tuple[ManualEvent, ...]:
    """``events`` with their expressions in one line each. Raises ``EditError``, which names the function and the name,
    where the file has no such function, where it cannot hold an event, and where an expression is no Python or has a
    name that is unknown there."""
    return tuple(_checked(source, facts, event) for event in events)


def _checked(source: Source, facts: ModuleFacts, event: ManualEvent) -> ManualEvent:
    functions = [function for function in facts.functions if function.qualname == event.function]
    if not functions:
        raise EditError(f"{source.path}: no function {event.function}{_meant(event.function, facts)}")
    for function in functions:
        reason = why_none(function, facts, Surroundings())
        if reason in _UNFIT:
            raise _error(facts, function, f"cannot hold an event ({reason})")
        if function.block is None:
            raise _error(facts, function, "has nothing but a docstring to log")
        if not function.block.movable:
            raise _error(facts, function, "has a body that cannot be moved in; put it on lines of its own")
        if event.outcome and any(call.name in _LOCALS for call in function.calls):
            raise _error(facts, function, "looks at its own locals, where the event would be seen")
    scopes = [_Scope(source.tree, function.line) for function in functions]
    expressions: dict[str, str] = {}
    for what, text in _expressions(event):
        expressions[what] = _one_line(source, facts, functions[0], what, text)
        for function, scope in zip(functions, scopes, strict=True):
            if not facts.star_imports:
                _check_names(facts, function, scope, what, expressions[what])
    return replace(
        event,
        start=expressions.get("start", ""),
        duration=expressions.get("duration", ""),
        ints=tuple((key, expressions[f"int {key}"]) for key, _ in event.ints),
        floats=tuple((key, expressions[f"float {key}"]) for key, _ in event.floats),
        strings=tuple((key, expressions[f"string {key}"]) for key, _ in event.strings),
    )


def _error(facts: ModuleFacts, function: FunctionFacts, text: str) -> EditError:
    return EditError(f"{facts.path}:{function.line}: {function.qualname} {text}")


def _meant(wanted: str, facts: ModuleFacts) -> str:
    names = sorted({function.qualname for function in facts.functions})
    last = wanted.rpartition(".")[2]
    close = [name for name in names if name.rpartition(".")[2] == last] or difflib.get_close_matches(wanted, names)
    return f"; did you mean {' or '.join(close[:3])}?" if close else ""


def _expressions(event: ManualEvent) -> Iterator[tuple[str, str]]:
    if not event.outcome:
        yield "start", event.start
        yield "duration", event.duration
    for kind, pairs in (("int", event.ints), ("float", event.floats), ("string", event.strings)):
        for key, text in pairs:
            yield f"{kind} {key}", text


def _one_line(source: Source, facts: ModuleFacts, function: FunctionFacts, what: str, text: str) -> str:
    """The expression as it is written into the file: without comments and line ends."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        detail = error.msg if isinstance(error, SyntaxError) else str(error)
        raise _error(facts, function, f"--{what}: {text!r} is no Python expression: {detail}") from None
    for node in ast.walk(tree):
        if isinstance(node, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)):
            raise _error(
                facts, function, f"--{what}: {text!r} would change what the function does (:=, await or yield)"
            )
    written = ast.unparse(tree)
    try:
        source.encode(written)
    except UnicodeError:
        raise _error(facts, function, f"--{what}: {text!r} cannot be written in {source.encoding}") from None
    return written


def _check_names(facts: ModuleFacts, function: FunctionFacts, scope: _Scope, what: str, text: str) -> None:
    tree = ast.parse(text, mode="eval")
    inner = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    inner |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id not in inner and node.id not in scope.names:
            close = difflib.get_close_matches(node.id, sorted(scope.own), n=1)
            hint = f"; did you mean {close[0]}?" if close else ""
            raise _error(
                facts,
                function,
                f"has no name {node.id} (--{what} {text!r}): it is none of its parameters and local names,"
                f" nor of those around it{hint}",
            )


class _Scope:
    """The names that can be used at the end of the function whose ``def`` stands at ``line``."""

    def __init__(self, tree: ast.Module, line: int) -> None:
        self.names = {*dir(builtins), *_MODULE_NAMES, *_bound(tree.body), *_declared_global(tree)}
        self.own: set[str] = set()
        for function in _path_to(tree, line):
            if isinstance(function, ast.ClassDef):
                self.names.add("__class__")
                continue
            arguments = function.args
            every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
            every += [argument for argument in (arguments.vararg, arguments.kwarg) if argument]
            self.own = {*(argument.arg for argument in every), *_bound(function.body)}
            self.names |= self.own


def _path_to(tree: ast.Module, line: int) -> list[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """The definitions that lead to the function at ``line``, the outermost first, itself the last."""
    stack: list[tuple[ast.AST, tuple[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, ...]]] = [(tree, ())]
    while stack:
        node, path = stack.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            path = (*path, node)
            if node.lineno == line and not isinstance(node, ast.ClassDef):
                return list(path)
        stack.extend((child, path) for child in ast.iter_child_nodes(node))
    return []


def _bound(body: list[ast.stmt]) -> set[str]:
    """Names that the code of a scope binds, and leaves bound: not those of an ``except … as``, which go with it."""
    names: set[str] = set()
    stack: list[ast.AST] = list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        if isinstance(node, _SCOPES):
            continue
        if isinstance(node, _COMPREHENSIONS):
            walrus = (part.target.id for part in ast.walk(node) if isinstance(part, ast.NamedExpr))
            names.update(walrus)
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names.update(alias.asname or alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name:
            names.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            names.add(node.rest)
        stack.extend(ast.iter_child_nodes(node))
    return names


def _declared_global(tree: ast.Module) -> set[str]:
    """Names that some function declares ``global``: it may bind them in the module."""
    return {name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names}
