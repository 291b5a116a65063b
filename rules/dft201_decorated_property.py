"""DFT201: a decorator above a property."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from dfannotate.rules import Case, Finding, Module, Rule
from dfannotate.rules.decorated import below, in_class, of_functions, spelled
from dfannotate.rules.repairs import into_region
from dfannotate.rules.safety import ACCESSORS, PROPERTIES


class DecoratedProperty(Rule):
    """A property is no function: the tracer's decorator gives back another decorator for it, and the attribute becomes
    a method that is never called. Nothing is raised, with tracing on or off: what reads the attribute gets the method.

    A region in the body keeps the property one. A decorator *under* ``@property`` is fine too."""

    CODE: ClassVar[str] = "DFT201"
    NAME: ClassVar[str] = "decorated-property"
    MESSAGE: ClassVar[str] = (
        "`{decorator}` above `@{other}` turns the attribute into a method; use a region in the body"
    )
    FIXABLE: ClassVar[bool] = True

    def check(self, module: Module) -> Iterator[Finding]:
        for decoration, function in of_functions(module):
            if not in_class(decoration):
                continue
            for _, name in below(module, decoration):
                if name in PROPERTIES or (name.rpartition(".")[2] in ACCESSORS and name.count(".") == 1):
                    fix = into_region(module, decoration)
                    short = name if name.startswith(function.name) else name.rpartition(".")[2]
                    yield self.finding(module, decoration.node, fix, decorator=spelled(module, decoration), other=short)
                    break

    VALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "under-property",
            "from dftracer.python import dft_fn as F\nx = F('C')\nclass A:\n    @property\n    @x.log\n"
            "    def size(self):\n        return 1\n",
        ),
        Case(
            "shadowed-property",
            "from dftracer.python import dft_fn\nfrom hooks import property\nx = dft_fn('C')\nclass A:\n    @x.log\n"
            "    @property\n    def size(self):\n        return 1\n",
        ),
        Case(
            "other-object",
            "from other import dft_fn\nx = dft_fn('C')\nclass A:\n    @x.log\n    @property\n    def size(self):\n"
            "        return 1\n",
        ),
        Case(
            "plain-method",
            "from dftracer.python import dft_fn\nx = dft_fn('C')\nclass A:\n    @x.log\n    def size(self):\n"
            "        return 1\n    property(size)\n",
        ),
        Case(
            "handed-on-object",
            "from app.trace import x\nclass A:\n    @x.log\n    @property\n    def size(self):\n        return 1\n",
            files={"app/trace.py": "def log(f):\n    return f\nclass x:\n    log = staticmethod(log)\n"},
        ),
    )
    INVALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "property",
            "from dftracer.python import dft_fn\n\nx = dft_fn('C')\n\n\nclass A:\n    @x.log\n    @property\n"
            "    def size(self):\n        return 1\n",
            ((7, 6),),
            "from dftracer.python import dft_fn\n\nx = dft_fn('C')\n\n\nclass A:\n    @property\n"
            '    def size(self):\n        with dft_fn("C", name="A.size"):\n            return 1\n',
        ),
        Case(
            "setter-through-module",
            "import dftracer.python as dp\n\nx = dp.dft_fn(cat='C')\n\n\nclass A:\n    @property\n"
            "    def size(self):\n        return 1\n\n    @x.log_static(name='set')\n    @size.setter\n"
            "    def size(self, value):\n        self.value = value\n",
            ((11, 6),),
            "import dftracer.python as dp\nfrom dftracer.python import dft_fn as DFTracerFn\n\nx = dp.dft_fn(cat='C')\n"
            "\n\nclass A:\n    @property\n    def size(self):\n        return 1\n\n    @size.setter\n"
            '    def size(self, value):\n        with DFTracerFn("C", name="set"):\n            self.value = value\n',
        ),
        Case(
            "handed-on",
            "import functools\nfrom app.trace import io\n\n\nclass A:\n    @io.log\n    @functools.cached_property\n"
            "    def size(self):\n        return 1\n",
            ((6, 6),),
            files={"app/trace.py": "from dftracer.python import dft_fn\nio = dft_fn('IO')\n"},
        ),
    )
