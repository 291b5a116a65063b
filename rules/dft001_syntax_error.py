"""DFT001: a file that is not Python."""

from __future__ import annotations

from typing import ClassVar

from dfannotate.rules import Case, Finding, Rule
from dfannotate.source import ParseFailure


class SyntaxFault(Rule):
    """The file cannot be decoded or parsed by the Python that runs dfannotate, so no other rule has looked at it.

    Syntax that is newer than that Python counts as well: run dfannotate with the Python that runs the program. Only
    files that mention the tracer are parsed. It is reported whatever is selected, unless it is ignored by its code, and
    the exit code is 2."""

    CODE: ClassVar[str] = "DFT001"
    NAME: ClassVar[str] = "syntax-error"
    MESSAGE: ClassVar[str] = "{reason}"

    def found(self, failure: ParseFailure) -> Finding:
        """The finding for a file that does not parse."""
        line, column = max(1, failure.line), max(1, failure.column)
        return self.finding_at(failure.path, (line, column, line, column), reason=failure.reason)

    VALID: ClassVar[tuple[Case, ...]] = (
        Case("empty", ""),
        Case("soft-keyword", "from dftracer.python import dftracer\nmatch = dftracer\n"),
        Case("invalid-escape", "from dftracer.python import dftracer\npattern = '\\d'\n"),
    )
    INVALID: ClassVar[tuple[Case, ...]] = (
        Case("unclosed", "from dftracer.python import dftracer\nprint(1\n", ((2, 6),)),
        Case("python-2", "from dftracer.python import dftracer\nprint 'x'\n", ((2, 1),)),
    )
