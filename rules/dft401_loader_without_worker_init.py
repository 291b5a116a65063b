"""DFT401: a loader whose workers do not trace themselves."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import ClassVar

from dfannotate.rules import Case, Finding, Fix, Module, Request, Rule
from dfannotate.rules.worker_calls import argument, made_in, uses_tracer, worker_text

_HEAD = "from torch.utils.data import DataLoader\n"
_TRACED = {"train.py": "from dftracer.python import dftracer\n"}
_WORKERS = 5
"""Where the number of workers stands among the arguments."""


class LoaderWithoutWorkerInit(Rule):
    """A loader's worker processes are not traced by themselves: where they are spawned they have no tracer, and where
    they are forked their trace may be a file of 0 bytes, as a forked process ends without ``atexit``. What a worker is
    to run first, ``worker_init_fn``, starts tracing there and has it finalized.

    A loader that is given one is its author's matter, and one without workers loads in the process itself."""

    CODE: ClassVar[str] = "DFT401"
    NAME: ClassVar[str] = "loader-without-worker-init"
    MESSAGE: ClassVar[str] = "the workers of this loader are not traced; start tracing in `worker_init_fn`"
    FIXABLE: ClassVar[bool] = True
    NEEDS_TRACER: ClassVar[bool] = False
    WORDS: ClassVar[tuple[str, ...]] = ("Loader",)

    def check(self, module: Module) -> Iterator[Finding]:
        if not uses_tracer(module):
            return
        for made in made_in(module):
            if made.maker.kind != "dataloader" or not made.is_plain or made.given is not None:
                continue
            workers = argument(made.node, "num_workers", _WORKERS if made.maker.position else None)
            if workers is not None and not (isinstance(workers, ast.Constant) and not workers.value):
                fix = Fix(requests=(Request("workers", made.call.line),))
                yield self.finding_at(module.path, made.place, fix)

    VALID: ClassVar[tuple[Case, ...]] = (
        Case("no-workers", _HEAD + "d = DataLoader(x, num_workers=0)\ne = DataLoader(x)\n", files=_TRACED, path="a.py"),
        Case(
            "given",
            _HEAD + "d = DataLoader(x, num_workers=2, worker_init_fn=x.worker_init)\n",
            files=_TRACED,
            path="a.py",
        ),
        Case("unpacked", _HEAD + "d = DataLoader(x, num_workers=2, **more)\n", files=_TRACED, path="a.py"),
        Case(
            "own-loader", "from app import DataLoader\nd = DataLoader(x, num_workers=2)\n", files=_TRACED, path="a.py"
        ),
        Case("untraced-project", _HEAD + "d = DataLoader(x, num_workers=2)\n"),
        Case(
            "shadowed",
            _HEAD + "def f(DataLoader):\n    return DataLoader(x, num_workers=2)\n",
            files=_TRACED,
            path="a.py",
        ),
    )
    INVALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "workers",
            _HEAD + "d = DataLoader(x, num_workers=args.workers)\n",
            ((2, 5),),
            _HEAD
            + "from dftracer.python import dftracer, DFTRACER_ENABLE\n\n\n"
            + worker_text()
            + "d = DataLoader(x, num_workers=args.workers, worker_init_fn=_dft_worker())\n",
            files=_TRACED,
            path="a.py",
        ),
        Case(
            "in-module-with-tracer",
            "import torch.utils.data as data\nfrom dftracer.python import dftracer, DFTRACER_ENABLE\n\n\n"
            "def load(x):\n    return data.DataLoader(x, 2, False, None, None, 4)\n",
            ((6, 12),),
            "import torch.utils.data as data\nfrom dftracer.python import dftracer, DFTRACER_ENABLE\n\n\n"
            + worker_text()
            + "\n\ndef load(x):\n"
            + "    return data.DataLoader(x, 2, False, None, None, 4, worker_init_fn=_dft_worker())\n",
        ),
    )
