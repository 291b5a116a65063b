"""The command line under test where it is killed, as fixtures."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dfannotate.cli.main import main

WRITES = frozenset({"os.rename", "os.remove", "os.mkdir", "os.chmod", "os.chown"})


def _killed(root: Path, moment: int, *arguments: str) -> bool:
    """The command in a fork of this process that is killed before its ``moment``-th change of the disk (0: before the
    first); whether it came that far."""
    pid = os.fork()
    if not pid:
        changes = 0
        top = str(root)

        def hook(event: str, details: tuple[Any, ...]) -> None:
            nonlocal changes
            if event in WRITES or (event == "open" and str(details[0]).startswith(top)):
                if changes == moment:
                    os.kill(os.getpid(), signal.SIGKILL)
                changes += 1

        code = 99
        try:
            sys.stdout = sys.stderr = io.StringIO()
            sys.addaudithook(hook)
            code = main(list(arguments))
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert code in (0, -signal.SIGKILL)
    return code != 0


SLOW = """
import os, sys, time
real = os.replace
def replace(*arguments):
    print(end=".", file=sys.stderr, flush=True)
    time.sleep(0.004)
    real(*arguments)
    time.sleep(0.004)
os.replace = replace
from dfannotate.cli.main import main
print(end=".", file=sys.stderr, flush=True)
sys.exit(main(sys.argv[1:]))
"""


def _kill_during(command: str, root: Path, moment: int, delay: float) -> None:
    """Kill the command once it has begun with so many replacements (0: once it is loaded), and a little later."""
    arguments = [sys.executable, "-c", SLOW, command, str(root)]
    with subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, bufsize=0) as process:
        assert process.stderr is not None
        for _ in range(moment + 1):
            process.stderr.read(1)
        time.sleep(delay)
        process.kill()


@pytest.fixture
def killed() -> Callable[..., bool]:
    """``killed(root, moment, *arguments)``: the command is killed before its ``moment``-th change of the disk."""
    return _killed


@pytest.fixture
def kill_during() -> Callable[[str, Path, int, float], None]:
    """``kill_during(command, root, moment, delay)``: the command is killed at about that time."""
    return _kill_during
