"""DFT401: a loader whose workers do not trace themselves."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import ClassVar

from dfannotate.rules import Case, Finding, Fix, Module, Request, Rule
from dfannotate.rules.worker_calls import argument, made_in, uses_tracer, worker_text

_HEAD = "from torch.utils.data import DataLoader\n"
_TRACED = {"train.py": "from dftracer.python import dftracer\n"}
_BEFORE = 5
"""How many arguments before ``worker_init_fn`` the number of workers stands."""


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
            position = made.maker.position
            workers = argument(made.node, "num_workers", position - _BEFORE if position else None)
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
        Case(
            "own-loader-that-sees-to-it",
            _HEAD + "class Loader(DataLoader):\n    def __init__(self, *given, **more):\n"
            "        super().__init__(*given, worker_init_fn=begin, **more)\n\nd = Loader(x, num_workers=2)\n",
            files=_TRACED,
            path="a.py",
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
        Case(
            "loader-of-the-project",
            _HEAD + "from loaders import Batches\n\n\nclass Pairs(DataLoader):\n    pass\n\n\n"
            "def load(x):\n    return Pairs(x, 2, num_workers=4), Batches(x, num_workers=4)\n",
            ((10, 12), (10, 40)),
            _HEAD
            + "from loaders import Batches\nfrom dftracer.python import dftracer, DFTRACER_ENABLE\n\n\n"
            + worker_text()
            + "\n\nclass Pairs(DataLoader):\n    pass\n\n\ndef load(x):\n"
            + "    return Pairs(x, 2, num_workers=4, worker_init_fn=_dft_worker()), "
            + "Batches(x, num_workers=4, worker_init_fn=_dft_worker())\n",
            files={**_TRACED, "loaders.py": _HEAD + "class Batches(DataLoader):\n    pass\n"},
            path="a.py",
        ),
    )
