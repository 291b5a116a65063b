"""``revert``: the same bytes back, the user's edits kept, and what it says where it cannot."""

from __future__ import annotations

import errno
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dfannotate.cli import files
from dfannotate.cli import revert as revert_module
from dfannotate.codemods.revert import exact_text as undo_exactly
from dfannotate.manifest import load
from tests.conftest import LIBRARY, MANIFEST, Git, RunCli, WriteTree, files_of, sources_of

SCRIPT = LIBRARY + '\n\nif __name__ == "__main__": load(__file__)  # go\n'
MORE = "\n\ndef save(path):\n    open(path, 'w').write('')\n"
PROJECT: dict[str, str | bytes] = {
    "pyproject.toml": "",
    "train.py": SCRIPT,
    "pkg/__init__.py": "",
    "pkg/io.py": LIBRARY.replace("\n", "\r\n"),
    "pkg/latin.py": ("# coding: latin-1\n" + LIBRARY + "# é").encode("latin-1"),
}


def append(path: Path, text: str) -> None:
    with open(path, "ab") as stream:
        stream.write(text.encode())


ORIGINAL = {name: text.encode() if isinstance(text, str) else text for name, text in PROJECT.items() if name[-1] == "y"}


@pytest.fixture
def project(write_tree: WriteTree, run_cli: RunCli) -> Path:
    """The project, annotated."""
    root = write_tree(PROJECT)
    assert run_cli("apply", root).code == 0
    assert sum(b"dftracer" in data for data in sources_of(root).values()) == 3
    return root


# --- what it does -----------------------------------------------------------------------------------------------------


def test_the_same_bytes_and_no_manifest(project: Path, run_cli: RunCli) -> None:
    (project / "train.py").chmod(0o755)
    result = run_cli("revert", project)
    assert result.code == 0
    assert sources_of(project) == ORIGINAL
    assert (project / "train.py").stat().st_mode & 0o777 == 0o755
    assert set(files_of(project, own=True)) == {*PROJECT, ".dfannotate/.gitignore"}
    assert [line.split()[0] for line in result.out.splitlines()] == ["reverted"] * 3
    assert result.err == "3 files reverted, 0 failed\n"


def test_apply_and_revert_again_and_again(project: Path, run_cli: RunCli) -> None:
    annotated = files_of(project, own=True)
    for _ in range(2):
        run_cli("revert", project)
        run_cli("apply", project)
        assert files_of(project, own=True) == annotated


@pytest.mark.parametrize("flags", [["--check"], ["--diff"], ["--check", "--diff"]], ids=" ".join)
def test_looking_writes_nothing(project: Path, run_cli: RunCli, flags: list[str]) -> None:
    before = files_of(project, own=True)
    assert run_cli("revert", project, *flags).code == (1 if "--check" in flags else 0)
    assert files_of(project, own=True) == before


@pytest.mark.parametrize("more", ["", MORE, MORE.rstrip()], ids=["as-written", "edited-since", "no-final-newline"])
def test_the_diff_is_what_revert_does(project: Path, run_cli: RunCli, more: str) -> None:
    append(project / "train.py", more)
    diff = run_cli("revert", project / "train.py", "--diff").out
    subprocess.run(["git", "apply", "-p0", "-"], cwd=project, input=diff.encode(), check=True)
    assert (project / "train.py").read_text() == SCRIPT + more


def test_the_diff_of_a_file_whose_last_line_is_open(write_tree: WriteTree, run_cli: RunCli) -> None:
    root = write_tree({"pyproject.toml": "", "train.py": SCRIPT.rstrip("\n")})
    run_cli("apply", root)
    diff = run_cli("revert", root, "--diff").out
    subprocess.run(["git", "apply", "-p0", "-"], cwd=root, input=diff.encode(), check=True)
    assert (root / "train.py").read_text() == SCRIPT.rstrip("\n")


def test_a_part(project: Path, run_cli: RunCli) -> None:
    assert run_cli("revert", project / "pkg").code == 0
    now = sources_of(project)
    assert {name for name in now if now[name] != ORIGINAL[name]} == {"train.py"}
    assert [entry.path for entry in load(project / MANIFEST).files] == ["train.py"]
    assert run_cli("revert", project / "train.py").code == 0
    assert sources_of(project) == ORIGINAL


def test_json(project: Path, run_cli: RunCli) -> None:
    append(project / "train.py", MORE)
    append(project / "pkg/latin.py", "\n(\n")
    (project / "pkg/io.py").unlink()
    looked = run_cli("revert", project, "--format", "json", "--diff", "--quiet")
    result = run_cli("revert", project, "--format", "json", "--quiet")
    assert result.code == looked.code == 2
    document = json.loads(result.out)
    assert list(document) == ["ok", "changed", "gone", "errors"]
    assert document["ok"] is False
    assert document["changed"] == [{"path": "train.py", "how": "structure"}]
    assert document["gone"] == ["pkg/io.py"]
    [error] = document["errors"]
    assert list(error) == ["path", "line", "column", "message"]
    assert error["path"] == "pkg/latin.py"
    assert list(json.loads(looked.out)["diff"]) == ["train.py"]


def test_the_manifest_elsewhere(write_tree: WriteTree, run_cli: RunCli) -> None:
    root = write_tree(PROJECT)
    run_cli("apply", root, "--manifest", root / "m.json")
    assert run_cli("revert", root).code == 2
    assert run_cli("revert", root, "--manifest", root / "m.json").code == 0
    assert sources_of(root) == ORIGINAL
    assert not (root / "m.json").exists()


# --- edited since -----------------------------------------------------------------------------------------------------

EDITS: dict[str, tuple[Callable[[str], str], Callable[[str], str]]] = {
    "appended": (lambda text: text + MORE, lambda text: text + MORE),
    "prepended": (lambda text: "# new\n" + text, lambda text: "# new\n" + text),
    "renamed": (lambda text: text.replace("load", "read_all"), lambda text: text.replace("load", "read_all")),
    "by-hand-out": (
        lambda text: text.replace("@_dft.log\n", ""),
        lambda text: text,
    ),
    "import-sorted": (
        lambda text: text.replace("import os\n", "", 1) + "\nimport os\n",
        lambda text: text.replace("import os\n", "", 1) + "\nimport os\n",
    ),
}


@pytest.mark.parametrize(("edit", "expected"), EDITS.values(), ids=EDITS)
def test_edits_stay(
    write_tree: WriteTree, run_cli: RunCli, edit: Callable[[str], str], expected: Callable[[str], str]
) -> None:
    root = write_tree({"pyproject.toml": "", "a.py": LIBRARY})
    run_cli("apply", root)
    (root / "a.py").write_text(edit((root / "a.py").read_text()))
    result = run_cli("revert", root)
    assert result.code == 0
    assert "edited since; your edits stay" in result.out
    assert (root / "a.py").read_text() == expected(LIBRARY)


def test_a_file_that_was_put_back_by_hand(project: Path, run_cli: RunCli) -> None:
    (project / "train.py").write_text(SCRIPT)
    (project / "pkg/io.py").write_text("x = 1\n")
    result = run_cli("revert", project)
    assert result.code == 0
    assert [line.rpartition("/")[2] for line in result.out.splitlines()] == ["latin.py"]
    assert (project / "pkg/io.py").read_text() == "x = 1\n"
    assert not (project / MANIFEST).exists()


def test_a_file_that_no_longer_parses(project: Path, run_cli: RunCli) -> None:
    append(project / "train.py", "\nx = (\n")
    before = sources_of(project)["train.py"]
    result = run_cli("revert", project)
    assert result.code == 2
    assert f"error: {project}/train.py:" in result.err
    assert "not Python" in result.err
    assert sources_of(project) == {**ORIGINAL, "train.py": before}
    assert [entry.path for entry in load(project / MANIFEST).files] == ["train.py"]
    # Put right, it can be reverted.
    (project / "train.py").write_bytes(before.removesuffix(b"x = (\n"))
    assert run_cli("revert", project).code == 0
    assert (project / "train.py").read_text() == SCRIPT + "\n"


def test_a_file_that_is_gone(project: Path, run_cli: RunCli) -> None:
    (project / "pkg/io.py").unlink()
    result = run_cli("revert", project)
    assert result.code == 0
    assert f"warning: {project}/pkg/io.py: annotated, but not there any more" in result.err
    assert not (project / MANIFEST).exists()
    assert not (project / "pkg/io.py").exists()


def test_a_file_that_was_moved(project: Path, run_cli: RunCli) -> None:
    (project / "lib").mkdir()
    (project / "pkg/io.py").rename(project / "lib/reading.py")
    result = run_cli("revert", project)
    assert result.code == 0
    assert f"reverted {project}/lib/reading.py" in result.out
    assert (project / "lib/reading.py").read_bytes() == ORIGINAL["pkg/io.py"]
    assert not (project / MANIFEST).exists()


def test_an_undo_that_does_not_lead_back_is_not_believed(project: Path, run_cli: RunCli) -> None:
    """A manifest that was tampered with: what it would put in place is held against the hash from before."""
    document = json.loads((project / MANIFEST).read_bytes())
    for entry in document["files"]:
        for undo in entry.get("undo", ()):
            undo["before"] = "import os; os.remove('x')\n"
    (project / MANIFEST).write_text(json.dumps(document))
    assert run_cli("revert", project).code == 0
    assert sources_of(project)["pkg/io.py"] == ORIGINAL["pkg/io.py"]
    assert not [name for name, data in sources_of(project).items() if b"remove" in data or b"dftracer" in data]


# --- bad input --------------------------------------------------------------------------------------------------------


def test_no_manifest(write_tree: WriteTree, run_cli: RunCli) -> None:
    root = write_tree(PROJECT)
    result = run_cli("revert", root)
    assert result.code == 2
    assert f"{root}/{MANIFEST}: no manifest, so nothing is known to be annotated here (see --manifest)" in result.err
    assert sources_of(root) == ORIGINAL


def test_a_path_that_is_not_there(project: Path, run_cli: RunCli) -> None:
    before = files_of(project, own=True)
    result = run_cli("revert", project / "nothing.py")
    assert result.code == 2
    assert f"error: {project}/nothing.py: no such file or folder" in result.err
    assert files_of(project, own=True) == before
    result = run_cli("revert", project / "nothing.py", project / "pkg")
    assert result.code == 2
    assert sources_of(project)["pkg/io.py"] == ORIGINAL["pkg/io.py"]


def test_a_part_where_nothing_is_annotated(project: Path, run_cli: RunCli) -> None:
    (project / "docs").mkdir()
    before = files_of(project, own=True)
    result = run_cli("revert", project / "docs")
    assert result.code == 0
    assert "0 files reverted" in result.err
    assert files_of(project, own=True) == before


def test_a_read_only_file(project: Path, run_cli: RunCli) -> None:
    (project / "train.py").chmod(0o444)
    result = run_cli("revert", project)
    assert result.code == 2
    assert f"{project}/train.py: the file is read-only; make it writable (chmod u+w)" in result.err
    assert [entry.path for entry in load(project / MANIFEST).files] == ["train.py"]
    (project / "train.py").chmod(0o644)
    assert run_cli("revert", project).code == 0
    assert sources_of(project) == ORIGINAL


@pytest.mark.parametrize("where", ["train.py", "manifest.json"])
def test_a_full_disk(project: Path, run_cli: RunCli, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    real = os.replace

    def full(source: Any, target: Any) -> None:
        if os.fspath(target).endswith(where):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(source, target)

    monkeypatch.setattr(os, "replace", full)
    result = run_cli("revert", project / "pkg", project / "train.py" if where == "train.py" else project / "pkg")
    assert result.code == 2
    assert f"{where}: cannot be written: No space left on device" in result.err
    assert sources_of(project)["pkg/io.py"] == ORIGINAL["pkg/io.py"]
    monkeypatch.undo()
    assert run_cli("revert", project).code == 0
    assert sources_of(project) == ORIGINAL


def test_a_file_that_changes_in_the_meantime(project: Path, run_cli: RunCli, monkeypatch: pytest.MonkeyPatch) -> None:
    real = files.locked

    def locked(folder: Path) -> Any:
        append(project / "train.py", "x = 1\n")
        return real(folder)

    monkeypatch.setattr(files, "locked", locked)
    result = run_cli("revert", project)
    assert result.code == 2
    assert f"{project}/train.py: changed while dfannotate was at work" in result.err
    monkeypatch.undo()
    assert [entry.path for entry in load(project / MANIFEST).files] == ["train.py"]
    assert run_cli("revert", project).code == 0
    assert sources_of(project)["train.py"] != ORIGINAL["train.py"]
    assert b"x = 1\n" in sources_of(project)["train.py"]


def test_an_internal_error_is_the_fault_of_one_file(
    project: Path, run_cli: RunCli, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = undo_exactly

    def exact_text(source: Any, entry: Any) -> Any:
        if source.path == "train.py":
            raise AssertionError("unthinkable")
        return real(source, entry)

    monkeypatch.setattr(revert_module, "exact_text", exact_text)
    result = run_cli("revert", project)
    assert result.code == 2
    assert f"{project}/train.py: internal error: AssertionError: unthinkable" in result.err
    assert [entry.path for entry in load(project / MANIFEST).files] == ["train.py"]


# --- git --------------------------------------------------------------------------------------------------------------


def test_git(project: Path, run_cli: RunCli, git: Git) -> None:
    run_cli("revert", project)
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "x")
    # What apply wrote is not in git, and goes without a question.
    run_cli("apply", project)
    assert run_cli("revert", project).code == 0
    assert sources_of(project) == ORIGINAL
    # What the user wrote is not touched before it is in git.
    run_cli("apply", project)
    append(project / "train.py", MORE)
    before = sources_of(project)["train.py"]
    result = run_cli("revert", project)
    assert result.code == 2
    assert f"{project}/train.py: has changes that are not committed" in result.err
    assert sources_of(project) == {**ORIGINAL, "train.py": before}
    assert run_cli("revert", project, "--allow-dirty").code == 0
    assert (project / "train.py").read_text() == SCRIPT + MORE


def test_committed_edits_need_no_permission(project: Path, run_cli: RunCli, git: Git) -> None:
    append(project / "train.py", MORE)
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "x")
    assert run_cli("revert", project).code == 0
    assert (project / "train.py").read_text() == SCRIPT + MORE
