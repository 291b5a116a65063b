"""Environment variables of the tracer: what it is to set one, and what is wrong with what is set.

A *setting* is what reaches the environment of a program: ``os.environ`` and ``env=`` in Python, assignments,
``export``, ``env`` and the options of launchers in shell scripts, maps and lists in YAML, ``ENV`` in a Dockerfile,
lines of a ``.env`` file. What a comment, a message or a here-document says about one is none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from dfannotate import vocabulary

Place = tuple[int, int, int, int]
"""Line, column, end line, end column, all 1-based; columns in characters."""

PREFIXES = (vocabulary.ENV_PREFIX, vocabulary.ENV_PREFIX_OLD)
NAME = rf"(?:{'|'.join(PREFIXES)})\w+"
MENTION = re.compile(rf"\b{NAME}\b")
_CLOSE = 0.75


@dataclass(frozen=True)
class Setting:
    """A variable that is set; ``value`` is None where it is not written out."""

    name: str
    value: str | None
    name_place: Place
    value_place: Place

    @property
    def short(self) -> str:
        """The name without its prefix."""
        return next((self.name.removeprefix(prefix) for prefix in PREFIXES if self.name.startswith(prefix)), self.name)


def fault_of_name(setting: Setting, text: str) -> str:
    """Why no release reads the variable; empty where one does, where it is for building the library, and where it
    may be the program's own: it is expanded in the same ``text``, or resembles none of the tracer's."""
    short = setting.short
    known = [variable.name for variable in vocabulary.VARIABLES]
    if not setting.name.startswith(vocabulary.ENV_PREFIX) or short in known or short in vocabulary.BUILD_VARIABLES:
        return ""
    if re.search(rf"\$\{{?{setting.name}\b", text):
        return ""
    import difflib

    close = difflib.get_close_matches(short, known, n=1, cutoff=_CLOSE)
    return f"no release of the tracer reads it; is `{vocabulary.ENV_PREFIX}{close[0]}` meant?" if close else ""


def fault_of_value(setting: Setting) -> str:
    """What is wrong with a value that is written out; empty where nothing is."""
    value = setting.value
    variable = next((known for known in vocabulary.VARIABLES if known.name == setting.short), None)
    if not value or variable is None or not setting.name.startswith(vocabulary.ENV_PREFIX):
        return ""
    if variable.name in vocabulary.OFF_IS_FINE and value.lower() in vocabulary.OFF_WORDS:
        return ""
    if variable.values is not None and value not in variable.values:
        return variable.otherwise
    bad = dict(variable.bad) if variable.name not in vocabulary.DELIBERATE_VALUES else {}
    return bad.get(value, "")
