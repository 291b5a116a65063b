"""The helpers of the suite, as fixtures."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from dfannotate.cli.environment import without_tracer_variables
from dfannotate.cli.main import main
from dfannotate.vocabulary import ENV_ENABLE

settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")


@dataclass(frozen=True)
class Result:
    """What a call of the command line gave."""

    code: int
    out: str
    err: str


CORPUS = Path(__file__).parents[1] / "corpus"
PROGRAMS = CORPUS / "programs"
REWRITES = CORPUS / "rewrite"
DESCRIPTION = "program.json"
WITHOUT_TORCH = Path(__file__).parent / "without_torch"
"""For the path of programs that are to do without torch, which the tracer imports, for seconds, where it finds it."""
TRACES = CORPUS / "traces"
TIMEOUT = 600
"""Seconds that a program may take before it is taken for one that hangs; on a busy machine, importing torch is slow."""
LIBRARY = '''"""Reading."""
import os


def load(path):
    with open(path) as stream:
        return stream.read()
'''
"""A module with a function that is worth tracing."""
MANIFEST = ".dfannotate/manifest.json"
"""Below the root of a project."""


def run_for_real(
    command: Iterable[str | Path],
    cwd: Path,
    *,
    path: Iterable[Path] = (WITHOUT_TORCH,),
    environ: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a program as if nobody here were traced: of the tracer's variables it has those that are given, and
    ``path`` stands before all else that Python imports from."""
    here = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    variables = {
        **without_tracer_variables(os.environ),
        "PYTHONPATH": os.pathsep.join([*map(str, path), *here]),
        "PYTHONDONTWRITEBYTECODE": "1",
        **(environ or {}),
    }
    return subprocess.run(
        [*map(str, command)],
        cwd=cwd,
        env=variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )


def described(folder: Path) -> dict[str, Any]:
    """What a program of the corpus says about itself, or what the project around a rewrite case says of it: what starts
    it (``entry``), what its console scripts enter (``scripts``)."""
    path = folder / DESCRIPTION
    description: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return description


@dataclass(frozen=True)
class RealTrace:
    """A trace of the corpus, and what is known to be true about it (its ``expected.json``)."""

    folder: Path

    @property
    def name(self) -> str:
        return self.folder.name

    @cached_property
    def truth(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads((self.folder / "expected.json").read_text(encoding="utf-8"))
        return document

    @property
    def checks_failed(self) -> set[str]:
        """The checks that must fail on it; the truth gives the reason for each."""
        return set(self.truth["checks_failed"])

    @property
    def files(self) -> dict[str, dict[str, Any]]:
        """By the name of a trace file, what is true about it."""
        files: dict[str, dict[str, Any]] = self.truth["files"]
        return files


def files_of(folder: Path, *, own: bool = False) -> dict[str, bytes]:
    """Every file below a folder, as relative path and content; the tool's own state only where ``own``."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts and (own or ".dfannotate" not in path.parts)
    }


def sources_of(folder: Path) -> dict[str, bytes]:
    """The Python files among them."""
    return {name: data for name, data in files_of(folder).items() if name.endswith(".py")}


REAL_TRACES = [RealTrace(path.parent) for path in sorted(TRACES.glob("*/expected.json"))]
WriteTree = Callable[[Mapping[str, str | bytes]], Path]
RunCli = Callable[..., Result]
Git = Callable[..., str]


@pytest.fixture(params=REAL_TRACES, ids=lambda trace: trace.name)
def real_trace(request: pytest.FixtureRequest) -> RealTrace:
    """Each trace of the corpus in turn."""
    trace: RealTrace = request.param
    return trace


@pytest.fixture(scope="session", autouse=True)
def _interruptible() -> None:
    """What a script starts in its background ignores interrupts, and so would all that the tests start."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _untraced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests say themselves when tracing is on, and see no colour or configuration of the machine."""
    for name in (ENV_ENABLE, "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def write_tree(tmp_path: Path) -> WriteTree:
    """Write files, given as relative path to text or bytes (a path ending in ``/`` is a folder), below the test's own
    folder, which is returned. Text is written as it is, whatever its line endings."""

    def write(tree: Mapping[str, str | bytes]) -> Path:
        for name, content in tree.items():
            path = tmp_path / name
            if name.endswith("/"):
                path.mkdir(parents=True, exist_ok=True)
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
        return tmp_path

    return write


@pytest.fixture
def run_cli(capsys: pytest.CaptureFixture[str]) -> RunCli:
    """Call the command line in this process: ``run_cli("apply", path, "--diff")``."""

    def run(*arguments: str | os.PathLike[str]) -> Result:
        capsys.readouterr()
        code = main([os.fspath(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return run


@pytest.fixture
def git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Git:
    """Call git in the test's own folder, with none of the machine's configuration."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)

    def call(*arguments: str, cwd: Path = tmp_path, stdin: bytes = b"", check: bool = True) -> str:
        identity = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
        done = subprocess.run(["git", *identity, *arguments], cwd=cwd, input=stdin, capture_output=True, check=check)
        return os.fsdecode(done.stdout)

    return call
