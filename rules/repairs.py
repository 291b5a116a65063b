"""Edits that several rules make: the text of an expression, a decorator's place, a body that becomes a region."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING

from dfannotate import vocabulary
from dfannotate.edits import Edit, Indent, Rewrite, Splice
from dfannotate.rules import Fix, Module
from dfannotate.usage import Decoration

if TYPE_CHECKING:
    from dfannotate.facts import FunctionFacts


def replace(module: Module, node: ast.AST, text: str) -> Rewrite:
    """The text of ``node`` becomes ``text`` (without newlines)."""
    return Rewrite(*module.position(node), text)


def rename_attribute(module: Module, node: ast.Attribute, name: str) -> Rewrite:
    """``x.old`` becomes ``x.name``."""
    _, _, line, end = module.position(node)
    return Rewrite(line, end - len(node.attr), line, end, name)


def rename_keyword(module: Module, keyword: ast.keyword, name: str) -> Rewrite:
    """``old=value`` becomes ``name=value``."""
    assert keyword.arg is not None
    line, column, _, _ = module.position(keyword)
    return Rewrite(line, column, line, column + len(keyword.arg), name)


def insert_before(module: Module, node: ast.AST, text: str, rank: int = 0) -> Rewrite:
    line, column, _, _ = module.position(node)
    return Rewrite(line, column, line, column, text, rank)


def stands_alone(module: Module, node: ast.AST) -> bool:
    """Whether a decorator or simple statement has its lines to itself, comments behind it apart."""
    line, column, end_line, end_column = module.position(node)
    is_joined = line > 1 and module.lines[line - 2].rstrip("\r\n").endswith("\\")
    before, after = module.lines[line - 1][:column], module.lines[end_line - 1][end_column:].strip()
    return before.strip(" \t\f@") == "" and (not after or after.startswith("#")) and not is_joined


def decorator_has_lines(module: Module, node: ast.expr) -> bool:
    """Whether a decorator, its ``@`` with it, has its lines to itself."""
    return stands_alone(module, node) and module.lines[module.position(node)[0] - 1].lstrip(" \t\f").startswith("@")


def without_decorator(module: Module, decoration: Decoration) -> Edit | None:
    """The decorator's lines go; None where they cannot go alone."""
    line, _, end_line, _ = module.position(decoration.node)
    return Splice(line, end_line + 1) if decorator_has_lines(module, decoration.node) else None


def function_facts(module: Module, node: ast.AST) -> FunctionFacts | None:
    """What the codemods know of a ``def``."""
    line = getattr(node, "lineno", 0)
    return next((function for function in module.facts.functions if function.line == line), None)


def category_of(module: Module, decoration: Decoration) -> str | None:
    """The category of the instance that decorates, where the source shows it."""
    node: ast.expr = decoration.node
    while isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Attribute):
        node = node.value
    values: Iterable[ast.expr] = (node,)
    if isinstance(node, ast.Name):
        values = module.usage.value_of(node.id, decoration.ancestors)
    found = set()
    for value in values:
        if isinstance(value, ast.Call):
            given = [*value.args[:1], *(k.value for k in value.keywords if k.arg == "cat")]
            if given and isinstance(given[0], ast.Constant) and isinstance(given[0].value, str):
                found.add(given[0].value)
    return found.pop() if len(found) == 1 else None


def into_region(module: Module, decoration: Decoration) -> Fix | None:
    """The decorator becomes a region around the body, with the category and the name of the event that it had.

    None where the body cannot move, or the category cannot be told."""
    from dfannotate.shapes import region_line

    function = function_facts(module, decoration.function)
    category = category_of(module, decoration)
    gone = without_decorator(module, decoration)
    if function is None or function.block is None or not function.block.movable or category is None or gone is None:
        return None
    block = function.block
    line = block.prefix + region_line(module.names, category, event_name(decoration) or function.qualname)
    unit = module.facts.indent_unit
    inside = Indent(block.first, block.last, block.prefix, unit, (line,), (), block.broken)
    return Fix((gone, inside), frozenset({"function"}), function.line)


def event_name(decoration: Decoration) -> str:
    """The name that the decorator gives the event by itself (``name=``); empty without."""
    if isinstance(decoration.node, ast.Call):
        for keyword in decoration.node.keywords:
            if (
                keyword.arg == "name"
                and isinstance(keyword.value, ast.Constant)
                and isinstance(keyword.value.value, str)
            ):
                return keyword.value.value
    return ""


def with_method(module: Module, decoration: Decoration, method: str) -> Fix | None:
    """``@x.log`` becomes ``@x.<method>``."""
    assert method in vocabulary.DECORATORS
    node: ast.expr = decoration.node
    while isinstance(node, ast.Call):
        node = node.func
    if not isinstance(node, ast.Attribute):
        return None
    return Fix((rename_attribute(module, node, method),))


def is_alone(module: Module, statement: ast.stmt) -> bool:
    """Whether a statement has its lines to itself, so that another can be put before or behind it."""
    return stands_alone(module, statement) and module.lines[module.position(statement)[2] - 1].endswith(("\n", "\r"))


def indent_of(module: Module, statement: ast.stmt) -> str:
    """What stands before a statement on its line."""
    line, column, _, _ = module.position(statement)
    return module.lines[line - 1][:column]
