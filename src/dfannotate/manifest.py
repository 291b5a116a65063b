"""What was inserted where: the record that ``apply`` leaves, and that ``revert`` and ``verify`` read.

The file is JSON, version 1 (see ``FORMAT_VERSION``). Paths are relative to the project root, with ``/``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast, get_args

from dfannotate import __version__
from dfannotate.vocabulary import TIME_UNITS

FORMAT_VERSION = 1

SiteKind = Literal["decorator", "init", "region", "event", "lifecycle", "dataloader", "process", "pool"]

WORKER_KINDS: tuple[SiteKind, ...] = ("dataloader", "process", "pool")
"""Places where the program makes worker processes."""


class ManifestError(ValueError):
    """A manifest that cannot be used; the message names the file and what is wrong with it."""


@dataclass(frozen=True)
class Site:
    """One annotation. ``line`` is the line of the ``def`` (or of the inserted statement) in the annotated file;
    ``event`` and ``category`` are what the trace will say (empty for a site that logs no event of its own)."""

    kind: SiteKind
    function: str
    event: str
    category: str
    line: int


@dataclass(frozen=True)
class Skip:
    """A function left out, with the reason (``trivial``, ``generator``, ``compiled``, …)."""

    function: str
    line: int
    reason: str


@dataclass(frozen=True)
class Undo:
    """One replaced stretch of the annotated file: lines ``start`` to ``end`` (1-based, ``end`` excluded) were
    ``before``. All of a file's, applied from the last to the first, give the original text byte for byte."""

    start: int
    end: int
    before: str


@dataclass(frozen=True)
class ManualEvent:
    """A function that is logged as an event of the user's making, once it ends.

    ``start`` and ``duration`` are Python expressions over the function's names, in ``unit``: a simulated clock. With
    ``outcome`` the clock is the real one, and a failure is logged with its error. ``ints``, ``floats`` and ``strings``
    are the event's arguments: keys and expressions. ``name`` and ``category`` are those of the function where empty."""

    function: str
    name: str = ""
    category: str = ""
    start: str = ""
    duration: str = ""
    unit: str = "s"
    outcome: bool = False
    ints: tuple[tuple[str, str], ...] = ()
    floats: tuple[tuple[str, str], ...] = ()
    strings: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class FileEntry:
    """What happened to one file."""

    path: str
    category: str
    entry: bool
    sha256_before: str
    sha256_after: str
    sites: tuple[Site, ...] = ()
    skipped: tuple[Skip, ...] = ()
    undo: tuple[Undo, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    """The tracer's local names in the file, by what they stand for (``instance`` -> ``_dft``)."""
    introduced: tuple[str, ...] = ()
    """Which of them the annotations brought in; the others were the file's own."""
    events: tuple[ManualEvent, ...] = ()
    """What was asked for function by function, outside of the configuration; the next ``apply`` keeps it."""
    choices: Mapping[str, str] = field(default_factory=dict)
    """How ``apply`` chose functions and categories; empty where it never ran over the file."""
    shim: str = ""
    """The path of the generated module that the file imports the tracer's names from; empty where it is the tracer."""
    generated: bool = False
    """The file is such a module: it was not there before, and goes with the last file that imports from it."""


@dataclass(frozen=True)
class Manifest:
    """All files, sorted by path."""

    target: str
    files: tuple[FileEntry, ...] = ()
    tool: str = field(default=f"dfannotate {__version__}")

    def by_path(self) -> dict[str, FileEntry]:
        return {entry.path: entry for entry in self.files}

    def merged(self, target: str, changed: Iterable[FileEntry], removed: Iterable[str] = ()) -> Manifest:
        """A manifest where ``changed`` replace the entries of the same path and ``removed`` are gone."""
        entries = self.by_path()
        for path in removed:
            entries.pop(path, None)
        entries.update((entry.path, entry) for entry in changed)
        return Manifest(target, tuple(entries[path] for path in sorted(entries)))


def dump(manifest: Manifest) -> str:
    """The manifest as JSON text, stable in order, with a final newline. Each site, skip and undo has a line of its own,
    so that a change of one function is a change of a few lines."""
    head = {"version": FORMAT_VERSION, "tool": manifest.tool, "target": manifest.target}
    lines = ["{", *(f" {_json(key)}: {_json(value)}," for key, value in head.items())]
    blocks = [_dump_entry(entry) for entry in manifest.files]
    lines += [' "files": [', *_joined(blocks), " ]"] if blocks else [' "files": []']
    return "\n".join([*lines, "}"]) + "\n"


def _dump_entry(entry: FileEntry) -> list[str]:
    rows = [f"   {_json(key)}: {_json(getattr(entry, key))}" for key in _SCALARS]
    for key in ("sites", "skipped", "undo"):
        items = [[f"    {_json(vars(item))}"] for item in getattr(entry, key)]
        if items:
            rows.append("\n".join([f"   {_json(key)}: [", *_joined(items), "   ]"]))
        elif key != "undo":
            rows.append(f"   {_json(key)}: []")
    if entry.names:
        rows.append(f'   "names": {_json(dict(entry.names))}')
    if entry.introduced:
        rows.append(f'   "introduced": {_json(list(entry.introduced))}')
    if entry.shim:
        rows.append(f'   "shim": {_json(entry.shim)}')
    if entry.generated:
        rows.append('   "generated": true')
    if entry.events:
        rows.append(f'   "events": [{", ".join(_json(vars(event)) for event in entry.events)}]')
    if entry.choices:
        rows.append(f'   "choices": {_json(dict(entry.choices))}')
    return ["  {", *_joined([[row] for row in rows]), "  }"]


def _joined(blocks: list[list[str]]) -> list[str]:
    """The lines of all blocks, each but the last followed by a comma."""
    for block in blocks[:-1]:
        block[-1] += ","
    return [line for block in blocks for line in block]


_json = json.JSONEncoder(ensure_ascii=True).encode
_SCALARS = ("path", "category", "entry", "sha256_before", "sha256_after")


def load(path: Path) -> Manifest:
    """Read a manifest.

    Raises ``ManifestError`` where the file is not one of this version, ``OSError`` where it cannot be read."""
    data = path.read_bytes()
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ManifestError(f"{path}: not JSON ({error}); {_REMEDY}") from None
    if not isinstance(document, dict):
        raise ManifestError(f"{path}: not a manifest (an object is expected); {_REMEDY}")
    version = document.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version != FORMAT_VERSION:
        raise ManifestError(
            f"{path}: manifest version {version!r}; this dfannotate reads version {FORMAT_VERSION}:"
            " use the dfannotate that wrote it"
        )
    try:
        files = tuple(_entry(item) for item in _list(document, "files"))
        if len({entry.path for entry in files}) < len(files):
            raise ValueError("a path is listed twice")
        return Manifest(_str(document, "target"), files, _str(document, "tool"))
    except KeyError as error:
        raise ManifestError(f"{path}: broken manifest (no {error}); {_REMEDY}") from None
    except (TypeError, ValueError) as error:
        raise ManifestError(f"{path}: broken manifest ({error}); {_REMEDY}") from None


_REMEDY = "restore it, from git say (without it, what is annotated by now cannot be reverted)"


def save(manifest: Manifest, path: Path) -> None:
    """Write the manifest atomically: at any moment the file is the old one or the new one. A file that says the same
    already is not touched. Raises ``OSError``."""
    data = dump(manifest).encode("ascii")
    path = Path(os.path.realpath(path))  # a link stays a link
    try:
        if path.read_bytes() == data:
            return
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
    temporary = temporary_of(path)
    temporary.unlink(missing_ok=True)
    try:
        with open(temporary, "xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def temporary_of(path: Path) -> Path:
    """Where a manifest is written first. Always the same name, so that what a killed run left goes with the next."""
    return path.with_name(f".{path.name}.new")


def _str(item: Mapping[str, Any], key: str) -> str:
    value = item[key]
    if not isinstance(value, str):
        raise TypeError(f"{key!r} must be a string, not {value!r}")
    return value


def _int(item: Mapping[str, Any], key: str) -> int:
    value = item[key]
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{key!r} must be an integer, not {value!r}")
    return value


def _list(item: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    value = item[key]
    if not isinstance(value, list) or not all(isinstance(element, dict) for element in value):
        raise TypeError(f"{key!r} must be a list of objects")
    return value


def _bool(item: Mapping[str, Any], key: str) -> bool:
    value = item[key]
    if not isinstance(value, bool):
        raise TypeError(f"{key!r} must be true or false, not {value!r}")
    return value


def _texts(item: Mapping[str, Any], key: str) -> dict[str, str]:
    value = item.get(key, {})
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        raise TypeError(f"{key!r} must be an object of strings, not {value!r}")
    return value


def _event(item: Mapping[str, Any]) -> ManualEvent:
    unit = _str(item, "unit")
    if unit not in TIME_UNITS:
        raise ValueError(f"unknown unit {unit!r}")
    return ManualEvent(
        function=_str(item, "function"),
        name=_str(item, "name"),
        category=_str(item, "category"),
        start=_str(item, "start"),
        duration=_str(item, "duration"),
        unit=unit,
        outcome=_bool(item, "outcome"),
        ints=_pairs(item, "ints"),
        floats=_pairs(item, "floats"),
        strings=_pairs(item, "strings"),
    )


def _pairs(item: Mapping[str, Any], key: str) -> tuple[tuple[str, str], ...]:
    value = item[key]
    if not isinstance(value, list) or not all(
        isinstance(pair, list) and len(pair) == 2 and all(isinstance(text, str) for text in pair) for pair in value
    ):
        raise TypeError(f"{key!r} must be a list of pairs of strings, not {value!r}")
    return tuple((pair[0], pair[1]) for pair in value)


def _introduced(item: Mapping[str, Any]) -> tuple[str, ...]:
    value = item.get("introduced", [])
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise TypeError(f"'introduced' must be a list of strings, not {value!r}")
    return tuple(value)


def _path(item: Mapping[str, Any]) -> str:
    value = _str(item, "path")
    if not value or value.startswith("/") or "\0" in value:
        raise ValueError(f"'path' must be relative to the project root, not {value!r}")
    return value


def _undo(item: Mapping[str, Any]) -> Undo:
    undo = Undo(_int(item, "start"), _int(item, "end"), _str(item, "before"))
    if not 1 <= undo.start <= undo.end:
        raise ValueError(f"no lines {undo.start} to {undo.end}")
    return undo


def _entry(item: Mapping[str, Any]) -> FileEntry:
    sites = []
    for site in _list(item, "sites"):
        kind = _str(site, "kind")
        if kind not in get_args(SiteKind):
            raise ValueError(f"unknown kind of site {kind!r}")
        sites.append(
            Site(
                cast(SiteKind, kind),
                _str(site, "function"),
                _str(site, "event"),
                _str(site, "category"),
                _int(site, "line"),
            )
        )
    skipped = (Skip(_str(s, "function"), _int(s, "line"), _str(s, "reason")) for s in _list(item, "skipped"))
    undo = (_undo(stretch) for stretch in (_list(item, "undo") if "undo" in item else ()))
    return FileEntry(
        path=_path(item),
        category=_str(item, "category"),
        entry=_bool(item, "entry"),
        sha256_before=_str(item, "sha256_before"),
        sha256_after=_str(item, "sha256_after"),
        sites=tuple(sites),
        skipped=tuple(skipped),
        undo=tuple(undo),
        names=_texts(item, "names"),
        introduced=_introduced(item),
        events=tuple(_event(event) for event in (_list(item, "events") if "events" in item else ())),
        choices=_texts(item, "choices"),
        shim=_str(item, "shim") if "shim" in item else "",
        generated="generated" in item and _bool(item, "generated"),
    )
