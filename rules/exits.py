"""The ways out of a program between two of its statements."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from dfannotate.rules import Module
from dfannotate.rules.lifecycles import called_names, functions, is_exit
from dfannotate.usage import CallUse

AT_ONCE = ("os._exit", "os.abort")
"""Calls that end the process without anything being run at its exit."""
_ALL = frozenset({"BaseException", "SystemExit"})


@dataclass(frozen=True)
class Way:
    """A way out: the node that is shown, the statement that it is, and how a message calls it."""

    node: ast.AST
    statement: ast.stmt
    text: str


def between_calls(start: CallUse, end: CallUse) -> list[ast.stmt] | None:
    """The statements between those that hold the two calls, of the innermost block that holds both; None where they
    are not in one function, or in the other order."""
    if start.function is not end.function:
        return None
    first, second = (*start.ancestors, start.node), (*end.ancestors, end.node)
    depth = next((i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a is not b), 0)
    if not depth:
        return None
    for name in ("body", "orelse", "finalbody"):
        block = getattr(first[depth - 1], name, None)
        if isinstance(block, list) and first[depth] in block and second[depth] in block:
            found: list[ast.stmt] = block[block.index(first[depth]) + 1 : block.index(second[depth])]
            return found if block.index(first[depth]) < block.index(second[depth]) else None
    return None


def ways_out(module: Module, between: list[ast.stmt]) -> Iterator[Way]:
    yield from ways(between)
    known = functions(module)
    reached: set[str] = set()
    pending = [name for name in called_names(between) if name in known]
    while pending:
        name = pending.pop()
        if name not in reached:
            reached.add(name)
            yield from (way for way in ways(known[name].body) if way.text not in ("return", "raise"))
            pending += [other for other in called_names(known[name].body) if other in known]


def ways(body: list[ast.stmt], caught: bool = False, all_caught: bool = False) -> Iterator[Way]:
    """The ways out of a block's function, those left out that something around them catches."""
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        if isinstance(node, ast.Return):
            yield Way(node, node, "return")
        elif isinstance(node, ast.Raise) and not caught:
            yield Way(node, node, "raise")
        elif isinstance(node, ast.Expr) and (name := is_exit(node.value)) and (name in AT_ONCE or not all_caught):
            yield Way(node, node, name)
        inner_caught, inner_all = caught, all_caught
        if isinstance(node, ast.Try) and node.handlers:
            inner_caught, inner_all = True, all_caught or any(_catches_all(handler) for handler in node.handlers)
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            inner_caught = inner_all = True  # contextlib.suppress, pytest.raises
        yield from ways(getattr(node, "body", []), inner_caught, inner_all)
        for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            yield from ways(part.body, caught, all_caught)
        for name in ("orelse", "finalbody"):
            yield from ways(getattr(node, name, []), caught, all_caught)


def _catches_all(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    return any(isinstance(node, ast.Name) and node.id in _ALL for node in ast.walk(handler.type))
