"""Import statements of the tracer as text: where the module stands in one, and what else the program tries."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from dfannotate import vocabulary
from dfannotate.edits import Rewrite
from dfannotate.rules import Module
from dfannotate.usage import ImportUse

Place = tuple[int, int, int, int]
"""Line, column, end line, end column; lines 1-based, columns 0-based and in characters."""

_FROM = re.compile(r"from(?:[ \t\f]|\\\r?\n)+(?P<module>[\w.]+)")
_BRANCHES = ("body", "orelse", "finalbody", "handlers", "cases")


def module_place(module: Module, node: ast.ImportFrom) -> Place | None:
    """Where the module's name stands in ``from MODULE import …``; None where it is not written in one piece."""
    line, column, _, _ = module.position(node)
    text = module.segment(node)
    found = _FROM.match(text)
    if found is None or found["module"] != node.module:
        return None
    before = text[: found.start("module")]
    skipped = before.count("\n")
    begin = len(before) - before.rfind("\n") - 1 if skipped else column + len(before)
    return line + skipped, begin, line + skipped, begin + len(found["module"])


def name_place(module: Module, alias: ast.alias) -> Place:
    """Where the name stands in ``name as local``."""
    line, column, _, _ = module.position(alias)
    return line, column, line, column + len(alias.name)


def rename_imported(module: Module, alias: ast.alias, name: str) -> Rewrite:
    """Another name is imported, under the local name that was there."""
    return Rewrite(*name_place(module, alias), name if alias.asname else f"{name} as {alias.name}")


def is_current(imported: str, generation: vocabulary.Generation) -> bool:
    """Whether a module of the tracer is there in the releases that are written for."""
    return imported == generation.module or imported.startswith(f"{generation.module}.")


def has_alternative(module: Module, use: ImportUse) -> bool:
    """Whether another branch of the same ``try`` or ``if`` imports from where the names are now: then the older
    spelling is there on purpose."""
    return any(
        other.node is not use.node
        and not other.handed_on
        and is_current(other.module, module.generation)
        and _are_apart((*use.ancestors, use.node), (*other.ancestors, other.node))
        for other in module.usage.imports
    )


def _are_apart(one: Sequence[ast.AST], other: Sequence[ast.AST]) -> bool:
    """Whether two statements, given with all that is around them, stand in different branches of one statement."""
    depth = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a is not b), 0)
    around = one[depth - 1]
    if not isinstance(around, (ast.Try, ast.If, ast.Match)):
        return False
    return _branch(around, one[depth]) != _branch(around, other[depth]) or isinstance(one[depth], ast.match_case)


def _branch(node: ast.AST, child: ast.AST) -> str:
    return next(name for name in _BRANCHES if any(part is child for part in getattr(node, name, ())))
