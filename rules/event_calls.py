"""Manual events: the calls of ``log_event``, and what they are given."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dfannotate import vocabulary
from dfannotate.rules import Module
from dfannotate.rules.values import Values
from dfannotate.usage import CallUse, Scope

_EVENT = f"log.{vocabulary.LOG_EVENT}"


@dataclass(frozen=True)
class EventCall:
    """A call of ``log_event`` with its arguments by name, those given by position among them."""

    use: CallUse
    arguments: Mapping[str, ast.expr]

    @property
    def scopes(self) -> tuple[Scope, ...]:
        return self.use.scopes


@dataclass(frozen=True)
class Argument:
    """A value in one of the dictionaries of an event: ``int_args={key: value}``."""

    argument: str
    key: str
    node: ast.AST
    """The key, as it stands there."""
    value: ast.expr
    scopes: tuple[Scope, ...]


def event_calls(module: Module) -> Iterator[EventCall]:
    for use in module.usage.calls(_EVENT):
        arguments: dict[str, ast.expr] = {}
        for name, value in zip(vocabulary.EVENT_ORDER, use.call.args, strict=False):
            if isinstance(value, ast.Starred):
                break
            arguments[name] = value
        arguments.update({keyword.arg: keyword.value for keyword in use.call.keywords if keyword.arg})
        yield EventCall(use, arguments)


def event_arguments(call: EventCall, values: Values) -> Iterator[Argument]:
    """The single values that an event is given, also where the dictionary was made before and kept in a variable."""
    for argument in vocabulary.TAGGED_ARGUMENTS:
        value = call.arguments.get(argument)
        if isinstance(value, ast.Name):
            value = values.only(value.id, call.scopes)
        for key, node, single in entries(value):
            yield Argument(argument, key, node, single, call.scopes)


def entries(value: ast.expr | None) -> Iterator[tuple[str, ast.AST, ast.expr]]:
    """Key (empty where it is none that is written out), its node, and value of a dictionary as it is written."""
    if isinstance(value, ast.Dict):
        for key, single in zip(value.keys, value.values, strict=True):
            if key is not None:
                yield key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else "", key, single
    elif isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "dict":
        for keyword in value.keywords:
            if keyword.arg:
                yield keyword.arg, keyword, keyword.value
