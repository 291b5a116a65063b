"""Variables of the tracer that a file sets which is no Python: scripts, recipes, ``.env`` files, YAML."""

from __future__ import annotations

import bisect
import itertools
import re
from collections.abc import Iterator

from dfannotate.rules import TextFile
from dfannotate.rules.shell import Assignment, assignments, directives
from dfannotate.rules.variables import MENTION, NAME, PREFIXES, Place, Setting

_SCRIPTS = frozenset(
    {"run", "script", "scripts", "command", "commands", "cmd", "args", "before_script", "after_script", "entrypoint"}
    | {"shell", "exec", "launch"}
)
_KEY = re.compile(
    r"(?P<lead>[ \t]*(?:-[ \t]+)*)(?:(?P<quote>[\"']?)(?P<key>[\w.\-/]+)(?P=quote)[ \t]*:(?=\s|$)[ \t]*)?"
)
_BLOCK = re.compile(r"[|>][-+\d]*[ \t]*(?:#.*)?$")
_FLOW = re.compile(
    rf"[\"']?(?P<name>{NAME})[\"']?[ \t]*[:=][ \t]*(?P<quote>[\"']?)(?P<value>[^,}}\]\"'\r\n]*)(?P=quote)"
)


def in_text(file: TextFile) -> list[Setting]:
    """Every setting of a file that is no Python, in order."""
    if not MENTION.search(file.text):
        return []
    name = file.path.rpartition("/")[2].lower()
    if name.endswith((".yml", ".yaml")):
        found = _in_yaml(file)
    elif name.startswith((".env", "env.")) or name.endswith(".env"):
        found = assignments(file.text, PREFIXES, alone=True)
    else:
        is_recipe = name.startswith(("dockerfile", "containerfile")) or name.endswith(".dockerfile")
        found = itertools.chain(assignments(file.text, PREFIXES, alone=is_recipe), directives(file.text, NAME))
    starts = [0, *itertools.accumulate(map(len, file.lines))]

    def place(begin: int, end: int) -> Place:
        first, last = (bisect.bisect_right(starts, offset) for offset in (begin, end))
        last = min(last, len(file.lines)) or 1
        return first, begin - starts[first - 1] + 1, last, end - starts[last - 1] + 1

    settings = [
        Setting(one.name, one.value, place(one.start, one.start + len(one.name)), place(one.value_start, one.end))
        for one in found
    ]
    return sorted(settings, key=lambda setting: setting.name_place)


def _in_yaml(file: TextFile) -> Iterator[Assignment]:
    """Maps, lists, pairs of ``name`` and ``value``, and the scripts that are written in YAML."""
    text, offset, pending = file.text, 0, None
    block: tuple[int, int, bool] | None = None  # indentation of its header, where it begins, whether it is a script
    for line in [*file.lines, ""]:
        start, offset = offset, offset + len(line)
        bare = line.rstrip("\r\n")
        indent = len(bare) - len(bare.lstrip(" "))
        if block is not None:
            if line and (not bare.strip() or indent > block[0]):
                continue
            if block[2]:
                yield from assignments(text, PREFIXES, block[1], start)
            block = None
        if not bare.strip() or bare.lstrip().startswith("#"):
            continue
        found = _KEY.match(bare)
        assert found is not None
        key, rest = found["key"] or "", bare[found.end() :]
        begin = start + found.end()
        if _BLOCK.fullmatch(rest):
            block = (indent, offset, key in _SCRIPTS or not key)
        elif rest[:1] in "[{" and rest:
            for pair in _FLOW.finditer(text, begin, start + len(bare)):
                value = _literal(pair["value"].strip())
                yield Assignment(pair["name"], value, pair.start("name"), pair.start("value"), pair.end("value"))
        elif MENTION.fullmatch(key):
            yield _scalar(text, key, start + found.start("key"), begin, start + len(bare))
        elif key == "name" and MENTION.fullmatch(rest.strip("\"' ")):
            pending = rest.strip("\"' "), begin + len(rest) - len(rest.lstrip("\"' "))
            continue
        elif key == "value" and pending:
            yield _scalar(text, pending[0], pending[1], begin, start + len(bare))
        elif key in _SCRIPTS or (not key and "-" in found["lead"]):
            quote = rest[:1] if rest[:1] in "\"'" and rest[:1] else ""
            end = start + len(bare) - (1 if quote and rest.endswith(quote) else 0)
            yield from assignments(text, PREFIXES, begin + len(quote), end, alone=not key)
        pending = None


def _scalar(text: str, name: str, name_start: int, begin: int, end: int) -> Assignment:
    raw = text[begin:end]
    quoted = re.match(r"(?P<quote>[\"'])(?P<value>[^\"']*)(?P=quote)", raw)
    if quoted:
        return Assignment(
            name, _literal(quoted["value"]), name_start, begin + quoted.start("value"), begin + quoted.end("value")
        )
    plain = re.sub(r"[ \t]+#.*", "", raw).strip()
    value = None if plain in ("", "~", "null") or plain[:1] in "*&!|>" else _literal(plain)
    return Assignment(name, value, name_start, begin, begin + len(plain))


def _literal(value: str) -> str | None:
    """A value without anything that is filled in later."""
    return None if re.search(r"[$`<>%]|\{\{", value) else value
