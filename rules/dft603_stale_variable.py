"""DFT603: an environment variable of the tracer's predecessor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from dfannotate import vocabulary
from dfannotate.rules import Case, Finding, Module, Rule, TextFile
from dfannotate.rules.variables import Setting
from dfannotate.rules.variables_in_python import in_python, read_in_python
from dfannotate.rules.variables_in_text import in_text


class StaleVariable(Rule):
    """``DLIO_PROFILER_ENABLE`` and the others of that beginning are read by the predecessor of the tracer alone; today
    they are called ``DFTRACER_…``, with the same endings.

    Tracing was on by default then and is off now, so ``DFTRACER_ENABLE=1`` has to be set. Left alone where the file
    names the successor as well: it serves both."""

    CODE: ClassVar[str] = "DFT603"
    NAME: ClassVar[str] = "stale-variable"
    MESSAGE: ClassVar[str] = "`{old}` is read by the tracer's predecessor only; it is called `{new}` now"
    SINCE: ClassVar[tuple[int, int, int]] = (1, 0, 1)

    def check(self, module: Module) -> Iterator[Finding]:
        asked = [Setting(name, None, place, place) for name, place in read_in_python(module)]
        yield from self._findings(module.path, module.text, [*in_python(module), *asked])

    def check_text(self, file: TextFile) -> Iterator[Finding]:
        yield from self._findings(file.path, file.text, in_text(file))

    def _findings(self, path: str, text: str, settings: list[Setting]) -> Iterator[Finding]:
        for setting in settings:
            if setting.name.startswith(vocabulary.ENV_PREFIX_OLD):
                new = vocabulary.ENV_PREFIX + setting.short
                if new not in text:
                    yield self.finding_at(path, setting.name_place, old=setting.name, new=new)

    VALID: ClassVar[tuple[Case, ...]] = (
        Case("new", "import os\nos.environ['DFTRACER_ENABLE'] = '1'\n"),
        Case(
            "both",
            "export DLIO_PROFILER_ENABLE=1\nexport DFTRACER_ENABLE=1\n",
            path="run.sh",
        ),
        Case("mention", "# DLIO_PROFILER_ENABLE=1\necho 'DLIO_PROFILER_ENABLE=1 is gone'\n", path="run.sh"),
        Case("old-release-wanted", "DLIO_PROFILER_ENABLE=1 python x.py\n", path="run.sh", target="0.0.6"),
        Case(
            "either",
            "import os\non = os.environ.get('DFTRACER_ENABLE', os.environ.get('DLIO_PROFILER_ENABLE'))\n",
        ),
        Case("python-name", "from dlio_profiler.logger import DLIO_PROFILER_ENABLE\nif DLIO_PROFILER_ENABLE: ...\n"),
    )
    INVALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "python",
            "import os\nos.environ['DLIO_PROFILER_ENABLE'] = '1'\nenv = dict(os.environ, DLIO_PROFILER_LOG_FILE=f)\n"
            "if os.getenv('DLIO_PROFILER_INIT') or os.environ['DLIO_PROFILER_DISABLE_IO']: ...\n",
            ((2, 12), (3, 24), (4, 14), (4, 50)),
        ),
        Case(
            "shell",
            "export DLIO_PROFILER_ENABLE=1\nDLIO_PROFILER_DATA_DIR=all python train.py\n",
            ((1, 8), (2, 1)),
            path="run.sh",
        ),
        Case("yaml", "env:\n  DLIO_PROFILER_INIT: PRELOAD\n", ((2, 3),), path="job.yaml"),
    )
