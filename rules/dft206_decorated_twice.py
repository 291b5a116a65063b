"""DFT206: one function under two decorators of the tracer."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import ClassVar

from dfannotate import vocabulary
from dfannotate.rules import Case, Finding, Fix, Module, Rule
from dfannotate.rules.decorated import in_class, of_functions, spelled
from dfannotate.rules.repairs import category_of, event_name, without_decorator
from dfannotate.usage import Decoration

_HEAD = "from dftracer.python import dft_fn\nx = dft_fn('C')\n"


class DecoratedTwice(Rule):
    """Two decorators with the same category and name write two events for every call: counts and times come out
    doubled, and so does the cost. Two with different categories, or with names of their own, may well be meant.

    The one that goes is the one that looks at more of the arguments."""

    CODE: ClassVar[str] = "DFT206"
    NAME: ClassVar[str] = "decorated-twice"
    MESSAGE: ClassVar[str] = "`{decorator}` writes every call of `{function}` a second time, as `{other}` does already"
    FIXABLE: ClassVar[bool] = True

    def check(self, module: Module) -> Iterator[Finding]:
        found = list(of_functions(module))
        for (upper, function), (lower, other) in itertools.pairwise(found):
            if function is not other or not _same_event(module, upper, lower):
                continue
            gone, kept = (lower, upper) if _rank(upper) > _rank(lower) else (upper, lower)
            edit = without_decorator(module, gone)
            yield self.finding(
                module,
                gone.node,
                Fix((edit,)) if edit else None,
                decorator=spelled(module, gone),
                function=function.name,
                other=spelled(module, kept),
            )

    VALID: ClassVar[tuple[Case, ...]] = (
        Case("two-categories", _HEAD + "y = dft_fn('D')\n@x.log\n@y.log\ndef f():\n    return 1\n"),
        Case("two-names", _HEAD + "@x.log\n@x.log(name='whole')\ndef f():\n    return 1\n"),
        Case("two-functions", _HEAD + "@x.log\ndef f():\n    return 1\n@x.log\ndef f():\n    return 2\n"),
        Case("unknown-category", _HEAD + "y = dft_fn(NAME)\n@x.log\n@y.log\ndef f():\n    return 1\n"),
        Case("other-object", _HEAD + "from other import y\n@x.log\n@y.log\ndef f():\n    return 1\n"),
    )
    INVALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "same-instance",
            _HEAD + "@x.log\n@x.log\ndef f():\n    return 1\n",
            ((3, 2),),
            _HEAD + "@x.log\ndef f():\n    return 1\n",
        ),
        Case(
            "same-category",
            _HEAD + "from dftracer.python import dft_fn as P\ny = P(cat='C')\n@x.log_static\n@y.log\n"
            "def f(epoch):\n    return 1\n",
            ((6, 2),),
            _HEAD + "from dftracer.python import dft_fn as P\ny = P(cat='C')\n@x.log_static\n"
            "def f(epoch):\n    return 1\n",
        ),
        Case(
            "init",
            _HEAD + "class A:\n    @x.log\n    # made\n    @x.log_init\n    def __init__(self):\n        self.a = 1\n",
            ((4, 6),),
            _HEAD + "class A:\n    # made\n    @x.log_init\n    def __init__(self):\n        self.a = 1\n",
        ),
    )


def _same_event(module: Module, one: Decoration, other: Decoration) -> bool:
    category = category_of(module, one)
    return category is not None and category == category_of(module, other) and event_name(one) == event_name(other)


def _rank(decoration: Decoration) -> int:
    """How little a decorator looks at; what is made for ``__init__`` alone loses what any other function returns."""
    if decoration.method == vocabulary.LOG_INIT:
        return 1 if getattr(decoration.function, "name", "") == "__init__" and in_class(decoration) else -1
    return 2 if decoration.method == vocabulary.LOG_STATIC else 0
