"""The one place where text is rewritten.

Every edit comes down to stretches of text that are replaced: whole lines put in (``Splice``), a body moved one level
in or out (``Indent``), a part of a line put in or taken out (``Rewrite``). All planned edits of a file are
made in one pass; those inside a moved body move with it. Bytes outside are never touched, so comments, odd spacing and
line ends survive by construction. The result carries its own inverse.
"""

from __future__ import annotations

import ast
import bisect
import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dfannotate.manifest import Undo
from dfannotate.source import Source, parse_text, split_lines

if TYPE_CHECKING:
    import libcst as cst

    from dfannotate.shapes import Names

    Change = Callable[[cst.CSTNode], cst.CSTNode]


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
class Indent:
    """Lines ``first`` to ``last`` (inclusive), the whole body of a block whose lines begin with ``prefix``, move in by
    ``unit`` (out, with ``out``), between the lines ``before`` and ``after``, which do not move.

    Lines within a string stay, and so do those that lie left of the block (comments, continuation lines).
    ``broken`` is the column where the body begins behind its header's colon, on the line of the header; 0 where it
    begins on a line of its own."""

    first: int
    last: int
    prefix: str
    unit: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    broken: int = 0
    out: bool = False


@dataclass(frozen=True)
class Rewrite:
    """The text from ``line`` and ``column`` to ``end_line`` and ``end_column`` becomes ``text``, a part of a line.

    Lines are 1-based, columns 0-based and in characters. A call is changed by what is put around its parts, so that a
    call in the arguments of another is changed beside it. Texts at one place stand in the order of ``rank``."""

    line: int
    column: int
    end_line: int
    end_column: int
    text: str = ""
    rank: int = 0


@dataclass(frozen=True)
class Reshape:
    """The compound statement whose keyword stands on ``line`` and whose lines are ``first_line`` to ``end_line``
    becomes ``change(node)``, a function of its LibCST node, with all other edits in it already made."""

    line: int
    first_line: int
    end_line: int
    change: Change


Edit = Splice | Indent | Rewrite | Reshape


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
    growth: tuple[tuple[int, int, int], ...] = ()
    """Where text became more lines or fewer: line and column in the old text, and by how many."""

    def line_now(self, line: int, column: int) -> int:
        """The line in ``text`` of what stood at ``line`` and ``column``."""
        return line + sum(more for at, where, more in self.growth if (at, where) <= (line, column))


def apply(source: Source, edits: Sequence[Edit]) -> tuple[str, tuple[Hunk, ...]]:
    """The text of ``source`` with all edits made, and the hunks that do it.

    Raises ``EditError`` where edits overlap."""
    hunks = tuple(_hunks(source, _sorted_stretches(source, edits)))
    return "".join(_assemble(source.lines, hunks)), hunks


def _sorted_stretches(source: Source, edits: Sequence[Edit]) -> list[_Stretch]:
    stretches = sorted(_Stretches(source, edits).all(), key=lambda s: (s.start, s.order))
    reshapes = [edit for edit in edits if isinstance(edit, Reshape)]
    for reshape in sorted(reshapes, key=lambda r: r.end_line - r.first_line):  # what stands in another comes first
        stretches = _reshaped(source, reshape, stretches)
    for before, after in itertools.pairwise(stretches):
        if after.start < before.end:
            line = bisect.bisect_right(_line_starts(source.lines), after.start)
            raise EditError(f"{source.path}:{line}: two changes of the same text")
    return stretches


def rewrite_checked(source: Source, edits: Sequence[Edit], names: Names) -> Edited:
    """``apply``, and the proof that nothing but tracing changed: the new text parses, and its tree without the
    annotations of the changed lines equals the old one's ``ast.dump``.

    Raises ``EditError`` where it does not hold."""
    from dfannotate.shapes import strip

    stretches = _sorted_stretches(source, edits)
    hunks = tuple(_hunks(source, stretches))
    text = "".join(_assemble(source.lines, hunks))
    try:
        tree = parse_text(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise EditError(f"{source.path}: self-check failed: the annotated text does not parse ({error})") from None
    functions = strip(tree, names, _new_lines(source, stretches).__contains__)
    difference = first_difference(source.tree, tree, source.lines, split_lines(text))
    if difference is not None:
        raise EditError(f"{source.path}:{difference}: self-check failed: without its annotations the program differs")
    places = new_places(hunks)
    undo = tuple(
        Undo(start, end, "".join(source.lines[hunk.start - 1 : hunk.end - 1]))
        for (start, end), hunk in zip(places, hunks, strict=True)
    )
    if undo_all(text, undo) != source.text:
        raise EditError(f"{source.path}: self-check failed: the change cannot be taken back byte for byte")
    return Edited(text, hunks, undo, tuple(sorted(functions)), tuple(_growth(source, stretches)))


def undo_all(text: str, undo: Sequence[Undo]) -> str:
    """The text before: each stretch put back, from the last to the first."""
    lines = split_lines(text)
    for stretch in sorted(undo, key=lambda u: u.start, reverse=True):
        lines[stretch.start - 1 : stretch.end - 1] = [stretch.before]
    return "".join(lines)


def _new_lines(source: Source, stretches: Sequence[_Stretch]) -> set[int]:
    """The lines of the new text that hold something that was put in, white space left aside."""
    found: set[int] = set()
    line, position = 1, 0
    for stretch in stretches:
        line += _line_ends(source.text[position : stretch.start])
        for number, text in enumerate(split_lines(stretch.text), line):
            if text.strip():
                found.add(number)
        line += _line_ends(stretch.text)
        position = stretch.end
    return found


def _line_ends(text: str) -> int:
    if "\r" not in text:
        return text.count("\n")
    return len(split_lines(text)) - (text[-1] not in "\r\n")


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
    from difflib import SequenceMatcher

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


def first_difference(
    old: ast.AST, new: ast.AST, old_lines: Sequence[str] = (), new_lines: Sequence[str] = ()
) -> int | None:
    """The line of ``new`` where two trees begin to differ, positions left aside; None where they are equal.

    The same answer as comparing ``ast.dump`` of both, without building the two strings. With the lines that the trees
    were parsed from, a statement whose text is the same in both is not looked into."""
    stack: list[tuple[ast.AST, ast.AST]] = [(old, new)]
    push, node = stack.append, ast.AST
    while stack:
        a, b = stack.pop()
        if a.__class__ is not b.__class__:
            return getattr(b, "lineno", 1)
        mine, other = a.__dict__, b.__dict__
        fields = a._fields
        if old_lines and isinstance(a, ast.stmt) and _is_same_text(mine, other, old_lines, new_lines):
            fields = ("decorator_list",) if "decorator_list" in mine else ()  # which stand above the first line
        for field in fields:
            x, y = mine.get(field), other.get(field)
            if x is y:  # None, a context, an interned name
                continue
            if isinstance(x, node) and isinstance(y, node):
                push((x, y))
            elif isinstance(x, list) and isinstance(y, list):
                if len(x) != len(y):
                    return next((n.lineno for n in y[len(x) :] if hasattr(n, "lineno")), getattr(b, "lineno", 1))
                for one, two in zip(x, y, strict=True):
                    if isinstance(one, node) and isinstance(two, node):
                        push((one, two))
                    elif one != two:  # the names of a global statement
                        return getattr(b, "lineno", 1)
            elif x.__class__ is not y.__class__ or (x != y and repr(x) != repr(y)):
                return getattr(b, "lineno", 1)
    return None


def _is_same_text(old: dict[str, Any], new: dict[str, Any], old_lines: Sequence[str], new_lines: Sequence[str]) -> bool:
    """Whether two statements, given by their attributes, stand in the same text at the same place of their lines."""
    first, end, start, stop = old["lineno"], old["end_lineno"], new["lineno"], new["end_lineno"]
    return (
        end - first == stop - start
        and old["col_offset"] == new["col_offset"]
        and old["end_col_offset"] == new["end_col_offset"]
        and old_lines[first - 1 : end] == new_lines[start - 1 : stop]
    )


# --- from edits to stretches of text, from those to hunks -------------------------------------------------------------


@dataclass(frozen=True)
class _Stretch:
    """Text from offset ``start`` to ``end`` becomes ``text``; insertions at one offset stand in ``order``."""

    start: int
    end: int
    order: tuple[int, int]
    text: str


_AFTER, _BEFORE, _LINES, _SHAPE, _MARGIN, _PART = range(6)
"""What is put in at one offset, in this order: what closes the block above, what opens one, lines, statements of
another shape, white space, parts of a line."""


def _line_starts(lines: Sequence[str]) -> list[int]:
    return [0, *itertools.accumulate(map(len, lines))]


class _Stretches:
    """Turns the edits of one file into stretches."""

    def __init__(self, source: Source, edits: Sequence[Edit]) -> None:
        self.source = source
        self.lines = source.lines
        self.starts = _line_starts(self.lines)
        self.splices = [edit for edit in edits if isinstance(edit, Splice)]
        self.replaced = {line for splice in self.splices for line in range(splice.line, splice.end)}
        self.rewrites = [edit for edit in edits if isinstance(edit, Rewrite)]
        # Outer blocks before the blocks in them.
        self.blocks = sorted(
            (e for e in edits if isinstance(e, Indent)), key=lambda b: (b.first, -b.last, len(b.prefix))
        )
        self._inside_strings: set[int] | None = None
        self.replaced = {line for splice in self.splices for line in range(splice.line, splice.end)}

    def all(self) -> Iterable[_Stretch]:
        for splice in self.splices:
            around = self._around(splice.line, splice.line)
            text = "".join(self._moved(line, around) + self._newline(splice.line) for line in splice.lines)
            yield self._whole_lines(splice.line, splice.end, (_LINES, splice.rank), text)
        for depth, block in enumerate(self.blocks):
            around = [b for b in self._around(block.first, block.last) if self.blocks.index(b) < depth]
            newline = self._newline(block.first)
            before = [self._moved(line, around) for line in block.before]
            if block.broken:
                yield self._break(block, [*before, self._moved(block.prefix + block.unit, around)], newline)
            elif before:
                text = "".join(line + newline for line in before)
                yield self._whole_lines(block.first, block.first, (_BEFORE, depth), text)
            if block.after:
                text = "".join(self._moved(line, around) + newline for line in block.after)
                yield self._whole_lines(block.last + 1, block.last + 1, (_AFTER, -depth), text)
            yield from self._margins(block, depth)
        for part in self.rewrites:
            start = self.starts[part.line - 1] + part.column
            yield _Stretch(start, self.starts[part.end_line - 1] + part.end_column, (_PART, part.rank), part.text)

    def _around(self, first: int, last: int) -> list[Indent]:
        """The blocks that hold the given lines, outermost first."""
        return [block for block in self.blocks if block.first <= first and last <= block.last]

    def _moved(self, line: str, around: Sequence[Indent]) -> str:
        """An inserted line as the blocks around it move it."""
        for block in reversed(around):
            if line.startswith(block.prefix) and not block.out:
                line = block.prefix + block.unit + line[len(block.prefix) :]
            elif block.out and line.startswith(block.prefix + block.unit):
                line = block.prefix + line[len(block.prefix) + len(block.unit) :]
        return line

    def _newline(self, line: int) -> str:
        for number in (line, line - 1):
            if 1 <= number <= len(self.lines):
                match = re.search(r"(?:\r\n|\r|\n)\Z", self.lines[number - 1])
                if match:
                    return match.group()
        return self.source.newline

    def _whole_lines(self, line: int, end: int, order: tuple[int, int], text: str) -> _Stretch:
        """Lines put in before ``line``; behind a last line that has no newline, the new last line has none either."""
        start = self.starts[min(line, len(self.starts)) - 1]
        stop = self.starts[min(end, len(self.starts)) - 1]
        open_end = bool(self.lines) and not self.lines[-1].endswith(("\n", "\r"))
        if text and open_end and end == len(self.lines) + 1:
            newline = self._newline(line)
            text = text[: len(text) - len(newline)]
            text = newline + text if line == end else text
        return _Stretch(start, stop, order, text)

    def _break(self, block: Indent, lines: list[str], newline: str) -> _Stretch:
        """The white space behind a header's colon becomes a line end, so that the body stands on lines of its own."""
        header = self.lines[block.first - 1]
        end = block.broken
        start = len(header[:end].rstrip(" \t\f"))
        offset = self.starts[block.first - 1]
        return _Stretch(offset + start, offset + end, (_BEFORE, 0), newline + newline.join(lines))

    def _margins(self, block: Indent, depth: int) -> Iterable[_Stretch]:
        """The white space that moves the lines of a block."""
        strings = self._string_lines()
        for number in range(block.first + bool(block.broken), block.last + 1):
            line = self.lines[number - 1]
            if number in strings or number in self.replaced or not line.startswith(block.prefix) or not line.strip():
                continue
            offset = self.starts[number - 1] + len(block.prefix)
            if not block.out:
                yield _Stretch(offset, offset, (_MARGIN, depth), block.unit)
            elif line.startswith(block.prefix + block.unit):
                yield _Stretch(offset, offset + len(block.unit), (_MARGIN, depth), "")

    def _string_lines(self) -> set[int]:
        """Lines that begin within a string: what stands at their beginning is the string's."""
        if self._inside_strings is None:
            self._inside_strings = set()
            stack: list[ast.AST] = [self.source.tree]
            while stack:
                node = stack.pop()
                attributes = node.__dict__
                first, last = attributes.get("lineno", 0), attributes.get("end_lineno", 0)
                if first and first == last and "decorator_list" not in attributes:
                    continue  # nor has what it holds more lines
                kind = node.__class__
                if kind is ast.Constant or kind is ast.JoinedStr or kind.__name__ == "TemplateStr":
                    self._inside_strings.update(range(first + 1, last + 1))
                    continue
                for value in attributes.values():
                    if isinstance(value, ast.AST):
                        stack.append(value)
                    elif value.__class__ is list:
                        stack.extend(item for item in value if isinstance(item, ast.AST))
        return self._inside_strings


def _reshaped(source: Source, reshape: Reshape, stretches: Sequence[_Stretch]) -> list[_Stretch]:
    """The stretches with those in the statement taken together, and its shape changed by LibCST.

    Raises ``EditError`` where LibCST does not parse the statement, or would not give all of it back."""
    import libcst as cst

    starts = _line_starts(source.lines)
    start, end = starts[reshape.first_line - 1], starts[reshape.end_line]
    inside = [s for s in stretches if start <= s.start and s.end <= end and not s.start == s.end == end]
    inside = [s for s in inside if not (s.start == s.end == start and s.order[0] in (_AFTER, _BEFORE, _LINES))]
    others = [s for s in stretches if s not in inside]
    parts, position, line = list[str](), start, reshape.line - reshape.first_line + 1
    for stretch in inside:
        parts += (source.text[position : stretch.start], stretch.text)
        position = stretch.end
        if stretch.start < starts[reshape.line - 1] or stretch.end == stretch.start == starts[reshape.line - 1]:
            line += stretch.text.count("\n") - source.text[stretch.start : stretch.end].count("\n")
    text = "".join([*parts, source.text[position:end]])
    # LibCST drops form feeds before a statement, so the first line's are kept aside.
    feeds = text[: len(text) - len(text.lstrip("\f"))]
    text = text[len(feeds) :]
    found = re.search(r"\r\n|\r|\n", text)
    newline = found.group() if found else source.newline
    # What stands indented is parsed under a header of its own, which is taken off again.
    header = f"if 1:{newline}" if text[:1] in (" ", "\t") else ""
    try:
        module = cst.parse_module(header + text)
    except (cst.ParserSyntaxError, RecursionError) as error:
        raise EditError(f"{source.path}:{reshape.first_line}: LibCST cannot parse this statement ({error})") from None
    new = _transform(module, line + bool(header), reshape.change).code
    if new.count("\f") != text.count("\f"):
        raise EditError(
            f"{source.path}:{reshape.first_line}: a form feed within this statement would be lost; remove it"
        )
    whole = _Stretch(start, end, (_SHAPE, 0), feeds + new[len(header) :])
    return sorted([*others, whole], key=lambda s: (s.start, s.order))


def _growth(source: Source, stretches: Sequence[_Stretch]) -> Iterable[tuple[int, int, int]]:
    starts = _line_starts(source.lines)
    for stretch in stretches:
        more = _line_ends(stretch.text) - _line_ends(source.text[stretch.start : stretch.end])
        if more:
            line = bisect.bisect_right(starts, stretch.start)
            yield line, stretch.start - starts[line - 1], more


def _hunks(source: Source, stretches: Sequence[_Stretch]) -> Iterable[Hunk]:
    """The stretches as whole lines, neighbours together."""
    lines, starts = source.lines, _line_starts(source.lines)
    index = 0
    while index < len(stretches):
        group = [stretches[index]]
        first = bisect.bisect_right(starts, group[0].start) - 1  # index of the line
        first = min(first, len(lines))
        end = _line_end(starts, group[0])
        index += 1
        while index < len(stretches) and bisect.bisect_right(starts, stretches[index].start) - 1 <= end:
            group.append(stretches[index])
            end = max(end, _line_end(starts, group[-1]))
            index += 1
        if first == len(lines) and lines and not lines[-1].endswith(("\n", "\r")):
            first -= 1
        position = starts[first]
        parts: list[str] = []
        for stretch in group:
            parts += (source.text[position : stretch.start], stretch.text)
            position = stretch.end
        parts.append(source.text[position : starts[end]])
        yield _trimmed(lines, Hunk(first + 1, end + 1, tuple(split_lines("".join(parts)))))


def _line_end(starts: Sequence[int], stretch: _Stretch) -> int:
    """The number of lines up to the end of a stretch: a line that is only begun counts, one that is not does not."""
    if stretch.order[0] == _PART:  # what begins a line, and is no line, is of the line
        return bisect.bisect_right(starts, stretch.end)
    return bisect.bisect_left(starts, stretch.end)


def _trimmed(lines: Sequence[str], hunk: Hunk) -> Hunk:
    """The hunk without the lines that begin and end it unchanged; all of it where it changes from the first line on,
    which happens to one-line statements: ``revert`` knows them by their whole text."""
    old, new = lines[hunk.start - 1 : hunk.end - 1], hunk.lines
    shortest = min(len(old), len(new))
    head = next((i for i in range(shortest) if old[i] != new[i]), shortest)
    if not head:
        return hunk
    tail = next((i for i in range(shortest - head) if old[-1 - i] != new[-1 - i]), shortest - head)
    return Hunk(hunk.start + head, hunk.end - tail, new[head : len(new) - tail])


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


def _transform(module: cst.Module, line: int, change: Change) -> cst.Module:
    """The module with the compound statement on ``line`` changed."""
    import libcst as cst
    from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

    class Transformer(cst.CSTTransformer):
        METADATA_DEPENDENCIES = (PositionProvider,)

        def __init__(self) -> None:
            super().__init__()
            self.target: cst.CSTNode | None = None

        def on_visit(self, node: cst.CSTNode) -> bool:
            if self.target is None and isinstance(node, cst.BaseCompoundStatement):  # at most one begins on a line
                place = self.get_metadata(PositionProvider, node)
                if isinstance(place, CodeRange) and place.start.line == line:
                    self.target = node
            return True

        def on_leave(  # type: ignore[override]
            self, original_node: cst.CSTNode, updated_node: cst.CSTNode
        ) -> cst.CSTNode:
            return change(updated_node) if original_node is self.target else updated_node

    transformer = Transformer()
    result = MetadataWrapper(module, unsafe_skip_copy=True).visit(transformer)
    if transformer.target is None:
        raise EditError(f"no compound statement begins at line {line} of its chunk")
    return result
