"""DFT104: a process id of None."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import ClassVar

from dfannotate import vocabulary
from dfannotate.rules import Case, Finding, Fix, Module, Rule
from dfannotate.rules.repairs import replace


class ProcessIdNone(Rule):
    """``process_id=None`` raises ``TypeError`` as soon as tracing is on, and passes unnoticed while it is off.

    The argument is an ``int``: ``-1`` lets the tracer take the process's own id, which it does anyway from 2.1 on."""

    CODE: ClassVar[str] = "DFT104"
    NAME: ClassVar[str] = "process-id-none"
    MESSAGE: ClassVar[str] = "`process_id=None` raises TypeError when tracing is on; write `-1`"
    FIXABLE: ClassVar[bool] = True

    def check(self, module: Module) -> Iterator[Finding]:
        for use in module.usage.calls(f"logger.{vocabulary.INITIALIZE}", f"log.{vocabulary.INITIALIZE}"):
            value = _process_id(use.call)
            if isinstance(value, ast.Constant) and value.value is None:
                yield self.finding(module, value, Fix((replace(module, value, "-1"),)))

    VALID: ClassVar[tuple[Case, ...]] = (
        Case("minus-one", "from dftracer.python import dftracer\ndftracer.initialize_log(None, None, -1)\n"),
        Case("rank", "from dftracer.python import dftracer\ndftracer.initialize_log(process_id=rank)\n"),
        Case("other-object", "from other import dftracer\ndftracer.initialize_log(process_id=None)\n"),
    )
    INVALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "keyword",
            "from dftracer.python import dftracer\ndftracer.initialize_log(logfile=None, process_id=None)\n",
            ((2, 50),),
            "from dftracer.python import dftracer\ndftracer.initialize_log(logfile=None, process_id=-1)\n",
        ),
        Case(
            "positional-alias",
            "from dftracer.python import dftracer as D\nlog = D.initialize_log('a', 'b', None)\n",
            ((2, 34),),
            "from dftracer.python import dftracer as D\nlog = D.initialize_log('a', 'b', -1)\n",
        ),
    )


def _process_id(call: ast.Call) -> ast.expr | None:
    position = vocabulary.INITIALIZE_ORDER.index("process_id")
    if any(isinstance(argument, ast.Starred) for argument in call.args):
        return None
    if len(call.args) > position:
        return call.args[position]
    return next((keyword.value for keyword in call.keywords if keyword.arg == "process_id"), None)
