"""Taking annotations out again: byte for byte where the file is as it was left, by structure where it was edited.

By structure, whatever an annotation looks like goes (a decorator, a start, a finishing ``try``, the names that nothing
uses any more); everything else, the user's edits included, stays. Where nothing was edited, both ways give the same.
"""

from __future__ import annotations

import ast
import itertools
import re
import tokenize
from collections.abc import Iterable, Iterator

from dfannotate import shapes, worker_shapes
from dfannotate.calls import Places
from dfannotate.codemods import BLANK_ABOVE, BLANK_BELOW
from dfannotate.edits import Edit, EditError, Indent, Rewrite, Splice, apply, first_difference, undo_all
from dfannotate.facts import first_line as first_line_of
from dfannotate.facts import is_docstring, logical_end
from dfannotate.manifest import FileEntry
from dfannotate.shapes import Names
from dfannotate.source import Source, digest, parse_text, split_lines

_HEADER = re.compile(r"[ \t\f]*(?:def\b|async\b|if\b.*__name__)")
_QUOTE = re.compile(r"[ \t\f]*[rRuU]?['\"]")
_LONGEST_HEADER = 40
"""Lines: a definition that has its body beside the colon has no more."""


def exact_text(source: Source, entry: FileEntry) -> str | None:
    """The text before annotation, where ``source`` is exactly what was written then; else None."""
    if source.sha256 != entry.sha256_after:
        return None
    text = undo_all(source.text, entry.undo)
    return text if digest(source.encode(text)) == entry.sha256_before else None


def structural_text(source: Source, entry: FileEntry) -> str:
    """The text without annotations, found by their structure: first the blocks that were moved to hold a region or an
    event, then everything else.

    Raises ``EditError`` where the result would not be the program without its annotations."""
    names = Names(**{key: value for key, value in entry.names.items() if key in Names.__dataclass_fields__})
    for finder in (_BlockFinder, _WorkerFinder, _Finder):
        text = _without(source, finder(source, entry, names))
        if text != source.text:
            tree = parse_text(text)
            source = Source(source.path, text, tree, source.encoding, source.bom, digest(source.encode(text)))
    return source.text


def _without(source: Source, finder: _Searcher) -> str:
    edits = finder.edits()
    if not edits:
        return source.text
    text, _ = apply(source, edits)
    if not source.text.endswith(("\n", "\r")):  # then what stood last has lost its newline to an annotation below
        text = text.removesuffix("\n").removesuffix("\r")
    try:
        tree = parse_text(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise EditError(
            f"{source.path}: taking the annotations out would leave a file that does not parse: {error}"
        ) from None
    expected = parse_text(source.text)
    shapes.strip(expected, finder.names, (finder.lines | finder.call_lines).__contains__)
    difference = first_difference(expected, tree)
    if difference is not None:
        raise EditError(f"{source.path}:{difference}: taking the annotations out would change the program")
    return text


class _Searcher:
    """Finds what has to go, and notes the lines where it begins for the self-check."""

    def __init__(self, source: Source, entry: FileEntry, names: Names) -> None:
        self.source = source
        self.names = names
        self.introduced = frozenset(entry.introduced)
        self.stretches = [(range(undo.start, undo.end), split_lines(undo.before)) for undo in entry.undo]
        self.one_liners = [
            (range(undo.start, undo.end), *pair) for undo in entry.undo for pair in _one_liners(undo.before)
        ]
        self.is_edited = source.sha256 != entry.sha256_after
        self.lines: set[int] = set()
        self.call_lines: set[int] = set()
        """Lines of what goes from the middle of an expression that stays."""
        self.new: dict[int, tuple[int, tuple[str, ...]]] = {}
        """First line of a stretch that changes -> its end (excluded), and what comes in its place."""

    def edits(self) -> list[Edit]:
        raise NotImplementedError

    def _splices(self) -> list[Edit]:
        splices: list[Splice] = []
        for line, (end, texts) in sorted(self.new.items()):
            if not splices or splices[-1].end <= line:  # else within a stretch that changes as a whole
                splices.append(Splice(line, end, texts))
        return list(splices)

    def _join(self, node: ast.stmt, marks: set[int]) -> bool:
        """Put a block back on one line, where it is what ``apply`` made of such a line and nothing else: without the
        annotations on the lines ``marks`` it is the same statement, with the same comments."""
        if not marks:
            return False
        first, end = node.lineno, logical_end(node, self.source.lines) + 1
        copy = _tree_of("".join(self.source.lines[first - 1 : end - 1]))
        if copy is None:
            return False
        shapes.strip(copy, self.names, {line - first + 1 for line in marks}.__contains__)
        comments = _comments(self.source.lines[first - 1 : end - 1])
        for candidate in itertools.chain(self.one_liners, self._with_header_of(node)):
            places, before, tree = candidate
            if not (self.is_edited or first in places or any(line in places for line in marks)):
                continue  # another of the same text
            if first_difference(tree, copy) is None and comments == _comments(split_lines(before)):
                self.one_liners = [other for other in self.one_liners if other is not candidate]
                self.lines |= marks
                self.new[first] = (end, tuple(self._at_margin_of(first, before)))
                return True
        return False

    def _at_margin_of(self, number: int, text: str) -> Iterator[str]:
        """The lines of ``text`` with the margin that line ``number`` has now: what is around it may move yet."""
        margin, old = _blank_start(self.source.lines[number - 1]), _blank_start(text)
        for line in split_lines(text):
            line = line.rstrip("\r\n")
            yield margin + line[len(old) :] if line.startswith(old) else line

    def _with_header_of(self, node: ast.stmt) -> Iterator[tuple[range, str, ast.Module]]:
        """What ``node`` may have been where its header has several lines, and only the last of them was changed."""
        lines = self.source.lines
        body: list[ast.stmt] = node.body  # type: ignore[attr-defined]
        last = body[0].lineno - 1
        while last > node.lineno and not lines[last - 1].strip():
            last -= 1
        head, start = lines[node.lineno - 1 : last - 1], lines[last - 1].rstrip("\r\n")
        if not head:
            return
        for places, stretch in self.stretches:
            for number, line in enumerate(stretch):
                if line.startswith(start) and line.strip() != start.strip():
                    for end in range(number + 1, min(len(stretch), number + _LONGEST_HEADER) + 1):
                        whole = "".join([*head, *stretch[number:end]])
                        tree = _tree_of(whole)
                        if tree is not None and len(tree.body) == 1:
                            yield places, whole, tree
                            break


class _BlockFinder(_Searcher):
    """Regions and events: what they hold moves one level out, by white space alone, as it was moved in."""

    def __init__(self, source: Source, entry: FileEntry, names: Names) -> None:
        super().__init__(source, entry, names)
        self.wrapped = {site.function for site in entry.sites if site.kind in ("region", "event")}
        regions = {(site.category, site.event) for site in entry.sites if site.kind == "region"}
        self.regions = {shapes.region_line(names, *region).removesuffix(":") for region in regions}
        """The headers of ours: a region of another name is the user's."""
        self.blocks: list[Indent] = []

    def edits(self) -> list[Edit]:
        self._in_body(self.source.tree.body, "")
        return [*self._splices(), *self.blocks]

    def _in_body(self, body: list[ast.stmt], outer: str) -> None:
        for node in body:
            inner = outer
            if isinstance(node, ast.ClassDef):
                inner = f"{outer}{node.name}."
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                inner = f"{outer}{node.name}.<locals>."
                if self._in_function(node, outer + node.name):
                    continue
            for field in ("body", "orelse", "finalbody"):
                self._in_body(getattr(node, field, None) or [], inner)
            for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
                self._in_body(part.body, inner)

    def _in_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, qualname: str) -> bool:
        """Take the wrapper out of one function; whether that put the function back on one line."""
        if "function" not in self.introduced and qualname not in self.wrapped:
            return False
        wrappers = [n for n in node.body if self._is_own_region(n) or shapes.is_event_try(n, self.names)]
        starts = [n for n in node.body if shapes.is_event_start(n, self.names)]
        if self._join(node, {n.lineno for n in (*wrappers, *starts)}):
            return True
        for start in starts:
            self.lines.add(start.lineno)
            self.new[start.lineno] = (logical_end(start, self.source.lines) + 1, ())
        for wrapper in wrappers:
            assert isinstance(wrapper, (ast.With, ast.Try))
            self._unwrap(wrapper)
        return False

    def _is_own_region(self, node: ast.stmt) -> bool:
        if not shapes.is_region(node, self.names):
            return False
        assert isinstance(node, ast.With)
        header = ast.unparse(node.items[0])
        return any(header == ast.unparse(ast.parse(own.removeprefix("with "))) for own in self.regions)

    def _unwrap(self, node: ast.With | ast.Try) -> None:
        lines = self.source.lines
        first, last = first_line_of(node.body[0], lines), logical_end(node.body[-1], lines)
        if first == node.lineno:
            raise EditError(
                f"{self.source.path}:{node.lineno}: this block has its statements beside the colon; "
                "put them on lines of their own, so that it can be taken out"
            )
        outer, inner = _blank_start(lines[node.lineno - 1]), _blank_start(lines[first - 1])
        self.lines.add(node.lineno)
        header = (node.items[-1].context_expr.end_lineno if isinstance(node, ast.With) else None) or node.lineno
        while header + 1 < first and not lines[header - 1].partition("#")[0].rstrip().endswith(":"):
            header += 1  # a bracket that closes below
        self.new[node.lineno] = (header + 1, ())
        # Comments above the first statement are the user's: apply puts the header below those that it finds.
        self.blocks.append(Indent(header + 1, last, outer, inner[len(outer) :], out=True))
        if isinstance(node, ast.Try):
            end = logical_end(node.finalbody[-1], lines)
            keyword = next(n for n in range(last + 1, end) if lines[n - 1].lstrip().startswith("finally"))
            for handler in node.handlers:
                keyword = min(keyword, handler.lineno)
                self.lines.add(handler.body[0].lineno)
            self.lines.add(node.finalbody[0].lineno)
            self.new[keyword] = (end + 1, ())


class _WorkerFinder(_Searcher):
    """What starts tracing in worker processes: functions of ours, and what is around the calls that make workers."""

    def edits(self) -> list[Edit]:
        self.places = Places(self.source.lines)
        parts: list[Edit] = []
        if "worker" in self.introduced:
            self._in_body(self.source.tree.body)
            for call, part in worker_shapes.found_calls(self.source.tree, self.names.worker):
                parts += self._argument(part) if isinstance(part, ast.keyword) else self._around(call)
        return [*self._splices(), *parts]

    def _in_body(self, body: list[ast.stmt]) -> None:
        worker = self.names.worker
        for node in body:
            if worker_shapes.is_start(node, worker):
                self._remove(node, blank=0)
            elif worker_shapes.is_function(node, worker) or worker_shapes.is_ready(node, worker):
                self._remove(node, blank=2)
            else:
                for field in ("body", "orelse", "finalbody"):
                    self._in_body(getattr(node, field, None) or [])
                for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
                    self._in_body(part.body)

    def _remove(self, node: ast.stmt, blank: int) -> None:
        """A statement goes, with up to so many blank lines above it."""
        self.lines.add(node.lineno)
        self.new[node.lineno] = (logical_end(node, self.source.lines) + 1, ())
        line = node.lineno - 1
        while line > 0 and node.lineno - line <= blank and not self.source.lines[line - 1].strip():
            self.new[line] = (line + 1, ())
            line -= 1

    def _around(self, call: ast.Call) -> Iterator[Edit]:
        """The first argument of a call of ours, without the call."""
        whole, kept = self.places.argument("", call), self.places.argument("", call.args[0])
        self.call_lines.add(call.lineno)
        yield Rewrite(*whole.start, *kept.start)
        yield Rewrite(*kept.end, *whole.end)

    def _argument(self, keyword: ast.keyword) -> Iterator[Edit]:
        """An argument of ours, with the comma that came with it."""
        line, column = self.places.position(keyword.lineno, keyword.col_offset)
        end_line, end_column = self.places.argument("", keyword.value).end
        self.call_lines.add(keyword.value.lineno)
        before = self.source.lines[line - 1][:column]
        after = self.source.lines[end_line - 1][end_column:]
        behind = len(after) - len(after.lstrip().removeprefix(",").lstrip(" \t"))
        if not before.strip() and after.strip() in ("", ","):
            yield Splice(line, end_line + 1)
        elif before.rstrip().endswith(","):
            yield Rewrite(line, len(before.rstrip()) - 1, end_line, end_column)
        elif after.lstrip().startswith(","):
            yield Rewrite(line, column, end_line, end_column + behind)
        else:
            yield Rewrite(line, column, end_line, end_column)


class _Finder(_Searcher):
    """Decorators, starts and finishes, and the names that nothing uses any more."""

    def __init__(self, source: Source, entry: FileEntry, names: Names) -> None:
        super().__init__(source, entry, names)
        self.decorated = {site.function for site in entry.sites}
        self.shared_lines = [pair for undo in entry.undo for pair in _shared_lines(undo.before)]

    def edits(self) -> list[Edit]:
        self._in_body(self.source.tree.body, "")
        self._unused_names()
        return self._splices()

    def _remove(self, node: ast.stmt) -> None:
        self.lines.add(node.lineno)
        self.new[node.lineno] = (logical_end(node, self.source.lines) + 1, ())

    def _in_body(self, body: list[ast.stmt], outer: str) -> None:
        names = self.names
        for node in body:
            if self._is_start_or_finish(node):
                self._remove(node)
                continue
            if isinstance(node, (ast.If, ast.FunctionDef)) and self._join(node, self._marks(node)):
                continue
            inner = outer
            if isinstance(node, ast.ClassDef):
                inner = f"{outer}{node.name}."
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                inner = f"{outer}{node.name}.<locals>."
                self._decorators(node, outer + node.name)
                self._join_docstring(node.body)
            if isinstance(node, ast.Try) and len(node.finalbody) == 1 and shapes.is_finish(node.finalbody[0], names):
                self._unwrap(node)
                blocks = [node.body, node.orelse]
            else:
                blocks = [getattr(node, field, None) or [] for field in ("body", "orelse", "finalbody")]
            for block in blocks:
                self._in_body(block, inner)
            for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
                self._in_body(part.body, inner)

    def _is_start_or_finish(self, node: ast.stmt) -> bool:
        return (
            shapes.is_start(node, self.names)
            or shapes.is_finish(node, self.names)
            or ("logger" in self.introduced and shapes.is_finish_now(node, self.names))
        )

    def _decorators(self, node: ast.FunctionDef | ast.AsyncFunctionDef, qualname: str) -> None:
        for decorator in node.decorator_list:
            further = isinstance(decorator, ast.Attribute) and not shapes.is_name(decorator.value, self.names.instance)
            ours = further or "instance" in self.introduced or qualname in self.decorated
            if ours and shapes.is_decorator(decorator, self.names):
                self.lines.add(decorator.lineno)
                self.new[decorator.lineno] = ((decorator.end_lineno or decorator.lineno) + 1, ())

    # --- what was given another shape ---------------------------------------------------------------------------------

    def _marks(self, node: ast.If | ast.FunctionDef) -> set[int]:
        marks: set[int] = set()
        for inside in node.body:
            if self._is_start_or_finish(inside):
                marks.add(inside.lineno)
            elif isinstance(inside, ast.Try) and shapes.is_finishing_try(inside, self.names):
                marks |= {inside.lineno, inside.finalbody[0].lineno}
        return marks

    def _join_docstring(self, body: list[ast.stmt]) -> None:
        """Put statements back behind the docstring with which they shared a line."""
        if len(body) < 3 or not is_docstring(body[0]) or not shapes.is_start(body[1], self.names):
            return
        for before, tree in self.shared_lines:
            together = [body[0], *body[2 : len(tree.body) + 1]]
            first, end = body[0].lineno, logical_end(together[-1], self.source.lines) + 1
            comments = _comments(self.source.lines[first - 1 : end - 1])
            same = first_difference(tree, ast.Module(together, [])) is None
            if same and comments == _comments(split_lines(before)):
                self.lines.add(body[1].lineno)
                self.new[first] = (end, tuple(line.rstrip("\r\n") for line in split_lines(before)))

    def _unwrap(self, node: ast.Try) -> None:
        """Take ``try:`` and ``finally:`` away and move what stands between them back to the left, comments included."""
        lines, finish = self.source.lines, node.finalbody[0]
        finish_end = logical_end(finish, lines)
        self.lines.update((node.lineno, finish.lineno))
        outer = _blank_start(lines[node.lineno - 1])
        last = max([*node.body, *node.orelse, *(s for h in node.handlers for s in h.body)], key=lambda s: s.lineno)
        below = logical_end(last, lines) + 1
        finally_line = next(
            (n for n in range(below, finish.lineno + 1) if lines[n - 1].lstrip().startswith("finally")), 0
        )
        inner_line = first_line_of(node.body[0], lines)
        if not finally_line or inner_line == node.lineno or finally_line == finish.lineno:
            raise EditError(
                f"{self.source.path}:{node.lineno}: the try around this block has its statements beside the colon; "
                "put them on lines of their own, so that it can be taken out"
            )
        inner = _blank_start(lines[inner_line - 1])
        for number in range(finally_line, finish_end + 1):
            text = lines[number - 1].strip()
            self.new[number] = (number + 1, (outer + text,) if text.startswith("#") else ())
        if node.handlers:
            return  # the user's own handlers: only the end of it is ours
        comment = lines[node.lineno - 1].partition("#")
        self.new[node.lineno] = (node.lineno + 1, (outer + "#" + comment[2].rstrip("\r\n"),) if comment[1] else ())
        movable = self._indented_lines()
        for number in range(node.lineno + 1, finally_line):
            text = lines[number - 1].rstrip("\r\n")
            if number in movable and text.startswith(inner):
                self.new.setdefault(number, (number + 1, (outer + text[len(inner) :],)))

    def _indented_lines(self) -> frozenset[int]:
        """Lines whose white space is that of their block, and so was moved along when LibCST indented the block.

        Not those are that begin inside a string or behind a backslash; nor, in a bracket or as a comment, those that
        stand further to the left than their block does. Comments at the end of a block belong to it up to the last
        that is indented as the block is, then to the block around it."""
        lines = self.source.lines
        found: set[int] = set()
        indents, closed = [""], list[str]()
        between: list[int] = []
        inside = False

        def settle() -> None:
            for indent in [*closed, indents[-1]]:
                fitting = [number for number in between if lines[number - 1].startswith(indent)]
                found.update(fitting)
                between[:] = [number for number in between if number > max(fitting, default=0)]
            closed.clear()
            between.clear()

        supply = (line.rstrip("\r\n") + "\n" for line in lines)
        try:
            for token in tokenize.generate_tokens(lambda: next(supply, "")):
                number = token.start[0]
                if token.type == tokenize.INDENT:
                    indents.append(token.string)
                elif token.type == tokenize.DEDENT:
                    closed.append(indents.pop())
                elif token.type == tokenize.NEWLINE:
                    inside = False
                elif token.type == tokenize.NL:
                    if not inside:
                        between.append(number)
                    elif number < len(lines) and lines[number].startswith(indents[-1]):
                        found.add(number + 1)
                elif token.type != tokenize.COMMENT and not inside:
                    settle()
                    inside = True
                    found.add(number)
        except (tokenize.TokenError, SyntaxError) as error:
            raise EditError(f"{self.source.path}: cannot be split into tokens ({error})") from None
        return frozenset(found)

    # --- names --------------------------------------------------------------------------------------------------------

    def _unused_names(self) -> None:
        """The instance and the imports, where nothing that stays uses them, and the blank lines that came with them."""
        names, body = self.names, self.source.tree.body
        for node in body:
            if shapes.is_event_class(node, names) or shapes.is_interrupt(node, names):
                self._remove(node)
                for line in (node.lineno - 1, node.lineno - 2):
                    if line > 0 and not self.source.lines[line - 1].strip():
                        self.new[line] = (line + 1, ())
        used = {
            node.id
            for statement in body
            if not shapes.is_instance(statement, names)
            for node in _names_outside(statement, self.lines)
        }
        ours = {getattr(names, field) for field in self.introduced if field in Names.__dataclass_fields__}
        ours |= set(names.every_instance()) - {names.instance}
        imports: list[ast.stmt] = []
        instances: list[ast.stmt] = []
        for node in body:
            if shapes.is_instance(node, names):
                assert isinstance(node, ast.Assign)
                name = getattr(node.targets[0], "id", "")
                if name in ours - used:
                    instances.append(node)
                elif name in used:
                    used.add(names.function)
        for node in body:
            local = shapes.imported_names(node, names)
            if local and all(name in ours - used for name in local):
                imports.append(node)
        for node in (*imports, *instances):
            self._remove(node)
        self._blank_lines(imports, instances)

    def _blank_lines(self, imports: list[ast.stmt], instances: list[ast.stmt]) -> None:
        lines, body = self.source.lines, self.source.tree.body
        gone = sorted([*imports, *instances], key=lambda node: node.lineno)
        if not gone:
            return
        spans = [(first_line_of(node, lines), logical_end(node, lines)) for node in body]

        def remove_blank(numbers: Iterable[int]) -> None:
            for number in numbers:
                free = not any(first <= number <= last for first, last in spans)
                if free and number not in self.new and not lines[number - 1].strip():
                    self.new[number] = (number + 1, ())
                    return

        for instance in instances:
            above = [last for first, last in spans if first < instance.lineno]
            import_ends = [logical_end(node, lines) for node in imports if node.lineno < instance.lineno]
            low = max(import_ends, default=max(above, default=0))
            remove_blank(range(instance.lineno - 1, low, -1))
        if BLANK_ABOVE in self.introduced and is_docstring(body[0]):
            remove_blank(range(gone[0].lineno - 1, spans[0][1], -1))
        elif BLANK_BELOW in self.introduced:
            start = logical_end(gone[-1], lines) + 1
            blocks = [
                first for (first, _), node in zip(spans, body, strict=True) if first >= start and hasattr(node, "body")
            ]
            remove_blank(range(start, min(blocks, default=len(lines) + 1)))


def _one_liners(text: str) -> Iterator[tuple[str, ast.Module]]:
    """The definitions and guards of a stretch that have their body beside the colon, each with its lines.

    A stretch may begin and end anywhere in the blocks of a file, so it is no whole to be parsed."""
    lines = split_lines(text)
    for start, line in enumerate(lines):
        if _HEADER.match(line):
            end = _statement_end(lines, start, start)
            tree = _tree_of("".join(lines[start:end]))
            if tree is None or not isinstance(tree.body[0], (ast.If, ast.FunctionDef, ast.AsyncFunctionDef)):
                continue
            first = tree.body[0].body[0]
            header = lines[start + first.lineno - 1][len(_blank_start(line)) :].encode()[: first.col_offset]
            if header.strip():
                yield "".join(lines[start:end]), tree


def _statement_end(lines: list[str], start: int, end: int) -> int:
    """The index behind the shortest statement that begins on line ``start`` and goes beyond ``end``, its ``else`` parts
    included; ``end`` where there is none."""
    indent = _blank_start(lines[start])
    for stop in range(end + 1, min(len(lines), end + _LONGEST_HEADER) + 1):
        tree = _tree_of("".join(lines[start:stop]))
        if tree is not None and len(tree.body) == 1:
            more = stop < len(lines) and re.match(re.escape(indent) + r"(?:else|elif)\b", lines[stop])
            return _statement_end(lines, start, stop) if more else stop
    return end


def _shared_lines(text: str) -> Iterator[tuple[str, ast.Module]]:
    """The lines of a stretch on which a docstring stands with the statements behind it."""
    lines = split_lines(text)
    for start, line in enumerate(lines):
        if not _QUOTE.match(line):
            continue
        for end in range(start + 1, len(lines) + 1):
            one = "".join(lines[start:end])
            tree = _tree_of(one)
            if tree is not None:
                if len(tree.body) > 1 and is_docstring(tree.body[0]):
                    yield one, tree
                break


def _tree_of(text: str) -> ast.Module | None:
    """The tree of statements that may stand indented; None where ``text`` is not all of them."""
    indent = _blank_start(text)
    lines = (line[len(indent) :] if line.startswith(indent) else line for line in split_lines(text))
    try:
        tree = parse_text("".join(lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return tree if tree.body else None


def _comments(lines: list[str]) -> list[str]:
    supply = iter(lines)
    try:
        tokens = list(tokenize.generate_tokens(lambda: next(supply, "")))
    except (tokenize.TokenError, SyntaxError):
        return []
    return [token.string.rstrip() for token in tokens if token.type == tokenize.COMMENT]


def _blank_start(text: str) -> str:
    return text[: len(text) - len(text.lstrip(" \t\f"))]


def _names_outside(statement: ast.stmt, lines: set[int]) -> Iterator[ast.Name]:
    """The names in a statement, those of annotations that go left out."""
    stack: list[ast.AST] = [statement]
    while stack:
        node = stack.pop()
        line = getattr(node, "lineno", 0)
        if line in lines and isinstance(node, (ast.If, ast.Expr, ast.Attribute, ast.ClassDef, ast.FunctionDef)):
            continue
        if line in lines and isinstance(node, ast.With):
            stack.extend(node.body)
            continue
        if isinstance(node, ast.Name):
            yield node
        stack.extend(ast.iter_child_nodes(node))
