"""DFT602: tracing that is turned on without the arguments of the events."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

from dfannotate import vocabulary
from dfannotate.rules import Case, Finding, Module, Rule, TextFile
from dfannotate.rules.selection import TEST_DIRECTORIES, TEST_FILES
from dfannotate.rules.variables import Setting
from dfannotate.rules.variables_in_python import in_python
from dfannotate.rules.variables_in_text import in_text

_ELSEWHERE = re.compile(
    r"^[ \t]*(?:source|\.)[ \t]+\S|\benv_file\b|\benvFrom\b|--env-file\b|\bload_dotenv\b|\bdfannotate[ \t]+run\b",
    re.MULTILINE,
)
"""What brings in variables of another file, or sets all that are needed."""


class MissingMetadataVariable(Rule):
    """``DFTRACER_ENABLE=1`` without ``DFTRACER_INC_METADATA=1``: the events come without any of their arguments, the
    processes without their parents, and a trace without the number of its events.

    Reported once a file, where it turns tracing on and nowhere mentions the other; not for tests and continuous
    integration, nor where it takes variables from another file."""

    CODE: ClassVar[str] = "DFT602"
    NAME: ClassVar[str] = "missing-metadata-variable"
    MESSAGE: ClassVar[str] = "tracing is turned on without `{variable}=1`: events will carry no arguments"

    def check(self, module: Module) -> Iterator[Finding]:
        if vocabulary.ENV_METADATA not in module.text:
            yield from self._first(module.path, module.text, in_python(module))

    def check_text(self, file: TextFile) -> Iterator[Finding]:
        if vocabulary.ENV_METADATA not in file.text:
            yield from self._first(file.path, file.text, in_text(file))

    def _first(self, path: str, text: str, settings: list[Setting]) -> Iterator[Finding]:
        for setting in settings:
            if setting.name == vocabulary.ENV_ENABLE and setting.value == vocabulary.ENABLE_VALUE:
                if not (_is_for_tests(path) or _ELSEWHERE.search(text)):
                    yield self.finding_at(path, setting.name_place, variable=vocabulary.ENV_METADATA)
                return

    VALID: ClassVar[tuple[Case, ...]] = (
        Case("both", "import os\nos.environ.update(DFTRACER_ENABLE='1', DFTRACER_INC_METADATA='1')\n"),
        Case("off", "import os\nos.environ['DFTRACER_ENABLE'] = '0'\nos.environ['DFTRACER_ENABLE'] = on\n"),
        Case("test", "import os\nos.environ['DFTRACER_ENABLE'] = '1'\n", path="tests/test_trace.py"),
        Case("turned-off-on-purpose", "export DFTRACER_ENABLE=1 DFTRACER_INC_METADATA=0\n", path="run.sh"),
        Case("other-file", "source ./tracing.sh\nexport DFTRACER_ENABLE=1\npython train.py\n", path="run.sh"),
        Case("said-only", "# DFTRACER_ENABLE=1 python train.py\necho DFTRACER_ENABLE=1\n", path="run.sh"),
        Case("integration", "env:\n  DFTRACER_ENABLE: 1\n", path=".github/workflows/ci.yml"),
    )
    INVALID: ClassVar[tuple[Case, ...]] = (
        Case("python", "import os\nos.environ['DFTRACER_ENABLE'] = '1'\n", ((2, 12),)),
        Case(
            "shell",
            "#!/bin/sh\nexport DFTRACER_ENABLE=1\nDFTRACER_ENABLE=1 DFTRACER_DATA_DIR=all python train.py\n",
            ((2, 8),),
            path="run.sh",
        ),
        Case("yaml", "services:\n  a:\n    environment:\n      DFTRACER_ENABLE: '1'\n", ((4, 7),), path="compose.yml"),
    )


def _is_for_tests(path: str) -> bool:
    from fnmatch import fnmatchcase

    *folders, name = path.replace("\\", "/").lower().split("/")
    if not {*TEST_DIRECTORIES, ".github"}.isdisjoint(folders) or name.startswith((".gitlab-ci", "azure-pipelines")):
        return True
    return any(fnmatchcase(name, pattern) for pattern in TEST_FILES)
