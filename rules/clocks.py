"""Simulations: which functions run on a simulated clock, so that the time on the wall says nothing of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dfannotate.facts import FunctionFacts, ModuleFacts

_PARAMETERS = frozenset(
    {"sim_clock", "sim_now", "sim_time", "simulated_clock", "simulated_time", "simulation_clock", "simulation_time"}
    | {"virtual_clock", "virtual_time"}
)
_CLASSES = frozenset({"simpy.Environment", "simpy.core.Environment"})
PACKAGES = frozenset(name.partition(".")[0] for name in _CLASSES)
"""One of these is named in every file whose annotations can tell a clock."""

HINTS = ("sim", "virtual_")
"""One of these stands in every file that has such a function."""


def is_clock(parameter: str, classes: Iterable[str]) -> bool:
    """Whether a parameter of this name, annotated with these classes (resolved, dotted), is a simulation's clock."""
    return parameter in _PARAMETERS or not _CLASSES.isdisjoint(classes)


def sets_up(function: str) -> bool:
    """Whether a function of this name makes a part of the simulation, which takes none of its time."""
    return function == "__init__"


def clock_of(function: FunctionFacts, module: ModuleFacts) -> str:
    """The parameter that hands ``function`` a simulation's clock; empty where none does."""
    if sets_up(function.name):
        return ""
    for parameter in function.parameters:
        if parameter.kind in ("args", "kwargs"):  # many values, or none
            continue
        if is_clock(parameter.name, _resolved(parameter.annotation, module) if parameter.annotation else ()):
            return parameter.name
    return ""


def _resolved(names: Iterable[str], module: ModuleFacts) -> list[str]:
    global _latest
    if _latest is None or _latest[0] is not module:
        of_simulations = {local: name for local, name in module.imports if name.partition(".")[0] in PACKAGES}
        _latest = (module, of_simulations)
    known = _latest[1]
    if not known:
        return []
    parts = (name.partition(".") for name in names)
    return [known[head] + dot + rest for head, dot, rest in parts if head in known]


_latest: tuple[ModuleFacts, dict[str, str]] | None = None
"""What the imports bring of simulations, for the module that was asked about last."""
