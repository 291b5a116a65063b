"""The console scripts that a project declares: ``package.module:function``, from wherever it declares them."""

from __future__ import annotations

import ast
import configparser
import sys
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
    except (OSError, ValueError):
        return []
    project, poetry = _table(document, "project"), _table(document, "tool", "poetry")
    tables = (_table(project, "scripts"), _table(project, "gui-scripts"), _table(poetry, "scripts"))
    return [value for table in tables for value in table.values() if isinstance(value, str)]


def _table(document: dict[str, Any], *keys: str) -> dict[str, Any]:
    for key in keys:
        value = document.get(key)
        document = value if isinstance(value, dict) else {}
    return document


def _from_cfg(file: Path) -> list[str]:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(file.read_text(encoding="utf-8"))
        section = parser["options.entry_points"]
    except (OSError, ValueError, KeyError, configparser.Error):
        return []
    return _targets(section.get("console_scripts", "").splitlines() + section.get("gui_scripts", "").splitlines())


def _from_setup(file: Path) -> list[str]:
    """What ``setup(entry_points={"console_scripts": [...]})`` says in plain literals."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, ValueError, SyntaxError):
        return []
    lines: list[str] = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Dict):
            continue
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and key.value in ("console_scripts", "gui_scripts"):
                lines += [n.value for n in ast.walk(value) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    return _targets([part for line in lines for part in line.splitlines()])


def _targets(lines: list[str]) -> list[str]:
    return [line.partition("=")[2].strip() for line in lines if "=" in line]
