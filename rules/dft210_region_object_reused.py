"""DFT210: one region object for several passes."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence
from typing import ClassVar

from dfannotate.rules import Case, Finding, Module, Rule
from dfannotate.usage import Binding, Region

_IMPORT = "from dftracer.python import dft_fn\n"
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_LEAVES = (ast.Return, ast.Raise, ast.Break, ast.Continue)


class RegionObjectReused(Rule):
    """An object of the tracer's writes its event when its ``with`` ends for the first time; each further ``with``
    writes nothing, unless ``reset()`` was called before. Make a new object for each pass."""

    CODE: ClassVar[str] = "DFT210"
    NAME: ClassVar[str] = "region-object-reused"
    MESSAGE: ClassVar[str] = "`{name}` was made once, and only its first `with` is logged; make one for each"

    def check(self, module: Module) -> Iterator[Finding]:
        seen: dict[int, list[Region]] = {}
        for region in module.usage.regions:
            node = region.item.context_expr
            binding = _made(module, region) if isinstance(node, ast.Name) else None
            if binding is None or _is_reset(module, node):
                continue
            before = seen.setdefault(id(binding.node), [])
            again = any(not _excludes(earlier, region) for earlier in before)
            if again or _repeats(region, binding):
                assert isinstance(node, ast.Name)
                yield self.finding(module, node, name=node.id)
            before.append(region)

    VALID: ClassVar[tuple[Case, ...]] = (
        Case("once", _IMPORT + "r = dft_fn('C', name='r')\nwith r:\n    pass\n"),
        Case(
            "made-in-loop",
            _IMPORT + "for i in range(3):\n    r = dft_fn('C', name='r')\n    with r:\n        pass\n",
        ),
        Case(
            "reset",
            _IMPORT + "r = dft_fn('C', name='r')\nfor i in range(3):\n    r.reset()\n    with r:\n        pass\n",
        ),
        Case(
            "one-or-the-other",
            _IMPORT + "def f(a):\n    r = dft_fn('C', name='r')\n    if a:\n        with r:\n            return 1\n"
            "    with r:\n        return 2\n",
        ),
        Case(
            "ready-made",
            "from dftracer.python import ai\nfor i in range(3):\n    with ai.compute.forward:\n        pass\n",
        ),
        Case("other-object", "from locks import dft_fn\nr = dft_fn('C')\nwith r:\n    pass\nwith r:\n    pass\n"),
        Case(
            "shadowed",
            _IMPORT
            + "r = dft_fn('C', name='r')\ndef f(r):\n    for i in range(3):\n        with r:\n            pass\n",
        ),
    )
    INVALID: ClassVar[tuple[Case, ...]] = (
        Case("twice", _IMPORT + "r = dft_fn('C', name='r')\nwith r:\n    pass\nwith r as s:\n    pass\n", ((5, 6),)),
        Case(
            "loop",
            "import dftracer.python as d\ndef f():\n    r = d.dft_fn('C', name='r')\n    while True:\n"
            "        with open('a') as a, r:\n            pass\n",
            ((5, 30),),
        ),
        Case(
            "two-functions",
            _IMPORT + "r = dft_fn('C', name='r')\ndef f():\n    with r:\n        pass\ndef g():\n    with r:\n"
            "        pass\n",
            ((7, 10),),
        ),
    )


def _made(module: Module, region: Region) -> Binding | None:
    """Where the object of a region is made, if it is in one place."""
    node = region.item.context_expr
    assert isinstance(node, ast.Name)
    _, bound = module.usage.bound_at(node.id, region.ancestors)
    if len(bound) != 1 or not isinstance(bound[0].value, ast.Call):
        return None
    return bound[0] if module.usage.role_of(bound[0].value.func, bound[0].ancestors) == "function" else None


def _is_reset(module: Module, node: ast.expr) -> bool:
    name = getattr(node, "id", "")
    return any(
        use.role in ("instance.reset", "instance.flush")
        and isinstance(use.node, ast.Attribute)
        and isinstance(use.node.value, ast.Name)
        and use.node.value.id == name
        for use in module.usage.uses
    )


def _repeats(region: Region, binding: Binding) -> bool:
    """Whether the ``with`` stands in a loop that its object does not, and is not left in the first pass."""
    for loop in region.ancestors:
        if isinstance(loop, _LOOPS) and loop not in binding.ancestors:
            leaves = (ast.Return, ast.Raise, ast.Break)
            if not any(isinstance(node, leaves) for node in (*loop.body, *region.node.body)):
                return True
    return False


def _excludes(one: Region, other: Region) -> bool:
    """Whether of two ``with``, in the order of the source, at most one can be reached."""
    first, second = (*one.ancestors, one.node), (*other.ancestors, other.node)
    depth = next((i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a is not b), 0)
    if not depth:  # one in the other
        return False
    parent, a, b = first[depth - 1], first[depth], second[depth]
    blocks = [block for name in ("body", "orelse") if isinstance(block := getattr(parent, name, None), list)]
    if isinstance(parent, ast.If) and not any(a in block and b in block for block in blocks):
        return True
    if isinstance(parent, (ast.Match, ast.Try)):
        return not any(a in block and b in block for block in blocks)
    return _is_left(first[depth:])


def _is_left(path: Sequence[ast.AST]) -> bool:
    """Whether a block on the way to a ``with`` ends by leaving what it stands in."""
    for parent, inner in itertools.pairwise(path):
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return False
        for name in ("body", "orelse"):
            block = getattr(parent, name, None)
            if isinstance(block, list) and inner in block and isinstance(block[-1], _LEAVES):
                return True
    last = path[-1]
    return isinstance(last, (ast.With, ast.AsyncWith)) and isinstance(last.body[-1], _LEAVES)
