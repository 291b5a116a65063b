"""A decorator directly above the ``def`` of every function that deserves one, where it is provably harmless."""

from __future__ import annotations

from typing import ClassVar

from dfannotate import vocabulary
from dfannotate.codemods import Codemod, Plan, PlannedSite
from dfannotate.edits import Splice
from dfannotate.manifest import Skip
from dfannotate.shapes import decorator_line

METHODS = {"log": vocabulary.LOG, "log_init": vocabulary.LOG_INIT, "log_static": vocabulary.LOG_STATIC}
"""Form of a treatment -> method of the tracer's instance."""


class Functions(Codemod):
    """Decorators, and the reasons of all functions that get nothing."""

    ID: ClassVar[str] = "functions"

    def plan(self, plan: Plan) -> None:
        for function in plan.facts.functions:
            treatment = plan.treatments[function.line]
            if treatment.form == "none":
                plan.skipped.append(Skip(function.qualname, function.line, treatment.reason))
            elif treatment.form in METHODS:
                text = function.indent + decorator_line(plan.names, METHODS[treatment.form])
                plan.edits.append(Splice(function.line, function.line, (text,)))
                plan.use(function.line, "function", "instance")
                is_init = function.name == "__init__" and function.scope == "class"
                name = function.qualname
                plan.sites.append(
                    PlannedSite("init" if is_init else "decorator", name, name, plan.category, function.line)
                )
