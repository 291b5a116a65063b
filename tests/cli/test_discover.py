"""Which files are found, by comparison with what git itself says where git has a say."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from dfannotate.cli.discover import dirty_files, find_sources, project_root
from dfannotate.cli.show import UserError
from tests.conftest import Git, WriteTree


def names(found: Sequence[Path], root: Path) -> list[str]:
    return [path.relative_to(root).as_posix() for path in found]


LEFT_OUT = {
    "vendored": "vendor/a.py",
    "vendored-deep": "pkg/_vendor/deep/a.py",
    "third-party": "third_party/a.py",
    "node": "web/node_modules/gyp/a.py",
    "installed": "lib/site-packages/a.py",
    "bytecode-folder": "pkg/__pycache__/a.py",
    "hidden-folder": ".cache/a.py",
    "hidden-file": ".a.py",
    "not-python": "a.txt",
    "stub": "a.pyi",
}
TAKEN = {
    "plain": "a.py",
    "package": "pkg/__init__.py",
    "named-like-vendored": "pkg/vendors_list/a.py",
    "file-called-vendor": "vendor.py",
    "tests-are-for-selection-to-judge": "tests/test_a.py",
    "build-too": "build/a.py",
    "folder-with-suffix": "odd.py/a.py",
    "spaces": "my scripts/a b.py",
    "not-ascii": "données/größe.py",
}


@pytest.mark.parametrize("file", LEFT_OUT.values(), ids=LEFT_OUT.keys())
def test_left_out_by_default(write_tree: WriteTree, file: str) -> None:
    root = write_tree({"own.py": "", file: ""})
    assert names(find_sources([root], root=root), root) == ["own.py"]


@pytest.mark.parametrize("file", TAKEN.values(), ids=TAKEN.keys())
def test_taken_by_default(write_tree: WriteTree, file: str) -> None:
    root = write_tree({file: ""})
    assert names(find_sources([root], root=root), root) == [file]


@pytest.mark.parametrize("mark", ["pyvenv.cfg", "conda-meta/history"])
def test_environments_are_known_by_what_they_hold(write_tree: WriteTree, mark: str) -> None:
    root = write_tree({"own.py": "", f"env/{mark}": "", "env/lib/a.py": ""})
    assert names(find_sources([root], root=root), root) == ["own.py"]
    assert names(find_sources([root / "env"], root=root), root) == ["env/lib/a.py"]


@pytest.mark.parametrize("file", [*LEFT_OUT.values(), "ignored/a.py", "script"])
def test_a_named_file_is_always_taken(write_tree: WriteTree, file: str) -> None:
    root = write_tree({".git/": "", ".gitignore": "ignored/\n", file: ""})
    assert names(find_sources([root / file], root=root, exclude=["*"], include=["other/"]), root) == [file]


def test_exclusions_hold_below_a_named_folder(write_tree: WriteTree) -> None:
    root = write_tree(
        {
            ".git/": "",
            ".gitignore": "out/\n*_gen.py\n",
            "out/a.py": "",
            "out/a_gen.py": "",
            "out/vendor/b.py": "",
            "out/out/c.py": "",
            "out/.hidden/d.py": "",
        }
    )
    assert find_sources([root], root=root) == []
    assert names(find_sources([root / "out"], root=root), root) == ["out/a.py"]


def test_a_named_folder_whose_own_ignore_file_says_everything(write_tree: WriteTree) -> None:
    # virtualenv, uv and pytest write such a file into the folders that they make
    root = write_tree({".git/": "", "env/.gitignore": "*\n", "env/pkg/a.py": "", "env/pkg/vendor/b.py": ""})
    assert find_sources([root], root=root) == []
    assert names(find_sources([root / "env" / "pkg"], root=root), root) == ["env/pkg/a.py"]
    assert names(find_sources([root / "env"], root=root), root) == ["env/pkg/a.py"]


def test_naming_a_folder_that_is_not_ignored_sets_nothing_aside(write_tree: WriteTree) -> None:
    tree = {"src/keep_a.py": "", "src/b.py": "", "other/c.py": ""}
    root = write_tree({".git/": "", ".gitignore": "*\n!*/\n!keep_*.py\n", **tree})
    assert names(find_sources([root / "src"], root=root), root) == ["src/keep_a.py"]
    write_tree({".gitignore": "/*\n!/src/\n"})
    assert names(find_sources([root], root=root), root) == ["src/b.py", "src/keep_a.py"]


def test_each_once_and_sorted_whatever_is_named(write_tree: WriteTree) -> None:
    root = write_tree({"b/z.py": "", "b/a.py": "", "a.py": ""})
    found = find_sources([root / "b" / "z.py", root / "b", root, root / "b" / ".." / "a.py"], root=root)
    assert names(found, root) == ["a.py", "b/a.py", "b/z.py"]


def test_relative_paths_are_taken_from_the_current_folder(
    write_tree: WriteTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write_tree({"pkg/a.py": "", "b.py": ""})
    monkeypatch.chdir(root / "pkg")
    assert names(find_sources([Path()], root=root), root) == ["pkg/a.py"]


def test_what_does_not_exist_stays_in_the_list(write_tree: WriteTree) -> None:
    root = write_tree({"a.py": ""})
    assert names(find_sources([root / "gone", root / "a.py"], root=root), root) == ["a.py", "gone"]


def test_a_folder_that_cannot_be_listed_stays_in_the_list(
    write_tree: WriteTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write_tree({"a.py": "", "closed/b.py": ""})
    scandir = os.scandir

    def refuse(path: str) -> object:  # permissions do not stop root, as which tests may run
        if path.endswith("closed"):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert names(find_sources([root], root=root), root) == ["a.py", "closed"]


def test_links_are_not_followed_but_may_be_named(write_tree: WriteTree) -> None:
    root = write_tree({"real/a.py": ""})
    (root / "real" / "loop").symlink_to(root)
    (root / "again.py").symlink_to(root / "real" / "a.py")
    (root / "self").symlink_to(root / "self")
    assert names(find_sources([root], root=root), root) == ["real/a.py"]
    assert names(find_sources([root / "again.py", root / "real" / "loop" / "real"], root=root), root) == ["real/a.py"]
    assert names(find_sources([root / "self"], root=root), root) == ["self"]


GLOBS = {
    "name-anywhere": (["test_*.py"], [], ["pkg/test_b.py", "test_a.py"]),
    "folder": (["pkg/"], [], ["pkg/b.py", "pkg/test_b.py"]),
    "folder-without-slash": (["pkg"], [], ["pkg/b.py", "pkg/test_b.py"]),
    "anchored": (["/*.py"], [], ["a.py", "test_a.py"]),
    "stars": (["pkg/**/*.py"], [], ["pkg/b.py", "pkg/test_b.py"]),
    "negated": (["*.py", "!test_*.py"], [], ["a.py", "pkg/b.py"]),
    "nothing": (["*.c"], [], []),
    "opens-what-it-spells-out": (["vendor/mine/*.py"], [], ["vendor/mine/c.py"]),
    "opens-a-bare-name": (["vendor"], [], ["vendor/mine/c.py"]),
    "excluded": ([], ["test_*.py"], ["a.py", "pkg/b.py"]),
    "excluded-folder": ([], ["pkg/"], ["a.py", "test_a.py"]),
    "excluded-but": ([], ["*.py", "!a.py"], ["a.py"]),
    "exclude-beats-include": (["pkg/"], ["test_*.py"], ["pkg/b.py"]),
    "exclude-does-not-open": ([], ["vendor/other/"], ["a.py", "pkg/b.py", "pkg/test_b.py", "test_a.py"]),
}


@pytest.mark.parametrize(("include", "exclude", "expected"), GLOBS.values(), ids=GLOBS.keys())
def test_globs(write_tree: WriteTree, include: list[str], exclude: list[str], expected: list[str]) -> None:
    root = write_tree({"a.py": "", "test_a.py": "", "pkg/b.py": "", "pkg/test_b.py": "", "vendor/mine/c.py": ""})
    assert names(find_sources([root], root=root, include=include, exclude=exclude), root) == expected


def test_globs_hold_from_the_root_whatever_folder_is_named(write_tree: WriteTree) -> None:
    root = write_tree({"pkg/a.py": "", "pkg/sub/b.py": ""})
    assert names(find_sources([root / "pkg"], root=root, include=["pkg/sub/"]), root) == ["pkg/sub/b.py"]
    assert names(find_sources([root / "pkg" / "sub"], root=root, include=["pkg/"]), root) == ["pkg/sub/b.py"]
    assert names(find_sources([root / "pkg"], root=root, exclude=["/pkg/sub"]), root) == ["pkg/a.py"]


def test_git_ignored_as_git_says(write_tree: WriteTree, git: Git) -> None:
    """400 random trees of ignore files, in one repository, against git's own answer."""
    chance = random.Random(20)
    parts = ["a", "b", "ab", "*", "a*", "?", "[ab]", "**", "c.py", "*.py", "b.py"]
    tree: dict[str, str | bytes] = {".gitignore": "never.py\n"}
    for case in range(400):
        for folder in ("", "a/", "a/b/", "b/", "ab/a/"):
            for file in ("a.py", "b.py", "c.py"):
                tree[f"case{case}/{folder}{file}"] = ""
            if chance.random() < (1.0 if not folder else 0.3):
                lines = []
                for _ in range(chance.randint(1, 4)):
                    chosen = [chance.choice(parts) for _ in range(chance.choice((1, 1, 1, 2, 2, 3)))]
                    # "x/**/" means the folders in x; pathspec reads it as "x/"
                    last = "" if len(chosen) > 1 and chosen[-1] == "**" else chance.choice(("", "", "/"))
                    lines.append(chance.choice(("", "", "!")) + chance.choice(("", "", "/")) + "/".join(chosen) + last)
                tree[f"case{case}/{folder}.gitignore"] = "# some\n\n" + "\n".join(lines) + "\n"
    root = write_tree(tree)
    git("init", "-q")
    listed = git("ls-files", "--others", "--exclude-standard", "-z", "--", "*.py").split("\0")
    expected = sorted(name for name in listed if name)
    assert 1000 < len(expected) < 5000  # neither everything nor nothing is ignored
    assert names(find_sources([root], root=root), root) == sorted(expected, key=lambda name: Path(name).parts)


@pytest.mark.parametrize("line", ["!", "\\", "a\\", "[z-a].py"], ids=["no-name", "backslash", "open-end", "no-range"])
def test_a_line_that_is_no_pattern_matches_nothing_as_with_git(write_tree: WriteTree, git: Git, line: str) -> None:
    root = write_tree({".gitignore": f"b.py\n{line}\n*c.py\n", "a.py": "", "b.py": "", "c.py": ""})
    git("init", "-q")
    listed = git("ls-files", "--others", "--exclude-standard", "--", "*.py").split()
    assert names(find_sources([root], root=root), root) == listed == ["a.py"]


@pytest.mark.parametrize("option", ["include", "exclude"])
def test_a_glob_that_is_no_pattern_is_an_error(write_tree: WriteTree, option: str) -> None:
    root = write_tree({"a.py": ""})
    globs = {"include": ["*.py"], "exclude": ["b.py"], option: ["!"]}
    with pytest.raises(UserError, match=f"{option}: '!' is no pattern"):
        find_sources([root], root=root, include=globs["include"], exclude=globs["exclude"])


def test_ignore_files_above_the_project_and_the_exclude_file(write_tree: WriteTree, git: Git) -> None:
    root = write_tree(
        {
            ".gitignore": "*_local.py\n",
            "sub/project/pyproject.toml": "",
            "sub/project/a.py": "",
            "sub/project/b_local.py": "",
            "sub/project/c.py": "",
        }
    )
    git("init", "-q")
    (root / ".git" / "info" / "exclude").write_text("/sub/project/c.py\n")
    project = root / "sub" / "project"
    assert project_root(project / "a.py") == project
    assert names(find_sources([project], root=project), project) == ["a.py"]


def test_a_linked_work_tree_has_the_exclude_file_of_its_repository(write_tree: WriteTree, git: Git) -> None:
    root = write_tree({"main/a.py": "", "main/.gitignore": ""})
    main = root / "main"
    git("init", "-q", cwd=main)
    git("add", ".", cwd=main)
    git("commit", "-q", "-m", "start", cwd=main)
    git("worktree", "add", "-q", "../linked", cwd=main)
    (main / ".git" / "info" / "exclude").write_text("private.py\n")
    write_tree({"linked/private.py": "", "linked/b.py": ""})
    linked = root / "linked"
    assert names(find_sources([linked], root=linked), linked) == ["a.py", "b.py"]


def test_a_repository_in_the_repository_asks_its_own_ignore_files(write_tree: WriteTree, git: Git) -> None:
    root = write_tree({".gitignore": "gen.py\n", "gen.py": "", "inner/gen.py": "", "inner/other.py": ""})
    git("init", "-q")
    git("init", "-q", cwd=root / "inner")
    write_tree({"inner/.gitignore": "other.py\n"})
    assert names(find_sources([root], root=root), root) == ["inner/gen.py"]


def test_each_folder_is_listed_once_and_no_file_is_asked_about(
    write_tree: WriteTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What keeps tens of thousands of files cheap: the system is asked once a folder, however many files it holds."""
    tree: dict[str, str | bytes] = {".git/": "", ".gitignore": "\n".join(f"*.ext{i}\n/top{i}/" for i in range(100))}
    for folder in range(50):
        for file in range(40):
            tree[f"p{folder % 14}/q{folder}/m{file}.py"] = ""
    root = write_tree(tree)
    listed: list[str] = []
    asked: list[str] = []
    real_scandir, real_stat, real_lstat = os.scandir, os.stat, os.lstat

    def scandir(path: str) -> object:
        listed.append(os.fspath(path))
        return real_scandir(path)

    def stat(path: str, **options: Any) -> os.stat_result:
        asked.append(str(path))
        return real_stat(path, **options)

    def lstat(path: str, **options: Any) -> os.stat_result:
        asked.append(str(path))
        return real_lstat(path, **options)

    with monkeypatch.context() as patched:
        patched.setattr(os, "scandir", scandir)
        patched.setattr(os, "stat", stat)
        patched.setattr(os, "lstat", lstat)
        found = find_sources([root], root=root)
    assert len(found) == 50 * 40
    folders = [root, *(path for path in root.rglob("*") if path.is_dir() and path.name != ".git")]
    assert sorted(listed) == sorted(map(str, folders))
    assert [path for path in asked if path.endswith(".py")] == []


def test_dirty_files_are_those_that_differ_from_the_commit(write_tree: WriteTree, git: Git) -> None:
    root = write_tree(dict.fromkeys(("clean.py", "edited.py", "staged.py", "old.py", "sub/é ü.py"), "x = 1\n"))
    git("init", "-q")
    git("add", ".")
    git("commit", "-q", "-m", "start")
    write_tree(dict.fromkeys(("edited.py", "staged.py", "sub/é ü.py", "new/untracked.py"), "x = 2\n"))
    git("add", "staged.py")
    git("mv", "old.py", "moved.py")
    write_tree({".gitignore": "ignored.py\n", "ignored.py": ""})
    everything = [path for path in root.rglob("*.py") if ".git" not in path.parts]
    expected = {"edited.py", "staged.py", "moved.py", "new/untracked.py", "sub/é ü.py"}
    assert set(names(list(dirty_files(root, everything)), root)) == expected
    assert dirty_files(root, [Path("edited.py"), Path("clean.py")]) == {Path("edited.py")}
    # from a project in a folder of the repository, the answer is the same
    assert dirty_files(root / "sub", [root / "sub" / "é ü.py", root / "clean.py"]) == {root / "sub" / "é ü.py"}


def test_nothing_is_dirty_outside_a_repository(write_tree: WriteTree) -> None:
    root = write_tree({"a.py": ""})
    assert dirty_files(root, [root / "a.py"]) == set()


def test_nothing_is_dirty_without_git(write_tree: WriteTree, git: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write_tree({"a.py": ""})
    git("init", "-q")
    assert dirty_files(root, [root / "a.py"]) == {root / "a.py"}
    monkeypatch.setenv("PATH", os.fspath(root))
    assert dirty_files(root, [root / "a.py"]) == set()


def test_a_repository_that_git_refuses_is_an_error(write_tree: WriteTree, git: Git) -> None:
    root = write_tree({"a.py": ""})
    git("init", "-q")
    (root / ".git" / "config").write_text("[core\n")
    with pytest.raises(UserError, match=r"git cannot tell .*config.*--allow-dirty"):
        dirty_files(root, [root / "a.py"])
