"""DFT501: an argument of a manual event without its tag."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import ClassVar

from dfannotate import vocabulary
from dfannotate.edits import Rewrite
from dfannotate.rules import Case, Finding, Fix, Module, Rule
from dfannotate.rules.event_calls import Argument, EventCall, event_arguments, event_calls
from dfannotate.rules.values import Kind, Values

_HEAD = "from dftracer.python import dftracer\nlog = dftracer.get_instance()\n"
_CALL = "log.log_event(name='n', cat='C', start_time=t, duration=d, "


class BareEventArgument(Rule):
    """``int_args={"size": 5}`` raises ``TypeError`` when tracing is on: each value is a pair of a tag and the value,
    ``{"size": (0, 5)}``, or what ``TagValue(…).value()`` gives.

    Reported where the source shows that the value is a single one, also in a dictionary that is kept in a variable."""

    CODE: ClassVar[str] = "DFT501"
    NAME: ClassVar[str] = "bare-event-argument"
    MESSAGE: ClassVar[str] = (
        "`{argument}` takes pairs of a tag and a value; `{text}` alone raises TypeError when tracing is on"
    )
    FIXABLE: ClassVar[bool] = True
    SINCE: ClassVar[tuple[int, int, int]] = vocabulary.CURRENT.first

    def check(self, module: Module) -> Iterator[Finding]:
        values = Values(module)
        for call in event_calls(module):
            for argument in event_arguments(call, values):
                kind = values.kind(argument.value, argument.scopes)
                if kind not in ("", "pair"):
                    text = " ".join(module.segment(argument.value).split())
                    fix = _fix(module, argument, kind) if _is_only_here(module, call, argument) else None
                    yield self.finding(module, argument.value, fix, argument=argument.argument, text=text)

    VALID: ClassVar[tuple[Case, ...]] = (
        Case("pairs", f"{_HEAD}{_CALL}int_args={{'k': (0, 5), 'l': [0, n]}}, string_args={{'s': (0, 'v')}})\n"),
        Case(
            "tag-value",
            "from dftracer.python import dftracer, TagValue, TagDType\nlog = dftracer.get_instance()\n"
            f"value = TagValue(5, TagDType.INT).value()\n{_CALL}int_args={{'k': value}})\n",
        ),
        Case("not-told", f"{_HEAD}from tags import tagged\n{_CALL}int_args={{'k': tagged(5), 'l': box['l']}})\n"),
        Case("pair-as-parameter", f"{_HEAD}def note(pair):\n    {_CALL}int_args={{'k': pair}})\n"),
        Case("other-log", f"log = Report()\n{_CALL}int_args={{'k': 5}})\n"),
        Case(
            "region",
            "from dftracer.python import dft_fn\nwith dft_fn('C', name='r') as r:\n    r.update(args={'k': 5})\n",
        ),
        Case(
            "old-release-wanted",
            "from dftracer.logger import dftracer\nlog = dftracer.get_instance()\n"
            "log.log_event('n', 'C', t, d, string_args={'k': 'v'})\n",
            target="1.0.11",
        ),
    )
    INVALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "literals",
            f"{_HEAD}{_CALL}int_args={{'k': 5, 'l': (0, 6)}}, float_args={{'f': -0.5}}, "
            "string_args={'s': f'{x}', 'n': 7})\n",
            ((3, 75), (3, 109), (3, 134), (3, 147)),
            f"{_HEAD}{_CALL}int_args={{'k': (0, 5), 'l': (0, 6)}}, float_args={{'f': (0, -0.5)}}, "
            "string_args={'s': (0, f'{x}'), 'n': (0, str(7))})\n",
        ),
        Case(
            "values-of-a-function",
            "from dftracer.python import dftracer as PerfTrace\n\nclass Link:\n    def __init__(self):\n"
            "        self.sent = 0\n\n    def push(self, data, peer: str):\n        size = len(data)\n"
            "        PerfTrace.get_instance().log_event(\n            'push', 'net', self.t, 1,\n"
            "            int_args={'size': size, 'sent': self.sent, 'more': size if data else 0},\n"
            "            string_args=dict(peer=peer),\n        )\n",
            ((11, 31), (11, 45), (11, 64), (12, 35)),
            "from dftracer.python import dftracer as PerfTrace\n\nclass Link:\n    def __init__(self):\n"
            "        self.sent = 0\n\n    def push(self, data, peer: str):\n        size = len(data)\n"
            "        PerfTrace.get_instance().log_event(\n            'push', 'net', self.t, 1,\n"
            "            int_args={'size': (0, size), 'sent': (0, self.sent), 'more': (0, size if data else 0)},\n"
            "            string_args=dict(peer=(0, peer)),\n        )\n",
        ),
        Case(
            "kept-in-a-variable",
            f"{_HEAD}def f(n: int):\n    given = {{'n': n}}\n    {_CALL}int_args=given)\n",
            ((4, 19),),
            f"{_HEAD}def f(n: int):\n    given = {{'n': (0, n)}}\n    {_CALL}int_args=given)\n",
        ),
        Case("wrong-type", f"{_HEAD}{_CALL}int_args={{'k': 'five', 'l': 0.5}})\n", ((3, 75), (3, 88))),
    )


def _fix(module: Module, argument: Argument, kind: Kind) -> Fix | None:
    begin, end = f"({vocabulary.KEY_TAG}, ", ")"
    if argument.argument == "string_args" and kind in ("int", "float"):
        begin, end = begin + "str(", "))"
    elif (argument.argument == "int_args" and kind in ("float", "str")) or (
        argument.argument == "float_args" and kind == "str"
    ):
        return None  # the pair would be refused as well
    line, column, end_line, end_column = module.position(argument.value)
    return Fix((Rewrite(line, column, line, column, begin), Rewrite(end_line, end_column, end_line, end_column, end)))


def _is_only_here(module: Module, call: EventCall, argument: Argument) -> bool:
    """Whether the dictionary of an argument is made for this call alone."""
    given = call.arguments.get(argument.argument)
    if not isinstance(given, ast.Name):
        return True
    scope = argument.scopes[-1]
    text = module.text if isinstance(scope, ast.Module) else module.segment(scope)
    return len(re.findall(rf"(?<![\w.]){given.id}\b(?!\s*=[^=][^,{{]*[,)])", text)) == 2
