"""What was inserted where: the record that ``apply`` leaves, and that ``revert`` and ``verify`` read.

The file is JSON, version 1 (see ``FORMAT_VERSION``). Paths are relative to the project root, with ``/``.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, cast, get_args

from dfannotate import __version__

FORMAT_VERSION = 1

SiteKind = Literal["decorator", "init", "region", "event", "lifecycle", "dataloader", "process", "pool"]


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
    """The manifest as JSON text, stable in order, with a final newline."""
    document = {"version": FORMAT_VERSION, "tool": manifest.tool, "target": manifest.target}
    document_files = [asdict(entry) for entry in manifest.files]
    return json.dumps({**document, "files": document_files}, indent=1, ensure_ascii=True) + "\n"


def load(path: Path) -> Manifest:
    """Read a manifest.

    Raises ``ManifestError`` where the file is not one of this version, ``OSError`` where it cannot be read."""
    data = path.read_bytes()
    try:
        document = json.loads(data)
    except ValueError as error:
        raise ManifestError(f"{path}: not JSON ({error})") from None
    if not isinstance(document, dict):
        raise ManifestError(f"{path}: not a manifest (an object is expected)")
    if document.get("version") != FORMAT_VERSION:
        raise ManifestError(
            f"{path}: manifest version {document.get('version')!r}; this dfannotate reads version {FORMAT_VERSION}"
        )
    try:
        files = tuple(_entry(item) for item in _list(document, "files"))
        return Manifest(_str(document, "target"), files, _str(document, "tool"))
    except (KeyError, TypeError, ValueError) as error:
        raise ManifestError(f"{path}: broken manifest ({error})") from None


def save(manifest: Manifest, path: Path) -> None:
    """Write the manifest atomically: at any moment the file is the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(dump(manifest))
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


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
    value = item.get(key, [])
    if not isinstance(value, list) or not all(isinstance(element, dict) for element in value):
        raise TypeError(f"{key!r} must be a list of objects")
    return value


def _texts(value: object) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(text, str) for pair in value.items() for text in pair):
        raise TypeError(f"names must be strings, not {value!r}")
    return value


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
    undo = (Undo(_int(u, "start"), _int(u, "end"), _str(u, "before")) for u in _list(item, "undo"))
    return FileEntry(
        path=_str(item, "path"),
        category=_str(item, "category"),
        entry=bool(item["entry"]),
        sha256_before=_str(item, "sha256_before"),
        sha256_after=_str(item, "sha256_after"),
        sites=tuple(sites),
        skipped=tuple(skipped),
        undo=tuple(undo),
        names=_texts(item.get("names", {})),
        introduced=tuple(_texts(dict.fromkeys(item.get("introduced", ()), ""))),
    )
