"""The cases of ``corpus/rewrite``: whole files before and after, with the manifest entry that ``apply`` leaves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dfannotate.codemods.project import Project, summarize
from dfannotate.facts import find_facts
from dfannotate.manifest import load
from dfannotate.source import read_source

CASES = Path(__file__).parent.parent.parent / "corpus" / "rewrite"

CONTEXTS: dict[str, dict[str, Any]] = {
    "console-script": {"mains": ("main",)},
    "late-imports": {"mains": ("main",)},
    "script-without-guard": {"entry": True},
}
"""What the project around a case says of it, where it says anything."""


@pytest.mark.parametrize("case", sorted(path.name for path in CASES.iterdir()))
def test_case(case: str, rewrite: Callable[..., Any]) -> None:
    folder = CASES / case
    before = (folder / "before.py").read_bytes()
    facts = find_facts(read_source("before.py", before))
    project = Project([summarize("before.py", "before", facts)])
    unsafe = project.context("before.py", case, is_entry=False).around.unsafe_classes
    done = rewrite(before, category=case, unsafe=dict(unsafe), **CONTEXTS.get(case, {}))
    assert done.source.encode(done.text).decode() == (folder / "after.py").read_bytes().decode()
    (expected,) = load(folder / "manifest.json").files
    assert done.entry == expected


def test_there_are_cases() -> None:
    assert len(list(CASES.iterdir())) >= 10
