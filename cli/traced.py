"""``dfannotate run``: a command run with every variable that the tracer needs.

The tracer is never imported here: the command's own interpreter loads it.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from dfannotate.analysis.audit import FOLDER as AUDIT_FOLDER
from dfannotate.cli.audit import AuditError, Plan, find_manifest, make_plan, prepare
from dfannotate.cli.environment import environment_problems
from dfannotate.cli.show import printable
from dfannotate.cli.state import TRACES_NAME, project_root, state_folder
from dfannotate.manifest import ManifestError
from dfannotate.vocabulary import (
    DEBUG_LOG,
    ENABLE_VALUE,
    ENV_DATA_DIR,
    ENV_ENABLE,
    ENV_LOG_FILE,
    ENV_METADATA,
    GENERATIONS,
    INITIALIZE,
    INSTALL_HINT,
    MINIMUM_EVENTS,
    MODULE,
    NATIVE_MODULE,
    TRACE_SUFFIX,
    TRACE_SUFFIX_GZIP,
    TRACER_PACKAGE,
)

PREFIX = "trace"

NOT_DONE = 2
NOT_EXECUTABLE = 126
NOT_FOUND = 127

# A command that is stopped from outside (a batch system, kill) must stop too, and must get the time to finalize its
# trace; USR1 and USR2 are what batch systems announce the end of a job with.
_FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_FROM_KEYBOARD = (signal.SIGINT, signal.SIGQUIT)

_PYTHON = re.compile(r"(python|pypy)[0-9.]*t?")
_FIND_TRACER = """
import importlib.util, sys
def there(name):
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:
        return False
whole = any(there(name) for name in {whole})
print("{mark}", whole or there("{module}"), whole or there("{native}"))
"""
# In releases before 2.0 one module is both halves.
_WHOLE = sorted(
    {
        generation.module
        for generation in GENERATIONS
        if generation.enabled == ENV_ENABLE and generation.module != MODULE
    }
)
_FIND_MARK = "dfannotate-tracer:"


class TraceFolderError(Exception):
    """The folder for the traces cannot be used; the message says why and what to do."""


@dataclass(frozen=True)
class Tracer:
    """Which halves of the tracer an interpreter finds: the Python half and the native half."""

    python: bool
    native: bool


@dataclass(frozen=True)
class Written:
    """The trace files of a run: how many, how many of them with nothing in it, and their bytes together."""

    files: int
    empty: int
    size: int


def run(
    command: Sequence[str],
    *,
    trace_dir: Path | None,
    quiet: bool,
    audit: bool = False,
    manifest: Path | None = None,
) -> int:
    """Run ``command`` traced, with this process's standard streams, and return its exit code.

    With ``audit``, the calls of the functions that the manifest names are counted beside, and the counts left in the
    folder of the traces.

    A command that a signal kills returns 128 + the signal's number, one that is not found 127, one that cannot be
    executed 126, as in a shell. Returns 2, without running anything, where the folder for the traces is not empty or
    cannot be made, where the command's interpreter has no tracer, or where an audit has nothing to count."""
    if not command:
        _say("error", "no command to run; write it after --: dfannotate run -- python train.py")
        return NOT_DONE
    where = shutil.which(command[0])
    if where is None:
        return _not_runnable(command[0])
    if not _tracer_there(where, command, quiet=quiet):
        return NOT_DONE

    plan: Plan | None = None
    if audit:
        try:
            plan = make_plan(*find_manifest(manifest, list(command)))
        except (AuditError, ManifestError) as error:
            _say("error", str(error))
            return NOT_DONE
        for remark in plan.remarks:
            _say("warning", remark)

    prefix = os.environ.get(ENV_LOG_FILE)
    made: Path | None = None
    try:
        if prefix is None:
            made = new_trace_folder(trace_dir)
            folder = made
        else:
            folder = Path(prefix).absolute().parent
        counters = prepare(folder, plan) if plan is not None else {}
    except (TraceFolderError, AuditError) as error:
        _say("error", str(error))
        return NOT_DONE

    environ = {**traced_environment(folder, os.environ), **counters}
    if plan is not None and ENV_DATA_DIR not in os.environ:
        # Or the files of the counters would count among those that the program touches.
        environ[ENV_DATA_DIR] = str(folder.absolute() / PREFIX)
    if not quiet:
        for name in (ENV_ENABLE, ENV_LOG_FILE, ENV_DATA_DIR, ENV_METADATA):
            if name in os.environ:
                _say("note", f"{name} is set already and stays {os.environ[name]!r}")
    for problem in environment_problems(environ):
        _say("warning", f"{problem.name}={problem.value}: {problem.message}")
    if not os.access(Path.cwd(), os.W_OK):
        _say(
            "warning",
            f"the working directory {Path.cwd()} is read-only: {INITIALIZE} opens {DEBUG_LOG} there and fails; "
            "run the command from a folder that can be written",
        )

    stem = PREFIX if prefix is None else Path(prefix).name
    before = _listing(folder, stem)
    debug_log = Path.cwd() / DEBUG_LOG
    had_debug_log = debug_log.exists()
    try:
        code = _launch(command, environ)
    except OSError as error:
        if made is not None:
            if plan is not None:
                shutil.rmtree(made / AUDIT_FOLDER, ignore_errors=True)
            with contextlib.suppress(OSError):
                made.rmdir()
        return _not_startable(command[0], where, error)
    if not had_debug_log:
        _remove_if_empty(debug_log)
    after = _listing(folder, stem)
    _report(folder, [size for path, (size, at) in after.items() if before.get(path) != (size, at)], quiet=quiet)
    return code


def traced_environment(folder: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """``environ`` with the variables that make a command leave its traces in ``folder``; one that is set stays.

    File accesses are not recorded unless ``DFTRACER_DATA_DIR`` is set: the library compares the text of a path as the
    program wrote it, so a folder as default would catch absolute spellings and miss relative ones, and a count that
    is half true is worse than none. The trace folder itself stands for "no file that the program touches"."""
    return {
        ENV_ENABLE: ENABLE_VALUE,
        ENV_LOG_FILE: str(folder.absolute() / PREFIX),
        ENV_DATA_DIR: str(folder.absolute()),
        ENV_METADATA: ENABLE_VALUE,
        **environ,
    }


def new_trace_folder(wanted: Path | None) -> Path:
    """Make the folder for the traces of one run: ``wanted``, or one named by the time under the project's state.

    Raises ``TraceFolderError`` where it is not empty, not a folder, or cannot be made."""
    if wanted is not None:
        try:
            wanted.mkdir(parents=True, exist_ok=True)
            if any(wanted.iterdir()):
                raise TraceFolderError(f"{wanted}: not empty; traces of two runs must not mix, name a new folder")
        except FileExistsError:
            raise TraceFolderError(f"{wanted}: not a folder; name a new one with --trace-dir") from None
        except OSError as error:
            raise TraceFolderError(f"{wanted}: {error.strerror}; name another folder with --trace-dir") from None
        return wanted
    root = project_root(Path.cwd())
    try:
        traces = state_folder(root) / TRACES_NAME
        traces.mkdir(exist_ok=True)
        stamp = time.strftime("%Y%m%d-%H%M%S")
        for number in range(1, 1000):  # two runs may start within one second
            folder = traces / (stamp if number == 1 else f"{stamp}-{number}")
            try:
                folder.mkdir()
            except FileExistsError:
                continue
            return folder
    except OSError as error:
        reason = f"{error.filename}: {error.strerror}"
        raise TraceFolderError(f"no folder for the traces ({reason}); name one with --trace-dir") from None
    raise TraceFolderError(f"{traces}: too many runs in one second; name a folder with --trace-dir")


def interpreter_of(path: str) -> str | None:
    """The Python interpreter that runs the command at ``path``: itself, or the one that its ``#!`` line names.
    ``None`` where the command is something else (a launcher, a shell script), whose Python cannot be known."""
    if _PYTHON.fullmatch(Path(path).name):
        return path
    try:
        with open(path, "rb") as stream:
            first, second = stream.readline(4096), stream.readline(4096)
    except OSError:
        return None
    if not first.startswith(b"#!"):
        return None
    words = os.fsdecode(first[2:]).split()[:3]  # "/usr/bin/python3 -E", "/usr/bin/env -S python3"
    # What installers write where the path has a space, or is long.
    if launched := re.match(r"""'''exec' (?:"([^"]+)"|(\S+))""", os.fsdecode(second)):
        words = [launched[1] or launched[2]]
    for word in words:
        if _PYTHON.fullmatch(Path(word).name):
            return shutil.which(word)
    return None


def find_tracer(interpreter: str) -> Tracer | None:
    """Ask ``interpreter``, in a process of its own, which halves of the tracer it finds; nothing is imported beyond
    the packages above them. ``None`` where it does not answer."""
    program = _FIND_TRACER.format(mark=_FIND_MARK, module=MODULE, native=NATIVE_MODULE, whole=_WHOLE)
    try:
        answer = subprocess.run(
            [interpreter, "-c", program], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    for line in answer.stdout.splitlines():
        if line.startswith(_FIND_MARK):
            python, native = line.split()[1:]
            return Tracer(python == "True", native == "True")
    return None


def _tracer_there(where: str, command: Sequence[str], *, quiet: bool) -> bool:
    """Whether the command may run; says what is missing. Where the command's Python cannot be known, this one is
    asked, and its answer is only a warning: a launcher often brings an environment of its own."""
    interpreter = interpreter_of(where)
    tracer = find_tracer(interpreter or sys.executable)
    if tracer is None or (tracer.python and tracer.native):
        return True
    name = interpreter or sys.executable
    if not tracer.python:
        lack = f"{name} has no {MODULE}"
    else:
        lack = f"{name} has the Python half of {TRACER_PACKAGE} but not the native one, so it would record nothing"
    install = INSTALL_HINT if _same(name, sys.executable) else f"{shlex.quote(name)} -m {INSTALL_HINT}"
    if interpreter is not None:
        _say("error", f"{lack}; to trace, install it: {install}")
        return False
    if not quiet:
        _say("note", f"{lack}; where {command[0]} uses the same environment, install it: {install}")
    return True


def _same(one: str, other: str) -> bool:
    return os.path.abspath(one) == os.path.abspath(other)


def _launch(command: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run the command and wait for its end, whatever signals come meanwhile."""
    with _relayed_signals() as children:
        child = subprocess.Popen(command, env=environ)
        children.append(child)
        code = child.wait()
    return 128 - code if code < 0 else code


@contextlib.contextmanager
def _relayed_signals() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Pass signals on to the child that is put into the list, instead of dying before it.

    Ctrl-C in a terminal reaches the child by itself, being of the same process group, and a second one would break
    into its finalizing; without a terminal a SIGINT was meant for this process alone, and is passed on."""
    children: list[subprocess.Popen[bytes]] = []
    shared = _in_foreground_of_terminal()

    def relay(number: int, frame: FrameType | None) -> None:
        if shared and number in _FROM_KEYBOARD:
            return
        for child in children:
            child.send_signal(number)

    previous = {}
    for number in (*_FORWARDED, *_FROM_KEYBOARD):
        # What is ignored here (nohup, a shell's background job) is to stay ignored, in the child as well.
        if signal.getsignal(number) is not signal.SIG_IGN:
            with contextlib.suppress(ValueError):  # not in the main thread: the embedding program sees to signals
                previous[number] = signal.signal(number, relay)
    try:
        yield children
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _in_foreground_of_terminal() -> bool:
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


def _listing(folder: Path, stem: str) -> dict[Path, tuple[int, int]]:
    """The trace files in a folder, each with its bytes and the time of its last change."""
    found = {}
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            if path.name.startswith(stem) and path.name.endswith((TRACE_SUFFIX, TRACE_SUFFIX_GZIP)):
                status = path.stat()
                found[path] = (status.st_size, status.st_mtime_ns)
    return found


def _report(folder: Path, sizes: Sequence[int], *, quiet: bool) -> None:
    written = Written(len(sizes), sizes.count(0), sum(sizes))
    shown = _short(folder)
    if not written.files:
        _say(
            "warning",
            f"no trace was written to {shown}: is the program annotated (dfannotate apply)? "
            f"A process that makes fewer than {MINIMUM_EVENTS} traced calls leaves none either",
        )
        return
    if written.empty:
        _say(
            "warning",
            f"{_count(written.empty, 'trace file')} of {written.files} with nothing in it: "
            "that process ended without finalizing its trace, or was killed",
        )
    if not quiet:
        _say("note", f"{_count(written.files, 'trace file')}, {written.size:,} bytes, in {shown}")
        _say("next", f"dfannotate verify {shlex.quote(shown)}")


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _short(path: Path) -> str:
    try:
        return str(path.absolute().relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def _remove_if_empty(path: Path) -> None:
    """Tracing opens this log in the working directory and, without the tracer's own debugging on, writes nothing."""
    with contextlib.suppress(OSError):
        if path.is_file() and path.stat().st_size == 0:
            path.unlink()


def _not_runnable(name: str) -> int:
    """Why nothing that can be executed was found under this name."""
    path = Path(name)
    if os.sep in name and path.is_dir():
        _say("error", f"{name}: is a directory")
        return NOT_EXECUTABLE
    if os.sep in name and path.exists():
        _say("error", f"{name}: not executable; chmod +x it, or name its interpreter: dfannotate run -- python {name}")
        return NOT_EXECUTABLE
    hint = f"; to run the file here: dfannotate run -- python {name}" if path.is_file() else ""
    _say("error", f"{name}: command not found{hint}")
    return NOT_FOUND


def _not_startable(name: str, where: str, error: OSError) -> int:
    if isinstance(error, FileNotFoundError):
        _say("error", f"{name}: the interpreter that the first line of {where} names is not there")
    else:
        _say("error", f"{name}: cannot be executed ({error.strerror}); does {where} begin with a #! line?")
    return NOT_EXECUTABLE


def _say(kind: str, message: str) -> None:
    print(f"dfannotate run: {kind}: {printable(message)}", file=sys.stderr, flush=True)
