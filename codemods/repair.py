"""Findings put right: the fixes of one file through the one rewriting path, round by round, until none is left.

In a round, the fixes that do not meet are made together, with the imports that they need, and the file is looked at
anew. Annotations that a fix asks of a codemod are made in a round of their own. A fix after which the file does not
parse, or has a fault that nothing puts right and that was not there, is not made.
"""

from __future__ import annotations

import bisect
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from dfannotate import vocabulary
from dfannotate.codemods import Context, Plan, discover
from dfannotate.edits import Edit, EditError, Hunk, Indent, Reshape, Splice, apply
from dfannotate.facts import ModuleFacts
from dfannotate.rules import Finding, Module, Project, Request, Rule
from dfannotate.rules.engine import NEWEST, Checked, Release, check
from dfannotate.source import ParseFailure, Source, digest, parse_text

ROUNDS = 25
SPELLING = "DFT1"
"""Codes of faults in how something is spelt: what comes to light behind them was there before."""

MakeContext = Callable[[ModuleFacts], Context]
_Key = tuple[str, str, int]


@dataclass(frozen=True)
class Repaired:
    """The text of a file after all fixes, what is still found in it, and how often each code was put right."""

    text: str
    checked: Checked
    fixed: Counter[str] = field(default_factory=Counter)


def category_alone(facts: ModuleFacts) -> Context:
    """What a plan is made by where nothing is known but the file: its module's name is its category."""
    return Context(facts.path.rpartition("/")[2].removesuffix(".py"))


def repair(
    source: Source,
    rules: Sequence[Rule],
    project: Project,
    generation: vocabulary.Generation = vocabulary.CURRENT,
    context: MakeContext = category_alone,
    release: Release = NEWEST,
) -> Repaired:
    """The file as it is once every finding is put right that can be. ``context`` says what the codemods plan by; it is
    asked only where one has to plan. What is not changed keeps its bytes; the result parses, and has no fault that
    cannot be put right and that ``source`` had not."""
    return _Repair(rules, project, generation, context, release).run(source)


def repair_text(
    source: Source, checked: Checked, check_again: Callable[[str], Checked], wanted: Callable[[str], bool] | None = None
) -> Repaired:
    """The same for a file that is no Python, whose fixes are edits of its text; ``source`` has an empty tree."""
    fixed: Counter[str] = Counter()
    for _ in range(ROUNDS):
        chosen = _apart(finding for finding in checked.findings if finding.fix is not None)
        if not chosen:
            break
        try:
            text, _ = apply(source, [edit for finding in chosen if finding.fix for edit in finding.fix.edits])
        except EditError:
            break
        if text == source.text or (wanted is not None and not wanted(text)):
            break
        fixed.update(finding.code for finding in chosen)
        source = replace(source, text=text)
        checked = check_again(text)
    return Repaired(source.text, checked, fixed)


class _Repair:
    def __init__(
        self,
        rules: Sequence[Rule],
        project: Project,
        generation: vocabulary.Generation,
        context: MakeContext,
        release: Release,
    ) -> None:
        self.rules = rules
        self.project = project
        self.generation = generation
        self.context = context
        self.release = release
        self.given_up: set[_Key] = set()

    def run(self, source: Source) -> Repaired:
        module, checked = self._look(source)
        fixed: Counter[str] = Counter()
        seen = {source.text}
        for _ in range(ROUNDS):
            done = self._round(module, checked)
            if done is None:
                break
            module, checked, codes = done
            fixed += codes
            if module.text in seen:  # two rules that undo each other
                break
            seen.add(module.text)
        return Repaired(module.text, checked, fixed)

    def _look(self, source: Source) -> tuple[Module, Checked]:
        module = Module(source, self.project, self.generation)
        return module, check(module, self.rules, self.release)

    def _round(self, module: Module, checked: Checked) -> tuple[Module, Checked, Counter[str]] | None:
        """The module after one round; None where there is nothing to do."""
        fixable = [f for f in checked.findings if f.fix is not None and _key(module, f) not in self.given_up]
        plain = _apart(f for f in fixable if f.fix is not None and not f.fix.requests)
        asked = [f for f in fixable if f.fix is not None and f.fix.requests]
        for chosen in (plain, asked):
            if not chosen:
                continue
            tried = self._tried(module, checked, chosen)
            if tried is not None:
                return (*tried, Counter(finding.code for finding in chosen))
            if len(chosen) > 1:
                for finding in chosen:
                    tried = self._tried(module, checked, [finding])
                    if tried is not None:
                        return (*tried, Counter([finding.code]))
                    self.given_up.add(_key(module, finding))
            else:
                self.given_up.add(_key(module, chosen[0]))
        return None

    def _tried(self, module: Module, checked: Checked, chosen: Sequence[Finding]) -> tuple[Module, Checked] | None:
        """The module with the fixes of ``chosen`` made, None where they do harm or nothing."""
        try:
            text, _ = self._applied(module, chosen)
            if text == module.text:
                return None
            source = with_text(module.source, text)
        except (EditError, ParseFailure):
            return None
        new, after = self._look(source)
        if any(not finding.code.startswith(SPELLING) for finding in chosen):
            before = Counter(finding.code for finding in checked.findings)
            before -= Counter(finding.code for finding in chosen)
            stuck = Counter(finding.code for finding in after.findings if finding.fix is None)
            if stuck - before:
                return None
        return new, after

    def _applied(self, module: Module, chosen: Sequence[Finding]) -> tuple[str, tuple[Hunk, ...]]:
        edits: list[Edit] = []
        needs: set[str] = set()
        first_use = 0
        requests: list[Request] = []
        for finding in chosen:
            fix = finding.fix
            assert fix is not None
            edits += fix.edits
            needs |= fix.needs
            requests += fix.requests
            if fix.needs and fix.first_use:
                first_use = min(first_use or fix.first_use, fix.first_use)
        if needs or requests:
            edits += self._planned(module, needs, first_use, requests)
        return apply(module.source, edits)

    def _planned(self, module: Module, needs: set[str], first_use: int, requests: Sequence[Request]) -> list[Edit]:
        """The edits of the codemods that are asked for, and the imports that these and ``needs`` come to."""
        facts = _with_own_names(module)
        plan = Plan(facts, replace(self.context(module.facts), generation=self.generation))
        plan.names = replace(module.names, instances=plan.names.instances)
        for codemod in discover():
            lines = {request.line for request in requests if request.codemod == codemod.ID}
            if lines:
                _restrict(plan, facts, codemod.ID, lines)
                codemod.plan(plan)
                plan.facts = facts
        if needs:
            plan.use(first_use, *needs)
        plan.finish()
        return plan.edits


def with_text(source: Source, text: str) -> Source:
    """The file with another text. Raises ``ParseFailure`` where it is no Python, or not in the file's encoding."""
    try:
        data = source.encode(text)
        tree = parse_text(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ParseFailure(source.path, 0, 0, str(error)) from None
    return replace(source, text=text, tree=tree, sha256=digest(data))


def _with_own_names(module: Module) -> ModuleFacts:
    """The facts, with the names of the tracer that the module has in whatever way, so that none is imported twice."""
    facts, usage = module.facts, module.usage
    tracer = facts.tracer
    own = {role: usage.local_name(role) for role in ("logger", "function", "enabled", "instance")}
    lines = [use.node.end_lineno or use.node.lineno for use in usage.imports if use.local in own.values()]
    known = replace(
        tracer,
        logger=own["logger"] or tracer.logger,
        function=own["function"] or tracer.function,
        enabled=own["enabled"] or tracer.enabled,
        instance=own["instance"] or tracer.instance,
        import_line=max([tracer.import_line, *lines]),
    )
    return replace(facts, tracer=known)


def _restrict(plan: Plan, facts: ModuleFacts, codemod: str, lines: set[int]) -> None:
    """Let a codemod see only what stands on the given lines (0: all)."""
    if 0 in lines:
        return
    calls = tuple(call for call in facts.worker_calls if call.line in lines)
    plan.facts = replace(facts, worker_calls=calls)
    around = {function.owner for function in facts.functions if function.line in lines and function.name == "run"} | {
        klass.qualname for klass in facts.classes if klass.line in lines
    }
    if codemod == "processes":
        plan.context = replace(plan.context, process_classes=plan.context.process_classes & around)
    elif codemod in ("functions", "regions"):
        for function in facts.functions:
            if function.line not in lines:
                plan.reserved.setdefault(function.qualname, "not-asked-for")


def _key(module: Module, finding: Finding) -> _Key:
    """A finding that is known again after other lines have moved."""
    line = module.lines[finding.line - 1].strip() if finding.line <= len(module.lines) else ""
    return finding.code, line, finding.column


# --- which fixes can be made together ---------------------------------------------------------------------------------

_Place = tuple[int, int]


def _apart(findings: Iterable[Finding]) -> list[Finding]:
    """Of the findings, in order, those whose edits do not meet the edits of one before."""
    taken: list[tuple[_Place, _Place]] = []
    chosen: list[Finding] = []
    for finding in findings:
        assert finding.fix is not None
        places = [_extent(edit) for edit in finding.fix.edits]
        if any(_meets(place, taken) for place in places):
            continue
        for place in places:
            bisect.insort(taken, place)
        chosen.append(finding)
    return chosen


def _extent(edit: Edit) -> tuple[_Place, _Place]:
    """Where an edit begins and ends, line and column."""
    if isinstance(edit, Splice):
        return (edit.line, 0), (edit.end, 0)
    if isinstance(edit, Indent):
        return (edit.first, 0), (edit.last + 1, 0)
    if isinstance(edit, Reshape):
        return (edit.first_line, 0), (edit.end_line + 1, 0)
    return (edit.line, edit.column), (edit.end_line, edit.end_column)


def _meets(place: tuple[_Place, _Place], taken: Sequence[tuple[_Place, _Place]]) -> bool:
    """Whether a place meets one of those taken, which are sorted and lie apart. What touches does not meet, except
    where something is put in at the same point."""
    start, end = place
    index = bisect.bisect_left(taken, place)
    for first, last in taken[max(0, index - 2) : index + 2]:
        if first < end and start < last:
            return True
        if (start == end or first == last) and (start in (first, last) or end in (first, last)):
            return True
    return False
