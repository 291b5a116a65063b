"""Reading traces, and what follows from them: checks, frames, figures.

In a notebook: ``open_trace`` for frames of what is in a trace, ``overlap`` for how much of it is hidden behind what,
and ``verify`` for whether it is all there.

A check is a class of one module in ``checks/``; ``discover`` finds them by walking that folder.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from dfannotate.analysis.figures import OverlapAnswer

# Imported here, so that from here on the name stands for the function and no longer for the module that it is in.
from dfannotate.analysis.overlap import Question, answer
from dfannotate.analysis.overlap import overlap as overlap
from dfannotate.analysis.patterns import matches, parse_pair
from dfannotate.analysis.traces import TraceError, Traces
from dfannotate.manifest import Manifest, load
from dfannotate.members import classes_in

if TYPE_CHECKING:
    from dfannotate.analysis.frame import Trace
    from dfannotate.analysis.schedule import Watch

Status = Literal["pass", "fail", "warn", "skip"]


@dataclass(frozen=True)
class Outcome:
    """What a check found: one line for people, and the evidence (plain JSON values) in ``details``."""

    id: str
    status: Status
    message: str
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Expectation:
    """So many calls of the events that match: exactly ``count``, or at least that many."""

    text: str
    category: str
    name: str
    count: int
    at_least: bool

    def matches(self, category: str, name: str) -> bool:
        return matches(self.category, category) and matches(self.name, name)

    def holds(self, count: int) -> bool:
        return count >= self.count if self.at_least else count == self.count


_EXPECTATION = re.compile(r"(?P<category>[^:]+):(?P<name>.+?)(?P<relation>>=|=)(?P<count>[0-9]+)", re.DOTALL)


def parse_expectation(text: str) -> Expectation:
    """``CATEGORY:NAME=N`` or ``CATEGORY:NAME>=N``.

    The category ends at the first ``:`` and the number begins after the last ``=`` or ``>=``, so a name may hold both
    characters. Category and name are ``fnmatch`` patterns (``?`` stands for a ``:`` in a category); what equals the
    text as it stands matches too. Raises ``ValueError`` for anything else."""
    match = _EXPECTATION.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not CATEGORY:NAME=N or CATEGORY:NAME>=N (for example IO:read*>=1)")
    return Expectation(text, match["category"], match["name"], int(match["count"]), match["relation"] == ">=")


class Check(ABC):
    """A pure function of the run, the manifest (None: there is none) and the expectations, to an outcome.

    Data that is missing is a fail, or a skip with the reason, never a pass."""

    id: ClassVar[str]
    position: ClassVar[int]
    """Where it stands among the others in the output."""

    @abstractmethod
    def run(self, traces: Traces, manifest: Manifest | None, expectations: Sequence[Expectation]) -> Outcome: ...


def discover() -> tuple[Check, ...]:
    """All checks, in the order of the output."""
    from dfannotate.analysis import checks

    found: list[Check] = []
    for module_info in pkgutil.iter_modules(checks.__path__):
        module = importlib.import_module(f"{checks.__name__}.{module_info.name}")
        found += [member() for member in classes_in(module, Check)]
    return tuple(sorted(found, key=lambda check: (check.position, check.id)))


def open_trace(path: str | Path, *, jobs: int | None = None) -> Trace:
    """Open the trace files of a folder (or one file): frames ``events``, ``processes`` and ``metadata``, whose columns,
    dtypes and units are in ``dfannotate.analysis.frame``. ``jobs`` is the number of processes, by default one a core.

    Raises ``TraceError`` where there is no trace at all."""
    from dfannotate.analysis.frame import open_trace as opened

    return opened(path, jobs=jobs)


@dataclass(frozen=True)
class Verification:
    """What came of all checks; ``ok`` if none of them failed."""

    traces: Traces
    outcomes: tuple[Outcome, ...]

    @property
    def ok(self) -> bool:
        return not any(outcome.status == "fail" for outcome in self.outcomes)


def verify(
    path: str | Path,
    *,
    manifest: Manifest | str | Path | None = None,
    expectations: Sequence[Expectation | str] = (),
    workers: int | None = None,
    overlap: str | None = None,
    min_overlap: float | None = None,
    scheduler: str | None = None,
    watch: Watch | None = None,
) -> Verification:
    """Read a trace once and run every check.

    ``manifest`` is what was annotated, or the file that says so; ``expectations`` are as for ``parse_expectation``;
    ``workers`` is how many worker processes there must have been; ``overlap`` is ``A:B``, and ``min_overlap`` how many
    percent of A must be hidden behind B. ``scheduler`` is the address of a Dask scheduler that does the work (default:
    this machine). Raises ``ValueError`` for an expectation or an overlap that is none, ``ManifestError`` for the
    manifest, and ``TraceError`` where there is no trace at all, or the scheduler fails."""
    from dfannotate.analysis.audit import read_audit
    from dfannotate.analysis.partials import Request, gather
    from dfannotate.analysis.schedule import schedule_on

    if min_overlap is not None and overlap is None:
        raise ValueError("a least overlap is given, but not of what (A:B)")
    expected = [parse_expectation(one) if isinstance(one, str) else one for one in expectations]
    known = load(Path(manifest)) if isinstance(manifest, (str, Path)) else manifest
    question = Question(*parse_pair(overlap)) if overlap is not None else None
    path = Path(path)
    with schedule_on(scheduler) as schedule:
        traces, partial = gather(path, schedule, question.request() if question else Request(), watch)
        traces = replace(traces, audit=read_audit(path), workers_expected=workers)
        if question:
            found, refusal = None, ""
            try:
                found = answer(question, traces, partial, schedule, known)
            except TraceError as error:
                refusal = str(error)
            traces = replace(traces, overlap=OverlapAnswer(overlap or "", min_overlap, found, refusal))
    return Verification(traces, tuple(check.run(traces, known, expected) for check in discover()))
