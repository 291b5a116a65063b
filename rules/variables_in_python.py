"""Variables of the tracer that a module sets, for itself or for a program that it starts, and those that it reads."""

from __future__ import annotations

import ast
import bisect
import re
from collections.abc import Iterator

from dfannotate.rules import Module
from dfannotate.rules.variables import MENTION, NAME, PREFIXES, Place, Setting

_NAMED = re.compile(rf"[\"']{NAME}[\"']|\b{NAME}[ \t]*=(?!=)")
_ENV_OBJECT = re.compile(r"(?:.*_)?env(?:iron(?:ment)?)?(?:_(?:vars?|variables|dict))?", re.IGNORECASE)


def in_python(module: Module) -> list[Setting]:
    """Every setting that a module makes, in order: for itself by ``os.environ``, for a program by ``env=``.

    A dictionary counts where it is known for an environment: by its name, by what it is made from, or where it goes."""
    lines = _lines(module)
    if not lines:
        return []
    found: list[Setting] = []

    def add(key: ast.AST, name: str, value: ast.expr) -> None:
        if MENTION.fullmatch(name):
            written = value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else None
            found.append(Setting(name, written, _place(module, key), _place(module, value)))

    def add_dict(node: ast.expr | None) -> None:
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    add(key, key.value, value)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
            for keyword in node.keywords:
                if keyword.arg:
                    add(keyword, keyword.arg, keyword.value)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            add_dict(node.left)
            add_dict(node.right)

    seen: set[ast.AST] = set()

    def add_once(node: ast.expr | None) -> None:
        if node is not None and node not in seen:
            seen.add(node)
            add_dict(node)

    for node in _near(module.tree, lines):
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                key = target.slice if isinstance(target, ast.Subscript) and _is_environment(target.value) else None
                if isinstance(key, ast.Constant) and isinstance(key.value, str) and node.value is not None:
                    add(key, key.value, node.value)
                elif _is_environment(target):
                    add_once(node.value)
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.BitOr) and _is_environment(node.target):
            add_once(node.value)
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if key is None and _is_environment(value):  # {**os.environ, …}
                    add_once(node)
                elif isinstance(key, ast.Constant) and isinstance(key.value, str) and _ENV_OBJECT.fullmatch(key.value):
                    add_once(value)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr) and _is_environment(node.left):
            add_once(node)
        elif isinstance(node, ast.Call):
            for keyword in node.keywords:
                if keyword.arg and _ENV_OBJECT.fullmatch(keyword.arg):
                    add_once(keyword.value)
            called = node.func
            if isinstance(called, ast.Name) and called.id == "dict" and node.args and _is_environment(node.args[0]):
                add_once(node)
            elif isinstance(called, ast.Attribute):
                if called.attr == "putenv" or (called.attr == "setdefault" and _is_environment(called.value)):
                    first = node.args[0] if len(node.args) == 2 else None
                    if isinstance(first, ast.Constant) and isinstance(first.value, str):
                        add(first, first.value, node.args[1])
                elif called.attr == "update" and _is_environment(called.value):
                    for argument in node.args:
                        add_once(argument)
                    for keyword in node.keywords:
                        if keyword.arg:
                            add(keyword, keyword.arg, keyword.value)
    return sorted(found, key=lambda setting: setting.name_place)


def read_in_python(module: Module) -> Iterator[tuple[str, Place]]:
    """Every variable that a module asks for: ``os.environ[…]``, ``.get``, ``os.getenv``."""
    lines = _lines(module)
    for node in _near(module.tree, lines) if lines else ():
        key: ast.expr | None = None
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and _is_environment(node.value):
            key = node.slice
        elif isinstance(node, ast.Call) and node.args:
            called = node.func
            name = (
                called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
            )
            asks = isinstance(called, ast.Attribute) and name in ("get", "pop") and _is_environment(called.value)
            key = node.args[0] if asks or name == "getenv" else None
        if isinstance(key, ast.Constant) and isinstance(key.value, str) and MENTION.fullmatch(key.value):
            yield key.value, _place(module, key)


def _is_environment(node: ast.expr) -> bool:
    """``os.environ``, a copy of it, or a name that says that it is one."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "copy":
        node = node.func.value
    if isinstance(node, ast.Attribute):
        return node.attr == "environ" or (_ENV_OBJECT.fullmatch(node.attr) is not None and _is_self(node.value))
    return isinstance(node, ast.Name) and _ENV_OBJECT.fullmatch(node.id) is not None


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def _lines(module: Module) -> list[int]:
    """The lines that name a variable in quotes, or as an argument."""
    if not any(prefix in module.text for prefix in PREFIXES):  # far quicker than the pattern
        return []
    return [number for number, line in enumerate(module.lines, 1) if _NAMED.search(line)]


def _near(tree: ast.Module, lines: list[int]) -> Iterator[ast.AST]:
    """The nodes whose lines hold one of ``lines``."""
    stack: list[ast.AST] = [tree]
    while stack:
        for node in ast.iter_child_nodes(stack.pop()):
            first = getattr(node, "lineno", None)
            if first is None:
                stack.append(node)
                continue
            first = min([first, *(decorator.lineno for decorator in getattr(node, "decorator_list", ()))])
            index = bisect.bisect_left(lines, first)
            if index < len(lines) and lines[index] <= (getattr(node, "end_lineno", None) or first):
                yield node
                stack.append(node)


def _place(module: Module, node: ast.AST) -> Place:
    line, column, end_line, end_column = module.position(node)
    return line, column + 1, end_line, end_column + 1
