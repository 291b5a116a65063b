"""What can be told of a value by the source: followed through the names of its function and of the module."""

from __future__ import annotations

import ast
import operator
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from dfannotate import vocabulary
from dfannotate.rules.bindings import Bindings, plain_parameters, set_attributes
from dfannotate.usage import Scope

Kind = Literal["int", "float", "str", "pair", "bare", ""]
"""``pair``: a sequence; ``bare``: a single value, of whatever type; empty: cannot be told."""

_HOPS = 8
_LARGEST_SHIFT = 128
_PAIRED = re.compile("pair|tag|tuple|arg")

_KIND_BY_BUILTIN: dict[str, Kind] = {
    **dict.fromkeys(("len", "int", "ord", "hash", "id", "bool"), "int"),
    "float": "float",
    **dict.fromkeys(("str", "repr", "format", "hex", "oct", "bin", "chr", "ascii"), "str"),
}
_KIND_BY_FUNCTION: dict[str, Kind] = {
    **{f"time.{name}": "float" for name in ("time", "perf_counter", "monotonic", "process_time", "thread_time")},
    **{f"time.{name}_ns": "int" for name in ("time", "perf_counter", "monotonic", "process_time", "thread_time")},
}
_KIND_BY_METHOD: dict[str, Kind] = {
    **dict.fromkeys(("timestamp", "total_seconds"), "float"),
    **dict.fromkeys(("format", "join", "decode", "hexdigest", "isoformat"), "str"),
    **dict.fromkeys((vocabulary.GET_TIME, "bit_length", "numel", "fileno", "tell"), "int"),
    "value": "pair",
    "item": "bare",
}
_BARE_ATTRIBUTES = frozenset({"nbytes", "st_size", "itemsize", "pid", "returncode", "ndim"})
_FOLDED: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
    ast.BitXor: operator.xor,
}


class Values(Bindings):
    """What the values of one module certainly are."""

    def dotted(self, node: ast.expr, scopes: Sequence[Scope]) -> str:
        """``time.time`` for what an import brings, under whatever name; a built-in's own name; empty for others."""
        if isinstance(node, ast.Attribute):
            base = self.dotted(node.value, scopes)
            return f"{base}.{node.attr}" if base else ""
        if not isinstance(node, ast.Name):
            return ""
        bound = self.bound(node.id, scopes)
        if not bound:
            return node.id if node.id in _KIND_BY_BUILTIN or node.id in ("round", "abs", "min", "max") else ""
        return bound[0] if len(bound) == 1 and isinstance(bound[0], str) else ""

    def kind(self, node: ast.expr, scopes: Sequence[Scope], hops: int = _HOPS) -> Kind:
        """What a value certainly is."""
        if hops <= 0:
            return ""
        if isinstance(node, ast.Constant):
            return _KIND_BY_TYPE.get(type(node.value), "")
        if isinstance(node, ast.JoinedStr):
            return "str"
        if isinstance(node, (ast.Tuple, ast.List)):
            return "pair"
        if isinstance(node, ast.Compare):
            return "int" if all(isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for op in node.ops) else "bare"
        if isinstance(node, ast.UnaryOp):
            return "int" if isinstance(node.op, ast.Not) else self.kind(node.operand, scopes, hops - 1)
        if isinstance(node, ast.BinOp):
            return self._of_operation(node, scopes, hops)
        if isinstance(node, ast.IfExp):
            return self._agreed([node.body, node.orelse], scopes, hops)
        if isinstance(node, ast.NamedExpr):
            return self.kind(node.value, scopes, hops - 1)
        if isinstance(node, ast.Call):
            return self._of_call(node, scopes, hops)
        if isinstance(node, ast.Attribute):
            return "bare" if node.attr in _BARE_ATTRIBUTES else self._of_self(node, scopes, hops)
        return self._of_name(node.id, scopes, hops) if isinstance(node, ast.Name) else ""

    def _agreed(self, nodes: Iterable[ast.expr], scopes: Sequence[Scope], hops: int) -> Kind:
        kinds: set[Kind] = {self.kind(node, scopes, hops - 1) for node in nodes}
        if len(kinds) == 1:
            return kinds.pop()
        return "bare" if kinds and not kinds & {"pair", ""} else ""

    def _of_operation(self, node: ast.BinOp, scopes: Sequence[Scope], hops: int) -> Kind:
        left, right = (self.kind(part, scopes, hops - 1) for part in (node.left, node.right))
        numbers = {"int", "float"}
        if left == "str":
            return "str" if isinstance(node.op, (ast.Mod, ast.Add, ast.Mult)) else ""
        if right == "str" or "pair" in (left, right):
            return ""
        if isinstance(node.op, ast.Div):
            return "float" if numbers & {left, right} else ""
        if isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.Pow)):
            if "float" in (left, right):
                return "float"
            if left == right == "int":
                return "bare" if isinstance(node.op, ast.Pow) else "int"
            return "bare" if numbers & {left, right} and not isinstance(node.op, (ast.Mult, ast.Mod)) else ""
        return "int" if left == right == "int" else ""

    def _of_call(self, node: ast.Call, scopes: Sequence[Scope], hops: int) -> Kind:
        name = self.dotted(node.func, scopes)
        known = _KIND_BY_BUILTIN.get(name) or _KIND_BY_FUNCTION.get(name)
        if known:
            return known
        if name == "round":
            return "int" if len(node.args) == 1 and not node.keywords else "bare"
        if name == "abs" and len(node.args) == 1:
            return self.kind(node.args[0], scopes, hops - 1)
        if name in ("min", "max"):
            return self._agreed(node.args, scopes, hops) if len(node.args) > 1 else ""
        if name and name.partition(".")[0] in sys.stdlib_module_names:
            return "bare" if name.startswith(("os.path.get", "os.get", "socket.get", "random.")) else ""
        return _KIND_BY_METHOD.get(node.func.attr, "") if isinstance(node.func, ast.Attribute) else ""

    def _of_name(self, name: str, scopes: Sequence[Scope], hops: int) -> Kind:
        bound = self.bound(name, scopes)
        if not bound or any(not isinstance(value, ast.expr) for value in bound):
            return self._of_parameter(name, scopes) if len(bound) == 1 and bound[0] is None else ""
        return self._agreed([value for value in bound if isinstance(value, ast.expr)], scopes, hops)

    def _of_parameter(self, name: str, scopes: Sequence[Scope]) -> Kind:
        parameter = self.parameter(name, scopes)
        if parameter is None:
            return ""
        if parameter.annotation is None:
            return "" if _PAIRED.search(name) else "bare"
        return _kind_of_annotation(parameter.annotation)

    def _of_self(self, node: ast.Attribute, scopes: Sequence[Scope], hops: int) -> Kind:
        """An attribute of ``self``, by what the methods of the class set it to."""
        for depth in range(len(scopes) - 1, 0, -1):
            method, owner = scopes[depth], scopes[depth - 1]
            if not isinstance(owner, ast.ClassDef) or not isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef)):
                continue
            if not isinstance(node.value, ast.Name) or [arg.arg for arg in plain_parameters(method)][:1] != [
                node.value.id
            ]:
                return ""
            kinds: set[Kind] = {
                self.kind(value, (*scopes[:depth], function), hops - 1) if value is not None else ""
                for function in owner.body
                if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
                for value in set_attributes(function, node.attr)
            }
            return kinds.pop() if len(kinds) == 1 else "bare" if kinds and not kinds & {"", "pair"} else ""
        return ""

    def integer(self, node: ast.expr, scopes: Sequence[Scope], hops: int = _HOPS) -> int | None:
        """The value of an expression of integers that are written out; None where it is none, or is huge."""
        if hops <= 0:
            return None
        if isinstance(node, ast.Constant):
            return node.value if type(node.value) is int else None
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
            value = self.integer(node.operand, scopes, hops - 1)
            return value if value is None or isinstance(node.op, ast.UAdd) else -value
        if isinstance(node, ast.Name):
            only = self.only(node.id, scopes)
            return None if only is None else self.integer(only, scopes, hops - 1)
        if not isinstance(node, ast.BinOp):
            return None
        left, right = self.integer(node.left, scopes, hops - 1), self.integer(node.right, scopes, hops - 1)
        if left is None or right is None or max(abs(left), abs(right)) >= 1 << _LARGEST_SHIFT:
            return None
        if isinstance(node.op, (ast.LShift, ast.Pow, ast.RShift)):
            if not 0 <= right <= _LARGEST_SHIFT:
                return None
            return (
                left << right
                if isinstance(node.op, ast.LShift)
                else left >> right
                if isinstance(node.op, ast.RShift)
                else left**right
            )
        fold = _FOLDED.get(type(node.op))
        if fold is None or (right == 0 and isinstance(node.op, (ast.FloorDiv, ast.Mod))):
            return None
        return fold(left, right)


_KIND_BY_TYPE: dict[type, Kind] = {int: "int", bool: "int", float: "float", str: "str"}
_KIND_BY_ANNOTATION: dict[object, Kind] = {kind.__name__: name for kind, name in _KIND_BY_TYPE.items()}


def _kind_of_annotation(node: ast.expr | None) -> Kind:
    name = node.id if isinstance(node, ast.Name) else node.value if isinstance(node, ast.Constant) else None
    return _KIND_BY_ANNOTATION.get(name, "")
