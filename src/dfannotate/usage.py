"""How a module uses the tracer: every import, object, decorator, region and call of its API, with names resolved.

Names are followed, not matched: through aliases, module objects, variables and attributes that keep an object,
functions that return one, names that another module of the project hands on, and stand-ins for a tracer that is not
installed. A name that is bound again to something else, here or in an inner scope, means nothing.

A *role* is what an expression stands for, in one spelling for all generations of the tracer:

- ``module:dftracer.python``: a module of the tracer (``native`` is the compiled one);
- ``logger``: the class that starts tracing; ``log``: what ``initialize_log`` and ``get_instance`` give;
- ``function``: the class of decorators and regions; ``instance``: an object of it;
- ``enabled``: the switch; ``api:NAME``: whatever else the tracer exports; ``unknown:NAME``: what it does not;
- ``ROLE.name``: an attribute of one of these that is no role of its own (``logger.initialize_log``, ``instance.log``,
  ``log.finalize``), and ``ROLE.name()``: what a call of it gives;
- ``->ROLE``: a function of the project that returns it.

Only the statements that mention such a name are looked into, so that the cost goes with the use of the tracer and not
with the length of the file.
"""

from __future__ import annotations

import ast
import bisect
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from dfannotate import vocabulary
from dfannotate.source import Source

Scope = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Function = ast.FunctionDef | ast.AsyncFunctionDef
Exports = Callable[[str], Mapping[str, str]]
"""Module as it is written in an import (with leading dots where it is relative) -> the roles of what it defines."""

_HOPS = 12
_ROUNDS = 6
_MAKERS = {
    f"logger.{vocabulary.INITIALIZE}": "log",
    f"logger.{vocabulary.GET_INSTANCE}": "log",
    # ``dftracer.get_instance().initialize_log(…)`` reaches the same static function
    f"log.{vocabulary.INITIALIZE}": "log",
    f"log.{vocabulary.GET_INSTANCE}": "log",
    "function": "instance",
    **{f"instance.{name}": "instance" for name, gives in vocabulary.OFF_METHODS.items() if gives == "self"},
}
"""What a call of a role gives, where that is a role again."""
_STAND_IN_BLOCKS = (ast.Try, ast.If, ast.ExceptHandler)


def no_exports(module: str) -> Mapping[str, str]:
    """Nothing is known of any other module of the project."""
    return {}


@dataclass(frozen=True)
class ImportUse:
    """One name of an import of the tracer: ``module`` is absolute for the tracer's own, ``name`` empty for ``import
    module``; ``local`` is the name it is bound to, ``"*"`` for all."""

    node: ast.Import | ast.ImportFrom
    alias: ast.alias
    module: str
    name: str
    local: str
    role: str
    ancestors: tuple[ast.AST, ...]
    handed_on: bool = False
    """By another module of the project."""


@dataclass(frozen=True)
class Use:
    """An expression with a role: a name, an attribute, or a call (whose role is then what is called: see ``calls``).

    ``ancestors`` lead from the module down to the node's parent."""

    node: ast.expr
    role: str
    ancestors: tuple[ast.AST, ...]

    @property
    def scopes(self) -> tuple[Scope, ...]:
        return scopes_of(self.ancestors)

    @property
    def function(self) -> Function | None:
        """The innermost function that the expression stands in; a decorator stands outside of its own."""
        return function_of(self.ancestors, self.node)


@dataclass(frozen=True)
class CallUse(Use):
    """A call; ``role`` is that of what is called."""

    @property
    def call(self) -> ast.Call:
        assert isinstance(self.node, ast.Call)
        return self.node


@dataclass(frozen=True)
class Decoration:
    """A decorator of the tracer. ``role``: ``instance.log``, ``instance.log_init``, ``instance.log_static`` (also where
    it is called, ``@x.log(name="n")``), ``instance`` or ``function`` where the object itself was used, ``api:…``."""

    function: Function | ast.ClassDef
    node: ast.expr
    index: int
    """Its place among the decorators, the outermost first."""
    role: str
    ancestors: tuple[ast.AST, ...]
    """Those of the function."""

    @property
    def scopes(self) -> tuple[Scope, ...]:
        return scopes_of(self.ancestors)

    @property
    def method(self) -> str:
        """``log``, ``log_init`` or ``log_static``; empty for anything else."""
        last = self.role.rpartition(".")[2].removesuffix("()")
        return last if last in vocabulary.DECORATORS else ""


@dataclass(frozen=True)
class Region:
    """A ``with`` over an object of the tracer. ``call`` is None where the object was made before."""

    node: ast.With | ast.AsyncWith
    item: ast.withitem
    call: ast.Call | None
    ancestors: tuple[ast.AST, ...]


@dataclass(frozen=True)
class Binding:
    """What binds a name: the statement (or the function whose parameter it is), the value if it is an assignment."""

    node: ast.AST
    value: ast.AST | None
    ancestors: tuple[ast.AST, ...]


@dataclass
class _Binding:
    """One binding of a name in a scope: the expression it is bound to, a role that is known (of an import), or None
    for whatever else."""

    value: ast.AST | None
    role: str | None
    ancestors: tuple[ast.AST, ...]
    node: ast.AST

    @property
    def is_none(self) -> bool:
        return isinstance(self.value, ast.Constant) and self.value.value is None


@dataclass
class _Found:
    """What one pass over the statements of interest has gathered."""

    bindings: dict[ast.AST, dict[str, list[_Binding]]] = field(default_factory=dict)
    loads: list[tuple[ast.expr, tuple[ast.AST, ...]]] = field(default_factory=list)
    attributes: dict[ast.AST, dict[str, list[_Binding]]] = field(default_factory=dict)
    """Class -> what the attributes of ``self`` are set to in its methods."""
    declared: dict[tuple[ast.AST, str], ast.AST] = field(default_factory=dict)
    """(scope, name) of ``global`` and ``nonlocal`` -> the scope that the name belongs to."""
    functions: dict[Function, tuple[ast.AST, ...]] = field(default_factory=dict)
    decorated: list[tuple[Function | ast.ClassDef, tuple[ast.AST, ...]]] = field(default_factory=list)
    withs: list[tuple[ast.With | ast.AsyncWith, tuple[ast.AST, ...]]] = field(default_factory=list)


class Usage:
    """The tracer in one module. ``exports`` says what other modules of the project hand on."""

    def __init__(self, source: Source, exports: Exports = no_exports) -> None:
        self.source = source
        self.tree = source.tree
        self._exports = exports
        self._memo: dict[tuple[ast.AST, str], str] = {}
        self.imports: tuple[ImportUse, ...] = tuple(self._find_imports())
        self._names = {use.local for use in self.imports if use.local != "*"}
        for use in self.imports:
            if use.local == "*":
                self._names |= set(self._star_names(use))
        self._found = _Found()
        if self._names:
            self._settle()

    # --- what rules ask ---------------------------------------------------------------------------------------------

    @cached_property
    def uses(self) -> tuple[Use, ...]:
        """Every name, attribute and call with a role, in the order of the source; of a chain, each part."""
        found: list[Use] = []
        for node, ancestors in self._found.loads:
            if isinstance(node, ast.Call):
                role = self.role_of(node.func, ancestors)
                if role:
                    found.append(CallUse(node, role, ancestors))
            elif role := self.role_of(node, ancestors):
                found.append(Use(node, role, ancestors))
        return tuple(sorted(found, key=lambda use: (use.node.lineno, use.node.col_offset)))

    def calls(self, *roles: str) -> tuple[CallUse, ...]:
        """The calls of what has one of ``roles``."""
        return tuple(use for use in self.uses if isinstance(use, CallUse) and use.role in roles)

    @cached_property
    def decorations(self) -> tuple[Decoration, ...]:
        found = []
        for node, ancestors in self._found.decorated:
            for index, decorator in enumerate(node.decorator_list):
                if role := self.role_of(decorator, ancestors):
                    found.append(Decoration(node, decorator, index, role, ancestors))
        return tuple(sorted(found, key=lambda d: (d.node.lineno, d.node.col_offset)))

    @cached_property
    def regions(self) -> tuple[Region, ...]:
        found = []
        for node, ancestors in self._found.withs:
            for item in node.items:
                if self.role_of(item.context_expr, (*ancestors, node)) == "instance":
                    call = item.context_expr if isinstance(item.context_expr, ast.Call) else None
                    if call is not None and self.role_of(call.func, (*ancestors, node)) != "function":
                        call = None
                    found.append(Region(node, item, call, ancestors))
        return tuple(sorted(found, key=lambda region: (region.node.lineno, region.node.col_offset)))

    @cached_property
    def exports(self) -> dict[str, str]:
        """Top-level name -> its role, for other modules of the project."""
        bound = self._found.bindings.get(self.tree, {})
        names = {name: self._role_of_name(name, (self.tree,), _HOPS) for name in bound}
        return {name: role for name, role in names.items() if role}

    def local_name(self, role: str) -> str:
        """A top-level name of the module that has ``role``, the first one imported or bound; empty without."""
        for use in self.imports:
            if use.role == role and use.local != "*" and len(use.ancestors) == 1:
                return use.local
        return next((name for name, its in self.exports.items() if its == role), "")

    def role_of(self, node: ast.expr, ancestors: Sequence[ast.AST]) -> str:
        """What an expression stands for; empty where it is nothing of the tracer's, or cannot be told."""
        return self._role(node, scopes_of(ancestors), _HOPS)

    def value_of(self, name: str, ancestors: Sequence[ast.AST]) -> tuple[ast.expr, ...]:
        """The expressions that a name is bound to, in the scope that says what it means here."""
        for _, bound in self._bindings_seen(name, scopes_of(ancestors)):
            return tuple(binding.value for binding in bound if isinstance(binding.value, ast.expr))
        return ()

    def bound_at(self, name: str, ancestors: Sequence[ast.AST]) -> tuple[Scope | None, tuple[Binding, ...]]:
        """The scope that says what a name means here, and all that binds it there; None where nothing does that is
        known of."""
        for scopes, bound in self._bindings_seen(name, scopes_of(ancestors)):
            return scopes[-1], tuple(Binding(b.node, b.value, b.ancestors) for b in bound)
        return None, ()

    # --- imports ----------------------------------------------------------------------------------------------------

    def _find_imports(self) -> Iterator[ImportUse]:
        for node, ancestors in _import_statements(self.tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if is_tracer_module(alias.name):
                        # ``import a.b`` binds ``a``; ``import a.b as c`` binds what ``a.b`` is
                        module = alias.name if alias.asname else alias.name.partition(".")[0]
                        local = alias.asname or module
                        yield ImportUse(node, alias, alias.name, "", local, module_role(module), ancestors)
                    elif self._exports(alias.name):
                        module = alias.name if alias.asname else alias.name.partition(".")[0]
                        local = alias.asname or module
                        yield ImportUse(
                            node, alias, alias.name, "", local, f"project:{module}", ancestors, handed_on=True
                        )
                continue
            module = "." * node.level + (node.module or "")
            if not node.level and is_tracer_module(module):
                for alias in node.names:
                    local = alias.asname or alias.name
                    yield ImportUse(node, alias, module, alias.name, local, role_in(module, alias.name), ancestors)
                continue
            handed = _SHIM_ROLES if vocabulary.is_shim(module) else self._exports(module)
            for alias in node.names:
                local = alias.asname or alias.name
                if alias.name == "*":
                    if len(handed):  # not its truth, which a project may give by what the file asks of it
                        yield ImportUse(node, alias, module, "*", "*", "", ancestors, handed_on=True)
                elif role := handed.get(alias.name):
                    yield ImportUse(node, alias, module, alias.name, local, role, ancestors, handed_on=True)
                elif sub := self._exports(module + ("" if module.endswith(".") else ".") + alias.name):
                    role = f"project:{module + ('' if module.endswith('.') else '.')}{alias.name}"
                    if sub:
                        yield ImportUse(node, alias, module, alias.name, local, role, ancestors, handed_on=True)

    def _star_names(self, use: ImportUse) -> Mapping[str, str]:
        """What ``from module import *`` brings."""
        if use.handed_on:
            names = _SHIM_ROLES if vocabulary.is_shim(use.module) else self._exports(use.module)
            return {name: role for name, role in names.items() if not name.startswith("_")}
        return {name: role_in(use.module, name) for name in vocabulary.exported_names(use.module)}

    # --- the passes -------------------------------------------------------------------------------------------------

    def _settle(self) -> None:
        """Look for bindings of names with a role, of names bound to what has a role, and so on, until none is new."""
        for _ in range(_ROUNDS):
            self._memo.clear()
            self._found = _Gather(self.source, self._names, self._known_bindings()).found
            new = set(self._new_names()) - self._names
            if not new:
                break
            self._names |= new

    def _known_bindings(self) -> dict[tuple[ast.stmt, str], list[tuple[ast.alias, str]]]:
        known: dict[tuple[ast.stmt, str], list[tuple[ast.alias, str]]] = {}
        for use in self.imports:
            pairs = self._star_names(use).items() if use.local == "*" else [(use.local, use.role)]
            for local, role in pairs:
                known.setdefault((use.node, local), []).append((use.alias, role))
        return known

    def _new_names(self) -> Iterator[str]:
        """Names of what is bound to something with a role: variables, attributes, functions that return it."""
        for node, ancestors in self._found.loads:
            parent = ancestors[-1]
            role = self.role_of(node, ancestors)
            if not role:
                continue
            if isinstance(parent, (ast.Assign, ast.AnnAssign)) and parent.value is node:
                targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
                yield from (name for target in targets if (name := _target_name(target)))
            elif isinstance(parent, ast.NamedExpr) and parent.value is node:
                yield parent.target.id
            elif isinstance(parent, ast.withitem) and parent.context_expr is node and parent.optional_vars is not None:
                if name := _target_name(parent.optional_vars):
                    yield name
            elif isinstance(parent, ast.Return):
                function = function_of(ancestors, node)
                if function is not None:
                    yield function.name
            elif isinstance(parent, (ast.IfExp, ast.BoolOp)):
                above = ancestors[-2]
                if isinstance(above, ast.Assign):
                    yield from (name for target in above.targets if (name := _target_name(target)))

    # --- roles ------------------------------------------------------------------------------------------------------

    def _role(self, node: ast.AST, scopes: tuple[Scope, ...], hops: int) -> str:
        if hops <= 0:
            return ""
        if isinstance(node, ast.Name):
            return self._role_of_name(node.id, scopes, hops) if node.id in self._names else ""
        if isinstance(node, ast.Attribute):
            base = self._role(node.value, scopes, hops)
            if base:
                return self._attribute(base, node.attr)
            return self._role_of_self(node, scopes, hops) if node.attr in self._names else ""
        if isinstance(node, ast.Call):
            called = self._role(node.func, scopes, hops)
            return call_role(called) if called else ""
        if isinstance(node, ast.NamedExpr):
            return self._role(node.value, scopes, hops)
        if isinstance(node, (ast.IfExp, ast.BoolOp)):
            parts = [node.body, node.orelse] if isinstance(node, ast.IfExp) else node.values
            found = {self._role(part, scopes, hops - 1) for part in parts if not _is_none(part)}
            return found.pop() if len(found) == 1 else ""
        return ""

    def _attribute(self, base: str, name: str) -> str:
        if base.startswith("module:"):
            return role_in(base.removeprefix("module:"), name)
        if base.startswith("project:"):
            module = base.removeprefix("project:")
            inside = f"{module}.{name}"
            return self._exports(module).get(name) or (f"project:{inside}" if self._exports(inside) else "")
        return "" if base.startswith("->") else f"{base}.{name}"

    def _bindings_seen(
        self, name: str, scopes: tuple[Scope, ...]
    ) -> Iterator[tuple[tuple[Scope, ...], list[_Binding]]]:
        for depth in range(len(scopes), 0, -1):
            scope = scopes[depth - 1]
            if isinstance(scope, ast.ClassDef) and depth < len(scopes):
                continue  # a class's names are not seen in its methods
            if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) and name in _parameters(scope):
                yield scopes[:depth], [_Binding(None, None, (), scope)]
                return
            bound = self._found.bindings.get(scope, {}).get(name)
            if bound:
                yield scopes[:depth], bound
                return

    def _role_of_name(self, name: str, scopes: tuple[Scope, ...], hops: int) -> str:
        for seen, bound in self._bindings_seen(name, scopes):
            key = (seen[-1], name)
            if key in self._memo:
                return self._memo[key]
            self._memo[key] = ""  # a name that is bound to itself
            role = self._memo[key] = self._agreed(bound, seen, hops - 1)
            return role
        return ""

    def _agreed(self, bound: list[_Binding], scopes: tuple[Scope, ...], hops: int) -> str:
        """The one role of all bindings, those apart that stand in for a tracer which is not there."""
        roles: set[str] = set()
        strangers: list[_Binding] = []
        for binding in bound:
            role = binding.role or (self._bound_role(binding, scopes, hops) if binding.value is not None else "")
            if role:
                roles.add(role)
            elif not binding.is_none:
                strangers.append(binding)
        if len(roles) != 1 or not all(_is_stand_in(binding, scopes[-1]) for binding in strangers):
            return ""
        return roles.pop()

    def _bound_role(self, binding: _Binding, scopes: tuple[Scope, ...], hops: int) -> str:
        value = binding.value
        if isinstance(value, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return self._role_of_result(value, scopes, hops)
        if isinstance(value, ast.expr):
            return self._role(value, scopes, hops)
        return ""

    def _role_of_result(self, function: Function, scopes: tuple[Scope, ...], hops: int) -> str:
        """``->ROLE`` for a function all of whose results have a role (None apart)."""
        if isinstance(function, ast.AsyncFunctionDef):
            return ""
        returned = [value for value in _returned(function) if not _is_none(value)]
        roles = {self._role(value, (*scopes, function), hops - 1) for value in returned if value is not None}
        if len(roles) != 1 or "" in roles:
            return ""
        role = roles.pop()
        return "" if role.startswith("->") else f"->{role}"

    def _role_of_self(self, node: ast.Attribute, scopes: tuple[Scope, ...], hops: int) -> str:
        """An attribute of ``self`` or ``cls``, or of the class by its name."""
        if not isinstance(node.value, ast.Name):
            return ""
        owner: ast.ClassDef | None = None
        for depth in range(len(scopes) - 1, 0, -1):
            method, klass = scopes[depth], scopes[depth - 1]
            if isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef)) and isinstance(klass, ast.ClassDef):
                parameters = [*method.args.posonlyargs, *method.args.args]
                if parameters and parameters[0].arg == node.value.id:
                    owner = klass
                break
        if owner is None:
            return ""
        bound = self._found.attributes.get(owner, {}).get(node.attr, [])
        bound = [*bound, *self._found.bindings.get(owner, {}).get(node.attr, [])]
        roles = set()
        for binding in bound:
            if binding.is_none:
                continue
            inside = scopes_of((*binding.ancestors, binding.node))
            role = self._bound_role(binding, inside, hops - 1) if binding.value is not None else ""
            roles.add(role)
        return roles.pop() if len(roles) == 1 else ""


class _Gather:
    """One pass over the statements that mention one of ``names``."""

    def __init__(
        self, source: Source, names: set[str], imported: Mapping[tuple[ast.stmt, str], list[tuple[ast.alias, str]]]
    ) -> None:
        self.names = names
        self.imported = imported
        self.found = _Found()
        self.lines = sorted({*_lines_with(source, names), *(node.lineno for node, _ in imported)})
        if self.lines:
            self._body(source.tree.body, (source.tree,))
            self._move_declared()

    def _move_declared(self) -> None:
        """What a function binds by ``global`` or ``nonlocal`` is a binding of the scope that it names."""
        for (scope, name), owner in self.found.declared.items():
            bound = self.found.bindings.get(scope, {}).pop(name, [])
            if bound:
                self.found.bindings.setdefault(owner, {}).setdefault(name, []).extend(bound)

    def _is_near(self, first: int, last: int) -> bool:
        index = bisect.bisect_left(self.lines, first)
        return index < len(self.lines) and self.lines[index] <= last

    def _body(self, body: Sequence[ast.stmt], ancestors: tuple[ast.AST, ...]) -> None:
        for node in body:
            decorators: list[ast.expr] = getattr(node, "decorator_list", [])
            first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
            if self._is_near(first, node.end_lineno or node.lineno):
                self._visit(node, ancestors)

    def _bind(
        self, name: str, value: ast.AST | None, ancestors: tuple[ast.AST, ...], node: ast.AST, role: str | None = None
    ) -> None:
        if name in self.names:
            scope = scopes_of(ancestors)[-1]
            found = self.found.bindings.setdefault(scope, {}).setdefault(name, [])
            found.append(_Binding(value, role, ancestors, node))

    def _visit(self, node: ast.AST, ancestors: tuple[ast.AST, ...]) -> None:
        found = self.found
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            self._bind(node.name, node, ancestors, node)
            if node.decorator_list:
                found.decorated.append((node, ancestors))
            for decorator in node.decorator_list:
                self._visit(decorator, (*ancestors, node))
            inside = (*ancestors, node)
            if isinstance(node, ast.ClassDef):
                for part in (*node.bases, *node.keywords):
                    self._visit(part, inside)
            else:
                found.functions[node] = ancestors
                self._visit(node.args, inside)
                if node.returns is not None:
                    self._visit(node.returns, inside)
            self._body(node.body, inside)
            return
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            self._visit_import(node, ancestors)
            return
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            scopes = scopes_of(ancestors)
            functions = [scope for scope in scopes[1:-1] if not isinstance(scope, ast.ClassDef)]
            owner = scopes[0] if isinstance(node, ast.Global) or not functions else functions[-1]
            found.declared.update({(scopes[-1], name): owner for name in node.names if name in self.names})
            return
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            self._visit_assignment(node, ancestors)
        elif isinstance(node, ast.NamedExpr):
            self._bind(node.target.id, node.value, ancestors, node)
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            found.withs.append((node, ancestors))
            for item in node.items:
                if isinstance(item.optional_vars, ast.Name):
                    self._bind(item.optional_vars.id, item.context_expr, ancestors, node)
        elif isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                if node.id in self.names:
                    found.loads.append((node, ancestors))
            elif not _is_bound_above(node, ancestors[-1]):
                self._bind(node.id, None, ancestors, node)
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            self._bind(node.name, None, ancestors, node)
        elif isinstance(node, (ast.Call, ast.Attribute)):
            found.loads.append((node, ancestors))
        inside = (*ancestors, node)
        for name, value in ast.iter_fields(node):
            if isinstance(value, list):
                if value and isinstance(value[0], ast.stmt):
                    self._body(value, inside)
                    continue
                for part in value:
                    if isinstance(part, ast.AST):
                        self._part(part, inside)
            elif isinstance(value, ast.AST) and name != "ctx":
                self._part(value, inside)

    def _part(self, node: ast.AST, ancestors: tuple[ast.AST, ...]) -> None:
        if isinstance(node, ast.expr) and not self._is_near(node.lineno, node.end_lineno or node.lineno):
            return
        self._visit(node, ancestors)

    def _visit_import(self, node: ast.Import | ast.ImportFrom, ancestors: tuple[ast.AST, ...]) -> None:
        for alias in node.names:
            if alias.name == "*":
                for (statement, local), pairs in self.imported.items():
                    if statement is node:
                        self._bind(local, alias, ancestors, node, pairs[0][1])
                continue
            local = alias.asname or (alias.name.partition(".")[0] if isinstance(node, ast.Import) else alias.name)
            role = next((role for known, role in self.imported.get((node, local), ()) if known is alias), None)
            self._bind(local, None, ancestors, node, role)

    def _visit_assignment(self, node: ast.Assign | ast.AnnAssign, ancestors: tuple[ast.AST, ...]) -> None:
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if isinstance(target, ast.Name) and node.value is not None:
                self._bind(target.id, node.value, ancestors, node)
            elif isinstance(target, ast.Attribute) and target.attr in self.names and isinstance(target.value, ast.Name):
                klass = _class_of_self(target.value.id, ancestors)
                if klass is not None:
                    bound = self.found.attributes.setdefault(klass, {}).setdefault(target.attr, [])
                    bound.append(_Binding(node.value, None, ancestors, node))


# --- what the tracer's modules hold -----------------------------------------------------------------------------------


def is_tracer_module(module: str) -> bool:
    """Whether a dotted name is one of the tracer's packages, or something in it."""
    return module.partition(".")[0] in vocabulary.TRACER_IMPORTS


def module_role(module: str) -> str:
    return "native" if module == vocabulary.NATIVE_MODULE else f"module:{module}"


def role_in(module: str, name: str) -> str:
    """The role of ``name`` in a module of the tracer, of whatever generation, also where it is misspelled."""
    if name in vocabulary.SUBMODULES.get(module, ()):
        return module_role(f"{module}.{name}")
    spelled = vocabulary.api_of(module)
    if spelled is None:
        kind = "api:" if name in vocabulary.exported_names(module) else f"unknown:{module}."
        return kind + name
    for role in ("logger", "function", "enabled"):
        if getattr(spelled, role) == name:
            return role
    if name in vocabulary.exported_names(module):
        return f"api:{name}"
    return vocabulary.MISTAKEN_NAMES.get(name) or f"unknown:{module}.{name}"


def call_role(called: str) -> str:
    """The role of what a call gives, by the role of what is called."""
    if called.startswith("->"):
        return called.removeprefix("->")
    return _MAKERS.get(called) or (f"{called}()" if not called.startswith(("module:", "unknown:", "project:")) else "")


_SHIM_ROLES = {
    vocabulary.CURRENT.logger: "logger",
    vocabulary.CURRENT.function: "function",
    vocabulary.CURRENT.enabled: "enabled",
}


# --- places in the tree -----------------------------------------------------------------------------------------------


def scopes_of(ancestors: Sequence[ast.AST]) -> tuple[Scope, ...]:
    """The scopes among ``ancestors``, the module first."""
    return tuple(node for node in ancestors if isinstance(node, Scope))


def function_of(ancestors: Sequence[ast.AST], node: ast.AST) -> Function | None:
    """The innermost function around ``node``, which may be in a function's head and is then outside of it."""
    inner: ast.AST = node
    for outer in reversed(ancestors):
        if isinstance(outer, ast.Lambda):
            return None
        if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef)) and any(part is inner for part in outer.body):
            return outer
        inner = outer
    return None


def qualname(scopes: Sequence[ast.AST]) -> str:
    """The qualified name of the innermost of ``scopes``, which begin with the module."""
    name = ""
    for scope in scopes[1:]:
        name += getattr(scope, "name", "<lambda>")
        if scope is not scopes[-1]:
            name += "." if isinstance(scope, ast.ClassDef) else ".<locals>."
    return name


def _import_statements(tree: ast.Module) -> Iterator[tuple[ast.Import | ast.ImportFrom, tuple[ast.AST, ...]]]:
    stack: list[tuple[Sequence[ast.stmt], tuple[ast.AST, ...]]] = [(tree.body, (tree,))]
    while stack:
        body, ancestors = stack.pop()
        for node in body:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                yield node, ancestors
                continue
            inside: tuple[ast.AST, ...] | None = None
            for name in ("body", "orelse", "finalbody"):
                if block := getattr(node, name, None):
                    inside = inside or (*ancestors, node)
                    stack.append((block, inside))
            for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
                stack.append((part.body, (*ancestors, node, part)))


def _returned(function: Function) -> Iterator[ast.expr | None]:
    """What the ``return`` statements of a function give; those of the functions in it apart."""
    stack: list[ast.AST] = list(function.body)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Return):
            yield node.value
        elif isinstance(node, (ast.Yield, ast.YieldFrom)):
            yield node  # a generator gives none of them
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            stack.extend(ast.iter_child_nodes(node))


def _lines_with(source: Source, names: set[str]) -> list[int]:
    """The lines of the source that hold one of ``names``, sorted."""
    text = source.text
    starts: list[int] = []
    found: set[int] = set()
    for name in names:
        size = len(name)
        at = text.find(name)  # many times faster than an expression with all of them
        while at >= 0:
            if not (_continues(text[at - 1 : at]) or _continues(text[at + size : at + size + 1])):
                starts = starts or [0, *itertools.accumulate(map(len, source.lines))]
                found.add(bisect.bisect_right(starts, at))
            at = text.find(name, at + size)
    return sorted(found)


def _continues(letter: str) -> bool:
    """Whether a letter beside a name makes it another name."""
    return letter.isalnum() or letter == "_"


def _target_name(target: ast.expr) -> str:
    if isinstance(target, ast.Name):
        return target.id
    return target.attr if isinstance(target, ast.Attribute) else ""


def _class_of_self(name: str, ancestors: Sequence[ast.AST]) -> ast.ClassDef | None:
    scopes = scopes_of(ancestors)
    for depth in range(len(scopes) - 1, 0, -1):
        method, klass = scopes[depth], scopes[depth - 1]
        if isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef)) and isinstance(klass, ast.ClassDef):
            parameters = [*method.args.posonlyargs, *method.args.args]
            return klass if parameters and parameters[0].arg == name else None
    return None


def _parameters(scope: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> set[str]:
    given = scope.args
    named = {argument.arg for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs)}
    return named | {unpacked.arg for unpacked in (given.vararg, given.kwarg) if unpacked}


def _is_none(node: ast.expr | None) -> bool:
    return node is None or (isinstance(node, ast.Constant) and node.value is None)


def _is_bound_above(node: ast.Name, parent: ast.AST) -> bool:
    """Whether the statement around a name that is set has bound it already."""
    if isinstance(parent, ast.Assign):
        return any(target is node for target in parent.targets)
    if isinstance(parent, ast.AnnAssign):
        return parent.target is node
    if isinstance(parent, ast.withitem):
        return parent.optional_vars is node
    return isinstance(parent, ast.NamedExpr) and parent.target is node


def _is_stand_in(binding: _Binding, scope: ast.AST) -> bool:
    """Whether a binding is one branch of several: what a program uses where the tracer cannot be imported."""
    inner = binding.ancestors[len(binding.ancestors) - binding.ancestors[::-1].index(scope) :]
    return any(isinstance(node, _STAND_IN_BLOCKS) for node in inner)
