"""DFT306: a decorated function around the start of tracing."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import ClassVar

from dfannotate.rules import Case, Finding, Module, Rule
from dfannotate.rules.decorated import is_ready_made, spelled
from dfannotate.rules.lifecycles import called_names, functions, initializes, starters, top_calls

_HEAD = "from dftracer.python import dftracer, dft_fn\nx = dft_fn('C')\n"


class EntryPointDecorated(Rule):
    """The function that starts tracing is entered before the tracer knows the time: its event begins in 1970 and lasts
    until now, as do those of its callers. Where it also finalizes, it has no event at all. Up to 2.0.2 the process
    aborts.

    Leave the entry point undecorated, and decorate what it calls."""

    CODE: ClassVar[str] = "DFT306"
    NAME: ClassVar[str] = "entry-point-decorated"
    MESSAGE: ClassVar[str] = "`{decorator}`: tracing starts within `{function}`, whose event then begins in 1970"

    def check(self, module: Module) -> Iterator[Finding]:
        if not module.usage.decorations or not initializes(module):
            return
        known = functions(module)
        starting = starters(module)
        entries = top_calls(module)
        for decoration in module.usage.decorations:
            node = decoration.function
            if not (decoration.method or is_ready_made(decoration)) or isinstance(node, ast.ClassDef):
                continue
            if known.get(node.name) is node and node.name in starting:
                directly = any(use.function is node for use in initializes(module))
                if node.name in entries or not directly or not starting.isdisjoint(called_names(node.body)):
                    yield self.finding(
                        module, decoration.node, decorator=spelled(module, decoration), function=node.name
                    )

    VALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "bare",
            _HEAD + "@x.log\ndef work():\n    pass\ndef main():\n    dftracer.initialize_log()\n    work()\nmain()\n",
        ),
        Case(
            "started-before",
            _HEAD
            + "@x.log\ndef main():\n    pass\nif __name__ == '__main__':\n    dftracer.initialize_log()\n    main()\n",
        ),
        Case(
            "shadowed",
            _HEAD + "def start():\n    dftracer.initialize_log()\n@x.log\ndef main(begin):\n    begin()\nmain(len)\n",
        ),
        Case(
            "other-start",
            "from dftracer.python import dft_fn\nfrom logs import dftracer\nx = dft_fn('C')\n@x.log\ndef main():\n"
            "    dftracer.initialize_log()\nmain()\n",
        ),
    )
    INVALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "main",
            _HEAD + "@x.log\ndef main():\n    dftracer.initialize_log()\nif __name__ == '__main__':\n    main()\n",
            ((3, 2),),
        ),
        Case(
            "through-a-call",
            "from dftracer.python import dftracer, ai\ndef setup():\n    return dftracer.initialize_log()\n"
            "@ai.pipeline.train\ndef run():\n    log = setup()\n    log.finalize()\n",
            ((4, 2),),
        ),
    )
