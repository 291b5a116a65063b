"""``@_dft.log`` directly above the ``def`` of every function that deserves it, where it is provably harmless."""

from __future__ import annotations

from typing import ClassVar

from dfannotate import vocabulary
from dfannotate.codemods import Codemod, Plan, PlannedSite
from dfannotate.edits import Splice
from dfannotate.facts import FunctionFacts
from dfannotate.manifest import SiteKind, Skip
from dfannotate.rules.safety import why_unsafe
from dfannotate.rules.selection import why_left_out
from dfannotate.shapes import decorator_line


class Functions(Codemod):
    """Decorators. ``__init__`` gets the form that returns None, as it must."""

    ID: ClassVar[str] = "functions"

    def plan(self, plan: Plan) -> None:
        category = plan.facts.tracer.instance_category or plan.context.category
        for function in plan.facts.functions:
            reason = _why_not(function, plan)
            if reason:
                plan.skipped.append(Skip(function.qualname, function.line, reason))
                continue
            is_init = function.name == "__init__" and function.scope == "class"
            text = decorator_line(plan.names, vocabulary.LOG_INIT if is_init else vocabulary.LOG)
            plan.edits.append(Splice(function.line, function.line, (function.indent + text,)))
            plan.use(function.line, "function", "instance")
            kind: SiteKind = "init" if is_init else "decorator"
            plan.sites.append(PlannedSite(kind, function.qualname, function.qualname, category, function.line))


def _why_not(function: FunctionFacts, plan: Plan) -> str | None:
    facts = plan.facts
    if _is_annotated(function, plan):
        return "annotated"
    if function.is_continued:
        return "continued-line"
    if function.line <= max(facts.tracer.import_line, facts.tracer.instance_line):
        return "before-tracer-import"
    return (
        plan.reserved.get(function.qualname)
        or why_left_out(function, facts)
        or why_unsafe(function, facts, plan.context.around)
    )


def _is_annotated(function: FunctionFacts, plan: Plan) -> bool:
    for name in function.decorators:
        head, _, last = name.rpartition(".")
        if last in vocabulary.DECORATORS and (plan.facts.tracer_modules or head == plan.names.instance):
            return True
    return False
