"""DFT212: tracing that starts within what is traced."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import ClassVar

from dfannotate.rules import Case, Finding, Module, Rule
from dfannotate.rules.decorated import is_ready_made, spelled
from dfannotate.rules.lifecycles import initializes, top_calls
from dfannotate.usage import CallUse

_IMPORT = "from dftracer.python import dftracer, dft_fn\nx = dft_fn('C')\n"


class InitializeInsideDecorated(Rule):
    """A decorator or region looks at the clock before ``initialize_log`` has set it, which then reads 0: the event
    begins in 1970 and lasts until now, and with it every sum and overlap is wrong. Up to 2.0.2 the process aborts.

    Start before, or put the region around what comes after. (Of an entry point that is decorated DFT306 speaks.)"""

    CODE: ClassVar[str] = "DFT212"
    NAME: ClassVar[str] = "initialize-inside-decorated"
    MESSAGE: ClassVar[str] = "tracing starts within {what}, whose event then begins in 1970; start it before"

    def check(self, module: Module) -> Iterator[Finding]:
        for use in initializes(module):
            what = _around(module, use)
            if what:
                yield self.finding(module, use.node, what=what)

    VALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "before",
            _IMPORT + "def setup():\n    return dftracer.initialize_log()\nwith dft_fn('C', name='r'):\n    pass\n",
        ),
        Case(
            "defined-within",
            _IMPORT + "@x.log\ndef f():\n    def g():\n        dftracer.initialize_log()\n    return g\n",
        ),
        Case("entry-point", _IMPORT + "@x.log\ndef main():\n    dftracer.initialize_log()\nmain()\n"),
        Case(
            "other-tracer",
            "from dftracer.python import dft_fn\nfrom other import dftracer\nx = dft_fn('C')\n@x.log\ndef f():\n"
            "    dftracer.initialize_log()\n",
        ),
        Case(
            "elsewhere",
            "from app.utils import Profile, config\nx = Profile('C')\nclass A:\n    @x.log\n"
            "    def worker_init(self, n):\n"
            "        self.log = config.start()\n",
            files={"app/utils.py": "from dftracer.python import dft_fn as Profile\nfrom app.c import config\n"},
        ),
    )
    INVALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "decorated",
            _IMPORT + "class A:\n    @x.log\n    def begin(self):\n        if True:\n"
            "            self.log = dftracer.initialize_log()\n",
            ((7, 24),),
        ),
        Case(
            "region",
            "import dftracer.python as d\ndef f():\n    with d.dft_fn('C', name='all'):\n"
            "        log = d.dftracer.initialize_log(None, None, -1)\n        log.finalize()\n",
            ((4, 15),),
        ),
    )


def _around(module: Module, use: CallUse) -> str:
    """What is logged around a call, within the function that it stands in."""
    inner: ast.AST = use.node
    regions = {id(region.node): region for region in module.usage.regions}
    for node in reversed(use.ancestors):
        if isinstance(node, (ast.With, ast.AsyncWith)) and id(node) in regions and inner in node.body:
            return "a region"
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            function = use.function
            if function is None or node is not function:
                return ""
            for decoration in module.usage.decorations:
                if decoration.function is node and (decoration.method or is_ready_made(decoration)):
                    return "" if function.name in top_calls(module) else f"`{spelled(module, decoration)}`"
            return ""
        inner = node
    return ""
