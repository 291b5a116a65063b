"""DFT505: a time of a manual event that is a float."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import ClassVar

from dfannotate import vocabulary
from dfannotate.edits import Rewrite
from dfannotate.rules import Case, Finding, Fix, Module, Rule
from dfannotate.rules.event_calls import event_calls
from dfannotate.rules.repairs import replace
from dfannotate.rules.values import Values
from dfannotate.usage import Scope

_TIMES = ("start_time", "duration")
_SCALE = 1000
"""Who multiplies by this or more has turned seconds into a smaller unit."""
_HEAD = "import time\nfrom dftracer.python import dftracer\nlog = dftracer.get_instance()\n"


class EventTimeNotInt(Rule):
    """``start_time`` and ``duration`` are whole numbers in the unit of the trace; a float raises ``TypeError`` when
    tracing is on, even ``1000.0``.

    A value that is scaled already becomes ``int(…)``. One in plain seconds (``time.time()``) is reported and left: the
    unit is the trace's, which ``get_time()`` of the tracer's instance counts in."""

    CODE: ClassVar[str] = "DFT505"
    NAME: ClassVar[str] = "event-time-not-int"
    MESSAGE: ClassVar[str] = "`{argument}` is a float, which raises TypeError when tracing is on; {remedy}"
    FIXABLE: ClassVar[bool] = True

    def check(self, module: Module) -> Iterator[Finding]:
        values = Values(module)
        for call in event_calls(module):
            for argument in _TIMES:
                value = call.arguments.get(argument)
                if value is None or values.kind(value, call.scopes) != "float":
                    continue
                fix = _fix(module, values, value, call.scopes)
                remedy = "make it an int" if fix else f"count in the trace's unit: `{vocabulary.GET_TIME}()`"
                yield self.finding(module, value, fix, argument=argument, remedy=remedy)

    VALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "own-clock",
            f"{_HEAD}t = log.get_time()\nlog.log_event('n', 'C', t, max(0, log.get_time() - t))\n",
        ),
        Case("whole", f"{_HEAD}log.log_event('n', 'C', int(time.time() * 1e6), round(0.5 * 1e6))\n"),
        Case(
            "nanoseconds",
            f"{_HEAD}t = time.time_ns() // 1000\nlog.log_event('n', 'C', t, time.time_ns() // 1000 - t)\n",
        ),
        Case("not-told", f"{_HEAD}def f(start, duration):\n    log.log_event('n', 'C', start, duration * scale)\n"),
        Case("own-time", f"{_HEAD}from simulation import time\nlog.log_event('n', 'C', time.time(), 1)\n"),
        Case("other-log", f"{_HEAD}Report().log_event('n', 'C', time.time(), 1.5)\n"),
        Case(
            "two-values",
            f"{_HEAD}def f(env):\n    t = 0.0\n    if env:\n        t = env.ticks()\n"
            "    log.log_event('n', 'C', t, 1)\n",
        ),
    )
    INVALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "scaled",
            f"{_HEAD}US = 1_000_000\ndef f(env):\n    t0 = time.time() * US\n"
            "    log.log_event(name='n', cat='C', start_time=t0, duration=max(0.0, (time.time() - 1.5) * 1e6))\n"
            "    log.log_event('n', 'C', env.now * 1e6, time.time_ns() / 1000)\n"
            "    log.log_event('n', 'C', 1000.0, duration=5)\n",
            ((7, 49), (7, 62), (8, 29), (8, 44), (9, 29)),
            f"{_HEAD}US = 1_000_000\ndef f(env):\n    t0 = time.time() * US\n"
            "    log.log_event(name='n', cat='C', start_time=int(t0), "
            "duration=int(max(0.0, (time.time() - 1.5) * 1e6)))\n"
            "    log.log_event('n', 'C', int(env.now * 1e6), int(time.time_ns() / 1000))\n"
            "    log.log_event('n', 'C', 1000, duration=5)\n",
        ),
        Case(
            "seconds",
            f"{_HEAD}from time import perf_counter as now\ndef f():\n    t0 = time.time()\n    t1 = now()\n"
            "    dftracer.get_instance().log_event('n', 'C', t0, now() - t1)\n",
            ((8, 49), (8, 53)),
        ),
        Case(
            "annotated",
            f"{_HEAD}def f(start: float, n: int):\n    log.log_event('n', 'C', start, n)\n",
            ((5, 29),),
        ),
    )


def _fix(module: Module, values: Values, value: ast.expr, scopes: Sequence[Scope]) -> Fix | None:
    if isinstance(value, ast.Constant) and isinstance(value.value, float):
        whole = value.value.is_integer() and value.value >= 0
        return Fix((replace(module, value, str(int(value.value))),)) if whole else None
    if not _is_scaled(values, value, scopes) or values.bound("int", scopes):
        return None
    line, column, end_line, end_column = module.position(value)
    return Fix((Rewrite(line, column, line, column, "int("), Rewrite(end_line, end_column, end_line, end_column, ")")))


def _is_scaled(values: Values, node: ast.expr, scopes: Sequence[Scope], hops: int = 6) -> bool:
    """Whether all of a number is in a unit smaller than seconds, as far as it is not nought."""
    if hops <= 0:
        return False
    if isinstance(node, ast.Name):
        only = values.only(node.id, scopes)
        return only is not None and _is_scaled(values, only, scopes, hops - 1)
    if isinstance(node, ast.Call):
        if values.dotted(node.func, scopes) in ("max", "min", "abs") and node.args:
            others = [one for one in node.args if not (isinstance(one, ast.Constant) and one.value == 0)]
            return bool(others) and all(_is_scaled(values, one, scopes, hops - 1) for one in others)
        return False
    if isinstance(node, ast.IfExp):
        return all(_is_scaled(values, one, scopes, hops - 1) for one in (node.body, node.orelse))
    if not isinstance(node, ast.BinOp):
        return False
    if isinstance(node.op, ast.Mult):
        return any(_number(values, one, scopes) >= _SCALE for one in (node.left, node.right))
    if isinstance(node.op, ast.Div):
        return values.kind(node.left, scopes) == "int" and _number(values, node.right, scopes) in (10**3, 10**6)
    if isinstance(node.op, (ast.Add, ast.Sub)):
        return all(_is_scaled(values, one, scopes, hops - 1) for one in (node.left, node.right))
    return False


def _number(values: Values, node: ast.expr, scopes: Sequence[Scope]) -> float:
    """A number that is written out, perhaps as the value of a name; 0 for anything else."""
    if isinstance(node, ast.Name):
        node = values.only(node.id, scopes) or node
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        assert isinstance(node.value, (int, float))
        return node.value
    whole = values.integer(node, scopes)
    return whole if whole is not None else 0
