"""DFT207: a decorated function that is compiled."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import ClassVar

from dfannotate.names import dotted
from dfannotate.rules import Case, Finding, Fix, Module, Rule
from dfannotate.rules.decorated import name_of, of_functions, spelled
from dfannotate.rules.repairs import without_decorator

_HEAD = "from dftracer.python import dft_fn\nx = dft_fn('C')\n"

_OWN_OBJECTS = ("torch.jit.script", "numba.*jit", "numba.*vectorize", "numba.stencil", "numba.cfunc", "triton.jit")
"""Decorators that make an object of their own of a function, which is no function for the tracer."""
_COMPILERS = (
    *_OWN_OBJECTS,
    "torch.compile",
    "torch.jit.script_method",
    "jax.jit",
    "jax.pmap",
    "jax.vmap",
    "tensorflow.function",
    "taichi.kernel",
    "taichi.func",
    "cupy.fuse",
)
"""Decorators that compile what they are given, or run it but once to see what it computes."""
_LAST = ("compile", "jit", "script", "script_method", "pmap", "vmap", "function", "kernel", "func", "fuse", "cfunc")
_TELLING = (*_LAST, "vectorize", "stencil", "partial")


class DecoratedCompiledFunction(Rule):
    """A compiler reads the code of a function, and a decorator is either not in it, or no code that it knows:
    TorchScript drops the decorator, so that there are no events; ``torch.compile`` breaks its graph there; numba and
    triton do not compile it; jax and tensorflow run it once, while they compile. The other way round the tracer is
    given an object that is no function, which raises ``TypeError`` when tracing is on.

    The decorator goes. Above ``torch.compile`` and ``jax.jit`` it works, as does a region around the call."""

    CODE: ClassVar[str] = "DFT207"
    NAME: ClassVar[str] = "decorated-compiled-function"
    MESSAGE: ClassVar[str] = "`{decorator}` does not go with `@{compiler}`; put a region around the calls instead"
    FIXABLE: ClassVar[bool] = True

    def check(self, module: Module) -> Iterator[Finding]:
        for decoration, function in of_functions(module):
            for index, other in enumerate(function.decorator_list):
                patterns = _COMPILERS if index < decoration.index else _OWN_OBJECTS
                name = _compiler(module, other) if other is not decoration.node else ""
                if name and any(fnmatchcase(name, pattern) for pattern in patterns):
                    edit = without_decorator(module, decoration)
                    fix = Fix((edit,)) if edit else None
                    yield self.finding(
                        module, decoration.node, fix, decorator=spelled(module, decoration), compiler=name
                    )
                    break

    VALID: ClassVar[tuple[Case, ...]] = (
        Case("above-compile", "import torch\n" + _HEAD + "@x.log\n@torch.compile\ndef f(a):\n    return a\n"),
        Case("not-compiled", "import torch\n" + _HEAD + "@torch.jit.ignore\n@x.log\ndef f(a):\n    return a\n"),
        Case("own-jit", _HEAD + "from tools import jit\n@jit\n@x.log\ndef f(a):\n    return a\n"),
        Case("no-grad", "import torch\n" + _HEAD + "@torch.no_grad()\n@x.log\ndef f(a):\n    return a\n"),
        Case(
            "shadowed",
            "import numba\n" + _HEAD + "def g(x):\n    @numba.njit\n    @x.log\n    def f(a):\n        return a\n",
        ),
    )
    INVALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "numba",
            "from numba import njit\n" + _HEAD + "@njit(cache=True)\n@x.log\ndef f(a):\n    return a\n",
            ((5, 2),),
            "from numba import njit\n" + _HEAD + "@njit(cache=True)\ndef f(a):\n    return a\n",
        ),
        Case(
            "above-script",
            "import torch as t\n" + _HEAD + "@x.log_static\n@t.jit.script\ndef f(a):\n    return a\n",
            ((4, 2),),
            "import torch as t\n" + _HEAD + "@t.jit.script\ndef f(a):\n    return a\n",
        ),
        Case(
            "partial",
            "import functools, jax\n" + _HEAD + "@functools.partial(jax.jit, static_argnums=0)\n@x.log\n"
            "def f(a):\n    return a\n",
            ((5, 2),),
            "import functools, jax\n" + _HEAD + "@functools.partial(jax.jit, static_argnums=0)\n"
            "def f(a):\n    return a\n",
        ),
        Case(
            "compile",
            "import torch\n" + _HEAD + "class M:\n    @torch.compile(fullgraph=True)\n    @x.log\n"
            "    def forward(self, a):\n        return a\n",
            ((6, 6),),
            "import torch\n" + _HEAD + "class M:\n    @torch.compile(fullgraph=True)\n"
            "    def forward(self, a):\n        return a\n",
        ),
    )


def _compiler(module: Module, node: ast.expr) -> str:
    """The resolved name of a decorator that may be a compiler; empty for any other."""
    callee = node
    while isinstance(callee, ast.Call):
        callee = callee.func
    if not dotted(callee).rpartition(".")[2].endswith(_TELLING):
        return ""
    name = name_of(module, node)
    if name == "functools.partial" and isinstance(node, ast.Call) and node.args:
        return name_of(module, node.args[0])
    return name
