"""``dfannotate rule``: a lint rule, or all of them, explained."""

from __future__ import annotations

from dfannotate.cli.show import Output, UserError, print_json
from dfannotate.rules import discover
from dfannotate.rules.catalogue import all_as_markdown, as_json, as_markdown


def rule(code: str | None, *, every: bool, output: Output) -> int:
    """Explain the rule with ``code``, or every one. Returns the exit code. Raises ``UserError``."""
    rules = discover()
    if every:
        if output == "json":
            print_json({"rules": [as_json(one) for one in rules]})
        else:
            print(all_as_markdown(rules), end="")
        return 0
    wanted = (code or "").strip()
    found = next((one for one in rules if wanted.upper() == one.CODE or wanted.lower() == one.NAME), None)
    if found is None:
        raise UserError(f"{wanted!r}: no rule has this code or name; `dfannotate rule --all` lists them")
    if output == "json":
        print_json(as_json(found))
    else:
        print(as_markdown(found), end="")
    return 0
