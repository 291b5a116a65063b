"""DFT303: tracing that starts where no program begins."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import ClassVar

from dfannotate.rules import Case, Finding, Module, Rule
from dfannotate.rules.lifecycles import initializes
from dfannotate.usage import CallUse

_IMPORT = "from dftracer.python import dftracer\n"

_OFTEN = frozenset({"__getitem__", "__getitems__", "__next__", "__iter__", "__call__", "__len__", "__del__", "forward"})
"""Methods that run once an item, or at a time that nobody chooses."""
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


class InitializeOutsideEntryPoint(Rule):
    """Tracing starts once in a process, in its entry point. In a loop, or in a method that runs once an item, every
    call but the first is ignored, with whatever file it names, and what ran before the first is not traced. In the
    ``__init__.py`` of a package it starts in everything that imports the package: tests, tools, and each worker
    process, whose trace nobody finalizes then.

    A start that a condition holds back is no finding, nor one in a function of a module: that may be an entry point."""

    CODE: ClassVar[str] = "DFT303"
    NAME: ClassVar[str] = "initialize-outside-entry-point"
    MESSAGE: ClassVar[str] = "tracing starts {where}; start it once, where the program begins"

    def check(self, module: Module) -> Iterator[Finding]:
        for use in initializes(module):
            where = _where(module, use)
            if where:
                yield self.finding(module, use.node, where=where)

    VALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "guard", _IMPORT + "if __name__ == '__main__':\n    log = dftracer.initialize_log()\n    log.finalize()\n"
        ),
        Case(
            "method",
            _IMPORT + "class Config:\n    def configure(self):\n        return dftracer.initialize_log()\n",
        ),
        Case(
            "once",
            _IMPORT + "class Data:\n    log = None\n    def __getitem__(self, i):\n        if self.log is None:\n"
            "            self.log = dftracer.initialize_log()\n        return i\n",
        ),
        Case(
            "left-at-once",
            _IMPORT + "for name in names:\n    log = dftracer.initialize_log(name)\n    break\n",
        ),
        Case("package-of-others", "from other import dftracer\ndftracer.initialize_log()\n", path="app/__init__.py"),
        Case(
            "function-of-package",
            _IMPORT + "def start():\n    return dftracer.initialize_log()\n",
            path="app/__init__.py",
        ),
    )
    INVALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "loop",
            "import dftracer.python as d\ndef main():\n    for epoch in range(3):\n"
            "        log = d.dftracer.initialize_log()\n",
            ((4, 15),),
        ),
        Case(
            "item",
            _IMPORT
            + "class Data:\n    def __getitem__(self, i):\n        dftracer.initialize_log()\n        return i\n",
            ((4, 9),),
        ),
        Case("package", _IMPORT + "log = dftracer.initialize_log()\n", ((2, 7),), path="app/__init__.py"),
    )


def _where(module: Module, use: CallUse) -> str:
    conditional = False
    inner: ast.AST = use.node
    for node in reversed(use.ancestors):
        if isinstance(node, ast.Lambda):
            return ""
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            often = node.name in _OFTEN and not conditional and inner in node.body
            return f"in `{node.name}`, which runs many times" if often else ""
        if isinstance(node, (ast.If, ast.Try, ast.IfExp, ast.BoolOp, ast.Match)):
            conditional = True
        elif isinstance(node, _LOOPS) and inner in node.body and not conditional and not _is_left(node):
            return "in a loop"
        inner = node
    is_package = module.path.replace("\\", "/").rpartition("/")[2] == "__init__.py"
    return "wherever the package is imported" if is_package and not conditional else ""


def _is_left(loop: ast.For | ast.AsyncFor | ast.While) -> bool:
    return any(isinstance(part, (ast.Break, ast.Return, ast.Raise)) for part in loop.body)
