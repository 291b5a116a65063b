"""Rewriting under test: every rewrite that a test asks for is held against the laws of rewriting.

The laws: the new text compiles, keeps every comment, and says where its sites are; reverting gives the same bytes, by
the manifest and by structure; annotating what was reverted gives the same text; and all of it holds for the same
source with CRLF, with tabs, and without a final newline.
"""

from __future__ import annotations

import importlib.util
import json
import re
import sys
import tokenize
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import pytest

from dfannotate.codemods import Context
from dfannotate.codemods.annotate import annotate
from dfannotate.codemods.index import FileSummary, summarize
from dfannotate.codemods.project import Project
from dfannotate.codemods.revert import exact_text, structural_text
from dfannotate.facts import find_facts
from dfannotate.manifest import FileEntry
from dfannotate.rules.safety import Surroundings
from dfannotate.source import ParseFailure, Source, read_source, split_lines

MACROS = {
    "import": "from dftracer.python import dft_fn as DFTracerFn",
    "import start": "from dftracer.python import dftracer, DFTRACER_ENABLE",
    "import finish": "from dftracer.python import dftracer",
    "import all": "from dftracer.python import dftracer, dft_fn as DFTracerFn, DFTRACER_ENABLE",
    "instance": '_dft = DFTracerFn("m")',
    "start": "if DFTRACER_ENABLE:\n    _dft_log = dftracer.initialize_log(logfile=None, data_dir=None, process_id=-1)",
    "start once": (
        "if DFTRACER_ENABLE and dftracer.get_instance().logger is None:\n"
        "    _dft_log = dftracer.initialize_log(logfile=None, data_dir=None, process_id=-1)\n"
        "    atexit.register(_dft_log.finalize)"
    ),
    "finish": "if DFTRACER_ENABLE:\n    _dft_log.finalize()",
    "finish now": "dftracer.get_instance().finalize()",
}
"""What a test writes as ``<start>`` on a line of its own."""


@dataclass(frozen=True)
class Rewritten:
    """A file after annotation."""

    source: Source
    text: str
    entry: FileEntry
    notes: tuple[str, ...]
    events_seen: list[str] = field(default_factory=list)
    """The names of the events of a run, where there was one."""

    @property
    def changed(self) -> bool:
        return self.text != self.source.text

    @property
    def traced(self) -> list[str]:
        return [site.function for site in self.entry.sites if site.kind in ("decorator", "init", "region")]

    @property
    def forms(self) -> dict[str, str]:
        """Function -> how it is traced: the name of the decorator above it, or ``region``."""
        lines = self.text.splitlines()
        return {
            site.function: "region"
            if site.kind == "region"
            else lines[site.line - 2].strip().removeprefix(f"@{self.entry.names['instance']}.")
            for site in self.entry.sites
            if site.kind in ("decorator", "init", "region")
        }

    @property
    def events(self) -> dict[str, str]:
        """Function -> the name of its events."""
        return {site.function: site.event for site in self.entry.sites if site.event}

    @property
    def reasons(self) -> dict[str, str]:
        return {skip.function: skip.reason for skip in self.entry.skipped}

    def revert(self, text: str | None = None) -> str:
        """The text by structure, from ``text`` where the user has edited the file since."""
        edited = self.text if text is None else text
        return structural_text(read_source(self.source.path, self.source.encode(edited)), self.entry)


Rewrite = Callable[..., Rewritten]


def project_of(files: dict[str, str], *, found_late: tuple[str, ...] = ()) -> Project:
    """A project of these texts by their paths; those modules that are ``found_late`` are located when one is needed."""
    summaries: dict[str, FileSummary] = {}
    for path, text in files.items():
        module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        summaries[module] = summarize(path, module, find_facts(read_source(path, text.encode())))
    early = [one for name, one in summaries.items() if name not in found_late]
    return Project(early, (), summaries.get)


def context_of(
    category: str = "m",
    entry: bool = False,
    mains: tuple[str, ...] = (),
    calls: tuple[str, ...] = (),
    unsafe: dict[str, str] | None = None,
    frames: tuple[str, ...] = (),
    wrapped: tuple[str, ...] = (),
    private: bool = False,
    outlives: bool = False,
    every: bool = False,
) -> Context:
    around = Surroundings(unsafe or {}, frozenset(frames), wrapped_names=frozenset(wrapped))
    return Context(category, entry, frozenset(mains), frozenset(calls), around, private, outlives, every)


def annotate_bytes(data: bytes, context: Context) -> Rewritten:
    source = read_source("m.py", data)
    result = annotate(source, find_facts(source), context)
    text = result.edited.text if result.edited else source.text
    return Rewritten(source, text, result.entry, result.notes)


def check_laws(data: bytes, context: Context) -> Rewritten:
    done = annotate_bytes(data, context)
    source, entry = done.source, done.entry
    assert source.encode(source.text) == data
    if not done.changed:
        assert not entry.sites
        return done
    written = source.encode(done.text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compile(written, "m.py", "exec", dont_inherit=True)
    new = read_source("m.py", written)
    assert exact_text(new, entry) == source.text
    assert structural_text(new, entry) == source.text
    assert annotate_bytes(data, context).text == done.text

    lines = split_lines(done.text)
    assert _comments(lines) == _comments(source.lines)
    newlines = {re.sub(r"[^\r\n]", "", line) for line in source.lines} - {""}
    if len(newlines) == 1:
        assert {line[len(line.rstrip("\r\n")) :] for line in lines} - {""} == newlines
    for site in entry.sites:
        text = lines[site.line - 1]
        if site.kind == "lifecycle":
            assert ".initialize_log(" in text
        else:
            assert re.match(rf"\s*(?:async\s+)?def\s+{site.function.rpartition('.')[2]}\b", text), (site, text)
            if site.kind == "region":
                assert any(f", name={json.dumps(site.event)}):" in line for line in lines[site.line :]), site
            else:
                assert lines[site.line - 2].lstrip().startswith("@")
    return done


def _comments(lines: list[str]) -> list[str]:
    supply = iter(lines)
    tokens = tokenize.generate_tokens(lambda: next(supply, ""))
    return [token.string.rstrip() for token in tokens if token.type == tokenize.COMMENT]


def expand(text: str) -> str:
    """Every macro line of ``text`` replaced, with its own indentation."""

    units = re.search(r"^class .*\n([ \t]+)", text, flags=re.MULTILINE)
    unit = units[1] if units and len(units[1]) < 4 else "    "

    def replace(match: re.Match[str]) -> str:
        return indent(MACROS[match[2]].replace("    ", unit), match[1])

    return re.sub(r"^([ \t]*)<([a-z ]+)>$", replace, dedent(text).lstrip("\n"), flags=re.MULTILINE)


def with_tabs(text: str) -> str:
    return re.sub(r"^(?: {4})+", lambda match: "\t" * (len(match[0]) // 4), text, flags=re.MULTILINE)


def check_variants(text: str, done: Rewritten, context: Context) -> None:
    """The same source in other dress is rewritten in the same way."""
    crlf = check_laws(text.replace("\n", "\r\n").encode(), context)
    assert crlf.text == done.text.replace("\n", "\r\n")
    open_end = check_laws(text.removesuffix("\n").encode(), context)
    assert open_end.text == done.text.removesuffix("\n")
    tabs = with_tabs(text)
    if tabs != text:
        try:
            tabbed = check_laws(tabs.encode(), context)
        except ParseFailure:  # tabs and spaces that do not agree
            return
        if not re.search(r"^(?: {4})* {1,3}\S", done.text, flags=re.MULTILINE):
            assert tabbed.text.expandtabs(4) == with_tabs(done.text).expandtabs(4)


@pytest.fixture(scope="session")
def fake_tracer() -> Any:
    """The module ``fake_tracer``, whose ``run`` executes programs."""
    spec = importlib.util.spec_from_file_location("fake_tracer", Path(__file__).with_name("fake_tracer.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def rewrite() -> Rewrite:
    """Annotate ``source`` (dedented text, or bytes as they are) in the context that the keywords say, and hold the
    result against the laws."""

    def run(source: str | bytes, **context: object) -> Rewritten:
        around = context_of(**context)  # type: ignore[arg-type]
        if isinstance(source, bytes):
            return check_laws(source, around)
        text = dedent(source).lstrip("\n")
        done = check_laws(text.encode(), around)
        check_variants(text, done, around)
        return done

    return run


@pytest.fixture(scope="session")
def expanded() -> Callable[[str], str]:
    return expand
