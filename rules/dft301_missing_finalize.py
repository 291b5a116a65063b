"""DFT301: tracing that is started and never ended."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from dfannotate.rules import Case, Finding, Module, Rule
from dfannotate.rules.endings import finalize_at_exit
from dfannotate.rules.lifecycles import (
    escapes,
    initializes,
    may_be_ended_elsewhere,
    runs_as_program,
    speaks_of_finalize,
    start_of,
)

_IMPORT = "from dftracer.python import dftracer\n"


class MissingFinalize(Rule):
    """The tracer keeps up to 16 MiB of events in memory and writes them when it is told to finalize: without that, the
    trace of a process that ends is a file of 0 bytes. (Nothing was lost in 1.x, which did not buffer.)

    Silent where the object goes to somebody who may finalize it, or where another module of the project could."""

    CODE: ClassVar[str] = "DFT301"
    NAME: ClassVar[str] = "missing-finalize"
    MESSAGE: ClassVar[str] = "nothing finalizes what is started here, and the trace will be empty"
    FIXABLE: ClassVar[bool] = True
    SINCE: ClassVar[tuple[int, int, int]] = (2, 0, 2)

    def check(self, module: Module) -> Iterator[Finding]:
        uses = initializes(module)
        if not uses or speaks_of_finalize(module) or may_be_ended_elsewhere(module):
            return
        for use in uses:
            start = start_of(use)
            if start is None or (start.name and escapes(module, start.name)) or not runs_as_program(module, use):
                continue
            yield self.finding(module, use.node, finalize_at_exit(module, start))

    VALID: ClassVar[tuple[Case, ...]] = (
        Case("finalized", _IMPORT + "log = dftracer.initialize_log()\nfor i in range(3):\n    pass\nlog.finalize()\n"),
        Case(
            "through-singleton",
            _IMPORT + "def main():\n    dftracer.initialize_log()\nmain()\ndftracer.get_instance().finalize()\n",
        ),
        Case(
            "at-exit",
            "import atexit\n" + _IMPORT + "if __name__ == '__main__':\n    log = dftracer.initialize_log()\n"
            "    atexit.register(log.finalize)\n",
        ),
        Case(
            "handed-out",
            _IMPORT + "def start():\n    return dftracer.initialize_log()\ndef main():\n    run(start())\nmain()\n",
        ),
        Case(
            "kept-on-self",
            "from app.utils import PerfTrace\nclass Config:\n    def start(self):\n"
            "        self.log = PerfTrace.initialize_log(logfile='a', data_dir='b', process_id=1)\n"
            "        return self.log\n    def stop(self, log):\n        log.close()\nConfig().start()\n",
            files={"app/utils.py": "from dftracer.python import dftracer as PerfTrace\n"},
        ),
        Case(
            "passed-on",
            _IMPORT + "from app import stop\nif __name__ == '__main__':\n    log = dftracer.initialize_log()\n"
            "    stop(log)\n",
        ),
        Case(
            "library",
            _IMPORT + "def setup():\n    dftracer.initialize_log()\n",
        ),
        Case(
            "other-module-may",
            _IMPORT + "import trainer\nif __name__ == '__main__':\n    dftracer.initialize_log()\n    trainer.fit()\n",
            files={
                "trainer.py": "from dftracer.python import dftracer\ndef fit():\n"
                "    dftracer.get_instance().finalize()\n"
            },
        ),
        Case(
            "other-object",
            "from logs import dftracer\nif __name__ == '__main__':\n    dftracer.initialize_log()\n",
        ),
    )
    INVALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "guard",
            "import sys\n" + _IMPORT + "\n\nif __name__ == '__main__':\n"
            "    log = dftracer.initialize_log(None, None, -1)  # start\n    main()\n",
            ((6, 11),),
            "import sys\nfrom dftracer.python import dftracer\nimport atexit\n\n\nif __name__ == '__main__':\n"
            "    log = dftracer.initialize_log(None, None, -1)  # start\n    atexit.register(log.finalize)\n"
            "    main()\n",
        ),
        Case(
            "function-without-variable",
            "import atexit\nimport dftracer.python as dp\n\n\ndef main():\n    if dp.DFTRACER_ENABLE:\n"
            "        dp.dftracer.initialize_log()\n    work()\n\n\nif __name__ == '__main__':\n    main()\n",
            ((7, 9),),
            "import atexit\nimport dftracer.python as dp\n\n\ndef main():\n    if dp.DFTRACER_ENABLE:\n"
            "        dp.dftracer.initialize_log()\n        atexit.register(dp.dftracer.get_instance().finalize)\n"
            "    work()\n\n\nif __name__ == '__main__':\n    main()\n",
        ),
        Case(
            "script",
            _IMPORT + "log = dftracer.initialize_log()\nt = log.get_time()\nfor i in range(3):\n    pass\n",
            ((2, 7),),
            _IMPORT + "import atexit\nlog = dftracer.initialize_log()\natexit.register(log.finalize)\n"
            "t = log.get_time()\nfor i in range(3):\n    pass\n",
        ),
    )
