"""``[tool.dfannotate]`` of the nearest ``pyproject.toml``: read once, checked, and given to the commands as a value."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast, get_args

from dfannotate.cli.show import Output, UserError
from dfannotate.manifest import ManualEvent
from dfannotate.vocabulary import GENERATIONS, JSON_ARGUMENTS, RESERVED_ARGUMENTS, TIME_UNITS, generation_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILE_NAME = "pyproject.toml"
TABLE = "dfannotate"
DEFAULT_CATEGORY = "module"
"""One category per file, named after the module."""
ROLE_CATEGORY = "role"
"""A category per function, named after what it does."""

Functions = Literal["worthwhile", "all"]
DEFAULT_FUNCTIONS: Functions = "worthwhile"


class ConfigError(UserError):
    """A configuration that cannot be used; the message names the file and the key."""


@dataclass(frozen=True, kw_only=True)
class Annotating:
    """What is annotated, and how: as the project configured it, and a flag may say otherwise."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    entry: tuple[Path, ...] = ()
    category: str = DEFAULT_CATEGORY
    functions: Functions = DEFAULT_FUNCTIONS
    target: str | None = None
    jobs: int | None = None


@dataclass(frozen=True, kw_only=True)
class Writing:
    """The flags of every command that changes files."""

    check: bool = False
    diff: bool = False
    manifest: Path | None = None
    allow_dirty: bool = False
    output: Output = "text"
    quiet: bool = False


@dataclass(frozen=True, kw_only=True)
class Config(Annotating):
    """What the project configured; the defaults are those of the command line. Paths are absolute: those in the file
    are relative to its folder."""

    manifest: Path | None = None
    shim: bool = False
    categories: tuple[tuple[str, str], ...] = ()
    """Patterns of files and functions, with the category of what matches."""
    events: tuple[tuple[Path, ManualEvent], ...] = ()
    """Functions to log as events, each with its file."""
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[Path, str, tuple[str, ...]], ...] = ()
    """Folder, pattern of files in it, and the codes of rules that are not for them."""


def load_config(start: Path) -> Config:
    """The configuration that holds for ``start`` (a file or folder): that of the nearest ``pyproject.toml`` at or above
    it, or the defaults. Raises ``ConfigError``."""
    file = find_file(start)
    return Config() if file is None else read_config(file)


def find_file(start: Path) -> Path | None:
    """The nearest ``pyproject.toml`` at or above ``start``."""
    here = start.absolute()
    return next((folder / FILE_NAME for folder in (here, *here.parents) if os.path.isfile(folder / FILE_NAME)), None)


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
    if not value.strip():
        raise ValueError("a category needs a name")
    # The tracer writes names into its JSON lines unescaped, so these would make the whole trace unreadable.
    if any(character in '"\\' or not character.isprintable() for character in value):
        raise ValueError(f"{value!r}: quotes, backslashes and control characters would break the trace")
    return value


def check_pair(value: str) -> tuple[str, str]:
    """``KEY=EXPR`` as its two parts. Raises ``ValueError``."""
    key, equals, expression = value.partition("=")
    if not equals or not key.strip() or not expression.strip():
        raise ValueError(f"{value!r}: KEY=EXPR is expected, as in size=len(data)")
    return key.strip(), expression.strip()


def check_event(event: ManualEvent) -> ManualEvent:
    """``event`` if its parts go together; its expressions are looked at where the file is known. Raises
    ``ValueError``."""
    clock = (event.start, event.duration)
    if event.outcome and any(clock):
        raise ValueError("either start and duration (a simulated clock), or outcome (the real one)")
    if not event.outcome and not all(clock):
        raise ValueError("needs start and duration (a simulated clock), or outcome (the real one)")
    if event.unit not in TIME_UNITS:
        raise ValueError(f"unit: {event.unit!r} is none of {', '.join(TIME_UNITS)}")
    if event.category:
        check_category(event.category)
    if len(event.name) > 200 or not event.name.isprintable():
        raise ValueError(f"name: {event.name[:50]!r}: a line of at most 200 printable characters is expected")
    keys = [key for key, _ in (*event.ints, *event.floats, *event.strings)]
    for key in keys:
        check_key(key, outcome=event.outcome)
        if keys.count(key) > 1:
            raise ValueError(f"{key!r}: given twice")
    return event


def check_key(key: str, *, outcome: bool) -> str:
    """``key`` if it can be the key of an argument. Raises ``ValueError`` with the reason."""
    if not key or any(letter in '"\\,' or not letter.isprintable() for letter in key):
        raise ValueError(f"{key!r}: quotes, backslashes, commas and control characters cannot be in a key")
    if key in RESERVED_ARGUMENTS:
        raise ValueError(f"{key!r}: {RESERVED_ARGUMENTS[key]}")
    if key == JSON_ARGUMENTS or (outcome and key == "error"):
        raise ValueError(f"{key!r}: what the event itself calls something")
    return key


def check_functions(value: str) -> Functions:
    """``value`` if it is a choice of functions. Raises ``ValueError``."""
    if value in get_args(Functions):
        return cast(Functions, value)
    raise ValueError(f"{value!r} is neither 'worthwhile' nor 'all'")


def check_target(value: str) -> str:
    """``value`` if it is a release that can be written for, of any generation. Raises ``ValueError``."""
    if generation_of(value) is not None:
        return value
    known = ", ".join(generation.in_words() for generation in GENERATIONS)
    raise ValueError(f"{value!r} is not a release that dfannotate writes for; known: {known}")


def _checked(table: Mapping[str, Any], file: Path) -> Config:
    known = set(_READERS)
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in known:
            raise ConfigError(f"{file}: unknown key '{key}' in [tool.{TABLE}]; known: {', '.join(sorted(known))}")
        try:
            values[key.replace("-", "_")] = _READERS[key](value, file.parent)
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


def _categories(value: object) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, dict):
        raise ValueError(f"must be a table of patterns with categories, not {_kind(value)}")
    return tuple((pattern, check_category(_text(category))) for pattern, category in value.items())


def _events(value: object, folder: Path) -> tuple[tuple[Path, ManualEvent], ...]:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise ValueError(f"must be a list of tables ([[tool.{TABLE}.events]]), not {_kind(value)}")
    events: list[tuple[Path, ManualEvent]] = []
    for number, table in enumerate(value, 1):
        try:
            events.append(_event(table, folder))
        except ValueError as error:
            named = table.get("function") or f"number {number}"
            raise ValueError(f"{named}: {error}") from error
        if [(file, event.function) for file, event in events].count((events[-1][0], events[-1][1].function)) > 1:
            raise ValueError(f"{events[-1][1].function}: named twice for {table['file']}; a function is one event")
    return tuple(events)


def _event(table: Mapping[str, Any], folder: Path) -> tuple[Path, ManualEvent]:
    known = ("file", "function", "name", "category", "start", "duration", "unit", "outcome", "int", "float", "string")
    for key in table:
        if key not in known:
            raise ValueError(f"unknown key '{key}' in [[tool.{TABLE}.events]]; known: {', '.join(sorted(known))}")
    texts = {key: _text(table.get(key, "")) for key in known[:7]}
    for key in ("file", "function"):
        if not texts[key]:
            raise ValueError(f"needs a '{key}'")
    outcome = table.get("outcome", False)
    if not isinstance(outcome, bool):
        raise ValueError(f"outcome: must be true or false, not {_kind(outcome)}")
    event = ManualEvent(
        function=texts["function"],
        name=texts["name"],
        category=texts["category"],
        start=texts["start"],
        duration=texts["duration"],
        unit=texts["unit"] or "s",
        outcome=outcome,
        ints=_pairs(table.get("int", []), "int"),
        floats=_pairs(table.get("float", []), "float"),
        strings=_pairs(table.get("string", []), "string"),
    )
    return folder / texts["file"], check_event(event)


def _pairs(value: object, kind: str) -> tuple[tuple[str, str], ...]:
    """``["key=expression"]``, as after the flag, or a table of keys and expressions."""
    if isinstance(value, dict):
        return tuple((key, _text(expression)) for key, expression in value.items())
    if isinstance(value, list):
        return tuple(check_pair(_text(item)) for item in value)
    raise ValueError(f"{kind}: must be a list of strings or a table of strings, not {_kind(value)}")


def _per_file(value: object, folder: Path) -> tuple[tuple[Path, str, tuple[str, ...]], ...]:
    if not isinstance(value, dict):
        raise ValueError(f"must be a table of patterns with lists of codes, not {_kind(value)}")
    return tuple((folder, pattern, _texts(codes)) for pattern, codes in value.items())


def _switch(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"must be true or false, not {_kind(value)}")
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
    "shim": lambda value, folder: _switch(value),
    "categories": lambda value, folder: _categories(value),
    "events": lambda value, folder: _events(value, folder),
    "select": lambda value, folder: _texts(value),
    "ignore": lambda value, folder: _texts(value),
    "per-file-ignores": lambda value, folder: _per_file(value, folder),
}
"""How each key is read: the value and the folder of the file to what ``Config`` holds. Raise ``ValueError``."""
