"""Line edits and rewrites, their inverse, and the self-check that refuses what is more than an annotation."""

from __future__ import annotations

import ast
import difflib
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfannotate.edits import (
    Edit,
    EditError,
    Hunk,
    Reshape,
    Splice,
    apply,
    first_difference,
    new_places,
    rewrite_checked,
    undo_all,
    unified_diff,
)
from dfannotate.manifest import Undo
from dfannotate.shapes import Names
from dfannotate.source import Source, read_source, split_lines

if TYPE_CHECKING:
    import libcst as cst


def source(text: str) -> Source:
    return read_source("m.py", text.encode())


def edited(text: str, *edits: Edit) -> str:
    result, _ = apply(source(text), edits)
    return result


@pytest.mark.parametrize(
    ("text", "splices", "expected"),
    [
        pytest.param("a\nb\n", [Splice(2, 2, ("x",))], "a\nx\nb\n", id="insert"),
        pytest.param("a\nb\n", [Splice(1, 1, ("x",), 1), Splice(1, 1, ("y",), 0)], "y\nx\na\nb\n", id="rank"),
        pytest.param("a\nb\n", [Splice(3, 3, ("x",))], "a\nb\nx\n", id="append"),
        pytest.param("a\nb", [Splice(3, 3, ("x", "y"))], "a\nb\nx\ny", id="append-without-newline"),
        pytest.param("a\nb", [Splice(2, 2, ("x",))], "a\nx\nb", id="before-a-last-line-without-newline"),
        pytest.param("a\nb", [Splice(2, 3, ("x",))], "a\nx", id="replace-a-last-line-without-newline"),
        pytest.param("a\nb\nc\n", [Splice(1, 2), Splice(3, 4)], "b\n", id="remove"),
        pytest.param("a\nb\n", [Splice(1, 3, ("x",))], "x\n", id="replace"),
        pytest.param("a\r\nb\r\n", [Splice(2, 2, ("x",))], "a\r\nx\r\nb\r\n", id="crlf"),
        pytest.param("a\nb\r\n", [Splice(2, 2, ("x",))], "a\nx\r\nb\r\n", id="newline-of-the-neighbour"),
        pytest.param("a\rb\r", [Splice(2, 2, ("x",))], "a\rx\rb\r", id="cr"),
        pytest.param("", [Splice(1, 1, ("x",))], "x\n", id="empty"),
    ],
)
def test_splices(text: str, splices: list[Splice], expected: str) -> None:
    assert edited(text, *splices) == expected


def test_overlap_is_refused() -> None:
    with pytest.raises(EditError, match=r"m\.py:2: two changes"):
        edited("a\nb\nc\n", Splice(1, 3, ("x",)), Splice(2, 3, ("y",)))


def wrap(node: cst.CSTNode) -> cst.CSTNode:
    """``with`` around the body of a compound statement."""
    import libcst as cst

    assert isinstance(node, (cst.If, cst.FunctionDef))
    inner = cst.With(items=[cst.WithItem(cst.Name("w"))], body=node.body)
    return node.with_changes(body=cst.IndentedBlock([inner]))


NESTED = "# a\nif x:\n    # b\n    def f():\n        y  # c\n\n    z\n# d\n"


def test_nested_rewrites_and_splices_compose() -> None:
    outer, inner = Reshape(2, 2, 7, wrap), Reshape(4, 4, 5, wrap)
    expected = "# a\nif x:\n    with w:\n        # b\n        @d\n        def f():\n            with w:\n"
    expected += "                y  # c\n\n        z\n# d\n"
    decorator = Splice(4, 4, ("    @d",))
    orders: tuple[list[Edit], ...] = ([outer, inner, decorator], [decorator, inner, outer])
    for edits in orders:
        assert edited(NESTED, *edits) == expected


def test_rewrite_of_an_indented_statement_leaves_the_rest_alone() -> None:
    text = "class A:\n\t\tx = ( 1 )\n\t\tif y : z ;\n\t\tw = 1\n"
    assert edited(text, Reshape(3, 3, 3, wrap)).splitlines()[:3] == ["class A:", "\t\tx = ( 1 )", "\t\tif y :"]
    assert edited(text, Reshape(3, 3, 3, wrap)).splitlines()[-1] == "\t\tw = 1"


def test_form_feed_before_a_rewritten_statement_stays() -> None:
    assert edited("a\n\x0cif x:\n    y\n", Reshape(2, 2, 3, wrap)) == "a\n\x0cif x:\n    with w:\n        y\n"


def test_form_feed_that_would_be_lost_is_refused() -> None:
    with pytest.raises(EditError, match=r"m\.py:1: a form feed"):
        edited("if x:\n\x0c    y\n", Reshape(1, 1, 2, wrap))


def test_rewrite_of_no_compound_statement_is_refused() -> None:
    with pytest.raises(EditError, match="no compound statement begins at line 1"):
        edited("x = 1\n", Reshape(1, 1, 1, wrap))


def test_checked_result_carries_its_inverse() -> None:
    before = source("import os\nclass A:\n    def f(self): pass\ndef g(): pass")
    done = rewrite_checked(
        before,
        [
            Splice(2, 2, ("from dftracer.python import dft_fn as DFTracerFn", '_dft = DFTracerFn("m")')),
            Splice(3, 3, ("    @_dft.log",)),
            Splice(4, 4, ("@_dft.log",)),
        ],
        Names(),
    )
    assert done.functions == (6, 8)
    assert new_places(done.hunks) == [(2, 4), (5, 6), (7, 8)]
    assert undo_all(done.text, done.undo) == before.text


@pytest.mark.parametrize(
    ("edits", "message"),
    [
        pytest.param([Splice(1, 1, ("x = 1",))], "the program differs", id="statement-added"),
        pytest.param([Splice(2, 3)], "the program differs", id="statement-removed"),
        pytest.param([Splice(2, 2, ("@other.log",))], "the program differs", id="foreign-decorator"),
        pytest.param([Splice(2, 3, ("def f(x): pass",))], "the program differs", id="parameter-added"),
        pytest.param([Splice(1, 2, ("import os as o",))], "the program differs", id="import-changed"),
        pytest.param([Splice(2, 2, ("  @_dft.log",))], "does not parse", id="indentation"),
        pytest.param([Splice(2, 2, ("@_dft.log", ""), 0), Splice(3, 3, ("(",))], "does not parse", id="syntax"),
    ],
)
def test_self_check_refuses(edits: list[Edit], message: str) -> None:
    with pytest.raises(EditError, match=rf"m\.py.*self-check failed: .*{message}"):
        rewrite_checked(source("import os\ndef f(): pass\n"), edits, Names())


def test_annotations_of_the_files_own_are_no_part_of_the_check() -> None:
    text = "from dftracer.python import dft_fn as DFTracerFn\n_dft = DFTracerFn('x')\n"
    text += "@_dft.log\ndef f(): pass\ndef g(): pass\n"
    done = rewrite_checked(source(text), [Splice(5, 5, ("@_dft.log",))], Names())
    assert done.text.count("@_dft.log") == 2
    with pytest.raises(EditError, match="the program differs"):
        rewrite_checked(source(text), [Splice(3, 4)], Names())


TREES = [
    ("x = 1", "x = 2"), ("x = 1", "x = True"), ("x = 1", "x = 1.0"), ("x = 'a'", "x = b'a'"), ("x = 0.0", "x = -0.0"),
    ("global x", "global y"), ("x", "x; y"), ("x = 1", "x += 1"), ("a.b", "a.c"), ("f(x=1)", "f(y=1)"),
    ("x: int", "x: int = None"), ("'a' 'b'", "'ab '"), ("x = None", "x = ..."), ("import a", "import a as a"),
    ("x = 1j", "x = 1"), ("def f(): pass", "async def f(): pass"), ("x = u'a'", "x = 'a'"), ("x = 1e999", "x = 1e998"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new"), TREES)
def test_trees_differ_where_their_dumps_do(old: str, new: str) -> None:
    differ = ast.dump(ast.parse(old)) != ast.dump(ast.parse(new))
    assert (first_difference(ast.parse(old), ast.parse(new)) is not None) is differ
    assert first_difference(ast.parse(old), ast.parse(f"\n\n{old}  # c\n")) is None


OLD_TEXT = "@d(1)\nclass A:\n    def f(self):\n        return 'é', 1\n    x = 1; y = 2\n"


@pytest.mark.parametrize(
    "new",
    [
        pytest.param(OLD_TEXT, id="same"),
        pytest.param(f"# c\n\n{OLD_TEXT}", id="further-down"),
        pytest.param(OLD_TEXT.replace("    ", "  "), id="other-margin"),
        pytest.param(OLD_TEXT.replace("class", "class "), id="other-white-space"),
        pytest.param(OLD_TEXT.replace("@d(1)", "@d(2)"), id="decorator-above-the-same-text"),
        pytest.param(OLD_TEXT.replace("@d(1)\n", ""), id="decorator-gone"),
        pytest.param(OLD_TEXT.replace("é', 1", "è', 1"), id="outside-ascii"),
        pytest.param(OLD_TEXT.replace("    def f", "    @e\n    def f"), id="method-decorated"),
        pytest.param(OLD_TEXT.replace("x = 1; y = 2", "x = 1; z = 2"), id="behind-a-semicolon"),
        pytest.param(OLD_TEXT.replace("x = 1; y", "xx = 1; y"), id="before-a-semicolon"),
        pytest.param(OLD_TEXT.replace("y = 2", "y = 2\n    z = 3"), id="one-more"),
    ],
)
def test_with_their_lines_trees_differ_where_they_do_without(new: str) -> None:
    trees = ast.parse(OLD_TEXT), ast.parse(new)
    assert first_difference(*trees, split_lines(OLD_TEXT), split_lines(new)) == first_difference(*trees)


def test_nan_constants_are_equal_to_themselves() -> None:
    tree = ast.parse("x = 1e999 - 1e999")
    assert first_difference(tree, ast.parse("x = 1e999 - 1e999")) is None


LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n"]), max_size=12)


@given(old=LINES, new=LINES, opened=st.booleans())
def test_unified_diff_is_that_of_difflib_and_undo_takes_it_back(old: list[str], new: list[str], opened: bool) -> None:
    if opened and old and new:
        old, new = [*old[:-1], old[-1].rstrip("\n") or "d"], [*new[:-1], new[-1].rstrip("\n") or "d"]
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    hunks = [Hunk(a1 + 1, a2 + 1, tuple(new[b1:b2])) for tag, a1, a2, b1, b2 in matcher.get_opcodes() if tag != "equal"]
    undo = [
        Undo(start, end, "".join(old[hunk.start - 1 : hunk.end - 1]))
        for (start, end), hunk in zip(new_places(hunks), hunks, strict=True)
    ]
    assert undo_all("".join(new), undo) == "".join(old)
    if not hunks:
        return
    ours = "".join(unified_diff("m.py", old, new, hunks)).replace("\n\\ No newline at end of file", "")
    theirs = [line if line.endswith("\n") else line + "\n" for line in difflib.unified_diff(old, new, "m.py", "m.py")]
    assert split_lines(ours)[2:] == theirs[2:]
