"""DFT308: a process that is forked after the end of tracing."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import ClassVar

from dfannotate.calls import WorkerCall
from dfannotate.rules import Case, Finding, Module, Rule
from dfannotate.rules.lifecycles import called_names, finalizes, functions, statement_of, walk
from dfannotate.rules.loaders import FORKS, MAKERS
from dfannotate.usage import CallUse, qualname

_IMPORT = "from dftracer.python import dftracer\n"
_WORDS = ("Process", "Pool", "fork", "preexec_fn")


class FinalizeBeforeFork(Rule):
    """A process that is forked once the tracer is finalized dies of a segmentation fault, in the tracer's own handler
    of forks: from 2.1 on the child, before that the parent. ``os.fork``, ``multiprocessing`` by fork, and
    ``subprocess`` with ``preexec_fn`` are alike in that; ``spawn`` is not.

    Finalize after all children are started and joined, or leave it to ``atexit``."""

    CODE: ClassVar[str] = "DFT308"
    NAME: ClassVar[str] = "finalize-before-fork"
    MESSAGE: ClassVar[str] = "a process is forked on line {line}, after this, and crashes; finalize when all are joined"
    SINCE: ClassVar[tuple[int, int, int]] = (2, 0, 2)

    def check(self, module: Module) -> Iterator[Finding]:
        if not any(word in module.text for word in _WORDS) or "spawn" in module.text or "forkserver" in module.text:
            return
        for use in finalizes(module):
            line = next(_forks_behind(module, use), 0)
            if line:
                yield self.finding(module, use.node, line=line)

    VALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "after",
            _IMPORT + "from multiprocessing import Process\nlog = dftracer.initialize_log()\np = Process(target=f)\n"
            "p.start()\np.join()\nlog.finalize()\n",
        ),
        Case(
            "spawned",
            _IMPORT + "import multiprocessing\nc = multiprocessing.get_context('spawn')\n"
            "log = dftracer.initialize_log()\nlog.finalize()\np = c.Process(target=f)\np.start()\n",
        ),
        Case(
            "plain-subprocess",
            _IMPORT + "import subprocess\nlog = dftracer.initialize_log()\nlog.finalize()\n"
            "subprocess.run(['ls'], preexec_fn=None)\n",
        ),
        Case(
            "own-class",
            _IMPORT
            + "from app import Process\nlog = dftracer.initialize_log()\nlog.finalize()\nProcess(target=f).start()\n",
        ),
        Case(
            "one-way-or-the-other",
            _IMPORT
            + "import os\nlog = dftracer.initialize_log()\nif last:\n    log.finalize()\nelse:\n    os.fork()\n",
        ),
    )
    INVALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "process",
            _IMPORT + "import multiprocessing as mp\nlog = dftracer.initialize_log()\nwork()\nlog.finalize()\n"
            "p = mp.Process(target=f)\np.start()\n",
            ((5, 1),),
        ),
        Case(
            "in-what-is-called",
            "import os\nimport dftracer.python as d\ndef child():\n    os.fork()\ndef main():\n"
            "    d.dftracer.initialize_log()\n    if True:\n        d.dftracer.get_instance().finalize()\n"
            "        child()\n",
            ((8, 9),),
        ),
        Case(
            "subprocess",
            _IMPORT + "import os, subprocess\nlog = dftracer.initialize_log()\nlog.finalize()\n"
            "subprocess.Popen(['ls'], preexec_fn=os.setsid)\n",
            ((4, 1),),
        ),
    )


def _forks_behind(module: Module, use: CallUse) -> Iterator[int]:
    """The lines of calls that fork a process, in the statements behind a finalize or in what those call by name."""
    place = statement_of(use)
    if place is None or not isinstance(place[0], ast.Expr) or place[0].value is not use.node:
        return
    statement, block = place
    rest = block[block.index(statement) + 1 :]
    known = functions(module)
    bodies: list[tuple[str, Sequence[ast.stmt]]] = [(qualname(use.scopes), rest)]
    bodies += [(name, known[name].body) for name in sorted(called_names(rest)) if name in known]
    for function, body in bodies:
        yield from _with_preexec(body)
        for call in module.facts.worker_calls:
            if call.function == function and _forks(call) and _is_in(call.line, body):
                yield call.line


def _forks(call: WorkerCall) -> bool:
    makers = [MAKERS.get(name) for name in call.callees]
    return all(
        (maker is not None and maker.kind in ("process", "pool") and maker.argument != "fn") or name in FORKS
        for maker, name in zip(makers, call.callees, strict=True)
    ) and bool(makers)


def _is_in(line: int, body: Sequence[ast.stmt]) -> bool:
    return any(node.lineno <= line <= (node.end_lineno or node.lineno) for node in body)


def _with_preexec(body: Sequence[ast.stmt]) -> Iterator[int]:
    for node in walk(body):
        if isinstance(node, ast.Call):
            for keyword in node.keywords:
                if keyword.arg == "preexec_fn" and not isinstance(keyword.value, ast.Constant):
                    yield node.lineno
