"""DFT208: a region without a name."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Sequence
from typing import ClassVar

from dfannotate import vocabulary
from dfannotate.edits import Rewrite
from dfannotate.rules import Case, Finding, Fix, Module, Rule
from dfannotate.rules.repairs import replace

_IMPORT = "from dftracer.python import dft_fn\n"


class RegionWithoutName(Rule):
    """Without ``name=`` the tracer looks for the name of the function on the stack, and reads the source of every frame
    for it: about 75 µs each time, with tracing off too, against less than one with a name.

    The name that is put in is the one that the event had: that of the function."""

    CODE: ClassVar[str] = "DFT208"
    NAME: ClassVar[str] = "region-without-name"
    MESSAGE: ClassVar[str] = "a region without `name=` costs about 75 µs each time, with tracing off too"
    FIXABLE: ClassVar[bool] = True
    SINCE: ClassVar[tuple[int, int, int]] = (2, 0, 2)

    def check(self, module: Module) -> Iterator[Finding]:
        for region in module.usage.regions:
            call = region.call
            if call is None or not (call.args or call.keywords):
                continue
            if any(isinstance(argument, ast.Starred) for argument in call.args) or any(
                keyword.arg is None for keyword in call.keywords
            ):
                continue
            given = _given(call)
            if given is None or (isinstance(given, ast.Constant) and given.value in (None, "")):
                edit = _edit(module, call, given, region.ancestors)
                yield self.finding(module, call, Fix((edit,)) if edit else None)

    VALID: ClassVar[tuple[Case, ...]] = (
        Case("named", _IMPORT + "def f():\n    with dft_fn('C', name='r'):\n        return 1\n"),
        Case("by-position", _IMPORT + "def f(n):\n    with dft_fn('C', n):\n        return 1\n"),
        Case("unpacked", _IMPORT + "def f(**k):\n    with dft_fn('C', **k):\n        return 1\n"),
        Case("made-once", _IMPORT + "r = dft_fn('C')\ndef f():\n    with r:\n        return 1\n"),
        Case("shadowed", _IMPORT + "def f(dft_fn):\n    with dft_fn('C'):\n        return 1\n"),
        Case(
            "handed-on-other",
            "from app.tools import region\ndef f():\n    with region('C'):\n        return 1\n",
            files={"app/tools.py": "from contextlib import suppress as region\n"},
        ),
    )
    INVALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "function",
            _IMPORT
            + "class A:\n    def f(self):\n        with dft_fn('C') as r:\n            r.update(args={'n': 1})\n",
            ((4, 14),),
            _IMPORT + "class A:\n    def f(self):\n        with dft_fn('C', name=\"f\") as r:\n"
            "            r.update(args={'n': 1})\n",
        ),
        Case(
            "module-level-none",
            "import dftracer.python as d\nwith open('a') as a, d.dft_fn(cat='C', name=None, step=1,):\n    pass\n",
            ((2, 22),),
            "import dftracer.python as d\n"
            "with open('a') as a, d.dft_fn(cat='C', name=\"<module>\", step=1,):\n    pass\n",
        ),
        Case(
            "handed-on-trailing-comma",
            "from app.utils import Profile\ndef f():\n    def g():\n        with Profile(\n            cat='C',\n"
            "        ):\n            return 1\n    return g\n",
            ((4, 14),),
            "from app.utils import Profile\ndef f():\n    def g():\n        with Profile(\n"
            "            cat='C', name=\"g\",\n        ):\n            return 1\n    return g\n",
            files={"app/utils.py": "from dftracer.python import dft_fn as Profile\n"},
        ),
    )


def _given(call: ast.Call) -> ast.expr | None:
    position = vocabulary.FUNCTION_ARGUMENTS.index("name")
    if len(call.args) > position:
        return call.args[position]
    return next((keyword.value for keyword in call.keywords if keyword.arg == "name"), None)


def _edit(module: Module, call: ast.Call, given: ast.expr | None, ancestors: Sequence[ast.AST]) -> Rewrite | None:
    name = json.dumps(_code_name(ancestors))
    if given is not None:
        return replace(module, given, name)
    last = max((*call.args, *call.keywords), key=lambda node: module.position(node)[2:])
    _, _, line, column = module.position(last)
    if _closes_more(module, call, line, column):
        return None
    return Rewrite(line, column, line, column, f", name={name}")


def _closes_more(module: Module, call: ast.Call, line: int, column: int) -> bool:
    """Whether more than the call's own bracket closes behind its last argument, which then stands in brackets."""
    _, _, end_line, end = module.position(call)
    lines = [*module.lines[line - 1 : end_line]]
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][column:]
    return "".join(text.partition("#")[0] for text in lines).count(")") > 1


def _code_name(ancestors: Sequence[ast.AST]) -> str:
    """The name of the code that a statement is part of, as the interpreter has it."""
    for node in reversed(ancestors):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return node.name
    return "<module>"
