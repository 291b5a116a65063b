"""What is wrong with the tracer's environment variables; the facts about them are in the vocabulary."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dfannotate.vocabulary import (
    BUILD_VARIABLES,
    ENV_INIT,
    ENV_LOG_FILE,
    ENV_PREFIX,
    ENV_PREFIX_OLD,
    ENV_PRELOAD,
    PRELOAD_LIBRARY,
    VARIABLES,
)


@dataclass(frozen=True)
class EnvironmentProblem:
    """A variable whose value does not do what it seems to."""

    name: str
    value: str
    message: str


def tracer_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables of ``environ`` that the tracer of any generation reads, sorted by name."""
    return {
        name: value
        for name, value in sorted(environ.items())
        if name.startswith((ENV_PREFIX, ENV_PREFIX_OLD)) or (name == ENV_PRELOAD and PRELOAD_LIBRARY in value)
    }


def without_tracer_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """``environ`` as if the tracer had never been set up."""
    variables = tracer_variables(environ)
    return {name: value for name, value in environ.items() if name not in variables}


def environment_problems(environ: Mapping[str, str]) -> list[EnvironmentProblem]:
    """Every variable of the tracer that is set to something that does not work, in order of name."""
    found = []
    for name, value in tracer_variables(environ).items():
        message = _problem(name, value, environ)
        if message:
            found.append(EnvironmentProblem(name, value, message))
    return found


def _problem(name: str, value: str, environ: Mapping[str, str]) -> str:
    if name == ENV_PRELOAD:
        return ""
    if name.startswith(ENV_PREFIX_OLD):
        return (
            f"read by the library's predecessor only; it is called {ENV_PREFIX}{name.removeprefix(ENV_PREFIX_OLD)} now"
        )
    short = name.removeprefix(ENV_PREFIX)
    if short in BUILD_VARIABLES:
        return "read when the library is built; it does nothing at run time"
    variable = next((known for known in VARIABLES if known.name == short), None)
    if variable is None:
        close = difflib.get_close_matches(short, [known.name for known in VARIABLES], n=1)
        hint = f"; is {ENV_PREFIX}{close[0]} meant?" if close else ""
        return f"no release of the library reads it{hint}"
    if variable.values is not None and value not in variable.values:
        return variable.otherwise
    for bad, effect in variable.bad:
        if value == bad:
            return effect
    if name == ENV_INIT and value == "PRELOAD" and PRELOAD_LIBRARY not in environ.get(ENV_PRELOAD, ""):
        return f"without the library in {ENV_PRELOAD} nothing is intercepted, and forked workers leave empty traces"
    if name == ENV_LOG_FILE and not Path(value).absolute().parent.is_dir():
        return "its folder does not exist, so nothing is written: make the folder first"
    return ""
