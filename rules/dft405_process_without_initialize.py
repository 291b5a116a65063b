"""DFT405: a process or pool whose workers do not trace themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from dfannotate.rules import Case, Finding, Fix, Module, Request, Rule
from dfannotate.rules.worker_calls import Made, made_in, may_trace, own_function, uses_tracer, worker_text
from dfannotate.worker_shapes import ADDED

_HEAD = "import multiprocessing as mp\n"
_TRACED = {"train.py": "from dftracer.python import dftracer\n"}


class ProcessWithoutInitialize(Rule):
    """A process of ``multiprocessing`` is not traced by itself: where it is spawned it has no tracer, and where it is
    forked its trace may be a file of 0 bytes, as it ends without ``atexit``. Start tracing in what it runs, and have
    ``multiprocessing.util.Finalize`` end it; for a pool, in its ``initializer``.

    What a process runs has to be in the same file: of anything else it cannot be told whether it starts tracing."""

    CODE: ClassVar[str] = "DFT405"
    NAME: ClassVar[str] = "process-without-initialize"
    MESSAGE: ClassVar[str] = "what this makes is not traced; start tracing in `{argument}`"
    FIXABLE: ClassVar[bool] = True
    NEEDS_TRACER: ClassVar[bool] = False
    WORDS: ClassVar[tuple[str, ...]] = ("Process", "Pool", "spawn", "start_processes")

    def check(self, module: Module) -> Iterator[Finding]:
        if not uses_tracer(module):
            return
        for made in made_in(module):
            if made.maker.kind in ("process", "pool") and made.is_plain and _is_untraced(module, made):
                fix = Fix(requests=(Request("processes", made.call.line),))
                yield self.finding_at(module.path, made.place, fix, argument=made.maker.argument)

    VALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "starts-itself",
            _HEAD
            + "from dftracer.python import dftracer\ndef f():\n    begin()\n    dftracer.get_instance().finalize()\n"
            "def begin():\n    dftracer.initialize_log()\np = mp.Process(target=f)\n",
        ),
        Case("elsewhere", _HEAD + "from app import f\np = mp.Process(target=f)\n", files=_TRACED, path="a.py"),
        Case("threads", "from multiprocessing.pool import ThreadPool\np = ThreadPool(2)\n", files=_TRACED, path="a.py"),
        Case("untraced-project", _HEAD + "def f():\n    pass\np = mp.Process(target=f)\n"),
        Case("nothing-to-run", _HEAD + "p = mp.Process()\n", files=_TRACED, path="a.py"),
        Case("own-pool", "from app import Pool\np = Pool(2)\n", files=_TRACED, path="a.py"),
    )
    INVALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "process",
            _HEAD + "\n\ndef f():\n    return 1\n\n\np = mp.Process(None, f)\n",
            ((8, 5),),
            _HEAD
            + "from dftracer.python import dftracer, DFTRACER_ENABLE\n\n\n"
            + worker_text()
            + "\n\ndef f():\n    return 1\n\n\np = mp.Process(None, _dft_worker(f))\n",
            files=_TRACED,
            path="a.py",
        ),
        Case(
            "pool",
            "from concurrent.futures import ProcessPoolExecutor as Executor\n"
            "from dftracer.python import dftracer, DFTRACER_ENABLE\n\n\ndef run():\n    with Executor(4) as pool:\n"
            "        return pool\n",
            ((6, 10),),
            "from concurrent.futures import ProcessPoolExecutor as Executor\n"
            "from dftracer.python import dftracer, DFTRACER_ENABLE\n\n\n"
            + worker_text()
            + "\n\ndef run():\n    with Executor(4, initializer=_dft_worker()) as pool:\n        return pool\n",
        ),
    )


def _is_untraced(module: Module, made: Made) -> bool:
    if made.given is None:
        return made.maker.argument in ADDED
    function = own_function(module, made.given)
    return function is not None and not may_trace(module, function)
