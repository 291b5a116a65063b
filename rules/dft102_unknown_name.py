"""DFT102: a name that the tracer does not have."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import ClassVar

from dfannotate import vocabulary
from dfannotate.rules import Case, Finding, Fix, Module, Rule
from dfannotate.rules.imports import has_alternative, rename_imported
from dfannotate.rules.misnomers import (
    as_python_module,
    from_python_module,
    instance_method,
    means_decorator,
    meant_name,
)
from dfannotate.rules.repairs import rename_attribute
from dfannotate.usage import Use

_CLOSE = 0.85


class UnknownName(Rule):
    """Names that no release has, or that are looked for in the wrong place.

    ``dftracer_fn``, ``DFTracer`` and ``finalize_log`` circulate in examples; ``from dftracer import dft_fn`` forgets
    the module, ``@dft_fn("IO")`` the method: the object itself cannot be called. Each raises once it is reached,
    whether tracing is on or off. Any other name is reported where it is a slip away from one that exists; names of
    later releases are left alone."""

    CODE: ClassVar[str] = "DFT102"
    NAME: ClassVar[str] = "unknown-name"
    MESSAGE: ClassVar[str] = "`{name}` {fault}"
    FIXABLE: ClassVar[bool] = True

    def check(self, module: Module) -> Iterator[Finding]:
        yield from self._imports(module)
        for use in module.usage.uses:
            if isinstance(use.node, ast.Attribute):
                yield from self._attribute(module, use, use.node)
        yield from self._called(module)

    def _imports(self, module: Module) -> Iterator[Finding]:
        for use in module.usage.imports:
            node = use.node
            if use.handed_on or use.name in ("", "*") or not isinstance(node, ast.ImportFrom):
                continue
            if use.module == vocabulary.TRACER_PACKAGE:
                meant = meant_name(module.generation, use.name) and use.role.startswith("unknown:")
                if meant and not has_alternative(module, use):
                    fix = from_python_module(module, node)
                    fault = f"is not in `{use.module}`; import it from `{module.generation.module}`"
                    yield self.finding(module, use.alias, fix, name=use.name, fault=fault)
                continue
            fault, fix = self._in_module(module, use.module, use.name, use.alias)
            if fault:
                yield self.finding(module, use.alias, fix, name=use.name, fault=fault)

    def _attribute(self, module: Module, use: Use, node: ast.Attribute) -> Iterator[Finding]:
        base, name = module.usage.role_of(node.value, use.ancestors), node.attr
        fault, fix = "", None
        if base == f"module:{vocabulary.TRACER_PACKAGE}":
            meant = name in vocabulary.LOGGER_METHODS or meant_name(module.generation, name)
            if meant and not use.role.startswith(("module:", "native")):
                fault = f"is not in `{vocabulary.TRACER_PACKAGE}`; it is in `{module.generation.module}`"
                fix = as_python_module(module, node, use)
        elif base.startswith("module:"):
            fault, fix = self._in_module(module, base.removeprefix("module:"), name, node)
        elif base in ("logger", "log"):
            fault, fix = _of_logger(module, node, base, use)
        elif base == "instance" and name not in vocabulary.INSTANCE_METHODS:
            fault = _close(name, vocabulary.INSTANCE_METHODS)
        if fault:
            yield self.finding(module, node, fix, name=name, fault=fault)

    def _in_module(self, module: Module, imported: str, name: str, node: ast.AST) -> tuple[str, Fix | None]:
        spelled = vocabulary.api_of(imported)
        known = vocabulary.exported_names(imported)
        if spelled is None or name in known or name in vocabulary.HANDED_ON:
            return "", None
        if name in vocabulary.SUBMODULES.get(imported, ()) or name.startswith("__"):
            return "", None
        if meant := meant_name(spelled, name):
            if isinstance(node, ast.alias):
                return f"is not in `{imported}`; it is called `{meant}`", Fix((rename_imported(module, node, meant),))
            assert isinstance(node, ast.Attribute)
            return f"is not in `{imported}`; it is called `{meant}`", Fix((rename_attribute(module, node, meant),))
        if name in vocabulary.LOG_METHODS:
            return f"is not in `{imported}`; it is a method of `{spelled.logger}`", None
        return _close(name, known), None

    def _called(self, module: Module) -> Iterator[Finding]:
        fault = "gives an object that decorates by its method `log` and cannot be called itself"
        for decoration in module.usage.decorations:
            if decoration.role in ("instance", "function"):
                fix = means_decorator(module, decoration)
                yield self.finding(module, decoration.node, fix, name=vocabulary.FUNCTION, fault=fault)
        decorators = {decoration.node for decoration in module.usage.decorations}
        for call in module.usage.calls("instance"):
            if call.node not in decorators or isinstance(call.call.func, ast.Call):
                yield self.finding(module, call.call.func, name=vocabulary.FUNCTION, fault=fault)
            else:
                named = all(keyword.arg == "name" for keyword in call.call.keywords) and not call.call.args
                fix = Fix((instance_method(module, call.call.func),)) if named else None
                yield self.finding(module, call.call.func, fix, name=vocabulary.FUNCTION, fault=fault)

    VALID: ClassVar[tuple[Case, ...]] = (
        Case("names", "from dftracer.python import dftracer, dft_fn, ai, TagValue, os, Path\n"),
        Case("newer-name", "from dftracer.python import something_of_a_later_release\n"),
        Case("members-of-ai", "from dftracer.python import ai\n@ai.compute.forward\ndef f(): ...\n"),
        Case("native-on-purpose", "from dftracer import dftracer as native\nnative.enter_event()\n"),
        Case("own-dftracer-fn", "from mytools import dftracer_fn\n@dftracer_fn('IO')\ndef f(): ...\n"),
        Case(
            "own-class",
            "import dftracer\n\nclass DFTracer:\n    def finalize_log(self): ...\n\nDFTracer().finalize_log()\n",
        ),
        Case("package", "import dftracer\nprint(dftracer.__version__, dftracer.__path__)\n"),
        Case("method", "from dftracer.python import dft_fn\nx = dft_fn('IO')\n@x.log\ndef f(): ...\n"),
        Case("method-of-new-object", "from dftracer.python import dft_fn\n@dft_fn('IO').log\ndef f(): ...\n"),
        Case("shadowed", "from dftracer.python import dft_fn\ndef g(dft_fn):\n    @dft_fn('IO')\n    def f(): ...\n"),
    )
    INVALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "invented-names",
            "from dftracer.python import DFTracer, dftracer_fn as Profile\n"
            "DFTracer.initialize_log()\nDFTracer.finalize_log()\n",
            ((1, 29), (1, 39), (3, 1)),
            "from dftracer.python import dftracer as DFTracer, dft_fn as Profile\n"
            "DFTracer.initialize_log()\nDFTracer.get_instance().finalize()\n",
        ),
        Case(
            "without-module",
            "from dftracer import dftracer, dft_fn\nlog = dftracer.initialize_log()\n",
            ((1, 32),),
            "from dftracer.python import dftracer, dft_fn\nlog = dftracer.initialize_log()\n",
        ),
        Case(
            "package-as-logger",
            "import dftracer\nlog = dftracer.initialize_log()\nlog.finalize()\n",
            ((2, 7),),
            "from dftracer.python import dftracer\nlog = dftracer.initialize_log()\nlog.finalize()\n",
        ),
        Case(
            "package-as-module",
            "import dftracer as d\nx = d.dft_fn('IO')\nd.dftracer_fn\n",
            ((2, 5), (3, 1)),
            "import dftracer.python as d\nx = d.dft_fn('IO')\nd.dft_fn\n",
        ),
        Case(
            "method-of-instance",
            "from dftracer.python import dftracer\nlog = dftracer.initialize_log()\n"
            "dftracer.get_instance().finalize_log()\nlog.finalize_log()\ndftracer.finalize()\n",
            ((3, 1), (4, 1), (5, 1)),
            "from dftracer.python import dftracer\nlog = dftracer.initialize_log()\n"
            "dftracer.get_instance().finalize()\nlog.finalize()\ndftracer.get_instance().finalize()\n",
        ),
        Case(
            "object-as-decorator",
            "from dftracer.python import dft_fn as Profile\nx = Profile('IO')\n\n@Profile(cat='C', name='n')\n"
            "def f(): ...\n\n@x\ndef g(): ...\n\n@x(name='h')\ndef h(): ...\n",
            ((4, 2), (7, 2), (10, 2)),
            "from dftracer.python import dft_fn as Profile\nx = Profile('IO')\n\n@Profile(cat='C', name='n').log\n"
            "def f(): ...\n\n@x.log\ndef g(): ...\n\n@x.log(name='h')\ndef h(): ...\n",
        ),
        Case("class-as-decorator", "from dftracer.python import dft_fn\n@dft_fn\ndef f(): ...\n", ((2, 2),)),
        Case("function-of-module", "from dftracer.python import initialize_log\n", ((1, 29),)),
        Case("slip", "from dftracer.python import dft_fn\nx = dft_fn('IO')\n@x.log_statics\ndef f(): ...\n", ((3, 2),)),
        Case(
            "region-of-log", "from dftracer.python import dftracer\ndftracer.get_instance().update('k', 1)\n", ((2, 1),)
        ),
    )


def _of_logger(module: Module, node: ast.Attribute, base: str, use: Use) -> tuple[str, Fix | None]:
    """What is wrong with a method of the logger (``base`` says whether of the class or of its instance)."""
    name = node.attr
    meant = vocabulary.MISTAKEN_METHODS.get(name, "")
    through_instance = base == "logger" and (meant or name) not in vocabulary.LOGGER_METHODS
    if meant:
        fix = instance_method(module, node, meant) if through_instance else rename_attribute(module, node, meant)
        return f"is no method of the tracer; it is called `{meant}`", Fix((fix,))
    if through_instance and name in vocabulary.WITHOUT_ARGUMENTS:
        parent = use.ancestors[-1]
        if isinstance(parent, ast.Call) and parent.func is node and not parent.args:
            fix = instance_method(module, node, name)
            return f"is a method of the instance: `{vocabulary.GET_INSTANCE}().{name}`", Fix((fix,))
    if name in vocabulary.LOG_METHODS:
        return "", None
    if name in vocabulary.INSTANCE_METHODS:
        return f"is a method of `{module.generation.function}`, not of the instance that logs", None
    return _close(name, vocabulary.LOG_METHODS), None


def _close(name: str, known: Collection[str]) -> str:
    import difflib

    found = difflib.get_close_matches(name, sorted(known), n=1, cutoff=_CLOSE)
    return f"is no name of the tracer; is `{found[0]}` meant?" if found else ""
