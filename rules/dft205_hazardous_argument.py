"""DFT205: a decorator that converts what is no number."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import ClassVar

from dfannotate import vocabulary
from dfannotate.rules import Case, Finding, Module, Rule
from dfannotate.rules.decorated import of_functions, spelled
from dfannotate.rules.hazards import Classes, mentions, parameters
from dfannotate.rules.repairs import with_method
from dfannotate.usage import Decoration, Function

_HEAD = "from dftracer.python import dft_fn\nx = dft_fn('C')\n"


class HazardousArgument(Rule):
    """``@x.log`` converts parameters called epoch, step, image_idx and image_size to numbers, and attributes of
    ``self`` that are called so; ``@x.log_init`` parameters alone. Where one is None, a tuple, a method, the call raises
    ``TypeError``, but only when tracing is on. ``@x.log_static`` looks at nothing, under the same event name.

    Only what surely is no number is a finding: counting steps in ``self.step`` is what the conversion is for."""

    CODE: ClassVar[str] = "DFT205"
    NAME: ClassVar[str] = "hazardous-argument"
    MESSAGE: ClassVar[str] = "`{decorator}` converts `{what}` to a number, and it is {why}; use `{instead}`"
    FIXABLE: ClassVar[bool] = True
    SINCE: ClassVar[tuple[int, int, int]] = (2, 0, 2)

    def check(self, module: Module) -> Iterator[Finding]:
        if not module.usage.decorations or not mentions(module):
            return
        classes = Classes(module)
        for decoration, function in of_functions(module):
            if decoration.method == vocabulary.LOG_STATIC:
                continue
            for what, why in _hazards(classes, decoration, function):
                name = spelled(module, decoration)
                instead = name.rpartition(".")[0] + "." + vocabulary.LOG_STATIC
                fix = with_method(module, decoration, vocabulary.LOG_STATIC)
                yield self.finding(module, decoration.node, fix, decorator=name, what=what, why=why, instead=instead)
                break

    VALID: ClassVar[tuple[Case, ...]] = (
        Case("number", _HEAD + "@x.log\ndef f(a, step, epoch: int):\n    return a + step\n"),
        Case(
            "counter",
            _HEAD + "class A:\n    def __init__(self):\n        self.step = 0\n        self.image_size = float(2)\n"
            "    @x.log\n    def run(self):\n        self.step += 1\n",
        ),
        Case(
            "cleared-at-the-end",
            _HEAD + "class A:\n    def __init__(self, epoch):\n        self.epoch = epoch\n    @x.log\n"
            "    def run(self):\n        return self.epoch\n    def __del__(self):\n        self.epoch = None\n",
        ),
        Case(
            "set-before-run",
            _HEAD + "class A:\n    def __init__(self):\n        self.epoch = None\n    def begin(self):\n"
            "        self.epoch = 1\n    @x.log\n    def run(self):\n        return self.epoch\n",
        ),
        Case("static", _HEAD + "@x.log_static\ndef f(a, image_size=(1, 2)):\n    return image_size[0]\n"),
        Case("none-in-init", _HEAD + "class A:\n    @x.log_init\n    def __init__(self, epoch=None):\n        pass\n"),
        Case("first-parameter", _HEAD + "@x.log\ndef f(image_size, a):\n    return image_size[0]\n"),
        Case(
            "not-called-self",
            _HEAD + "class A:\n    def step(self):\n        pass\n    @x.log\n    def run(this):\n        pass\n",
        ),
        Case(
            "refusing-hook",
            _HEAD + "class A:\n    def __getattr__(self, name):\n        raise AttributeError(name)\n    @x.log\n"
            "    def run(self):\n        pass\n",
        ),
        Case("old-release", _HEAD + "@x.log\ndef f(a, epoch=None):\n    return a\n", target="1.0.11"),
        Case(
            "shadowed",
            _HEAD + "def make(x):\n    @x.log\n    def f(a, step=None):\n        return step\n    return f\n",
        ),
    )
    INVALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "none-by-default",
            _HEAD + "@x.log\ndef f(a, epoch=None):\n    return a\n",
            ((3, 2),),
            _HEAD + "@x.log_static\ndef f(a, epoch=None):\n    return a\n",
        ),
        Case(
            "annotated",
            _HEAD + "@x.log(name='r')\ndef f(a, *, image_size: tuple[int, int]):\n    return a\n",
            ((3, 2),),
            _HEAD + "@x.log_static(name='r')\ndef f(a, *, image_size: tuple[int, int]):\n    return a\n",
        ),
        Case(
            "unpacked",
            _HEAD + "class A:\n    @x.log_init\n    def __init__(self, image_size):\n"
            "        self.h, self.w = image_size\n        w, h = image_size\n",
            ((4, 6),),
            _HEAD + "class A:\n    @x.log_static\n    def __init__(self, image_size):\n"
            "        self.h, self.w = image_size\n        w, h = image_size\n",
        ),
        Case(
            "method",
            "import dftracer.python as dp\nx = dp.dft_fn('C')\nclass A:\n    def step(self):\n        pass\n"
            "    @x.log\n    def run(self):\n        pass\n",
            ((6, 6),),
            "import dftracer.python as dp\nx = dp.dft_fn('C')\nclass A:\n    def step(self):\n        pass\n"
            "    @x.log_static\n    def run(self):\n        pass\n",
        ),
        Case(
            "attribute-of-base",
            _HEAD + "class A:\n    def __init__(self, image_size=(2, 3)):\n        self.image_size = image_size\n"
            "class B(A):\n    @x.log\n    def run(self):\n        pass\n",
            ((7, 6),),
            _HEAD + "class A:\n    def __init__(self, image_size=(2, 3)):\n        self.image_size = image_size\n"
            "class B(A):\n    @x.log_static\n    def run(self):\n        pass\n",
        ),
        Case(
            "set-in-what-is-traced",
            _HEAD + "class A:\n    def __init__(self):\n        self.epoch = None\n    @x.log\n    def fit(self):\n"
            "        self.epoch = 0\n",
            ((6, 6),),
            _HEAD + "class A:\n    def __init__(self):\n        self.epoch = None\n    @x.log_static\n"
            "    def fit(self):\n        self.epoch = 0\n",
        ),
        Case(
            "optimizer",
            "from torch import optim\n"
            + _HEAD
            + "class A(optim.Adam):\n    @x.log\n    def run(self):\n        pass\n",
            ((5, 6),),
            "from torch import optim\n" + _HEAD + "class A(optim.Adam):\n    @x.log_static\n    def run(self):\n"
            "        pass\n",
        ),
        Case(
            "hook",
            _HEAD + "class A:\n    def __getattr__(self, name):\n        return None\n    @x.log\n"
            "    def run(self):\n        pass\n",
            ((6, 6),),
            _HEAD + "class A:\n    def __getattr__(self, name):\n        return None\n    @x.log_static\n"
            "    def run(self):\n        pass\n",
        ),
    )


def _hazards(classes: Classes, decoration: Decoration, function: Function) -> Iterator[tuple[str, str]]:
    yield from parameters(function, decoration.method)
    scope = decoration.scopes[-1]
    first = [*function.args.posonlyargs, *function.args.args][:1]
    if (
        decoration.method == vocabulary.LOG
        and isinstance(scope, ast.ClassDef)
        and function.name != "__init__"
        and first
        and first[0].arg == "self"
    ):
        yield from ((f"self.{name}", why) for name, why in classes.hazards(decoration, scope))
