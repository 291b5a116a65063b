"""Counts the calls of a program's own functions, in every process and thread that it starts, without any tracer.

Python imports this module at start when its folder is on PYTHONPATH, in children as well. Each end of a call is one
line in a file of the process, written at once: nothing is lost however the process ends.
"""

from __future__ import annotations

import dis
import inspect
import os
import sys
import threading
from types import CodeType, FrameType
from typing import Any

_ROOT = os.environ.get("COUNTED_ROOT", "")
_OUT = os.environ.get("COUNTS_FOLDER", "")
_RETURNS = frozenset({"RETURN_VALUE", "RETURN_CONST"})
_RAISES = frozenset({"RAISE_VARARGS", "RERAISE"})
# Their frames are left at every yield: they have no one call that begins and ends.
_SUSPENDED = inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR

# By id, with the code kept alive: two functions with the same text are equal as code objects.
_known: dict[int, tuple[CodeType, str | None, bytes]] = {}
_file: tuple[int, int] = (-1, -1)


def _descriptor() -> int:
    """The counts file of this process, a new one after a fork."""
    global _file
    pid = os.getpid()
    if _file[0] != pid:
        _file = (pid, os.open(f"{_OUT}/{pid}", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644))
    return _file[1]


def _remember(code: CodeType) -> tuple[CodeType, str | None, bytes]:
    path = os.path.abspath(code.co_filename)
    counted = path.startswith(_ROOT + os.sep) and not code.co_flags & _SUSPENDED
    name = f"{os.path.relpath(path, _ROOT)}\t{code.co_firstlineno}\t{code.co_name}" if counted else None
    known = (code, name, code.co_code if counted else b"")
    _known[id(code)] = known
    return known


def _on_event(frame: FrameType, event: str, argument: Any) -> None:
    if event != "return":
        return
    code = frame.f_code
    _, name, instructions = _known.get(id(code)) or _remember(code)
    if name is None:
        return
    # None is given for "returned None" and for "raised": the instruction that the frame stopped at tells them apart.
    operation = dis.opname[instructions[frame.f_lasti]]
    returned = argument is not None or operation in _RETURNS
    if code.co_flags & inspect.CO_COROUTINE:  # left at every await too, with whatever is awaited
        returned = operation in _RETURNS
        if not returned and operation not in _RAISES:
            return
    os.write(_descriptor(), f"{'returned' if returned else 'raised'}\t{name}\n".encode())


if _ROOT and _OUT:
    threading.setprofile(_on_event)
    sys.setprofile(_on_event)
