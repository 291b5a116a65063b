"""What rules ask about functions with decorators of the tracer: what else decorates them, and in which order."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dfannotate import vocabulary
from dfannotate.edits import Splice
from dfannotate.names import UNNAMED, dotted, resolve
from dfannotate.rules import Fix, Module
from dfannotate.rules.repairs import decorator_has_lines
from dfannotate.usage import Decoration, Function

HANDS_ON = frozenset(
    {"abc.abstractmethod", "functools.wraps", "functools.update_wrapper", "typing.final", "typing.override"}
    | {"typing_extensions.final", "typing_extensions.override", "typing_extensions.deprecated", "warnings.deprecated"}
)
"""Decorators that give back the very function they are given, or one of the same kind."""


def is_function(node: ast.AST) -> bool:
    return isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))


def of_functions(module: Module) -> Iterator[tuple[Decoration, Function]]:
    """The decorators ``@x.log``, ``@x.log_init`` and ``@x.log_static`` of functions."""
    for decoration in module.usage.decorations:
        node = decoration.function
        if decoration.method and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield decoration, node


def in_class(decoration: Decoration) -> bool:
    """Whether the function is a method, and not one that stands in some function."""
    scopes = decoration.scopes
    return bool(scopes) and isinstance(scopes[-1], ast.ClassDef)


def name_of(module: Module, node: ast.expr) -> str:
    """What a decorator is, resolved through the module's imports; that of its callee for ``@retry(3)``."""
    while isinstance(node, ast.Call):
        node = node.func
    name = dotted(node)
    if not name:
        return UNNAMED
    resolved = resolve(name, module.facts.import_map())
    return UNNAMED if resolved == name and "." not in name and _is_bound(module, name) else resolved


def _is_bound(module: Module, name: str) -> bool:
    """Whether the module gives a name, which is one of Python's own, another meaning."""
    pattern = rf"\b(?:def|class|as)\s+{name}\b|^\s*{name}\s*=[^=]|\bimport\b.*\b{name}\b"
    return re.search(pattern, module.text, re.M) is not None


def below(module: Module, decoration: Decoration) -> list[tuple[ast.expr, str]]:
    """The decorators under this one, which are applied before it, resolved; the lowest last."""
    nodes = decoration.function.decorator_list[decoration.index + 1 :]
    return [(node, name_of(module, node)) for node in nodes]


def is_of_tracer(module: Module, decoration: Decoration, node: ast.expr) -> bool:
    """Whether another decorator of the same function is one of the tracer's too."""
    return any(other.node is node for other in module.usage.decorations if other.function is decoration.function)


def is_plain(module: Module, decoration: Decoration) -> bool:
    """Whether what is decorated is the function as it was defined: nothing under this decorator makes another object
    of it."""
    return all(name in HANDS_ON or is_of_tracer(module, decoration, node) for node, name in below(module, decoration))


def moved_below(module: Module, decoration: Decoration, other: ast.expr) -> Fix | None:
    """The decorator's lines go under those of ``other``; None where either does not have its lines to itself."""
    first, _, last, _ = module.position(decoration.node)
    end = module.position(other)[2]
    if not (decorator_has_lines(module, decoration.node) and decorator_has_lines(module, other)):
        return None
    lines = tuple(line.rstrip("\r\n") for line in module.lines[first - 1 : last])
    return Fix((Splice(first, last + 1), Splice(end + 1, end + 1, lines)))


def spelled(module: Module, decoration: Decoration) -> str:
    """The decorator as a message shows it: ``@x.log``, without its arguments."""
    node: ast.expr = decoration.node
    while isinstance(node, ast.Call):
        node = node.func
    return "@" + (dotted(node) or decoration.method)


def is_ready_made(decoration: Decoration) -> bool:
    """Whether it is an object of the tracer's that decorates by itself (``@ai.compute.forward``)."""
    head = decoration.role.removeprefix("api:").partition(".")[0]
    return decoration.role.startswith("api:") and (head in vocabulary.READY_MADE)


def own_yields(function: Function) -> bool:
    """Whether the function is a generator."""
    stack: list[ast.AST] = list(function.body)
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            return True
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            stack.extend(ast.iter_child_nodes(node))
    return False
