"""The laws on programs nobody thought of: generated ones with odd formatting, and the standard library's."""

from __future__ import annotations

import ast
import random
import subprocess
import sysconfig
from collections.abc import Callable
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dfannotate.codemods import Context
from dfannotate.codemods.annotate import annotate
from dfannotate.codemods.revert import exact_text, structural_text
from dfannotate.edits import unified_diff
from dfannotate.facts import find_facts, first_line
from dfannotate.source import ParseFailure, parse_text, read_source, split_lines

SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example)

# --- a generator of programs: fragments, joined at random -------------------------------------------------------------

HEADS = ["", "#!/usr/bin/env python\n", "# -*- coding: utf-8 -*-\n", "# comment\n\n"]
DOCSTRINGS = ["", '"""Docs."""\n', '"""Docs.\n\n  indented:\n      more\n"""\n\n', "'Docs.'; X = 1\n"]
FUTURES = ["", "from __future__ import annotations\n"]
IMPORTS = [
    "import os\n",
    "import sys, json\n",
    "from os import (path,\n    sep)\n",
    'os.environ["A"] = "1"\n',
    "try:\n    import yaml\nexcept ImportError:\n    yaml = None\n",
    "import atexit; import io\n",
    "\n",
    "# why\n",
    "from mpi4py import MPI\n",
    "from dftracer.python import dft_fn\n",
    "x = dft_fn('A')\n",
    "import dftracer\n",
    "_dft = None\n",
]
SIMPLE = [
    "pass",
    "x = 1; y = 2",
    "x = 1 + \\\n  2",
    "open('x')",
    "'''text\n  stays\n\n'''",
    "call(1,\n2,\n        3)",
    "# comment",
    "x = f'''{1}\n    '''; y = 1  # why",
    "del x",
    "import os",
    "",
    "comm = MPI.COMM_WORLD",
    "print('é ｘ')",
]
DECORATORS = ["", "", "@functools.cache\n", "@(\n  wrap)\n", "# why\n@abc.abstractmethod\n\n# so\n"]
HEADERS = [
    "def load(x):",
    "def save(self, step=1):",
    "def f(*a, **k):",
    "async def g():",
    "def __init__(self):",
    "def main():",
    "class A:",
    "class B(A, metaclass=M):  # why",
    "if True:",
    "for x in y:",
    "while x: # loop",
    "with open('x') as f:",
    "if __name__ == '__main__':",
]
INDENTS = ["    ", "\t", "  ", "        "]


def _block(header: str, decorator: str, body: list[str], indent: str, one_line: bool) -> str:
    is_definition = header.startswith(("def", "async", "class"))
    head = (decorator if is_definition else "") + header
    real = [part for part in body if part and not part.lstrip().startswith("#")]
    if one_line and real and all("\n" not in part and ":" not in part for part in real) and "#" not in header:
        return f"{head} {'; '.join(part.partition('#')[0].strip() for part in real)}\n"
    if not real:
        body = [*body, "pass"]
    lines = "".join(part if part.endswith("\n") else part + "\n" for part in body)
    return head + "\n" + _indented(lines, indent)


def _indented(text: str, indent: str) -> str:
    """Indented where a line begins a statement: what a string or a bracket holds stays where it is."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return "".join(indent + line if line.strip() else line for line in split_lines(text))
    inside: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.expr) or (isinstance(node, ast.stmt) and not hasattr(node, "body")):
            inside.update(range(node.lineno + 1, (node.end_lineno or 0) + 1))
    lines = split_lines(text)
    return "".join(
        line if number in inside or not line.strip() else indent + line for number, line in enumerate(lines, 1)
    )


SIMPLES = st.sampled_from(SIMPLE)
BLOCKS = st.recursive(
    SIMPLES,
    lambda inner: st.builds(
        _block,
        st.sampled_from(HEADERS),
        st.sampled_from(DECORATORS),
        st.lists(inner, min_size=1, max_size=3),
        st.sampled_from(INDENTS),
        st.booleans(),
    ),
    max_leaves=8,
)


@st.composite
def programs(draw: st.DrawFn) -> str:
    parts = [draw(st.sampled_from(options)) for options in (HEADS, DOCSTRINGS, FUTURES)]
    parts += draw(st.lists(st.sampled_from(IMPORTS), max_size=4))
    for block in draw(st.lists(BLOCKS, min_size=1, max_size=5)):
        parts.append(block if block.endswith("\n") else block + "\n")
    text = "".join(parts)
    if draw(st.booleans()):
        text = text.removesuffix("\n")
    return text.replace("\n", draw(st.sampled_from(["\n", "\n", "\r\n"])))


def parses(text: str) -> bool:
    try:
        parse_text(text)
    except (SyntaxError, ValueError):
        return False
    return True


CONTEXTS = st.sampled_from(
    [
        Context("m"),
        Context("m", is_entry=True),
        Context("m", entry_functions=frozenset({"main"})),
        Context("m", is_entry=True, entry_functions=frozenset({"load"}), entry_calls=frozenset({"load"})),
        Context("m", every_function=True),
        Context("m", every_function=True, is_entry=True, outlives=True, private_names=True),
    ]
)


@settings(max_examples=300, suppress_health_check=SLOW)
@given(text=programs(), context=CONTEXTS)
@example("if __name__ == '__main__':\n    def main(): pass\n", Context("m", entry_functions=frozenset({"main"})))
def test_revert_takes_back_what_apply_did(text: str, context: Context) -> None:
    if not parses(text):
        return
    source = read_source("m.py", text.encode())
    done = annotate(source, find_facts(source), context)
    if done.edited is None:
        return
    new = read_source("m.py", source.encode(done.edited.text))
    assert exact_text(new, done.entry) == text
    assert structural_text(new, done.entry) == text


INSERTIONS = ["# inserted", "inserted = 1", "inserted(\n1)", "'''inserted\n  '''"]


@settings(max_examples=700, suppress_health_check=SLOW)
@given(text=programs(), context=CONTEXTS, seed=st.integers(0, 10**6))
def test_lines_inserted_after_apply_stay(text: str, context: Context, seed: int) -> None:
    """Comments anywhere between two lines, and statements at the top level, survive a revert by structure."""
    if not parses(text):
        return
    source = read_source("m.py", text.encode())
    done = annotate(source, find_facts(source), context)
    if done.edited is None or any("\n" in undo.before.strip("\r\n") or ";" in undo.before for undo in done.entry.undo):
        return
    if any(": " in undo.before for undo in done.entry.undo):  # a one-line block is one no more with a line in it
        return
    old, new = source.lines, split_lines(done.edited.text)
    places = _same_places(old, new, parse_text(source.text), parse_text(done.edited.text))
    if not places:
        return
    dice = random.Random(seed)
    chosen = sorted(dice.sample(places, min(2, len(places))), reverse=True)
    newline = source.newline
    for old_index, new_index in chosen:
        insertion = dice.choice(INSERTIONS).replace("\n", newline) + newline
        old.insert(old_index, insertion)
        new.insert(new_index, insertion)
    edited = "".join(new)
    assert structural_text(read_source("m.py", edited.encode()), done.entry) == "".join(old)


def _same_places(old: list[str], new: list[str], old_tree: ast.Module, new_tree: ast.Module) -> list[tuple[int, int]]:
    """Pairs of places before the same top-level statement (indices of lines) in both texts."""
    old_starts, new_starts = _own_starts(old_tree, old), _own_starts(new_tree, new)
    future = [node for node in old_tree.body if isinstance(node, ast.ImportFrom) and node.module == "__future__"]
    after = max((node.end_lineno or 0 for node in (*future, old_tree.body[0])), default=0)
    places = []
    for a, b, size in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks():
        for offset in range(size):
            if a + offset + 1 in old_starts and b + offset + 1 in new_starts and a + offset >= after:
                alone = a + offset == 0 or not old[a + offset - 1].rstrip("\r\n").endswith("\\")
                if alone:
                    places.append((a + offset, b + offset))
    return places


def _own_starts(tree: ast.Module, lines: list[str]) -> set[int]:
    """Lines that begin with a statement of the top level."""
    ends = [0, *(node.end_lineno or 0 for node in tree.body)]
    return {line for node, end in zip(tree.body, ends, strict=False) if (line := first_line(node, lines)) > end}


# --- real files -------------------------------------------------------------------------------------------------------


def standard_library(count: int, largest: int = 25_000) -> list[Path]:
    root = Path(sysconfig.get_path("stdlib"))
    files = sorted(
        file
        for file in root.rglob("*.py")
        if "site-packages" not in file.parts and 1000 < file.stat().st_size < largest
    )
    return random.Random(20).sample(files, count)


@pytest.mark.parametrize("every", [False, True], ids=["worthwhile", "all"])
def test_standard_library(every: bool, rewrite: Callable[..., Any]) -> None:
    changed = 0
    for file in standard_library(60):
        try:
            done = rewrite(file.read_bytes(), entry=True, mains=("main", "test"), every=every)
        except ParseFailure:
            with pytest.raises((SyntaxError, ValueError)):
                compile(file.read_bytes(), str(file), "exec")
            continue
        changed += done.changed
    assert changed > 40


@pytest.mark.parametrize("program", [["patch", "-s", "-p0"], ["git", "apply", "-p0"]], ids=["patch", "git-apply"])
def test_diff_is_one_that_others_apply(program: list[str], tmp_path: Path) -> None:
    texts = [
        file.read_bytes().decode()
        for file in standard_library(12, largest=6_000)
        if b"\r" not in file.read_bytes() and file.read_bytes().isascii()
    ]
    texts += [
        "import os\ndef f(): open('x')",
        "def f(): open('x')\nif __name__ == '__main__': f()",
        "import os\r\ndef f(): open('x')\r\n",
        "x = 1\n" * 50 + "def f(): open('x')\n" + "x = 1\n" * 50 + "if __name__ == '__main__':\n    f()\nelse:\n    x",
    ]
    patch: list[str] = []
    wanted: dict[str, str] = {}
    for number, text in enumerate(texts):
        source = read_source(f"f{number}.py", text.encode())
        done = annotate(source, find_facts(source), Context("m", is_entry=True))
        if done.edited is None:
            continue
        (tmp_path / source.path).write_bytes(text.encode())
        wanted[source.path] = done.edited.text
        patch += unified_diff(source.path, source.lines, split_lines(done.edited.text), done.edited.hunks)
    assert len(wanted) > 8
    subprocess.run(program, cwd=tmp_path, input="".join(patch).encode(), check=True)
    for name, text in wanted.items():
        assert (tmp_path / name).read_bytes().decode() == text
