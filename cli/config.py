"""``[tool.dfannotate]`` of the nearest ``pyproject.toml``: read once, checked, and given to the commands as a value."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

from dfannotate.cli.show import UserError
from dfannotate.vocabulary import TARGETS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILE_NAME = "pyproject.toml"
TABLE = "dfannotate"
DEFAULT_CATEGORY = "module"
"""One category per file, named after the module."""

Functions = Literal["worthwhile", "all"]
DEFAULT_FUNCTIONS: Functions = "worthwhile"


class ConfigError(UserError):
    """A configuration that cannot be used; the message names the file and the key."""


@dataclass(frozen=True)
class Config:
    """What the project configured; the defaults are those of the command line. Paths are absolute: those in the file
    are relative to its folder."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    entry: tuple[Path, ...] = ()
    category: str = DEFAULT_CATEGORY
    functions: Functions = DEFAULT_FUNCTIONS
    target: str | None = None
    manifest: Path | None = None
    jobs: int | None = None


def load_config(start: Path) -> Config:
    """The configuration that holds for ``start`` (a file or folder): that of the nearest ``pyproject.toml`` at or above
    it, or the defaults. Raises ``ConfigError``."""
    file = find_file(start)
    return Config() if file is None else read_config(file)


def find_file(start: Path) -> Path | None:
    """The nearest ``pyproject.toml`` at or above ``start``."""
    here = start.absolute()
    return next((folder / FILE_NAME for folder in (here, *here.parents) if (folder / FILE_NAME).is_file()), None)


def read_config(file: Path) -> Config:
    """Read the table of ``file``. Raises ``ConfigError`` on a file that cannot be read or parsed, an unknown key, a
    value of the wrong type, and a value that no flag would accept."""
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file}: not UTF-8, which TOML requires (byte {error.start})") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{file}: not valid TOML: {error}") from error
    tool = document.get("tool", {})
    table = tool.get(TABLE, {}) if isinstance(tool, dict) else {}
    if not isinstance(table, dict):
        raise ConfigError(f"{file}: tool.{TABLE} must be a table, not {_kind(table)}")
    return _checked(table, file)


def check_category(value: str) -> str:
    """``value`` if it can be a category. Raises ``ValueError`` with the reason."""
    if value == "role":
        raise ValueError("categories by role are not available yet; use 'module' or a name of your own")
    if not value.strip():
        raise ValueError("a category needs a name")
    # The tracer writes names into its JSON lines unescaped, so these would make the whole trace unreadable.
    if any(character in '"\\' or not character.isprintable() for character in value):
        raise ValueError(f"{value!r}: quotes, backslashes and control characters would break the trace")
    return value


def check_functions(value: str) -> Functions:
    """``value`` if it is a choice of functions. Raises ``ValueError``."""
    if value == "worthwhile" or value == "all":
        return value
    raise ValueError(f"{value!r} is neither 'worthwhile' nor 'all'")


def check_target(value: str) -> str:
    """``value`` if it is a release that can be written for, post-releases included. Raises ``ValueError``."""
    if value in TARGETS or value.startswith(tuple(f"{target}.post" for target in TARGETS)):
        return value
    raise ValueError(f"{value!r} is not a release that dfannotate writes for; known: {', '.join(TARGETS)}")


def _checked(table: Mapping[str, Any], file: Path) -> Config:
    known = {field.name for field in fields(Config)}
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in known:
            raise ConfigError(f"{file}: unknown key '{key}' in [tool.{TABLE}]; known: {', '.join(sorted(known))}")
        try:
            values[key] = _READERS[key](value, file.parent)
        except ValueError as error:
            raise ConfigError(f"{file}: tool.{TABLE}.{key}: {error}") from error
    return Config(**values)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"must be a string, not {_kind(value)}")
    return value


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ValueError(f"must be a list of strings, not {_kind(value)}")
    return tuple(_text(item) for item in value)


def _jobs(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"must be an integer, not {_kind(value)}")
    if value < 1:
        raise ValueError(f"must be at least 1, not {value}")
    return value


def _kind(value: object) -> str:
    """What TOML calls the type of ``value``."""
    names = {str: "a string", bool: "a boolean", int: "an integer", float: "a float", list: "a list", dict: "a table"}
    return names.get(type(value), "a date or time")


_READERS: dict[str, Callable[[object, Path], object]] = {
    "include": lambda value, folder: _texts(value),
    "exclude": lambda value, folder: _texts(value),
    "entry": lambda value, folder: tuple(folder / item for item in _texts(value)),
    "category": lambda value, folder: check_category(_text(value)),
    "functions": lambda value, folder: check_functions(_text(value)),
    "target": lambda value, folder: check_target(_text(value)),
    "manifest": lambda value, folder: folder / _text(value),
    "jobs": lambda value, folder: _jobs(value),
}
"""How each key is read: the value and the folder of the file to what ``Config`` holds. Raise ``ValueError``."""
