"""Revert by structure: the user's edits stay, all annotations go, the result compiles."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent
from typing import Any

import pytest

from dfannotate.edits import EditError

PROGRAM = '''"""Docs."""

import os
import sys


class Store:
    def __init__(self, path):
        self.file = open(path)

    def load(self):
        return self.file.read()


def save(path):
    # careful
    os.remove(path)


if __name__ == "__main__":
    # the work
    save("x")
    text = """
  a
"""
'''

EDITS: dict[str, list[tuple[str, str]]] = {
    # each edit is made to the annotated text and to the original
    "nothing": [],
    "function-added": [("\n\nif __name__", "\n\ndef added():\n    pass\n\n\nif __name__")],
    "comment-above-a-decorated-function": [("\n\n\n@_dft.log\ndef save", "\n\n\n# new\n@_dft.log\ndef save")],
    "comment-between-decorator-and-def": [("def save", "# new\ndef save")],
    "statement-in-a-function": [("    os.remove(path)\n", "    os.remove(path)\n    print(path)\n")],
    "function-renamed": [("def save", "def store"), ('save("x")', 'store("x")')],
    "class-renamed": [("class Store", "class Shop")],
    "method-removed": [("    def load(self):\n        return self.file.read()\n", "    pass\n")],
    "statement-in-the-guard": [('save("x")', 'print(1); save("x")  # new')],
    "comment-at-the-top": [('"""Docs."""', '# new\n"""Docs."""')],
    "docstring-grown": [('"""Docs."""', '"""Docs.\n\nMore.\n"""')],
    "import-added": [("import sys\n", "import json\nimport sys\n")],
    "decorator-of-the-user-added": [("def save", "@staticmethod\ndef save")],
    "string-edited": [("  a\n", "      b\n\n")],
}


@pytest.mark.parametrize("edits", EDITS.values(), ids=EDITS)
def test_edit_stays(edits: list[tuple[str, str]], rewrite: Callable[..., Any]) -> None:
    done = rewrite(PROGRAM)
    edited, expected = done.text, PROGRAM
    for old, new in edits:
        assert edited.count(old) == 1
        edited = edited.replace(old, new)
        plain_old, plain_new = old.replace("@_dft.log\n", ""), new.replace("@_dft.log\n", "")
        expected = expected.replace(plain_old, plain_new)
    if "method-removed" in EDITS and edits is EDITS["method-removed"]:
        edited = edited.replace("    @_dft.log\n    pass", "    pass")
    assert done.revert(edited) == expected


STRUCTURAL = {
    # (edit of the annotated text) -> the text that must be left
    "decorator-removed-by-the-user": (
        [("@_dft.log\ndef save", "def save")],
        PROGRAM,
    ),
    "imports-sorted-one-name-a-line": (
        [
            (
                "import sys\nfrom dftracer.python import dftracer, dft_fn as DFTracerFn, DFTRACER_ENABLE\n",
                "import sys\n\nfrom dftracer.python import (\n    DFTRACER_ENABLE,\n    dftracer,\n)\n"
                "from dftracer.python import (\n    dft_fn as DFTracerFn,\n)\n",
            )
        ],
        PROGRAM.replace("import sys\n", "import sys\n\n"),
    ),
    "imports-moved-to-the-front": (
        [
            ("from dftracer.python import dftracer, dft_fn as DFTracerFn, DFTRACER_ENABLE\n", ""),
            (
                "import os\n",
                "from dftracer.python import DFTRACER_ENABLE, dftracer\n"
                "from dftracer.python import dft_fn as DFTracerFn\nimport os\n",
            ),
        ],
        PROGRAM,
    ),
    "reformatted": (
        [
            (
                "(logfile=None, data_dir=None, process_id=-1)",
                "(\n            logfile=None, data_dir=None, process_id=-1,\n        )",
            ),
            ('_dft = DFTracerFn("m")', "_dft = DFTracerFn('m')"),
            ("@_dft.log\ndef save", "@(_dft.log)\ndef save"),
        ],
        PROGRAM,
    ),
    "comments-around-the-pair": (
        [
            ("    try:\n", "    # before\n    try:  # beside\n        # within\n"),
            ("    finally:\n", "        # last\n    # dedented\n    finally:  # end\n        # cleaning\n"),
        ],
        PROGRAM.replace("    # the work\n", "    # before\n    # beside\n    # within\n    # the work\n").replace(
            '  a\n"""\n', '  a\n"""\n    # last\n    # dedented\n    # cleaning\n'
        ),
    ),
    "handler-added": (
        [("    finally:\n", "    except OSError:\n        pass\n    finally:\n")],
        PROGRAM.replace("    # the work\n", "    try:\n        # the work\n")
        .replace('    save("x")\n', '        save("x")\n')
        .replace('    text = """\n  a\n"""\n', '        text = """\n  a\n"""\n    except OSError:\n        pass\n'),
    ),
    "try-taken-away-but-its-end-kept": (
        [
            (
                '    try:\n        # the work\n        save("x")\n        text',
                '    # the work\n    save("x")\n    text',
            ),
            (
                "    finally:\n        if DFTRACER_ENABLE:\n            _dft_log.f",
                "    if DFTRACER_ENABLE:\n        _dft_log.f",
            ),
        ],
        PROGRAM,
    ),
    "start-taken-away": (
        [
            (
                "    if DFTRACER_ENABLE:\n"
                "        _dft_log = dftracer.initialize_log(logfile=None, data_dir=None, process_id=-1)\n",
                "",
            )
        ],
        PROGRAM,
    ),
    "statements-after-the-try": (
        [("            _dft_log.finalize()\n", "            _dft_log.finalize()\n    print(2)\n")],
        PROGRAM + "    print(2)\n",
    ),
    "no-final-newline": ([("            _dft_log.finalize()\n", "            _dft_log.finalize()")], PROGRAM[:-1]),
}


@pytest.mark.parametrize(("edits", "expected"), STRUCTURAL.values(), ids=STRUCTURAL)
def test_annotations_go_whatever_became_of_them(
    edits: list[tuple[str, str]], expected: str, rewrite: Callable[..., Any]
) -> None:
    done = rewrite(PROGRAM)
    edited = done.text
    for old, new in edits:
        assert edited.count(old) == 1, old
        edited = edited.replace(old, new)
    left = done.revert(edited)
    compile(left, "m.py", "exec")
    assert left == expected


def test_reverting_again_changes_nothing(rewrite: Callable[..., Any]) -> None:
    assert rewrite(PROGRAM).revert(PROGRAM) == PROGRAM


USES = {
    "instance": ("@_dft.log_static\ndef mine():\n    pass\n", {"dft_fn as DFTracerFn", "_dft = "}),
    "function": ("with DFTracerFn('X', name='y'):\n    pass\n", {"dft_fn as DFTracerFn"}),
    "logger": ("print(dftracer.get_instance())\n", {"dftracer"}),
    "flag": ("print(DFTRACER_ENABLE)\n", {"DFTRACER_ENABLE"}),
}


@pytest.mark.parametrize(("code", "kept"), USES.values(), ids=USES)
def test_names_that_the_users_code_uses_stay(code: str, kept: set[str], rewrite: Callable[..., Any]) -> None:
    done = rewrite(PROGRAM)
    edited = done.text.replace("\n\nif __name__", f"\n\nx = 1\n{code}\n\nif __name__")
    # The decorator of the user's own spelling is no different from ours, so it is used in another way here.
    edited = edited.replace("@_dft.log_static\ndef mine", "mine = _dft.iter\ndef yours")
    left = done.revert(edited)
    compile(left, "m.py", "exec")
    for text in kept:
        assert text in left
    assert ("_dft = " in left) is ("_dft = " in kept)
    assert "@_dft" not in left
    assert "initialize_log" not in left
    assert "finalize" not in left


def test_file_that_has_its_own_names_keeps_its_own_annotations(rewrite: Callable[..., Any]) -> None:
    source = dedent(
        """
        from dftracer.python import dft_fn
        x = dft_fn("A")
        @x.log
        def mine():
            open("x")

        def other():
            open("x")
        """
    )
    done = rewrite(source)
    assert done.traced == ["other"]
    assert done.revert(done.text + "# end\n") == source.lstrip("\n") + "# end\n"


def test_one_line_blocks_come_back_as_such_next_to_edits(rewrite: Callable[..., Any]) -> None:
    source = 'import os\ndef main(): "Run."; return 1  # so\n\n\nif __name__ == "__main__": x = main; x()\nelse: pass\n'
    done = rewrite(source, mains=("main",))
    assert done.revert("# top\n" + done.text) == "# top\n" + source
    # With an edit inside, the block stays as it is now.
    left = done.revert(done.text.replace("return 1  # so", "# more\n    return 1  # so"))
    assert left == source.replace(
        'main(): "Run."; return 1  # so', 'main():\n    "Run."\n    # more\n    return 1  # so'
    )


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_annotated_file_whose_newlines_changed(newline: str, rewrite: Callable[..., Any]) -> None:
    other = "\r\n" if newline == "\n" else "\n"
    done = rewrite(PROGRAM.replace("\n", newline).encode())
    assert done.revert(done.text.replace(newline, other)) == PROGRAM.replace("\n", other)


REFUSED = {
    "try-on-one-line": ('    try:\n        # the work\n        save("x")\n        text', '    try: save("x"); text'),
    "statement-beside-the-instance": ('_dft = DFTracerFn("m")', '_dft = DFTracerFn("m"); x = 1'),
    "only-statement-of-a-block": (
        "    # careful\n    os.remove(path)\n",
        "    if DFTRACER_ENABLE:\n        _dft_log.finalize()\n",
    ),
}


@pytest.mark.parametrize(("old", "new"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_taken_out_is_refused_with_its_place(old: str, new: str, rewrite: Callable[..., Any]) -> None:
    done = rewrite(PROGRAM)
    assert done.text.count(old) == 1
    with pytest.raises(EditError, match=r"^m\.py"):
        done.revert(done.text.replace(old, new))


def test_one_line_function_in_a_guard_comes_back_at_its_margin(rewrite: Callable[..., Any]) -> None:
    """The guard's body moves back after the function's: the laws, which ``rewrite`` checks, need both margins."""
    done = rewrite(
        "if __name__ == '__main__':\n    @(\n      wrap)\n    def load(x): x = 1; y = open(x)\n    load(1)\n"
    )
    assert "        def load(x):\n            with DFTracerFn(" in done.text
