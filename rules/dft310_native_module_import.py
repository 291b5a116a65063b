"""DFT310: the compiled half of the tracer where the class of its Python half is meant."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import ClassVar

from dfannotate import vocabulary
from dfannotate.edits import Rewrite
from dfannotate.rules import Case, Finding, Fix, Module, Rule
from dfannotate.rules.imports import has_alternative, module_place
from dfannotate.usage import ImportUse


class NativeModuleImport(Rule):
    """``from dftracer import dftracer`` works, and gives the compiled module, which has neither ``initialize_log`` nor
    ``get_instance``: both raise ``AttributeError``, or start nothing where that is caught.

    The class of that name is in ``dftracer.python``. Left alone where only what the compiled module has is used."""

    CODE: ClassVar[str] = "DFT310"
    NAME: ClassVar[str] = "native-module-import"
    MESSAGE: ClassVar[str] = "`{old}` is the compiled module, without `{method}`; import `{logger}` from `{new}`"
    FIXABLE: ClassVar[bool] = True
    SINCE: ClassVar[tuple[int, int, int]] = vocabulary.CURRENT.first

    def check(self, module: Module) -> Iterator[Finding]:
        imports = [use for use in module.usage.imports if use.role == "native" and not use.handed_on]
        for use in imports:
            used = _used(module, use)
            missing = [name for name in used if name in vocabulary.LOGGER_METHODS]
            if not missing or has_alternative(module, use):
                continue
            words = {"old": vocabulary.NATIVE_MODULE, "new": vocabulary.MODULE, "logger": vocabulary.LOGGER}
            fix = _fix(module, use) if set(used) <= vocabulary.LOGGER_METHODS else None
            yield self.finding(module, use.alias, fix, method=missing[0], **words)

    VALID: ClassVar[tuple[Case, ...]] = (
        Case("python-module", "from dftracer.python import dftracer\ndftracer.initialize_log()\n"),
        Case("native-on-purpose", "from dftracer import dftracer as core\ncore.enter_event()\ncore.get_time()\n"),
        Case("other-package", "from .dftracer import dftracer\ndftracer.initialize_log()\n"),
        Case("not-used", "from dftracer import dftracer\n"),
        Case(
            "shadowed",
            "from dftracer import dftracer\n\ndef g(dftracer):\n    dftracer.initialize_log()\n",
        ),
    )
    INVALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "started",
            "from dftracer import dftracer\nlog = dftracer.initialize_log(None, None, -1)\nlog.finalize()\n",
            ((1, 22),),
            "from dftracer.python import dftracer\nlog = dftracer.initialize_log(None, None, -1)\nlog.finalize()\n",
        ),
        Case(
            "alias-beside-stand-in",
            "try:\n    from dftracer import dftracer as PerfTrace\nexcept ImportError:\n    PerfTrace = None\n\n"
            "def stop():\n    PerfTrace.get_instance().finalize()\n",
            ((2, 26),),
            "try:\n    from dftracer.python import dftracer as PerfTrace\nexcept ImportError:\n    PerfTrace = None\n\n"
            "def stop():\n    PerfTrace.get_instance().finalize()\n",
        ),
        Case(
            "dotted",
            "import dftracer.dftracer as dftracer\ndftracer.initialize_log()\n",
            ((1, 8),),
            "from dftracer.python import dftracer\ndftracer.initialize_log()\n",
        ),
        Case(
            "both-halves",
            "from dftracer import dftracer\ndftracer.initialize_log()\ndftracer.initialize('a', 'b', 1)\n",
            ((1, 22),),
        ),
    )


def _used(module: Module, use: ImportUse) -> list[str]:
    """The attributes of the module that an import brings, in order; one without a name where it is used as a whole."""
    found = []
    for one in module.usage.uses:
        if one.role == "native" and isinstance(one.node, ast.Name) and one.node.id == use.local:
            parent = one.ancestors[-1]
            found.append(parent.attr if isinstance(parent, ast.Attribute) else "")
    return found


def _fix(module: Module, use: ImportUse) -> Fix | None:
    node = use.node
    if len(node.names) != 1:
        return None
    if isinstance(node, ast.ImportFrom):
        place = module_place(module, node)
        return Fix((Rewrite(*place, vocabulary.MODULE),)) if place else None
    local = "" if use.local == vocabulary.LOGGER else f" as {use.local}"
    place = module.position(node)
    return (
        Fix((Rewrite(*place, f"from {vocabulary.MODULE} import {vocabulary.LOGGER}{local}"),))
        if use.alias.asname
        else None
    )
