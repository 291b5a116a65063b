"""Programs nobody thought of, full of what the tracer stumbles over: annotated, they do what they did.

Classes with methods called step and attributes called epoch, properties, static and class methods, coroutine functions,
recursion, exceptions, nested functions; every outcome is printed. They run with a tracer that converts and wraps as the
real one does, and a batch of them with the real one.
"""

from __future__ import annotations

import ast
import json
import random
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dfannotate.cli.main import main
from dfannotate.codemods.annotate import annotate
from dfannotate.codemods.index import summarize
from dfannotate.codemods.project import Project
from dfannotate.codemods.revert import exact_text, structural_text
from dfannotate.facts import find_facts, first_line, is_docstring
from dfannotate.shapes import Names, is_inserted_statement, is_wrapper
from dfannotate.source import parse_text, read_source, split_lines
from tests.conftest import run_for_real

SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example)

PRELUDE = '''\
import functools
fuel = 0
def spend():
    """Ends every recursion."""
    global fuel
    fuel += 1
    if fuel > 200:
        raise RuntimeError("out of fuel")
def show(value):
    if hasattr(type(value), "send"):
        return drive(value)
    if isinstance(value, (list, tuple)):
        return type(value)(map(show, value))
    plain = value is None or type(value) in (int, float, str, dict, bool)
    return repr(value) if plain else "<" + type(value).__name__ + ">"
def drive(coroutine):
    try:
        while True:
            coroutine.send(None)
    except StopIteration as stop:
        return show(stop.value)
def attempt(what, call):
    try:
        print(what, show(call()))
    except Exception as error:
        print(what, type(error).__name__, error)
'''

HAZARDS = ("epoch", "step", "image_idx", "image_size")
NAMES = ("load", "save", "run", "step", "size", "make", "epoch")
VALUES = ("None", "'text'", "(224, 224)", "3", "2.5", "print", "[1]")
LINES = (
    "for number in (1, 2): number += 1",
    "text = '''a\n  b'''",
    "text = f'''{1}\n'''; number = len(text)",
    "number = (1 +\n2)  # why",
    "number = 1 + \\\n  2",
    "# comment",
    "",
    "if (number := 3) > 2: pass",
    "try:\n    raise KeyError('k')\nexcept KeyError as error:\n    spend()\nfinally:\n    number = 4",
    "while True:\n    break\nelse:\n    return 'else'",
    "match 1:\n    case 1: number = 'one'\n    case _: pass",
    "def inner(x, step='s'):\n    spend()\n    return x, step\ninner(1)",
    "count = 0\ndef grow(**all):\n    nonlocal count\n    count += len(all)\ngrow(epoch='e', step=1)",
    "class Local:\n    step = 'x'\n    def load(self): return self.step\nLocal().load()",
    "with open('/dev/null') as stream: stream.read()",
    "lambda: (yield_ := 1)",
)
ENDS = (
    "return {value}",
    "raise ValueError({value})",
    "return locals().get('number')",
    "",
    "pass",
    "assert not {value}",
)


class Writer:
    """Writes one program, with ``dice`` for every choice."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.classes: list[str] = []

    def value(self) -> str:
        return self.dice.choice(VALUES)

    def parameters(self, first: str) -> tuple[str, str]:
        """Parameters of a function, and arguments for them."""
        parts, given = [first] if first else [], []
        for name in self.dice.sample([*HAZARDS, "x", "y"], self.dice.randrange(3)):
            default = self.dice.random() < 0.5
            parts.append(f"{name}={self.value()}" if default else name)
            if not default and any("=" in part for part in parts[:-1]):
                parts[-1] += "=0"
            given.append(self.value() if self.dice.random() < 0.5 else f"{name}={self.value()}")
        given.sort(key=lambda argument: "=" in argument)
        if self.dice.random() < 0.2:
            parts.append("**options")
            given.append(f"{self.dice.choice(HAZARDS[2:])}_x={self.value()}")
        elif self.dice.random() < 0.2 and not any("=" in argument for argument in given):
            parts.append("*rest")
            given.append("9")
        return ", ".join(parts), ", ".join(given)

    def body(self, first: str, is_async: bool = False) -> str:
        lines = ["spend()"]
        if self.dice.random() < 0.3:
            lines.insert(0, self.dice.choice(["'''Docs.'''", "'Docs.'", "'''Docs\n   more\n'''"]))
        choices = [line for line in LINES if not (is_async and "yield" in line)]
        lines += self.dice.choices(choices, k=self.dice.randrange(4))
        if first == "self":
            more = (
                f"self.{self.dice.choice([*HAZARDS, 'x'])} = {self.value()}",
                f"self.{self.dice.choice(NAMES)}()",
                f"number = getattr(self, {self.dice.choice(HAZARDS)!r}, 0)",
                f"setattr(self, {self.dice.choice(HAZARDS)!r}, {self.value()})",
                "number = super().__repr__ and __class__.__name__",
                f"self.__dict__.update(x={self.value()})",
            )
            lines += self.dice.sample(more, self.dice.randrange(3))
        if is_async and self.dice.random() < 0.5:
            lines.append("class Once:\n    def __await__(self): yield\nawait Once()")
        lines.append(self.dice.choice(ENDS).format(value=self.value()))
        text = "\n".join(lines)
        return self.indented(text)

    def indented(self, text: str) -> str:
        """Moved in, but for what strings, brackets and backslashes hold."""
        out, inside = list[str](), False
        for line in text.split("\n"):
            out.append(line if inside or not line else "    " + line)
            if line.count("'''") % 2:
                inside = not inside
        return "\n".join(out)

    def function(self, name: str, first: str = "", head: str = "", is_async: bool = False) -> tuple[str, str]:
        parameters, given = self.parameters(first)
        prefix = "async " if is_async else ""
        if self.dice.random() < 0.15:
            return f"{head}{prefix}def {name}({parameters}): spend(); return {self.value()}\n", given
        return f"{head}{prefix}def {name}({parameters}):\n{self.body(first, is_async)}\n", given

    def member(self, name: str) -> tuple[str, str]:
        """A member of a class, and how it is used."""
        kind = self.dice.randrange(12)
        if kind == 0:
            return f"{name} = {self.value()}\n", f".{name}"
        if kind in (1, 2):
            head = self.dice.choice(["@property\n", "@functools.cached_property\n"])
            return f"{head}def {name}(self):\n{self.body('self')}\n", f".{name}"
        if kind == 3:
            text, given = self.function(name, "", "@staticmethod\n")
        elif kind == 4:
            text, given = self.function(name, "cls", "@classmethod\n")
        elif kind == 5:
            text, given = self.function(name, "self", "", is_async=True)
        elif kind == 6:
            text = f"def {name}(self, n=3):\n    spend()\n    return n and self.{name}(n - 1)\n"
            given = ""
        else:
            text, given = self.function(name, self.dice.choice(["self", "self", "this"]))
        return text, f".{name}({given})"

    def klass(self, name: str) -> tuple[str, list[str]]:
        bases = self.dice.sample(self.classes, min(len(self.classes), self.dice.randrange(2)))
        parts, uses = list[str](), list[str]()
        given = ""
        if self.dice.random() < 0.4:
            text, given = self.function("__init__", "self")
            text = text.replace("return ", "number = ") if "return" in text else text
            parts.append(text)
        for member in self.dice.sample(NAMES, self.dice.randrange(1, 5)):
            text, use = self.member(member)
            parts.append(text)
            uses.append(use)
        if self.dice.random() < 0.15:
            parts.append("def __getattr__(self, name):\n    return 'asked for ' + name\n")
        for special in ("__len__", "__call__", "__repr__", "__eq__"):
            if self.dice.random() < 0.1:
                parts.append(
                    f"def {special}(self, *all):\n    spend()\n    return {self.dice.choice(['3', repr('r')])}\n"
                )
        self.classes.append(name)
        text = f"class {name}({', '.join(bases)}):\n{indent_code(''.join(parts))}\n"
        return text, [f"{name}({given}){use}" for use in uses] + [f"{name}({given})", f"{name}({given})()"]

    def program(self) -> str:
        parts, uses = [PRELUDE], list[str]()
        for number in range(self.dice.randrange(1, 4)):
            text, more = self.klass(f"C{number}")
            parts.append(text)
            uses += more
        for number in range(self.dice.randrange(3)):
            head = self.dice.choice(["", "", "@functools.lru_cache(None)\n", "@(lambda f: f)\n"])
            text, given = self.function(
                f"f{number}", self.dice.choice(["", "", "self"]), head, self.dice.random() < 0.3
            )
            parts.append(text)
            uses.append(f"f{number}({given})")
        lines = [f"attempt({use!r}, lambda: {use})\n" for use in uses]
        return "".join([*parts, *lines, "print(fuel)\n"])


def indent_code(text: str) -> str:
    """Members moved into their class: what a string holds stays."""
    return Writer(random.Random(0)).indented(text.rstrip("\n"))


def is_program(text: str) -> bool:
    try:
        compile(text, "program.py", "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return True


def test_the_generator_writes_what_it_is_for() -> None:
    programs = [Writer(random.Random(seed)).program() for seed in range(300)]
    good = [text for text in programs if is_program(text)]
    assert len(good) > 240
    for part in ("@property", "@staticmethod", "@classmethod", "async def", "def step", "self.epoch = ", "**options"):
        assert sum(part in text for text in good) > 20, part


@settings(max_examples=120, suppress_health_check=SLOW, deadline=None)
@given(dice=st.randoms(use_true_random=False), every=st.booleans())
def test_same_outcome_and_the_laws(dice: random.Random, every: bool, fake_tracer: Any) -> None:
    text = Writer(dice).program()
    if not is_program(text):
        return
    source = read_source("program.py", text.encode())
    facts = find_facts(source)
    project = Project([summarize("program.py", "program", facts)])
    context = project.context("program.py", "m", is_entry=False, every_function=every)
    done = annotate(source, facts, context)
    if done.edited is None:
        return
    new = done.edited.text
    after, events, _ = fake_tracer.run(new)
    assert after == fake_tracer.run(text)[0]
    assert {name for _, name in events} <= {site.event for site in done.entry.sites}
    written = read_source("program.py", new.encode())
    assert exact_text(written, done.entry) == text
    assert structural_text(written, done.entry) == text


def places(tree: ast.Module, names: Names, lines: list[str]) -> list[tuple[int, str]]:
    """Every statement of the program itself, in order: its line and the white space before it, or 0 where something
    else stands before it on its line."""
    found: list[tuple[int, str]] = []

    def walk(body: list[ast.stmt]) -> None:
        for index, node in enumerate(body):
            if is_inserted_statement(node, names):
                continue
            if is_wrapper(node, names):
                walk(node.body)  # type: ignore[attr-defined]
                continue
            line = first_line(node, lines)
            margin = lines[line - 1][: len(lines[line - 1]) - len(lines[line - 1].lstrip(" "))]
            is_first = index == 0 and is_docstring(node)
            starts = node.col_offset == len(margin) or bool(getattr(node, "decorator_list", []))
            joined = line > 1 and lines[line - 2].rstrip("\n").endswith("\\")
            found.append((0 if is_first or joined or not starts else line, margin))
            for field in ("body", "orelse", "finalbody"):
                walk(getattr(node, field, None) or [])
            for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
                walk(part.body)

    walk(tree.body)
    return found


INSERTIONS = (
    "# inserted",
    "inserted = 1",
    "inserted(\n1)",
    "inserted = '''\n  stays\n    as it is''' ",
    "if 1:\n{}  # deeper\n{}  pass",
)


@settings(max_examples=120, suppress_health_check=SLOW, deadline=None)
@given(dice=st.randoms(use_true_random=False), every=st.booleans())
def test_lines_inserted_in_moved_bodies_stay(dice: random.Random, every: bool) -> None:
    text = Writer(dice).program()
    if not is_program(text):
        return
    source = read_source("program.py", text.encode())
    facts = find_facts(source)
    context = Project([summarize("program.py", "program", facts)]).context(
        "program.py", "m", is_entry=False, every_function=every
    )
    done = annotate(source, facts, context)
    if done.edited is None:
        return
    old, new = split_lines(text), split_lines(done.edited.text)
    names = Names(**done.entry.names)
    pairs = zip(places(source.tree, names, old), places(parse_text(done.edited.text), names, new), strict=True)
    movable = [pair for pair in pairs if pair[0][0] and pair[1][0]]
    for (old_line, old_margin), (new_line, new_margin) in sorted(dice.sample(movable, min(3, len(movable))))[::-1]:
        insertion = dice.choice(INSERTIONS)
        old.insert(old_line - 1, old_margin + insertion.replace("{}", old_margin) + "\n")
        new.insert(new_line - 1, new_margin + insertion.replace("{}", new_margin) + "\n")
    edited = "".join(new)
    assert structural_text(read_source("program.py", edited.encode()), done.entry) == "".join(old)


RUNNER = """
import contextlib, importlib, io, json, sys
def outcome(name):
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        try:
            importlib.import_module(name)
        except Exception as error:
            print(type(error).__name__, error)
    return output.getvalue()
if __name__ == "__main__":
    print(json.dumps({name: outcome(name) for name in sys.argv[1:]}))
"""


@pytest.mark.parametrize("functions", ["worthwhile", "all"])
def test_same_outcome_with_the_real_tracer(functions: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    programs = [text for seed in range(1000, 1060) if is_program(text := Writer(random.Random(seed)).program())]
    names = [f"program{number}" for number in range(len(programs))]
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / "pyproject.toml").write_text("")
    for name, text in zip(names, programs, strict=True):
        (folder / f"{name}.py").write_text(text)
    (folder / "main.py").write_text(RUNNER)
    before = {path.name: path.read_bytes() for path in folder.glob("*.py")}

    def outcomes(enabled: str) -> Any:
        environ = {"DFTRACER_ENABLE": enabled, "DFTRACER_LOG_FILE": str(tmp_path / "trace")}
        ended = run_for_real([sys.executable, folder / "main.py", *names], tmp_path, environ=environ)
        assert ended.returncode == 0, ended.stderr
        return json.loads(ended.stdout)

    plain = outcomes("0")
    apply = ["apply", str(folder), "--functions", functions, "--entry", str(folder / "main.py")]
    assert main(apply) == 0, capsys.readouterr().err
    annotated = {path.name: path.read_bytes() for path in folder.glob("*.py")}
    assert sum(annotated[name] != before[name] for name in before) > 50
    assert main(apply) == 0, capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in folder.glob("*.py")} == annotated
    assert outcomes("0") == plain
    assert outcomes("1") == plain
    assert sum(path.stat().st_size for path in tmp_path.glob("trace*.pfw*")) > 1000
    assert main(["revert", str(folder)]) == 0, capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in folder.glob("*.py")} == before
