"""Console scripts, from every place where a project declares them."""

from __future__ import annotations

import pytest

from dfannotate.cli.scripts import console_scripts
from tests.conftest import WriteTree

DECLARED = {
    "project": ("pyproject.toml", '[project.scripts]\nrun = "pkg.cli:main"\n'),
    "project-gui": ("pyproject.toml", '[project.gui-scripts]\nrun = "pkg.cli:main"\n'),
    "project-extras": ("pyproject.toml", '[project.scripts]\nrun = "pkg.cli:main [fast]"\n'),
    "poetry": ("pyproject.toml", '[tool.poetry.scripts]\nrun = "pkg.cli:main"\n'),
    "poetry-reference": (
        "pyproject.toml",
        '[tool.poetry.scripts]\nr = {reference = "pkg.cli:main", type = "console"}\n',
    ),
    "flit": ("pyproject.toml", '[tool.flit.scripts]\nrun = "pkg.cli:main"\n'),
    "cfg": ("setup.cfg", "[options.entry_points]\nconsole_scripts =\n    run = pkg.cli:main\n"),
    "cfg-gui": ("setup.cfg", "[options.entry_points]\ngui_scripts =\n    run=pkg.cli:main\n"),
    "setup": ("setup.py", "setup(entry_points={'console_scripts': ['run = pkg.cli:main']})\n"),
    "setup-variable": ("setup.py", "E = {'console_scripts': ('run=pkg.cli:main',)}\nsetup(entry_points=E)\n"),
    "setup-call": ("setup.py", "setup(entry_points=dict(console_scripts=['run=pkg.cli:main']))\n"),
    "setup-text-in-list": ("setup.py", "E = {'console_scripts': '''\n    run = pkg.cli:main\n'''}\n"),
    "setup-ini": ("setup.py", "setup(entry_points='''\n    [console_scripts]\n    run = pkg.cli:main\n''')\n"),
}
NOTHING = {
    "no-files": ("README", ""),
    "no-function": ("pyproject.toml", '[project.scripts]\nrun = "pkg.cli"\n'),
    "other-group": ("pyproject.toml", '[project.entry-points.plugins]\nrun = "pkg.cli:main"\n'),
    "wrong-types": ("pyproject.toml", "project = 3\n[tool]\npoetry = []\n"),
    "script-a-number": ("pyproject.toml", "[project.scripts]\nrun = 3\n"),
    "broken-toml": ("pyproject.toml", "[project.scripts\n"),
    "toml-not-utf-8": ("pyproject.toml", b'[project.scripts]\nrun = "\xff:main"\n'),
    "broken-cfg": ("setup.cfg", "console_scripts = no section\n"),
    "cfg-not-utf-8": ("setup.cfg", b"[options.entry_points]\n\xff = 1\n"),
    "cfg-other-section": ("setup.cfg", "[metadata]\nname = console_scripts\n"),
    "broken-setup": ("setup.py", "setup(\n"),
    "setup-nul": ("setup.py", b"\0"),
    "setup-computed": ("setup.py", "setup(entry_points={'console_scripts': find()})\n"),
    "setup-nested": ("setup.py", "x = " + "(" * 5000 + "\n"),
    "setup-other-text": ("setup.py", "setup(entry_points='no ini at all')\n"),
}


@pytest.mark.parametrize(("name", "content"), DECLARED.values(), ids=DECLARED)
def test_declared(write_tree: WriteTree, name: str, content: str) -> None:
    assert console_scripts(write_tree({name: content})) == {"pkg.cli:main"}


@pytest.mark.parametrize(("name", "content"), NOTHING.values(), ids=NOTHING)
def test_nothing_declared_or_nothing_to_read(write_tree: WriteTree, name: str, content: str | bytes) -> None:
    assert console_scripts(write_tree({name: content})) == frozenset()


def test_all_places_together(write_tree: WriteTree) -> None:
    root = write_tree(
        {
            "pyproject.toml": '[project.scripts]\na = "a:main"\n',
            "setup.cfg": "[options.entry_points]\nconsole_scripts =\n  b = b:main\n  c = c:main\n",
            "setup.py": "setup(entry_points={'gui_scripts': ['d=d:main']})\n",
        }
    )
    assert console_scripts(root) == {"a:main", "b:main", "c:main", "d:main"}


def test_a_warning_of_the_compiler_is_not_passed_on(write_tree: WriteTree, recwarn: pytest.WarningsRecorder) -> None:
    console_scripts(write_tree({"setup.py": "x = '\\d'\n"}))
    assert not recwarn.list
