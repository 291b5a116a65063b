"""Reading traces, and what follows from them: checks, frames, figures.

A check is a class of one module in ``checks/``; ``discover`` finds them by walking that folder.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from abc import ABC, ABCMeta, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, ClassVar, Literal

from dfannotate.analysis.traces import Traces
from dfannotate.manifest import Manifest

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
        return _matches(self.category, category) and _matches(self.name, name)

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


def _matches(pattern: str, text: str) -> bool:
    return pattern == text or fnmatchcase(text, pattern)


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
        found += [
            value()
            for value in vars(module).values()
            if isinstance(value, ABCMeta) and issubclass(value, Check) and value.__module__ == module.__name__
        ]
    return tuple(sorted(found, key=lambda check: (check.position, check.id)))
