"""From bytes to source: encodings, newlines, and failures that name their place."""

from __future__ import annotations

import ast
import codecs
import sys
import sysconfig
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfannotate.source import ParseFailure, digest, nodes_in, parse_text, read_source, split_lines


@pytest.mark.parametrize(
    ("data", "encoding", "text"),
    [
        pytest.param(b"x = 1\n", "utf-8", "x = 1\n", id="plain"),
        pytest.param(b"", "utf-8", "", id="empty"),
        pytest.param(b"# coding: latin-1\n'\xe9'\n", "iso-8859-1", "# coding: latin-1\n'é'\n", id="latin-1"),
        pytest.param(b"#!x\n# coding=cp1252\n'\x80'", "cp1252", "#!x\n# coding=cp1252\n'€'", id="cp1252-on-line-2"),
        pytest.param(b"\xef\xbb\xbf'\xc3\xa9'\n", "utf-8", "'é'\n", id="bom"),
        pytest.param(b"\xef\xbb\xbf# coding: utf-8\r\nx\r\n", "utf-8", "# coding: utf-8\r\nx\r\n", id="bom-and-cookie"),
    ],
)  # fmt: skip
def test_decoded_and_encoded_again(data: bytes, encoding: str, text: str) -> None:
    source = read_source("m.py", data)
    assert (source.encoding, source.text) == (encoding, text)
    assert source.bom is data.startswith(codecs.BOM_UTF8)
    assert source.encode(source.text) == data
    assert source.sha256 == digest(data)


@pytest.mark.parametrize(
    ("data", "line", "column", "reason"),
    [
        pytest.param(b"x = 1\nx = (\n", 2, 5, "was never closed", id="syntax"),
        pytest.param(b"if x:\ny\n", 2, 1, "expected an indented block", id="indentation"),
        pytest.param(b"x = 1\n  'a\xff'\n", 2, 5, "not utf-8 text: byte 0xff", id="undecodable"),
        pytest.param(b"# coding: nonsense\n", 1, 1, "unknown encoding", id="unknown-encoding"),
        pytest.param(b"\xef\xbb\xbf# coding: latin-1\n", 1, 1, "encoding problem", id="bom-against-cookie"),
        pytest.param(b"# coding: rot13\n", 1, 1, "rot13|rot-13|text", id="no-text-encoding"),
        pytest.param(b"x = '\0'\n", None, None, "null byte", id="nul"),
        pytest.param(b"print 'x'\n", 1, 1, "not Python", id="python-2"),
        pytest.param(b"(" * 500 + b")" * 500, None, None, "too many nested|too deeply", id="nested"),
    ],
)
def test_failure_names_its_place(data: bytes, line: int | None, column: int | None, reason: str) -> None:
    with pytest.raises(ParseFailure, match=reason) as caught:
        read_source("a/m.py", data)
    failure = caught.value
    assert failure.path == "a/m.py"
    assert str(failure).startswith(f"a/m.py:{failure.line}:{failure.column}: " if failure.line else "a/m.py: ")
    if line is not None:
        assert (failure.line, failure.column) == (line, column)


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="these Pythons parse it")
def test_syntax_of_a_newer_python_says_which_python_this_is() -> None:
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    with pytest.raises(ParseFailure, match=f"not Python {version}: "):
        read_source("m.py", b"def f[T](x: T): ...\n")


def test_warnings_of_the_compiler_are_not_ours(recwarn: pytest.WarningsRecorder) -> None:
    read_source("m.py", b"x = '\\d' is 1\n")
    assert not recwarn.list


@given(st.text(alphabet="ab\r\n\x0b\x0c\x1c\x85\u2028 ", max_size=40))
def test_lines_are_those_of_the_parser(text: str) -> None:
    lines = split_lines(text)
    assert "".join(lines) == text
    assert len(lines) == len(text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")) or not text
    assert all(line.rstrip("\r\n").count("\n") + line.rstrip("\r\n").count("\r") == 0 for line in lines)


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        pytest.param("x = 1\n", "    ", id="nothing-indented"),
        pytest.param("if x:\n\ty\n", "\t", id="tab"),
        pytest.param("def f():\n  return 1\n", "  ", id="two"),
        pytest.param("def f(a,\n           b): return 1\nif x:\n   y\n", "   ", id="not-a-continuation"),
        pytest.param('"""Usage:\n  run\n"""\nclass A:\n    x = 1\n', "    ", id="not-a-docstring"),
        pytest.param("x = {\n  1: 2}\nfor x in y:\n\n        # c\n\tz\n", "\t", id="not-a-comment"),
        pytest.param("class A: x = 1\n", "    ", id="one-line-block"),
    ],
)
def test_indentation_of_the_file(text: str, unit: str) -> None:
    assert read_source("m.py", text.encode()).indent_unit == unit


@pytest.mark.parametrize(
    ("data", "newline"), [(b"", "\n"), (b"x", "\n"), (b"x\r\ny\n", "\r\n"), (b"x\ry", "\r"), (b"x\ny\r\n", "\n")]
)
def test_newline_of_the_first_line(data: bytes, newline: str) -> None:
    assert read_source("m.py", data).newline == newline


LEFT_OUT = (ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop, ast.alias)


@pytest.mark.parametrize(
    "name", ["ast.py", "dataclasses.py", "typing.py", "test/test_patma.py", "test/test_grammar.py"]
)
def test_nodes_are_those_of_a_walk_but_for_what_holds_nothing(name: str) -> None:
    path = Path(sysconfig.get_path("stdlib"), name)
    text = (
        path.read_text(encoding="utf-8") if path.is_file() else "match x:\n    case {1: [A(b=None), *c], **d}: pass\n"
    )
    tree = parse_text(text)
    assert nodes_in(tree) == [node for node in ast.walk(tree) if not isinstance(node, LEFT_OUT)]
