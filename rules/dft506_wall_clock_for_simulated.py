"""DFT506: a function on a simulation's clock that is timed by the clock on the wall."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import ClassVar

from dfannotate import vocabulary
from dfannotate.rules import Case, Finding, Module, Rule
from dfannotate.rules.clocks import HINTS, PACKAGES, is_clock, sets_up
from dfannotate.rules.values import Values


class WallClockForSimulated(Rule):
    """A decorated function that is handed the clock of a simulation: its event says how long the computer took, not how
    long the operation took in the simulation, and both stand side by side in the trace.

    Log it as a manual event with the simulated times: ``dfannotate event FILE --function NAME --start EXPR
    --duration EXPR``. Reported for a parameter that is annotated as ``simpy.Environment``, or called ``sim_time``,
    ``simulated_clock`` or the like."""

    CODE: ClassVar[str] = "DFT506"
    NAME: ClassVar[str] = "wall-clock-for-simulated"
    MESSAGE: ClassVar[str] = (
        "`{function}` runs on the simulated clock `{parameter}`, but is timed by the real one: log it with"
        " `dfannotate event`"
    )

    def check(self, module: Module) -> Iterator[Finding]:
        if not any(hint in module.text for hint in HINTS):
            return
        values = Values(module) if any(package in module.text for package in PACKAGES) else None
        for decoration in module.usage.decorations:
            function = decoration.function
            if not decoration.method or isinstance(function, ast.ClassDef) or decoration.method == vocabulary.LOG_INIT:
                continue
            if sets_up(function.name):
                continue
            given = function.args
            for parameter in (*given.posonlyargs, *given.args, *given.kwonlyargs):
                if is_clock(parameter.arg, _classes(values, parameter.annotation, module.tree) if values else ()):
                    yield self.finding(module, decoration.node, function=function.name, parameter=parameter.arg)
                    break

    VALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "environment-of-something-else",
            "from jinja2 import Environment\nfrom dftracer.python import dft_fn\nsimple = dft_fn('web')\n"
            "@simple.log\ndef render(env: Environment): ...\n",
        ),
        Case(
            "real-clock",
            "from dftracer.python import dft_fn\nsim = dft_fn('IO')\n@sim.log\ndef expire(now: float, clock): ...\n",
        ),
        Case(
            "manual-event",
            "import simpy\nfrom dftracer.python import dftracer\n\ndef move(env: simpy.Environment):\n"
            "    dftracer.get_instance().log_event('move', 'sim', int(env.now * 1e6), 5)\n",
        ),
        Case(
            "start-of-the-simulation",
            "import simpy\nfrom dftracer.python import dft_fn\nx = dft_fn('sim')\n\nclass Node:\n    @x.log_init\n"
            "    def __init__(self, env: simpy.Environment): ...\n",
        ),
        Case(
            "start-of-a-part-of-it-by-another-decorator",
            "from dftracer.python import dft_fn\nx = dft_fn('sim')\n\nclass Node:\n    @x.log_static\n"
            "    def __init__(self, sim_time, **rest): ...\n",
        ),
        Case(
            "other-decorator", "import simpy\nimport dftracer\n@cached\ndef f(env: simpy.Environment, sim_time): ...\n"
        ),
    )
    INVALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "annotated",
            "import simpy\nfrom simpy import Environment as Env\nfrom dftracer.python import dft_fn\n"
            "x = dft_fn('sim')\n\n"
            "@x.log\ndef move(env: simpy.Environment, size): ...\n\n@x.log_static\n"
            "def wait(size, *, env: 'Env | None' = None): ...\n",
            ((6, 2), (9, 2)),
        ),
        Case(
            "named",
            "from dftracer.python import dft_fn as P\nx = P('sim')\n\nclass Link:\n    @x.log(name='push')\n"
            "    def push(self, size, sim_time): ...\n",
            ((5, 6),),
        ),
    )


def _classes(values: Values, annotation: ast.expr | None, tree: ast.Module) -> list[str]:
    """The classes that an annotation names (``Environment | None``), as the imports say what they are."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            annotation = ast.parse(annotation.value, mode="eval").body
        except SyntaxError:
            return []
    if annotation is None:
        return []
    names = (node for node in ast.walk(annotation) if isinstance(node, (ast.Name, ast.Attribute)))
    return [values.dotted(node, (tree,)) for node in names]
