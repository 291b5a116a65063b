"""DFT209: a name of the tracer above what binds it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import ClassVar

from dfannotate.rules import Case, Finding, Module, Rule
from dfannotate.usage import Use

_SURE = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef, ast.With, ast.expr, ast.keyword, ast.withitem)
_SIMPLE = (ast.Assign, ast.Expr, ast.AugAssign, ast.AnnAssign, ast.arguments)


class TracerNotImportedBeforeUse(Rule):
    """Decorators, defaults and whatever else is not in a function run while the module is imported, from top to bottom:
    a name of the tracer that is bound further down raises ``NameError``. It happens where a decorator was put in above
    the line that makes its instance, and is found only by importing the module.

    Move the import, and the instance, above the first use."""

    CODE: ClassVar[str] = "DFT209"
    NAME: ClassVar[str] = "tracer-not-imported-before-use"
    MESSAGE: ClassVar[str] = "`{name}` is used before line {line} binds it"

    def check(self, module: Module) -> Iterator[Finding]:
        seen: set[str] = set()
        for use in module.usage.uses:
            if isinstance(use.node, ast.Name) and use.node.id not in seen and _runs_now(use):
                seen.add(use.node.id)
                line = _bound_later(module, use.node.id, use)
                if line:
                    yield self.finding(module, use.node, name=use.node.id, line=line)

    VALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "in-order",
            "from dftracer.python import dft_fn\nx = dft_fn('C')\n@x.log\ndef f():\n    return 1\n",
        ),
        Case(
            "in-function",
            "def f():\n    with dft_fn('C', name='f'):\n        return 1\nfrom dftracer.python import dft_fn\n",
        ),
        Case(
            "bound-twice",
            "from app.none import dft_fn\nx = dft_fn('C')\nfrom dftracer.python import dft_fn\n",
        ),
        Case(
            "under-condition",
            "import sys\nif 'dftracer' in sys.modules:\n    x = dft_fn('C')\nfrom dftracer.python import dft_fn\n",
        ),
        Case(
            "annotation",
            "from __future__ import annotations\ndef f(r: dft_fn) -> dft_fn:\n    return r\n"
            "from dftracer.python import dft_fn\n",
        ),
        Case(
            "star-import-above",
            "from app.everything import *\nx = dft_fn('C')\nfrom dftracer.python import dft_fn\n",
        ),
    )
    INVALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "decorator-above-instance",
            "from dftracer.python import dft_fn\nclass A:\n    @x.log\n    def f(self):\n        return 1\n"
            "x = dft_fn('C')\n",
            ((3, 6),),
        ),
        Case(
            "import-below",
            "x = Profile('C')\nimport os\ntry:\n    from dftracer.python import dft_fn as Profile\n"
            "except ImportError:\n    Profile = None\n",
            ((1, 5),),
        ),
    )


def _runs_now(use: Use) -> bool:
    """Whether an expression is surely evaluated while the module is imported."""
    if use.function is not None or any(isinstance(node, (ast.Lambda, ast.arg)) for node in use.ancestors):
        return False
    inner: ast.AST = use.node
    for node in reversed(use.ancestors):
        if not isinstance(node, (*_SURE, *_SIMPLE)) or isinstance(node, (ast.IfExp, ast.BoolOp)):
            return False
        if inner in (getattr(node, "returns", None), getattr(node, "annotation", None)):
            return False
        inner = node
    return True


def _bound_later(module: Module, name: str, use: Use) -> int:
    """The line where a name is bound first, if that is below; else 0."""
    scope, bound = module.usage.bound_at(name, use.ancestors)
    if scope is not module.tree or not bound:
        return 0
    places = {node: index for index, node in enumerate(module.tree.body)}
    here = places.get(_top(use.ancestors, use.node), 0)
    tops = [places.get(_top(one.ancestors, one.node), -1) for one in bound]
    if min(tops) <= here or any(isinstance(node, (ast.FunctionDef, ast.Lambda)) for b in bound for node in b.ancestors):
        return 0
    before = module.tree.body[:here]
    if any(isinstance(node, ast.ImportFrom) and node.names[0].name == "*" for node in before):
        return 0
    return min(getattr(one.node, "lineno", 0) for one in bound)


def _top(ancestors: Sequence[ast.AST], node: ast.AST) -> ast.stmt:
    top = ancestors[1] if len(ancestors) > 1 else node
    assert isinstance(top, ast.stmt)
    return top
