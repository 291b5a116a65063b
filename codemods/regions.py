"""A region around the body of every function where a decorator could be seen.

A region adds no frame, no wrapper and no attribute: properties stay properties, coroutine functions stay what
``inspect`` says they are and are timed until they are done, and a function that looks at its caller finds it.
"""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

from dfannotate.codemods import Codemod, Plan, PlannedSite
from dfannotate.edits import Indent
from dfannotate.facts import FunctionFacts
from dfannotate.shapes import region_line


class Regions(Codemod):
    """Regions, each with a name of its own in the file."""

    ID: ClassVar[str] = "regions"

    def plan(self, plan: Plan) -> None:
        regions = [f for f in plan.facts.functions if plan.treatments[f.line].form == "region"]
        taken = Counter(function.name for function in regions)
        taken.update(f.qualname for f in plan.facts.functions if plan.treatments[f.line].form not in ("region", "none"))
        for function in regions:
            name = function.name if taken[function.name] == 1 else function.qualname
            category = plan.category_of(function)
            _wrap(plan, function, category, name)
            plan.sites.append(PlannedSite("region", function.qualname, name, category, function.line))


def _wrap(plan: Plan, function: FunctionFacts, category: str, name: str) -> None:
    block = function.block
    assert block is not None
    line = block.prefix + region_line(plan.names, category, name)
    unit = plan.facts.indent_unit
    plan.edits.append(Indent(block.first, block.last, block.prefix, unit, (line,), (), block.broken))
    plan.use(function.line, "function")
