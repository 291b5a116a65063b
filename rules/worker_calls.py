"""The calls of a module by which worker processes come to be, and what they are given to run."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dfannotate import vocabulary
from dfannotate.calls import LOCAL, SUPER, WorkerCall
from dfannotate.rules import Module
from dfannotate.rules.lifecycles import INITIALIZES, called_names, functions, initializes, walk
from dfannotate.rules.loaders import MAKERS, Maker
from dfannotate.usage import Function
from dfannotate.worker_shapes import worker_lines

if TYPE_CHECKING:
    from dfannotate.facts import ModuleFacts

_WORDS = tuple(sorted({name.rpartition(".")[2] for name in MAKERS}))
_NAMED = re.compile(rf"(?<!\w)(?:{'|'.join(_WORDS)})(?!\w)")


@dataclass(frozen=True)
class Made:
    """A call that makes workers: ``given`` is what the workers run, or run first; None where the call has none.

    ``is_plain``: all arguments are to be seen, nothing is unpacked and nothing left to a later call."""

    call: WorkerCall
    node: ast.Call
    maker: Maker
    given: ast.expr | None
    is_plain: bool
    ancestors: tuple[ast.AST, ...]

    @property
    def place(self) -> tuple[int, int, int, int]:
        """Where the called name stands, 1-based."""
        (line, column), (end_line, end) = self.call.callee.start, self.call.callee.end
        return line, column + 1, end_line, end + 1


def _names_maker(module: Module) -> bool:
    return any(word in module.text for word in _WORDS) and bool(_NAMED.search(module.text))


def made_in(module: Module) -> Iterator[Made]:
    """The calls that surely make workers: of what is known to, or of a class of the project that is one of those, as
    ``apply`` finds it."""
    # One of the known is named in the file, if only as the base of a class: facts cost more than parsing.
    if not _names_maker(module):
        return
    calls = {(call.callee.start, call.callee.end): call for call in module.facts.worker_calls}
    if not calls:
        return
    makers: Mapping[str, Maker] = MAKERS
    if any(_may_be_ours(name, module.facts) for call in calls.values() for name in call.callees):
        makers = {**MAKERS, **module.project.makers(module.facts)}
    for node, ancestors in _calls(module.tree):
        line, column, end_line, end = module.position(node.func)
        call = calls.get(((line, column), (end_line, end)))
        if call is None or call.partial:
            continue
        meant = {makers.get(name) for name in call.callees}
        maker = meant.pop() if len(meant) == 1 else None
        if maker is not None and not maker.is_asked:
            unpacks = any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords)
            yield Made(call, node, maker, _given(node, maker), not unpacks, ancestors)


def _may_be_ours(name: str, facts: ModuleFacts) -> bool:
    """Whether a callee may be a class of the project that is made from one of the known: by the classes of this file,
    or by the name of one that another file has. To ask the project costs more than the facts."""
    classes, aliases = {klass.qualname: klass for klass in facts.classes}, dict(facts.aliases)
    pending, seen = [name], set[str]()
    while pending:
        one = pending.pop()
        one = one.removeprefix(LOCAL).removeprefix(SUPER).removesuffix(".__init__")
        if one in seen:
            continue
        seen.add(one)
        if one in MAKERS:
            if one != name:
                return True
        elif one in classes:
            pending += classes[one].bases
        elif one in aliases:
            pending.append(aliases[one])
        elif "." in one and _TELLING_CLASS.match(one.rpartition(".")[2]) and one.partition(".")[0] not in _OF_OTHERS:
            return True
    return False


_TELLING_CLASS = re.compile(r"_?(?=[A-Z])\w*(?:Loader|Batch|Process|Pool|Executor|Worker)")
"""How a class of loaders, processes or pools is called."""
_OF_OTHERS = sys.stdlib_module_names | {name.partition(".")[0] for name in MAKERS}


def _calls(tree: ast.Module) -> Iterator[tuple[ast.Call, tuple[ast.AST, ...]]]:
    stack: list[tuple[ast.AST, tuple[ast.AST, ...]]] = [(tree, ())]
    while stack:
        node, ancestors = stack.pop()
        if isinstance(node, ast.Call):
            yield node, ancestors
        inside = (*ancestors, node)
        stack += [(child, inside) for child in ast.iter_child_nodes(node)]


def argument(node: ast.Call, name: str, position: int | None) -> ast.expr | None:
    """An argument by its name, or at its position."""
    for keyword in node.keywords:
        if keyword.arg == name:
            return keyword.value
    if position is None or len(node.args) <= position or any(isinstance(a, ast.Starred) for a in node.args):
        return None
    return node.args[position]


def _given(node: ast.Call, maker: Maker) -> ast.expr | None:
    found = argument(node, maker.argument, maker.position)
    return None if isinstance(found, ast.Constant) and found.value is None else found


def own_function(module: Module, given: ast.expr | None) -> Function | None:
    """The top-level function of the module that is given to workers by its name."""
    return functions(module).get(given.id) if isinstance(given, ast.Name) else None


def worker_functions(module: Module, *arguments: str) -> dict[str, Function]:
    """The module's own top-level functions that workers are given as one of ``arguments``, by name."""
    found: dict[str, Function] = {}
    for made in made_in(module):
        function = own_function(module, made.given) if made.maker.argument in arguments else None
        if function is not None:
            found[function.name] = function
    return found


def may_trace(module: Module, function: Function) -> bool:
    """Whether a function, or what it calls by name in this file, may start tracing: by the tracer or by anything that
    is called so; or whether what it calls is not to be seen at all."""
    known = functions(module)
    seen: set[str] = set()
    pending = [function]
    starting = {id(use.function) for use in initializes(module)}
    while pending:
        one = pending.pop()
        if one.name in seen:
            continue
        seen.add(one.name)
        if id(one) in starting:
            return True
        for node in walk(one.body):
            name = getattr(node, "attr", None) or getattr(node, "id", None)
            if isinstance(name, str) and (name in _TELLING or name.startswith(vocabulary.WORKER_ALIAS)):
                return True
        pending += [known[name] for name in called_names(one.body) if name in known]
    return False


_TELLING = frozenset({vocabulary.INITIALIZE, vocabulary.FINALIZE, *(role.partition(".")[2] for role in INITIALIZES)})


def uses_tracer(module: Module) -> bool:
    """Whether the module is traced, or its project and the module with it."""
    if module.usage.imports:
        return True
    # Facts cost more than parsing: they are asked for last, and only where a worker may be made.
    return module.project.is_traced and _names_maker(module) and not module.project.leaves_out(module.facts)


def worker_text() -> str:
    """The functions that a fix brings in, for the tables of the rules."""
    lines = worker_lines(vocabulary.WORKER_ALIAS, vocabulary.LOGGER, vocabulary.ENABLED, "    ", ["worker"])
    return "\n".join(lines) + "\n"
