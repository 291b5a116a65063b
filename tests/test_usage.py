"""How names of the tracer are resolved: what is known under which name, and what only looks like it."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from textwrap import dedent

import pytest

from dfannotate.source import read_source
from dfannotate.usage import CallUse, Usage


def usage_of(text: str, modules: Mapping[str, Mapping[str, str]] | None = None) -> Usage:
    known = modules or {}
    return Usage(read_source("m.py", dedent(text).encode()), lambda module: known.get(module, {}))


def role_of(text: str, modules: Mapping[str, Mapping[str, str]] | None = None) -> str:
    """The role of the expression in the last statement of ``text``, which may be the last of a function."""
    usage = usage_of(text, modules)
    body: list[ast.stmt] = usage.tree.body
    ancestors: list[ast.AST] = [usage.tree]
    while not isinstance(last := body[-1], ast.Expr):
        ancestors.append(last)
        body = last.body  # type: ignore[attr-defined]
    return usage.role_of(last.value, ancestors)


LOGGER = "from dftracer.python import dftracer\n"
FUNCTION = "from dftracer.python import dft_fn\n"

KNOWN = {
    "from-import": (FUNCTION + "dft_fn", "function"),
    "alias": ("from dftracer.python import dft_fn as Profile\nProfile", "function"),
    "module-alias": ("import dftracer.python as dp\ndp.dft_fn", "function"),
    "module-path": ("import dftracer.python\ndftracer.python.dftracer.initialize_log", "logger.initialize_log"),
    "package-then-module": ("from dftracer import python\npython.dft_fn('C')", "instance"),
    "first-generation": ("from dlio_profiler.logger import fn_interceptor as P\nP('C')", "instance"),
    "second-generation": ("from dftracer.logger import dftracer\ndftracer.get_instance()", "log"),
    "debug-variant": ("from dftracer.python.dbg import dft_fn\ndft_fn", "function"),
    "object-of-the-ai-api": ("from dftracer.python import ai\nai.compute", "api:ai.compute"),
    "switch": ("from dftracer.python import DFTRACER_ENABLE as on\non", "enabled"),
    "native-half": ("from dftracer import dftracer\ndftracer", "native"),
    "never-existed": ("from dftracer.python import dftracer_fn\ndftracer_fn('C')", "instance"),
    "unknown": ("from dftracer.python import tracer\ntracer", "unknown:dftracer.python.tracer"),
    "instance": (FUNCTION + "x = dft_fn('C')\nx.log", "instance.log"),
    "instance-of-instance": (FUNCTION + "x = dft_fn('C')\ny = x\ny.iter", "instance.iter"),
    "reset-gives-itself": (FUNCTION + "dft_fn('C').reset().log", "instance.log"),
    "walrus": (FUNCTION + "(x := dft_fn('C'))\nx", "instance"),
    "with-as": (
        FUNCTION + "with dft_fn('C', name='n') as r:\n    r.update",
        "instance.update",
    ),
    "log-in-variable": (
        LOGGER + "log = dftracer.initialize_log()\nlog.finalize",
        "log.finalize",
    ),
    "conditional-log": (
        LOGGER + "log = None\nif x:\n    log = dftracer.initialize_log()\nlog.finalize",
        "log.finalize",
    ),
    "factory": (FUNCTION + "def make(c):\n    return dft_fn(c)\nmake('C')", "instance"),
    "factory-that-may-give-none": (
        LOGGER + "def get():\n    if x:\n        return None\n    return dftracer.get_instance()\nget()",
        "log",
    ),
    "used-above-its-binding": (
        "def f():\n    x.log\nfrom dftracer.python import dft_fn\nx = dft_fn('C')\nx",
        "instance",
    ),
    "import-in-function": ("def f():\n    from dftracer.python import dft_fn\n    dft_fn", "function"),
    "from-the-function": (FUNCTION + "def f():\n    dft_fn", "function"),
    "past-a-class": (
        FUNCTION + "class A:\n    dft_fn = 1\n    def f(self):\n        dft_fn",
        "function",
    ),
    "stand-in-function": (
        "try:\n    from dftracer.python import dft_fn\nexcept ImportError:\n    def dft_fn(*a):\n        pass\ndft_fn",
        "function",
    ),
    "stand-in-class": (
        "if x:\n    from dftracer.python import dft_fn\nelse:\n    class dft_fn:\n        pass\ndft_fn",
        "function",
    ),
    "star-import": ("from dftracer.python import *\ndft_fn", "function"),
    "generated-shim": ("from pkg._dftracer import dft_fn as DFTracerFn\nDFTracerFn", "function"),
    "kept-on-self": (
        LOGGER + "class A:\n    def a(self):\n        self.log = dftracer.initialize_log()\n"
        "    def b(self):\n        self.log.finalize",
        "log.finalize",
    ),
    "kept-on-the-class": (
        FUNCTION + "class A:\n    x = dft_fn('C')\n    def b(self):\n        self.x",
        "instance",
    ),
    "global": (
        LOGGER + "def a():\n    global log\n    log = dftracer.initialize_log()\ndef b():\n    log.finalize",
        "log.finalize",
    ),
}

UNKNOWN = {
    "other-library": "from other import dft_fn\ndft_fn",
    "other-package-of-a-similar-name": "from dftracers.python import dft_fn\ndft_fn",
    "not-imported": "dft_fn",
    "parameter": FUNCTION + "def f(dft_fn):\n    dft_fn",
    "local-variable": FUNCTION + "def f():\n    dft_fn = 1\n    dft_fn",
    "bound-again": FUNCTION + "dft_fn = make()\ndft_fn",
    "two-meanings": "from dftracer.python import dft_fn, dftracer\nif x:\n    y = dft_fn\nelse:\n    y = dftracer\ny",
    "factory-that-gives-something-else": (
        FUNCTION + "def make(c):\n    if c:\n        return dft_fn(c)\n    return 1\nmake('C')"
    ),
    "coroutine": FUNCTION + "async def make(c):\n    return dft_fn(c)\nmake('C')",
    "imported-in-another-function": "def g():\n    from dftracer.python import dft_fn\ndef f():\n    dft_fn",
    "attribute-of-another-object": (
        LOGGER + "class A:\n    def a(self):\n        self.log = dftracer.initialize_log()\n"
        "    def b(self, other):\n        other.log"
    ),
    "attribute-set-to-something-else-too": (
        LOGGER + "class A:\n    def a(self):\n        self.log = dftracer.initialize_log()\n"
        "    def c(self):\n        self.log = open('f')\n    def b(self):\n        self.log"
    ),
    "loop-variable": FUNCTION + "for dft_fn in []:\n    pass\ndft_fn",
    "comprehension-variable-elsewhere": FUNCTION + "x = [dft_fn for other in y]\nother",
}


@pytest.mark.parametrize("case", KNOWN)
def test_role(case: str) -> None:
    text, role = KNOWN[case]
    assert role_of(text) == role


@pytest.mark.parametrize("case", UNKNOWN)
def test_no_role(case: str) -> None:
    assert role_of(UNKNOWN[case]) == ""


MODULES = {
    "myapp.utils": {"Profile": "function", "make": "->instance", "tracer": "instance"},
    ".utils": {"Profile": "function"},
}


@pytest.mark.parametrize(
    ("text", "role"),
    [
        pytest.param("from myapp.utils import Profile\nProfile('C')", "instance", id="class"),
        pytest.param("from myapp.utils import make as m\nm('C')", "instance", id="factory"),
        pytest.param("from myapp.utils import tracer\ntracer.log", "instance.log", id="object"),
        pytest.param("from .utils import Profile\nProfile", "function", id="relative"),
        pytest.param("from myapp import utils\nutils.Profile", "function", id="module"),
        pytest.param("from myapp.utils import *\nProfile", "function", id="star"),
        pytest.param("from myapp.utils import other\nother", "", id="other-name"),
        pytest.param("from myapp.others import Profile\nProfile", "", id="other-module"),
    ],
)
def test_names_handed_on_by_the_project(text: str, role: str) -> None:
    assert role_of(text, MODULES) == role


def test_exports_are_what_other_modules_can_take() -> None:
    usage = usage_of(
        """\
        from dftracer.python import dft_fn as Profile, dftracer
        import os
        io = Profile("IO")
        def make(category):
            return Profile(category)
        def helper():
            inner = Profile("X")
        """
    )
    assert usage.exports == {"Profile": "function", "dftracer": "logger", "io": "instance", "make": "->instance"}


def test_decorations_and_regions_are_found_wherever_they_stand() -> None:
    usage = usage_of(
        """\
        from dftracer.python import dft_fn
        x = dft_fn("C")
        class A:
            class B:
                @property
                @x.log
                def p(self): ...
            @x.log(name="n")
            @dft_fn("D").log_static
            def f(self):
                if True:
                    with open("f") as file, dft_fn("C", name="r") as region:
                        pass
                def inner():
                    with x:
                        pass
        """
    )
    assert [(d.function.name, d.method, d.index) for d in usage.decorations] == [
        ("p", "log", 1),
        ("f", "log", 0),
        ("f", "log_static", 1),
    ]
    assert [(region.node.lineno, region.call is not None) for region in usage.regions] == [(12, True), (15, False)]


def test_calls_are_told_by_what_is_called() -> None:
    usage = usage_of("from dftracer.python import dftracer as D\nD.get_instance().log_event('a')\nD.initialize_log()\n")
    assert [(use.role, use.node.lineno) for use in usage.uses if isinstance(use, CallUse)] == [
        ("log.log_event", 2),
        ("logger.get_instance", 2),
        ("logger.initialize_log", 3),
    ]


def test_a_module_without_the_tracer_costs_nothing_but_a_look_at_its_imports() -> None:
    usage = usage_of("import os\ndef log():\n    return os\nlog().finalize()\n")
    assert (usage.imports, usage.uses, usage.exports) == ((), (), {})
