"""DFT101: an import from where the tracer's names no longer are."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import ClassVar

from dfannotate import vocabulary
from dfannotate.edits import Rewrite
from dfannotate.rules import Case, Finding, Fix, Module, Rule
from dfannotate.rules.imports import has_alternative, is_current, module_place
from dfannotate.rules.moved import from_module, plain_import, reached, submodule_import

_GONE = vocabulary.OLD_NATIVE_MODULES | {vocabulary.OLD_DYNAMO}


class MovedImport(Rule):
    """An import path of an earlier release: ``dlio_profiler.logger``, ``dftracer.logger`` and their variants.

    It raises ``ImportError`` with the release that is written for, or, within ``try … except ImportError``, turns
    tracing off without a word. Local names stay as they are. Left alone where another branch of the same ``try`` or
    ``if`` imports from the new place: such a program supports both."""

    CODE: ClassVar[str] = "DFT101"
    NAME: ClassVar[str] = "moved-import"
    MESSAGE: ClassVar[str] = "`{old}` is no module of the tracer any more; {new}"
    FIXABLE: ClassVar[bool] = True
    SINCE: ClassVar[tuple[int, int, int]] = (1, 0, 1)

    def check(self, module: Module) -> Iterator[Finding]:
        seen: set[ast.AST] = set()
        for use in module.usage.imports:
            node = use.node
            if use.handed_on or node in seen or not _is_stale(reached(use), module.generation):
                continue
            if has_alternative(module, use):
                continue
            old, new = reached(use), _now(reached(use), module.generation)
            hint = f"import from `{new}`" if new else "see its documentation for what replaces it"
            if isinstance(node, ast.Import):
                edits = plain_import(module, use, new) if new else None
                yield self.finding(module, use.alias, Fix(tuple(edits)) if edits else None, old=old, new=hint)
                continue
            if old != use.module:  # ``from dftracer import logger``
                edits = submodule_import(module, use, new) if new else None
                yield self.finding(module, use.alias, Fix(tuple(edits)) if edits else None, old=old, new=hint)
                continue
            seen.add(node)
            place = module_place(module, node)
            if place is None:
                yield self.finding(module, node, old=old, new=hint)
                continue
            edits = from_module(module, node, new) if new else None
            fix = Fix((Rewrite(*place, new), *edits)) if edits is not None else None
            yield self.finding_at(module.path, (place[0], place[1] + 1, place[2], place[3] + 1), fix, old=old, new=hint)

    VALID: ClassVar[tuple[Case, ...]] = (
        Case("current", "from dftracer.python import dftracer, dft_fn\n"),
        Case("old-release-wanted", "from dftracer.logger import dftracer, dft_fn\n", target="1.0.11"),
        Case(
            "both-generations",
            "try:\n    from dftracer.python import dft_fn\nexcept ImportError:\n"
            "    from dftracer.logger import dft_fn\n",
        ),
        Case(
            "by-version",
            "if NEW:\n    from dftracer.python import dftracer as PerfTrace\n"
            "else:\n    from dlio_profiler.logger import dlio_logger as PerfTrace\n",
        ),
        Case("other-package", "from mypackage.dftracer.logger import dft_fn\nfrom .dftracer.logger import dftracer\n"),
        Case("in-a-string", 'OLD = "from dftracer.logger import dft_fn"\n'),
        Case(
            "handed-on",
            "from tracing import Profile\nx = Profile('IO')\n",
            files={"tracing.py": "from dftracer.python import dft_fn as Profile\n"},
        ),
    )
    INVALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "first-generation-aliases",
            "from dlio_profiler.logger import dlio_logger as PerfTrace, fn_interceptor as Profile\n",
            ((1, 6),),
            "from dftracer.python import dftracer as PerfTrace, dft_fn as Profile\n",
        ),
        Case(
            "first-generation-names",
            "from dlio_profiler.logger import (\n    dlio_logger,  # the singleton\n    DLIO_PROFILER_ENABLE,\n)\n",
            ((1, 6),),
            "from dftracer.python import (\n    dftracer as dlio_logger,  # the singleton\n"
            "    DFTRACER_ENABLE as DLIO_PROFILER_ENABLE,\n)\n",
        ),
        Case(
            "stand-in",
            "try:\n    from dftracer.logger import dftracer, dft_fn\nexcept ImportError:\n"
            "    dftracer = dft_fn = None\n",
            ((2, 10),),
            "try:\n    from dftracer.python import dftracer, dft_fn\nexcept ImportError:\n"
            "    dftracer = dft_fn = None\n",
        ),
        Case(
            "module-object",
            "import dlio_profiler.logger as dl\nio = dl.fn_interceptor('IO')\nlog = dl.dlio_logger.get_instance()\n",
            ((1, 8),),
            "import dftracer.python as dl\nio = dl.dft_fn('IO')\nlog = dl.dftracer.get_instance()\n",
        ),
        Case(
            "dotted",
            "import dftracer.logger\n\nio = dftracer.logger.dft_fn('IO')\n",
            ((1, 8),),
            "import dftracer.python\n\nio = dftracer.python.dft_fn('IO')\n",
        ),
        Case(
            "submodule",
            "from dftracer import logger\nio = logger.dft_fn('IO')\n",
            ((1, 22),),
            "from dftracer import python as logger\nio = logger.dft_fn('IO')\n",
        ),
        Case(
            "debug-build",
            "def start():\n    from dftracer.dbg.logger import dftracer\n",
            ((2, 10),),
            "def start():\n    from dftracer.python.dbg import dftracer\n",
        ),
        Case(
            "members-of-ai",
            "from dftracer.logger.ai import compute\n",
            ((1, 6),),
            "from dftracer.python.ai import compute\n",
        ),
        Case("native", "import pydftracer\n", ((1, 8),)),
        Case("another-class", "from dftracer.dynamo import dft_fn\n", ((1, 6),)),
        Case(
            "for-an-old-release",
            "from dlio_profiler.logger import fn_interceptor\n",
            ((1, 6),),
            "from dftracer.logger import dft_fn as fn_interceptor\n",
            target="1.0.11",
        ),
    )


def _is_stale(imported: str, generation: vocabulary.Generation) -> bool:
    if imported.partition(".")[0] in vocabulary.PREDECESSORS:
        return generation is not vocabulary.GENERATIONS[0]
    return generation is vocabulary.CURRENT and (imported in vocabulary.MOVED_MODULES or imported in _GONE)


def _now(imported: str, generation: vocabulary.Generation) -> str:
    new = vocabulary.MOVED_MODULES.get(imported, "")
    return new if not new or is_current(new, generation) else generation.module
