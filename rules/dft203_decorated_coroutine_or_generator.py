"""DFT203: a decorated coroutine function or generator."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import ClassVar

from dfannotate.rules import Case, Finding, Fix, Module, Rule
from dfannotate.rules.decorated import (
    below,
    is_function,
    is_of_tracer,
    is_plain,
    is_ready_made,
    own_yields,
    spelled,
)
from dfannotate.rules.repairs import into_region, without_decorator
from dfannotate.rules.safety import CONTEXT_MANAGERS
from dfannotate.usage import Decoration


class DecoratedCoroutineOrGenerator(Rule):
    """The event covers the call alone, and a call of a coroutine function or generator makes an object within some
    microseconds: what it then does is in no event, and ``inspect.iscoroutinefunction`` no longer says what it is.

    A coroutine's body becomes a region. Of a generator the decorator goes: a region in its body would also count what
    the consumer does between two items, and would never end where that stops early. Put a region where it is consumed,
    or iterate by the tracer's ``iter``."""

    CODE: ClassVar[str] = "DFT203"
    NAME: ClassVar[str] = "decorated-coroutine-or-generator"
    MESSAGE: ClassVar[str] = "`{decorator}` times how a {what} is made, not what it does; {instead}"
    FIXABLE: ClassVar[bool] = True

    def check(self, module: Module) -> Iterator[Finding]:
        for decoration in module.usage.decorations:
            node = decoration.function
            if isinstance(node, ast.ClassDef) or not is_function(node):
                continue
            if not (decoration.method or is_ready_made(decoration)):
                continue
            generator = own_yields(node)
            if not generator and not isinstance(node, ast.AsyncFunctionDef):
                continue
            if not (is_plain(module, decoration) or (generator and _makes_context(module, decoration))):
                continue
            yield self.finding(
                module,
                decoration.node,
                _fix(module, decoration, generator),
                decorator=spelled(module, decoration),
                what="generator" if generator else "coroutine",
                instead="put a region where it is consumed" if generator else "use a region in the body",
            )

    VALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "region",
            "from dftracer.python import dft_fn\nasync def f():\n    with dft_fn('C', name='f'):\n        await g()\n",
        ),
        Case(
            "generator-within",
            "from dftracer.python import dft_fn\nx = dft_fn('C')\n@x.log\ndef f():\n    def inner():\n"
            "        yield 1\n    return list(inner())\n",
        ),
        Case(
            "consumed-below",
            "from dftracer.python import dft_fn\nfrom tools import collected, blocking\nx = dft_fn('C')\n@x.log\n"
            "@collected\ndef f():\n    yield 1\n@x.log\n@blocking\nasync def g():\n    return 1\n",
        ),
        Case(
            "shadowed",
            "from dftracer.python import dft_fn\nx = dft_fn('C')\ndef make(x):\n    @x.log\n    async def f():\n"
            "        return 1\n    return f\n",
        ),
    )
    INVALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "coroutine",
            "from dftracer.python import dft_fn\n\nx = dft_fn('net')\n\n\n@x.log\nasync def f():\n"
            '    """Fetch."""\n    await g()\n',
            ((6, 2),),
            "from dftracer.python import dft_fn\n\nx = dft_fn('net')\n\n\nasync def f():\n"
            '    """Fetch."""\n    with dft_fn("net", name="f"):\n        await g()\n',
        ),
        Case(
            "generator",
            "from dftracer.python import dft_fn\nx = dft_fn('C')\nclass A:\n    @x.log\n    def __iter__(self):\n"
            "        yield from self.rows\n",
            ((4, 6),),
            "from dftracer.python import dft_fn\nx = dft_fn('C')\nclass A:\n    def __iter__(self):\n"
            "        yield from self.rows\n",
        ),
        Case(
            "context-manager",
            "import contextlib\nfrom dftracer.python import dft_fn\nx = dft_fn('C')\n@x.log_static\n"
            "@contextlib.contextmanager\ndef f():\n    yield 1\n",
            ((4, 2),),
            "import contextlib\nfrom dftracer.python import dft_fn\nx = dft_fn('C')\n"
            "@contextlib.contextmanager\ndef f():\n    yield 1\n",
        ),
        Case(
            "ready-made-unfixed",
            "import dftracer.python as dp\n@dp.ai.data.item\nasync def f():\n    return 1\n",
            ((2, 2),),
        ),
    )


def _makes_context(module: Module, decoration: Decoration) -> bool:
    under = below(module, decoration)
    return bool(under) and all(
        name in CONTEXT_MANAGERS or is_of_tracer(module, decoration, node) for node, name in under
    )


def _fix(module: Module, decoration: Decoration, generator: bool) -> Fix | None:
    if not generator:
        return into_region(module, decoration) if decoration.method else None
    gone = without_decorator(module, decoration)
    return Fix((gone,)) if gone else None
