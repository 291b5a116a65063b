"""Names as they stand in the source: dotted, and as the imports say what they are."""

from __future__ import annotations

import ast
from collections.abc import Mapping

UNNAMED = "?"
"""Stands for a callee, decorator or base that is no name."""


def dotted(node: ast.expr) -> str:
    """``a.b.c`` for names and attributes; ``.c`` where the object is no plain name; ``""`` for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(node.id)
        return ".".join(reversed(parts))
    return "." + parts[0] if parts else ""


def resolve(name: str, imports: Mapping[str, str]) -> str:
    """A dotted name with its first part replaced by what the imports say it is."""
    head, dot, rest = name.partition(".")
    target = imports.get(head)
    return name if target is None else target + dot + rest


def is_dunder(name: str) -> bool:
    """Whether a name is one of Python's own, like ``__init__``."""
    return name.startswith("__") and name.endswith("__") and len(name) > 4


def is_main_guard(test: ast.expr) -> bool:
    """Whether a condition holds only in the program's main module: the comparison itself, or an ``and`` with it."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return any(is_main_guard(value) for value in test.values)
    if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq)):
        return False
    sides = (test.left, test.comparators[0])
    names = [side.id for side in sides if isinstance(side, ast.Name)]
    values = [side.value for side in sides if isinstance(side, ast.Constant)]
    return names == ["__name__"] and values == ["__main__"]
