"""DFT002: a suppression that silences nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import ClassVar

from dfannotate.rules import Case, Finding, Fix, Rule
from dfannotate.rules.suppress import Directive, without


class UnusedSuppression(Rule):
    """A ``# noqa: DFT…`` or ``# dfannotate: ignore[DFT…]`` whose fault is gone hides the next one of its kind.

    Codes of rules that were not asked for are not judged, nor are those of other tools."""

    CODE: ClassVar[str] = "DFT002"
    NAME: ClassVar[str] = "unused-suppression"
    MESSAGE: ClassVar[str] = "{codes} silences nothing here; remove it"
    FIXABLE: ClassVar[bool] = True

    def found(
        self, path: str, lines: Sequence[str], directive: Directive, used: Collection[str], judged: Collection[str]
    ) -> Iterator[Finding]:
        """The finding for a directive of which only ``used`` were of use; ``judged`` are the codes of which that can be
        told."""
        unused = [code for code in dict.fromkeys(directive.ours) if code in judged and code not in used]
        if unused:
            place = (directive.line, directive.start + 1, directive.line, directive.end + 1)
            fix = Fix((without(lines, directive, unused),))
            words = ", ".join(f"`{code}`" for code in unused)
            yield self.finding_at(path, place, fix, codes=words)

    VALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "in-use",
            "from dftracer.python import dftracer\ndftracer.initialize_log(process_id=None)  # noqa: DFT104\n",
        ),
        Case(
            "in-use-above",
            "from dftracer.python import dftracer\n\n# dfannotate: ignore[DFT104] never traced\n"
            "dftracer.initialize_log(process_id=None)\n",
        ),
        Case("other-tool", "from dftracer.python import dftracer  # noqa: F401\n"),
        Case("in-a-string", "from dftracer.python import dftracer\nhelp = '# noqa: DFT104'\n"),
    )
    INVALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "noqa",
            "from dftracer.python import dftracer\nprint(dftracer)  # noqa: DFT104\n",
            ((2, 18),),
            "from dftracer.python import dftracer\nprint(dftracer)\n",
        ),
        Case(
            "one-of-two",
            "from dftracer.python import dftracer  # noqa: F401, DFT104\n",
            ((1, 39),),
            "from dftracer.python import dftracer  # noqa: F401\n",
        ),
        Case(
            "alone-above",
            "from dftracer.python import dftracer\n\n# dfannotate: ignore[DFT104] it was None\n"
            "dftracer.initialize_log(process_id=-1)\n",
            ((3, 1),),
            "from dftracer.python import dftracer\n\ndftracer.initialize_log(process_id=-1)\n",
        ),
        Case(
            "before-another-comment",
            "from dftracer.python import dftracer\nprint(dftracer)  # noqa: DFT104  # keep this\n",
            ((2, 18),),
            "from dftracer.python import dftracer\nprint(dftracer)  # keep this\n",
        ),
    )
