"""``[tool.dfannotate]``: what is read, and what is refused with which words."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from dfannotate.cli.config import _READERS, Config, ConfigError, load_config
from tests.conftest import WriteTree


def test_defaults_without_a_file_or_a_table(write_tree: WriteTree) -> None:
    root = write_tree({"a.py": ""})
    assert load_config(root) == Config()
    write_tree({"pyproject.toml": "[project]\nname = 'x'\n[tool.ruff]\nline-length = 100\n"})
    assert load_config(root / "a.py") == Config()


def test_every_key_is_read_and_paths_are_relative_to_the_file(write_tree: WriteTree) -> None:
    root = write_tree(
        {
            "pyproject.toml": """
                [tool.dfannotate]
                include = ["src/**"]
                exclude = ["src/gen/", "*_pb2.py"]
                entry = ["src/train.py"]
                category = "io"
                target = "2.1.0"
                manifest = "build/manifest.json"
                jobs = 3
                select = ["DFT1"]
                ignore = ["DFT101"]
                per-file-ignores = { "old/*.py" = ["ALL"] }
            """,
            "src/train.py": "",
        }
    )
    assert load_config(root / "src" / "train.py") == Config(
        include=("src/**",),
        exclude=("src/gen/", "*_pb2.py"),
        entry=(root / "src" / "train.py",),
        category="io",
        target="2.1.0",
        manifest=root / "build" / "manifest.json",
        jobs=3,
        select=("DFT1",),
        ignore=("DFT101",),
        per_file_ignores=((root, "old/*.py", ("ALL",)),),
    )


def test_every_field_of_the_configuration_can_be_read() -> None:
    assert {key.replace("-", "_") for key in _READERS} == {field.name for field in fields(Config)}


def test_the_nearest_file_holds_alone(write_tree: WriteTree) -> None:
    root = write_tree(
        {
            "pyproject.toml": "[tool.dfannotate]\njobs = 1\nexclude = ['a']\n",
            "sub/pyproject.toml": "[tool.dfannotate]\njobs = 2\n",
            "sub/deep/a.py": "",
        }
    )
    assert load_config(root / "sub" / "deep") == Config(jobs=2)
    assert load_config(root) == Config(jobs=1, exclude=("a",))


def test_found_from_a_relative_path(write_tree: WriteTree, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write_tree({"pyproject.toml": "[tool.dfannotate]\njobs = 4\n", "sub/": ""})
    monkeypatch.chdir(root / "sub")
    assert load_config(Path()) == Config(jobs=4)


REFUSED = {
    "unknown-key": (
        "[tool.dfannotate]\nexcludes = []",
        "unknown key 'excludes' in [tool.dfannotate]; known: categories,",
    ),
    "unknown-table": ("[tool.dfannotate.jobs2]\nx = 1", "unknown key 'jobs2'"),
    "string-for-list": (
        "[tool.dfannotate]\nexclude = 'a'",
        "exclude: must be a list of strings, not a string",
    ),
    "wrong-item": ("[tool.dfannotate]\nentry = ['a', 1]", "tool.dfannotate.entry: must be a string, not an integer"),
    "list-for-string": ("[tool.dfannotate]\ncategory = ['a']", "dfannotate.category: must be a string, not a list"),
    "table-for-string": (
        "[tool.dfannotate.manifest]\na = 1",
        "dfannotate.manifest: must be a string, not a table",
    ),
    "date-for-string": ("[tool.dfannotate]\ntarget = 2024-01-01", "dfannotate.target: must be a string, not a date"),
    "string-for-integer": ("[tool.dfannotate]\njobs = '2'", "tool.dfannotate.jobs: must be an integer, not a string"),
    "boolean-for-integer": (
        "[tool.dfannotate]\njobs = true",
        "dfannotate.jobs: must be an integer, not a boolean",
    ),
    "float-for-integer": ("[tool.dfannotate]\njobs = 2.0", "tool.dfannotate.jobs: must be an integer, not a float"),
    "no-jobs": ("[tool.dfannotate]\njobs = 0", "tool.dfannotate.jobs: must be at least 1, not 0"),
    "unknown-target": ("[tool.dfannotate]\ntarget = '9.9'", "dfannotate.target: '9.9' is not a release that"),
    "quote-in-category": ("[tool.dfannotate]\ncategory = 'a\"b'", "would break the trace"),
    "empty-category": ("[tool.dfannotate]\ncategory = ' '", "tool.dfannotate.category: a category needs a name"),
    "not-a-table": ("[tool]\ndfannotate = 3", "tool.dfannotate must be a table, not an integer"),
    "not-toml": ("[tool.dfannotate\n", "not valid TOML: "),
    "not-utf-8": (b"[tool.dfannotate]\n# \xff\n", "not UTF-8, which TOML requires (byte 20)"),
}


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(write_tree: WriteTree, text: str | bytes, message: str) -> None:
    root = write_tree({"pyproject.toml": text})
    with pytest.raises(ConfigError) as caught:
        load_config(root)
    assert str(caught.value).startswith(f"{root / 'pyproject.toml'}: ")
    assert message in str(caught.value)


@pytest.mark.parametrize("target", ["2.0.2", "2.2.0", "2.1.1.post45"])
def test_targets_with_post_releases(write_tree: WriteTree, target: str) -> None:
    root = write_tree({"pyproject.toml": f"[tool.dfannotate]\ntarget = '{target}'\n"})
    assert load_config(root).target == target
