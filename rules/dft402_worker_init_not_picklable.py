"""DFT402: workers that start tracing by what cannot be pickled."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import ClassVar

from dfannotate.rules import Case, Finding, Module, Rule
from dfannotate.rules.hoisting import hoisted, moved_up
from dfannotate.rules.lifecycles import initializes
from dfannotate.rules.worker_calls import Made, made_in
from dfannotate.usage import Function

_HEAD = "from torch.utils.data import DataLoader\nfrom dftracer.python import dftracer\n\n\n"


class WorkerInitNotPicklable(Rule):
    """What a worker is to run is pickled wherever workers are not forked: with ``spawn``, with ``forkserver``, which is
    the default on Linux from Python 3.14 on, on macOS and Windows. A lambda or a function that is defined in another
    cannot be pickled, and the loader raises before its first batch."""

    CODE: ClassVar[str] = "DFT402"
    NAME: ClassVar[str] = "worker-init-not-picklable"
    MESSAGE: ClassVar[str] = (
        "{what} cannot be pickled for workers that are not forked; make it a function of the module"
    )
    FIXABLE: ClassVar[bool] = True

    def check(self, module: Module) -> Iterator[Finding]:
        starts = initializes(module)
        if not starts:
            return
        for made in made_in(module):
            if isinstance(made.given, ast.Lambda):
                if any(made.given in use.ancestors for use in starts):
                    yield self.finding(module, made.given, hoisted(module, made, made.given), what="a lambda")
            elif isinstance(made.given, ast.Name):
                function = _nested(made, made.given.id)
                if function is not None and any(use.function is function for use in starts):
                    fix = moved_up(module, made, function)
                    yield self.finding(module, made.given, fix, what=f"`{function.name}`, defined in a function,")

    VALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "top-level",
            _HEAD + "def init(i):\n    dftracer.initialize_log()\n\n\ndef main(x):\n"
            "    return DataLoader(x, worker_init_fn=init)\n",
        ),
        Case("not-about-tracing", _HEAD + "d = DataLoader(x, num_workers=1, worker_init_fn=lambda i: seed(i))\n"),
        Case(
            "bound-method",
            _HEAD + "class Data:\n    def worker_init(self, i):\n        self.log = dftracer.initialize_log()\n\n\n"
            "def main(data):\n    return DataLoader(data, worker_init_fn=data.worker_init)\n",
        ),
        Case(
            "other-object",
            "from logs import dftracer\nfrom torch.utils.data import DataLoader\n"
            "d = DataLoader(x, worker_init_fn=lambda i: dftracer.initialize_log())\n",
        ),
    )
    INVALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "lambda",
            _HEAD + "def main(x):\n    return DataLoader(x, num_workers=2, worker_init_fn=lambda i: "
            "dftracer.initialize_log(process_id=i))\n",
            ((6, 56),),
            _HEAD + "def start_worker_trace(i):\n    return dftracer.initialize_log(process_id=i)\n\n\n"
            "def main(x):\n    return DataLoader(x, num_workers=2, worker_init_fn=start_worker_trace)\n",
        ),
        Case(
            "nested",
            _HEAD + "def main(x):\n    def init(i):\n        # begin\n        dftracer.initialize_log()\n\n"
            "    return DataLoader(x, worker_init_fn=init)\n",
            ((10, 41),),
            _HEAD + "def init(i):\n    # begin\n    dftracer.initialize_log()\n\n\ndef main(x):\n\n"
            "    return DataLoader(x, worker_init_fn=init)\n",
        ),
        Case(
            "closure",
            _HEAD + "def main(x, path):\n    def init(i):\n        dftracer.initialize_log(path)\n\n"
            "    return DataLoader(x, worker_init_fn=init)\n",
            ((9, 41),),
        ),
    )


def _nested(made: Made, name: str) -> Function | None:
    """The function of that name which is defined in the function around a call, once."""
    for scope in reversed(made.ancestors):
        if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)):
            bound = [node for node in scope.body if getattr(node, "name", "") == name]
            if len(bound) == 1 and isinstance(bound[0], ast.FunctionDef):
                return bound[0]
    return None
