"""Processes and pools whose children trace themselves.

What a child runs is wrapped where it is given: the target of a process, the initializer of a pool, the function of a
``spawn``. A class of the project that has its own ``run`` starts tracing there, in front of all else.
"""

from __future__ import annotations

from typing import ClassVar

from dfannotate.codemods import Codemod, Plan, PlannedSite
from dfannotate.codemods.workers import plan_calls
from dfannotate.edits import Indent
from dfannotate.facts import FunctionFacts
from dfannotate.rules.loaders import FORKS, UNREACHED
from dfannotate.worker_shapes import start_line


class Processes(Codemod):
    """Processes, pools, and a word on forks and on the processes of others."""

    ID: ClassVar[str] = "processes"
    ORDER: ClassVar[int] = -1  # a function in which tracing starts cannot be decorated

    def plan(self, plan: Plan) -> None:
        plan_calls(plan, {"process", "pool"})
        for function in plan.facts.functions:
            if function.name == "run" and function.scope == "class" and function.owner in plan.context.process_classes:
                _start_in(plan, function)
        for call in plan.facts.worker_calls:
            if not UNREACHED.isdisjoint(call.callees):
                plan.notes.append(
                    f"{plan.facts.path}:{call.line}: where {call.callees[0]}() makes processes, these trace nothing"
                )
            if not FORKS.isdisjoint(call.callees):
                plan.notes.append(
                    f"{plan.facts.path}:{call.line}: a child of {call.callees[0]}() traces itself no further than its "
                    "parent does, and leaves an empty trace where it ends by os._exit(); use multiprocessing.Process"
                )


def _start_in(plan: Plan, function: FunctionFacts) -> None:
    block = function.block
    if block is None or function.is_async or function.is_generator:
        return
    own = max(plan.facts.tracer.import_line, plan.facts.tracer.instance_line)
    if function.line <= own or plan.is_annotated(function):
        plan.notes.append(f"{plan.facts.path}:{function.line}: tracing is not started in {function.qualname}()")
        return
    line = block.prefix + start_line(plan.names.worker)
    # A block that does not move, so that a region in the same function comes to stand below.
    plan.edits.append(Indent(block.first, block.last, block.prefix, "", (line,), (), block.broken))
    plan.starts.add(function.qualname)
    plan.use(0, "logger", "enabled", "worker-start")
    plan.sites.append(PlannedSite("process", function.qualname, "", "", function.line))
