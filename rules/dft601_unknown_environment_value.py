"""DFT601: an environment variable that the tracer does not know, or a value that it does not understand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from dfannotate.rules import Case, Finding, Module, Rule, TextFile
from dfannotate.rules.variables import Setting, fault_of_name, fault_of_value
from dfannotate.rules.variables_in_python import in_python
from dfannotate.rules.variables_in_text import in_text


class UnknownEnvironmentValue(Rule):
    """``DFTRACER_ENABLE=true`` leaves tracing off: only ``1`` turns it on. ``DFTRACER_INIT=HYBRID`` intercepts nothing,
    a unit in small letters is microseconds, a misspelt variable is not read; none of them says so.

    Looked for where a program sets a variable for itself or for another, and in scripts, batch jobs, YAML, Dockerfiles
    and ``.env`` files. Values that are filled in later, and variables that resemble none of the tracer's, are left."""

    CODE: ClassVar[str] = "DFT601"
    NAME: ClassVar[str] = "unknown-environment-value"
    MESSAGE: ClassVar[str] = "`{setting}`: {fault}"

    def check(self, module: Module) -> Iterator[Finding]:
        yield from self._findings(module.path, module.text, in_python(module))

    def check_text(self, file: TextFile) -> Iterator[Finding]:
        yield from self._findings(file.path, file.text, in_text(file))

    def _findings(self, path: str, text: str, settings: list[Setting]) -> Iterator[Finding]:
        for setting in settings:
            if fault := fault_of_name(setting, text):
                yield self.finding_at(path, setting.name_place, setting=setting.name, fault=fault)
            elif fault := fault_of_value(setting):
                yield self.finding_at(path, setting.value_place, setting=f"{setting.name}={setting.value}", fault=fault)

    VALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "right-python",
            "import os, subprocess\nos.environ['DFTRACER_ENABLE'] = '1'\nos.environ['DFTRACER_LOG_FILE'] = path\n"
            "subprocess.run(cmd, env={**os.environ, 'DFTRACER_ENABLE': '0', 'DFTRACER_DATA_DIR': 'all'})\n"
            "os.environ['DFTRACER_ENABLE'] = flag\n",
        ),
        Case(
            "python-mentions",
            "HELP = {'DFTRACER_ENABLE': 'true or false'}\nprint('set DFTRACER_ENABLE=true')\n# DFTRACER_INIT=HYBRID\n"
            "monkeypatch.setenv('DFTRACER_ENABLE', 'true')\nif os.environ.get('DFTRACER_INIT') == 'HYBRID': ...\n",
        ),
        Case(
            "right-shell",
            "#!/bin/bash\n# DFTRACER_ENABLE=true\nexport DFTRACER_ENABLE=1 DFTRACER_INIT=FUNCTION\n"
            'echo "DFTRACER_ENABLE=true"\necho DFTRACER_ENABLE=true\nexport DFTRACER_LOG_FILE="$PWD/trace"\n'
            "export DFTRACER_ROOT=/opt/dftracer DFTRACER_VERSION=2.2.0\nDFTRACER_ENABLE=${ON:-true}\n"
            "cat <<EOF\nexport DFTRACER_ENABLE=true\nEOF\nDFTRACER_ENABLE_MPI=ON pip install dftracer\n",
            path="run.sh",
        ),
        Case(
            "right-yaml",
            "env:\n  DFTRACER_ENABLE: 1\n  DFTRACER_INIT: 'FUNCTION'  # or HYBRID\n"
            "  DFTRACER_ENABLE: ${{ matrix.on }}\n"
            "description: |\n  DFTRACER_ENABLE=true turns it on\nenvironment:\n  - DFTRACER_ENABLE=1\n",
            path=".github/workflows/ci.yml",
        ),
        Case(
            "own-variable-of-the-script",
            "export DFTRACER_ENABLED=yes\n[ $DFTRACER_ENABLED = yes ] && export DFTRACER_ENABLE=1\n",
            path="job.sbatch",
        ),
        Case("right-dockerfile", "FROM python\nENV DFTRACER_ENABLE=1\nARG DFTRACER_VERSION=2.2.0\n", path="Dockerfile"),
    )
    INVALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "python",
            "import os, subprocess\nos.environ['DFTRACER_ENABLE'] = 'true'\n"
            "os.environ.setdefault('DFTRACER_INIT', 'HYBRID')\n"
            "os.environ.update({'DFTRACER_TIME_METRIC': 'ns'}, DFTRACER_LOGFILE='t')\n"
            "subprocess.run(c, env=dict(os.environ, DFTRACER_INC_METADATA='yes'))\n"
            "os.putenv('DFTRACER_ENABLED', '1')\n",
            ((2, 33), (3, 40), (4, 44), (4, 51), (5, 62), (6, 11)),
        ),
        Case(
            "python-environment-by-name",
            "import dftracer\nenv = {'DFTRACER_ENABLE': 'on'}\nenv['DFTRACER_INIT'] = 'function'\n"
            "child_env = {**os.environ, 'DFTRACER_DISABLE_IO': 'true'}\n",
            ((2, 27), (3, 24), (4, 51)),
        ),
        Case(
            "shell",
            "#!/bin/sh\nexport DFTRACER_ENABLE=true\nDFTRACER_INIT=HYBRID python train.py\n"
            "env DFTRACER_ENABLE='on' \\\n"
            "    DFTRACER_LOGFILE=t python x.py\nsrun --export=ALL,DFTRACER_ENABLE=yes ./x\n"
            "mpirun -x DFTRACER_ENABLE=2 ./x\nif true; then export DFTRACER_BIND_SIGNALS=1; fi\n",
            ((2, 24), (3, 15), (4, 21), (5, 5), (6, 35), (7, 27), (8, 44)),
            path="run.sh",
        ),
        Case(
            "batch-job",
            "#!/bin/bash\n#SBATCH --export=ALL,DFTRACER_ENABLE=true\nDFTRACER_INIT=NONE\nexport DFTRACER_INIT\n",
            ((2, 38), (3, 15)),
            path="job.sbatch",
        ),
        Case(
            "yaml",
            "env:\n  DFTRACER_ENABLE: true\n  other: {DFTRACER_INIT: HYBRID, X: 1}\n"
            'containers:\n  - name: DFTRACER_ENABLE\n    value: "yes"\nenvironment:\n  - DFTRACER_ENABLE=on\n'
            "steps:\n  - run: |\n      # DFTRACER_ENABLE=true\n      export DFTRACER_ENABLE=true\n"
            "  - run: DFTRACER_ENABLED=1 python x.py\n",
            ((2, 20), (3, 26), (6, 13), (8, 21), (12, 30), (13, 10)),
            path="compose.yaml",
        ),
        Case(
            "dockerfile",
            "FROM python\nENV DFTRACER_ENABLE=true \\\n    DFTRACER_INIT=HYBRID\nENV DFTRACER_TIME_METRIC ms\n"
            "RUN DFTRACER_ENABLE=on python x.py\n",
            ((2, 21), (3, 19), (4, 26), (5, 21)),
            path="docker/Dockerfile.gpu",
        ),
        Case("dotenv", "# on\nDFTRACER_ENABLE=True\nDFTRACER_METADATA=1\n", ((2, 17), (3, 1)), path=".env"),
    )
