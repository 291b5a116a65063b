"""Bytes -> ``Source`` (text, lines, tree) or ``ParseFailure`` (path, line, column, reason). Parsed once a file.

Python reads a file with universal newlines and nothing else: ``\\r\\n``, ``\\n`` and ``\\r`` end a line, a form feed or
U+2028 does not. ``Source.lines`` is split that way, so that line N here is line N of the tree.
"""

from __future__ import annotations

import ast
import codecs
import hashlib
import io
import re
import sys
import tokenize
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

_WITHOUT_NODES = frozenset(
    {"arg", "asname", "attr", "conversion", "ctx", "id", "is_async", "kind", "kwd_attrs", "level", "module", "n"}
    | {"name", "names", "op", "ops", "rest", "s", "simple", "str", "tag", "type_comment", "type_ignores"}
)
"""Fields of the tree that hold no nodes, or none that hold anything themselves (contexts, operators)."""

PARTS: dict[type, tuple[str, ...]] = {
    kind: tuple(field for field in kind._fields if field not in _WITHOUT_NODES)
    for kind in vars(ast).values()
    # Not ``type``: on Python 3.10 ``dict[str, str]`` passes for one.
    if isinstance(kind, type) and issubclass(kind, ast.AST)
}
"""Class of a node -> its fields with a node or None, or a list of such. Names, arguments and imports are whole.

Walking a tree by this takes half of what ``ast.walk`` does, which asks each field of each node what it holds."""
PARTS.update(dict.fromkeys((ast.Constant, ast.MatchSingleton, ast.Import, ast.ImportFrom, type(None)), ()))
if sys.version_info >= (3, 12):
    PARTS[ast.TypeAlias] = ast.TypeAlias._fields

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


class ParseFailure(Exception):
    """A file that is not Python source here. ``line`` and ``column`` are 1-based, 0 where the place is unknown."""

    def __init__(self, path: str, line: int, column: int, reason: str) -> None:
        super().__init__(path, line, column, reason)
        self.path = path
        self.line = line
        self.column = column
        self.reason = reason

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}:{self.column}" if self.line else self.path
        return f"{place}: {self.reason}"


@dataclass(frozen=True)
class Source:
    """One file as Python sees it. ``text`` is without the BOM; ``tree`` has the positions of ``text``."""

    path: str
    text: str
    tree: ast.Module
    encoding: str
    bom: bool
    sha256: str

    @cached_property
    def lines(self) -> list[str]:
        return split_lines(self.text)

    @cached_property
    def newline(self) -> str:
        """The newline of the first line, which is what an inserted line gets where its neighbour has none."""
        match = re.search(r"\r\n|\r|\n", self.text)
        return match.group() if match else "\n"

    @cached_property
    def indent_unit(self) -> str:
        """What the file indents by: the white space before the first block of a top-level statement."""
        for node in self.tree.body:
            block: list[ast.stmt] = getattr(node, "body", [])
            if block and block[0].lineno > node.lineno:
                before = self.lines[block[0].lineno - 1][: block[0].col_offset]
                if before and not before.strip(" \t"):
                    return before
        return "    "

    def encode(self, text: str) -> bytes:
        """``text`` as the bytes of this file: same encoding, same BOM."""
        return (codecs.BOM_UTF8 if self.bom else b"") + text.encode(self.encoding)


def split_lines(text: str) -> list[str]:
    """``text`` in lines with their newlines, split where Python's tokenizer does."""
    if "\r" not in text:
        lines = text.split("\n")
        last = lines.pop()
        lines = [line + "\n" for line in lines]
        if last:
            lines.append(last)
        return lines
    return _LINE.findall(text)


def lines_with_unit(text: str, unit: str) -> tuple[str, ...]:
    """The lines of a text that is indented by fours, each level indented by ``unit`` instead."""
    return tuple(unit * ((len(line) - len(bare)) // 4) + bare for line in text.splitlines() for bare in [line.lstrip()])


def nodes_in(*roots: ast.AST) -> list[ast.AST]:
    """All nodes of ``ast.walk`` in the same order, but for contexts, operators and the aliases of imports."""
    found: list[Any] = list(roots)
    for node in found:  # which grows meanwhile
        for field in PARTS[node.__class__]:
            value = getattr(node, field)
            if value.__class__ is list:
                found += value
            elif value is not None:
                found.append(value)
    return [node for node in found if node is not None]


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def parse_text(text: str) -> ast.Module:
    """The tree of ``text``; what the compiler warns about (invalid escapes, ``is`` with a literal) is not our matter.

    Raises ``SyntaxError``, ``ValueError`` (a NUL), ``RecursionError`` or ``MemoryError`` as ``ast.parse`` does."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def parse_bytes_as_text(path: str, data: bytes) -> Source:
    """A file that is no Python, as a ``Source`` with an empty tree: its text can be rewritten all the same. Raises
    ``ParseFailure`` where it is not UTF-8."""
    bom = data.startswith(codecs.BOM_UTF8)
    body = data[len(codecs.BOM_UTF8) :] if bom else data
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ParseFailure(path, 1, 1, f"not utf-8 text: byte 0x{body[error.start]:02x}") from None
    return Source(path, text, ast.Module([], []), "utf-8", bom, digest(data))


def read_source(path: str, data: bytes) -> Source:
    """Decode and parse ``data``.

    Raises ``ParseFailure``: not decodable by its own cookie, not Python for the running version, or text that would not
    come back as the same bytes."""
    bom = data.startswith(codecs.BOM_UTF8)
    body = data[len(codecs.BOM_UTF8) :] if bom else data
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        encoding = "utf-8" if encoding == "utf-8-sig" else encoding
        text = body.decode(encoding)
        encoded = text.encode(encoding)
    except SyntaxError as error:
        raise ParseFailure(path, 1, 1, str(error.msg or error)) from None
    except UnicodeDecodeError as error:
        before = body[: error.start]
        line = before.count(b"\n") + 1
        column = error.start - (before.rfind(b"\n") + 1) + 1
        raise ParseFailure(path, line, column, f"not {error.encoding} text: byte 0x{body[error.start]:02x}") from None
    except (UnicodeError, LookupError) as error:
        raise ParseFailure(path, 1, 1, f"cannot be decoded: {error}") from None
    if encoded != body:
        raise ParseFailure(path, 1, 1, f"text in {encoding} that would not come back as the same bytes")
    try:
        tree = parse_text(text)
    except SyntaxError as error:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        reason = f"not Python {version}: {error.msg}"
        raise ParseFailure(path, error.lineno or 0, error.offset or 0, reason) from None
    except ValueError as error:
        raise ParseFailure(path, 0, 0, f"not Python source: {error}") from None
    except (RecursionError, MemoryError):
        raise ParseFailure(path, 0, 0, "nested too deeply for the parser") from None
    return Source(path, text, tree, encoding, bom, digest(data))
