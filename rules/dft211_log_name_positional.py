"""DFT211: the name of an event that is given to a decorator without ``name=``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import ClassVar

from dfannotate import vocabulary
from dfannotate.rules import Case, Finding, Fix, Module, Rule
from dfannotate.rules.repairs import insert_before

_DECORATORS = tuple(f"instance.{method}" for method in sorted(vocabulary.DECORATORS))


class LogNamePositional(Rule):
    """``@x.log("load")`` drops the name without a word: the first argument is the function that is decorated.

    The event is then called after the function. Write ``@x.log(name="load")``."""

    CODE: ClassVar[str] = "DFT211"
    NAME: ClassVar[str] = "log-name-positional"
    MESSAGE: ClassVar[str] = "the name is ignored where `{method}` takes the function; write `name=`"
    FIXABLE: ClassVar[bool] = True
    SINCE: ClassVar[tuple[int, int, int]] = (1, 0, 11)

    def check(self, module: Module) -> Iterator[Finding]:
        for use in module.usage.calls(*_DECORATORS):
            first = use.call.args[0] if use.call.args else None
            if not (
                isinstance(first, ast.JoinedStr) or (isinstance(first, ast.Constant) and isinstance(first.value, str))
            ):
                continue
            alone = len(use.call.args) == 1 and not use.call.keywords
            fix = Fix((insert_before(module, first, "name="),)) if alone else None
            yield self.finding(module, first, fix, method=use.role.rpartition(".")[2])

    VALID: ClassVar[tuple[Case, ...]] = (
        Case("keyword", "from dftracer.python import dft_fn\nx = dft_fn('IO')\n@x.log(name='load')\ndef f(): ...\n"),
        Case("function", "from dftracer.python import dft_fn\nx = dft_fn('IO')\nf = x.log(f)\n"),
        Case("logging", "from dftracer.python import dft_fn\nx = dft_fn('IO')\nlogger.log('load')\n"),
        Case("other-object", "from dftracer.python import dft_fn\nx = Report('IO')\nx.log('load')\n"),
        Case("old-release", "from dftracer.logger import dft_fn\nx = dft_fn('IO')\nx.log('n')\n", target="1.0.8"),
    )
    INVALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "decorators",
            "from dftracer.python import dft_fn as P\nx = P('IO')\n\n@x.log('load')\ndef f(): ...\n\n"
            "class A:\n    @x.log_init(f'{KIND}.open')\n    def __init__(self): ...\n",
            ((4, 8), (8, 17)),
            "from dftracer.python import dft_fn as P\nx = P('IO')\n\n@x.log(name='load')\ndef f(): ...\n\n"
            "class A:\n    @x.log_init(name=f'{KIND}.open')\n    def __init__(self): ...\n",
        ),
        Case(
            "object-at-once",
            "from dftracer.python import dft_fn\n@dft_fn('IO').log_static(\"load\")\ndef f(): ...\n",
            ((2, 26),),
            "from dftracer.python import dft_fn\n@dft_fn('IO').log_static(name=\"load\")\ndef f(): ...\n",
        ),
    )
