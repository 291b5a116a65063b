"""A tracer that does to functions what dftracer's Python half does, and keeps the events in a list.

It converts what is called epoch, step, image_idx or image_size, raises where that is no number, times nothing but the
call of a decorated function, and logs no event where one raises.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import io
import sys
import types
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

CONVERTED = {"epoch": int, "step": int, "image_idx": int, "image_size": float}
MODULES = ("dftracer", "dftracer.python")


class Function:
    """``dft_fn``: makes decorators and is a region. All of them log to ``events``, by the count of a common clock."""

    events: list[tuple[str, str]]
    spans: dict[str, tuple[int, int]]
    ticks = 0

    def __init__(self, cat: str, name: str | None = None) -> None:
        self.cat = cat
        self.name = name

    @classmethod
    def tick(cls) -> int:
        cls.ticks += 1
        return cls.ticks

    def __enter__(self) -> Function:
        self.start = self.tick()
        return self

    def __exit__(self, *error: object) -> None:
        self.note(str(self.name), self.start)

    def note(self, name: str, start: int) -> None:
        self.events.append((self.cat, name))
        self.spans[name] = (start, self.tick())

    def _wrap(self, function: Callable[..., Any], convert: Callable[..., None]) -> Callable[..., Any]:
        name = function.__qualname__

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            convert(args, kwargs)
            start = self.tick()
            result = function(*args, **kwargs)
            self.note(name, start)
            return result

        return wrapper

    def log(self, function: Callable[..., Any]) -> Callable[..., Any]:
        names = inspect.getfullargspec(function)[0]

        def convert(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            if names[:1] == ["self"]:
                for attribute, kind in CONVERTED.items():
                    if hasattr(args[0], attribute):
                        kind(getattr(args[0], attribute))
            given = {**dict(zip(names[1:], args[1:], strict=False)), **kwargs, **_defaults(function)}
            for parameter in CONVERTED.keys() & given:
                CONVERTED[parameter](given[parameter])

        return self._wrap(function, convert)

    def log_init(self, function: Callable[..., Any]) -> Callable[..., Any]:
        names = inspect.getfullargspec(function)[0]

        def convert(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            given = {**dict(zip(names, args, strict=False)), **kwargs, **_defaults(function)}
            for parameter in CONVERTED.keys() & given:
                if given[parameter] is not None:
                    CONVERTED[parameter](given[parameter])

        wrapped = self._wrap(function, convert)

        @functools.wraps(function)
        def new_init(*args: Any, **kwargs: Any) -> None:
            wrapped(*args, **kwargs)

        return new_init

    def log_static(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return self._wrap(function, lambda args, kwargs: None)


def _defaults(function: Callable[..., Any]) -> dict[str, Any]:
    parameters = inspect.signature(function).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not inspect.Parameter.empty}


@dataclass(frozen=True)
class Outcome:
    """What one run of a program could be told by: its output, the exception that ended it, and its warnings with the
    lines of text that they were shown at."""

    output: str
    error: str
    warned: tuple[tuple[str, str], ...]


def run(text: str, name: str = "program") -> tuple[Outcome, list[tuple[str, str]], dict[str, tuple[int, int]]]:
    """Execute a program as the module ``name``; its outcome, its events by (category, name), and when the last event of
    each name began and ended."""
    tracer = type("Tracer", (Function,), {"events": [], "spans": {}})
    module = types.ModuleType(name)
    fake = types.ModuleType(MODULES[1])
    fake.dft_fn = tracer  # type: ignore[attr-defined]
    fake.DFTRACER_ENABLE = False  # type: ignore[attr-defined]
    fake.dftracer = object()  # type: ignore[attr-defined]
    before = {key: sys.modules.get(key) for key in (*MODULES, name)}
    sys.modules.update({MODULES[0]: types.ModuleType(MODULES[0]), MODULES[1]: fake, name: module})
    output, error = io.StringIO(), ""
    lines = text.splitlines()
    limit = sys.getrecursionlimit()
    try:
        with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(output):
            warnings.simplefilter("always")
            try:
                exec(compile(text, f"{name}.py", "exec", dont_inherit=True), vars(module))
            except Exception as raised:
                error = f"{type(raised).__name__}: {raised}"
    finally:
        sys.setrecursionlimit(limit)
        for key, value in before.items():
            if value is None:
                sys.modules.pop(key, None)
            else:
                sys.modules[key] = value
    warned = tuple((str(w.message), lines[w.lineno - 1].strip() if w.filename == f"{name}.py" else "") for w in caught)
    return Outcome(output.getvalue(), error, warned), tracer.events, tracer.spans  # type: ignore[attr-defined]
