"""Annotating a small project for its worker processes, and the laws that must hold for every file of it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pytest

from dfannotate.codemods.annotate import Annotated, annotate
from dfannotate.codemods.index import summarize
from dfannotate.codemods.project import Project
from dfannotate.codemods.revert import exact_text, structural_text
from dfannotate.facts import find_facts
from dfannotate.manifest import FileEntry
from dfannotate.source import read_source

WORKER_KINDS = ("dataloader", "process", "pool")


@dataclass(frozen=True)
class Done:
    """A file with what makes its workers annotated. ``body`` is its text without the lines that were put in whole."""

    text: str
    body: str
    entry: FileEntry
    sites: tuple[tuple[str, str, str], ...]
    """(kind, function, the line of the text that the site names), in the order of the lines."""
    notes: tuple[str, ...]


Annotate = Callable[..., Done]


@pytest.fixture(scope="session")
def annotated() -> Annotate:
    """Annotate a project given as path to text: ``annotated(files, path="main.py")``."""
    return _annotated


def _annotated(files: Mapping[str, str], path: str = "main.py") -> Done:
    """``path`` of a project of ``files``, annotated; everything that must hold for it is asserted."""
    sources = {name: read_source(name, text.encode()) for name, text in files.items()}
    facts = {name: find_facts(source) for name, source in sources.items()}
    modules = {name: name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in files}
    project = Project([summarize(name, modules[name], facts[name]) for name in files])
    context = project.context(path, "main", is_entry=False)
    done = annotate(sources[path], facts[path], context)
    original = files[path]
    text = done.edited.text if done.edited else original
    if done.edited:
        _check_laws(original, text, done)
    lines = text.splitlines()
    sites = tuple(
        (site.kind, site.function, lines[site.line - 1].strip())
        for site in done.entry.sites
        if site.kind in WORKER_KINDS
    )
    return Done(text, _body(original, text), done.entry, sites, done.notes)


def _check_laws(original: str, text: str, done: Annotated) -> None:
    source = read_source("main.py", text.encode())
    assert exact_text(source, done.entry) == original
    edited = read_source("main.py", (text + "# edited since\n").encode())
    assert exact_text(edited, done.entry) is None
    reverted = structural_text(edited, done.entry).removeprefix("\n")  # which may have come before the first statement
    if "def run(self): " in original:  # a body that stood behind its header's colon keeps the line it got
        assert ast.unparse(ast.parse(reverted)) == ast.unparse(ast.parse(original))
    else:
        assert reverted == original + "# edited since\n"


def _body(original: str, text: str) -> str:
    """What is left of ``text`` without imports, instances, decorators, regions and the functions for workers."""
    tree = ast.parse(text)
    lines = text.splitlines(keepends=True)
    gone: set[int] = set()
    for node in tree.body:
        name = getattr(node, "name", "")
        ours = isinstance(node, ast.FunctionDef) and name.startswith("_dft_worker")
        if ours or any(word in lines[node.lineno - 1] for word in ("dftracer", "_dft = ", "_dft_worker_ready()")):
            if not (ours or isinstance(node, (ast.ImportFrom, ast.Assign, ast.Expr))):
                continue
            gone.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    kept = [line for number, line in enumerate(lines, 1) if number not in gone and not line.startswith("@_dft.")]
    return "".join(line for line in kept if line.strip())
