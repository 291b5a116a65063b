"""Every rule over its own cases, and all rules together over all cases."""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

import pytest

from dfannotate import vocabulary
from dfannotate.codemods import Context
from dfannotate.codemods.index import summarize
from dfannotate.codemods.project import Project as FactsProject
from dfannotate.codemods.repair import Repaired, repair, repair_text
from dfannotate.facts import ModuleFacts, find_facts
from dfannotate.rules import CODE, Case, Finding, Module, Rule, TextFile, discover
from dfannotate.rules.engine import MENTION, Checked, Exports, check, check_failure, check_text, release_of
from dfannotate.rules.loaders import Maker
from dfannotate.rules.selection import why_file_left_out
from dfannotate.source import ParseFailure, Source, digest, read_source

RULES = discover()
META = ("DFT001", "DFT002")
"""What the linter says of itself shows only beside the other rules."""

KINDS = ("valid", "invalid")
CASES = {
    f"{rule.CODE}-{case.id}": (rule, case, kind)
    for rule in RULES
    for kind, cases in zip(KINDS, (rule.VALID, rule.INVALID), strict=True)
    for case in cases
}


class CaseProject:
    """The project that a case describes: its own file and those it brings along."""

    def __init__(self, case: Case) -> None:
        self.files: Mapping[str, str] = {**case.files, case.path: case.text}
        self.exports = Exports(self._find, self._read)

    @property
    def is_traced(self) -> bool:
        return any(MENTION.search(text) for text in self.files.values())

    def leaves_out(self, facts: ModuleFacts) -> bool:
        return why_file_left_out(facts.path, facts) is not None

    def makers(self, facts: ModuleFacts) -> Mapping[str, Maker]:
        return self.context(facts).makers

    def context(self, facts: ModuleFacts) -> Context:
        category = posixpath.basename(facts.path).removesuffix(".py")
        return self._facts_project.context(facts.path, category, is_entry=False)

    @cached_property
    def _facts_project(self) -> FactsProject:
        found = []
        for path in self.files:
            if path.endswith(".py") and (source := self._read(path)) is not None:
                module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
                found.append(summarize(path, module, find_facts(source)))
        return FactsProject(found)

    def _find(self, path: str, module: str) -> str | None:
        level = len(module) - len(module.lstrip("."))
        folders = posixpath.dirname(path).split("/") if level and posixpath.dirname(path) else []
        folders = folders[: len(folders) - (level - 1)] if level > 1 else folders
        place = "/".join([*folders, *(part for part in module.split(".") if part)])
        return next((name for name in (f"{place}.py", f"{place}/__init__.py".lstrip("/")) if name in self.files), None)

    def _read(self, path: str) -> Source | None:
        try:
            return read_source(path, self.files[path].encode())
        except ParseFailure:
            return None


def rules_for(rule: Rule) -> Sequence[Rule]:
    return RULES if rule.CODE in META else (rule,)


def text_source(case: Case, text: str) -> Source:
    return Source(case.path, text, ast.Module([], []), "utf-8", False, digest(text.encode()))


def checked(case: Case, rules: Sequence[Rule], text: str | None = None) -> Checked:
    """What ``rules`` find in a case, or in another text in its place."""
    text = case.text if text is None else text
    release = release_of(case.target)
    if not case.path.endswith(".py"):
        return check_text(TextFile(case.path, text), rules, release)
    try:
        source = read_source(case.path, text.encode())
    except ParseFailure as failure:
        return check_failure(failure, rules)
    generation = vocabulary.generation_of(case.target) or vocabulary.CURRENT
    return check(Module(source, CaseProject(case), generation), rules, release)


def repaired(case: Case, rules: Sequence[Rule], text: str | None = None) -> Repaired:
    """A case after all fixes of ``rules``."""
    text = case.text if text is None else text
    if not case.path.endswith(".py"):
        found = checked(case, rules, text)
        return repair_text(text_source(case, text), found, lambda new: checked(case, rules, new))
    project = CaseProject(case)
    try:
        source = read_source(case.path, text.encode())
    except ParseFailure as failure:
        return Repaired(text, check_failure(failure, rules))
    generation = vocabulary.generation_of(case.target) or vocabulary.CURRENT
    return repair(source, rules, project, generation, project.context, release_of(case.target))


def of(rule: Rule, found: Checked) -> list[Finding]:
    return [finding for finding in found.findings if finding.code == rule.CODE]


def fixable(findings: Sequence[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.fix is not None]


@pytest.mark.parametrize("name", [name for name, (_, _, kind) in CASES.items() if kind == "valid"])
def test_good_code_is_left_in_peace(name: str) -> None:
    rule, case, _ = CASES[name]
    assert [(f.line, f.column, f.message) for f in of(rule, checked(case, rules_for(rule)))] == []
    assert (case.findings, case.fixed) == ((), None), "a valid case names no findings"


@pytest.mark.parametrize("name", [name for name, (_, _, kind) in CASES.items() if kind == "invalid"])
def test_faults_are_found_where_they_are_and_put_right(name: str) -> None:
    rule, case, _ = CASES[name]
    rules = rules_for(rule)
    found = of(rule, checked(case, rules))
    assert [(f.line, f.column) for f in found] == sorted(case.findings)
    assert found, "an invalid case names its findings"
    assert all(f.end_line > f.line or f.end_column >= f.column for f in found)
    after = repaired(case, rules)
    assert after.text == (case.text if case.fixed is None else case.fixed)
    if case.fixed is not None:
        assert rule.FIXABLE
        if case.path.endswith(".py"):
            compile(after.text, case.path, "exec", dont_inherit=True)
        left = of(rule, checked(case, rules, after.text))
        assert fixable(left) == []
        assert len(left) <= len(found) - len(fixable(found))


@pytest.mark.parametrize("newline", ["\r\n"], ids=["crlf"])
@pytest.mark.parametrize("name", [name for name, (_, case, kind) in CASES.items() if kind == "invalid" and case.fixed])
def test_line_ends_are_kept(name: str, newline: str) -> None:
    rule, case, _ = CASES[name]
    assert case.fixed is not None
    after = repaired(case, rules_for(rule), case.text.replace("\n", newline))
    assert after.text == case.fixed.replace("\n", newline)


@pytest.mark.parametrize("name", CASES)
def test_all_rules_together_reach_rest(name: str) -> None:
    _, case, _ = CASES[name]
    before = checked(case, RULES)
    after = repaired(case, RULES)
    again = repaired(case, RULES, after.text)
    assert again.text == after.text, "a second run changes nothing"
    if case.path.endswith(".py") and not any(f.code == "DFT001" for f in before.findings):
        compile(after.text, case.path, "exec", dont_inherit=True)
        assert [(f.code, f.line, f.message) for f in fixable(after.checked.findings)] == [], "nothing fixable is left"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.CODE)
def test_a_rule_says_what_it_is(rule: Rule) -> None:
    assert CODE.fullmatch(rule.CODE)
    assert re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)+", rule.NAME)
    module = type(rule).__module__.rpartition(".")[2]
    assert module == f"{rule.CODE}_{rule.NAME}".lower().replace("-", "_"), "one file a code, named after it"
    assert type(rule).__doc__
    assert rule.MESSAGE
    assert len(rule.VALID) >= 2
    assert len(rule.INVALID) >= 2
    ids = [case.id for case in (*rule.VALID, *rule.INVALID)]
    assert len(ids) == len(set(ids))
    assert all(re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)*", name) for name in ids)
    assert any(case.fixed is not None for case in rule.INVALID) == rule.FIXABLE, "what can be fixed is shown"
    assert rule.NEEDS_TRACER or rule.WORDS, "without the tracer, only files with certain words are looked at"


def test_every_rule_on_disk_is_found_once() -> None:
    folder = Path(__file__).resolve().parents[2] / "rules"
    files = sorted(path.stem[:6].upper() for path in folder.glob("dft*.py"))
    assert [rule.CODE for rule in RULES] == files
    assert len({rule.NAME for rule in RULES}) == len(RULES)


def test_a_third_of_the_cases_are_near_misses() -> None:
    valid = sum(len(rule.VALID) for rule in RULES)
    invalid = sum(len(rule.INVALID) for rule in RULES)
    assert valid * 2 >= invalid, f"{valid} valid, {invalid} invalid"
