"""The cases of ``corpus/rewrite``: whole files before and after, with the manifest entry that ``apply`` leaves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dfannotate.codemods.index import summarize
from dfannotate.codemods.project import Project
from dfannotate.facts import find_facts
from dfannotate.manifest import load
from dfannotate.source import read_source
from tests.conftest import REWRITES, described


@pytest.mark.parametrize("case", sorted(path.name for path in REWRITES.iterdir()))
def test_case(case: str, rewrite: Callable[..., Any]) -> None:
    folder = REWRITES / case
    before = (folder / "before.py").read_bytes()
    facts = find_facts(read_source("before.py", before))
    project = Project([summarize("before.py", "before", facts)])
    unsafe = project.context("before.py", case, is_entry=False).around.unsafe_classes
    around = described(folder)
    mains = tuple(script.partition(":")[2] for script in around.get("scripts", ()))
    done = rewrite(before, category=case, unsafe=dict(unsafe), mains=mains, entry="entry" in around)
    assert done.source.encode(done.text).decode() == (folder / "after.py").read_bytes().decode()
    (expected,) = load(folder / "manifest.json").files
    assert done.entry == expected


def test_there_are_cases() -> None:
    assert len(list(REWRITES.iterdir())) >= 10
