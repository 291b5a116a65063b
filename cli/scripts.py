"""The console scripts that a project declares: ``package.module:function``, from wherever it declares them."""

from __future__ import annotations

import ast
import configparser
import sys
import warnings
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def console_scripts(root: Path) -> frozenset[str]:
    """Every entry that ``pyproject.toml``, ``setup.cfg`` and ``setup.py`` of the project name, as
    ``package.module:function``. A file that cannot be read or parsed declares nothing: it is not ours to judge."""
    found = {*_from_pyproject(root / "pyproject.toml"), *_from_cfg(root / "setup.cfg"), *_from_setup(root / "setup.py")}
    return frozenset(target for text in found if ":" in (target := text.partition("[")[0].strip()))


def _from_pyproject(file: Path) -> list[str]:
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return []
    project, tool = _table(document, "project"), _table(document, "tool")
    tables = [_table(project, key) for key in _SCRIPTS] + [_table(tool, name, "scripts") for name in ("poetry", "flit")]
    found: list[str] = []
    for table in tables:
        for value in table.values():
            # Poetry also takes a table that says where the function is.
            named = [value.get("reference"), value.get("callable")] if isinstance(value, dict) else [value]
            found += [text for text in named if isinstance(text, str)]
    return found


_SCRIPTS = ("scripts", "gui-scripts")
_GROUPS = ("console_scripts", "gui_scripts")


def _table(document: dict[str, Any], *keys: str) -> dict[str, Any]:
    for key in keys:
        value = document.get(key)
        document = value if isinstance(value, dict) else {}
    return document


def _from_cfg(file: Path) -> list[str]:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return []
    return _from_ini(text, "options.entry_points")


def _from_ini(text: str, section: str) -> list[str]:
    """The scripts of a section that has a key for each group; of the groups themselves, where those are sections."""
    parser = configparser.ConfigParser(interpolation=None, strict=False, delimiters=("=",))
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    try:
        parser.read_string(text)
    except configparser.Error:
        return []
    lines: list[str] = []
    for group in _GROUPS:
        if parser.has_section(section):
            lines += parser[section].get(group, "").splitlines()
        if parser.has_section(group):
            lines += [f"{name} = {target}" for name, target in parser[group].items()]
    return _targets(lines)


def _from_setup(file: Path) -> list[str]:
    """What ``setup(entry_points=…)`` says in plain literals: a dictionary, or the text of an ini file."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(file.read_bytes())
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return []
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value in _GROUPS:
                    found += _targets([line for text in _texts(value) for line in text.splitlines()])
        elif isinstance(node, ast.keyword) and node.arg in _GROUPS:
            found += _targets([line for text in _texts(node.value) for line in text.splitlines()])
        elif isinstance(node, ast.keyword) and node.arg == "entry_points" and isinstance(node.value, ast.Constant):
            # Such a text is indented with the code around it.
            found += _from_ini("\n".join(line.strip() for text in _texts(node.value) for line in text.splitlines()), "")
    return found


def _texts(node: ast.expr) -> list[str]:
    return [part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)]


def _targets(lines: list[str]) -> list[str]:
    return [line.partition("=")[2].strip() for line in lines if "=" in line]
