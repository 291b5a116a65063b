"""What the tracer would convert to a number and surely cannot: parameters and attributes called epoch, step, image_idx
or image_size. Tables first. Whatever may well be a number is left alone: a program that counts its steps in
``self.step`` means them to be in the trace."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from dfannotate.names import dotted
from dfannotate.rules import Module
from dfannotate.rules.decorated import name_of
from dfannotate.rules.safety import PROPERTIES
from dfannotate.usage import Decoration, Function
from dfannotate.vocabulary import HAZARDOUS_NAMES, LOG

NO_NUMBERS = frozenset(
    {"tuple", "Tuple", "list", "List", "Sequence", "Iterable", "Iterator", "dict", "Dict", "Mapping", "set", "Set"}
    | {"frozenset", "str", "bytes", "Callable", "Path", "Size"}
)
"""Types whose values are no numbers, by their last name."""

_CONTAINERS = (ast.Tuple, ast.List, ast.Dict, ast.Set, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_WORD = re.compile(rf"\b(?:{'|'.join(sorted(HAZARDOUS_NAMES))}|optim)\b|__getattr__")
_PARENTS = {"torch.optim.": "step"}
"""How the name of a class from outside begins -> a method that it has."""


def mentions(module: Module) -> bool:
    """Whether a hazardous name stands anywhere in the file, which is quickly seen."""
    return _WORD.search(module.text) is not None


def why_no_number(node: ast.expr | None) -> str:
    """What kind of value an expression surely gives that is no number; empty where it may be one."""
    if isinstance(node, ast.Constant):
        value = node.value
        if value is None:
            return "None"
        if isinstance(value, str):
            return "" if re.fullmatch(r"\s*[-+]?[\d_.]+(?:e[-+]?\d+)?\s*", value) else "a string"
        return "" if isinstance(value, (bool, int, float)) else f"of type {type(value).__name__}"
    if isinstance(node, _CONTAINERS):
        return f"a {type(node).__name__.lower().removesuffix('comp')}".replace("generatorexp", "generator")
    if isinstance(node, ast.Lambda):
        return "a function"
    if isinstance(node, ast.Attribute) and node.attr == "shape":
        return "a shape"
    if isinstance(node, ast.BinOp):
        return next((why for why in map(why_no_number, (node.left, node.right)) if why.startswith("a ")), "")
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("tuple", "list", "dict"):
        return f"a {node.func.id}"
    if isinstance(node, ast.IfExp):
        return why_no_number(node.body) and why_no_number(node.orelse)
    return ""


def why_no_number_by_type(node: ast.expr | None) -> str:
    """The same of an annotation; one of several alternatives is enough."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            node = ast.parse(node.value, mode="eval").body
        except (SyntaxError, ValueError):
            return ""
    if isinstance(node, ast.Constant) and node.value is None:
        return "None"
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return why_no_number_by_type(node.left) or why_no_number_by_type(node.right)
    if isinstance(node, ast.Subscript):
        name = dotted(node.value).rpartition(".")[2]
        if name == "Optional":
            return why_no_number_by_type(node.slice) or "None"
        if name == "Union":
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            return next((why for part in parts if (why := why_no_number_by_type(part))), "")
        return f"a {name.lower()}" if name in NO_NUMBERS else ""
    name = dotted(node).rpartition(".")[2] if node is not None else ""
    return f"a {name.lower()}" if name in NO_NUMBERS else ""


def parameters(function: Function, method: str) -> Iterator[tuple[str, str]]:
    """Hazardous parameters, and why the tracer cannot convert what they stand for."""
    given = function.args
    positional = [*given.posonlyargs, *given.args]
    defaults: dict[str, ast.expr] = {}
    for argument, default in zip(reversed(positional), reversed(given.defaults), strict=False):
        defaults[argument.arg] = default
    for argument, maybe in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        if maybe is not None:
            defaults[argument.arg] = maybe
    for argument in (*positional, *given.kwonlyargs):
        if argument.arg not in HAZARDOUS_NAMES:
            continue
        # The tracer does not look at what is given for the first parameter, but at its default it does.
        looked_at = not positional or argument is not positional[0]
        whys = [why_no_number(defaults.get(argument.arg))]
        if looked_at:
            whys += [why_no_number_by_type(argument.annotation), _why_by_use(function, argument.arg)]
        for why in whys:
            if why and not (why == "None" and method != LOG):  # ``log_init`` passes over None
                yield argument.arg, why
                break


def _why_by_use(function: Function, name: str) -> str:
    """What the body does with a parameter that no number can be used for."""
    found = ""
    for node in _walk(function):
        if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load):
            return ""
        if isinstance(node, (ast.Subscript, ast.Starred, ast.Assign)) and _is(node.value, name):
            if not isinstance(node, ast.Assign) or isinstance(node.targets[0], (ast.Tuple, ast.List)):
                found = found or "something with items"
        elif isinstance(node, ast.Compare) and _is(node.left, name) and isinstance(node.ops[0], (ast.Is, ast.IsNot)):
            if isinstance(node.comparators[0], ast.Constant) and node.comparators[0].value is None:
                found = found or "None"
        elif isinstance(node, ast.Call) and _is(node.func, name):
            found = found or "a function"
    return found


def _walk(function: Function) -> Iterator[ast.AST]:
    stack: list[ast.AST] = list(function.body)
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            stack.extend(ast.iter_child_nodes(node))


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


class Classes:
    """The hazardous attributes of the classes of one module."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._top: dict[str, ast.ClassDef] = {}
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef):
                self._top[node.name] = node
        self._own: dict[ast.ClassDef, dict[str, str]] = {}

    def hazards(self, decoration: Decoration, klass: ast.ClassDef) -> Iterator[tuple[str, str]]:
        """Attributes of the objects that a method runs on, and why the tracer cannot convert them: those of its class,
        of the classes above that the module shows, and of those below that keep the method."""
        seen: set[ast.ClassDef] = set()
        pending = [klass, *self._heirs(klass, getattr(decoration.function, "name", ""))]
        while pending:
            one = pending.pop(0)
            if one in seen:
                continue
            seen.add(one)
            yield from self._of(one).items()
            for base in one.bases:
                if isinstance(base, ast.Name) and base.id in self._top:
                    pending.append(self._top[base.id])
                elif "optim" in self._module.text:
                    name = name_of(self._module, base)
                    yield from ((has, "a method") for start, has in _PARENTS.items() if name.startswith(start))

    def _heirs(self, klass: ast.ClassDef, method: str) -> Iterator[ast.ClassDef]:
        if self._top.get(klass.name) is not klass:
            return
        for other in self._top.values():
            if any(_is(base, klass.name) for base in other.bases) and not any(
                getattr(node, "name", "") == method for node in other.body
            ):
                yield other

    def _of(self, klass: ast.ClassDef) -> dict[str, str]:
        if klass not in self._own:
            first, last = klass.lineno, klass.end_lineno or klass.lineno
            near = any(_WORD.search(line) for line in self._module.lines[first - 1 : last])
            self._own[klass] = dict(_attributes(self._module, klass)) if near else {}
        return self._own[klass]


def _attributes(module: Module, klass: ast.ClassDef) -> Iterator[tuple[str, str]]:
    values: dict[str, list[tuple[str, bool]]] = {}
    """Attribute -> why each value of it is no number (empty: it may be one), and whether it is set before any call of
    a traced method."""
    for node in klass.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if node.name in HAZARDOUS_NAMES:
                values.setdefault(node.name, []).append((_why_method(module, node), True))
            elif node.name == "__getattr__" and _answers_all(node):
                yield "step", "whatever `__getattr__` makes of it"
            _set_in_method(module, node, values)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name) and target.id in HAZARDOUS_NAMES:
                    values.setdefault(target.id, []).append((why_no_number(node.value), True))
        elif isinstance(node, ast.AnnAssign) and getattr(node.target, "id", "") in HAZARDOUS_NAMES:
            by_type = why_no_number_by_type(node.annotation)
            # A field that may be None may be something else by then.
            why = by_type.replace("None", "") if by_type else why_no_number(node.value)
            values.setdefault(getattr(node.target, "id", ""), []).append((why, True))
    for name, found in values.items():
        whys = [why for why, _ in found]
        sure = next((why for why in whys if why not in ("", "None")), "")
        if sure:
            yield name, sure
        elif any(why == "None" and early for why, early in found):
            others = [early for why, early in found if why != "None"]
            stores = len(re.findall(rf"\.{name}\s*(?::[^=\n]*)?=(?!=)", module.text))
            if not any(others) and stores <= len(found):
                yield name, "None until it is set"


def _why_method(module: Module, node: Function) -> str:
    for decorator in node.decorator_list:
        name = name_of(module, decorator)
        if name in PROPERTIES:
            by_type = why_no_number_by_type(node.returns)
            returned = [part.value for part in _walk(node) if isinstance(part, ast.Return)]
            by_value = why_no_number(returned[0]) if len(returned) == 1 else ""
            return by_type or by_value
        if name not in ("staticmethod", "classmethod", "abc.abstractmethod"):
            return ""
    return "a method"


def _answers_all(node: Function) -> bool:
    """Whether a ``__getattr__`` has an answer for any name: it raises nothing, and asks nobody else."""
    for part in _walk(node):
        if isinstance(part, (ast.Raise, ast.Subscript)):
            return False
        if isinstance(part, ast.Call) and dotted(part.func).rpartition(".")[2] != "get":
            return False
    return True


def _set_in_method(module: Module, node: Function, values: dict[str, list[tuple[str, bool]]]) -> None:
    if node.name == "__del__" or not (node.args.posonlyargs or node.args.args):
        return
    first, last = node.lineno, node.end_lineno or node.lineno
    if not any(_WORD.search(line) for line in module.lines[first - 1 : last]):
        return
    own = [*node.args.posonlyargs, *node.args.args][0].arg
    given = dict(parameters(node, LOG))
    traced = any(d.function is node and d.method == LOG for d in module.usage.decorations)
    for part in _walk(node):
        if isinstance(part, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            targets = part.targets if isinstance(part, ast.Assign) else [part.target]
            for target in targets:
                if isinstance(target, ast.Attribute) and target.attr in HAZARDOUS_NAMES and _is(target.value, own):
                    why = why_no_number(part.value) if not isinstance(part, ast.AugAssign) else ""
                    if isinstance(part.value, ast.Name) and given.get(part.value.id, "None") != "None":
                        why = given[part.value.id]
                    values.setdefault(target.attr, []).append((why, not traced))
