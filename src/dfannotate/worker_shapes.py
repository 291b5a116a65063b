"""The functions by which a module's worker processes trace themselves, and what is put around the calls that make them.

Written and known again side by side, like all annotations. Everything goes by one name, ``_dft_worker`` where it is
free: the module's names for the rest begin with it.

``_dft_worker(f)`` is ``f`` itself with tracing off, else a ``functools.partial`` of a top-level function, so that it
pickles whenever ``f`` does. In the worker it starts the tracer before anything of the program's own runs, and has
``multiprocessing`` finalize it at the very end: ``atexit`` does not run in forked workers. The tracer deletes a trace
with too few events, so a worker begins with as many as it takes.

The tracer's own handlers raise ``SystemExit``, which a forked child may lose before it has begun, so that it never
ends. In their place a process that is told to stop finalizes, and then stops in the way it would have: by the signal,
so that its exit code is what it was; a loader's worker without an error, as torch does it by a handler of its own that
loses the trace. Three windows are closed, for a pool whose worker misses the signal waits forever: what comes before a
forked child has begun is forgotten by Python, so it is held back while forking; what comes just before the main thread
begins to wait in the C library is not seen before that wait is over, so a thread of the worker's wakes it; and what
comes while a child that was not forked imports its modules, once the tracer is among them, is lost wherever Python
drops exceptions (in a callback, in ``__del__``), so the child holds it back for as long. What it reads from its parent
tells it to: the authentication key stands before the first import and again behind that of the main module, and a
function of a module that is not imported by then brings its own. Held back, the signal ends the child after the import.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator
from typing import Literal

from dfannotate import vocabulary
from dfannotate.source import lines_with_unit

Part = Literal["worker", "worker-call", "worker-context", "worker-start"]
"""What a module needs: the wrapper of what a worker runs, that of what makes workers, that of what may make some as a
context of multiprocessing does, the start alone."""

_WORKER = '''\
def {worker}(call=None):
    """What a worker process is to run: ``call``, which with tracing on is run once the process traces itself."""
    if not {enabled} or not (call is None or callable(call)):
        return call
    from functools import partial

    class Task(partial):
        def __reduce_ex__(self, protocol):
            return {reduced}(self.args[0])

    return {task}({worker}_run, call)


def {worker}_run(call, /, *arguments, **keywords):
    {worker}_start()
    if call is not None:
        return call(*arguments, **keywords)
'''

_HELD = '''\
def {worker}_held(call):
    """What ``call`` is pickled as. A new process may import this module for it: it holds the signal back meanwhile."""
    import operator
    from multiprocessing.context import get_spawning_popen

    masks = get_spawning_popen() and {worker}_masks()
    if not masks:
        return {worker}, (call,)
    return operator.getitem, ((masks[0], {worker}_read({worker}, call), masks[1]), 1)
'''

_UNTRACED = '''\
def {worker}_untraced(call):
    """Pickle ``call`` as it is: a process that is not forked never imports the main module of a package."""
    import sys
    from functools import partial

    sys.stderr.write("dfannotate: workers made in a package's __main__.py are traced only where they are forked\\n")
    return (type(None), ()) if call is None else (partial, (call,))
'''

_CALL = '''\
def {worker}_call(call, name, position=None):
    """``call``, which with tracing on traces the workers that it makes by its argument ``name``."""
    if not {enabled}:
        return call
    from functools import partial

    return partial({worker}_make, call, name, position)


def {worker}_make(call, name, position, /, *arguments, **keywords):
    if position is not None and len(arguments) > position:
        arguments = (*arguments[:position], {worker}(arguments[position]), *arguments[position + 1 :])
    elif name in keywords or name in {added}:
        keywords[name] = {worker}(keywords.get(name))
    return call(*arguments, **keywords)
'''

_CONTEXT = '''\
def {worker}_context(call, name, position):
    """``call``, which with tracing on traces the workers that it makes, if a context of multiprocessing has it."""
    if not {enabled}:
        return call
    from multiprocessing.context import BaseContext
    from multiprocessing.process import BaseProcess

    is_process = isinstance(call, type) and issubclass(call, BaseProcess)
    if is_process or isinstance(getattr(call, "__self__", None), BaseContext):
        return {worker}_call(call, name, position)
    return call
'''

_START = '''\
def {worker}_start():
    """Trace this process to its end, if it is a worker and tracing is on."""
    import multiprocessing.util
    import os
    import signal
    import sys
    import threading

    if not {enabled} or multiprocessing.parent_process() is None:
        return
    try:
        tracer = {logger}.{instance}()
        if getattr(tracer, "worker", None) == os.getpid():
            return
        tracer.worker = os.getpid()
        if threading.current_thread() is threading.main_thread():
            loader = sys.modules.get("torch.utils.data")
            in_loader = loader is not None and loader.get_worker_info() is not None
            if {worker}_handles(signal, signal.SIGINT):
                signal.signal(signal.SIGINT, signal.default_int_handler)
            if in_loader or {worker}_handles(signal, signal.SIGTERM, signal.SIG_DFL):
                signal.signal(signal.SIGTERM, {worker}_leave if in_loader else {worker}_stop)
                {worker}_watch(signal, threading)
        if tracer.logger is None:
            {logger}.{initialize}({arguments})
        multiprocessing.util.Finalize(None, {worker}_end, exitpriority=-100)
        for _ in range({least}):
            tracer.{enter}()
            tracer.{log}(name="{mark}", cat="{category}", start_time=tracer.{get_time}(), duration=0)
            tracer.{exit}()
    except Exception as error:
        try:
            sys.stderr.write(f"dfannotate: worker process {{os.getpid()}} is not traced: {{error!r}}\\n")
        except Exception:
            pass


def {worker}_end():
    import threading

    here, main = threading.current_thread(), threading.main_thread()
    others = [one for one in threading.enumerate() if not (one.daemon or one is here or one is main)]
    if others and here is main:
        # The process waits for threads that go on, and for this one.
        threading.Thread(target={worker}_end).start()
        return
    for other in others:
        other.join()
    import signal

    if here is main and signal.getsignal(signal.SIGTERM) in ({worker}_stop, {worker}_leave):
        {worker}_ignore(signal.SIGTERM)
    {logger}.{instance}().{finalize}()


def {worker}_ready():
    """Put a handler that cannot be lost in the place of the tracer's, and hold its signal back while forking."""
    if not {enabled}:
        return
    import os
    import signal
    import threading

    if threading.current_thread() is threading.main_thread() and {worker}_handles(signal, signal.SIGTERM):
        signal.signal(signal.SIGTERM, {worker}_stop)
    tracer = {logger}.{instance}()
    if hasattr(os, "register_at_fork") and not hasattr(tracer, "worker_masks"):
        tracer.worker_masks = {{}}
        release = {worker}_release
        os.register_at_fork(before={worker}_hold, after_in_parent=release, after_in_child=release)
        from multiprocessing.process import AuthenticationString
        from multiprocessing.reduction import ForkingPickler

        ForkingPickler.register(AuthenticationString, {worker}_key)


def {worker}_hold():
    """What reaches a child before it has begun is forgotten by Python; held back, it comes once it has."""
    import signal
    import threading

    masks = {logger}.{instance}().worker_masks
    masks[threading.get_ident()] = signal.pthread_sigmask(signal.SIG_BLOCK, {{signal.SIGTERM}})


def {worker}_release():
    import signal
    import threading

    mask = {logger}.{instance}().worker_masks.pop(threading.get_ident(), None)
    if mask is not None:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def {worker}_key(key):
    """What the key is pickled as. A new process reads it before its imports, and again behind the main module."""
    from multiprocessing.context import get_spawning_popen

    reduced, popen, masks = key.__reduce__(), get_spawning_popen(), {worker}_masks()
    launchers = {launchers}
    if not masks or type(popen).__module__ not in launchers:
        return reduced
    popen.keys = getattr(popen, "keys", 0) + 1
    # Behind these two come those of managers that the process is given.
    return (*reduced, {{"mask": masks[popen.keys - 1]}}) if popen.keys <= 2 else reduced


def {worker}_masks():
    """What is read as holding the signal back, and as letting it come: nothing where this process holds it back."""
    import signal

    mask = getattr(signal, "pthread_sigmask", None)
    if mask is None or signal.SIGTERM in mask(signal.SIG_BLOCK, ()):
        return ()
    numbers = (int(signal.SIGTERM),)
    return [{worker}_read(mask, int(how), numbers) for how in (signal.SIG_BLOCK, signal.SIG_UNBLOCK)]


def {worker}_read(call, *arguments):
    """What a process that reads it takes for the result of a call of its own."""

    class Read:
        def __reduce__(self):
            return call, arguments

    return Read()


def {worker}_handles(signal, number, *others):
    handler = signal.getsignal(number)
    package = str(getattr(handler, "__module__", "")).partition(".")[0]
    return package in {packages} or handler in others or getattr(handler, "__name__", "") == "{worker}_stop"


def {worker}_watch(signal, threading):
    import os

    if os.name != "posix" or signal.set_wakeup_fd(-1) != -1:
        return
    import _thread

    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    os.register_at_fork(after_in_child=lambda: signal.set_wakeup_fd(-1))
    _thread.start_new_thread({worker}_wake, (reading, threading.main_thread().ident))


def {worker}_wake(reading, main):
    """Python runs a handler between two of its own steps: a main thread that waits outside of them has to be woken."""
    import os
    import signal
    import time

    signal.pthread_sigmask(signal.SIG_BLOCK, {{signal.SIGTERM}})
    try:
        while got := os.read(reading, 1):
            while got[0] == signal.SIGTERM and signal.getsignal(got[0]) in ({worker}_stop, {worker}_leave):
                time.sleep(0.05)
                signal.pthread_kill(main, signal.SIGTERM)
    except OSError:
        pass


def {worker}_stop(number, frame):
    """Finalize, with no further signal in between: it would cut the writing short."""
    import os
    import signal

    {worker}_ignore(number)
    {logger}.{instance}().{finalize}()
    signal.signal(number, signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {{number}})
    os.kill(os.getpid(), number)


def {worker}_ignore(number):
    """Ignore a signal, held back first: of one that comes while its handler goes, Python says that it was ignored."""
    import signal

    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, {{number}})
    signal.signal(number, signal.SIG_IGN)


def {worker}_leave(number, frame):
    import os

    {worker}_ignore(number)
    {logger}.{instance}().{finalize}()
    os._exit(0)


{worker}_ready()
'''

_LAST = (
    *("run", "call", "make", "context", "start", "end", "held", "untraced"),
    *("ready", "hold", "release", "key", "masks", "read", "handles", "watch", "wake", "stop", "ignore", "leave"),
)

_LAUNCHERS = ("multiprocessing.popen_spawn_posix", "multiprocessing.popen_forkserver")
"""What starts processes that read the key twice; those of other packages may read it once."""

ADDED = ("worker_init_fn", "initializer")
"""Arguments that are given to a call which has none, so that its workers are traced."""


def worker_lines(
    worker: str, logger: str, enabled: str, unit: str, parts: Collection[Part], *, is_package_main: bool = False
) -> tuple[str, ...]:
    """The functions that a module needs for ``parts``; ``logger`` and ``enabled`` are the tracer's names in it.

    ``is_package_main``: the module is a package's ``__main__``, which a process that is not forked does not import."""
    texts = []
    if not {"worker", "worker-call", "worker-context"}.isdisjoint(parts):
        worker_text = _WORKER.replace(
            "{task}", '(Task if __name__ == "__main__" else partial)' if is_package_main else "Task"
        )
        texts.append(worker_text.replace("{reduced}", "{worker}_untraced" if is_package_main else "{worker}_held"))
        texts.append(_UNTRACED if is_package_main else _HELD)
    if "worker-call" in parts or "worker-context" in parts:
        texts.append(_CALL)
    if "worker-context" in parts:
        texts.append(_CONTEXT)
    text = "\n\n".join([*texts, _START]).format(
        worker=worker,
        logger=logger,
        enabled=enabled,
        added=str(ADDED).replace("'", '"'),
        least=vocabulary.MINIMUM_EVENTS,
        mark=vocabulary.WORKER_MARK,
        category=vocabulary.TRACE.tracer_category,
        packages=str(vocabulary.TRACER_PACKAGES).replace("'", '"'),
        instance=vocabulary.GET_INSTANCE,
        initialize=vocabulary.INITIALIZE,
        arguments=vocabulary.INITIALIZE_ARGUMENTS,
        finalize=vocabulary.FINALIZE,
        launchers=str(_LAUNCHERS).replace("'", '"'),
        get_time=vocabulary.GET_TIME,
        log=vocabulary.LOG_EVENT,
        enter=vocabulary.ENTER_EVENT,
        exit=vocabulary.EXIT_EVENT,
    )
    return lines_with_unit(text, unit)


def start_line(worker: str) -> str:
    """The first statement of what a worker process runs, where that is a method."""
    return f"{worker}_start()"


def around_value(worker: str) -> tuple[str, str]:
    """What is put before and after an argument that a worker is to run."""
    return f"{worker}(", ")"


def new_value(worker: str) -> str:
    """The argument for a call that had none."""
    return f"{worker}()"


def around_callee(worker: str, name: str, position: int | None) -> tuple[str, str]:
    """What is put before and after a called name, where the call's own arguments cannot be told."""
    where = "" if position is None else f", {position}"
    return f"{worker}_call(", f', "{name}"{where})'


def around_callee_of_context(worker: str, name: str, position: int | None) -> tuple[str, str]:
    """What is put before and after a name that is called on what may be a context."""
    return f"{worker}_context(", f', "{name}", {position})'


def is_function(node: ast.stmt, worker: str) -> bool:
    """Whether a statement is one of the functions of ``worker_lines``."""
    names = {worker, *(f"{worker}_{last}" for last in _LAST)}
    return isinstance(node, ast.FunctionDef) and node.name in names


def is_start(node: ast.stmt, worker: str) -> bool:
    """Whether a statement is ``start_line``."""
    return _calls(node, f"{worker}_start")


def is_ready(node: ast.stmt, worker: str) -> bool:
    """Whether a statement is the one behind the functions of ``worker_lines``."""
    return _calls(node, f"{worker}_ready")


def is_around(node: ast.expr, worker: str) -> bool:
    """Whether an expression is something of the program's with one of ours around it: its first argument."""
    return (
        isinstance(node, ast.Call)
        and any(_is_name(node.func, name) for name in (worker, f"{worker}_call", f"{worker}_context"))
        and bool(node.args)
        and not isinstance(node.args[0], ast.Starred)
    )


def is_new(node: ast.keyword, worker: str) -> bool:
    """Whether a keyword argument was put in."""
    return isinstance(node.value, ast.Call) and not node.value.args and _is_name(node.value.func, worker)


def strip_calls(tree: ast.Module, worker: str, on_line: Callable[[int], bool]) -> None:
    """Take what was put around expressions, on the given lines, out of ``tree``, in place."""
    _Unwrap(worker, on_line).visit(tree)


def found_calls(tree: ast.Module, worker: str) -> Iterator[tuple[ast.Call, ast.Call | ast.keyword]]:
    """Every expression and every argument of ours that a call holds, with that call (for an expression itself)."""
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.FunctionDef) and is_function(node, worker):
            continue
        if isinstance(node, ast.Call):
            if is_around(node, worker):
                yield node, node
            for keyword in node.keywords:
                if is_new(keyword, worker):
                    yield node, keyword
        stack.extend(ast.iter_child_nodes(node))


class _Unwrap(ast.NodeTransformer):
    def __init__(self, worker: str, on_line: Callable[[int], bool]) -> None:
        self.worker = worker
        self.on_line = on_line

    def visit_Call(self, node: ast.Call) -> ast.AST:
        node.keywords = [
            keyword
            for keyword in node.keywords
            if not (self.on_line(keyword.value.lineno) and is_new(keyword, self.worker))
        ]
        self.generic_visit(node)
        if self.on_line(node.lineno) and is_around(node, self.worker):
            return node.args[0]
        return node


def _calls(node: ast.stmt, name: str) -> bool:
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and not call.args and _is_name(call.func, name)


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
