"""DFT309: tracing that is started again."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import ClassVar

from dfannotate.rules import Case, Finding, Module, Rule
from dfannotate.rules.lifecycles import finalizes, initializes
from dfannotate.usage import CallUse

_IMPORT = "from dftracer.python import dftracer\n"
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_LEAVES = (ast.Break, ast.Return, ast.Raise)


class ReinitializeAfterFinalize(Rule):
    """The tracer starts once in a process: after ``finalize()`` a second ``initialize_log()`` is ignored, and every
    later event is dropped without a word. Start it once and finalize at the end; one trace holds it all."""

    CODE: ClassVar[str] = "DFT309"
    NAME: ClassVar[str] = "reinitialize-after-finalize"
    MESSAGE: ClassVar[str] = "tracing was finalized on line {line} and does not start again; all later events are lost"

    def check(self, module: Module) -> Iterator[Finding]:
        for use in initializes(module):
            for end in finalizes(module):
                if _comes_after(end, use) or _shares_loop(use, end):
                    yield self.finding(module, use.node, line=end.node.lineno)
                    break

    VALID: ClassVar[tuple[Case, ...]] = (
        Case("once", _IMPORT + "log = dftracer.initialize_log()\nfor i in range(3):\n    pass\nlog.finalize()\n"),
        Case(
            "one-or-the-other",
            _IMPORT + "def main(stop):\n    if stop:\n        dftracer.get_instance().finalize()\n        return\n"
            "    dftracer.initialize_log()\n",
        ),
        Case(
            "two-functions",
            _IMPORT + "def stop(log):\n    dftracer.get_instance().finalize()\ndef start():\n"
            "    return dftracer.initialize_log()\n",
        ),
        Case(
            "left-at-once",
            _IMPORT + "while True:\n    log = dftracer.initialize_log()\n    log.finalize()\n    break\n",
        ),
        Case(
            "other-object",
            "from logs import dftracer\ndftracer.get_instance().finalize()\ndftracer.initialize_log()\n",
        ),
    )
    INVALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "again",
            _IMPORT + "log = dftracer.initialize_log('a')\nlog.finalize()\nif True:\n"
            "    log = dftracer.initialize_log('b')\n    log.finalize()\n",
            ((5, 11),),
        ),
        Case(
            "loop",
            "import dftracer.python as d\nfor epoch in range(3):\n    log = d.dftracer.initialize_log(f'{epoch}')\n"
            "    train(epoch)\n    log.finalize()\n",
            ((3, 11),),
        ),
    )


def _comes_after(end: CallUse, start: CallUse) -> bool:
    """Whether a start stands in the block of a finalize, behind it, or in a statement of that."""
    statement = next((node for node in reversed(end.ancestors) if isinstance(node, ast.stmt)), None)
    if end.function is not start.function or not isinstance(statement, ast.Expr) or statement.value is not end.node:
        return False
    block = _block(end, statement)
    behind = block[block.index(statement) + 1 :]
    return any(node in behind for node in (*start.ancestors, start.node))


def _shares_loop(start: CallUse, end: CallUse) -> bool:
    """Whether both stand in the body of one loop, under no condition, and it goes on."""
    if end.function is not start.function:
        return False
    for node in reversed(start.ancestors):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.If, ast.Try)):
            return False
        if isinstance(node, _LOOPS):
            direct = [part for part in end.ancestors if part in node.body]
            leaves = any(isinstance(part, _LEAVES) for part in node.body)
            return bool(direct) and isinstance(direct[0], (ast.Expr, ast.If)) and not leaves
    return False


def _block(use: CallUse, statement: ast.stmt) -> list[ast.stmt]:
    parent = use.ancestors[use.ancestors.index(statement) - 1]
    for name in ("body", "orelse", "finalbody"):
        block = getattr(parent, name, None)
        if isinstance(block, list) and statement in block:
            return block
    return [statement]
