"""DFT302: a way out between the start of tracing and its end."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import ClassVar

from dfannotate import vocabulary
from dfannotate.edits import Splice
from dfannotate.rules import Case, Finding, Fix, Module, Rule
from dfannotate.rules.endings import finalize_at_exit
from dfannotate.rules.exits import AT_ONCE, Way, between_calls, ways_out
from dfannotate.rules.lifecycles import Start, finalizes, handed_over, initializes, start_of
from dfannotate.rules.repairs import indent_of, is_alone

_HEAD = "import os, sys\nfrom dftracer.python import dftracer\n"


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
            between = between_calls(use, ends[0])
            if start is None or between is None:
                continue
            for way in ways_out(module, between):
                at_once = way.text in AT_ONCE
                # A forked child has to leave by ``os._exit``, and the tracer sees to that itself.
                if "fork()" in module.text if at_once else registered:
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
            "child",
            _HEAD
            + "log = dftracer.initialize_log()\nif os.fork() == 0:\n    work()\n    os._exit(0)\nlog.finalize()\n",
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


def _finalize_before(module: Module, way: Way, start: Start) -> Fix | None:
    owner = start.use.call.func
    if not is_alone(module, way.statement) or not isinstance(owner, ast.Attribute):
        return None
    if not start.use.role.startswith("logger."):
        return None
    text = f"{module.segment(owner.value)}.{vocabulary.GET_INSTANCE}().{vocabulary.FINALIZE}()"
    line = way.statement.lineno
    return Fix((Splice(line, line, (indent_of(module, way.statement) + text,)),))
