"""What an annotation looks like: the text that is written, and the same shapes known again in a tree.

Writing and recognising stand side by side so that they cannot drift: the self-check of a rewritten file takes the
annotations out of its tree by ``strip`` and must be left with the old program, and ``revert`` finds by the same
functions what has to go from a file that was edited since.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Collection
from dataclasses import dataclass

from dfannotate import vocabulary
from dfannotate.facts import ModuleFacts


@dataclass(frozen=True)
class Names:
    """The local names of one file: those it had, or the ones chosen so that they meet no other."""

    logger: str = vocabulary.LOGGER
    function: str = vocabulary.FUNCTION_ALIAS
    enabled: str = vocabulary.ENABLED
    instance: str = vocabulary.INSTANCE_ALIAS
    log: str = vocabulary.LOG_ALIAS
    atexit: str = "atexit"


_EXPORTED = {"logger": vocabulary.LOGGER, "function": vocabulary.FUNCTION, "enabled": vocabulary.ENABLED}
"""Field of ``Names`` -> what the tracer's module calls it, in the order of the import line."""


def choose_names(facts: ModuleFacts) -> Names:
    """Names for a file: its own where it imports the tracer already, else the usual ones, else a free variant."""
    own = facts.tracer

    def free(wanted: str) -> str:
        private = f"_{wanted.lstrip('_')}"
        numbered = (f"{private}_{n}" for n in itertools.count(2))
        return next(name for name in itertools.chain((wanted, private), numbered) if name not in facts.taken)

    return Names(
        logger=own.logger or free(vocabulary.LOGGER),
        function=own.function or free(vocabulary.FUNCTION_ALIAS),
        enabled=own.enabled or free(vocabulary.ENABLED),
        instance=own.instance or free(vocabulary.INSTANCE_ALIAS),
        log=free(vocabulary.LOG_ALIAS),
        # Where the file imports atexit itself, it may do so late, in a function, or under a condition.
        atexit=free("atexit"),
    )


# --- writing ----------------------------------------------------------------------------------------------------------


def import_line(names: Names, fields: Collection[str]) -> str:
    """The import of the named ``fields`` (``logger``, ``function``, ``enabled``) from the tracer."""
    parts = [
        exported if (local := getattr(names, field)) == exported else f"{exported} as {local}"
        for field, exported in _EXPORTED.items()
        if field in fields
    ]
    return f"from {vocabulary.MODULE} import {', '.join(parts)}"


def atexit_line(names: Names) -> str:
    return "import atexit" if names.atexit == "atexit" else f"import atexit as {names.atexit}"


def instance_line(names: Names, category: str) -> str:
    plain = category.isascii() and category.isprintable() and not set(category) & {'"', "\\"}
    text = f'"{category}"' if plain else ascii(category)  # whatever the file's encoding, it holds ASCII
    return f"{names.instance} = {names.function}({text})"


def decorator_line(names: Names, method: str) -> str:
    return f"@{names.instance}.{method}"


def start_lines(names: Names, indent: str) -> tuple[str, ...]:
    """Tracing starts here; nothing happens with tracing off, where the tracer would still open a log file."""
    start = f"{names.log} = {names.logger}.{vocabulary.INITIALIZE}({vocabulary.INITIALIZE_ARGUMENTS})"
    return f"if {names.enabled}:", f"{indent}{start}"


def start_once_lines(names: Names, indent: str) -> tuple[str, ...]:
    """Tracing starts at the first pass and is finalized when the process ends: for code that runs many times."""
    condition = f"{names.enabled} and {names.logger}.{vocabulary.GET_INSTANCE}().logger is None"
    start = start_lines(names, indent)[1]
    return f"if {condition}:", start, f"{indent}{names.atexit}.register({names.log}.{vocabulary.FINALIZE})"


def finish_lines(names: Names, indent: str) -> tuple[str, ...]:
    return f"if {names.enabled}:", f"{indent}{names.log}.{vocabulary.FINALIZE}()"


def finish_now_line(names: Names) -> str:
    """Finalizes whatever was started, wherever: for the place before ``MPI.Finalize()``."""
    return f"{names.logger}.{vocabulary.GET_INSTANCE}().{vocabulary.FINALIZE}()"


# --- recognising ------------------------------------------------------------------------------------------------------


def is_decorator(node: ast.expr, names: Names) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and node.attr in vocabulary.DECORATORS
        and isinstance(node.value, ast.Name)
        and node.value.id == names.instance
    )


def is_import(node: ast.stmt, names: Names) -> bool:
    """An import of the tracer that binds nothing but names of ours, or ours of ``atexit``."""
    if isinstance(node, ast.ImportFrom):
        ours = {(exported, getattr(names, field)) for field, exported in _EXPORTED.items()}
        return node.module == vocabulary.MODULE and all((a.name, a.asname or a.name) in ours for a in node.names)
    if isinstance(node, ast.Import) and len(node.names) == 1:
        alias = node.names[0]
        return alias.name == "atexit" and (alias.asname or alias.name) == names.atexit
    return False


def is_instance(node: ast.stmt, names: Names) -> bool:
    return (
        isinstance(node, ast.Assign)
        and len(node.targets) == 1
        and _is_name(node.targets[0], names.instance)
        and isinstance(node.value, ast.Call)
        and _is_name(node.value.func, names.function)
    )


def is_start(node: ast.stmt, names: Names) -> bool:
    """Either form of the start: ``start_lines`` or ``start_once_lines``."""
    if not (isinstance(node, ast.If) and not node.orelse and 1 <= len(node.body) <= 2):
        return False
    condition = node.test.values[0] if isinstance(node.test, ast.BoolOp) else node.test
    first, rest = node.body[0], node.body[1:]
    return (
        _is_name(condition, names.enabled)
        and isinstance(first, ast.Assign)
        and _is_name(first.targets[0], names.log)
        and isinstance(first.value, ast.Call)
        and isinstance(first.value.func, ast.Attribute)
        and first.value.func.attr == vocabulary.INITIALIZE
        and all(_registers_finalize(statement, names) for statement in rest)
    )


def is_finish(node: ast.stmt, names: Names) -> bool:
    if not (
        isinstance(node, ast.If) and not node.orelse and len(node.body) == 1 and _is_name(node.test, names.enabled)
    ):
        return False
    call = node.body[0].value if isinstance(node.body[0], ast.Expr) else None
    return isinstance(call, ast.Call) and _is_finalize(call.func, names)


def is_finish_now(node: ast.stmt, names: Names) -> bool:
    if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        return False
    return ast.unparse(node.value) == finish_now_line(names)


def is_finishing_try(node: ast.stmt, names: Names) -> bool:
    """The ``try: … finally:`` around a program's body that does nothing but finalize."""
    return (
        isinstance(node, ast.Try)
        and not node.handlers
        and not node.orelse
        and len(node.finalbody) == 1
        and is_finish(node.finalbody[0], names)
    )


def is_inserted_statement(node: ast.stmt, names: Names) -> bool:
    """Whether a whole statement is an annotation."""
    return (
        is_import(node, names)
        or is_instance(node, names)
        or is_start(node, names)
        or is_finish(node, names)
        or is_finish_now(node, names)
    )


def strip(tree: ast.Module, names: Names, on_line: Callable[[int], bool]) -> list[int]:
    """Take the annotations that begin on the given lines out of ``tree``, in place; the lines of every ``def`` there,
    in no particular order."""
    functions: list[int] = []
    stack: list[list[ast.stmt]] = [tree.body]
    while stack:
        body = stack.pop()
        kept: list[ast.stmt] = []
        pending = list(reversed(body))
        while pending:
            node = pending.pop()
            if on_line(node.lineno) and is_inserted_statement(node, names):
                continue
            if on_line(node.lineno) and isinstance(node, ast.Try) and is_finishing_try(node, names):
                pending.extend(reversed(node.body))
                continue
            kept.append(node)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                functions.append(node.lineno)
            decorators: list[ast.expr] = getattr(node, "decorator_list", [])
            if decorators:
                decorators[:] = [d for d in decorators if not (on_line(d.lineno) and is_decorator(d, names))]
            for field in ("body", "orelse", "finalbody"):
                inner = getattr(node, field, None)
                if inner:
                    stack.append(inner)
            for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
                stack.append(part.body)
        body[:] = kept
    return functions


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _is_finalize(node: ast.expr, names: Names) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == vocabulary.FINALIZE and _is_name(node.value, names.log)


def _registers_finalize(node: ast.stmt, names: Names) -> bool:
    call = node.value if isinstance(node, ast.Expr) else None
    return (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == "register"
        and _is_name(call.func.value, names.atexit)
        and len(call.args) == 1
        and _is_finalize(call.args[0], names)
    )
