"""Counts the calls of annotated functions in this process, without the tracer. Written for any Python since 3.8.

Python imports a module of this name at start, in child interpreters as well, where its folder is on PYTHONPATH; the
one that would have been imported is, afterwards. It is nobody's to import otherwise, and depends on nothing.

The counters are a file that is mapped into memory, one for each process: what was counted is there however the process
ends, by ``os._exit`` or a signal too. A forked child begins a file of its own before it runs anything. A call is
counted when it ends, as the tracer writes its event then; a call that raised is told from one that returned, and both
by the state that the tracer was in.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Any

    # The code of a file that is counted, by the line where it begins and its name.
    Sites = dict[tuple[int, str], int]

VARIABLE = "DFANNOTATE_AUDIT"


def _install(folder: str) -> None:
    # Everything is a local name in here: at the end of the interpreter, a module's own names go before the last call.
    import json
    import mmap
    import socket
    import time

    with open(os.path.join(folder, "plan.json"), encoding="utf-8") as stream:
        plan = json.load(stream)
    tracer = plan["tracer"]
    first_word, ends = plan["words"], plan["ends"]
    state_word, flags_word = plan["state"], plan["flags"]
    size = plan["head"] + 8 * (first_word + ends * len(plan["sites"]))
    started, finalized = 1, 2
    disturbed, threaded = 1, 2
    suspended = {"YIELD_VALUE", "YIELD_FROM", "SEND", "RETURN_GENERATOR", "GEN_START"}
    suspendable = 0x20 | 0x80 | 0x200  # generator, coroutine and asynchronous generator functions
    host = socket.gethostname()
    getpid = os.getpid

    by_path: dict[str, Sites] = {}
    by_digest: dict[str, Sites] = {}
    names = set()
    for file in plan["files"]:
        sites = {(line, name): index for line, name, index in file["codes"]}
        by_path[file["path"]] = sites
        by_digest[file["sha256"]] = sites
        names.add(os.path.basename(file["path"]))
    the_tracers: Sites = {}
    resolved: dict[str, Sites | None] = {}

    # --- the counters of this process ---

    owner = -1
    words = memoryview(bytearray(size - plan["head"])).cast("Q")  # until there is a file

    def begin(forked: bool) -> None:
        nonlocal owner, words
        before = (words[state_word], words[flags_word])
        owner = getpid()
        try:
            words = opened(forked)
        except OSError as error:
            # Counted in vain, but not into the file of the parent.
            words = memoryview(bytearray(size - plan["head"])).cast("Q")
            failed(folder, f"the calls of process {owner} were not counted ({error})")
        words[state_word], words[flags_word] = before

    def opened(forked: bool) -> memoryview[int]:
        command = " ".join(getattr(sys, "orig_argv", None) or getattr(sys, "argv", None) or [sys.executable])
        head = {
            "pid": owner,
            "ppid": os.getppid(),
            "host": host,
            "command": command[:100],
            "forked": forked,
            "enabled": os.environ.get(tracer["variable"]) == tracer["value"],
            "byteorder": sys.byteorder,
            "python": sys.version.split()[0],
            "started": time.time(),
        }
        path = os.path.join(folder, f"{host}-{owner}-{time.time_ns()}.counts")
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
        try:
            # A hole in the file would be filled when it is written to, and a full disk would then kill the program.
            os.posix_fallocate(descriptor, 0, size)
            mapped = mmap.mmap(descriptor, size)
        finally:
            os.close(descriptor)
        text = json.dumps(head).encode("ascii")
        mapped[: len(text)] = text
        return memoryview(mapped)[plan["head"] :].cast("Q")

    def count(site: int, raised: int, frame: FrameType | None) -> None:
        # The lines that add are one after the other without a chance for another thread in between.
        if getpid() != owner:
            begin(True)
        state = words[state_word]
        if state == started:
            phase = 2
        elif state == finalized:
            phase = 3
        else:
            phase = 1 if not in_import(frame) else 0
        word = first_word + site * ends + phase * 2 + raised
        words[word] += 1

    def count_broken(frame: FrameType) -> None:
        # An exception comes out of a function of the tracer's: a decorator's, if it holds a function that is counted.
        for name in frame.f_code.co_freevars:
            code: Any = getattr(frame.f_locals.get(name), "__code__", None)
            if code is None:
                continue
            sites = resolve(code.co_filename)
            site = sites.get((code.co_firstlineno, code.co_name)) if sites else None
            if site is not None:
                if getpid() != owner:
                    begin(True)
                word = first_word + (site + 1) * ends - 1
                words[word] += 1

    def in_import(frame: FrameType | None) -> bool:
        while frame is not None:
            if frame.f_code.co_name == "<module>" and frame.f_globals.get("__name__") != "__main__":
                return True
            frame = frame.f_back
        return False

    def advance(state: int) -> None:
        if getpid() != owner:
            begin(True)
        if words[state_word] == state - 1:
            words[state_word] = state

    # --- which code is counted ---

    def resolve(filename: str) -> Sites | None:
        sites = None
        if os.path.basename(filename) in names:
            sites = by_path.get(os.path.realpath(filename))
            if sites is None:
                sites = by_digest.get(digest(filename))  # an installed copy, say
        if sites is None and any(part in filename for part in tracer["paths"]):
            sites = the_tracers
        resolved[filename] = sites
        return sites

    def digest(filename: str) -> str:
        import hashlib

        try:
            with open(filename, "rb") as stream:
                return hashlib.sha256(stream.read()).hexdigest()
        except OSError:
            return ""

    # --- how ends of calls are noticed ---

    def profile() -> None:
        import dis
        import threading

        unknown: Any = object()
        instructions: dict[int, tuple[CodeType, bytes]] = {}

        def operation(frame: FrameType) -> str:
            code = frame.f_code
            known = instructions.get(id(code))
            if known is None or known[0] is not code:
                known = instructions[id(code)] = (code, code.co_code)
            return dis.opname[known[1][frame.f_lasti]]

        def is_suspended(frame: FrameType, last: str) -> bool:
            # Up to Python 3.10 a frame that awaits stands in front of the instruction by which it does.
            following = instructions[id(frame.f_code)][1][frame.f_lasti + 2 : frame.f_lasti + 3]
            return last in suspended or (bool(following) and dis.opname[following[0]] == "YIELD_FROM")

        def on_event(frame: FrameType, event: str, argument: Any) -> None:
            if event == "return":
                code = frame.f_code
                sites = resolved.get(code.co_filename, unknown)
                if sites is unknown:
                    sites = resolve(code.co_filename)
                if sites is None:
                    return
                if sites is the_tracers:
                    if argument is None:
                        returned = operation(frame).startswith("RETURN")
                        if code.co_name == tracer["initialize"] and returned:
                            advance(started)
                        if code.co_freevars and not returned:
                            count_broken(frame)
                    elif code.co_name == tracer["initialize"]:
                        advance(started)
                    return
                site = sites.get((code.co_firstlineno, code.co_name))
                if site is None:
                    return
                # None is given for "returned None" and for "raised": the instruction tells them apart.
                if argument is not None and not code.co_flags & suspendable:
                    count(site, 0, frame)
                    return
                last = operation(frame)
                if code.co_flags & suspendable and is_suspended(frame, last):
                    return
                count(site, 0 if last in ("RETURN_VALUE", "RETURN_CONST") else 1, frame)
            elif event == "call":
                code = frame.f_code
                if code.co_name == tracer["finalize"]:
                    sites = resolved.get(code.co_filename, unknown)
                    if (resolve(code.co_filename) if sites is unknown else sites) is the_tracers:
                        advance(finalized)

        installed = False
        internals: Any = threading
        bootstrap = internals.Thread._bootstrap_inner.__code__

        def on_audit(event: str, arguments: Any) -> None:
            if event != "sys.setprofile" or not installed:
                return
            of_thread = sys._getframe(1).f_code is bootstrap and internals._profile_hook is on_event
            if not of_thread:
                words[flags_word] |= disturbed

        sys.addaudithook(on_audit)
        threading.setprofile(on_event)
        sys.setprofile(on_event)
        installed = True

    def monitor() -> None:
        monitoring: Any = getattr(sys, "monitoring")  # noqa: B009 - there since 3.12
        events = monitoring.events
        tool = next((number for number in (3, 4, 2, 5, 1, 0) if monitoring.get_tool(number) is None), None)
        if tool is None:
            raise RuntimeError("every tool of sys.monitoring is taken")
        monitoring.use_tool_id(tool, "dfannotate")
        unknown: Any = object()
        disable = monitoring.DISABLE

        def sites_of(code: CodeType) -> Sites | None:
            sites = resolved.get(code.co_filename, unknown)
            return resolve(code.co_filename) if sites is unknown else sites

        def on_start(code: CodeType, offset: int) -> Any:
            if code.co_name != tracer["finalize"] or sites_of(code) is not the_tracers:
                return disable
            advance(finalized)
            return None

        def on_return(code: CodeType, offset: int, value: Any) -> Any:
            sites = sites_of(code)
            if sites is None:
                return disable
            if sites is the_tracers:
                if code.co_name != tracer["initialize"]:
                    return disable
                advance(started)
                return None
            site = sites.get((code.co_firstlineno, code.co_name))
            if site is None:
                return disable
            count(site, 0, sys._getframe(1))
            return None

        def on_unwind(code: CodeType, offset: int, error: BaseException) -> None:
            sites = sites_of(code)
            if sites is the_tracers:
                if code.co_freevars:
                    count_broken(sys._getframe(1))
            elif sites:
                site = sites.get((code.co_firstlineno, code.co_name))
                if site is not None:
                    count(site, 1, sys._getframe(1))

        monitoring.register_callback(tool, events.PY_START, on_start)
        monitoring.register_callback(tool, events.PY_RETURN, on_return)
        monitoring.register_callback(tool, events.PY_UNWIND, on_unwind)
        monitoring.set_events(tool, events.PY_START | events.PY_RETURN | events.PY_UNWIND)

    begin(False)
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        words[flags_word] |= threaded
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=lambda: begin(True))
    if hasattr(sys, "monitoring"):
        monitor()
    else:
        profile()


def failed(folder: str, message: str) -> None:
    """Leave word of what could not be counted, where that is possible."""
    try:
        with open(os.path.join(folder, f"{os.getpid()}.failed"), "a", encoding="utf-8") as stream:
            stream.write(message + "\n")
    except OSError:
        pass


def _make_way() -> None:
    """Leave everything as it would be without this module: the path, and the module of this name."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != here]
    this = sys.modules.pop(__name__)
    try:
        __import__(__name__)
    except ImportError as error:
        if error.name != __name__:
            raise
        sys.modules[__name__] = this


if os.environ.get(VARIABLE):
    try:
        _install(os.environ[VARIABLE])
    except Exception as error:
        failed(os.environ[VARIABLE], f"the calls of process {os.getpid()} were not counted ({error!r})")
_make_way()
