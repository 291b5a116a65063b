"""Loaders whose worker processes trace themselves.

The argument by which a worker can be made to run something is kept: what the program gives is wrapped where it stands,
and is run once tracing has started. A call that gives none gets one; a call whose arguments cannot be told, because it
unpacks them or because a ``functools.partial`` leaves them to a later call, is made through a function that looks at
them. Where a class of the project has an ``__init__`` of its own, its call of the base's is the one that counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import ClassVar

from dfannotate.calls import Argument, Position, WorkerCall
from dfannotate.codemods import Codemod, Plan, PlannedSite
from dfannotate.edits import Rewrite
from dfannotate.manifest import SiteKind
from dfannotate.rules.loaders import Maker
from dfannotate.worker_shapes import ADDED, Part, around_callee, around_callee_of_context, around_value, new_value

MODULE = "<module>"


class Workers(Codemod):
    """Loaders."""

    ID: ClassVar[str] = "workers"

    def plan(self, plan: Plan) -> None:
        plan_calls(plan, {"dataloader"})
        for value in plan.facts.worker_values:
            makers = {plan.context.makers.get(name) for name in value.names}
            if makers != {None} and (len(value.names) == 1 or _common(makers) is None):
                name = next(name for name in value.names if name in plan.context.makers)
                plan.notes.append(
                    f"{plan.facts.path}:{value.line}: {name} is handed on: workers are traced only where it is called "
                    "by a name that can be followed"
                )


def plan_calls(plan: Plan, kinds: Iterable[SiteKind]) -> None:
    """Plan the calls of the file that make workers of the given kinds."""
    own = max(plan.facts.tracer.import_line, plan.facts.tracer.instance_line)
    for call in plan.facts.worker_calls:
        maker = _maker(plan, call)
        if maker is None or maker.kind not in kinds:
            continue
        if call.line <= own and not _runs_later(plan, call):
            plan.notes.append(f"{plan.facts.path}:{call.line}: workers are made before the tracer is imported")
            continue
        _plan_call(plan, call, maker)


def _maker(plan: Plan, call: WorkerCall) -> Maker | None:
    """What all that the callee may stand for have in common; None where one of them is something else."""
    return _common({plan.context.makers.get(name) for name in call.callees})


def _common(makers: Set[Maker | None]) -> Maker | None:
    first = next(iter(makers))
    if first is None or len(makers) == 1:
        return first
    alike = all(maker and (maker.kind, maker.argument) == (first.kind, first.argument) for maker in makers)
    return Maker(first.kind, first.argument, None) if alike else None


def _plan_call(plan: Plan, call: WorkerCall, maker: Maker) -> None:
    given = _given(call, maker)
    unpacks = any(argument.keyword.startswith("*") for argument in call.arguments)
    worker = plan.names.worker
    part: Part = "worker"
    if maker.is_asked:
        part = "worker-context"
        _put_around(plan, call.callee, around_callee_of_context(worker, maker.argument, maker.position))
        place = call.callee.start
    elif call.partial or (given is None and (unpacks or call.further is None)):
        part = "worker-call"
        _put_around(plan, call.callee, around_callee(worker, maker.argument, maker.position))
        place = call.callee.start
    elif given is not None:
        _put_around(plan, given, around_value(worker))
        place = given.start
    elif maker.argument in ADDED:
        assert call.further is not None
        place = call.further
        _put(plan, place, f"{call.separator}{maker.argument}={new_value(worker)}", 0)
    else:
        return  # a process without a target runs nothing
    plan.use(0 if _runs_later(plan, call) else call.line, "logger", "enabled", part)
    plan.sites.append(PlannedSite(maker.kind, call.function or MODULE, "", "", 0, place=place))


def _given(call: WorkerCall, maker: Maker) -> Argument | None:
    """The argument that says what a worker runs, where the call shows it."""
    position = 0
    for argument in call.arguments:
        if argument.keyword == maker.argument or (not argument.keyword and position == maker.position):
            return argument
        if argument.keyword == "*":
            position = -len(call.arguments)  # whatever follows stands nobody knows where
        position += 1
    return None


def _put_around(plan: Plan, argument: Argument, texts: tuple[str, str]) -> None:
    """Put a text before and one after; around the same beginning the longer expression is the outer one."""
    (line, column), (end_line, end_column) = argument.start, argument.end
    size = (end_line - line) * 10_000 + end_column - column
    _put(plan, argument.start, texts[0], -size)
    _put(plan, argument.end, texts[1], size)


def _put(plan: Plan, place: Position, text: str, rank: int) -> None:
    plan.edits.append(Rewrite(*place, *place, text, rank))


def _runs_later(plan: Plan, call: WorkerCall) -> bool:
    """Whether a call stands in a function, and so is not made while the module is imported."""
    return any(function.qualname == call.function for function in plan.facts.functions)
