"""DFT504: a manual event whose errors nobody sees."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Sequence
from typing import ClassVar

from dfannotate import vocabulary
from dfannotate.rules import Case, Finding, Module, Rule
from dfannotate.rules.event_calls import event_calls
from dfannotate.rules.values import Values
from dfannotate.usage import Scope

_BROAD = frozenset({"Exception", "BaseException", "TypeError", "RuntimeError"})
_HARMLESS = frozenset({vocabulary.GET_TIME, "value", "time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic"})
_HEAD = "from dftracer.python import dftracer\nlog = dftracer.get_instance()\n"


class SwallowedEvent(Rule):
    """``try: log.log_event(…)`` with ``except Exception: pass``: an argument of the wrong type raises ``TypeError``
    whenever tracing is on, and the event is missing from the trace without a word.

    Reported where the block does nothing but log, and the handler nothing at all; ``contextlib.suppress`` alike."""

    CODE: ClassVar[str] = "DFT504"
    NAME: ClassVar[str] = "swallowed-event"
    MESSAGE: ClassVar[str] = "an event that the tracer refuses is lost without a word; say so, or let it raise"

    def check(self, module: Module) -> Iterator[Finding]:
        values = Values(module)
        seen: set[ast.AST] = set()
        for call in event_calls(module):
            inner: ast.AST = call.use.node
            for node in reversed(call.use.ancestors):
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
                    break
                if isinstance(node, ast.Try) and any(part is inner for part in node.body):
                    handler = next((one for one in node.handlers if _is_broad(one.type)), None)
                    if handler and _is_silent(handler.body) and _only_logs(node.body) and handler not in seen:
                        seen.add(handler)
                        yield self.finding_at(module.path, _head(module, handler))
                    if handler:
                        break
                if isinstance(node, ast.With) and _only_logs(node.body):
                    for item in node.items:
                        if _suppresses(values, item, call.scopes) and item not in seen:
                            seen.add(item)
                            yield self.finding(module, item.context_expr)
                inner = node

    VALID: ClassVar[tuple[Case, ...]] = (
        Case("said", f"{_HEAD}try:\n    log.log_event('n', 'C', 1, 2)\nexcept Exception as error:\n    warn(error)\n"),
        Case("narrow", f"{_HEAD}try:\n    log.log_event('n', 'C', 1, 2)\nexcept AttributeError:\n    pass\n"),
        Case(
            "work-around-it",
            f"{_HEAD}try:\n    send(data)\n    log.log_event('n', 'C', 1, 2)\nexcept Exception:\n    pass\n",
        ),
        Case(
            "other-log", "from dftracer.python import ai\ntry:\n    log.log_event('n')\nexcept Exception:\n    pass\n"
        ),
        Case(
            "work-whose-result-is-logged",
            f"{_HEAD}try:\n    n = send(data)\n    log.log_event('n', 'C', 1, n)\nexcept Exception:\n    pass\n",
        ),
        Case("raised-on", f"{_HEAD}try:\n    log.log_event('n', 'C', 1, 2)\nfinally:\n    log.exit_event()\n"),
        Case(
            "in-the-handler",
            f"{_HEAD}try:\n    send()\nexcept Exception:\n    log.log_event('failed', 'C', 1, 2)\n",
        ),
    )
    INVALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "try",
            f"{_HEAD}def f():\n    try:\n        given = {{'n': (0, 1)}}\n        log.enter_event()\n"
            "        log.log_event('n', 'C', 1, 2, given)\n        log.exit_event()\n    except Exception:\n"
            "        pass\n",
            ((9, 5),),
        ),
        Case(
            "bare-except-behind-gate",
            f"{_HEAD}try:\n    if log:\n        dftracer.get_instance().log_event('n', 'C', 1, 2)\n"
            "except:  # noqa: E722\n    ...\n",
            ((6, 1),),
        ),
        Case(
            "suppress",
            f"{_HEAD}import contextlib\nwith contextlib.suppress(Exception):\n    log.log_event('n', 'C', 1, 2)\n",
            ((4, 6),),
        ),
    )


def _is_broad(kind: ast.expr | None) -> bool:
    if isinstance(kind, ast.Tuple):
        return any(_is_broad(one) for one in kind.elts)
    return kind is None or (isinstance(kind, ast.Name) and kind.id in _BROAD)


def _is_silent(body: list[ast.stmt]) -> bool:
    return all(
        isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        for node in body
    )


def _only_logs(body: list[ast.stmt]) -> bool:
    """Whether statements are there for the event alone: what it is given, and calls of methods with ``event``."""
    for node in body:
        if isinstance(node, ast.If):
            if not _only_logs([*node.body, *node.orelse]):
                return False
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            called = node.value.func
            if not (
                isinstance(called, (ast.Attribute, ast.Name)) and "event" in ast.unparse(called).rpartition(".")[2]
            ):
                return False
        elif not isinstance(node, (ast.Assign, ast.AnnAssign, ast.Pass)) or _works(node):
            return False
    return True


def _works(node: ast.stmt) -> bool:
    """Whether an assignment calls something of the program's own."""
    for part in ast.walk(node):
        if isinstance(part, (ast.Await, ast.Yield, ast.YieldFrom)):
            return True
        if isinstance(part, ast.Call):
            called = part.func
            name = (
                called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
            )
            if name not in _HARMLESS and not (isinstance(called, ast.Name) and hasattr(builtins, name)):
                return True
    return False


def _suppresses(values: Values, item: ast.withitem, scopes: Sequence[Scope]) -> bool:
    call = item.context_expr
    if not isinstance(call, ast.Call) or values.dotted(call.func, scopes) != "contextlib.suppress":
        return False
    return any(_is_broad(kind) for kind in call.args)


def _head(module: Module, handler: ast.ExceptHandler) -> tuple[int, int, int, int]:
    """``except KIND``, without its body."""
    line, column, _, _ = module.position(handler)
    if handler.type is None:
        return line, column + 1, line, column + 1 + len("except")
    _, _, end_line, end_column = module.position(handler.type)
    return line, column + 1, end_line, end_column + 1
