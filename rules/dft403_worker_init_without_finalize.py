"""DFT403: workers that start tracing and never end it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import ClassVar

from dfannotate import vocabulary
from dfannotate.edits import Splice
from dfannotate.rules import Case, Finding, Fix, Module, Rule
from dfannotate.rules.endings import log_expression
from dfannotate.rules.lifecycles import Start, initializes, start_of, walk
from dfannotate.rules.repairs import indent_of, is_alone
from dfannotate.rules.worker_calls import worker_functions
from dfannotate.usage import Function

_HEAD = "from torch.utils.data import DataLoader\nfrom dftracer.python import dftracer\n"
_IMPORT = "from multiprocessing.util import Finalize"
"""Of the standard library, undocumented, and what ``multiprocessing`` itself ends its workers by."""


class WorkerInitWithoutFinalize(Rule):
    """A worker process ends by ``os._exit``, without ``atexit`` and without a word to the tracer, whose events it then
    still holds: its trace is a file of 0 bytes where it was spawned, or forked with the tracer preloaded. What
    ``multiprocessing.util.Finalize`` is given runs at the end of a worker however it was made.

    ``exitpriority`` has to be an ``int``, or it is not run at all."""

    CODE: ClassVar[str] = "DFT403"
    NAME: ClassVar[str] = "worker-init-without-finalize"
    MESSAGE: ClassVar[str] = (
        "nothing finalizes what starts in this worker; register it by `multiprocessing.util.Finalize`"
    )
    FIXABLE: ClassVar[bool] = True

    def check(self, module: Module) -> Iterator[Finding]:
        starts = initializes(module)
        if not starts:
            return
        for function in worker_functions(module, "worker_init_fn", "initializer").values():
            if _speaks_of_end(function):
                continue
            for use in starts:
                start = start_of(use) if use.function is function else None
                if start is not None and not _goes_on(function, start.name):
                    yield self.finding(module, use.node, _fix(module, start))

    VALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "finalized",
            _HEAD + "from multiprocessing.util import Finalize\ndef init(i):\n    log = dftracer.initialize_log()\n"
            "    Finalize(None, log.finalize, exitpriority=100)\nd = DataLoader(x, worker_init_fn=init)\n",
        ),
        Case(
            "kept",
            _HEAD + "def init(i):\n    log = dftracer.initialize_log()\n    keep(log)\n"
            "d = DataLoader(x, worker_init_fn=init)\n",
        ),
        Case(
            "bound-method",
            _HEAD + "class Data:\n    def worker_init(self, i):\n        self.log = dftracer.initialize_log()\n"
            "    def __del__(self):\n        self.log.finalize()\ndata = Data()\n"
            "d = DataLoader(data, worker_init_fn=data.worker_init)\n",
        ),
        Case(
            "no-worker",
            _HEAD + "def init(i):\n    log = dftracer.initialize_log()\nd = DataLoader(x, collate_fn=init)\n",
        ),
    )
    INVALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "loader",
            _HEAD + "def init(i):\n    log = dftracer.initialize_log()\nd = DataLoader(x, worker_init_fn=init)\n",
            ((4, 11),),
            _HEAD + "def init(i):\n    log = dftracer.initialize_log()\n"
            "    from multiprocessing.util import Finalize\n\n    Finalize(None, log.finalize, exitpriority=100)\n"
            "d = DataLoader(x, worker_init_fn=init)\n",
        ),
        Case(
            "pool",
            "import multiprocessing as mp\nfrom multiprocessing.util import Finalize\nimport dftracer.python as d\n"
            "def begin():\n    d.dftracer.initialize_log(None, None, -1)\n"
            "def main():\n    with mp.get_context('spawn').Pool(2, initializer=begin) as pool:\n        pass\n",
            ((5, 5),),
            "import multiprocessing as mp\nfrom multiprocessing.util import Finalize\nimport dftracer.python as d\n"
            "def begin():\n    d.dftracer.initialize_log(None, None, -1)\n"
            "    Finalize(None, d.dftracer.get_instance().finalize, exitpriority=100)\n"
            "def main():\n    with mp.get_context('spawn').Pool(2, initializer=begin) as pool:\n        pass\n",
        ),
    )


def _speaks_of_end(function: Function) -> bool:
    names = (getattr(node, "attr", None) or getattr(node, "id", None) for node in walk(function.body))
    return any(isinstance(name, str) and name.lower().startswith(vocabulary.FINALIZE) for name in names)


def _goes_on(function: Function, name: str) -> bool:
    """Whether the object that a start gave goes anywhere else."""
    if not name:
        return False
    for node in walk(function.body):
        if isinstance(node, ast.Global) and name in node.names:
            return True
        if not isinstance(node, ast.Attribute):
            children = ast.iter_child_nodes(node)
            if any(isinstance(c, ast.Name) and c.id == name and isinstance(c.ctx, ast.Load) for c in children):
                return True
    return False


def _fix(module: Module, start: Start) -> Fix | None:
    own = any(isinstance(node, ast.ImportFrom) and module.segment(node) == _IMPORT for node in module.tree.body)
    if not is_alone(module, start.statement) or ("Finalize" in module.text and not own):
        return None
    indent = indent_of(module, start.statement)
    call = f"{indent}Finalize(None, {log_expression(module, start)}.{vocabulary.FINALIZE}, exitpriority=100)"
    end = module.position(start.statement)[2] + 1
    return Fix((Splice(end, end, (call,) if own else (indent + _IMPORT, "", call)),))
