"""Taking annotations out again: byte for byte where the file is as it was left, by structure where it was edited.

By structure, whatever an annotation looks like goes (a decorator, a start, a finishing ``try``, the names that nothing
uses any more); everything else, the user's edits included, stays.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from dfannotate import shapes, worker_shapes
from dfannotate.calls import Places
from dfannotate.edits import Edit, EditError, Indent, Rewrite, Splice, apply, first_difference, undo_all
from dfannotate.facts import first_line, logical_end
from dfannotate.manifest import FileEntry
from dfannotate.shapes import Names
from dfannotate.source import Source, digest, parse_text


def exact_text(source: Source, entry: FileEntry) -> str | None:
    """The text before annotation, where ``source`` is exactly what was written then; else None."""
    if source.sha256 != entry.sha256_after:
        return None
    text = undo_all(source.text, entry.undo)
    return text if digest(source.encode(text)) == entry.sha256_before else None


def structural_text(source: Source, entry: FileEntry) -> str:
    """The text without annotations, found by their structure.

    Raises ``EditError`` where the result would not be the program without its annotations."""
    names = Names(**{key: value for key, value in entry.names.items() if key in Names.__dataclass_fields__})
    finder = _Finder(source, entry, names)
    edits = list(finder.edits())
    if not edits:
        return source.text
    text, _ = apply(source, edits)
    try:
        tree = parse_text(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise EditError(
            f"{source.path}: taking the annotations out would leave a file that does not parse: {error}"
        ) from None
    expected = parse_text(source.text)
    shapes.strip(expected, names, (finder.lines | finder.call_lines).__contains__)
    difference = first_difference(expected, tree)
    if difference is not None:
        raise EditError(f"{source.path}:{difference}: taking the annotations out would change the program")
    return text


class _Finder:
    """Finds what has to go, and notes the lines of it for the self-check."""

    def __init__(self, source: Source, entry: FileEntry, names: Names) -> None:
        self.source = source
        self.names = names
        self.introduced = frozenset(entry.introduced)
        self.decorated = {site.function for site in entry.sites}
        self.lines: set[int] = set()
        self.call_lines: set[int] = set()
        """Lines of what goes from the middle of an expression that stays."""
        self.places = Places(source.lines)

    def edits(self) -> Iterator[Edit]:
        yield from self._in_body(self.source.tree.body, "")
        if "worker" in self.introduced:
            for call, part in worker_shapes.found_calls(self.source.tree, self.names.worker):
                yield from self._argument(part) if isinstance(part, ast.keyword) else self._around(call)
        yield from self._unused_names()

    def _in_body(self, body: list[ast.stmt], outer: str) -> Iterator[Edit]:
        for node in body:
            if self._is_start_or_finish(node):
                yield self._without(node)
                continue
            if self._is_for_workers(node):
                yield self._without(node)
                yield from self._blank_lines(node.lineno, 0 if worker_shapes.is_start(node, self.names.worker) else 2)
                continue
            if shapes.is_wrapper(node, self.names):
                yield from self._unwrapped(node)  # type: ignore[arg-type]
            name = getattr(node, "name", "") if not isinstance(node, ast.ExceptHandler) else ""
            inner = (
                f"{outer}{name}." if isinstance(node, ast.ClassDef) else f"{outer}{name}.<locals>." if name else outer
            )
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield from self._decorators(node, f"{outer}{name}")
            for field in ("body", "orelse", "finalbody"):
                yield from self._in_body(getattr(node, field, None) or [], inner)
            for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
                yield from self._in_body(part.body, inner)

    def _unwrapped(self, node: ast.Try | ast.With) -> Iterator[Edit]:
        """The body of a ``try`` or ``with`` of ours one level out, without what stands around it."""
        lines = self.source.lines
        first, last = first_line(node.body[0], lines), logical_end(node.body[-1], lines)
        margin = _blank(lines[node.lineno - 1])
        inner = _blank(lines[first - 1])
        self.lines.add(node.lineno)
        yield Splice(node.lineno, node.lineno + 1)
        yield Indent(first, last, margin, inner[len(margin) :], out=True)
        if isinstance(node, ast.Try):
            end = logical_end(node.finalbody[-1], lines)
            start = next(n for n in range(last + 1, end) if lines[n - 1].split("#")[0].strip() == "finally:")
            for handler in node.handlers:
                start = min(start, handler.lineno)
                self.lines.add(handler.body[0].lineno)
            self.lines.add(node.finalbody[0].lineno)
            yield Splice(start, end + 1)

    def _is_start_or_finish(self, node: ast.stmt) -> bool:
        return (
            shapes.is_start(node, self.names)
            or shapes.is_event_start(node, self.names)
            or ("logger" in self.introduced and shapes.is_finish_now(node, self.names))
        )

    def _is_for_workers(self, node: ast.stmt) -> bool:
        worker = self.names.worker
        return "worker" in self.introduced and (
            worker_shapes.is_function(node, worker)
            or worker_shapes.is_ready(node, worker)
            or worker_shapes.is_start(node, worker)
        )

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

    def _decorators(self, node: ast.FunctionDef | ast.AsyncFunctionDef, qualname: str) -> Iterator[Edit]:
        for decorator in node.decorator_list:
            further = isinstance(decorator, ast.Attribute) and not shapes.is_name(decorator.value, self.names.instance)
            ours = further or "instance" in self.introduced or qualname in self.decorated
            if ours and shapes.is_decorator(decorator, self.names):
                self.lines.add(decorator.lineno)
                yield Splice(decorator.lineno, (decorator.end_lineno or decorator.lineno) + 1)

    def _without(self, node: ast.stmt) -> Splice:
        self.lines.add(node.lineno)
        return Splice(node.lineno, logical_end(node, self.source.lines) + 1)

    def _blank_lines(self, before: int, most: int) -> Iterator[Edit]:
        """The blank lines that came with what stands at line ``before``."""
        line = before
        while line > 1 and before - line < most and not self.source.lines[line - 2].strip():
            line -= 1
        if line < before:
            yield Splice(line, before)

    def _unused_names(self) -> Iterator[Edit]:
        """The instance and the imports, where nothing that stays uses them."""
        names = self.names
        for node in self.source.tree.body:
            if shapes.is_event_class(node, names):
                yield self._without(node)
                yield from self._blank_lines(node.lineno, 2)
        used = {
            node.id: True
            for statement in self.source.tree.body
            if not shapes.is_instance(statement, names)
            for node in _names_outside(statement, self.lines)
        }
        gone: set[int] = set()
        for node in self.source.tree.body:
            if shapes.is_instance(node, names):
                assert isinstance(node, ast.Assign)
                name = getattr(node.targets[0], "id", "")
                if name == names.instance and "instance" not in self.introduced:
                    continue
                if name in used:
                    used[names.function] = True
                else:
                    gone.add(node.lineno)
                    yield self._without(node)
        for node in self.source.tree.body:
            local = shapes.imported_names(node, names)
            if local:
                ours = {getattr(names, field) for field in self.introduced}
                if all(name in ours and name not in used for name in local):
                    yield self._without(node)
                    lines = self.source.lines
                    after = logical_end(node, lines) + 1
                    # The blank line between the import and the instance came with them.
                    if after + 1 in gone and not lines[after - 1].strip():
                        yield Splice(after, after + 1)


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


def _blank(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t\f"))]
