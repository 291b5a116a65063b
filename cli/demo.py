"""``dfannotate demo``: the whole loop on a bundled program that knows nothing of tracing.

Every part is checked: the annotated program must print what it printed before, with tracing off and on, the trace must
hold the calls that the program's own numbers say there were, and revert must give the same bytes back.
"""

from __future__ import annotations

import contextlib
import difflib
import io
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dfannotate.cli.environment import without_tracer_variables
from dfannotate.cli.show import UserError
from dfannotate.cli.state import FOLDER, MANIFEST_NAME
from dfannotate.cli.traced import find_tracer
from dfannotate.manifest import ManifestError
from dfannotate.vocabulary import INSTALL_HINT, MODULE

SOURCE = Path(__file__).parent / "demo_program"
PACKAGE = "tinytrain"

EPOCHS = 3
SHARDS = 8
ROWS = 200
WORKERS = 2
BATCH = 50
_BATCHES = EPOCHS * SHARDS * (ROWS // BATCH)

EXPECTED: Mapping[str, int] = {
    "data:write_shard": SHARDS,
    "data:ShardDataset.__getitem__": EPOCHS * SHARDS + SHARDS,  # in the children, and once more to evaluate
    "loader:read_shards": EPOCHS * WORKERS,
    "metrics:append_line": 2 * _BATCHES,
    "checkpoint:save_checkpoint": EPOCHS,
    "checkpoint:load_checkpoint": 1,
}
"""Events that the trace must hold, worked out from the numbers above and not from any trace."""

SHOWN = f"{PACKAGE}/checkpoint.py"
OK, NO, NOT_DONE = 0, 1, 2


class PartFailed(Exception):
    """A part of the demo went wrong; the message says how."""


@dataclass(frozen=True)
class Folders:
    """Where everything lies: the program, annotated; a copy, reverted; the outputs of the runs; the traces."""

    top: Path

    @property
    def program(self) -> Path:
        return self.top / "program"

    @property
    def reverted(self) -> Path:
        return self.top / "reverted"

    @property
    def traces(self) -> Path:
        return self.top / "traces"

    @property
    def manifest(self) -> Path:
        return self.program / FOLDER / MANIFEST_NAME

    def output(self, name: str) -> Path:
        return self.top / f"output-{name}"


def demo(*, keep: Path | None, quiet: bool) -> int:
    """Annotate, run, verify and revert the bundled program. Everything is left in ``keep``, which must be new or
    empty, or thrown away. Returns 0 if every part went well, 1 if one did not, 2 if there is no tracer or the folder
    cannot be used."""
    tracer = find_tracer(sys.executable)
    if tracer is not None and not (tracer.python and tracer.native):
        raise UserError(f"{sys.executable} has no {MODULE}; the demo really traces, so install it: {INSTALL_HINT}")
    top = _top_folder(keep)
    folders = Folders(top)
    started = time.monotonic()
    done = 0
    parts: list[tuple[str, Callable[[], None]]] = []
    demonstration = _Demo(folders, quiet)
    parts = [
        ("a program that was not written for tracing", demonstration.run_as_it_is),
        ("apply", demonstration.apply),
        ("the annotated program, not traced", demonstration.run_untraced),
        ("run", demonstration.run_traced),
        ("verify", demonstration.verify),
        ("revert", demonstration.revert),
    ]
    for number, (part, go) in enumerate(parts, start=1):
        demonstration.say(f"\n== {number}/{len(parts)} {part}")
        try:
            go()
        except (PartFailed, UserError, ManifestError, OSError, subprocess.SubprocessError) as error:
            print(f"dfannotate demo: part {number}, {part}, failed: {error}", file=sys.stderr)
            print(f"dfannotate demo: everything is left in {top} to look at", file=sys.stderr)
            return NO
        done += 1
    seconds = time.monotonic() - started
    demonstration.say("")
    print(f"demo: all {done} parts went well, in {seconds:.1f} s")
    if keep is None:
        shutil.rmtree(top, ignore_errors=True)
        demonstration.say("To keep the annotated program and its trace: dfannotate demo --keep DIR")
    else:
        shown = shlex.quote(str(keep))
        demonstration.say(f"{'annotated program':<18} {keep / 'program' / PACKAGE}")
        demonstration.say(f"{'what was done':<18} {keep / 'program' / FOLDER / MANIFEST_NAME}")
        demonstration.say(f"{'trace':<18} dfannotate verify {shown}/traces")
    demonstration.say("Your own program:  dfannotate apply --diff PATH shows what would change, and changes nothing")
    return OK


class _Demo:
    """The parts, in order; what one learns the next ones need."""

    def __init__(self, folders: Folders, quiet: bool) -> None:
        self.folders = folders
        self.quiet = quiet
        self.environ = without_tracer_variables(os.environ)
        self.printed = ""
        self.original: dict[str, bytes] = {}

    def say(self, text: str) -> None:
        if not self.quiet:
            print(text, flush=True)

    def run_as_it_is(self) -> None:
        shutil.copytree(SOURCE, self.folders.program, ignore=shutil.ignore_patterns("__pycache__"))
        self.original = _files(self.folders.program)
        lines = sum(content.count(b"\n") for name, content in self.original.items() if name.endswith(".py"))
        modules = sum(name.endswith(".py") for name in self.original)
        self.say(f"{PACKAGE}: {modules} modules, {lines} lines; child processes, a checkpoint, asyncio, inheritance")
        self.printed = self._run("before", ()).stdout
        self.say(_indented(self.printed))

    def apply(self) -> None:
        from dfannotate.cli.apply import ApplyOptions, apply
        from dfannotate.cli.config import Config

        self._command("apply", self.folders.program)
        options = ApplyOptions(
            paths=(self.folders.program,),
            check=False,
            diff=False,
            include=(),
            exclude=(),
            entry=(),
            category="module",
            target=None,
            manifest=self.folders.manifest,
            jobs=None,
            allow_dirty=True,
            output="text",
            quiet=self.quiet,
        )
        self._call(lambda: apply(options, Config()))
        before = self.original[SHOWN].decode().splitlines()
        after = (self.folders.program / SHOWN).read_text(encoding="utf-8").splitlines()
        if before == after:
            raise PartFailed(f"nothing was annotated in {SHOWN}")
        self.say(f"for example, {SHOWN}:")
        diff = [
            line for line in difflib.unified_diff(before, after, lineterm="", n=1) if line[:3] not in ("---", "+++")
        ]
        self.say(_indented("\n".join(diff)))

    def run_untraced(self) -> None:
        before = _files(self.folders.program)
        self._compare(self._run("untraced", ()))
        if _files(self.folders.program) != before:
            raise PartFailed("it left something in its working directory")
        self.say("it prints what it printed before, and leaves nothing in its working directory")

    def run_traced(self) -> None:
        shown = ("run", "--trace-dir", str(self.folders.traces))
        self._command(*shown, "--", "python", "-m", PACKAGE, "...")
        quiet = ("--quiet",) if self.quiet else ()
        self._compare(self._run("traced", (sys.executable, "-m", "dfannotate", *shown, *quiet, "--")))
        self.say("it prints what it printed before")

    def verify(self) -> None:
        from dfannotate.cli.verify import verify

        expect = tuple(f"{event}={count}" for event, count in EXPECTED.items())
        flags = [word for text in expect for word in ("--expect", text)]
        self._command("verify", self.folders.traces, "--manifest", self.folders.manifest, *flags)
        self._call(
            lambda: verify(
                self.folders.traces,
                manifest=self.folders.manifest,
                expect=expect,
                output="text",
                quiet=self.quiet,
            )
        )

    def revert(self) -> None:
        from dfannotate.cli.config import Config
        from dfannotate.cli.revert import RevertOptions, revert

        # A copy is reverted, so that the annotated program is there to look at.
        shutil.copytree(self.folders.program, self.folders.reverted)
        self._command("revert", self.folders.reverted)
        options = RevertOptions(
            paths=(self.folders.reverted,),
            check=False,
            diff=False,
            manifest=self.folders.reverted / FOLDER / MANIFEST_NAME,
            allow_dirty=True,
            output="text",
            quiet=self.quiet,
        )
        self._call(lambda: revert(options, Config()))
        after = _files(self.folders.reverted)
        for name in sorted(self.original.keys() | after.keys()):
            if self.original.get(name) != after.get(name):
                raise PartFailed(f"{self.folders.reverted / name} is not what it was before apply")
        self.say("every file has the bytes that it had before")

    def _run(self, name: str, before: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """Run the program, with the command of ``before`` in front, from its own folder."""
        sizes = ("--epochs", str(EPOCHS), "--shards", str(SHARDS), "--rows", str(ROWS), "--workers", str(WORKERS))
        command = [sys.executable, "-B", "-m", PACKAGE, str(self.folders.output(name)), *sizes]
        ended = subprocess.run(
            [*before, *command],
            cwd=self.folders.program,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )
        if ended.stderr and not self.quiet:
            print(_indented(ended.stderr), file=sys.stderr, flush=True)
        if ended.returncode:
            last = ended.stderr.strip().splitlines()[-1:]
            raise PartFailed(f"{PACKAGE} ended with exit code {ended.returncode}: {' '.join(last)}")
        return ended

    def _compare(self, ended: subprocess.CompletedProcess[str]) -> None:
        if ended.stdout != self.printed:
            diff = difflib.unified_diff(
                self.printed.splitlines(), ended.stdout.splitlines(), "before", "now", lineterm=""
            )
            raise PartFailed("it does not print what it printed before:\n" + "\n".join(diff))

    def _command(self, *words: object) -> None:
        self.say("$ dfannotate " + shlex.join(map(str, words)))

    def _call(self, command: Callable[[], int]) -> None:
        """Call one of the tool's own commands, its results shown unless quiet."""
        results = io.StringIO()
        with contextlib.redirect_stdout(results):
            code = command()
        if code == 0:
            if results.getvalue():
                self.say(_indented(results.getvalue()))
            return
        raise PartFailed(f"exit code {code}\n{results.getvalue()}")


def _top_folder(keep: Path | None) -> Path:
    if keep is None:
        return Path(tempfile.mkdtemp(prefix="dfannotate-demo-"))
    try:
        keep.mkdir(parents=True, exist_ok=True)
        if any(keep.iterdir()):
            raise UserError(f"{keep}: not empty; name a new folder")
    except OSError as error:
        raise UserError(f"{keep}: {error.strerror}; name a new folder") from None
    return keep.absolute()


def _files(folder: Path) -> dict[str, bytes]:
    """Every file of the program by its path, with ``/``; not what the tool keeps beside it."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and FOLDER not in path.relative_to(folder).parts
    }


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.rstrip().splitlines())
