"""DFT503: a name that stands for the tracer and is never anything but None."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import ClassVar

from dfannotate import vocabulary
from dfannotate.rules import Case, Finding, Fix, Module, Rule
from dfannotate.rules.repairs import replace

_FROM_OUTSIDE = re.compile(r"\bglobals\s*\(|\bsetattr\s*\(")


class DeadEventStub(Rule):
    """``_dft_log = None`` at the top of a file, ``if _dft_log is not None: _dft_log.log_event(…)`` below, and nothing
    that ever sets it: none of the file's events is ever written.

    The tracer's instance is one for the whole process, so that every file can ask for it: with tracing off it does
    nothing. Reported for names with a leading underscore that no other statement of the file binds."""

    CODE: ClassVar[str] = "DFT503"
    NAME: ClassVar[str] = "dead-event-stub"
    MESSAGE: ClassVar[str] = "`{name}` is never anything but None, so that its events are never written"
    FIXABLE: ClassVar[bool] = True

    def check(self, module: Module) -> Iterator[Finding]:
        if vocabulary.LOG_EVENT not in module.text or _FROM_OUTSIDE.search(module.text):
            return
        for node in module.tree.body:
            name = _stub_name(node)
            if not name or not re.search(rf"(?<![\w.]){name}\s*\.\s*{vocabulary.LOG_EVENT}\b", module.text):
                continue
            if _is_bound_again(module.tree, name, node):
                continue
            assert isinstance(node, (ast.Assign, ast.AnnAssign))
            value = node.value
            assert value is not None
            text = f"{module.names.logger}.{vocabulary.GET_INSTANCE}()"
            fix = Fix((replace(module, value, text),), frozenset({"logger"}), node.lineno)
            yield self.finding(module, value, fix, name=name)

    VALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "set-by-function",
            "from dftracer.python import dftracer\n_dft_log = None\n\ndef start():\n    global _dft_log\n"
            "    _dft_log = dftracer.initialize_log()\n\ndef f():\n"
            "    if _dft_log: _dft_log.log_event('n', 'C', 1, 2)\n",
        ),
        Case(
            "set-on-a-branch",
            "try:\n    from dftracer.python import dftracer\n    _dft_log = dftracer.get_instance()\n"
            "except ImportError:\n    _dft_log = None\n\ndef f():\n"
            "    if _dft_log: _dft_log.log_event('n', 'C', 1, 2)\n",
        ),
        Case(
            "set-below",
            "import dftracer.python as dp\n_log = None\nif dp.DFTRACER_ENABLE:\n"
            "    _log = dp.dftracer.get_instance()\n\n"
            "def f():\n    if _log: _log.log_event('n', 'C', 1, 2)\n",
        ),
        Case(
            "set-from-outside",
            "_dft_log = None\n\ndef use(name):\n    globals()['_dft_log'] = name\n\ndef f():\n"
            "    _dft_log.log_event('n', 'C', 1, 2)\n",
        ),
        Case(
            "public-name",
            "from dftracer.python import dft_fn\ntracer = None  # set by the launcher\n\ndef f():\n"
            "    if tracer: tracer.log_event('n', 'C', 1, 2)\n",
        ),
        Case(
            "parameter",
            "from dftracer.python import dft_fn\n_dft_log = None\n\ndef f(_dft_log):\n"
            "    _dft_log.log_event('n', 'C', 1, 2)\n",
        ),
    )
    INVALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "per-file",
            '"""Links."""\n\n_dft_log = None\n\n\ndef push():\n    if _dft_log is not None:\n'
            "        _dft_log.log_event(name='push', cat='net', start_time=1, duration=2)\n",
            ((3, 12),),
            '"""Links."""\n\nfrom dftracer.python import dftracer\n\n_dft_log = dftracer.get_instance()\n\n\n'
            "def push():\n"
            "    if _dft_log is not None:\n"
            "        _dft_log.log_event(name='push', cat='net', start_time=1, duration=2)\n",
        ),
        Case(
            "set-in-vain",
            "from dftracer.python import dftracer as D\n_log: object = None\n\ndef start():\n"
            "    _log = D.initialize_log()\n\ndef push():\n    if _log:\n        _log.log_event('n', 'C', 1, 2)\n",
            ((2, 16),),
            "from dftracer.python import dftracer as D\n_log: object = D.get_instance()\n\ndef start():\n"
            "    _log = D.initialize_log()\n\ndef push():\n    if _log:\n        _log.log_event('n', 'C', 1, 2)\n",
        ),
    )


def _stub_name(node: ast.stmt) -> str:
    """The private name that a statement of the module sets to None."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target = node.targets[0]
    elif isinstance(node, ast.AnnAssign):
        target = node.target
    else:
        return ""
    is_none = isinstance(node.value, ast.Constant) and node.value.value is None
    return target.id if is_none and isinstance(target, ast.Name) and target.id.startswith("_") else ""


def _is_bound_again(tree: ast.Module, name: str, stub: ast.stmt) -> bool:
    """Whether anything but ``stub`` may bind a name of the module, or the name is a parameter somewhere."""
    stack: list[tuple[ast.AST, bool]] = [(node, True) for node in tree.body if node is not stub]
    while stack:
        node, outside = stack.pop()
        if isinstance(node, (ast.Global, ast.Nonlocal)) and name in node.names:
            return True
        if isinstance(node, ast.arg) and node.arg == name:
            return True
        if outside and isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load):
            return True
        if isinstance(node, ast.alias) and name in (node.asname, node.name, "*"):
            return True
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            if node.name == name:
                return True
            outside = False
        stack.extend((child, outside) for child in ast.iter_child_nodes(node))
    return False
