"""DFT404: workers that leave the end of tracing to ``atexit``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import ClassVar

from dfannotate.edits import Edit, Rewrite, Splice
from dfannotate.rules import Case, Finding, Fix, Module, Rule
from dfannotate.rules.decorated import name_of
from dfannotate.rules.lifecycles import FINALIZES, walk
from dfannotate.rules.repairs import indent_of, insert_before, is_alone, replace
from dfannotate.rules.worker_calls import worker_functions
from dfannotate.usage import Function

_HEAD = "import atexit\nfrom torch.utils.data import DataLoader\nfrom dftracer.python import dftracer\n"
_IMPORT = "from multiprocessing.util import Finalize"


class WorkerFinalizeByAtexit(Rule):
    """A forked worker process ends by ``os._exit``, and handlers of ``atexit`` do not run there: a trace that is left
    to them is a file of 0 bytes. What ``multiprocessing.util.Finalize`` is given runs however the worker was made."""

    CODE: ClassVar[str] = "DFT404"
    NAME: ClassVar[str] = "worker-finalize-by-atexit"
    MESSAGE: ClassVar[str] = "`atexit` does not run in a forked worker; use `multiprocessing.util.Finalize`"
    FIXABLE: ClassVar[bool] = True

    def check(self, module: Module) -> Iterator[Finding]:
        if "atexit" not in module.text or not module.usage.imports:
            return
        ends = {id(use.node) for use in module.usage.uses if use.role in FINALIZES}
        if not ends:
            return
        for function in worker_functions(module, "worker_init_fn", "initializer", "target", "fn").values():
            for node in walk(function.body):
                if (
                    isinstance(node, ast.Call)
                    and len(node.args) == 1
                    and id(node.args[0]) in ends
                    and name_of(module, node.func) == "atexit.register"
                ):
                    yield self.finding(module, node, _fix(module, function, node))

    VALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "main-process",
            _HEAD + "def main():\n    log = dftracer.initialize_log()\n    atexit.register(log.finalize)\n"
            "    d = DataLoader(x, worker_init_fn=init)\ndef init(i):\n    pass\n",
        ),
        Case(
            "other-handler",
            _HEAD + "def init(i):\n    atexit.register(close)\nd = DataLoader(x, worker_init_fn=init)\n",
        ),
        Case(
            "by-finalize",
            _HEAD + "from multiprocessing.util import Finalize\ndef init(i):\n    log = dftracer.initialize_log()\n"
            "    Finalize(None, log.finalize, exitpriority=100)\nd = DataLoader(x, worker_init_fn=init)\n",
        ),
        Case(
            "own-atexit",
            "from app import atexit\nfrom torch.utils.data import DataLoader\nfrom dftracer.python import dftracer\n"
            "def init(i):\n    log = dftracer.initialize_log()\n    atexit.register(log.finalize)\n"
            "d = DataLoader(x, worker_init_fn=init)\n",
        ),
    )
    INVALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "loader",
            _HEAD
            + "def init(i):\n    log = dftracer.initialize_log()\n    atexit.register(log.finalize)  # at the end\n"
            "d = DataLoader(x, worker_init_fn=init)\n",
            ((6, 5),),
            _HEAD + "def init(i):\n    log = dftracer.initialize_log()\n    from multiprocessing.util import Finalize\n"
            "\n    Finalize(None, log.finalize, exitpriority=100)  # at the end\n"
            "d = DataLoader(x, worker_init_fn=init)\n",
        ),
        Case(
            "process-with-alias",
            "from atexit import register as at_end\nfrom multiprocessing import Process\nimport dftracer.python as d\n"
            "def f():\n    d.dftracer.initialize_log()\n    at_end(d.dftracer.get_instance().finalize,)\n"
            "Process(target=f).start()\n",
            ((6, 5),),
            "from atexit import register as at_end\nfrom multiprocessing import Process\nimport dftracer.python as d\n"
            "def f():\n    d.dftracer.initialize_log()\n    from multiprocessing.util import Finalize\n\n"
            "    Finalize(None, d.dftracer.get_instance().finalize, exitpriority=100,)\n"
            "Process(target=f).start()\n",
        ),
    )


def _fix(module: Module, function: Function, node: ast.Call) -> Fix | None:
    """The call of ``Finalize`` in place of the one of ``atexit``, which gives nothing that anybody would miss."""
    statement = next((s for s in walk(function.body) if isinstance(s, ast.Expr) and s.value is node), None)
    own = any(isinstance(s, ast.ImportFrom) and module.segment(s) == _IMPORT for s in module.tree.body)
    if statement is None or not is_alone(module, statement) or ("Finalize" in module.text and not own):
        return None
    _, _, line, column = module.position(node.args[0])
    edits: list[Edit] = [
        replace(module, node.func, "Finalize"),
        insert_before(module, node.args[0], "None, "),
        Rewrite(line, column, line, column, ", exitpriority=100"),
    ]
    if not own:
        first = statement.lineno
        edits.append(Splice(first, first, (indent_of(module, statement) + _IMPORT, "")))
    return Fix(tuple(edits))
