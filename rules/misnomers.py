"""Names that the tracer does not have, and how what was meant is written."""

from __future__ import annotations

import ast

from dfannotate import vocabulary
from dfannotate.edits import Edit, Rewrite
from dfannotate.rules import Fix, Module
from dfannotate.rules.imports import module_place, rename_imported
from dfannotate.rules.repairs import rename_attribute
from dfannotate.usage import Decoration, Use

_FIELDS = ("logger", "function", "enabled")


def meant_name(spelled: vocabulary.Generation, name: str) -> str:
    """What the generation calls what ``name`` means; empty where that is not certain."""
    field = vocabulary.MISTAKEN_NAMES.get(name, "")
    if field:
        return str(getattr(spelled, field))
    return name if name in (getattr(spelled, field) for field in _FIELDS) else ""


def instance_method(module: Module, node: ast.expr, name: str = "") -> Rewrite:
    """``x.old`` becomes ``x.get_instance().name``; without a name, ``x`` becomes ``x.log``."""
    _, _, line, end = module.position(node)
    if not name:
        return Rewrite(line, end, line, end, f".{vocabulary.LOG}")
    assert isinstance(node, ast.Attribute)
    return Rewrite(line, end - len(node.attr), line, end, f"{vocabulary.GET_INSTANCE}().{name}")


def means_decorator(module: Module, decoration: Decoration) -> Fix | None:
    """The method that decorates, put behind an object in its place."""
    node = decoration.node
    if isinstance(decoration.function, ast.ClassDef) or decoration.role != "instance":
        return None
    if isinstance(node, ast.Call) and module.usage.role_of(node.func, decoration.ancestors) == "function":
        named = {keyword.arg for keyword in node.keywords}
        if not node.args and named.isdisjoint({"cat", vocabulary.MISTAKEN_CATEGORY, None}):
            return None
    return Fix((instance_method(module, node),))


def from_python_module(module: Module, node: ast.ImportFrom) -> Fix | None:
    """``from dftracer import dft_fn`` with the module where its names are; None where one of them is elsewhere."""
    place = module_place(module, node)
    names = {alias.name: meant_name(module.generation, alias.name) for alias in node.names}
    if place is None or not all(names.values()):
        return None
    edits: list[Edit] = [Rewrite(*place, module.generation.module)]
    edits += [rename_imported(module, alias, name) for alias in node.names if (name := names[alias.name]) != alias.name]
    return Fix(tuple(edits))


def as_python_module(module: Module, node: ast.Attribute, use: Use) -> Fix | None:
    """``import dftracer`` as what its attributes need: the class that starts tracing, or the module that has it.

    None where they need both, or something that the package has itself."""
    package = f"module:{vocabulary.TRACER_PACKAGE}"
    imports = [one for one in module.usage.imports if one.role == package]
    if len(imports) != 1 or not isinstance(node.value, ast.Name) or node.value.id != imports[0].local:
        return None
    imported = imports[0]
    if not isinstance(imported.node, ast.Import) or len(imported.node.names) != 1 or "." in imported.alias.name:
        return None
    found = [
        (other, one.ancestors[-1])
        for one in module.usage.uses
        if isinstance(other := one.node, ast.Name) and one.role == package
    ]
    attributes = [parent for _, parent in found if isinstance(parent, ast.Attribute)]
    if len(attributes) != len(found):
        return None
    line, column, end_line, end_column = module.position(imported.node)
    new, local = module.generation.module, imported.local
    if all(attribute.attr in vocabulary.LOGGER_METHODS for attribute in attributes):
        logger = module.generation.logger
        text = f"from {new} import {logger if logger == local else f'{logger} as {local}'}"
        return Fix((Rewrite(line, column, end_line, end_column, text),))
    edits: list[Edit] = [Rewrite(line, column, end_line, end_column, f"import {new} as {local}")]
    for attribute in attributes:
        name = meant_name(module.generation, attribute.attr)
        if not name:
            return None
        if name != attribute.attr:
            edits.append(rename_attribute(module, attribute, name))
    return Fix(tuple(edits))
