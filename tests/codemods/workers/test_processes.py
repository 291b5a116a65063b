"""Processes and pools: what a child runs is wrapped, and only where it is a process that runs it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Annotate = Callable[..., Any]

REWRITES = {
    "target": (
        "import multiprocessing as mp\n",
        "mp.Process(target=f, args=(1,), name='n')",
        "mp.Process(target=_dft_worker(f), args=(1,), name='n')",
    ),
    "target by position": (
        "import multiprocessing as mp\n",
        "mp.Process(None, f, 'n')",
        "mp.Process(None, _dft_worker(f), 'n')",
    ),
    "keywords unpacked": (
        "from multiprocessing import Process\n",
        "Process(**k)",
        '_dft_worker_call(Process, "target", 1)(**k)',
    ),
    "partial": (
        "import multiprocessing as mp\nfrom functools import partial\n",
        "partial(mp.Process, daemon=True)",
        'partial(_dft_worker_call(mp.Process, "target", 1), daemon=True)',
    ),
    "torch": ("import torch.multiprocessing as mp\n", "mp.Process(target=f)", "mp.Process(target=_dft_worker(f))"),
    "spawn": (
        "import torch.multiprocessing as mp\n",
        "mp.spawn(f, args=(2,), nprocs=2)",
        "mp.spawn(_dft_worker(f), args=(2,), nprocs=2)",
    ),
    "spawn by name": (
        "from torch.multiprocessing import spawn\n",
        "spawn(fn=f, nprocs=2)",
        "spawn(fn=_dft_worker(f), nprocs=2)",
    ),
    "start_processes": (
        "import torch.multiprocessing as mp\n",
        "mp.start_processes(f)",
        "mp.start_processes(_dft_worker(f))",
    ),
    "context": (
        "import multiprocessing\nctx = multiprocessing.get_context('spawn')\n",
        "ctx.Process(target=f)",
        "ctx.Process(target=_dft_worker(f))",
    ),
    "context in place": (
        "import multiprocessing as mp\n",
        "mp.get_context('fork').Process(target=f)",
        "mp.get_context('fork').Process(target=_dft_worker(f))",
    ),
    "class of a context": (
        "from multiprocessing.context import SpawnProcess\n",
        "SpawnProcess(target=f)",
        "SpawnProcess(target=_dft_worker(f))",
    ),
    "context of the project": ("from package import ctx\n", "ctx.Pool(2)", "ctx.Pool(2, initializer=_dft_worker())"),
    "pool": ("from multiprocessing import Pool\n", "Pool()", "Pool(initializer=_dft_worker())"),
    "pool with an initializer": (
        "from multiprocessing import Pool\n",
        "Pool(2, init, (1,))",
        "Pool(2, _dft_worker(init), (1,))",
    ),
    "pool with a named initializer": (
        "import multiprocessing.pool\n",
        "multiprocessing.pool.Pool(initializer=init, initargs=(1,))",
        "multiprocessing.pool.Pool(initializer=_dft_worker(init), initargs=(1,))",
    ),
    "executor": (
        "from concurrent.futures import ProcessPoolExecutor\n",
        "ProcessPoolExecutor(2)",
        "ProcessPoolExecutor(2, initializer=_dft_worker())",
    ),
    "executor by position": (
        "import concurrent.futures\n",
        "concurrent.futures.ProcessPoolExecutor(2, None, init, (1,))",
        "concurrent.futures.ProcessPoolExecutor(2, None, _dft_worker(init), (1,))",
    ),
}
PACKAGE = {
    "package/__init__.py": "from .base import ctx\n",
    "package/base.py": "import multiprocessing as mp\nctx = mp.get_context()\n",
}


@pytest.mark.parametrize(("imports", "before", "after"), REWRITES.values(), ids=list(REWRITES))
def test_call_is_rewritten_in_place(annotated: Annotate, imports: str, before: str, after: str) -> None:
    done = annotated({**PACKAGE, "main.py": f"{imports}x = {before}\n"})
    assert done.body == f"{imports}x = {after}\n"
    expected = "pool" if "ool" in before else "process"
    assert [kind for kind, _, _ in done.sites] == [expected]


NOOP = {
    "thread": "import threading\nthreading.Thread(target=f)\n",
    "thread pool": "from concurrent.futures import ThreadPoolExecutor\nThreadPoolExecutor(2)\n",
    "threads that look like processes": "from multiprocessing.dummy import Pool, Process\nPool(2)\nProcess(target=f)\n",
    "pool of threads": "from multiprocessing.pool import ThreadPool\nThreadPool(2)\n",
    "process without a target": "import multiprocessing as mp\nmp.Process(name='n')\n",
    "of another library": "import psutil\npsutil.Process(target=f)\n",
    "pool of a parameter": "def f(connections):\n    connections.Pool(2)\n",
    "process by number": "def f(system):\n    system.Process(12)\n",
    "nothing is started": "import multiprocessing as mp\nmp.cpu_count()\nmp.Queue()\nmp.Manager()\n",
}


@pytest.mark.parametrize("text", NOOP.values(), ids=list(NOOP))
def test_what_makes_no_process_is_left_alone(annotated: Annotate, text: str) -> None:
    done = annotated({"main.py": text})
    assert done.sites == ()
    assert "_dft_worker" not in done.text


CONTEXTS = {
    "attribute": (
        "class A:\n"
        "    def __init__(self):\n"
        "        self.ctx = mp.get_context('spawn')\n"
        "    def go(self):\n"
        "        self.ctx.Process(target=f)\n"
    ),
    "attribute that was None": (
        "class A:\n"
        "    ctx = None\n"
        "    def __init__(self):\n"
        "        self.ctx = mp.get_context('spawn')\n"
        "    def go(self):\n"
        "        self.ctx.Process(target=f)\n"
    ),
    "local": "def go():\n    ctx = mp.get_context('spawn')\n    ctx.Process(target=f)\n",
    "enclosing function's": (
        "def go():\n"
        "    ctx = mp.get_context('spawn')\n"
        "    def inner():\n"
        "        ctx.Process(target=f)\n"
        "    return inner\n"
    ),
    "annotated parameter": "def go(ctx: mp.context.BaseContext):\n    ctx.Process(target=f)\n",
    "one of two": "def go(x):\n    ctx = mp.get_context('spawn') if x else mp\n    ctx.Process(target=f)\n",
}


@pytest.mark.parametrize("text", CONTEXTS.values(), ids=list(CONTEXTS))
def test_context_is_followed_to_where_it_was_made(annotated: Annotate, text: str) -> None:
    done = annotated({"main.py": "import multiprocessing as mp\n" + text})
    assert "tx.Process(target=_dft_worker(f))" in done.text


UNKNOWN = {
    # (source, call before, call after): only the run knows what is called, so it is asked there
    "a parameter": (
        "def f(start):\n    {}\n",
        "start.Process(target=f, name='n')",
        "_dft_worker_context(start.Process, \"target\", 1)(target=f, name='n')",
    ),
    "a parameter by its name": (
        "def f(mp_context):\n    {}\n",
        "mp_context.Process(None, f)",
        '_dft_worker_context(mp_context.Process, "target", 1)(None, f)',
    ),
    "a parameter beside processes": (
        "import multiprocessing\ndef f(start):\n    {}\n",
        "start.Pool(2)",
        '_dft_worker_context(start.Pool, "initializer", 1)(2)',
    ),
    "set to this and that": (
        "import multiprocessing as mp\nctx = mp\nctx = other()\n{}\n",
        "ctx.Pool(2)",
        '_dft_worker_context(ctx.Pool, "initializer", 1)(2)',
    ),
    "attribute that comes from outside": (
        "class A:\n    def __init__(self, ctx):\n        self._ctx = ctx\n    def go(self):\n        {}\n",
        "self._ctx.Pool()",
        '_dft_worker_context(self._ctx.Pool, "initializer", 1)()',
    ),
    "partial": (
        "import functools\ndef f(ctx):\n    {}\n",
        "functools.partial(ctx.Process, daemon=True)",
        'functools.partial(_dft_worker_context(ctx.Process, "target", 1), daemon=True)',
    ),
}


@pytest.mark.parametrize(("source", "before", "after"), UNKNOWN.values(), ids=UNKNOWN)
def test_what_may_be_a_context_is_asked_when_it_runs(annotated: Annotate, source: str, before: str, after: str) -> None:
    done = annotated({"main.py": source.format(before)})
    assert f"{after}\n" in done.text
    assert "def _dft_worker_context(" in done.text
    assert ("process" if "Process" in before else "pool") in {kind for kind, _, _ in done.sites}


RUNS = {
    "direct": ("import multiprocessing as mp\nclass W(mp.Process):\n    def run(self):\n        work()\n", "W.run"),
    "of a context": (
        "import multiprocessing as mp\nctx = mp.get_context('fork')\n"
        "class W(ctx.Process):\n    def run(self):\n        work()\n",
        "W.run",
    ),
    "of a context made in place": (
        "import multiprocessing as mp\nclass W(mp.get_context('fork').Process):\n    def run(self):\n        work()\n",
        "W.run",
    ),
    "over another class": (
        "from multiprocessing import Process\nclass B(Process):\n    pass\n"
        "class W(B):\n    def run(self):\n        work()\n",
        "W.run",
    ),
    "torch": (
        "import torch.multiprocessing as mp\nclass W(mp.Process):\n    def run(self):\n        work()\n",
        "W.run",
    ),
    "beside another base": (
        "import multiprocessing as mp\nclass W(Mixin, mp.Process):\n    def run(self):\n        work()\n",
        "W.run",
    ),
}


@pytest.mark.parametrize(("text", "function"), RUNS.values(), ids=list(RUNS))
def test_run_starts_tracing_before_its_region(annotated: Annotate, text: str, function: str) -> None:
    done = annotated({"main.py": text})
    body = '        _dft_worker_start()\n        with DFTracerFn("main", name="run"):\n            work()\n'
    assert f"    def run(self):\n{body}" in done.text
    assert done.sites == (("process", function, "def run(self):"),)
    assert "def _dft_worker(" not in done.text  # nothing but the start is needed


def test_run_on_the_line_of_its_header(annotated: Annotate) -> None:
    done = annotated({"main.py": "import multiprocessing as mp\nclass W(mp.Process):\n    def run(self): work()\n"})
    assert "    def run(self):\n        _dft_worker_start()\n        work()\n" in done.text


def test_run_keeps_its_docstring_in_front(annotated: Annotate) -> None:
    text = (
        'import multiprocessing as mp\nclass W(mp.Process):\n    def run(self):\n        """Doc."""\n        work()\n'
    )
    assert '        """Doc."""\n        _dft_worker_start()\n' in annotated({"main.py": text}).text


def test_run_of_what_is_no_process_is_left_alone(annotated: Annotate) -> None:
    text = "import threading\nclass W(threading.Thread):\n    def run(self):\n        work()\n"
    assert annotated({"main.py": text}).sites == ()


SUBCLASSES = {
    "own run, so the target does not matter": (
        "    def run(self):\n        super().run()\n",
        "W(target=f)",
        "W(target=f)",
    ),
    "no run": ("    more = 1\n", "W(target=f)", "W(target=_dft_worker(f))"),
    "own __init__": ("    def __init__(self):\n        super().__init__(target=f)\n", "W()", "W()"),
}


@pytest.mark.parametrize(("body", "before", "after"), SUBCLASSES.values(), ids=list(SUBCLASSES))
def test_target_of_a_subclass(annotated: Annotate, body: str, before: str, after: str) -> None:
    done = annotated({"main.py": f"import multiprocessing as mp\nclass W(mp.Process):\n{body}w = {before}\n"})
    assert done.text.endswith(f"w = {after}\n")
    if "__init__" in body:
        assert "super().__init__(target=_dft_worker(f))" in done.text


UNREACHED = {
    "joblib": "from joblib import Parallel, delayed\ndef f():\n    return Parallel(2)(delayed(g)(i) for i in h)\n",
    "loky": "import loky\ndef f():\n    return loky.get_reusable_executor(2)\n",
    "pool of a copy of multiprocessing": "import multiprocess as mp\ndef f():\n    return mp.Pool(2)\n",
}


@pytest.mark.parametrize("text", UNREACHED.values(), ids=UNREACHED)
def test_processes_that_cannot_be_traced_are_reported_and_left_alone(annotated: Annotate, text: str) -> None:
    done = annotated({"main.py": text})
    assert done.sites == ()
    (note,) = done.notes
    assert note.startswith("main.py:3: ")
    assert "trace nothing" in note


def test_fork_is_reported_and_left_alone(annotated: Annotate) -> None:
    text = "import os\ndef f():\n    return os.fork()\n"
    done = annotated({"main.py": text})
    assert done.sites == ()
    assert [note.partition(" ")[0] for note in done.notes] == ["main.py:3:"]
    assert "os.fork()" in done.notes[0]
