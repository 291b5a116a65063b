"""DFT305: tracing that starts before MPI, or ends after it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import ClassVar

from dfannotate.rules import Case, Finding, Module, Rule
from dfannotate.rules.lifecycles import finalizes, initializes
from dfannotate.usage import CallUse, qualname

_HEAD = "import mpi4py\nmpi4py.rc.initialize = False\nfrom mpi4py import MPI\nfrom dftracer.python import dftracer\n"


class MpiOrder(Rule):
    """The tracer is to start after ``MPI.Init()`` and to end before ``MPI.Finalize()``: it intercepts what MPI opens
    while it starts, and what it writes at its end is lost where MPI has already taken the process down."""

    CODE: ClassVar[str] = "DFT305"
    NAME: ClassVar[str] = "mpi-order"
    MESSAGE: ClassVar[str] = "tracing {what} MPI (line {line}); {instead}"

    def check(self, module: Module) -> Iterator[Finding]:
        if "mpi4py" not in module.text:
            return
        starts, ends = initializes(module), finalizes(module)
        if not starts and not ends:
            return
        for statement in module.facts.mpi:
            if not statement.direct:
                continue
            if statement.what == "init":
                for use in starts:
                    if _is_beside(use, statement.function) and use.node.lineno < statement.first_line:
                        values = ("starts before", "start it after `MPI.Init()`")
                        yield self._found(module, use, values, statement.first_line)
            elif statement.what == "finalize":
                if any(_is_beside(use, statement.function) and use.node.lineno < statement.first_line for use in ends):
                    continue  # it has ended by then, and may be told so twice
                for use in ends:
                    if _is_beside(use, statement.function) and use.node.lineno > statement.end_line:
                        values = ("ends after", "finalize before `MPI.Finalize()`")
                        yield self._found(module, use, values, statement.first_line)

    def _found(self, module: Module, use: CallUse, values: tuple[str, str], line: int) -> Finding:
        return self.finding(module, use.node, what=values[0], line=line, instead=values[1])

    VALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "in-order",
            _HEAD + "MPI.Init()\nlog = dftracer.initialize_log()\nwork()\nlog.finalize()\nMPI.Finalize()\n",
        ),
        Case(
            "ended-twice",
            _HEAD + "MPI.Init()\nlog = dftracer.initialize_log()\nlog.finalize()\nMPI.Finalize()\nlog.finalize()\n",
        ),
        Case(
            "by-import",
            "from mpi4py import MPI\nfrom dftracer.python import dftracer\nlog = dftracer.initialize_log()\n"
            "comm = MPI.COMM_WORLD\nlog.finalize()\n",
        ),
        Case(
            "other-function",
            _HEAD
            + "def main():\n    log = dftracer.initialize_log()\n    log.finalize()\ndef start():\n    MPI.Init()\n",
        ),
        Case(
            "other-mpi",
            "import mpi4py\nfrom app import MPI\nfrom dftracer.python import dftracer\n"
            "log = dftracer.initialize_log()\nMPI.Init()\n",
        ),
    )
    INVALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "started-before",
            _HEAD + "def main():\n    log = dftracer.initialize_log()\n    MPI.Init()\n    log.finalize()\n"
            "    MPI.Finalize()\n",
            ((6, 11),),
        ),
        Case(
            "ended-after",
            "from mpi4py import MPI as M\nimport dftracer.python as d\nif __name__ == '__main__':\n"
            "    d.dftracer.initialize_log()\n    M.Finalize()\n    d.dftracer.get_instance().finalize()\n",
            ((6, 5),),
        ),
    )


def _is_beside(use: CallUse, function: str) -> bool:
    """Whether a call stands in a function (``""``: the module's own code) and in no loop or handler there."""
    branches = (ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.Lambda)
    if any(isinstance(node, branches) for node in use.ancestors):
        return False
    return qualname(use.scopes) == function
