"""DFT302: a way out between the start of tracing and its end."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from dfannotate import vocabulary
from dfannotate.edits import Splice
from dfannotate.rules import Case, Finding, Fix, Module, Rule
from dfannotate.rules.lifecycles import (
    Start,
    called_names,
    finalize_at_exit,
    finalizes,
    functions,
    handed_over,
    indent_of,
    initializes,
    is_alone,
    is_exit,
    start_of,
)
from dfannotate.usage import CallUse

_HEAD = "import os, sys\nfrom dftracer.python import dftracer\n"
_ALL = frozenset({"BaseException", "SystemExit"})
_AT_ONCE = ("os._exit", "os.abort")


class ExitWithoutFinalize(Rule):
    """A ``return``, ``raise``, ``sys.exit()`` or ``os._exit()`` between the start and ``finalize()`` leaves a trace
    of 0 bytes. ``atexit`` covers all of them but ``os._exit()``, before which one has to finalize; so does ``try …
    finally``.

    A call that might raise is no finding: nothing in the source says that it does."""

    CODE: ClassVar[str] = "DFT302"
    NAME: ClassVar[str] = "exit-without-finalize"
    MESSAGE: ClassVar[str] = "`{way}` leaves before line {line} finalizes, and the trace will be empty; {instead}"
    FIXABLE: ClassVar[bool] = True
    SINCE: ClassVar[tuple[int, int, int]] = (2, 0, 2)

    def check(self, module: Module) -> Iterator[Finding]:
        ends = finalizes(module)
        if len(ends) != 1:
            return
        registered = handed_over(module)
        for use in initializes(module):
            start = start_of(use)
            between = _between(use, ends[0])
            if start is None or between is None:
                continue
            for way in _ways_out(module, between):
                at_once = way.text in _AT_ONCE
                if registered and not at_once:
                    continue
                fix = _finalize_before(module, way, start) if at_once else finalize_at_exit(module, start)
                instead = "finalize before it" if at_once else "finalize by `atexit` or `try … finally`"
                yield self.finding(module, way.node, fix, way=way.text, line=ends[0].node.lineno, instead=instead)

    VALID: ClassVar[tuple[Case, ...]] = (
        Case("straight", _HEAD + "log = dftracer.initialize_log()\nmain()\nlog.finalize()\nsys.exit(0)\n"),
        Case(
            "finally",
            _HEAD + "def main():\n    log = dftracer.initialize_log()\n    try:\n        if not work():\n"
            "            return 1\n        sys.exit(2)\n    finally:\n        log.finalize()\n",
        ),
        Case(
            "registered",
            _HEAD + "import atexit\ndef main():\n    log = dftracer.initialize_log()\n"
            "    atexit.register(log.finalize)\n    if bad():\n        return 1\n    log.finalize()\n",
        ),
        Case(
            "caught",
            _HEAD + "log = dftracer.initialize_log()\ntry:\n    sys.exit(main())\nexcept SystemExit:\n    pass\n"
            "try:\n    raise KeyError\nexcept KeyError:\n    pass\nlog.finalize()\n",
        ),
        Case(
            "two-ends",
            _HEAD + "def main():\n    log = dftracer.initialize_log()\n    if bad():\n        log.finalize()\n"
            "        return 1\n    log.finalize()\n",
        ),
        Case(
            "defined-between",
            _HEAD + "log = dftracer.initialize_log()\ndef f():\n    return 1\nlog.finalize()\n",
        ),
        Case(
            "other-method",
            _HEAD
            + "def stop(log):\n    log.finalize()\ndef main():\n    log = dftracer.initialize_log()\n    return log\n",
        ),
    )
    INVALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "return",
            _HEAD + "import atexit\ndef main():\n    log = dftracer.initialize_log()\n    if bad():\n        return 1\n"
            "    log.finalize()\n",
            ((7, 9),),
            _HEAD + "import atexit\ndef main():\n    log = dftracer.initialize_log()\n"
            "    atexit.register(log.finalize)\n    if bad():\n        return 1\n    log.finalize()\n",
        ),
        Case(
            "sys-exit-in-guard",
            _HEAD + "\n\nif __name__ == '__main__':\n    log = dftracer.initialize_log()\n    sys.exit(main())\n"
            "    log.finalize()\n",
            ((7, 5),),
            _HEAD + "import atexit\n\n\nif __name__ == '__main__':\n    log = dftracer.initialize_log()\n"
            "    atexit.register(log.finalize)\n    sys.exit(main())\n    log.finalize()\n",
        ),
        Case(
            "in-what-is-called",
            _HEAD + "\n\ndef main():\n    if bad():\n        os._exit(3)\n    raise SystemExit\n\n\n"
            "if __name__ == '__main__':\n    dftracer.initialize_log()\n    main()\n"
            "    dftracer.get_instance().finalize()\n",
            ((7, 9),),
            _HEAD + "\n\ndef main():\n    if bad():\n        dftracer.get_instance().finalize()\n        os._exit(3)\n"
            "    raise SystemExit\n\n\nif __name__ == '__main__':\n    dftracer.initialize_log()\n    main()\n"
            "    dftracer.get_instance().finalize()\n",
        ),
        Case(
            "raise",
            "from dftracer.logger import dftracer as T\nimport atexit\n"
            "log = T.initialize_log('a', 'b', 0)\nif not ready:\n    raise RuntimeError\nwork()\nlog.finalize()\n",
            ((5, 5),),
            "from dftracer.logger import dftracer as T\nimport atexit\n"
            "log = T.initialize_log('a', 'b', 0)\natexit.register(log.finalize)\nif not ready:\n"
            "    raise RuntimeError\nwork()\nlog.finalize()\n",
        ),
    )


@dataclass(frozen=True)
class _Way:
    """A way out: the node that is shown, the statement that it is, and how a message calls it."""

    node: ast.AST
    statement: ast.stmt
    text: str


def _between(start: CallUse, end: CallUse) -> list[ast.stmt] | None:
    """The statements between those that hold the two calls, of the innermost block that holds both; None where they
    are not in one function, or in the other order."""
    if start.function is not end.function:
        return None
    first, second = (*start.ancestors, start.node), (*end.ancestors, end.node)
    depth = next((i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a is not b), 0)
    if not depth:
        return None
    for name in ("body", "orelse", "finalbody"):
        block = getattr(first[depth - 1], name, None)
        if isinstance(block, list) and first[depth] in block and second[depth] in block:
            found: list[ast.stmt] = block[block.index(first[depth]) + 1 : block.index(second[depth])]
            return found if block.index(first[depth]) < block.index(second[depth]) else None
    return None


def _ways_out(module: Module, between: list[ast.stmt]) -> Iterator[_Way]:
    yield from _ways(between)
    known = functions(module)
    reached: set[str] = set()
    pending = [name for name in called_names(between) if name in known]
    while pending:
        name = pending.pop()
        if name not in reached:
            reached.add(name)
            yield from (way for way in _ways(known[name].body) if way.text not in ("return", "raise"))
            pending += [other for other in called_names(known[name].body) if other in known]


def _ways(body: list[ast.stmt], caught: bool = False, all_caught: bool = False) -> Iterator[_Way]:
    """The ways out of a block's function, those left out that something around them catches."""
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        if isinstance(node, ast.Return):
            yield _Way(node, node, "return")
        elif isinstance(node, ast.Raise) and not caught:
            yield _Way(node, node, "raise")
        elif isinstance(node, ast.Expr) and (name := is_exit(node.value)) and (name in _AT_ONCE or not all_caught):
            yield _Way(node, node, name)
        inner_caught, inner_all = caught, all_caught
        if isinstance(node, ast.Try) and node.handlers:
            inner_caught, inner_all = True, all_caught or any(_catches_all(handler) for handler in node.handlers)
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            inner_caught = inner_all = True  # contextlib.suppress, pytest.raises
        yield from _ways(getattr(node, "body", []), inner_caught, inner_all)
        for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            yield from _ways(part.body, caught, all_caught)
        for name in ("orelse", "finalbody"):
            yield from _ways(getattr(node, name, []), caught, all_caught)


def _catches_all(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    return any(isinstance(node, ast.Name) and node.id in _ALL for node in ast.walk(handler.type))


def _finalize_before(module: Module, way: _Way, start: Start) -> Fix | None:
    owner = start.use.call.func
    if not is_alone(module, way.statement) or not isinstance(owner, ast.Attribute):
        return None
    if not start.use.role.startswith("logger."):
        return None
    text = f"{module.segment(owner.value)}.{vocabulary.GET_INSTANCE}().{vocabulary.FINALIZE}()"
    line = way.statement.lineno
    return Fix((Splice(line, line, (indent_of(module, way.statement) + text,)),))
