"""One file from its source to its annotated text and its manifest entry: plan, edits, self-check, line numbers."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

from dfannotate.codemods import Context, Plan, PlannedSite, make_plan
from dfannotate.codemods.events import check_events
from dfannotate.edits import Edited, new_places, rewrite_checked
from dfannotate.facts import ModuleFacts
from dfannotate.manifest import FileEntry, Site
from dfannotate.source import Source, digest


@dataclass(frozen=True)
class Annotated:
    """What became of a file. ``edited`` is None where nothing is to be changed; ``entry`` is complete either way."""

    entry: FileEntry
    edited: Edited | None
    notes: tuple[str, ...]


def annotate(source: Source, facts: ModuleFacts, context: Context) -> Annotated:
    """Plan and make every annotation of one file.

    Raises ``EditError`` where an event that was asked for cannot be logged, and where the self-check fails."""
    context = replace(
        context,
        configured_events=check_events(source, facts, context.configured_events),
        kept_events=check_events(source, facts, context.kept_events),
    )
    plan = make_plan(facts, context)
    category = facts.tracer.instance_category or context.category
    if not plan.edits:
        entry = FileEntry(source.path, category, plan.is_entry, source.sha256, source.sha256, (), tuple(plan.skipped))
        return Annotated(entry, None, tuple(plan.notes))
    edited = rewrite_checked(source, plan.edits, plan.names)
    entry = FileEntry(
        path=source.path,
        category=category,
        entry=plan.is_entry,
        sha256_before=source.sha256,
        sha256_after=digest(source.encode(edited.text)),
        sites=_located(plan, edited),
        skipped=tuple(plan.skipped),
        undo=edited.undo,
        names=asdict(plan.names),
        introduced=_introduced(plan),
        events=context.kept_events,
        choices=context.choices,
        shim=plan.shim.path if plan.shim else "",
    )
    return Annotated(entry, edited, tuple(plan.notes))


def _introduced(plan: Plan) -> tuple[str, ...]:
    own = plan.facts.tracer
    names = {name for name in ("logger", "function", "enabled", "instance") if not getattr(own, name)}
    return tuple(sorted(names | {"atexit", "log", "event"} | ({plan.blank} if plan.blank else set())))


def _located(plan: Plan, edited: Edited) -> tuple[Site, ...]:
    """The sites with their lines in the new text. Functions stand in the same order in both."""
    old = sorted(function.line for function in plan.facts.functions)
    line_of = dict(zip(old, edited.functions, strict=True))
    marked = sorted((site for site in plan.sites if not site.anchor), key=lambda site: site.place)
    found = zip(marked, _lines_with_marks(marked, edited), strict=True)
    lines = [*found, *((site, line_of[site.anchor]) for site in plan.sites if site.anchor)]
    sites = [Site(site.kind, site.function, site.event, site.category, line) for site, line in lines]
    return tuple(sorted(sites, key=lambda site: site.line))


def _lines_with_marks(sites: list[PlannedSite], edited: Edited) -> list[int]:
    found = []
    marks = {site.mark for site in sites}
    for hunk, (start, _) in zip(edited.hunks, new_places(edited.hunks), strict=True):
        for offset, line in enumerate(hunk.lines):
            if any(line.lstrip().startswith(mark) for mark in marks):
                found.append(start + offset)
    return found
