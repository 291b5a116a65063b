"""DFT307: a start of tracing whose failure nobody hears of."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import ClassVar

from dfannotate.names import dotted
from dfannotate.rules import Case, Finding, Module, Rule
from dfannotate.rules.lifecycles import initializes
from dfannotate.usage import CallUse

_IMPORT = "from dftracer.python import dftracer\n"
_ALL = frozenset({"Exception", "BaseException"})


class SwallowedInitialize(Rule):
    """``except Exception: pass`` around the start of tracing turns a wrong argument, a directory that cannot be written
    to, or two releases that do not go together into a run without a trace, found out when it is over. Let it raise, or
    say what happened."""

    CODE: ClassVar[str] = "DFT307"
    NAME: ClassVar[str] = "swallowed-initialize"
    MESSAGE: ClassVar[str] = "why tracing does not start is swallowed here, and the run has no trace; report it"

    def check(self, module: Module) -> Iterator[Finding]:
        seen: set[int] = set()
        for use in initializes(module):
            node = _swallowing(use)
            if node is not None and id(node) not in seen:
                seen.add(id(node))
                yield self.finding(module, node)

    VALID: ClassVar[tuple[Case, ...]] = (
        Case("said", _IMPORT + "try:\n    dftracer.initialize_log()\nexcept Exception as error:\n    print(error)\n"),
        Case(
            "not-installed",
            "try:\n    from dftracer.python import dftracer\n    dftracer.initialize_log()\n"
            "except ImportError:\n    pass\n",
        ),
        Case(
            "other-object",
            "from logs import dftracer\ntry:\n    dftracer.initialize_log()\nexcept Exception:\n    pass\n",
        ),
        Case(
            "in-what-is-defined",
            _IMPORT + "try:\n    def f():\n        dftracer.initialize_log()\nexcept Exception:\n    pass\n",
        ),
    )
    INVALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "pass",
            _IMPORT + "try:\n    log = dftracer.initialize_log()\nexcept Exception:\n    pass\n",
            ((4, 1),),
        ),
        Case(
            "suppress",
            "import contextlib\nimport dftracer.python as d\nwith contextlib.suppress(OSError, Exception):\n"
            "    d.dftracer.initialize_log()\n",
            ((3, 6),),
        ),
        Case(
            "bare",
            _IMPORT + "def f():\n    try:\n        if True:\n            return dftracer.initialize_log()\n"
            "    except:\n        ...\n",
            ((6, 5),),
        ),
    )


def _swallowing(use: CallUse) -> ast.AST | None:
    """The handler that takes any error of the call and says nothing."""
    inner: ast.AST = use.node
    for node in reversed(use.ancestors):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            return None
        if isinstance(node, ast.Try) and inner in node.body:
            for handler in node.handlers:
                if _takes_all(handler.type):
                    return handler if all(_is_silent(statement) for statement in handler.body) else None
        elif isinstance(node, ast.With) and inner in node.body:
            for item in node.items:
                call = item.context_expr
                suppresses = isinstance(call, ast.Call) and dotted(call.func).rpartition(".")[2] == "suppress"
                if isinstance(call, ast.Call) and suppresses and any(map(_takes_all, call.args)):
                    return call
        inner = node
    return None


def _takes_all(node: ast.expr | None) -> bool:
    if node is None:
        return True
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    return any(isinstance(part, ast.Name) and part.id in _ALL for part in parts)


def _is_silent(node: ast.stmt) -> bool:
    return isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
