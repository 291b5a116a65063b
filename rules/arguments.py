"""Arguments of calls as text: taking one out, and telling which one a value is."""

from __future__ import annotations

import ast
import io
import tokenize

from dfannotate import vocabulary
from dfannotate.edits import Rewrite
from dfannotate.rules import Fix, Module
from dfannotate.rules.repairs import rename_keyword
from dfannotate.usage import CallUse


def without_argument(module: Module, use: CallUse, keyword: ast.keyword) -> Fix | None:
    """The call without ``keyword``, whose value must not be missed: a constant or a name.

    ``comp=`` becomes ``cat=`` where the call has none."""
    call = use.call
    named = {other.arg for other in call.keywords}
    invented = keyword.arg == vocabulary.INVENTED_ARGUMENT
    if invented and not call.args and named.isdisjoint({"cat", vocabulary.MISTAKEN_CATEGORY, None}):
        return Fix((rename_keyword(module, keyword, "cat"),))
    if not isinstance(keyword.value, (ast.Constant, ast.Name, ast.Attribute)):
        return None
    others = [*call.args, *(other for other in call.keywords if other is not keyword)]
    before = [node for node in others if module.position(node)[:2] < module.position(keyword)[:2]]
    line, column, end_line, end_column = module.position(keyword)
    if before:  # from the end of the one before it, with the comma
        last = max(before, key=lambda node: module.position(node)[:2])
        after = _comma_before(module, last, keyword)
        return Fix((Rewrite(*after, end_line, end_column),)) if after else None
    if others:
        first = min(others, key=lambda node: module.position(node)[:2])
        next_line, next_column, _, _ = module.position(first)
        return Fix((Rewrite(line, column, next_line, next_column),)) if next_line == end_line else None
    return Fix((Rewrite(line, column, end_line, end_column),))


def _comma_before(module: Module, last: ast.AST, keyword: ast.keyword) -> tuple[int, int] | None:
    """Where the comma stands between two arguments, whatever parentheses are around the first one; None where there is
    a comment between them, which would go as well."""
    _, _, line, column = module.position(last)
    end_line, end, _, _ = module.position(keyword)
    if line == end_line:
        text = module.lines[line - 1][column:end]
    else:
        text = "".join(
            [module.lines[line - 1][column:], *module.lines[line : end_line - 1], module.lines[end_line - 1][:end]]
        )
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                return None
            if token.string == ",":
                row, begin = token.start
                return line + row - 1, begin + (column if row == 1 else 0)
    except (tokenize.TokenError, IndentationError):
        pass
    return None


def placed_by_value(value: ast.expr) -> str:
    """The argument of ``log_event`` that a dictionary must be, by the types of its values, bare or paired with a tag;
    empty where they do not tell, or disagree."""
    if not isinstance(value, ast.Dict) or None in value.keys:
        return ""
    found = {_argument_for(one) for one in value.values}
    return found.pop() if len(found) == 1 else ""


def _argument_for(value: ast.expr) -> str:
    if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == 2:
        value = value.elts[1]
    if isinstance(value, ast.UnaryOp):
        value = value.operand
    if isinstance(value, ast.JoinedStr):
        return "string_args"
    if isinstance(value, ast.Constant):
        return next((name for name, kind in vocabulary.TAGGED_ARGUMENTS.items() if type(value.value) is kind), "")
    return ""
