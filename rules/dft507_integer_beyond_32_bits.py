"""DFT507: an integer in an event that is too large for the tracer."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import ClassVar

from dfannotate import vocabulary
from dfannotate.rules import Case, Finding, Module, Rule
from dfannotate.rules.event_calls import entries, event_arguments, event_calls
from dfannotate.rules.values import Values
from dfannotate.usage import Scope

_UPDATE = f"instance.{vocabulary.UPDATE}"
_LIMIT = 1 << (vocabulary.INT_BITS - 1)
_WHOLE = tuple(name for name in vocabulary.UPDATE_ORDER if name in vocabulary.HAZARDOUS_NAMES - {"image_size"})


class IntegerBeyond32Bits(Rule):
    """An integer outside 32 bits in the arguments of an event raises ``TypeError`` when tracing is on, at the end of
    the region, in place of an exception of the program's own that is on its way.

    Sizes and offsets go in as text, ``str(size)``, or in a larger unit. Reported for values that are written out, such
    as ``3 * 2**30`` or ``1 << 31``, also through names of constants."""

    CODE: ClassVar[str] = "DFT507"
    NAME: ClassVar[str] = "integer-beyond-32-bits"
    MESSAGE: ClassVar[str] = "{value} has more than 32 bits, which raises TypeError when tracing is on; pass it as text"
    SINCE: ClassVar[tuple[int, int, int]] = vocabulary.CURRENT.first

    def check(self, module: Module) -> Iterator[Finding]:
        values = Values(module)
        for node, scopes in _whole_numbers(module, values):
            value = values.integer(node, scopes)
            if value is not None and not -_LIMIT <= value < _LIMIT:
                yield self.finding(module, node, value=value)

    VALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "largest",
            "from dftracer.python import dft_fn\nwith dft_fn('C', name='r', step=2**31 - 1) as r:\n"
            "    r.update(args={'low': -(1 << 31), 'bytes': 2 * 2**20})\n",
        ),
        Case(
            "as-text",
            "from dftracer.python import dft_fn\nGIB = 2**30\nwith dft_fn('C', name='r') as r:\n"
            "    r.update(args={'bytes': str(5 * GIB), 'gib': 5 * GIB / 2**30})\n",
        ),
        Case(
            "as-float",
            "from dftracer.python import dftracer\n"
            "dftracer.get_instance().log_event('n', 'C', 2**40, 2**33, float_args={'bytes': (0, 2**40)})\n",
        ),
        Case("other-object", "from dftracer.python import dft_fn\nrow = {}\nrow.update(args={'n': 2**40})\n"),
        Case(
            "not-told",
            "from dftracer.python import dft_fn\nSIZE = 2**40\ndef f(SIZE):\n"
            "    dft_fn('C').update(args={'n': SIZE})\n",
        ),
    )
    INVALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "region",
            "from dftracer.python import dft_fn as P\nGIB = 1 << 30\nwith P('C', name='r', step=2**31) as r:\n"
            "    r.update(args={'bytes': 3 * GIB, 'n': 1}).update(5_000_000_000)\n",
            ((3, 28), (4, 29), (4, 54)),
        ),
        Case(
            "event",
            "from dftracer.python import dftracer, TagValue, TagDType\nlog = dftracer.get_instance()\n"
            "log.log_event('n', 'C', 1, 2, int_args={'a': (0, 1 << 31), 'b': TagValue(2**40, TagDType.INT).value()})\n",
            ((3, 50), (3, 74)),
        ),
    )


def _whole_numbers(module: Module, values: Values) -> Iterator[tuple[ast.expr, Sequence[Scope]]]:
    """Every value that reaches the tracer as an integer."""
    for call in event_calls(module):
        for argument in event_arguments(call, values):
            value = argument.value
            if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == 2:
                value = value.elts[1]
            elif isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):  # TagValue(…).value()
                made = value.func.value
                value = made.args[0] if isinstance(made, ast.Call) and made.args else value
            if argument.argument == "int_args":
                yield value, argument.scopes
    for use in module.usage.calls(_UPDATE, "function"):
        order = vocabulary.UPDATE_ORDER if use.role == _UPDATE else vocabulary.FUNCTION_ARGUMENTS
        given = {
            **dict(zip(order, use.call.args, strict=False)),
            **{keyword.arg: keyword.value for keyword in use.call.keywords if keyword.arg},
        }
        for name, value in given.items():
            if name in _WHOLE:
                yield value, use.scopes
            elif name == "args":
                for _, _, single in entries(value):
                    yield single, use.scopes
