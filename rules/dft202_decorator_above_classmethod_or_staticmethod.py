"""DFT202: a decorator above ``@staticmethod``, ``@classmethod`` or a cache."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from dfannotate.rules import Case, Finding, Module, Rule
from dfannotate.rules.decorated import below, is_function, is_ready_made, moved_below, spelled

_BREAKS = {
    "staticmethod": "a call through an instance passes `self`",
    "classmethod": "every call of it raises",
    "functools.lru_cache": "it raises TypeError when tracing is on",
    "functools.cache": "it raises TypeError when tracing is on",
}
"""What is no plain function, and what becomes of it under the tracer's decorator."""


class DecoratorAboveWrapper(Rule):
    """What ``staticmethod``, ``classmethod`` and the caches of ``functools`` give is no function, and the tracer's
    decorators want one: the class cannot be made, or calls through an instance fail, some of it only when tracing is
    on. Under them the decorator gets the function itself."""

    CODE: ClassVar[str] = "DFT202"
    NAME: ClassVar[str] = "decorator-above-classmethod-or-staticmethod"
    MESSAGE: ClassVar[str] = "`{decorator}` stands above `@{other}`: {breaks}; put it below"
    FIXABLE: ClassVar[bool] = True

    def check(self, module: Module) -> Iterator[Finding]:
        for decoration in module.usage.decorations:
            if not is_function(decoration.function) or not (decoration.method or is_ready_made(decoration)):
                continue
            found = [(node, name) for node, name in below(module, decoration) if name in _BREAKS]
            if found:
                lowest, name = found[-1]
                yield self.finding(
                    module,
                    decoration.node,
                    moved_below(module, decoration, lowest),
                    decorator=spelled(module, decoration),
                    other=name,
                    breaks=_BREAKS[name],
                )

    VALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "below",
            "from dftracer.python import dft_fn\nx = dft_fn('C')\nclass A:\n    @staticmethod\n    @x.log\n"
            "    def f():\n        return 1\n    @classmethod\n    @x.log\n    def g(cls):\n        return 1\n",
        ),
        Case(
            "own-staticmethod",
            "from dftracer.python import dft_fn\ndef staticmethod(f):\n    return f\nx = dft_fn('C')\nclass A:\n"
            "    @x.log\n    @staticmethod\n    def f():\n        return 1\n",
        ),
        Case(
            "shadowed",
            "from dftracer.python import dft_fn\nx = dft_fn('C')\ndef make(x):\n    class A:\n        @x.log\n"
            "        @staticmethod\n        def f():\n            return 1\n    return A\n",
        ),
        Case(
            "other-cache",
            "from dftracer.python import dft_fn\nfrom tools import cache\nx = dft_fn('C')\n@x.log\n@cache\n"
            "def f():\n    return 1\n",
        ),
    )
    INVALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "staticmethod",
            "from dftracer.python import dft_fn\nx = dft_fn('C')\nclass A:\n    @x.log  # timed\n    @staticmethod\n"
            "    def f():\n        return 1\n",
            ((4, 6),),
            "from dftracer.python import dft_fn\nx = dft_fn('C')\nclass A:\n    @staticmethod\n    @x.log  # timed\n"
            "    def f():\n        return 1\n",
        ),
        Case(
            "classmethod-over-another",
            "from dlio_profiler.logger import fn_interceptor as Profile\nx = Profile('C')\nclass A:\n    @x.log(\n"
            "        name='made',\n    )\n    @classmethod\n    @checked\n    def f(cls):\n        return 1\n",
            ((4, 6),),
            "from dlio_profiler.logger import fn_interceptor as Profile\nx = Profile('C')\nclass A:\n    @classmethod\n"
            "    @x.log(\n        name='made',\n    )\n    @checked\n    def f(cls):\n        return 1\n",
        ),
        Case(
            "ready-made",
            "from dftracer.python import ai\nclass A:\n    @ai.compute.forward\n    @classmethod\n    def f(cls):\n"
            "        return 1\n",
            ((3, 6),),
            "from dftracer.python import ai\nclass A:\n    @classmethod\n    @ai.compute.forward\n    def f(cls):\n"
            "        return 1\n",
        ),
        Case(
            "cache",
            "from functools import lru_cache\nfrom dftracer.python import *\nx = dft_fn('C')\n@x.log\n"
            "@lru_cache(maxsize=None)\ndef f():\n    return 1\n",
            ((4, 2),),
            "from functools import lru_cache\nfrom dftracer.python import *\nx = dft_fn('C')\n"
            "@lru_cache(maxsize=None)\n@x.log\ndef f():\n    return 1\n",
        ),
    )
