"""What the names of a module are bound to, scope by scope."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

from dfannotate.rules import Module
from dfannotate.usage import Function, Scope


class Bindings:
    """What the names of one module are bound to, looked up when the first is asked for."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self._known: dict[Scope, Mapping[str, list[ast.expr | str | None]]] = {}

    def bound(self, name: str, scopes: Sequence[Scope]) -> Sequence[ast.expr | str | None]:
        """The values of a name: expressions, dotted names of what is imported, None for whatever else."""
        for depth in range(len(scopes), 0, -1):
            scope = scopes[depth - 1]
            if isinstance(scope, ast.ClassDef) and depth < len(scopes):
                continue
            if scope not in self._known:
                self._known[scope] = _bindings(scope)
            if isinstance(scope, ast.Module) and re.search(rf"\bglobal\b[^\r\n#]*\b{name}\b", self.module.text):
                return (None, None)
            if name in self._known[scope]:
                return self._known[scope][name]
        return ()

    def only(self, name: str, scopes: Sequence[Scope]) -> ast.expr | None:
        """The expression that a name is bound to, where it is one, bound once."""
        bound = self.bound(name, scopes)
        value = bound[0] if len(bound) == 1 else None
        return value if isinstance(value, ast.expr) else None

    def parameter(self, name: str, scopes: Sequence[Scope]) -> ast.arg | None:
        """The parameter that a name is, where nothing else is ever bound to it."""
        for scope in reversed(scopes):
            if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)):
                found = next((arg for arg in plain_parameters(scope) if arg.arg == name), None)
                if found is not None or len(self.bound(name, (scope,))):
                    return found if len(self.bound(name, (scope,))) == 1 else None
        return None


def plain_parameters(scope: Function | ast.Lambda) -> list[ast.arg]:
    """The parameters that take one argument each."""
    return [*scope.args.posonlyargs, *scope.args.args, *scope.args.kwonlyargs]


def set_attributes(function: Function, name: str) -> Iterator[ast.expr | None]:
    """What the attribute ``name`` of anything is set to in a method; None where that is not one expression."""
    for node in ast.walk(function):
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(target, ast.Attribute) and target.attr == name for target in targets):
                yield node.value
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Attribute) and node.target.attr == name:
            yield node.value
        elif isinstance(node, (ast.Tuple, ast.List, ast.For, ast.withitem)) and any(
            isinstance(part, ast.Attribute) and part.attr == name and isinstance(part.ctx, ast.Store)
            for part in ast.iter_child_nodes(node)
        ):
            yield None


def _bindings(scope: Scope) -> Mapping[str, list[ast.expr | str | None]]:
    """Name -> everything that it is bound to in a scope."""
    found: dict[str, list[ast.expr | str | None]] = {}

    def bind(name: str, value: ast.expr | str | None) -> None:
        found.setdefault(name, []).append(value)

    def bind_target(target: ast.expr, value: ast.expr | None) -> None:
        if isinstance(target, ast.Name):
            bind(target.id, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            parts: Sequence[ast.expr | None] = [None] * len(target.elts)
            if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts):
                parts = value.elts
            for part, its in zip(target.elts, parts, strict=True):
                bind_target(part.value if isinstance(part, ast.Starred) else part, its)

    if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        for argument in (*plain_parameters(scope), scope.args.vararg, scope.args.kwarg):
            if argument is not None:
                bind(argument.arg, None)
    stack: list[ast.AST] = [scope.body] if isinstance(scope, ast.Lambda) else list(scope.body)
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            bind(node.name, None)
            continue
        if isinstance(node, ast.Assign):
            for target in node.targets:
                bind_target(target, node.value)
            stack.append(node.value)
            continue
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            if node.value is not None:
                bind(node.target.id, node.value)
                stack.append(node.value)
            continue
        if isinstance(node, ast.NamedExpr):
            bind(node.target.id, node.value)
            stack.append(node.value)
            continue
        if isinstance(node, ast.Import):
            for alias in node.names:
                bind(
                    alias.asname or alias.name.partition(".")[0],
                    alias.name if alias.asname else alias.name.partition(".")[0],
                )
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                bind(alias.asname or alias.name, None if node.level else f"{node.module}.{alias.name}")
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            for name in node.names:
                bind(name, None)
                bind(name, None)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
            bind(node.id, None)
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            bind(node.name, None)
        if not isinstance(node, ast.Lambda):
            stack.extend(ast.iter_child_nodes(node))
    return found
