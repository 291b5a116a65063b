"""DFT304: tracing that starts while a program's module is imported."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import ClassVar

from dfannotate.edits import Splice
from dfannotate.rules import Case, Finding, Fix, Module, Rule
from dfannotate.rules.lifecycles import guards, initializes, start_of
from dfannotate.rules.repairs import is_alone
from dfannotate.usage import CallUse

_IMPORT = "from dftracer.python import dftracer\n"


class ModuleLevelInitialize(Rule):
    """A file with a ``__main__`` guard is imported too: by its worker processes, where they are not forked, by tests,
    by other programs. A start above the guard then starts tracing in each of them, and the trace of a worker that
    nothing finalizes is a file of 0 bytes, beside the one that counts.

    The start moves into the guard, with the lines that register its end."""

    CODE: ClassVar[str] = "DFT304"
    NAME: ClassVar[str] = "module-level-initialize"
    MESSAGE: ClassVar[str] = "tracing starts in every process that imports this file; start it in the `__main__` guard"
    FIXABLE: ClassVar[bool] = True

    def check(self, module: Module) -> Iterator[Finding]:
        found = guards(module)
        if not found or not initializes(module) or _starts_mpi(module):
            return
        for use in initializes(module):
            guard = found[0]
            if use.function is None and not _is_inside(use, found) and use.node.lineno < guard.lineno:
                yield self.finding(module, use.node, _fix(module, use, guard) if len(found) == 1 else None)

    VALID: ClassVar[tuple[Case, ...]] = (
        Case("in-guard", _IMPORT + "if '__main__' == __name__:\n    log = dftracer.initialize_log()\n"),
        Case(
            "in-function",
            _IMPORT + "def main():\n    log = dftracer.initialize_log()\nif __name__ == '__main__':\n    main()\n",
        ),
        Case("no-guard", _IMPORT + "log = dftracer.initialize_log()\nmain()\nlog.finalize()\n"),
        Case(
            "after-mpi",
            "import mpi4py\nmpi4py.rc.initialize = False\nfrom mpi4py import MPI\n" + _IMPORT + "MPI.Init()\n"
            "log = dftracer.initialize_log()\nif __name__ == '__main__':\n    main(log)\n",
        ),
        Case(
            "other-object",
            "from logs import dftracer\nlog = dftracer.initialize_log()\nif __name__ == '__main__':\n    pass\n",
        ),
        Case(
            "default-of-nothing",
            _IMPORT + "start = lambda: dftracer.initialize_log()\nif __name__ == '__main__':\n    start()\n",
        ),
    )
    INVALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "moved",
            "import atexit\n" + _IMPORT + "log = dftracer.initialize_log(None, None, -1)  # all of it\n"
            "atexit.register(log.finalize)\n\n\ndef main():\n    return 1\n\n\nif __name__ == '__main__':\n"
            "    main()\n",
            ((3, 7),),
            "import atexit\n" + _IMPORT + "\n\ndef main():\n    return 1\n\n\nif __name__ == '__main__':\n"
            "    log = dftracer.initialize_log(None, None, -1)  # all of it\n    atexit.register(log.finalize)\n"
            "    main()\n",
        ),
        Case(
            "under-switch",
            "import dftracer.python as d\nif d.DFTRACER_ENABLE:\n    d.dftracer.initialize_log(\n        None)\n"
            "if __name__ == '__main__':\n    # begin\n    main()\n    d.dftracer.get_instance().finalize()\n",
            ((3, 5),),
            "import dftracer.python as d\nif __name__ == '__main__':\n    # begin\n    if d.DFTRACER_ENABLE:\n"
            "        d.dftracer.initialize_log(\n            None)\n    main()\n"
            "    d.dftracer.get_instance().finalize()\n",
        ),
        Case(
            "needed-above",
            _IMPORT + "log = dftracer.initialize_log()\ndef f():\n    return log.get_time()\n"
            "if __name__ == '__main__':\n    f()\n",
            ((2, 7),),
        ),
    )


def _starts_mpi(module: Module) -> bool:
    """Whether MPI starts at the top level too: the tracer has to start behind it, wherever that is."""
    return "mpi4py" in module.text and any(mpi.what == "init" and not mpi.function for mpi in module.facts.mpi)


def _is_inside(use: CallUse, found: Sequence[ast.If]) -> bool:
    return any(node in found or isinstance(node, (ast.Lambda, ast.ClassDef)) for node in use.ancestors)


def _fix(module: Module, use: CallUse, guard: ast.If) -> Fix | None:
    start = start_of(use)
    if start is None or len(use.ancestors) < 2:
        return None
    top = use.ancestors[1]
    if not isinstance(top, (ast.Expr, ast.Assign, ast.If)) or (isinstance(top, ast.If) and top.orelse):
        return None
    body = module.tree.body
    index = body.index(top)
    moved: list[ast.stmt] = [top]
    if start.name:
        for node in body[index + 1 :]:
            if not (isinstance(node, ast.Expr) and _mentions(node, start.name)):
                break
            moved.append(node)
    between = body[index + len(moved) : body.index(guard)]
    if any(isinstance(node, (ast.For, ast.While, ast.With, ast.Try)) for node in between):
        return None  # it works there, and may be traced
    outside = [node for node in body if node not in moved and node is not guard]
    if start.name and any(_mentions(node, start.name) for node in outside):
        return None
    first = guard.body[0]
    if not is_alone(module, first) or first.lineno == guard.lineno or not all(is_alone(module, n) for n in moved):
        return None
    prefix = module.lines[first.lineno - 1][: module.column(first.lineno, first.col_offset)]
    edits: list[Splice] = []
    lines: list[str] = []
    for node in moved:
        if any(_is_long_string(part) for part in ast.walk(node)):
            return None
        texts = module.lines[node.lineno - 1 : node.end_lineno]
        lines += [prefix + text.rstrip("\r\n") if text.strip() else "" for text in texts]
        edits.append(Splice(node.lineno, (node.end_lineno or node.lineno) + 1))
    decorators = getattr(first, "decorator_list", [])
    line = min([first.lineno, *(decorator.lineno for decorator in decorators)])
    return Fix((*edits, Splice(line, line, tuple(lines))))


def _mentions(node: ast.stmt, name: str) -> bool:
    return any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(node))


def _is_long_string(node: ast.AST) -> bool:
    return isinstance(node, (ast.Constant, ast.JoinedStr)) and (node.end_lineno or 0) > node.lineno
