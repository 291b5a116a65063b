"""What workers are given to run, moved to the top level of its module, where it can be pickled."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from dfannotate.edits import Splice
from dfannotate.rules import Fix, Module
from dfannotate.rules.repairs import is_alone, replace
from dfannotate.rules.worker_calls import Made
from dfannotate.usage import Function

_NAME = "start_worker_trace"


def _locals_around(made: Made) -> set[str]:
    """The names of the functions around a call."""
    names: set[str] = set()
    for scope in made.ancestors:
        if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            for node in ast.walk(scope):
                if isinstance(node, ast.arg):
                    names.add(node.arg)
                elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                    names.add(node.id)
                elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node is not scope:
                    names.add(node.name)
                elif isinstance(node, (ast.Import, ast.ImportFrom)):
                    names |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
                elif isinstance(node, ast.ExceptHandler) and node.name:
                    names.add(node.name)
    return names


def _needs(made: Made, node: ast.AST, own: set[str]) -> bool:
    """Whether a part of the program needs something of the functions around it."""
    used = {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)}
    return not (used - own).isdisjoint(_locals_around(made))


def _top(module: Module, made: Made) -> tuple[ast.stmt, int] | None:
    """The statement of the module around a call, and the line where it begins, decorators included."""
    top = made.ancestors[1]
    if not isinstance(top, ast.stmt):
        return None
    line = min([top.lineno, *(node.lineno for node in getattr(top, "decorator_list", []))])
    return (top, line) if is_alone(module, top) else None


def hoisted(module: Module, made: Made, given: ast.Lambda) -> Fix | None:
    """A lambda as a function of the module, with its name in its place; None where it needs something around it."""
    top = _top(module, made)
    arguments = {argument.arg for argument in ast.walk(given) if isinstance(argument, ast.arg)}
    many_lines = given.end_lineno != given.lineno
    if top is None or many_lines or _needs(made, given, arguments):
        return None
    name = next(n for n in _names() if n not in module.text)
    body = module.segment(given.body)
    head = module.segment(given)[len("lambda") :].partition(":")[0].strip()
    if given.args.defaults or given.args.kw_defaults or ":" in head:
        return None
    unit = module.source.indent_unit
    lines = (f"def {name}({head}):", f"{unit}return {body}", "", "")
    return Fix((Splice(top[1], top[1], lines), replace(module, given, name)))


def _names() -> Iterator[str]:
    yield _NAME
    yield from (f"{_NAME}_{n}" for n in itertools.count(2))


def moved_up(module: Module, made: Made, function: Function) -> Fix | None:
    """A function that is defined in another, moved above that; None where it needs something of it."""
    top = _top(module, made)
    own = {argument.arg for argument in ast.walk(function.args) if isinstance(argument, ast.arg)}
    own |= {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    taken = {getattr(node, "name", "") for node in module.tree.body}
    if top is None or function.decorator_list or not is_alone(module, function) or function.name in taken:
        return None
    if _needs(made, function, own) or any(isinstance(n, (ast.Nonlocal, ast.Global)) for n in ast.walk(function)):
        return None
    if any(isinstance(n, (ast.Constant, ast.JoinedStr)) and n.end_lineno != n.lineno for n in ast.walk(function)):
        return None
    first, last = function.lineno, function.end_lineno or function.lineno
    texts = [line.rstrip("\r\n") for line in module.lines[first - 1 : last]]
    indent = texts[0][: len(texts[0]) - len(texts[0].lstrip())]
    if any(text.strip() and not text.startswith(indent) for text in texts):
        return None
    if len([n for n in _block_of(made, function) if n is not function]) == 0:
        return None
    moved = tuple(text[len(indent) :] for text in texts)
    return Fix((Splice(first, last + 1), Splice(top[1], top[1], (*moved, "", ""))))


def _block_of(made: Made, function: Function) -> list[ast.stmt]:
    for scope in made.ancestors:
        body = getattr(scope, "body", None)
        if isinstance(body, list) and function in body:
            return body
    return []
