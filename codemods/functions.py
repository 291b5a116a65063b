"""A decorator directly above the ``def`` of every function that deserves one, where it is provably harmless."""

from __future__ import annotations

from typing import ClassVar

from dfannotate import vocabulary
from dfannotate.codemods import EVENT, Codemod, Plan, PlannedSite
from dfannotate.edits import Splice
from dfannotate.manifest import SiteKind, Skip
from dfannotate.rules.safety import Treatment
from dfannotate.shapes import decorator_line

METHODS: dict[str, str] = {"plain": vocabulary.LOG, "init": vocabulary.LOG_INIT, "static": vocabulary.LOG_STATIC}
"""Form of a treatment -> method of the tracer's instance."""


class Functions(Codemod):
    """Decorators, and the reasons of all functions that get nothing."""

    ID: ClassVar[str] = "functions"

    def plan(self, plan: Plan) -> None:
        for function in plan.facts.functions:
            treatment = plan.treatments[function.line]
            if treatment == Treatment("none", EVENT):
                continue
            if treatment.form == "none":
                plan.skipped.append(Skip(function.qualname, function.line, treatment.reason))
            elif treatment.form in METHODS:
                category = plan.category_of(function)
                instance = plan.use_instance(function.line, category)
                text = function.indent + decorator_line(instance, METHODS[treatment.form])
                plan.edits.append(Splice(function.line, function.line, (text,)))
                is_init = function.name == "__init__" and function.scope == "class"
                name = function.qualname
                kind: SiteKind = "init" if is_init else "decorator"
                plan.sites.append(PlannedSite(kind, name, name, category, function.line))
