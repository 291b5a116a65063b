"""An import of the tracer, and what is reached through it, with another module in its place."""

from __future__ import annotations

import ast
import re

from dfannotate import vocabulary
from dfannotate.edits import Edit, Rewrite
from dfannotate.rules import Module
from dfannotate.rules.imports import is_current, module_place, rename_imported
from dfannotate.rules.repairs import rename_attribute, replace
from dfannotate.usage import ImportUse


def reached(use: ImportUse) -> str:
    """The module that an import reaches: ``from dftracer import logger`` reaches ``dftracer.logger``."""
    whole = f"{use.module}.{use.name}"
    return whole if use.role == f"module:{whole}" else use.module


def _renamed(imported: str, name: str, new: str) -> str | None:
    """What ``name`` of an old module is called in the module ``new``; None where that is not known to have it."""
    spelled, now = vocabulary.api_of(imported), vocabulary.generation_of_module(new)
    for field in ("logger", "function", "enabled"):
        if spelled is not None and getattr(spelled, field) == name:
            return str(getattr(now, field))
    known = vocabulary.exported_names(new) | (vocabulary.HANDED_ON if is_current(new, vocabulary.CURRENT) else set())
    return name if name in known else None


def from_module(module: Module, node: ast.ImportFrom, new: str) -> list[Edit] | None:
    imported = node.module or ""
    edits: list[Edit] = []
    for alias in node.names:
        if alias.name == "*":
            if vocabulary.api_of(imported) is vocabulary.GENERATIONS[0] or _star_brings_more(module, imported, new):
                return None
            continue
        name = _renamed(imported, alias.name, new)
        if name is None:
            return None
        if name != alias.name:
            edits.append(rename_imported(module, alias, name))
    return edits


def _star_brings_more(module: Module, imported: str, new: str) -> bool:
    """Whether ``import *`` from the new place might bind a name that is the program's own."""
    more = vocabulary.exported_names(new) - vocabulary.exported_names(imported)
    return re.search(rf"\b(?:{'|'.join(sorted(more))})\b", module.text) is not None


def plain_import(module: Module, use: ImportUse, new: str) -> list[Edit] | None:
    """``import a.b as c``, or ``import a.b`` with every ``a.b`` in the file."""
    if vocabulary.api_of(use.module) is None or use.module not in vocabulary.MOVED_MODULES:
        return None
    edits = _attributes(module, use.module, new)
    line, column, _, _ = module.position(use.alias)
    if edits is None:
        return None
    if not use.alias.asname:
        package = new.partition(".")[0]
        if package != use.local and re.search(rf"\b{package}\b", module.text):
            return None  # what is called so may be something else
        whole = [found.node for found in module.usage.uses if found.role == f"module:{use.module}"]
        edits += [replace(module, node, new) for node in whole if isinstance(node, ast.Attribute)]
    return [Rewrite(line, column, line, column + len(use.module), new), *edits]


def submodule_import(module: Module, use: ImportUse, new: str) -> list[Edit] | None:
    """``from a import b``."""
    node = use.node
    place = module_place(module, node) if isinstance(node, ast.ImportFrom) and len(node.names) == 1 else None
    edits = _attributes(module, reached(use), new)
    if place is None or edits is None:
        return None
    package, _, name = new.rpartition(".")
    return [Rewrite(*place, package), rename_imported(module, use.alias, name), *edits]


def _attributes(module: Module, imported: str, new: str) -> list[Edit] | None:
    """The names of a module where they are its attributes; None where one of them is not known to be in ``new``."""
    edits: list[Edit] = []
    for found in module.usage.uses:
        node = found.node
        if (
            isinstance(node, ast.Attribute)
            and module.usage.role_of(node.value, found.ancestors) == f"module:{imported}"
        ):
            name = _renamed(imported, node.attr, new)
            if name is None:
                return None
            if name != node.attr:
                edits.append(rename_attribute(module, node, name))
    return edits
