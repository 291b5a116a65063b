"""The one place where text is rewritten: line edits outside, LibCST inside the statements that change shape.

A ``Splice`` puts whole lines in (or takes them out); a ``Rewrite`` changes one statement by a function of its LibCST
node. LibCST parses only the lines of the outermost statement that holds a rewrite (a *chunk*), and the functions of
nested rewrites compose, innermost first. Bytes outside are never touched. The result carries its own inverse.
"""

from __future__ import annotations

import ast
import bisect
import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from dfannotate.manifest import Undo
from dfannotate.shapes import Names, strip
from dfannotate.source import Source, parse_text, split_lines

if TYPE_CHECKING:
    import libcst as cst

    Change = Callable[[cst.CSTNode], cst.CSTNode | cst.FlattenSentinel[cst.BaseStatement]]


class EditError(Exception):
    """Edits that cannot be made, or whose result failed the self-check; the file must be left alone."""


@dataclass(frozen=True)
class Splice:
    """Lines ``line`` to ``end`` (1-based, ``end`` excluded; equal for an insertion) become ``lines``, given without
    newlines. Insertions at one line stand in the order of ``rank``."""

    line: int
    end: int
    lines: tuple[str, ...] = ()
    rank: int = 0


@dataclass(frozen=True)
class Rewrite:
    """The compound statement whose keyword stands on ``line`` and whose lines are ``first_line`` to ``end_line``
    becomes ``change(node)``."""

    line: int
    first_line: int
    end_line: int
    change: Change


Edit = Splice | Rewrite


@dataclass(frozen=True)
class Hunk:
    """Old lines ``start`` to ``end`` (``end`` excluded) become ``lines`` (with newlines)."""

    start: int
    end: int
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Edited:
    """New text, the hunks that lead to it, and the stretches that lead back."""

    text: str
    hunks: tuple[Hunk, ...]
    undo: tuple[Undo, ...]
    functions: tuple[int, ...]
    """Lines of every ``def`` of ``text``, in order."""


def apply(source: Source, edits: Sequence[Edit]) -> tuple[str, tuple[Hunk, ...]]:
    """The text of ``source`` with all edits made, and the hunks that do it.

    Raises ``EditError`` where edits overlap or LibCST does not parse a chunk."""
    lines = source.lines
    hunks: list[Hunk] = []
    rewrites = sorted((e for e in edits if isinstance(e, Rewrite)), key=lambda e: (e.first_line, -e.end_line))
    splices = sorted((e for e in edits if isinstance(e, Splice)), key=lambda e: (e.line, e.rank))
    chunks: list[tuple[int, int, list[Rewrite]]] = []
    for rewrite in rewrites:
        if chunks and rewrite.first_line <= chunks[-1][1]:
            start, end, inside = chunks[-1]
            chunks[-1] = (start, max(end, rewrite.end_line), [*inside, rewrite])
        else:
            chunks.append((rewrite.first_line, rewrite.end_line, [rewrite]))
    for start, end, inside in chunks:
        within = [s for s in splices if start < s.line <= end]
        splices = [s for s in splices if s not in within]
        hunks.append(_rewrite_chunk(source, start, end, inside, within))
    hunks.extend(_splice_hunks(source, splices))
    hunks.sort(key=lambda hunk: (hunk.start, hunk.end))
    for before, after in itertools.pairwise(hunks):
        if after.start < before.end:
            raise EditError(f"{source.path}:{after.start}: two changes of the same lines")
    return "".join(_assemble(lines, hunks)), tuple(hunks)


def rewrite_checked(source: Source, edits: Sequence[Edit], names: Names) -> Edited:
    """``apply``, and the proof that nothing but tracing changed: the new text parses, and its tree without the
    annotations of the changed lines equals the old one's ``ast.dump``.

    Raises ``EditError`` where it does not hold."""
    text, hunks = apply(source, edits)
    try:
        tree = parse_text(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise EditError(f"{source.path}: self-check failed: the annotated text does not parse ({error})") from None
    places = new_places(hunks)
    starts = [start for start, _ in places]

    def is_new(line: int) -> bool:
        index = bisect.bisect_right(starts, line) - 1
        return index >= 0 and line < places[index][1]

    functions = strip(tree, names, is_new)
    difference = first_difference(source.tree, tree)
    if difference is not None:
        raise EditError(f"{source.path}:{difference}: self-check failed: without its annotations the program differs")
    undo = tuple(
        Undo(start, end, "".join(source.lines[hunk.start - 1 : hunk.end - 1]))
        for (start, end), hunk in zip(places, hunks, strict=True)
    )
    if undo_all(text, undo) != source.text:
        raise EditError(f"{source.path}: self-check failed: the change cannot be taken back byte for byte")
    return Edited(text, hunks, undo, tuple(sorted(functions)))


def undo_all(text: str, undo: Sequence[Undo]) -> str:
    """The text before: each stretch put back, from the last to the first."""
    lines = split_lines(text)
    for stretch in sorted(undo, key=lambda u: u.start, reverse=True):
        lines[stretch.start - 1 : stretch.end - 1] = [stretch.before]
    return "".join(lines)


def new_places(hunks: Sequence[Hunk]) -> list[tuple[int, int]]:
    """Where the lines of each hunk stand in the new text (1-based, end excluded)."""
    places, shift = [], 0
    for hunk in hunks:
        start = hunk.start + shift
        places.append((start, start + len(hunk.lines)))
        shift += len(hunk.lines) - (hunk.end - hunk.start)
    return places


def unified_diff(path: str, old: Sequence[str], new: Sequence[str], hunks: Sequence[Hunk]) -> Iterable[str]:
    """A unified diff from hunks that are known, so that no lines need to be compared. Lines come with newlines."""
    matcher = SequenceMatcher(None, "", "")
    opcodes: list[tuple[str, int, int, int, int]] = []
    a = b = 0
    for hunk, (start, end) in zip(hunks, new_places(hunks), strict=True):
        if hunk.start - 1 > a:
            opcodes.append(("equal", a, hunk.start - 1, b, start - 1))
        tag = "insert" if hunk.start == hunk.end else "delete" if start == end else "replace"
        opcodes.append((tag, hunk.start - 1, hunk.end - 1, start - 1, end - 1))
        a, b = hunk.end - 1, end - 1
    if a < len(old):
        opcodes.append(("equal", a, len(old), b, len(new)))
    matcher.opcodes = opcodes  # type: ignore[attr-defined]
    yield f"--- {path}\n"
    yield f"+++ {path}\n"
    for group in matcher.get_grouped_opcodes(3):
        first, last = group[0], group[-1]
        yield f"@@ -{_range(first[1], last[2])} +{_range(first[3], last[4])} @@\n"
        for tag, a1, a2, b1, b2 in group:
            if tag == "equal":
                yield from (_diff_line(" ", line) for line in old[a1:a2])
                continue
            yield from (_diff_line("-", line) for line in old[a1:a2])
            yield from (_diff_line("+", line) for line in new[b1:b2])


def first_difference(old: ast.AST, new: ast.AST) -> int | None:
    """The line of ``new`` where two trees begin to differ, positions left aside; None where they are equal.

    The same answer as comparing ``ast.dump`` of both, without building the two strings."""
    stack: list[tuple[ast.AST, ast.AST]] = [(old, new)]
    while stack:
        a, b = stack.pop()
        if a.__class__ is not b.__class__:
            return getattr(b, "lineno", 1)
        mine, other = a.__dict__, b.__dict__
        for field in a._fields:
            x, y = mine.get(field), other.get(field)
            if x is y:  # None, a context, an interned name
                continue
            if isinstance(x, ast.AST) and isinstance(y, ast.AST):
                stack.append((x, y))
            elif isinstance(x, list) and isinstance(y, list):
                if len(x) != len(y):
                    return next((n.lineno for n in y[len(x) :] if hasattr(n, "lineno")), getattr(b, "lineno", 1))
                for one, two in zip(x, y, strict=True):
                    if isinstance(one, ast.AST) and isinstance(two, ast.AST):
                        stack.append((one, two))
                    elif one != two:  # the names of a global statement
                        return getattr(b, "lineno", 1)
            elif x.__class__ is not y.__class__ or (x != y and repr(x) != repr(y)):
                return getattr(b, "lineno", 1)
    return None


# --- hunks ------------------------------------------------------------------------------------------------------------


def _splice_hunks(source: Source, splices: Sequence[Splice]) -> Iterable[Hunk]:
    """One hunk for all splices of the same lines; what goes behind a last line without newline takes it along."""
    lines, index = source.lines, 0
    while index < len(splices):
        first = splices[index]
        texts: list[str] = []
        end = first.end
        while index < len(splices) and splices[index].line == first.line:
            texts.extend(splices[index].lines)
            end = max(end, splices[index].end)
            index += 1
        newline = _newline_near(source, first.line)
        new = [text + newline for text in texts]
        start = first.line
        open_end = bool(lines) and not lines[-1].endswith(("\n", "\r"))
        if open_end and start == len(lines) + 1:
            start -= 1
            new = [lines[-1] + newline, *new]
        if open_end and end == len(lines) + 1 and new:
            new[-1] = new[-1].rstrip("\r\n")
        yield Hunk(start, end, tuple(new))


def _newline_near(source: Source, line: int) -> str:
    lines = source.lines
    for number in (line, line - 1):
        if 1 <= number <= len(lines):
            match = re.search(r"(?:\r\n|\r|\n)\Z", lines[number - 1])
            if match:
                return match.group()
    return source.newline


def _assemble(lines: Sequence[str], hunks: Sequence[Hunk]) -> Iterable[str]:
    position = 1
    for hunk in hunks:
        yield from lines[position - 1 : hunk.start - 1]
        yield from hunk.lines
        position = hunk.end
    yield from lines[position - 1 :]


def _range(start: int, stop: int) -> str:
    length = stop - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"


def _diff_line(mark: str, line: str) -> str:
    if line.endswith("\n"):
        return mark + line
    return f"{mark}{line}\n\\ No newline at end of file\n"


# --- LibCST -----------------------------------------------------------------------------------------------------------


def _rewrite_chunk(
    source: Source, start: int, end: int, rewrites: Sequence[Rewrite], splices: Sequence[Splice]
) -> Hunk:
    """The chunk's lines with its splices made first (whole lines move nothing sideways), then the rewrites."""
    import libcst as cst

    lines = source.lines
    inner = [Hunk(hunk.start - start + 1, hunk.end - start + 1, hunk.lines) for hunk in _splice_hunks(source, splices)]
    text = "".join(_assemble(lines[start - 1 : end], inner))
    # LibCST drops form feeds before a statement, so the first line's are kept aside.
    feeds = text[: len(text) - len(text.lstrip("\f"))]
    text = text[len(feeds) :]
    shifts = sorted((hunk.start, len(hunk.lines) - (hunk.end - hunk.start)) for hunk in inner)
    newline = _newline_near(source, start)
    # A chunk that stands indented is parsed under a header of its own, which is taken off again.
    header = f"if 1:{newline}" if text[:1] in (" ", "\t") else ""
    wanted: dict[int, Change] = {}
    for rewrite in rewrites:
        line = rewrite.line - start + 1
        line += sum(shift for place, shift in shifts if place <= line) + (1 if header else 0)
        wanted[line] = rewrite.change
    try:
        module = cst.parse_module(header + text)
    except (cst.ParserSyntaxError, RecursionError) as error:
        raise EditError(f"{source.path}:{start}: LibCST cannot parse this statement ({error})") from None
    new = _transform(module, wanted).code
    if new.count("\f") != text.count("\f"):
        raise EditError(f"{source.path}:{start}: a form feed within this statement would be lost; remove it")
    new = feeds + new[len(header) :]
    return _trimmed(lines, Hunk(start, end + 1, tuple(split_lines(new))))


def _trimmed(lines: Sequence[str], hunk: Hunk) -> Hunk:
    """The hunk without the lines that begin and end it unchanged; all of it where it changes from the first line on,
    which happens to one-line statements only: ``revert`` knows them by their whole text."""
    old, new = lines[hunk.start - 1 : hunk.end - 1], hunk.lines
    shortest = min(len(old), len(new))
    head = next((i for i in range(shortest) if old[i] != new[i]), shortest)
    if not head:
        return hunk
    tail = next((i for i in range(shortest - head) if old[-1 - i] != new[-1 - i]), shortest - head)
    return Hunk(hunk.start + head, hunk.end - tail, new[head : len(new) - tail])


def _transform(module: cst.Module, wanted: dict[int, Change]) -> cst.Module:
    import libcst as cst
    from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

    class Transformer(cst.CSTTransformer):
        METADATA_DEPENDENCIES = (PositionProvider,)

        def __init__(self) -> None:
            super().__init__()
            self.changes: dict[cst.CSTNode, Change] = {}

        def on_visit(self, node: cst.CSTNode) -> bool:
            if isinstance(node, cst.BaseCompoundStatement):  # at most one begins on a line
                place = self.get_metadata(PositionProvider, node)
                assert isinstance(place, CodeRange)
                change = wanted.pop(place.start.line, None)
                if change is not None:
                    self.changes[node] = change
            return True

        def on_leave(  # type: ignore[override]
            self, original_node: cst.CSTNode, updated_node: cst.CSTNode
        ) -> cst.CSTNode | cst.FlattenSentinel[cst.BaseStatement]:
            change = self.changes.pop(original_node, None)
            return updated_node if change is None else change(updated_node)

    result = MetadataWrapper(module, unsafe_skip_copy=True).visit(Transformer())
    if wanted:
        raise EditError(f"no compound statement begins at line {min(wanted)} of its chunk")
    return result
