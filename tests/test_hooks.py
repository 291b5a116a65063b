"""The pre-commit hooks, run by pre-commit itself on a real repository, without a network."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Git, WriteTree

HOOKS = Path(__file__).resolve().parents[1] / ".pre-commit-hooks.yaml"
BROKEN = "from dftracer.python import dftracer\n\ndftracer.initialize_log(process_id=None)\n"
MENDED = BROKEN.replace("None", "-1")
ARGUMENTS = "--select, DFT104, --output-format, concise"


@pytest.fixture
def repository(write_tree: WriteTree, git: Git, tmp_path: Path) -> Path:
    """A repository of hooks, which holds ours with the one change that they run what is installed here instead of
    installing it, and beside it a repository that uses them."""
    text = HOOKS.read_text(encoding="utf-8").replace("language: python", "language: system")
    text = text.replace("entry: dfannotate", f"entry: '{sys.executable}' -m dfannotate")
    text = re.sub(r"entry: (.*)", lambda match: f'entry: "{match[1]}"', text)
    write_tree({"hooks/.pre-commit-hooks.yaml": text, "work/": ""})
    for name in ("hooks", "work"):
        git("init", "-q", cwd=tmp_path / name)
    git("add", ".", cwd=tmp_path / "hooks")
    git("commit", "-q", "-m", "Hooks", cwd=tmp_path / "hooks")
    return tmp_path / "work"


def configuration(hooks: Path, hook: str, git: Git) -> str:
    revision = git("rev-parse", "HEAD", cwd=hooks).strip()
    return f"repos:\n- repo: {hooks}\n  rev: {revision}\n  hooks:\n  - id: {hook}\n    args: [{ARGUMENTS}]\n"


def pre_commit(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PRE_COMMIT_HOME": str(folder.parent / "cache"), "PRE_COMMIT_COLOR": "never"}
    command = [sys.executable, "-m", "pre_commit", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("hook", ["dfannotate-lint", "dfannotate-lint-fix"])
def test_the_hooks_stop_a_commit_that_would_break_a_trace(
    hook: str, repository: Path, write_tree: WriteTree, git: Git
) -> None:
    write_tree(
        {
            "work/.pre-commit-config.yaml": configuration(repository.parent / "hooks", hook, git),
            "work/train.py": BROKEN,
            "work/clean.py": MENDED,
            "work/README.md": "dftracer.initialize_log(process_id=None)\n",
            "work/job.sbatch": "#!/bin/bash\nsrun python train.py\n",
        }
    )
    git("add", ".", cwd=repository)
    done = pre_commit(repository, "run")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "README" not in done.stdout
    after = (repository / "train.py").read_text()
    if hook == "dfannotate-lint":
        assert "train.py:3:36: DFT104 " in done.stdout
        assert after == BROKEN
    else:
        assert "files were modified by this hook" in done.stdout
        assert after == MENDED
    (repository / "train.py").write_text(MENDED)
    git("add", ".", cwd=repository)
    again = pre_commit(repository, "run")
    assert again.returncode == 0, again.stdout + again.stderr
    assert "Passed" in again.stdout


def test_the_hooks_see_python_and_launch_files_and_nothing_else(
    repository: Path, write_tree: WriteTree, git: Git
) -> None:
    """Each file would be a finding if it were passed on: its syntax is wrong, or it holds what is no variable."""
    broken = "import dftracer\n(\n"
    write_tree(
        {
            "work/.pre-commit-config.yaml": configuration(repository.parent / "hooks", "dfannotate-lint", git),
            **{f"work/{name}": broken for name in ("a.py", "stub.pyi", "notes.txt", "page.md", "data.json")},
        }
    )
    git("add", ".", cwd=repository)
    done = pre_commit(repository, "run")
    assert {line.partition(":")[0] for line in done.stdout.splitlines() if "DFT001" in line} == {"a.py", "stub.pyi"}


@pytest.mark.parametrize(
    ("name", "taken"),
    [
        ("train.py", True),
        ("pkg/stub.pyi", True),
        ("jobs/run.sh", True),
        ("jobs/run.sbatch", True),
        ("jobs/run.slurm", True),
        ("compose.yml", True),
        ("a/b.yaml", True),
        ("Dockerfile", True),
        ("docker/Dockerfile.gpu", True),
        ("gpu.dockerfile", True),
        (".env", True),
        ("deploy/.env.local", True),
        ("prod.env", True),
        ("README.md", False),
        ("Dockerfiles/readme", False),
        ("data.pyc", False),
        ("environment", False),
        ("run.shell", False),
    ],
)
def test_which_files_are_passed_on(name: str, taken: bool) -> None:
    pattern = re.search(r"files: &files (.*)", HOOKS.read_text(encoding="utf-8"))
    assert pattern is not None
    assert (re.search(pattern[1], name) is not None) is taken


def test_what_the_hooks_pass_on_is_what_lint_looks_for() -> None:
    from dfannotate.cli.lint_file import LAUNCH_SUFFIXES

    pattern = re.search(r"files: &files (.*)", HOOKS.read_text(encoding="utf-8"))
    assert pattern is not None
    assert all(re.search(pattern[1], f"name{suffix}") for suffix in LAUNCH_SUFFIXES)
