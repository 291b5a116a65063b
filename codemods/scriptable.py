"""What one function says of what TorchScript compiles with it: the types that it names, and what it calls."""

from __future__ import annotations

import builtins
from dataclasses import dataclass

from dfannotate.facts import FunctionFacts
from dfannotate.names import UNNAMED

SCRIPT = "torch.jit."
"""How the names of what compiles a function, or keeps it from that, begin."""

_OF_OBJECTS = ("self.", "cls.", UNNAMED)  # not those that begin with a dot: a relative import may be behind it

BUILTINS = frozenset(vars(builtins))


@dataclass(frozen=True)
class Compilable:
    """What TorchScript would compile on account of a function that it compiles."""

    qualname: str
    types: frozenset[str]
    """The names, dotted and as they are written, of what its annotations and type tests say."""
    calls: frozenset[str]
    """What it calls, dotted and resolved."""
    is_scripted: bool
    """A decorator compiles it."""
    is_unused: bool
    """A decorator leaves it out of its class, with its signature, but not that out of a module."""


def find_compilable(function: FunctionFacts) -> Compilable | None:
    """What a function says of what is compiled with it, None where that is nothing."""
    types, calls = function.signature_types, frozenset[str]()
    is_left = bool(function.decorators) and _is_left_to_python(function.decorators)
    if not is_left:
        if not function.is_scriptable:
            return None
        types |= function.body_types
        # What an object does is its class's matter.
        calls = frozenset([c.name for c in function.calls if not c.name.startswith(_OF_OBJECTS)]) - BUILTINS
    types -= BUILTINS
    if not types and not calls:
        return None
    is_scripted = not is_left and any(name.startswith(SCRIPT) for name in function.decorators)
    return Compilable(function.qualname, types, calls, is_scripted, _is_unused(function.decorators))


def _is_left_to_python(decorators: tuple[str, ...]) -> bool:
    """Whether TorchScript has Python call a function (``@torch.jit.ignore``) or forbids the call (``…unused``)."""
    return any(name.startswith(SCRIPT) and name.endswith((".ignore", ".unused")) for name in decorators)


def _is_unused(decorators: tuple[str, ...]) -> bool:
    return any(name.startswith(SCRIPT) and name.endswith(".unused") for name in decorators)


def keeps_class_from_script(method: FunctionFacts) -> bool:
    """Whether a class cannot be compiled, as nothing leaves out the method that holds what TorchScript refuses, or
    reaches for a base, which it knows of modules only. In a class that is no module, ``ignore`` leaves out nothing."""
    is_left_out = "staticmethod" in method.decorators or method.name == "__new__"
    is_left_out |= _is_unused(method.decorators)
    return not is_left_out and (not method.is_scriptable or _calls_base(method))


def _calls_base(method: FunctionFacts) -> bool:
    """Whether a method calls one of a base, and not where TorchScript does not look."""
    if not any(call.name == "super" for call in method.calls):
        return False
    return not any(call.name.rpartition(".")[2] == "is_scripting" for call in method.calls)
