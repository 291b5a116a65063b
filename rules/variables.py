"""Environment variables of the tracer: where a file sets one, and what is wrong with what it sets.

A *setting* is what reaches the environment of a program: ``os.environ`` and ``env=`` in Python, assignments,
``export``, ``env`` and the options of launchers in shell scripts, maps and lists in YAML, ``ENV`` in a Dockerfile,
lines of a ``.env`` file. What a comment, a message or a here-document says about one is none.
"""

from __future__ import annotations

import ast
import bisect
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from dfannotate import vocabulary
from dfannotate.rules import Module, TextFile
from dfannotate.rules.shell import Assignment, assignments, directives

Place = tuple[int, int, int, int]
"""Line, column, end line, end column, all 1-based; columns in characters."""

PREFIXES = (vocabulary.ENV_PREFIX, vocabulary.ENV_PREFIX_OLD)
NAME = rf"(?:{'|'.join(PREFIXES)})\w+"
_MENTION = re.compile(rf"\b{NAME}\b")
_NAMED = re.compile(rf"[\"']{NAME}[\"']|\b{NAME}[ \t]*=(?!=)")
_ENV_OBJECT = re.compile(r"(?:.*_)?env(?:iron(?:ment)?)?(?:_(?:vars?|variables|dict))?", re.IGNORECASE)
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


# --- what is wrong ----------------------------------------------------------------------------------------------------


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


# --- files of text ----------------------------------------------------------------------------------------------------


def in_text(file: TextFile) -> list[Setting]:
    """Every setting of a file that is no Python, in order."""
    if not _MENTION.search(file.text):
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
        elif _MENTION.fullmatch(key):
            yield _scalar(text, key, start + found.start("key"), begin, start + len(bare))
        elif key == "name" and _MENTION.fullmatch(rest.strip("\"' ")):
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


# --- Python -----------------------------------------------------------------------------------------------------------


def in_python(module: Module) -> list[Setting]:
    """Every setting that a module makes, in order: for itself by ``os.environ``, for a program by ``env=``.

    A dictionary counts where it is known for an environment: by its name, by what it is made from, or where it goes."""
    lines = _lines(module)
    if not lines:
        return []
    found: list[Setting] = []

    def add(key: ast.AST, name: str, value: ast.expr) -> None:
        if _MENTION.fullmatch(name):
            written = value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else None
            found.append(Setting(name, written, _place(module, key), _place(module, value)))

    def add_dict(node: ast.expr | None) -> None:
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    add(key, key.value, value)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
            for keyword in node.keywords:
                if keyword.arg:
                    add(keyword, keyword.arg, keyword.value)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            add_dict(node.left)
            add_dict(node.right)

    seen: set[ast.AST] = set()

    def add_once(node: ast.expr | None) -> None:
        if node is not None and node not in seen:
            seen.add(node)
            add_dict(node)

    for node in _near(module.tree, lines):
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                key = target.slice if isinstance(target, ast.Subscript) and _is_environment(target.value) else None
                if isinstance(key, ast.Constant) and isinstance(key.value, str) and node.value is not None:
                    add(key, key.value, node.value)
                elif _is_environment(target):
                    add_once(node.value)
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.BitOr) and _is_environment(node.target):
            add_once(node.value)
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if key is None and _is_environment(value):  # {**os.environ, …}
                    add_once(node)
                elif isinstance(key, ast.Constant) and isinstance(key.value, str) and _ENV_OBJECT.fullmatch(key.value):
                    add_once(value)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr) and _is_environment(node.left):
            add_once(node)
        elif isinstance(node, ast.Call):
            for keyword in node.keywords:
                if keyword.arg and _ENV_OBJECT.fullmatch(keyword.arg):
                    add_once(keyword.value)
            called = node.func
            if isinstance(called, ast.Name) and called.id == "dict" and node.args and _is_environment(node.args[0]):
                add_once(node)
            elif isinstance(called, ast.Attribute):
                if called.attr == "putenv" or (called.attr == "setdefault" and _is_environment(called.value)):
                    first = node.args[0] if len(node.args) == 2 else None
                    if isinstance(first, ast.Constant) and isinstance(first.value, str):
                        add(first, first.value, node.args[1])
                elif called.attr == "update" and _is_environment(called.value):
                    for argument in node.args:
                        add_once(argument)
                    for keyword in node.keywords:
                        if keyword.arg:
                            add(keyword, keyword.arg, keyword.value)
    return sorted(found, key=lambda setting: setting.name_place)


def read_in_python(module: Module) -> Iterator[tuple[str, Place]]:
    """Every variable that a module asks for: ``os.environ[…]``, ``.get``, ``os.getenv``."""
    lines = _lines(module)
    for node in _near(module.tree, lines) if lines else ():
        key: ast.expr | None = None
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and _is_environment(node.value):
            key = node.slice
        elif isinstance(node, ast.Call) and node.args:
            called = node.func
            name = (
                called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
            )
            asks = isinstance(called, ast.Attribute) and name in ("get", "pop") and _is_environment(called.value)
            key = node.args[0] if asks or name == "getenv" else None
        if isinstance(key, ast.Constant) and isinstance(key.value, str) and _MENTION.fullmatch(key.value):
            yield key.value, _place(module, key)


def _is_environment(node: ast.expr) -> bool:
    """``os.environ``, a copy of it, or a name that says that it is one."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "copy":
        node = node.func.value
    if isinstance(node, ast.Attribute):
        return node.attr == "environ" or (_ENV_OBJECT.fullmatch(node.attr) is not None and _is_self(node.value))
    return isinstance(node, ast.Name) and _ENV_OBJECT.fullmatch(node.id) is not None


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def _lines(module: Module) -> list[int]:
    """The lines that name a variable in quotes, or as an argument."""
    if not any(prefix in module.text for prefix in PREFIXES):  # far quicker than the pattern
        return []
    return [number for number, line in enumerate(module.lines, 1) if _NAMED.search(line)]


def _near(tree: ast.Module, lines: list[int]) -> Iterator[ast.AST]:
    """The nodes whose lines hold one of ``lines``."""
    stack: list[ast.AST] = [tree]
    while stack:
        for node in ast.iter_child_nodes(stack.pop()):
            first = getattr(node, "lineno", None)
            if first is None:
                stack.append(node)
                continue
            first = min([first, *(decorator.lineno for decorator in getattr(node, "decorator_list", ()))])
            index = bisect.bisect_left(lines, first)
            if index < len(lines) and lines[index] <= (getattr(node, "end_lineno", None) or first):
                yield node
                stack.append(node)


def _place(module: Module, node: ast.AST) -> Place:
    line, column, end_line, end_column = module.position(node)
    return line, column + 1, end_line, end_column + 1
