"""Shell scripts, as far as it takes to know what they set: words with their quotes, commands, comments,
here-documents; no expansion. Dockerfiles are read the same way."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_BREAKS = ";|&()\n"
_ENDS = frozenset(" \t\r\f<>" + _BREAKS)
_HEREDOC = re.compile(r"<<(?P<dash>-?)[ \t]*(?P<quote>['\"\\]?)(?P<word>[^\W\d][\w.\-]*)")
_ASSIGNED = re.compile(r"(?P<name>[A-Za-z_]\w*)=")
_LISTED = re.compile(r"(?:^|(?<=[,=\s]))(?P<name>[A-Za-z_]\w*)=(?P<value>[^,]*)")
_OPENING = frozenset(
    {"{", "}", "then", "do", "else", "elif", "if", "while", "until", "!", "time", "nohup", "RUN", "sudo"}
)
_SAYING = frozenset(
    {"echo", "printf", "grep", "egrep", "fgrep", "rg", "sed", "awk", "test", "[", "[[", "unset", "logger", "cmake"}
)
_DECLARING = frozenset({"export", "declare", "typeset"})
_LOCAL = frozenset({"local", "readonly"})
_DIRECTIVE = re.compile(r"^[ \t]*#(?:SBATCH|PBS|BSUB|FLUX:?|flux:|COBALT|\$)[ \t](?P<rest>.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Assignment:
    """``NAME=value`` by offsets in the text; ``value`` is None where something in it is expanded."""

    name: str
    value: str | None
    start: int
    value_start: int
    end: int


@dataclass(frozen=True)
class _Word:
    start: int
    end: int
    text: str
    """Without quotes."""
    literal: bool
    raw: str


def assignments(
    text: str, prefixes: tuple[str, ...], start: int = 0, end: int | None = None, alone: bool = False
) -> Iterator[Assignment]:
    """The variables with one of ``prefixes`` that a stretch of a script sets for the programs that it starts.

    One that is assigned and no more counts if it is exported anywhere in the text, or with ``alone``, as in ``.env``
    files."""
    end = len(text) if end is None else end
    exported = set(
        re.findall(r"^[^#\n]*\bexport[ \t]+(?:-\w+[ \t]+)*([A-Za-z_]\w*)[ \t]*(?:$|[;&|#\n])", text, re.MULTILINE)
    )
    all_exported = re.search(r"^[ \t]*set[ \t]+-(?:\w*a\w*|o[ \t]+allexport)\b", text, re.MULTILINE) is not None
    for words in _commands(text, start, end):
        for found, is_alone in _in_command(words):
            if not found.name.startswith(prefixes):
                continue
            if not is_alone or alone or all_exported or found.name in exported:
                yield found


def directives(text: str, name: str) -> Iterator[Assignment]:
    """What the comments set that a batch system reads: ``#SBATCH --export=ALL,NAME=value``; ``name`` is a pattern."""
    pair = re.compile(rf"(?:(?<=[,=\s\"'])|^)(?P<name>{name})=(?P<value>[^,\s\"']*)")
    for line in _DIRECTIVE.finditer(text):
        for found in pair.finditer(text, line.start("rest"), line.end("rest")):
            value = None if "$" in found["value"] else found["value"]
            yield Assignment(found["name"], value, found.start("name"), found.start("value"), found.end("value"))


def _in_command(words: Sequence[_Word]) -> Iterator[tuple[Assignment, bool]]:
    """The assignments of one command, each with whether it stands alone, for the script itself."""
    rest = list(words)
    while rest and rest[0].text in _OPENING:
        del rest[0]
    first: list[_Word] = []
    while rest and _ASSIGNED.match(rest[0].raw):
        first.append(rest.pop(0))
    yield from ((_assigned(word), not rest) for word in first)
    if not rest:
        return
    command, given = rest[0].text.rpartition("/")[2], rest[1:]
    if command in _SAYING:
        return
    if command in _DECLARING | _LOCAL:
        options = "".join(word.text for word in given if word.text.startswith("-"))
        is_alone = command != "export" and "x" not in options
        yield from ((_assigned(word), is_alone) for word in given if _ASSIGNED.match(word.raw))
    elif command == "setenv" or (command == "set" and given and re.match(r"-\w*x", given[0].text)):
        named = given[command == "set" :]
        if len(named) == 2:
            yield _pair(*named), False
    elif command in ("ENV", "ARG") and len(given) == 2 and not _ASSIGNED.match(given[0].raw):
        yield _pair(*given), False
    else:
        yield from ((found, False) for found in _in_arguments(given))


def _in_arguments(words: Sequence[_Word]) -> Iterator[Assignment]:
    """``env NAME=value program``, ``docker run -e NAME=value``, ``sbatch --export=ALL,NAME=value``, ``mpiexec -genv
    NAME value``."""
    for index, word in enumerate(words):
        before = words[index - 1].text if index else ""
        if before == "-D":
            continue
        if before in ("-genv", "-env") and index + 1 < len(words):
            yield _pair(word, words[index + 1])
        elif _ASSIGNED.match(word.raw) and not (before.startswith("-") and "," in word.text):
            yield _assigned(word)
        elif word.text.startswith("-") or before.startswith("-"):
            for found in _LISTED.finditer(word.raw):
                value = found["value"].strip("\"'")
                start = word.start + found.start("value")
                literal = not re.search(r"[$`]", value)
                yield Assignment(
                    found["name"],
                    value if literal else None,
                    word.start + found.start("name"),
                    start,
                    start + len(found["value"]),
                )


def _assigned(word: _Word) -> Assignment:
    name, _, value = word.text.partition("=")
    return Assignment(name, value if word.literal else None, word.start, word.start + len(name) + 1, word.end)


def _pair(name: _Word, value: _Word) -> Assignment:
    return Assignment(name.text, value.text if value.literal else None, name.start, value.start, value.end)


# --- words ------------------------------------------------------------------------------------------------------------


def _commands(text: str, position: int, end: int) -> Iterator[list[_Word]]:
    words: list[_Word] = []
    waiting: list[tuple[str, bool]] = []  # here-documents that begin on the next line
    while position < end:
        sign = text[position]
        if sign == "\n":
            yield words
            words, position = [], position + 1
            for delimiter, dash in waiting:
                position = _behind(text, position, end, delimiter, dash)
            waiting = []
        elif sign in _BREAKS:
            yield words
            words, position = [], position + 1
        elif sign == "#":
            newline = text.find("\n", position, end)
            position = end if newline < 0 else newline
        elif sign == "\\" and text.startswith(("\n", "\r\n"), position + 1):
            position = text.index("\n", position) + 1
        elif text.startswith("<<<", position):  # a string, and no document
            position += 3
        elif sign == "<" and (found := _HEREDOC.match(text, position, end)):
            waiting.append((found["word"], bool(found["dash"])))
            position = found.end() + (found["quote"] in ("'", '"') and found["quote"] != "")
        elif sign in _ENDS:
            position += 1
        else:
            words.append(_word(text, position, end))
            position = max(words[-1].end, position + 1)
    yield words


def _behind(text: str, position: int, end: int, word: str, dash: bool) -> int:
    """Where a here-document ends."""
    while position < end:
        newline = text.find("\n", position, end)
        after = end if newline < 0 else newline + 1
        line = text[position:after].rstrip("\r\n")
        position = after
        if (line.lstrip(" \t") if dash else line.strip()) == word:
            break
    return position


def _word(text: str, start: int, end: int) -> _Word:
    parts: list[str] = []
    position, literal = start, True
    while position < end and text[position] not in _ENDS:
        sign = text[position]
        if sign == "'":
            close = text.find("'", position + 1, end)
            close = end if close < 0 else close
            parts.append(text[position + 1 : close])
            position = close + 1
        elif sign == '"':
            position += 1
            while position < end and text[position] != '"':
                if text[position] == "\\" and position + 1 < end:
                    parts.append(text[position + 1])
                    position += 2
                elif text[position] in "$`":
                    literal, position = False, _expansion(text, position, end)
                else:
                    parts.append(text[position])
                    position += 1
            position += 1
        elif sign == "\\":
            if not text.startswith(("\n", "\r\n"), position + 1):
                parts.append(text[position + 1 : position + 2])
            position += 2
        elif sign in "$`":
            literal, position = False, _expansion(text, position, end)
        else:
            parts.append(sign)
            position += 1
    position = min(position, end)
    return _Word(start, position, "".join(parts), literal, text[start:position])


def _expansion(text: str, position: int, end: int) -> int:
    """Where ``$name``, ``${…}``, ``$(…)`` or ``\\`…\\``` ends."""
    if text[position] == "`":
        close = text.find("`", position + 1, end)
        return end if close < 0 else close + 1
    opening = text[position + 1 : position + 2]
    if opening not in ("(", "{"):
        return position + 1
    closing, depth, position = (")" if opening == "(" else "}"), 1, position + 2
    while position < end and depth:
        sign = text[position]
        if sign == "\\":
            position += 1
        elif sign == "'" and opening == "(":
            close = text.find("'", position + 1, end)
            position = end if close < 0 else close
        elif sign == opening:
            depth += 1
        elif sign == closing:
            depth -= 1
        position += 1
    return min(position, end)
