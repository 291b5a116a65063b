"""Decorators: where they go, and every reason to leave a function alone."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

REWRITES = {
    "plain-function": (
        """
        import os


        def f():
            os.remove("x")
        """,
        """
        import os
        <import>

        <instance>


        @_dft.log
        def f():
            os.remove("x")
        """,
    ),
    "method-and-init": (
        """
        import os

        class A:
            def __init__(self, path):
                self.file = open(path)

            def load(self):
                return self.file.read()
        """,
        """
        import os
        <import>

        <instance>

        class A:
            @_dft.log_init
            def __init__(self, path):
                self.file = open(path)

            @_dft.log
            def load(self):
                return self.file.read()
        """,
    ),
    "below-all-decorators-and-their-comments": (
        """
        import functools

        @functools.lru_cache(
            maxsize=None,
        )
        # the file never changes

        @functools.wraps(
            print)
        def f():  # slow
            return open("x").read()
        """,
        """
        import functools
        <import>

        <instance>

        @functools.lru_cache(
            maxsize=None,
        )
        # the file never changes

        @functools.wraps(
            print)
        @_dft.log
        def f():  # slow
            return open("x").read()
        """,
    ),
    "one-line-def": (
        """
        import os
        def f(): return open("x").read()
        def g(): return open("y").read()
        """,
        """
        import os
        <import>

        <instance>
        @_dft.log
        def f(): return open("x").read()
        @_dft.log
        def g(): return open("y").read()
        """,
    ),
    "one-line-class-next-to-a-real-one": (
        """
        import os
        class A: x = 1; y = 2
        class B:
            z = 1; w = 2
            def f(self): return open("x").read()
        """,
        """
        import os
        <import>

        <instance>
        class A: x = 1; y = 2
        class B:
            z = 1; w = 2
            @_dft.log
            def f(self): return open("x").read()
        """,
    ),
    "conditional-definitions": (
        """
        import sys
        if sys.platform == "win32":
            def sync(path):
                open(path).close()
        else:
            try:
                from os import sync
            except ImportError:
                def sync(path):
                    open(path).close()
        """,
        """
        import sys
        <import>

        <instance>
        if sys.platform == "win32":
            @_dft.log
            def sync(path):
                open(path).close()
        else:
            try:
                from os import sync
            except ImportError:
                @_dft.log
                def sync(path):
                    open(path).close()
        """,
    ),
    "form-feeds": (
        "import os\n\x0c\ndef f():\n    open('x')\n\x0cdef g():\n    open('y')\n",
        "import os\n<import>\n\n<instance>\n\x0c\n@_dft.log\ndef f():\n    open('x')\n\x0c@_dft.log\n\x0cdef g():\n"
        "    open('y')\n",
    ),
    "match-statement": (
        """
        import os
        match os.name:
            case "posix":
                def sync(path):
                    open(path).close()
            case _:
                sync = None
        """,
        """
        import os
        <import>

        <instance>
        match os.name:
            case "posix":
                @_dft.log
                def sync(path):
                    open(path).close()
            case _:
                sync = None
        """,
    ),
    "class-in-class-in-function-scope": (
        """
        import os
        class A:
            class B:
                def f(self):
                    open("x")
        """,
        """
        import os
        <import>

        <instance>
        class A:
            class B:
                @_dft.log
                def f(self):
                    open("x")
        """,
    ),
    "harmless-decorators": (
        """
        import torch, abc
        class A(abc.ABC):
            @abc.abstractmethod
            @torch.no_grad()
            def save(self):
                torch.save(self, "x")
        """,
        """
        import torch, abc
        <import>

        <instance>
        class A(abc.ABC):
            @abc.abstractmethod
            @torch.no_grad()
            @_dft.log
            def save(self):
                torch.save(self, "x")
        """,
    ),
}
if sys.version_info >= (3, 12):
    REWRITES["type-parameters"] = (
        """
        import os
        type Alias = list[int]
        def f[T, *Ts](x: T) -> T:
            return open(x).read()
        class A[T]:
            def save[S: str](self, x: S) -> None:
                open(x)
        """,
        """
        import os
        <import>

        <instance>
        type Alias = list[int]
        @_dft.log
        def f[T, *Ts](x: T) -> T:
            return open(x).read()
        class A[T]:
            @_dft.log
            def save[S: str](self, x: S) -> None:
                open(x)
        """,
    )


@pytest.mark.parametrize(("before", "after"), REWRITES.values(), ids=REWRITES)
def test_rewrite(before: str, after: str, rewrite: Callable[..., Any], expanded: Callable[[str], str]) -> None:
    assert rewrite(before).text == expanded(after)


IO = "open('x').read()"
FORMS = {
    # (source, function, form): what wraps a function, what it looks at, and what the tracer would convert
    "property": (f"class A:\n    @property\n    def f(self):\n        return {IO}\n", "A.f", "region"),
    "property-setter": (
        f"class A:\n    f = property(None)\n    @f.setter\n    def f(self, x):\n        {IO}\n",
        "A.f",
        "region",
    ),
    "cached-property-under-an-alias": (
        f"from functools import cached_property as lazy\nclass A:\n    @lazy\n    def f(self):\n        return {IO}\n",
        "A.f",
        "region",
    ),
    "property-of-a-library": (
        f"import lib\nclass A:\n    @lib.lazyproperty\n    def f(self):\n        return {IO}\n",
        "A.f",
        "region",
    ),
    "staticmethod": (f"class A:\n    @staticmethod\n    def f():\n        {IO}\n", "A.f", "region"),
    "classmethod": (f"class A:\n    @classmethod\n    def f(cls):\n        {IO}\n", "A.f", "log"),
    "async": (f"async def f():\n    {IO}\n", "f", "region"),
    "parameter-epoch": (f"def f(x, epoch):\n    {IO}\n", "f", "log_static"),
    "parameter-step-keyword-only": (f"def f(*, step=None):\n    {IO}\n", "f", "log_static"),
    "parameter-step-positional-only": (f"def f(x, step, /):\n    {IO}\n", "f", "log_static"),
    "parameter-image-size-of-init": (
        f"class A:\n    def __init__(self, image_size):\n        {IO}\n",
        "A.__init__",
        "log_static",
    ),
    "any-keyword": (f"def f(**options):\n    {IO}\n", "f", "log_static"),
    "frames": (f"import sys\ndef f():\n    {IO}\n    return sys._getframe(1)\n", "f", "region"),
    "frames-by-stack": (f"from inspect import stack\ndef f():\n    {IO}\n    stack()\n", "f", "region"),
    "frames-by-stacklevel": (
        f"import warnings\ndef f():\n    {IO}\n    warnings.warn('x', stacklevel=2)\n",
        "f",
        "region",
    ),
    "frames-by-positional-stacklevel": (
        f"from warnings import warn\ndef f():\n    {IO}\n    warn('x', UserWarning, 2)\n",
        "f",
        "region",
    ),
    "recursive": (f"def f(n):\n    {IO}\n    return f(n - 1)\n", "f", "region"),
    "recursive-method": (
        f"class A:\n    def f(self, n):\n        {IO}\n        self.f(n - 1)\n",
        "A.f",
        "region",
    ),
    "unknown-decorator": (f"import lib\n@lib.register\ndef f():\n    {IO}\n", "f", "region"),
    "unknown-decorator-by-expression": (f"@(lambda f: f)\ndef f():\n    {IO}\n", "f", "region"),
    "unknown-decorator-by-item": (f"@table['x']\ndef f():\n    {IO}\n", "f", "region"),
    "singledispatch-registration": (f"@f.register\ndef _(x: int):\n    {IO}\n", "_", "region"),
    "method-without-a-class": (f"def load(self):\n    {IO}\nA.load = load\n", "load", "log_static"),
}


@pytest.mark.parametrize(("source", "function", "form"), FORMS.values(), ids=FORMS)
def test_form(source: str, function: str, form: str, rewrite: Callable[..., Any]) -> None:
    assert rewrite(source).forms == {function: form}


NOOP = {
    # (source, function, reason)
    "async-generator": (f"async def f():\n    {IO}\n    yield 1\n", "f", "async-generator"),
    "generator": (f"def f():\n    {IO}\n    yield 1\n", "f", "generator"),
    "generator-by-yield-in-a-comprehension-argument": (f"def f():\n    {IO}\n    g([(yield)])\n", "f", "generator"),
    "generator-by-yield-from": (f"def f():\n    {IO}\n    return (yield from g())\n", "f", "generator"),
    "generator-by-default-of-an-inner-lambda": (f"def f():\n    {IO}\n    lambda x=(yield): x\n", "f", "generator"),
    "contextmanager": (
        f"import contextlib\n@contextlib.contextmanager\ndef f():\n    {IO}\n    yield\n",
        "f",
        "contextmanager",
    ),
    "jit-by-decorator": (f"import numba\n@numba.njit\ndef f():\n    {IO}\n", "f", "compiled"),
    "jit-by-decorator-call-under-an-alias": (
        f"from numba import jit as fast\n@fast(nopython=True)\ndef f():\n    {IO}\n",
        "f",
        "compiled",
    ),
    "compiled-by-call": (f"import torch\ndef f():\n    {IO}\ng = torch.compile(f)\n", "f", "compiled"),
    "class-compiled-by-call": (
        f"import torch\nclass Net:\n    def forward(self):\n        {IO}\nnet = torch.jit.script(Net())\n",
        "Net.forward",
        "compiled",
    ),
    "class-compiled-by-decorator": (
        f"import torch\n@torch.jit.script\nclass Net:\n    def forward(self):\n        {IO}\n",
        "Net.forward",
        "compiled",
    ),
    "signal-handler": (
        f"import signal\ndef f(number, frame):\n    {IO}\nsignal.signal(signal.SIGTERM, f)\n",
        "f",
        "signal-handler",
    ),
    "source-read": (f"import inspect\ndef f():\n    {IO}\ninspect.getsource(f)\n", "f", "introspected"),
    "code-looked-at": (f"def f():\n    {IO}\nprint(f.__code__)\n", "f", "introspected"),
    "overload": (
        "from typing import overload\n@overload\ndef f(x: int) -> int: ...\n",
        "f",
        "overload",
    ),
    "nested": (f"def f():\n    def load():\n        {IO}\n    return load\n", "f.<locals>.load", "nested"),
    "trivial": ("def f(x):\n    return x + 1\n", "f", "trivial"),
    "stub": ("def load(x):\n    '''Docs.'''\n", "load", "stub"),
    "backslash-before-def": (f"if x:\n    \\\n  def f(): {IO}\n", "f", "continued-line"),
}


@pytest.mark.parametrize(("source", "function", "reason"), NOOP.values(), ids=NOOP)
def test_left_alone(source: str, function: str, reason: str, rewrite: Callable[..., Any]) -> None:
    for every in (False, True):
        done = rewrite(source, every=every)
        # Being nested or trivial keeps a function out only where it has to be worth it.
        left = not every or reason not in ("nested", "trivial")
        assert (function not in done.traced) is left
        assert done.reasons.get(function) == (reason if left else None)


@pytest.mark.parametrize("reason", ["getattr-hook", "hazardous-attribute", "unknown-base"])
def test_class_that_the_project_calls_unsafe(reason: str, rewrite: Callable[..., Any]) -> None:
    done = rewrite(
        """
        class A:
            def __init__(self):
                self.file = open("x")

            def load(self):
                return self.file.read()

            def save(this):
                open("x")
        """,
        unsafe={"A": reason},
    )
    # The constructor is not asked for attributes, nor is what is not called self.
    assert done.forms == {"A.__init__": "log_init", "A.load": "log_static", "A.save": "log"}


def test_caller_of_a_function_that_looks_at_frames(rewrite: Callable[..., Any]) -> None:
    source = "import os\ndef f():\n    open('x')\n    whoami()\n"
    assert rewrite(source, frames=("whoami",)).forms == {"f": "region"}
    assert rewrite(source).forms == {"f": "log"}


CIRCLES = {
    # program whose functions call each other in a circle -> those that are decorated all the same
    "functions": (
        f"def f(n):\n    {IO}\n    g(n)\ndef g(n):\n    {IO}\n    f(n)\ndef h():\n    {IO}\n    f(1)\n",
        {"h"},
    ),
    "three-functions": (
        f"def f(n):\n    {IO}\n    g(n)\ndef g(n):\n    {IO}\n    h(n)\ndef h(n):\n    {IO}\n    f(n)\n",
        set(),
    ),
    "methods": (
        f"class A:\n    def f(self):\n        {IO}\n        self.g()\n"
        f"    def g(self):\n        {IO}\n        self.f()\n",
        set(),
    ),
    "through-an-inherited-method": (
        f"class B:\n    def g(self):\n        {IO}\n        self.f()\n"
        f"class A(B):\n    def f(self):\n        {IO}\n        self.g()\n",
        set(),
    ),
    "through-a-class": (
        f"class A:\n    def __init__(self):\n        {IO}\n        f()\ndef f():\n    {IO}\n    A()\n",
        set(),
    ),
    "through-an-inner-function": (
        f"def f():\n    def g():\n        {IO}\n        f()\n    {IO}\n    g()\n",
        set(),
    ),
    "no-circle-by-another-object": (
        f"class A:\n    def f(self):\n        {IO}\n        g()\ndef g(other):\n    {IO}\n    other.f()\n",
        {"A.f", "g"},
    ),
    "no-circle-by-a-method-of-that-name": (
        f"def f():\n    {IO}\n    A()\nclass A:\n    def load(self):\n        {IO}\n        f()\n",
        {"f", "A.load"},
    ),
}


@pytest.mark.parametrize(("source", "decorated"), CIRCLES.values(), ids=CIRCLES)
def test_each_level_of_a_recursion_takes_one_frame(
    source: str, decorated: set[str], rewrite: Callable[..., Any]
) -> None:
    forms = rewrite(source).forms
    assert {name for name, form in forms.items() if form != "region"} == decorated


def test_function_whose_defaults_are_looked_at_in_another_file(rewrite: Callable[..., Any]) -> None:
    source = "import os\ndef f():\n    open('x')\n"
    assert rewrite(source, wrapped=("f",)).forms == {"f": "region"}
    assert rewrite(source, wrapped=("g",)).forms == {"f": "log"}


NEAR_MISSES = {
    "yield-of-an-inner-function": f"def f():\n    {IO}\n    def g():\n        yield 1\n    return g\n",
    "yield-of-a-lambda": f"def f():\n    {IO}\n    return lambda: (yield)\n",
    "hazard-as-a-local-name": f"def f():\n    step = epoch = 1\n    {IO}\n",
    "parameter-that-holds-the-word": f"def f(steps, epoch_count):\n    {IO}\n",
    "call-of-another-function-of-that-name": f"def f(other):\n    {IO}\n    other.f()\n",
    "file-that-is-read-by-read": "class A:\n    def read(self):\n        return self.file.read()\n",
    "function-called-in-a-method-of-that-name": f"class A:\n    def f(self):\n        {IO}\n        f()\n",
    "super-of-that-name": f"class A:\n    def f(self):\n        {IO}\n        super().f()\n",
    "warning-without-a-level": f"import warnings\ndef f():\n    {IO}\n    warnings.warn('x', UserWarning)\n",
    "name-that-ends-like-a-compiler": f"import functools\n@functools.cache\ndef jit():\n    {IO}\n",
    "handed-to-a-thread": f"import threading\ndef f():\n    {IO}\nthreading.Thread(target=f)\n",
    "compiled-namesake": f"import torch\ndef f():\n    {IO}\ng = torch.compile(h)\n",
    "local-class-of-that-decorator": f"import numba\n@numba.njit\ndef g(): pass\ndef f():\n    {IO}\n",
    "varargs": f"def f(*args):\n    {IO}\n",
}


@pytest.mark.parametrize("source", NEAR_MISSES.values(), ids=NEAR_MISSES)
def test_near_miss_gets_the_plain_decorator(source: str, rewrite: Callable[..., Any]) -> None:
    assert list(rewrite(source).forms.values()) == ["log"]


def test_category_that_is_no_plain_word(rewrite: Callable[..., Any]) -> None:
    for category in ('a"b\\c', "数据", "it's"):
        done = rewrite(
            "# -*- coding: latin-1 -*-\nimport os\ndef f():\n    open('é')\n".encode("latin-1"), category=category
        )
        line = next(line for line in done.text.splitlines() if line.startswith("_dft = "))
        scope: dict[str, object] = {"DFTracerFn": str}
        exec(line, scope)
        # The tracer writes it between quotes as it is: what would end the string there is escaped.
        assert json.loads(f'"{scope["_dft"]}"') == category
        assert line.isascii()
