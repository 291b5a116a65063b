"""The helpers of the suite, as fixtures."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import settings

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


WriteTree = Callable[[Mapping[str, str | bytes]], Path]
RunCli = Callable[..., Result]
Git = Callable[..., str]


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
