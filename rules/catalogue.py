"""The rules in words: what ``dfannotate rule`` prints, and ``rules/README.md`` holds."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from dfannotate.rules import Case, Rule

FAMILIES = {
    "DFT0": "The tool itself",
    "DFT1": "Names and arguments of other releases",
    "DFT2": "Decorators and regions",
    "DFT3": "Start and end of tracing",
    "DFT4": "Loaders and worker processes",
    "DFT5": "Events",
    "DFT6": "Environment and launch scripts",
}


def paragraphs(rule: Rule) -> list[str]:
    """The rule's docstring, each paragraph on one line, in Markdown."""
    text = inspect.cleandoc(type(rule).__doc__ or "").replace("``", "`")
    return [" ".join(part.split()) for part in text.split("\n\n")]


def as_markdown(rule: Rule, level: int = 1) -> str:
    """One rule, with an example of what it finds and of what it makes of it."""
    fix = "`--fix` puts it right where that is certain." if rule.FIXABLE else "It has to be put right by hand."
    since = f" It holds from release {'.'.join(map(str, rule.SINCE))} on." if any(rule.SINCE) else ""
    parts = [f"{'#' * level} {rule.CODE} {rule.NAME}", *paragraphs(rule), fix + since]
    case = _example(rule)
    parts += [_block(case.text, case.path)]
    if case.fixed:
        parts += ["becomes", _block(case.fixed, case.path)]
    elif case.fixed == "":
        parts += ["is taken out."]
    return "\n\n".join(parts) + "\n"


def all_as_markdown(rules: Sequence[Rule]) -> str:
    """All rules: an overview, then each."""
    parts = [
        "# Rules",
        "What `dfannotate lint` looks for. This page is what `dfannotate rule --all` prints: `make rules` writes it.",
    ]
    for prefix, title in FAMILIES.items():
        family = [rule for rule in rules if rule.CODE.startswith(prefix)]
        if family:
            rows = [f"| {rule.CODE} | {rule.NAME} | {'yes' if rule.FIXABLE else ''} |" for rule in family]
            parts += [f"## {title}", "\n".join(["| code | name | fix |", "| --- | --- | --- |", *rows])]
            parts += [as_markdown(rule, 3).rstrip("\n") for rule in family]
    return "\n\n".join(parts) + "\n"


def as_json(rule: Rule) -> dict[str, Any]:
    """One rule as plain values."""
    case = _example(rule)
    return {
        "code": rule.CODE,
        "name": rule.NAME,
        "message": rule.MESSAGE,
        "explanation": "\n\n".join(paragraphs(rule)),
        "fixable": rule.FIXABLE,
        "since": ".".join(map(str, rule.SINCE)) if any(rule.SINCE) else None,
        "example": {"path": case.path, "text": case.text, "fixed": case.fixed},
    }


def _example(rule: Rule) -> Case:
    """What shows the rule best: the first case that is put right, else the first."""
    return next((case for case in rule.INVALID if case.fixed is not None), rule.INVALID[0])


def _block(text: str, path: str) -> str:
    language = "python" if path.endswith(".py") else "yaml" if path.endswith((".yml", ".yaml")) else "sh"
    return f"```{language}\n{text.rstrip()}\n```"
