"""DFT502: an argument of an event under a name that the tracer uses itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from dfannotate import vocabulary
from dfannotate.rules import Case, Finding, Module, Rule
from dfannotate.rules.event_calls import entries, event_arguments, event_calls
from dfannotate.rules.values import Values

_UPDATE = f"instance.{vocabulary.UPDATE}"


class ReservedKey(Rule):
    """``hhash`` stands in the arguments of every event: a second one makes lines with a double key, of which readers
    keep either. ``tid`` raises ``RuntimeError``."""

    CODE: ClassVar[str] = "DFT502"
    NAME: ClassVar[str] = "reserved-key"
    MESSAGE: ClassVar[str] = "`{key}` is {why}; call the argument something else"

    def check(self, module: Module) -> Iterator[Finding]:
        if not any(key in module.text for key in vocabulary.RESERVED_ARGUMENTS):
            return
        values = Values(module)
        found = [
            (argument.key, argument.node) for call in event_calls(module) for argument in event_arguments(call, values)
        ]
        place = vocabulary.UPDATE_ORDER.index("args")
        for use in module.usage.calls(_UPDATE):
            given = [*use.call.args[place : place + 1], *(k.value for k in use.call.keywords if k.arg == "args")]
            found += [(key, node) for value in given for key, node, _ in entries(value)]
        for key, node in found:
            if why := vocabulary.RESERVED_ARGUMENTS.get(key):
                yield self.finding(module, node, key=key, why=why)

    VALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "others",
            "from dftracer.python import dft_fn\nwith dft_fn('C', name='r') as r:\n"
            "    r.update(args={'mhost': h, 'thread': 1})\n",
        ),
        Case("other-object", "from dftracer.python import dft_fn\nrow = {}\nrow.update(args={'tid': 1})\nhhash = 1\n"),
        Case(
            "as-a-value",
            "from dftracer.python import dftracer\n"
            "dftracer.get_instance().log_event('n', 'C', 1, 2, string_args={'key': (0, 'tid')})\n",
        ),
    )
    INVALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "event",
            "from dftracer.python import dftracer\nlog = dftracer.get_instance()\n"
            "log.log_event('n', 'C', 1, 2, {'tid': (0, 5)}, string_args={'hhash': (0, h)})\n",
            ((3, 32), (3, 61)),
        ),
        Case(
            "region",
            "from dftracer.python import dft_fn as P\nwith P('C', name='r') as r:\n"
            "    r.update(step=1, args={'n': 1, 'tid': 5}).update(1, 2, 3, 4, dict(hhash=h))\n",
            ((3, 36), (3, 71)),
        ),
    )
