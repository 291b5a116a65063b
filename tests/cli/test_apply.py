"""``apply``: what it writes, what it leaves alone, and what it says, to the letter of the contract."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dfannotate.cli import apply as apply_module
from dfannotate.cli import files
from dfannotate.cli.apply import read_file
from dfannotate.cli.main import main
from dfannotate.cli.run import Crash
from dfannotate.codemods.annotate import annotate as annotate_file
from dfannotate.manifest import load
from tests.conftest import LIBRARY as READING
from tests.conftest import MANIFEST, Git, RunCli, WriteTree, files_of, sources_of

MARK = b"dftracer"
LIBRARY = READING + "\n\ndef name(path):\n    return path\n"
SCRIPT = LIBRARY + '\n\nif __name__ == "__main__":\n    load(__file__)\n'
PROJECT: dict[str, str | bytes] = {
    "pyproject.toml": "",
    "train.py": SCRIPT,
    "pkg/__init__.py": "",
    "pkg/io.py": LIBRARY,
}


def annotated(root: Path) -> set[str]:
    return {name for name, data in sources_of(root).items() if MARK in data}


def manifest(root: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((root / MANIFEST).read_bytes())
    return {entry["path"]: entry for entry in document["files"]}


@pytest.fixture
def project(write_tree: WriteTree) -> Path:
    return write_tree(PROJECT)


# --- what it does -----------------------------------------------------------------------------------------------------


def test_files_and_manifest(project: Path, run_cli: RunCli) -> None:
    before = sources_of(project)
    result = run_cli("apply", project)
    assert result.code == 0, result.err
    assert annotated(project) == {"train.py", "pkg/io.py"}
    entries = manifest(project)
    assert set(entries) == {"train.py", "pkg/io.py"}
    for path, entry in entries.items():
        data = (project / path).read_bytes()
        assert entry["sha256_before"] == hashlib.sha256(before[path]).hexdigest()
        assert entry["sha256_after"] == hashlib.sha256(data).hexdigest()
        lines = data.decode().splitlines()
        for site in entry["sites"]:
            start = {"decorator": "def load", "lifecycle": "_dft_log = "}[site["kind"]]
            assert lines[site["line"] - 1].lstrip().startswith(start)
    assert entries["train.py"]["entry"] is True
    assert entries["pkg/io.py"]["entry"] is False
    assert entries["pkg/io.py"]["category"] == "io"
    [site] = entries["pkg/io.py"]["sites"]
    assert (site["function"], site["event"], site["category"]) == ("load", "load", "io")
    assert [(s["function"], s["reason"]) for s in entries["pkg/io.py"]["skipped"]] == [("name", "trivial")]


def test_what_is_said_of_functions_and_workers(write_tree: WriteTree, run_cli: RunCli) -> None:
    write_tree(
        {
            "main.py": "import multiprocessing\nimport work\nif __name__ == '__main__':\n"
            "    with multiprocessing.Pool(2) as pool:\n        pool.map(work.load, [])\n",
            "work.py": "def load(path):\n    return open(path).read()\ndef save(path):\n    open(path, 'w')\n",
        }
    )
    root = write_tree({"pyproject.toml": ""})
    out = run_cli("apply", root)
    assert out.code == 0
    assert [line.partition("annotated ")[2] for line in out.out.splitlines() if line.startswith("annotated ")] == [
        f"{root}/main.py: 1 worker start, entry point",
        f"{root}/work.py: 2 functions",
    ]
    assert "2 functions and 1 worker start traced" in out.out + out.err


def test_a_second_apply_changes_no_byte_and_no_file(project: Path, run_cli: RunCli) -> None:
    run_cli("apply", project)
    before = {path: (path.read_bytes(), path.stat().st_ino, path.stat().st_mtime_ns) for path in _files(project)}
    assert run_cli("apply", project).code == 0
    assert {
        path: (path.read_bytes(), path.stat().st_ino, path.stat().st_mtime_ns) for path in _files(project)
    } == before
    assert run_cli("apply", project, "--check").code == 0


def _files(root: Path) -> list[Path]:
    return [path for path in sorted(root.rglob("*")) if path.is_file()]


@pytest.mark.parametrize("flags", [["--check"], ["--diff"], ["--check", "--diff"]], ids=" ".join)
@pytest.mark.parametrize("output", ["text", "json"])
def test_looking_writes_nothing(project: Path, run_cli: RunCli, flags: list[str], output: str) -> None:
    before = files_of(project, own=True)
    result = run_cli("apply", project, *flags, "--format", output)
    assert files_of(project, own=True) == before
    assert result.code == (1 if "--check" in flags else 0)
    run_cli("apply", project)
    assert run_cli("apply", project, *flags).code == 0


@pytest.mark.parametrize("second", [False, True], ids=["first", "edited-since"])
def test_the_diff_is_what_apply_does(project: Path, run_cli: RunCli, second: bool) -> None:
    if second:
        run_cli("apply", project)
        with open(project / "pkg/io.py", "a") as stream:
            stream.write("\n\ndef save(path):\n    open(path, 'w').write('')\n")
    diff = run_cli("apply", project, "--diff").out
    assert ("train.py" in diff) is not second
    subprocess.run(["git", "apply", "-p0", "-"], cwd=project, input=diff.encode(), check=True)
    by_patch = sources_of(project)
    subprocess.run(["git", "apply", "-p0", "-R", "-"], cwd=project, input=diff.encode(), check=True)
    run_cli("apply", project)
    assert sources_of(project) == by_patch


def test_json(project: Path, run_cli: RunCli) -> None:
    (project / "bad.py").write_text("def f(:\n")
    (project / "tests").mkdir()
    (project / "tests/test_a.py").write_text(LIBRARY)
    result = run_cli("apply", project, "--format", "json")
    document = json.loads(result.out)
    assert list(document) == ["ok", "target", "changed", "files", "left_out", "errors", "notes"]
    assert document["ok"] is False
    assert document["changed"] == ["pkg/io.py", "train.py"]
    assert [entry["path"] for entry in document["files"]] == ["pkg/__init__.py", "pkg/io.py", "train.py"]
    keys = ["path", "category", "entry", "sha256_before", "sha256_after", "sites", "skipped"]
    assert all(list(entry) == keys for entry in document["files"])
    assert [item["path"] for item in document["left_out"]] == ["tests/test_a.py"]
    [error] = document["errors"]
    assert (error["path"], error["line"], error["column"]) == ("bad.py", 1, 7)
    again = json.loads(run_cli("apply", project, "--format", "json").out)
    assert again["changed"] == []
    assert again["files"] == document["files"]
    diffs = json.loads(run_cli("apply", project, "--diff", "--category", "io", "--format", "json").out)
    assert list(diffs["diff"]) == diffs["changed"] == ["train.py"]


def test_quiet_says_results_warnings_and_errors_only(project: Path, run_cli: RunCli) -> None:
    (project / "bad.py").write_text("def f(:\n")
    result = run_cli("apply", project, "--quiet")
    assert result.err.splitlines() == [f"error: {project}/bad.py:1:7: not Python {_version()}: invalid syntax"]
    assert len(result.out.splitlines()) == 2


def _version() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def test_paths_are_told_as_one_would_type_them(project: Path, run_cli: RunCli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project / "pkg")
    (project / "pkg/bad.py").write_text("x = (\n")
    result = run_cli("apply")
    assert "annotated io.py: 1 function\n" in result.out
    assert "error: bad.py:1:5: " in result.err
    assert set(manifest(project)) == {"pkg/io.py"}


def test_colour_and_progress_on_a_terminal_only(
    project: Path, monkeypatch: pytest.MonkeyPatch, run_cli: RunCli
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    (project / "bad.py").write_text("def f(:\n")
    monkeypatch.setenv("TERM", "xterm")
    assert "\x1b" not in run_cli("apply", project, "--check").err
    for extra, flags, is_plain in (({}, [], False), ({"NO_COLOR": "1"}, ["--quiet"], True)):
        terminal = Terminal()
        with monkeypatch.context() as patched:
            for key, value in extra.items():
                patched.setenv(key, value)
            patched.setattr(sys, "stderr", terminal)
            main(["apply", str(project), "--check", *flags])
        assert ("\x1b" not in terminal.getvalue()) is is_plain


# --- which files ------------------------------------------------------------------------------------------------------


def test_include_and_exclude(write_tree: WriteTree, run_cli: RunCli) -> None:
    root = write_tree({"pyproject.toml": "", **dict.fromkeys(("a.py", "b.py", "c/d.py", "vendor/e.py"), LIBRARY)})
    run_cli("apply", root, "--exclude", "b.py", "--exclude", "c/")
    assert annotated(root) == {"a.py"}
    run_cli("apply", root, "--include", "b.py", "--include", "vendor/**")
    assert annotated(root) == {"a.py", "b.py", "vendor/e.py"}


def test_a_file_that_is_named_is_taken_wherever_it_lies(write_tree: WriteTree, run_cli: RunCli) -> None:
    root = write_tree({"pyproject.toml": "", "vendor/tests/test_a.py": LIBRARY, "script": SCRIPT})
    assert run_cli("apply", root / "vendor/tests/test_a.py", root / "script").code == 0
    assert annotated(root) == {"vendor/tests/test_a.py"}
    assert MARK in (root / "script").read_bytes()


def test_applies_on_different_paths_come_together(project: Path, run_cli: RunCli, tmp_path: Path) -> None:
    run_cli("apply", project / "pkg")
    run_cli("apply", project / "train.py")
    apart = files_of(project, own=True)
    run_cli("revert", project)
    run_cli("apply", project)
    assert files_of(project, own=True) == apart
    assert set(manifest(project)) == {"train.py", "pkg/io.py"}


def test_a_part_is_annotated_as_it_is_in_the_whole(write_tree: WriteTree, run_cli: RunCli) -> None:
    """Objects of a class that is defined elsewhere run the methods of its base: what they hold counts here too."""
    heir = "from base import Base\n\n\nclass Heir(Base):\n    def step(self):\n        return 1\n"
    method = "    def load(self, path):\n        with open(path) as stream:\n            return stream.read()\n"
    root = write_tree({"pyproject.toml": "", "base.py": f"class Base:\n{method}", "heir.py": heir, "bad.py": "("})
    result = run_cli("apply", root / "base.py")
    assert result.code == 0, result.err
    assert annotated(root) == {"base.py"}
    assert "@_dft.log_static\n" in (root / "base.py").read_text()
    (root / "heir.py").unlink()
    run_cli("apply", root / "base.py")
    assert "@_dft.log\n" in (root / "base.py").read_text()


def test_outside_the_project(write_tree: WriteTree, run_cli: RunCli) -> None:
    root = write_tree({"a/pyproject.toml": "", "a/x.py": LIBRARY, "b/y.py": LIBRARY})
    before = sources_of(root)
    assert run_cli("apply", root / "a", root / "b/y.py").code == 0
    assert set(manifest(root / "a")) == {"x.py", "../b/y.py"}
    assert run_cli("apply", root / "a", root / "b/y.py", "--check").code == 0
    assert run_cli("revert", root / "a", root / "b").code == 0
    assert sources_of(root) == before


@pytest.mark.parametrize("name", ["a b.py", "träin.py", "日本/é è.py", "-x.py", "it's.py", 'quo"te.py', "new\nline.py"])
def test_any_name(write_tree: WriteTree, run_cli: RunCli, name: str) -> None:
    root = write_tree({"pyproject.toml": "", name: LIBRARY})
    assert run_cli("apply", root).code == 0
    [entry] = manifest(root).values()
    assert entry["path"] == name
    compile((root / name).read_bytes(), name, "exec")
    assert not set(entry["category"]) & set("\"\\\n' ")
    assert run_cli("apply", root, "--check").code == 0
    assert run_cli("revert", root).code == 0
    assert (root / name).read_bytes() == LIBRARY.encode()


def test_a_name_that_is_no_text(write_tree: WriteTree, run_cli: RunCli) -> None:
    name = os.fsdecode(b"caf\xe9.py")
    root = write_tree({"pyproject.toml": "", name: LIBRARY})
    assert run_cli("apply", root, "--format", "json").code == 0
    assert set(manifest(root)) == {name}
    assert run_cli("revert", root).code == 0


def test_links(write_tree: WriteTree, run_cli: RunCli) -> None:
    root = write_tree({"a/pyproject.toml": "", "a/x.py": LIBRARY, "elsewhere.py": LIBRARY})
    (root / "a/link.py").symlink_to("x.py")
    (root / "a/out.py").symlink_to("../elsewhere.py")
    (root / "a/loop.py").symlink_to("loop.py")
    (root / "a/broken.py").symlink_to("nothing.py")
    (root / "shortcut").symlink_to("a")
    assert run_cli("apply", root / "shortcut").code == 0
    assert set(manifest(root / "a")) == {"x.py"}
    assert (root / "a/link.py").is_symlink()
    assert MARK not in (root / "elsewhere.py").read_bytes()
    # A link that is named: what it points to is annotated, and it stays a link.
    assert run_cli("apply", root / "a/out.py", "--manifest", root / "m.json").code == 0
    assert (root / "a/out.py").is_symlink()
    assert MARK in (root / "elsewhere.py").read_bytes()
    for name in ("loop.py", "broken.py"):
        result = run_cli("apply", root / "a" / name)
        assert result.code == 2
        assert "cannot be read" in result.err


def test_mode_line_endings_encoding_and_mark_are_kept(write_tree: WriteTree, run_cli: RunCli) -> None:
    latin = "# -*- coding: latin-1 -*-\n" + LIBRARY.replace("Reading", "Lecture réussie")
    root = write_tree(
        {
            "pyproject.toml": "",
            "crlf.py": LIBRARY.replace("\n", "\r\n"),
            "bom.py": b"\xef\xbb\xbf" + LIBRARY.encode(),
            "latin.py": latin.encode("latin-1"),
            "cut.py": LIBRARY.rstrip(),
        }
    )
    before = sources_of(root)
    (root / "cut.py").chmod(0o755)
    assert run_cli("apply", root).code == 0
    after = sources_of(root)
    assert annotated(root) == set(after)
    assert after["crlf.py"].count(b"\n") == after["crlf.py"].count(b"\r\n")
    assert after["bom.py"].startswith(b"\xef\xbb\xbf")
    assert "Lecture réussie".encode("latin-1") in after["latin.py"]
    assert after["cut.py"].endswith(b"return path")
    assert stat.S_IMODE((root / "cut.py").stat().st_mode) == 0o755
    run_cli("revert", root)
    assert sources_of(root) == before


# --- flags ------------------------------------------------------------------------------------------------------------


def test_category_and_target(project: Path, run_cli: RunCli) -> None:
    run_cli("apply", project, "--category", "IO layer", "--target", "2.1.0")
    assert {entry["category"] for entry in manifest(project).values()} == {"IO layer"}
    assert b'DFTracerFn("IO layer")' in (project / "pkg/io.py").read_bytes()
    assert json.loads((project / MANIFEST).read_bytes())["target"] == "2.1.0"
    # Another category later: what was annotated is annotated anew, not twice.
    assert run_cli("apply", project).code == 0
    assert (project / "pkg/io.py").read_bytes().count(b"DFTracerFn(") == 1
    run_cli("revert", project)
    assert sources_of(project)["train.py"] == SCRIPT.encode()


def test_category_of_a_package_and_of_a_name_that_would_break_the_trace(write_tree: WriteTree, run_cli: RunCli) -> None:
    root = write_tree({"pyproject.toml": "", "pkg/__init__.py": LIBRARY, 'we"ird\\.py': LIBRARY})
    run_cli("apply", root)
    assert {path: entry["category"] for path, entry in manifest(root).items()} == {
        "pkg/__init__.py": "pkg",
        'we"ird\\.py': "we_ird_",
    }


def test_manifest_elsewhere(project: Path, run_cli: RunCli) -> None:
    before = sources_of(project)
    where = project / "out" / "m.json"
    assert run_cli("apply", project, "--manifest", where).code == 0
    assert [entry.path for entry in load(where).files] == ["pkg/io.py", "train.py"]
    assert not (project / ".dfannotate").exists()
    assert [path.name for path in where.parent.iterdir()] == ["m.json"]
    assert run_cli("revert", project, "--manifest", where).code == 0
    assert sources_of(project) == before


def test_the_folder_of_the_tool_ignores_itself_except_the_manifest(project: Path, run_cli: RunCli, git: Git) -> None:
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "x")
    run_cli("apply", project)
    assert git("status", "--porcelain", "--untracked-files=all").split() == [
        *("M", "pkg/io.py", "M", "train.py"),
        *("??", MANIFEST),
    ]


def test_nothing_to_note_leaves_no_manifest(write_tree: WriteTree, run_cli: RunCli) -> None:
    root = write_tree({"pyproject.toml": "", "a.py": "x = 1\n"})
    assert run_cli("apply", root).code == 0
    assert set(files_of(root, own=True)) == {"a.py", "pyproject.toml"}


def test_entry(write_tree: WriteTree, run_cli: RunCli) -> None:
    text = LIBRARY + "\n\nload(__file__)\n"
    root = write_tree({"pyproject.toml": "", "a.py": text, "b.py": text, "c.py": LIBRARY, "out/d.py": text})
    result = run_cli("apply", root / "a.py", root / "c.py")
    assert "no entry point found" in result.err
    result = run_cli("apply", root / "c.py", "--entry", root / "a.py", "--entry", root / "out/d.py")
    assert result.code == 0
    assert "no entry point" not in result.err
    assert {path for path, entry in manifest(root).items() if entry["entry"]} == {"a.py", "out/d.py"}
    for path in ("a.py", "out/d.py"):
        assert b"initialize_log(" in (root / path).read_bytes()
    # Named once, it is known: a later apply of another part does not warn.
    assert "no entry point" not in run_cli("apply", root / "c.py").err


def test_an_entry_that_is_not_there(project: Path, run_cli: RunCli) -> None:
    result = run_cli("apply", project, "--entry", project / "gone.py")
    assert result.code == 2
    assert "gone.py: cannot be read: No such file or directory" in result.err
    assert annotated(project) == {"train.py", "pkg/io.py"}
    result = run_cli("apply", project, "--entry", project / "pkg")
    assert result.code == 2
    assert "pkg: a folder; name the file" in result.err


@pytest.mark.parametrize("name", ["__main__.py", "app__main__.py"])
def test_only_a_file_called_main_begins_a_program_by_its_name(
    write_tree: WriteTree, run_cli: RunCli, name: str
) -> None:
    root = write_tree({"pyproject.toml": "", f"pkg/{name}": LIBRARY + "\n\nload(__file__)\n", "pkg/__init__.py": ""})
    run_cli("apply", root)
    assert manifest(root)[f"pkg/{name}"]["entry"] is (name == "__main__.py")


def test_a_console_script_is_an_entry(write_tree: WriteTree, run_cli: RunCli) -> None:
    text = LIBRARY + "\n\ndef main():\n    load(__file__)\n"
    root = write_tree(
        {"pyproject.toml": '[project.scripts]\nx = "pkg.cli:main"\n', "pkg/__init__.py": "", "pkg/cli.py": text}
    )
    run_cli("apply", root)
    assert manifest(root)["pkg/cli.py"]["entry"] is True


@pytest.mark.parametrize("jobs", ["2", "4"])
def test_the_number_of_processes_changes_nothing(write_tree: WriteTree, run_cli: RunCli, jobs: str) -> None:
    tree = {f"m{number}.py": LIBRARY.replace("load", f"load_{number}") for number in range(40)}
    root = write_tree({"pyproject.toml": "", "bad.py": "(", **PROJECT, **tree})
    alone = run_cli("apply", root, "--jobs", "1", "--format", "json")
    expected = files_of(root, own=True)
    run_cli("revert", root)
    together = run_cli("apply", root, "--jobs", jobs, "--format", "json")
    assert files_of(root, own=True) == expected
    assert (together.code, together.out, together.err) == (alone.code, alone.out, alone.err)


def _dying(rel: str, *arguments: Any) -> Any:
    if rel == "m13.py":
        os.kill(os.getpid(), signal.SIGKILL)
    return read_file(rel, *arguments)


def test_a_process_that_dies_is_told_of_its_files(
    write_tree: WriteTree, run_cli: RunCli, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write_tree({"pyproject.toml": "", **{f"m{number}.py": LIBRARY for number in range(40)}})
    monkeypatch.setattr(apply_module, "read_file", _dying)
    result = run_cli("apply", root, "--jobs", "2", "--format", "json")
    assert result.code == 2
    document = json.loads(result.out)
    lost = {error["path"] for error in document["errors"]}
    assert "m13.py" in lost
    assert lost | annotated(root) == {f"m{number}.py" for number in range(40)}
    assert not lost & annotated(root)
    assert all("SIGKILL" in error["message"] for error in document["errors"])
    monkeypatch.undo()
    assert run_cli("apply", root).code == 0
    assert len(annotated(root)) == 40


# --- bad input --------------------------------------------------------------------------------------------------------

BAD: dict[str, tuple[bytes, str]] = {
    "syntax-error": (b"x = 1\ndef f(:\n", "bad.py:2:7: not Python"),
    "indentation": (b"def f():\nreturn 1\n", "bad.py:2:1: not Python"),
    "python-2": (b"print 'x'\n", "bad.py:1:1: not Python"),
    "undecodable": (b"x = 1\ny = '\xff'\n", "bad.py:2:6: not utf-8 text: byte 0xff"),
    "unknown-encoding": (b"# coding: klingon\n", "bad.py:1:1: unknown encoding"),
    "nul": (b"x = 1\0\n", "bad.py: not Python"),
    "binary": (bytes(range(256)), "bad.py:2:118: not utf-8 text: byte 0x80"),
    "nested": (b"(" * 3000 + b")" * 3000, "bad.py"),
}


@pytest.mark.parametrize(("data", "message"), BAD.values(), ids=BAD)
def test_a_bad_file_is_told_and_stops_no_other(project: Path, run_cli: RunCli, data: bytes, message: str) -> None:
    (project / "bad.py").write_bytes(data)
    result = run_cli("apply", project)
    assert result.code == 2
    assert f"error: {project}/{message}" in result.err
    assert "Traceback" not in result.err
    assert (project / "bad.py").read_bytes() == data
    assert annotated(project) == {"train.py", "pkg/io.py"}


def test_a_file_that_turned_bad_keeps_its_place_in_the_manifest(project: Path, run_cli: RunCli) -> None:
    run_cli("apply", project)
    before = manifest(project)
    with open(project / "train.py", "a") as stream:
        stream.write("(")
    assert run_cli("apply", project).code == 2
    assert manifest(project) == before


def test_a_folder_without_python(write_tree: WriteTree, run_cli: RunCli) -> None:
    root = write_tree({"pyproject.toml": "", "empty/": "", "docs/a.txt": "", ".hidden/a.py": LIBRARY})
    for folder in ("empty", "docs", "."):
        result = run_cli("apply", root / folder)
        assert result.code == 2
        assert "no Python files here" in result.err
    assert set(files_of(root, own=True)) == {"pyproject.toml", "docs/a.txt", ".hidden/a.py"}


def test_a_path_that_is_not_there(project: Path, run_cli: RunCli) -> None:
    result = run_cli("apply", project / "no" / "such.py")
    assert result.code == 2
    assert f"{project}/no/such.py: cannot be read: No such file or directory" in result.err
    assert not (project / "no").exists()
    assert run_cli("apply", project / "nothing", project).code == 2
    assert annotated(project) == {"train.py", "pkg/io.py"}
    assert not (project / "nothing").exists()


def test_a_pipe_is_not_waited_for(project: Path, run_cli: RunCli) -> None:
    os.mkfifo(project / "pipe.py")
    result = run_cli("apply", project / "pipe.py", project)
    assert result.code == 2
    assert "pipe.py: not a regular file" in result.err


def test_a_read_only_file(project: Path, run_cli: RunCli) -> None:
    (project / "train.py").chmod(0o444)
    result = run_cli("apply", project)
    assert result.code == 2
    assert f"{project}/train.py: the file is read-only; make it writable (chmod u+w)" in result.err
    assert annotated(project) == {"pkg/io.py"}
    assert set(manifest(project)) == {"pkg/io.py"}
    assert run_cli("apply", project, "--check").code == 1
    (project / "train.py").chmod(0o644)
    assert run_cli("apply", project).code == 0
    assert set(manifest(project)) == {"train.py", "pkg/io.py"}


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that every user can reach, which the test's own is not."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


def as_nobody(*arguments: str) -> tuple[int, str]:
    """The command as a user without rights, in a fork of this process; exit code and stderr."""
    if os.geteuid() != 0:
        done = subprocess.run([sys.executable, "-m", "dfannotate", *arguments], capture_output=True, text=True)
        return done.returncode, done.stderr
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        code = 99
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            sys.stdout, sys.stderr = io.StringIO(), io.StringIO()
            code = main(list(arguments))
            os.write(writer, sys.stderr.getvalue().encode())
        finally:
            os._exit(code)
    os.close(writer)
    with open(reader) as stream:
        err = stream.read()
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), err


def test_without_the_right_to_write(shared: Path, run_cli: RunCli) -> None:
    """Three folders: one where all is allowed, one whose files belong to somebody else, one that is read-only."""
    run_cli("apply", shared, "--check")  # all modules are loaded: nobody may not be able to
    uid = 65534 if os.geteuid() == 0 else os.geteuid()
    for name in ("mine", "theirs", "locked", ".dfannotate"):
        (shared / name).mkdir()
        os.chown(shared / name, uid, -1)
        if name != ".dfannotate":
            (shared / name / "a.py").write_text(LIBRARY)
            os.chown(shared / name / "a.py", uid, -1)
    (shared / "theirs/a.py").chmod(0o444)
    (shared / "locked").chmod(0o555)
    code, err = as_nobody("apply", str(shared))
    assert code == 2
    assert f"{shared}/theirs/a.py: the file is read-only" in err
    assert f"{shared}/locked/a.py: cannot be written: Permission denied; make the folder writable" in err
    assert "Traceback" not in err
    assert annotated(shared) == {"mine/a.py"}
    assert set(manifest(shared)) == {"mine/a.py"}
    assert not [path for path in _files(shared) if "~" in path.name or path.suffix == ".pending"]
    # And where the manifest cannot be written, nothing is.
    (shared / "locked/a.py").unlink()
    (shared / "locked/b.py").write_text(LIBRARY)
    os.chown(shared / "locked/b.py", uid, -1)
    code, err = as_nobody("apply", str(shared / "locked/b.py"), "--manifest", str(shared / "m.json"))
    assert code == 2
    assert f"{shared}/m.json: cannot be written: Permission denied" in err
    assert (shared / "locked/b.py").read_text() == LIBRARY
    (shared / "locked").chmod(0o755)


@pytest.mark.skipif(os.geteuid() != 0, reason="the superuser alone can make a file that others cannot read")
def test_without_the_right_to_read(shared: Path, run_cli: RunCli) -> None:
    run_cli("apply", shared, "--check")
    os.chown(shared, 65534, -1)
    (shared / "a.py").write_text(LIBRARY)
    os.chown(shared / "a.py", 65534, -1)
    (shared / "b.py").write_text(LIBRARY)
    (shared / "b.py").chmod(0o600)
    (shared / "folder").mkdir(0o700)
    code, err = as_nobody("apply", str(shared))
    assert code == 2
    assert f"{shared}/b.py: cannot be read: Permission denied" in err
    assert f"{shared}/folder: a folder that cannot be listed" in err
    assert annotated(shared) == {"a.py"}


def test_a_full_disk(project: Path, run_cli: RunCli, monkeypatch: pytest.MonkeyPatch) -> None:
    before = sources_of(project)
    real = os.replace

    def full(source: Any, target: Any) -> None:
        if os.fspath(target).endswith("train.py"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(source, target)

    monkeypatch.setattr(os, "replace", full)
    result = run_cli("apply", project)
    assert result.code == 2
    assert f"{project}/train.py: cannot be written: No space left on device" in result.err
    assert annotated(project) == {"pkg/io.py"}
    assert set(manifest(project)) == {"pkg/io.py"}
    monkeypatch.undo()
    run_cli("revert", project)
    assert sources_of(project) == before


def test_a_disk_too_full_for_the_manifest(project: Path, run_cli: RunCli, monkeypatch: pytest.MonkeyPatch) -> None:
    before = sources_of(project)
    real = os.replace

    def full(fails: str) -> Callable[[Any, Any], None]:
        def replace(source: Any, target: Any) -> None:
            if os.fspath(target).endswith(fails):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            real(source, target)

        return replace

    # At the beginning: nothing is touched.
    monkeypatch.setattr(os, "replace", full(".pending"))
    result = run_cli("apply", project)
    assert result.code == 2
    assert f"{project}/{MANIFEST}: cannot be written: No space left on device" in result.err
    assert sources_of(project) == before
    # At the end: what was done is known all the same.
    monkeypatch.setattr(os, "replace", full("manifest.json"))
    result = run_cli("apply", project)
    assert result.code == 2
    assert annotated(project) == {"train.py", "pkg/io.py"}
    monkeypatch.undo()
    assert run_cli("revert", project).code == 0
    assert sources_of(project) == before
    assert [path.name for path in (project / ".dfannotate").iterdir()] == [".gitignore"]


def test_a_file_that_changes_between_planning_and_writing(
    project: Path, run_cli: RunCli, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = files.locked

    def locked(folder: Path) -> Any:
        (project / "train.py").write_text("x = 'saved by an editor'\n")
        (project / "pkg/__init__.py").unlink()
        return real(folder)

    monkeypatch.setattr(files, "locked", locked)
    result = run_cli("apply", project)
    assert result.code == 2
    assert f"{project}/train.py: changed while dfannotate was at work" in result.err
    assert (project / "train.py").read_text() == "x = 'saved by an editor'\n"
    assert set(manifest(project)) == annotated(project) == {"pkg/io.py"}


def test_another_run_that_was_faster_is_not_forgotten(
    project: Path, run_cli: RunCli, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = files.locked
    calls: list[Path] = []

    def locked(folder: Path) -> Any:
        calls.append(folder)
        if len(calls) == 1:
            assert main(["apply", str(project / "pkg")]) == 0
        return real(folder)

    monkeypatch.setattr(files, "locked", locked)
    assert run_cli("apply", project / "train.py").code == 0
    assert set(manifest(project)) == {"train.py", "pkg/io.py"}


MANIFESTS = {
    "not-json": (b"<<<<<<< HEAD\n", "not JSON"),
    "wrong-version": (b'{"version": 7, "files": []}', "manifest version 7"),
    "wrong-types": (b'{"version": 1, "tool": "t", "target": "2.2.0", "files": {}}', "'files' must be a list"),
}


@pytest.mark.parametrize(("data", "message"), MANIFESTS.values(), ids=MANIFESTS)
@pytest.mark.parametrize("command", ["apply", "revert"])
def test_a_broken_manifest_is_told_and_nothing_touched(
    project: Path, run_cli: RunCli, command: str, data: bytes, message: str
) -> None:
    (project / ".dfannotate").mkdir()
    (project / MANIFEST).write_bytes(data)
    before = files_of(project, own=True)
    result = run_cli(command, project)
    assert result.code == 2
    assert f"error: {project}/{MANIFEST}: " in result.err
    assert message in result.err
    assert files_of(project, own=True) == before


def test_a_manifest_that_is_a_folder(project: Path, run_cli: RunCli) -> None:
    (project / MANIFEST).mkdir(parents=True)
    result = run_cli("apply", project)
    assert result.code == 2
    assert f"{project}/{MANIFEST}: Is a directory" in result.err
    assert not annotated(project)


def test_an_internal_error_is_the_fault_of_one_file(
    project: Path, run_cli: RunCli, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = annotate_file

    def annotate(source: Any, facts: Any, context: Any) -> Any:
        if source.path == "train.py":
            raise AssertionError("unthinkable")
        return real(source, facts, context)

    monkeypatch.setattr(apply_module, "annotate", annotate)
    result = run_cli("apply", project)
    assert result.code == 2
    assert f"{project}/train.py: internal error: AssertionError: unthinkable" in result.err
    assert annotated(project) == {"pkg/io.py"}
    assert isinstance(Crash("x"), Crash)


# --- since the last apply ---------------------------------------------------------------------------------------------


def test_what_was_edited_since_is_annotated_anew(project: Path, run_cli: RunCli) -> None:
    run_cli("apply", project)
    more = "\n\ndef save(path):\n    open(path, 'w').write('')\n"
    with open(project / "pkg/io.py", "a") as stream:
        stream.write(more)
    assert run_cli("apply", project).code == 0
    assert [site["function"] for site in manifest(project)["pkg/io.py"]["sites"]] == ["load", "save"]
    run_cli("revert", project)
    assert (project / "pkg/io.py").read_text() == LIBRARY + more


def test_a_file_that_is_gone_is_forgotten_where_one_looked(project: Path, run_cli: RunCli) -> None:
    run_cli("apply", project)
    (project / "pkg/io.py").unlink()
    assert run_cli("apply", project / "train.py").code == 0
    assert set(manifest(project)) == {"train.py", "pkg/io.py"}
    assert run_cli("apply", project).code == 0
    assert set(manifest(project)) == {"train.py"}


def test_a_file_that_was_moved_can_still_be_reverted(project: Path, run_cli: RunCli) -> None:
    run_cli("apply", project)
    (project / "pkg/io.py").rename(project / "pkg/reading.py")
    assert run_cli("apply", project).code == 0
    assert set(manifest(project)) == {"train.py", "pkg/reading.py"}
    assert manifest(project)["pkg/reading.py"]["category"] == "reading"
    run_cli("revert", project)
    assert (project / "pkg/reading.py").read_text() == LIBRARY


def test_functions_that_went_away_go_from_the_manifest(project: Path, run_cli: RunCli) -> None:
    run_cli("apply", project)
    (project / "pkg/io.py").write_text("x = 1\n")
    assert run_cli("apply", project).code == 0
    assert set(manifest(project)) == {"train.py"}
    assert (project / "pkg/io.py").read_text() == "x = 1\n"


def test_annotations_of_the_users_own_are_not_taken_for_ours(write_tree: WriteTree, run_cli: RunCli) -> None:
    """A file of which the manifest knows skipped functions only, annotated by hand since."""
    root = write_tree({"pyproject.toml": "", "a.py": "def f():\n    return 1\n"})
    run_cli("apply", root)
    assert manifest(root)["a.py"]["sites"] == []
    by_hand = (
        "from dftracer.python import dftracer, dft_fn as DFTracerFn, DFTRACER_ENABLE\n"
        'if DFTRACER_ENABLE:\n    _dft_log = dftracer.initialize_log("x", None, -1)\n'
        '_dft = DFTracerFn("a")\n\n\n@_dft.log\ndef f():\n    return 1\n'
    )
    (root / "a.py").write_text(by_hand)
    assert run_cli("apply", root).code == 0
    assert (root / "a.py").read_text() == by_hand
    run_cli("revert", root)
    assert (root / "a.py").read_text() == by_hand


# --- git --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def repository(project: Path, git: Git) -> Path:
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "x")
    return project


def test_uncommitted_changes_are_not_touched(repository: Path, run_cli: RunCli, git: Git) -> None:
    with open(repository / "train.py", "a") as stream:
        stream.write("x = 1\n")
    (repository / "new.py").write_text(LIBRARY)
    (repository / "staged.py").write_text(LIBRARY)
    git("add", "staged.py")
    before = sources_of(repository)
    result = run_cli("apply", repository)
    assert result.code == 2
    for name in ("train.py", "new.py", "staged.py"):
        assert f"{repository}/{name}: has changes that are not committed" in result.err
        assert "--allow-dirty" in result.err
        assert sources_of(repository)[name] == before[name]
    assert annotated(repository) == {"pkg/io.py"} == set(manifest(repository))
    # Looking needs no permission, and neither does a file in which nothing is to be changed.
    assert run_cli("apply", repository, "--diff").code == 0
    assert run_cli("apply", repository, "--allow-dirty").code == 0
    assert annotated(repository) == {"train.py", "new.py", "staged.py", "pkg/io.py"}


def test_what_apply_wrote_itself_needs_no_permission(repository: Path, run_cli: RunCli) -> None:
    assert run_cli("apply", repository).code == 0
    assert run_cli("apply", repository, "--category", "io").code == 0
    assert manifest(repository)["train.py"]["category"] == "io"
    with open(repository / "train.py", "a") as stream:
        stream.write("x = 1\n")
    assert run_cli("apply", repository, "--category", "other").code == 2
    assert {path: entry["category"] for path, entry in manifest(repository).items()} == {
        "train.py": "io",
        "pkg/io.py": "other",
    }


def test_git_that_gives_no_answer(repository: Path, run_cli: RunCli) -> None:
    (repository / ".git/HEAD").write_text("nonsense")
    result = run_cli("apply", repository)
    assert result.code == 2
    assert "--allow-dirty" in result.err
    assert not annotated(repository)
    assert run_cli("apply", repository, "--allow-dirty").code == 0
