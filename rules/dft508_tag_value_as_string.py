"""DFT508: a number that becomes a string on its way into an event."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import ClassVar

from dfannotate import vocabulary
from dfannotate.rules import Case, Finding, Module, Rule

_HEAD = "from dftracer.python import dftracer, TagDType, TagType, TagValue\nlog = dftracer.get_instance()\n"


class TagValueAsString(Rule):
    """``TagValue(5, TagType.KEY)`` gives the string ``"5"``: the second argument is the type of the value, and whatever
    is no ``TagDType`` there counts as a string.

    In ``int_args`` it then raises ``TypeError`` when tracing is on. Write
    ``TagValue(5, TagDType.INT, TagType.KEY)``."""

    CODE: ClassVar[str] = "DFT508"
    NAME: ClassVar[str] = "tag-value-as-string"
    MESSAGE: ClassVar[str] = "`{text}` where the type of the value is meant makes a string of it; write `{meant}`"
    SINCE: ClassVar[tuple[int, int, int]] = vocabulary.CURRENT.first

    def check(self, module: Module) -> Iterator[Finding]:
        for use in module.usage.calls(f"api:{vocabulary.TAG_VALUE}"):
            given = [*use.call.args[1:2], *(k.value for k in use.call.keywords if k.arg == vocabulary.TAG_VALUE_TYPE)]
            for value in given:
                if module.usage.role_of(value, use.ancestors).startswith(f"api:{vocabulary.TAG_TYPE}."):
                    meant = f"{vocabulary.TAG_DTYPE}.{_type_of(use.call.args[0] if use.call.args else None)}"
                    yield self.finding(module, value, text=module.segment(value), meant=meant)

    VALID: ClassVar[tuple[Case, ...]] = (
        Case("type-first", f"{_HEAD}v = TagValue(5, TagDType.INT, TagType.KEY).value()\n"),
        Case("by-name", f"{_HEAD}v = TagValue(5, tag_type=TagType.KEY, dtype=TagDType.INT)\n"),
        Case("string", f"{_HEAD}v = TagValue('a').value()\n"),
        Case("other-class", f"{_HEAD}from exif import TagValue\nv = TagValue(5, TagType.KEY)\n"),
    )
    INVALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "positional",
            f"{_HEAD}log.log_event('n', 'C', 1, 2, int_args={{'k': TagValue(5, TagType.KEY).value()}})\n",
            ((3, 58),),
        ),
        Case(
            "module-alias-and-keyword",
            "import dftracer.python as dp\nfrom dftracer.python.common import TagType as T\n"
            "v = dp.TagValue(0.5, dtype=T.VALUE)\n",
            ((3, 28),),
        ),
    )


def _type_of(value: ast.expr | None) -> str:
    kind = type(value.value) if isinstance(value, ast.Constant) else None
    return vocabulary.TAG_DTYPES.get(kind, "…") if kind is not None else "…"
