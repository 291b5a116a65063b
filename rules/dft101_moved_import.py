"""DFT101: an import from where the tracer's names no longer are."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import ClassVar

from dfannotate import vocabulary
from dfannotate.edits import Edit, Rewrite
from dfannotate.rules import Case, Finding, Fix, Module, Rule
from dfannotate.rules.imports import has_alternative, is_current, module_place, rename_imported
from dfannotate.rules.repairs import rename_attribute, replace
from dfannotate.usage import ImportUse

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
            if use.handed_on or node in seen or not _is_stale(_full(use), module.generation):
                continue
            if has_alternative(module, use):
                continue
            old, new = _full(use), _now(_full(use), module.generation)
            hint = f"import from `{new}`" if new else "see its documentation for what replaces it"
            if isinstance(node, ast.Import):
                edits = _plain(module, use, new) if new else None
                yield self.finding(module, use.alias, Fix(tuple(edits)) if edits else None, old=old, new=hint)
                continue
            if old != use.module:  # ``from dftracer import logger``
                edits = _submodule(module, use, new) if new else None
                yield self.finding(module, use.alias, Fix(tuple(edits)) if edits else None, old=old, new=hint)
                continue
            seen.add(node)
            place = module_place(module, node)
            if place is None:
                yield self.finding(module, node, old=old, new=hint)
                continue
            edits = _from(module, node, new) if new else None
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


def _full(use: ImportUse) -> str:
    """The module that an import reaches: ``from dftracer import logger`` reaches ``dftracer.logger``."""
    whole = f"{use.module}.{use.name}"
    return whole if use.role == f"module:{whole}" else use.module


def _is_stale(imported: str, generation: vocabulary.Generation) -> bool:
    if imported.partition(".")[0] in vocabulary.PREDECESSORS:
        return generation is not vocabulary.GENERATIONS[0]
    return generation is vocabulary.CURRENT and (imported in vocabulary.MOVED_MODULES or imported in _GONE)


def _now(imported: str, generation: vocabulary.Generation) -> str:
    new = vocabulary.MOVED_MODULES.get(imported, "")
    return new if not new or is_current(new, generation) else generation.module


def _renamed(imported: str, name: str, new: str) -> str | None:
    """What ``name`` of an old module is called in the module ``new``; None where that is not known to have it."""
    spelled, now = vocabulary.api_of(imported), vocabulary.generation_of_module(new)
    for field in ("logger", "function", "enabled"):
        if spelled is not None and getattr(spelled, field) == name:
            return str(getattr(now, field))
    known = vocabulary.exported_names(new) | (vocabulary.HANDED_ON if is_current(new, vocabulary.CURRENT) else set())
    return name if name in known else None


def _from(module: Module, node: ast.ImportFrom, new: str) -> list[Edit] | None:
    imported = node.module or ""
    edits: list[Edit] = []
    for alias in node.names:
        if alias.name == "*":
            if vocabulary.api_of(imported) is vocabulary.GENERATIONS[0] or _star_brings_more(module, imported, new):
                return None
            continue
        name = _renamed(imported, alias.name, new)
        if name is None:
            return None
        if name != alias.name:
            edits.append(rename_imported(module, alias, name))
    return edits


def _star_brings_more(module: Module, imported: str, new: str) -> bool:
    """Whether ``import *`` from the new place might bind a name that is the program's own."""
    more = vocabulary.exported_names(new) - vocabulary.exported_names(imported)
    return re.search(rf"\b(?:{'|'.join(sorted(more))})\b", module.text) is not None


def _plain(module: Module, use: ImportUse, new: str) -> list[Edit] | None:
    """``import a.b as c``, or ``import a.b`` with every ``a.b`` in the file."""
    if vocabulary.api_of(use.module) is None or use.module not in vocabulary.MOVED_MODULES:
        return None
    edits = _attributes(module, use.module, new)
    line, column, _, _ = module.position(use.alias)
    if edits is None:
        return None
    if not use.alias.asname:
        package = new.partition(".")[0]
        if package != use.local and re.search(rf"\b{package}\b", module.text):
            return None  # what is called so may be something else
        whole = [found.node for found in module.usage.uses if found.role == f"module:{use.module}"]
        edits += [replace(module, node, new) for node in whole if isinstance(node, ast.Attribute)]
    return [Rewrite(line, column, line, column + len(use.module), new), *edits]


def _submodule(module: Module, use: ImportUse, new: str) -> list[Edit] | None:
    """``from a import b``."""
    node = use.node
    place = module_place(module, node) if isinstance(node, ast.ImportFrom) and len(node.names) == 1 else None
    edits = _attributes(module, _full(use), new)
    if place is None or edits is None:
        return None
    package, _, name = new.rpartition(".")
    return [Rewrite(*place, package), rename_imported(module, use.alias, name), *edits]


def _attributes(module: Module, imported: str, new: str) -> list[Edit] | None:
    """The names of a module where they are its attributes; None where one of them is not known to be in ``new``."""
    edits: list[Edit] = []
    for found in module.usage.uses:
        node = found.node
        if (
            isinstance(node, ast.Attribute)
            and module.usage.role_of(node.value, found.ancestors) == f"module:{imported}"
        ):
            name = _renamed(imported, node.attr, new)
            if name is None:
                return None
            if name != node.attr:
                edits.append(rename_attribute(module, node, name))
    return edits
