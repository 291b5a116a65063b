"""DFT402: workers that start tracing by what cannot be pickled."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from typing import ClassVar

from dfannotate.edits import Splice
from dfannotate.rules import Case, Finding, Fix, Module, Rule
from dfannotate.rules.lifecycles import initializes, is_alone
from dfannotate.rules.repairs import replace
from dfannotate.rules.worker_calls import Made, made_in
from dfannotate.usage import Function

_HEAD = "from torch.utils.data import DataLoader\nfrom dftracer.python import dftracer\n\n\n"
_NAME = "start_worker_trace"


class WorkerInitNotPicklable(Rule):
    """What a worker is to run is pickled wherever workers are not forked: with ``spawn``, with ``forkserver``, which is
    the default on Linux from Python 3.14 on, on macOS and Windows. A lambda or a function that is defined in another
    cannot be pickled, and the loader raises before its first batch."""

    CODE: ClassVar[str] = "DFT402"
    NAME: ClassVar[str] = "worker-init-not-picklable"
    MESSAGE: ClassVar[str] = (
        "{what} cannot be pickled for workers that are not forked; make it a function of the module"
    )
    FIXABLE: ClassVar[bool] = True

    def check(self, module: Module) -> Iterator[Finding]:
        starts = initializes(module)
        if not starts:
            return
        for made in made_in(module):
            if isinstance(made.given, ast.Lambda):
                if any(made.given in use.ancestors for use in starts):
                    yield self.finding(module, made.given, _hoisted(module, made, made.given), what="a lambda")
            elif isinstance(made.given, ast.Name):
                function = _nested(made, made.given.id)
                if function is not None and any(use.function is function for use in starts):
                    fix = _moved_up(module, made, function)
                    yield self.finding(module, made.given, fix, what=f"`{function.name}`, defined in a function,")

    VALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "top-level",
            _HEAD + "def init(i):\n    dftracer.initialize_log()\n\n\ndef main(x):\n"
            "    return DataLoader(x, worker_init_fn=init)\n",
        ),
        Case("not-about-tracing", _HEAD + "d = DataLoader(x, num_workers=1, worker_init_fn=lambda i: seed(i))\n"),
        Case(
            "bound-method",
            _HEAD + "class Data:\n    def worker_init(self, i):\n        self.log = dftracer.initialize_log()\n\n\n"
            "def main(data):\n    return DataLoader(data, worker_init_fn=data.worker_init)\n",
        ),
        Case(
            "other-object",
            "from logs import dftracer\nfrom torch.utils.data import DataLoader\n"
            "d = DataLoader(x, worker_init_fn=lambda i: dftracer.initialize_log())\n",
        ),
    )
    INVALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "lambda",
            _HEAD + "def main(x):\n    return DataLoader(x, num_workers=2, worker_init_fn=lambda i: "
            "dftracer.initialize_log(process_id=i))\n",
            ((6, 56),),
            _HEAD + "def start_worker_trace(i):\n    return dftracer.initialize_log(process_id=i)\n\n\n"
            "def main(x):\n    return DataLoader(x, num_workers=2, worker_init_fn=start_worker_trace)\n",
        ),
        Case(
            "nested",
            _HEAD + "def main(x):\n    def init(i):\n        # begin\n        dftracer.initialize_log()\n\n"
            "    return DataLoader(x, worker_init_fn=init)\n",
            ((10, 41),),
            _HEAD + "def init(i):\n    # begin\n    dftracer.initialize_log()\n\n\ndef main(x):\n\n"
            "    return DataLoader(x, worker_init_fn=init)\n",
        ),
        Case(
            "closure",
            _HEAD + "def main(x, path):\n    def init(i):\n        dftracer.initialize_log(path)\n\n"
            "    return DataLoader(x, worker_init_fn=init)\n",
            ((9, 41),),
        ),
    )


def _nested(made: Made, name: str) -> Function | None:
    """The function of that name which is defined in the function around a call, once."""
    for scope in reversed(made.ancestors):
        if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)):
            bound = [node for node in scope.body if getattr(node, "name", "") == name]
            if len(bound) == 1 and isinstance(bound[0], ast.FunctionDef):
                return bound[0]
    return None


def _locals_around(made: Made) -> set[str]:
    """The names of the functions around a call."""
    names: set[str] = set()
    for scope in made.ancestors:
        if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            for node in ast.walk(scope):
                if isinstance(node, ast.arg):
                    names.add(node.arg)
                elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                    names.add(node.id)
                elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node is not scope:
                    names.add(node.name)
                elif isinstance(node, (ast.Import, ast.ImportFrom)):
                    names |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
                elif isinstance(node, ast.ExceptHandler) and node.name:
                    names.add(node.name)
    return names


def _needs(made: Made, node: ast.AST, own: set[str]) -> bool:
    """Whether a part of the program needs something of the functions around it."""
    used = {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)}
    return not (used - own).isdisjoint(_locals_around(made))


def _top(module: Module, made: Made) -> tuple[ast.stmt, int] | None:
    """The statement of the module around a call, and the line where it begins, decorators included."""
    top = made.ancestors[1]
    if not isinstance(top, ast.stmt):
        return None
    line = min([top.lineno, *(node.lineno for node in getattr(top, "decorator_list", []))])
    return (top, line) if is_alone(module, top) else None


def _hoisted(module: Module, made: Made, given: ast.Lambda) -> Fix | None:
    top = _top(module, made)
    arguments = {argument.arg for argument in ast.walk(given) if isinstance(argument, ast.arg)}
    many_lines = given.end_lineno != given.lineno
    if top is None or many_lines or _needs(made, given, arguments):
        return None
    name = next(n for n in _names() if n not in module.text)
    body = module.segment(given.body)
    head = module.segment(given)[len("lambda") :].partition(":")[0].strip()
    if given.args.defaults or given.args.kw_defaults or ":" in head:
        return None
    unit = module.source.indent_unit
    lines = (f"def {name}({head}):", f"{unit}return {body}", "", "")
    return Fix((Splice(top[1], top[1], lines), replace(module, given, name)))


def _names() -> Iterator[str]:
    yield _NAME
    yield from (f"{_NAME}_{n}" for n in itertools.count(2))


def _moved_up(module: Module, made: Made, function: Function) -> Fix | None:
    top = _top(module, made)
    own = {argument.arg for argument in ast.walk(function.args) if isinstance(argument, ast.arg)}
    own |= {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    taken = {getattr(node, "name", "") for node in module.tree.body}
    if top is None or function.decorator_list or not is_alone(module, function) or function.name in taken:
        return None
    if _needs(made, function, own) or any(isinstance(n, (ast.Nonlocal, ast.Global)) for n in ast.walk(function)):
        return None
    if any(isinstance(n, (ast.Constant, ast.JoinedStr)) and n.end_lineno != n.lineno for n in ast.walk(function)):
        return None
    first, last = function.lineno, function.end_lineno or function.lineno
    texts = [line.rstrip("\r\n") for line in module.lines[first - 1 : last]]
    indent = texts[0][: len(texts[0]) - len(texts[0].lstrip())]
    if any(text.strip() and not text.startswith(indent) for text in texts):
        return None
    if len([n for n in _block_of(made, function) if n is not function]) == 0:
        return None
    moved = tuple(text[len(indent) :] for text in texts)
    return Fix((Splice(first, last + 1), Splice(top[1], top[1], (*moved, "", ""))))


def _block_of(made: Made, function: Function) -> list[ast.stmt]:
    for scope in made.ancestors:
        body = getattr(scope, "body", None)
        if isinstance(body, list) and function in body:
            return body
    return []
