"""Calls by which a program may come to have worker processes: what is called, resolved in its scope, and its arguments.

A name means what its scope says, and is followed no further than can be told: through imports, through ``Loader =
DataLoader``, through the context that ``get_context()`` returned. One that is bound in any other way stays unknown;
what is called on it as on such a context is named so.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeGuard

from dfannotate.source import PARTS, nodes_in

Position = tuple[int, int]
"""A line (1-based) and a column (0-based, in characters)."""

CONTEXT_MAKERS = {
    "multiprocessing.get_context": "multiprocessing",
    "multiprocessing.context.BaseContext.get_context": "multiprocessing",
    "torch.multiprocessing.get_context": "torch.multiprocessing",
}
"""Calls whose result has the classes of a module."""

CONTEXT_CLASSES = {
    **{f"multiprocessing.context.{name}": "multiprocessing" for name in ("BaseContext", "DefaultContext")},
    **{f"multiprocessing.context.{name}Context": "multiprocessing" for name in ("Spawn", "Fork", "ForkServer")},
}
"""Annotations of a parameter that has them too."""

PARTIAL = "functools.partial"
LOCAL = ":"
"""Begins the name of what the module itself defines, so that it is not taken for something imported."""
SUPER = "super:"
"""Begins the qualified name of the class whose ``__init__`` makes the call ``super().__init__(…)``."""

CONTEXT = "?:"
"""Begins the name of what is called on something unknown that may be a context of multiprocessing, as the run knows."""

_OF_CONTEXTS = frozenset({"Process", "Pool"})
_CONTEXT_NAMES = ("ctx", "context", "multiprocessing")
"""How the names of contexts end."""

STAR = "*:"
"""Begins a name that the module binds nowhere, so that it came by ``from module import *``."""

_PACKAGES = frozenset({"multiprocessing", "concurrent", "functools", "os"})
"""The packages of the standard library whose calls may make processes, or make such calls later."""
_OTHERS = frozenset({"builtins", "numpy", "pandas", "scipy", "matplotlib", "pytest", "typing_extensions"})
"""Packages whose calls make none."""
_TORCH = ("torch.utils.data.", "torch.multiprocessing.")
_TELLING = (
    *("loader", "process", "pool", "executor", "cls", "class", "spawn", "start_processes", "fork", "forkpty"),
    "partial",
)
"""How the name ends by which something is called that may make processes."""
_PROCESSES = ("multiprocessing.", "torch.multiprocessing.")
_MAKING = (*_TORCH, "multiprocessing.", "concurrent.futures.", "torchdata.", "torch_geometric.")
_ASKING = frozenset({"isinstance", "issubclass", "hasattr", "cast", "wraps", "object", "spec", "create_autospec"})
"""How the name ends by which something is called that makes nothing of what it is given."""
_HARMLESS = ("Error", "Exception", "Warning")


def may_make_workers(name: str) -> bool:
    """Whether something of this name (the last part of a dotted one) may be what makes processes."""
    return (name[:1].isupper() and not name.endswith(_HARMLESS)) or name == "__init__" or _is_telling(name)


def _is_telling(name: str) -> bool:
    return name.lower().endswith(_TELLING)


@dataclass(frozen=True)
class Argument:
    """One argument with its place; ``keyword`` is empty for one by position, ``*`` or ``**`` for an unpacked one."""

    keyword: str
    start: Position
    end: Position


@dataclass(frozen=True)
class WorkerCall:
    """A call that may make worker processes, or a ``functools.partial`` of one.

    ``callees``: all that the called name may stand for. ``function``: the qualified name of the function that it stands
    in. ``callee``: the place of the called name, for a partial that of its first argument, which is not among
    ``arguments``. ``further``: where one more argument can be put in, None where it cannot; ``separator`` goes before
    it."""

    callees: tuple[str, ...]
    function: str
    line: int
    callee: Argument
    arguments: tuple[Argument, ...]
    further: Position | None
    separator: str
    partial: bool = False


@dataclass(frozen=True)
class WorkerValue:
    """A place where what may make worker processes is not called but handed on: stored, returned, given to a call.

    ``names``: what stands there, dotted; several where one of them is chosen, an empty one for what is unknown."""

    names: tuple[str, ...]
    line: int


class Calls:
    """The calls of one module that may make worker processes, gathered while the module is walked."""

    def __init__(self, tree: ast.Module, imports: Mapping[str, str]) -> None:
        """``imports``: local name -> what it stands for, of any scope, filled before ``found`` is asked for."""
        self._tree = tree
        self._imports = imports
        self._candidates: list[tuple[ast.Call, str, str, Callable[[], tuple[ast.AST, ...]]]] = []
        self.global_names: set[str] = set()
        """Names that any function declares global."""
        self.strings: list[ast.expr] = []
        """Strings with expressions in them."""

    def note(self, node: ast.Call, name: str, function: str, around: Callable[[], tuple[ast.AST, ...]]) -> None:
        """Note a call of ``name`` (as written), which ``may_make_workers``, that stands in ``function``; ``around``
        gives the definitions around it, outermost first."""
        self._candidates.append((node, name, function, around))

    def found(self, lines: Sequence[str], classes: Mapping[str, bool]) -> tuple[WorkerCall, ...]:
        """The calls whose callee could be resolved to something that is worth asking the project about; ``classes``
        are the names of the module's classes, and whether they have a base."""
        promising = [item for item in self._candidates if self._is_promising(item[1], classes)]
        if not promising:
            return ()
        resolver = self._resolver
        uses_processes = any(f"{target}.".startswith(_PROCESSES) for target in self._imports.values())
        found = []
        in_strings: set[ast.AST] | None = None
        for node, _, function, around in promising:
            if any(isinstance(argument, (ast.Yield, ast.YieldFrom)) for argument in _values(node)):
                continue
            call = _worker_call(node, function, around(), resolver, lines, uses_processes=uses_processes)
            if call is not None:
                # Positions within a string are not to be relied on before Python 3.12.
                if in_strings is None:
                    in_strings = set(nodes_in(*self.strings))
                if node not in in_strings:
                    found.append(call)
        return tuple(sorted(found, key=lambda call: (call.callee.start, call.callee.end)))

    def values(self, text: str) -> tuple[WorkerValue, ...]:
        """Where names that may make workers are handed on, so that nobody can tell where they are called; ``text`` is
        the module's."""
        targets = [f"{target}." for target in self._imports.values()]
        named = any(target.startswith(_MAKING) or target in ("torch.utils.", "concurrent.") for target in targets)
        if named or ("torch." in targets and any(name in text for name in _TORCH)):
            return tuple(sorted(_handed_on(self._resolver), key=lambda value: value.line))
        return ()

    def _is_promising(self, name: str, classes: Mapping[str, bool]) -> bool:
        head, dot, rest = name.partition(".")
        if name == ".__init__":
            return any(classes.values())
        target = self._imports.get(head)
        if target is None:
            known = name if name in classes else head
            return classes.get(known, not hasattr(builtins, head)) and (not dot or _is_telling(rest))
        package = target.partition(".")[0]
        if package == "torch":
            return (target + dot + rest + ".").startswith(_TORCH)
        return package in _PACKAGES or (package not in sys.stdlib_module_names and package not in _OTHERS)

    @cached_property
    def _resolver(self) -> _Resolver:
        return _Resolver(self._tree, self.global_names)

    def aliases(self) -> tuple[tuple[str, str], ...]:
        """Top-level names that stand for something else by an assignment -> what that is."""
        kinds = (ast.Name, ast.Attribute, ast.Call, ast.IfExp, ast.BoolOp)
        found = []
        for name, bound in sorted(self._resolver.bindings(self._tree).items()):
            if any(isinstance(value, kinds) for value in bound):
                meanings = self._resolver.meanings(ast.Name(name, ast.Load()), (self._tree,))
                if len(meanings) == 1:
                    found.append((name, next(iter(meanings))))
        return tuple(found)


def _values(node: ast.Call) -> Iterator[ast.expr]:
    yield from node.args
    yield from (keyword.value for keyword in node.keywords)


def _worker_call(
    node: ast.Call,
    function: str,
    around: tuple[ast.AST, ...],
    resolver: _Resolver,
    lines: Sequence[str],
    *,
    uses_processes: bool,
) -> WorkerCall | None:
    scopes = (resolver.tree, *around)
    callee: ast.expr = node.func
    callees = (
        resolver.meanings(callee, scopes)
        or _super_call(node, scopes, resolver)
        or _of_context(node, callee, uses_processes)
    )
    arguments: list[ast.expr | ast.keyword] = [*node.args, *node.keywords]
    partial = callees == {PARTIAL}
    if partial:
        if not node.args or isinstance(node.args[0], ast.Starred):
            return None
        callee = node.args[0]
        arguments.remove(callee)
        callees = resolver.meanings(callee, scopes) or _of_context(node, callee, uses_processes)
    if not callees or not any(map(_is_worth_asking, callees)):
        return None
    places = Places(lines)
    further = places.further(node)
    return WorkerCall(
        callees=tuple(sorted(callees)),
        function=function,
        line=node.lineno,
        callee=places.argument("", callee),
        arguments=tuple(sorted((places.of(argument) for argument in arguments), key=lambda a: a.start)),
        further=further,
        separator=", " if node.args or node.keywords else "",
        partial=partial,
    )


def _is_worth_asking(callee: str) -> bool:
    if callee.startswith((SUPER, LOCAL, STAR, CONTEXT, ".")):
        return True
    if callee.startswith("torch."):
        return callee.startswith(_TORCH)
    head = callee.partition(".")[0]
    return head in _PACKAGES or (head not in sys.stdlib_module_names and head not in _OTHERS)


def _of_context(node: ast.Call, callee: ast.expr, uses_processes: bool) -> set[str]:
    """What is called on something unknown, where it looks like a context: by its name, by what the call is given, or in
    a module that ``uses_processes``."""
    if not isinstance(callee, ast.Attribute) or callee.attr not in _OF_CONTEXTS:
        return set()
    name = _last_of(callee.value).lower()
    has_target = callee.attr == "Process" and any(keyword.arg == "target" for keyword in node.keywords)
    is_one = has_target or uses_processes or name == "mp" or name.endswith(_CONTEXT_NAMES)
    return {CONTEXT + callee.attr} if is_one else set()


def _super_call(node: ast.Call, scopes: tuple[ast.AST, ...], resolver: _Resolver) -> set[str]:
    """The class whose ``__init__`` calls that of its base: ``super().__init__(…)``, with or without arguments."""
    func = node.func
    if not (isinstance(func, ast.Attribute) and func.attr == "__init__" and len(scopes) >= 3):
        return set()
    method, klass = scopes[-1], scopes[-2]
    if not (isinstance(method, ast.FunctionDef) and method.name == "__init__" and isinstance(klass, ast.ClassDef)):
        return set()
    made = func.value
    if not (isinstance(made, ast.Call) and isinstance(made.func, ast.Name) and made.func.id == "super"):
        return set()
    if made.args and not (isinstance(made.args[0], ast.Name) and made.args[0].id == klass.name):
        return set()
    return {SUPER + resolver.qualname(scopes[:-1])}


# --- what is handed on ------------------------------------------------------------------------------------------------


def _handed_on(resolver: _Resolver) -> Iterator[WorkerValue]:
    stack: list[tuple[ast.AST, tuple[ast.AST, ...]]] = [(resolver.tree, ())]
    while stack:
        node, scopes = stack.pop()
        if isinstance(node, (ast.Name, ast.Attribute)):
            known = resolver.meanings(node, scopes) if may_make_workers(_last_of(node)) else ()
            names = tuple(sorted(filter(_may_be_handed_on, known)))
            if names and isinstance(node.ctx, ast.Load):
                yield WorkerValue(names, node.lineno)
            elif isinstance(node, ast.Attribute) and not isinstance(node.value, ast.Name):
                stack.append((node.value, scopes))
            continue
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            chosen = _chosen(node.value)
            if all(map(_is_followed, targets)) and all(isinstance(one, (ast.Name, ast.Attribute)) for one in chosen):
                if len(chosen) > 1:
                    among = {name for one in chosen for name in resolver.meanings(one, scopes) or ("",)}
                    if len(among) > 1 and any(map(_may_be_handed_on, among)):
                        yield WorkerValue(tuple(sorted(among)), node.lineno)
                continue
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            scopes = (*scopes, node)
        seen = _only_looked_at(node)
        for field in PARTS[node.__class__]:
            value = getattr(node, field)
            parts = value if isinstance(value, list) else [value]
            stack += ((part, scopes) for part in parts if part is not None and part not in seen)


def _may_be_handed_on(name: str) -> bool:
    return name.startswith(_MAKING) and may_make_workers(name.rpartition(".")[2])


def _chosen(node: ast.expr) -> list[ast.expr]:
    """The expressions one of which is what ``node`` gives."""
    if isinstance(node, ast.IfExp):
        return [*_chosen(node.body), *_chosen(node.orelse)]
    if isinstance(node, ast.BoolOp):
        return [one for value in node.values for one in _chosen(value)]
    return [node]


def _is_followed(target: ast.expr) -> bool:
    """Whether what is assigned is looked up again where the target is called."""
    return isinstance(target, ast.Name) or (
        isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id in ("self", "cls")
    )


def _only_looked_at(node: ast.AST) -> Collection[ast.AST]:
    """Parts of a node in which a class is called, inherited from, named or asked for, but not handed on."""
    if isinstance(node, ast.Call):
        last = _last_of(node.func)
        if last in _ASKING:
            return [node.func, *node.args, *node.keywords]
        return [node.func, *node.args[:1]] if last == "partial" else [node.func]
    if isinstance(node, ast.ClassDef):
        return node.bases
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return [node.returns, *node.decorator_list] if node.returns else node.decorator_list
    if isinstance(node, (ast.arg, ast.AnnAssign)):
        return [node.annotation] if node.annotation else []
    if isinstance(node, ast.Subscript):
        return [node.value, node.slice]
    if isinstance(node, ast.Compare):
        return [node.left, *node.comparators]
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    return ()


def _last_of(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


# --- what a name means ------------------------------------------------------------------------------------------------


class _Resolver:
    """Resolves expressions in the scopes of one module."""

    def __init__(self, tree: ast.Module, global_names: Collection[str]) -> None:
        self.tree = tree
        self._bindings: dict[ast.AST, dict[str, list[ast.AST | None]]] = {}
        self._attributes: dict[ast.AST, dict[str, list[ast.expr | None]]] = {}
        self._globals = global_names
        stars = (node for node in tree.body if isinstance(node, ast.ImportFrom))
        self._has_stars = any(alias.name == "*" for node in stars for alias in node.names)

    def qualname(self, scopes: Sequence[ast.AST]) -> str:
        """The qualified name of the innermost of ``scopes``, which begin with the module."""
        name = ""
        for scope in scopes[1:]:
            assert isinstance(scope, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
            last = scope is scopes[-1]
            name += scope.name
            if not last:
                name += "." if isinstance(scope, ast.ClassDef) else ".<locals>."
        return name

    def meanings(self, node: ast.expr, scopes: tuple[ast.AST, ...], hops: int = 6) -> set[str]:
        """All that an expression may stand for, dotted; empty where any of it is unknown."""
        if not hops:
            return set()
        if isinstance(node, ast.Name):
            return self._name(node.id, scopes, hops - 1)
        if isinstance(node, ast.Attribute):
            if isinstance(node.value, ast.Name) and (found := self._of_self(node, scopes, hops - 1)):
                return found
            return {f"{base}.{node.attr}" for base in self.meanings(node.value, scopes, hops)}
        if isinstance(node, ast.Call):
            made = self.meanings(node.func, scopes, hops - 1)
            return {CONTEXT_MAKERS[name] for name in made} if made and made <= CONTEXT_MAKERS.keys() else set()
        if isinstance(node, ast.IfExp):
            return self._all([node.body, node.orelse], scopes, hops - 1)
        if isinstance(node, ast.BoolOp):
            return self._all(node.values, scopes, hops - 1)
        return set()

    def _all(self, nodes: Iterable[ast.expr], scopes: tuple[ast.AST, ...], hops: int) -> set[str]:
        found: set[str] = set()
        for node in nodes:
            if isinstance(node, ast.Constant) and node.value is None:
                continue
            meanings = self.meanings(node, scopes, hops)
            if not meanings:
                return set()
            found |= meanings
        return found

    def _name(self, name: str, scopes: tuple[ast.AST, ...], hops: int) -> set[str]:
        for depth in range(len(scopes), 0, -1):
            scope = scopes[depth - 1]
            if isinstance(scope, ast.ClassDef) and depth < len(scopes):
                continue  # a class's names are not seen in its methods
            bound = self.bindings(scope).get(name)
            if bound is None:
                continue
            found: set[str] = set()
            for value in bound:
                meanings = self._bound(name, value, scopes[:depth], hops)
                if meanings is None:
                    return set()
                found |= meanings
            return found
        return {STAR + name} if self._has_stars and not hasattr(builtins, name) else set()

    def _bound(self, name: str, value: ast.AST | None, scopes: tuple[ast.AST, ...], hops: int) -> set[str] | None:
        """What one binding of a name makes it mean; None where that cannot be told."""
        if isinstance(value, ast.alias):
            return {value.name}
        if isinstance(value, ast.ClassDef):
            return {LOCAL + self.qualname((*scopes, value))}
        if isinstance(value, ast.arg):
            names = self.meanings(value.annotation, scopes[:-1], hops) if value.annotation else set()
            return {CONTEXT_CLASSES[n] for n in names} if names and names <= CONTEXT_CLASSES.keys() else None
        if isinstance(value, ast.Constant) and value.value is None:
            return set()  # cannot be called
        if isinstance(value, ast.expr):
            return self.meanings(value, scopes, hops) or None
        return None

    def _of_self(self, node: ast.Attribute, scopes: tuple[ast.AST, ...], hops: int) -> set[str]:
        """An attribute of ``self`` (or ``cls``) that the class sets, always to the same."""
        assert isinstance(node.value, ast.Name)
        for depth in range(len(scopes) - 1, 0, -1):
            klass, method = scopes[depth - 1], scopes[depth]
            if isinstance(klass, ast.ClassDef) and isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef)):
                break
        else:
            return set()
        if node.value.id != _first_parameter(method):
            return set()
        found: set[str] = set()
        for bound in self.bindings(klass).get(node.attr, ()):
            meanings = self._bound(node.attr, bound, scopes[:depth], hops)
            if meanings is None:
                return set()
            found |= meanings
        for member in klass.body:
            if isinstance(member, (ast.FunctionDef, ast.AsyncFunctionDef)):
                for value in self._set_in(member).get(node.attr, ()):
                    meanings = self._all([value], (*scopes[:depth], member), hops) if value else set()
                    if not meanings and not (isinstance(value, ast.Constant) and value.value is None):
                        return set()
                    found |= meanings
        return found

    def _set_in(self, function: ast.AST) -> dict[str, list[ast.expr | None]]:
        found = self._attributes.get(function)
        if found is None:
            found = self._attributes[function] = _set_in(function)
        return found

    def bindings(self, scope: ast.AST) -> dict[str, list[ast.AST | None]]:
        """Name -> what each of its bindings in a scope makes it: an alias of an import (its name made absolute), a
        class, a parameter, an assigned expression, or None for whatever else."""
        found = self._bindings.get(scope)
        if found is None:
            found = self._bindings[scope] = {}
            elsewhere: set[str] = set()
            for name, value in _bound_in(scope, elsewhere):
                found.setdefault(name, []).append(value)
            for name in elsewhere:
                found.pop(name, None)
            if scope is self.tree:
                for name in self._globals:
                    found.setdefault(name, []).append(None)
        return found


def _first_parameter(function: ast.AST) -> str:
    assert isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
    positional = [*function.args.posonlyargs, *function.args.args]
    return positional[0].arg if positional else ""


def _set_in(function: ast.AST) -> dict[str, list[ast.expr | None]]:
    """Attribute of the function's first parameter -> what each statement sets it to; None where that is no plain
    assignment."""
    owner = _first_parameter(function)
    found: dict[str, list[ast.expr | None]] = {}
    for node in nodes_in(function):
        plain: set[str] = set()
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            plain = {target.attr for target in targets if _is_attribute_of(target, owner)}
            for name in plain:
                found.setdefault(name, []).append(node.value)
        elif isinstance(node, (ast.For, ast.AugAssign, ast.NamedExpr)):
            targets = [node.target]
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            targets = [node.optional_vars]
        else:
            continue
        for name in {part.attr for part in nodes_in(*targets) if _is_attribute_of(part, owner)} - plain:
            found.setdefault(name, []).append(None)
    return found


def _is_attribute_of(node: ast.AST, owner: str) -> TypeGuard[ast.Attribute]:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == owner


def _bound_in(scope: ast.AST, elsewhere: set[str]) -> Iterator[tuple[str, ast.AST | None]]:
    """The bindings of one scope, in no order; names that belong to a scope further out are added to ``elsewhere``."""
    stack: list[ast.AST] = []
    if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)):
        given = scope.args
        for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs):
            yield argument.arg, argument
        for unpacked in (given.vararg, given.kwarg):
            if unpacked:
                yield unpacked.arg, None
    stack.extend(getattr(scope, "body", ()))
    pop, push = stack.pop, stack.append
    while stack:
        node = pop()
        kind = node.__class__
        if kind is ast.Name:
            if node.ctx.__class__ is not ast.Load:  # type: ignore[attr-defined]
                yield node.id, None  # type: ignore[attr-defined]
            continue
        if kind in _BINDING:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield node.name, None
                continue
            if isinstance(node, ast.ClassDef):
                yield node.name, node
                continue
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                yield from _imported(node)
                continue
            if isinstance(node, (ast.Global, ast.Nonlocal)):
                elsewhere.update(node.names)
                continue
            if isinstance(node, (ast.Assign, ast.AnnAssign)):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                if node.value is None:
                    continue
                plain = [target for target in targets if isinstance(target, ast.Name)]
                for target in plain:
                    yield target.id, node.value
                stack.extend(target for target in targets if target not in plain)
                push(node.value)
                continue
            if isinstance(node, ast.arg):  # of a lambda
                yield node.arg, None
            elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
                yield node.name, None
            elif isinstance(node, ast.MatchMapping) and node.rest:
                yield node.rest, None
        for field in PARTS[kind]:
            value = getattr(node, field)
            if value.__class__ is list:
                stack += value
            elif value is not None:
                push(value)


_BINDING: frozenset[type] = frozenset(
    {ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal}
    | {ast.Assign, ast.AnnAssign, ast.arg, ast.ExceptHandler, ast.MatchAs, ast.MatchStar, ast.MatchMapping}
)
"""Nodes that bind names, besides names themselves."""


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, ast.AST | None]]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            yield name, ast.alias(name=alias.name if alias.asname else name)
        return
    module = "." * node.level + (node.module or "")
    joined = module if module.endswith(".") else module + "."
    for alias in node.names:
        if alias.name != "*":
            yield alias.asname or alias.name, ast.alias(name=joined + alias.name)


# --- where the parts of a call are ------------------------------------------------------------------------------------


class Places:
    """Positions in the text of a module."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines

    def position(self, line: int, column: int) -> Position:
        """A place of the tree, whose columns count bytes."""
        text = self.lines[line - 1]
        return line, column if text.isascii() else len(text.encode()[:column].decode(errors="replace"))

    def argument(self, keyword: str, value: ast.expr) -> Argument:
        assert value.end_lineno is not None
        assert value.end_col_offset is not None
        start = self.position(value.lineno, value.col_offset)
        return Argument(keyword, start, self.position(value.end_lineno, value.end_col_offset))

    def of(self, node: ast.expr | ast.keyword) -> Argument:
        if isinstance(node, ast.keyword):
            return self.argument(node.arg or "**", node.value)
        return self.argument("*" if isinstance(node, ast.Starred) else "", node)

    def further(self, node: ast.Call) -> Position | None:
        """Behind the last argument, its parentheses included, or behind the parenthesis that opens the call."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        end = self.position(node.end_lineno, node.end_col_offset)
        given: list[ast.expr | ast.keyword] = [*node.args, *node.keywords]
        if not given:
            func = self.argument("", node.func)
            opened = [place for place, mark in self._marks(func.end, end) if mark == "("]
            return (opened[0][0], opened[0][1] + 1) if opened else None
        if len(given) == 1 and isinstance(given[0], ast.GeneratorExp):
            return None  # its parentheses may be those of the call
        start = self.position(*max((part.end_lineno or 0, part.end_col_offset or 0) for part in given))
        closed = [place for place, mark in self._marks(start, end) if mark == ")"]
        return start if len(closed) < 2 else (closed[-2][0], closed[-2][1] + 1)

    def _marks(self, start: Position, end: Position) -> Iterator[tuple[Position, str]]:
        """The characters between two places that are no white space and in no comment."""
        for number in range(start[0], end[0] + 1):
            text = self.lines[number - 1]
            first = start[1] if number == start[0] else 0
            last = end[1] if number == end[0] else len(text)
            for column in range(first, last):
                if text[column] == "#":
                    break
                if not text[column].isspace():
                    yield (number, column), text[column]
