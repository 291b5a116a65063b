"""What is written is what is known again, and nothing else is."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable

import pytest

from dfannotate import shapes
from dfannotate.facts import find_facts
from dfannotate.shapes import Names
from dfannotate.source import read_source

USUAL = Names()
OTHER = Names("tracer", "Region", "ON", "_io", "_log_2", "_atexit", interrupt="_interrupt_2")


def statement(text: str) -> ast.stmt:
    (node,) = ast.parse(text).body
    return node


def is_import(node: ast.stmt, names: Names) -> bool:
    return bool(shapes.imported_names(node, names))


def written(names: Names) -> dict[str, tuple[str, Callable[[ast.stmt, Names], bool]]]:
    return {
        "import": (shapes.import_lines(names, {"logger", "function"}, "    ")[0], is_import),
        "import-of-all": (shapes.import_lines(names, {"logger", "function", "enabled"}, "    ")[0], is_import),
        "atexit": (shapes.atexit_line(names), is_import),
        "instance": (shapes.instance_line(names, names.instance, "io", named=False), shapes.is_instance),
        "named-instance": (shapes.instance_line(names, names.instance, "io", named=True), shapes.is_instance),
        **{
            f"{name}-{interrupt}": ("\n".join(lines(names, unit, interrupt=interrupt)), shapes.is_start)
            for name, lines, unit in (("start", shapes.start_lines, "  "), ("once", shapes.start_once_lines, "\t"))
            for interrupt in (False, True)
        },
        "interrupt": ("\n".join(shapes.interrupt_lines(names, "  ")), shapes.is_interrupt),
        "finish": ("\n".join(shapes.finish_lines(names, "    ")), shapes.is_finish),
        "finish-now": (shapes.finish_now_line(names), shapes.is_finish_now),
    }


@pytest.mark.parametrize("names", [USUAL, OTHER], ids=["usual-names", "other-names"])
@pytest.mark.parametrize("kind", written(USUAL))
def test_written_is_known_again_by_its_own_shape_only(kind: str, names: Names) -> None:
    text, is_kind = written(names)[kind]
    node = statement(text)
    assert is_kind(node, names)
    assert shapes.is_inserted_statement(node, names)
    others = {function for _, function in written(names).values()} - {is_kind}
    assert not any(other(node, names) for other in others)
    assert not shapes.is_inserted_statement(node, OTHER if names is USUAL else USUAL)


NOT_OURS = [
    "import atexit as bye",
    "import atexit, sys",
    "import sys",
    "from dftracer.python import dftracer, TagValue",
    "from dftracer.python import dftracer as other",
    "from dftracer.logger import dftracer",
    "from atexit import register",
    "_dft = DFTracerFn",
    "_dft = other('m')",
    "_dft = x = DFTracerFn('m')",
    "_dft: object = DFTracerFn('m')",
    "_dft.x = DFTracerFn('m')",
    "if DFTRACER_ENABLE: _dft_log = 1",
    "if DFTRACER_ENABLE: log = dftracer.initialize_log()",
    "if DFTRACER_ENABLE: pass",
    "if DFTRACER_ENABLE:\n    _dft_log = dftracer.initialize_log()\nelse: pass",
    "if DFTRACER_ENABLE:\n    _dft_log = dftracer.initialize_log()\n    print(1)",
    "if other: _dft_log = dftracer.initialize_log()",
    "_dft_log = dftracer.initialize_log()",
    "_dft_log.finalize()",
    "if DFTRACER_ENABLE:\n    _dft_log.finalize()\n    print(1)",
    "if DFTRACER_ENABLE and x: _dft_log.finalize()",
    "dftracer.get_instance().finalize(1)",
    "dftracer.get_instance()",
    "x = dftracer.get_instance().finalize()",
]


@pytest.mark.parametrize("text", NOT_OURS)
def test_near_miss_is_not_ours(text: str) -> None:
    assert not shapes.is_inserted_statement(statement(text), USUAL)


@pytest.mark.parametrize(
    ("text", "ours"),
    [
        ("@_dft.log", True), ("@_dft.log_init", True), ("@_dft.log_static", True),
        ("@_dft.log(name='x')", False), ("@_dft.iter", False), ("@x.log", False), ("@x._dft.log", False),
        ("@log", False),
    ],
)  # fmt: skip
def test_decorator(text: str, ours: bool) -> None:
    node = statement(f"{text}\ndef f(): pass")
    assert isinstance(node, ast.FunctionDef)
    assert shapes.is_decorator(node.decorator_list[0], USUAL) is ours


@pytest.mark.parametrize("category", ["train", "a b", 'a"b', "a\\b", "it's", "数据", "a\nb", "{x}", ""])
def test_category_reaches_the_tracer_as_json_text(category: str) -> None:
    """The tracer writes names as they are given, and a line of the trace is JSON."""
    line = shapes.instance_line(USUAL, USUAL.instance, category, named=False)
    assert line.isascii()
    scope: dict[str, object] = {"DFTracerFn": lambda given: given}
    exec(line, scope)
    assert json.loads(f'"{scope["_dft"]}"') == category


def test_strip_leaves_the_program_and_tells_its_functions() -> None:
    program = """
import os
class A:
    @property
    def f(self):
        def g(): pass
if __name__ == "__main__":
    try:
        run()
    except OSError:
        def h(): pass
match os:
    case 1:
        def k(): pass
"""
    annotated = f"""
import os
{shapes.import_lines(USUAL, {"logger", "function", "enabled"}, "    ")[0]}
{shapes.instance_line(USUAL, USUAL.instance, "m", named=False)}
class A:
    @property
    @_dft.log
    def f(self):
        @_dft.log
        def g(): pass
if __name__ == "__main__":
    if DFTRACER_ENABLE:
        _dft_log = dftracer.initialize_log(logfile=None, data_dir=None, process_id=-1)
    try:
        try:
            run()
        except OSError:
            def h(): pass
    finally:
        if DFTRACER_ENABLE:
            _dft_log.finalize()
match os:
    case 1:
        @_dft.log
        def k(): pass
"""
    tree = ast.parse(annotated)
    lines = shapes.strip(tree, USUAL, lambda line: True)
    assert ast.dump(tree) == ast.dump(ast.parse(program))
    texts = annotated.splitlines()
    assert sorted(texts[line - 1].split()[1][0] for line in lines) == ["f", "g", "h", "k"]
    untouched = ast.parse(annotated)
    shapes.strip(untouched, USUAL, lambda line: False)
    assert ast.dump(untouched) == ast.dump(ast.parse(annotated))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        pytest.param("", Names(), id="nothing-taken"),
        pytest.param("import atexit\n", Names(atexit="_atexit"), id="atexit-of-the-file"),
        pytest.param("atexit = _atexit = 1\n", Names(atexit="_atexit_2"), id="both-spellings-of-atexit"),
        pytest.param("_dft_log = _dft = 1\n", Names(instance="_dft_2", log="_dft_log_2"), id="instance-and-log"),
        pytest.param("DFTRACER_ENABLE = 1\n", Names(enabled="_DFTRACER_ENABLE"), id="flag"),
        pytest.param(
            "from dftracer.python import dftracer as a, dft_fn as b, DFTRACER_ENABLE as c\nd = b('x')\n",
            Names("a", "b", "c", "d"),
            id="all-of-the-file",
        ),
    ],
)
def test_names(text: str, names: Names) -> None:
    assert shapes.choose_names(find_facts(read_source("m.py", text.encode()))) == names
