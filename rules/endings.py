"""The end of tracing, written behind its start."""

from __future__ import annotations

import ast

from dfannotate import vocabulary
from dfannotate.edits import Splice
from dfannotate.rules import Fix, Module
from dfannotate.rules.lifecycles import Start
from dfannotate.rules.repairs import indent_of, is_alone


def log_expression(module: Module, start: Start) -> str:
    """The object that a start gives, as it can be written behind it."""
    if start.name:
        return start.name
    owner = start.use.call.func
    assert isinstance(owner, ast.Attribute)
    text = module.segment(owner.value)
    return text if start.use.role.startswith("log.") else f"{text}.{vocabulary.GET_INSTANCE}()"


def finalize_at_exit(module: Module, start: Start) -> Fix | None:
    """Behind the start, what finalizes when the process ends, in whatever way Python does that itself."""
    if not is_alone(module, start.statement):
        return None
    own = _atexit(module, start)
    name = own or module.names.atexit
    line = f"{indent_of(module, start.statement)}{name}.register({log_expression(module, start)}.{vocabulary.FINALIZE})"
    end = module.position(start.statement)[2]
    first_use = 0 if start.use.function is not None else start.statement.lineno
    needs = frozenset() if own else frozenset({"atexit"})
    return Fix((Splice(end + 1, end + 1, (line,)),), needs, first_use)


def _atexit(module: Module, start: Start) -> str:
    """The file's own name for ``atexit``, imported at its top above the start."""
    for node in module.tree.body:
        if node.lineno >= start.statement.lineno:
            return ""
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == "atexit":
                    return alias.asname or alias.name
    return ""
