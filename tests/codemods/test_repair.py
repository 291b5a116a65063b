"""Repair: fixes that meet, that undo each other, that do harm, and those that codemods make."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import pytest

from dfannotate.codemods.repair import ROUNDS, Repaired, repair
from dfannotate.edits import Rewrite, Splice
from dfannotate.rules import Case, Finding, Fix, Module, NoProject, Request, Rule
from dfannotate.source import read_source

IMPORT = "from dftracer.python import dftracer\n"


class Renaming(Rule):
    """Finds names, and makes others of them."""

    CODE: ClassVar[str] = "DFT901"
    NAME: ClassVar[str] = "a-name"
    MESSAGE: ClassVar[str] = "{name}"
    VALID: ClassVar[tuple[Case, ...]] = ()
    INVALID: ClassVar[tuple[Case, ...]] = ()

    def __init__(self, new: dict[str, str | None], code: str = "DFT901") -> None:
        self.new = new
        self.CODE = code  # type: ignore[misc]

    def check(self, module: Module) -> Iterator[Finding]:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Name) and node.id in self.new:
                text = self.new[node.id]
                place = module.position(node)
                yield self.finding(
                    module, node, Fix((Rewrite(*place, text),)) if text is not None else None, name=node.id
                )


class Once(Rule):
    """Finds the first statement of the module that is not an import, and gives the fix that it was made with."""

    CODE: ClassVar[str] = "DFT902"
    NAME: ClassVar[str] = "once-only"
    MESSAGE: ClassVar[str] = "once"
    VALID: ClassVar[tuple[Case, ...]] = ()
    INVALID: ClassVar[tuple[Case, ...]] = ()

    def __init__(self, fix: Callable[[ast.stmt], Fix], wanted: str) -> None:
        self.fix = fix
        self.wanted = wanted

    def check(self, module: Module) -> Iterator[Finding]:
        if self.wanted not in module.text:
            node = next(node for node in module.tree.body if not isinstance(node, (ast.Import, ast.ImportFrom)))
            yield self.finding(module, node, self.fix(node))


def repaired(text: str, *rules: Rule, **more: Any) -> Repaired:
    return repair(read_source("train.py", text.encode()), rules, NoProject(), **more)


def test_fixes_apart_are_made_together_and_those_that_meet_one_after_the_other() -> None:
    class Whole(Once):
        """Replaces the whole line, in which the other rule has something to do as well."""

    def line(node: ast.stmt) -> Fix:
        return Fix((Splice(node.lineno, node.lineno + 1, ("b = done",)),))

    after = repaired(IMPORT + "a\na\n", Renaming({"a": "b"}), Whole(line, "done"))
    assert after.text == IMPORT + "b = done\nb\n"
    assert after.fixed == {"DFT901": 2, "DFT902": 1}
    assert after.checked.findings == ()


def test_insertions_at_one_place_are_not_made_at_once() -> None:
    def above(text: str) -> Callable[[ast.stmt], Fix]:
        return lambda node: Fix((Splice(node.lineno, node.lineno, (text,)),))

    after = repaired(IMPORT + "x\n", Once(above("same = 1"), "same"), Once(above("same = 1"), "same"))
    assert after.text == IMPORT + "same = 1\nx\n"


@pytest.mark.parametrize("text", ["(", "def", '"'])
def test_a_fix_after_which_the_file_does_not_parse_is_not_made(text: str) -> None:
    after = repaired(IMPORT + "a\nc\n", Renaming({"a": text, "c": "d"}))
    assert after.text == IMPORT + "a\nd\n", "the other one is made all the same"
    assert [finding.message for finding in after.checked.findings] == ["a"]


def test_a_fix_that_brings_what_nobody_can_put_right_is_not_made() -> None:
    rules = (Renaming({"a": "bad", "c": "d"}), Renaming({"bad": None}, "DFT903"))
    after = repaired(IMPORT + "a\nc\nbad\n", *rules)
    assert after.text == IMPORT + "a\nd\nbad\n"


def test_what_a_spelling_hid_may_come_to_light() -> None:
    rules = (Renaming({"a": "bad"}, "DFT199"), Renaming({"bad": None}, "DFT903"))
    after = repaired(IMPORT + "a\n", *rules)
    assert after.text == IMPORT + "bad\n"
    assert [finding.code for finding in after.checked.findings] == ["DFT903"]


def test_rules_that_undo_each_other_come_to_an_end() -> None:
    after = repaired(IMPORT + "a\n", Renaming({"a": "b", "b": "a"}))
    assert after.text in (IMPORT + "a\n", IMPORT + "b\n")
    assert after.fixed.total() <= 2


def test_what_grows_for_ever_comes_to_an_end() -> None:
    class Growing(Renaming):
        """Each name becomes a longer one."""

        def check(self, module: Module) -> Iterator[Finding]:
            node = next(node for node in ast.walk(module.tree) if isinstance(node, ast.Name))
            line, column, *_ = module.position(node)
            yield self.finding(module, node, Fix((Rewrite(line, column, line, column, "a"),)), name="a")

    after = repaired(IMPORT + "a\n", Growing({}))
    assert after.text == IMPORT + "a" * (ROUNDS + 1) + "\n"


def test_what_a_fix_needs_is_imported_once() -> None:
    def region(node: ast.stmt) -> Fix:
        return Fix((Splice(node.lineno, node.lineno + 1, ("DFTracerFn",)),), frozenset({"function"}), node.lineno)

    after = repaired("import os\nimport dftracer\n\nx\n", Once(region, "DFTracerFn"))
    assert after.text.splitlines() == [
        "import os",
        "import dftracer",
        "from dftracer.python import dft_fn as DFTracerFn",
        "",
        "DFTracerFn",
    ]


def test_what_is_there_is_not_imported_again() -> None:
    def use(node: ast.stmt) -> Fix:
        return Fix((Splice(node.lineno, node.lineno + 1, ("Profile",)),), frozenset({"function"}), node.lineno)

    text = "from dftracer.python import dft_fn as Profile\n\nx\n"
    assert repaired(text, Once(use, "\nProfile")).text == "from dftracer.python import dft_fn as Profile\n\nProfile\n"


def test_codemods_are_asked_for_one_line_alone() -> None:
    class Undecorated(Rule):
        """Finds the function ``b`` without a decorator."""

        CODE: ClassVar[str] = "DFT904"
        NAME: ClassVar[str] = "not-decorated"
        MESSAGE: ClassVar[str] = "not decorated"
        VALID: ClassVar[tuple[Case, ...]] = ()
        INVALID: ClassVar[tuple[Case, ...]] = ()

        def check(self, module: Module) -> Iterator[Finding]:
            for node in module.tree.body:
                if isinstance(node, ast.FunctionDef) and node.name == "b" and not node.decorator_list:
                    yield self.finding(module, node, Fix(requests=(Request("functions", node.lineno),)))

    body = "    with open('x') as f:\n        return f.read()\n"
    text = f"import dftracer\n\n\ndef a():\n{body}\n\ndef b():\n{body}"
    after = repaired(text, Undecorated())
    assert after.text.count("@_dft.log") == 1
    assert f"@_dft.log\ndef b():\n{body}" in after.text
    assert '_dft = DFTracerFn("train")' in after.text
    compile(after.text, "train.py", "exec")
