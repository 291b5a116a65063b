"""What a script sets, by its text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfannotate.rules import TextFile
from dfannotate.rules.shell import assignments
from dfannotate.rules.variables_in_text import in_text

SCRIPTS = {
    "nothing": ("echo hello\n", []),
    "exported": ("export DFTRACER_ENABLE=1\n", [("ENABLE", "1")]),
    "inline": ("  DFTRACER_ENABLE=1 DFTRACER_INIT='FUNCTION' python x.py\n", [("ENABLE", "1"), ("INIT", "FUNCTION")]),
    "alone": ("DFTRACER_ENABLE=1\npython x.py\n", []),
    "alone-and-exported-later": ("DFTRACER_ENABLE=1\nexport DFTRACER_ENABLE\n", [("ENABLE", "1")]),
    "all-exported": ("set -a\nDFTRACER_ENABLE=1\n", [("ENABLE", "1")]),
    "expanded": ('export DFTRACER_LOG_FILE="$HOME/t" DFTRACER_INIT=${I:-x y}\n', [("LOG_FILE", None), ("INIT", None)]),
    "command-substitution": ("DFTRACER_LOG_FILE=$(echo ')' DFTRACER_INIT=x) ./x\n", [("LOG_FILE", None)]),
    "quotes-within": ("export DFTRACER_INIT=FUNC\"TION\"'' X=1\n", [("INIT", "FUNCTION")]),
    "escaped": ("export DFTRACER_DATA_DIR=/a\\ b\n", [("DATA_DIR", "/a b")]),
    "comment": ("# export DFTRACER_ENABLE=1\npython x.py # DFTRACER_ENABLE=1 x\n", []),
    "number-sign-in-a-word": ("export A=b#c DFTRACER_ENABLE=1\n", [("ENABLE", "1")]),
    "string": ("X='\nexport DFTRACER_ENABLE=1\n'\n", []),
    "message": ('echo "DFTRACER_ENABLE=1"; printf DFTRACER_ENABLE=1; grep DFTRACER_ENABLE=1 f\n', []),
    "here-document": (
        "cat <<-'EOF' > f\n\texport DFTRACER_ENABLE=1\n\tEOF\nexport DFTRACER_INIT=PRELOAD\n",
        [("INIT", "PRELOAD")],
    ),
    "two-here-documents": (
        "a <<A <<B\nDFTRACER_ENABLE=1 x\nA\nDFTRACER_ENABLE=1 x\nB\nDFTRACER_ENABLE=0 x\n",
        [("ENABLE", "0")],
    ),
    "here-string": ("cat <<< x\nexport DFTRACER_ENABLE=1\n", [("ENABLE", "1")]),
    "continued": (
        "export \\\n  DFTRACER_ENABLE=1 \\\n  DFTRACER_INIT=FUNCTION\n",
        [("ENABLE", "1"), ("INIT", "FUNCTION")],
    ),
    "behind-operators": (
        "true && export DFTRACER_ENABLE=1; (DFTRACER_INIT=x y) | z\n",
        [("ENABLE", "1"), ("INIT", "x")],
    ),
    "in-branches": (
        "if x; then\n  export DFTRACER_ENABLE=1\nelse export DFTRACER_ENABLE=0; fi\n",
        [("ENABLE", "1"), ("ENABLE", "0")],
    ),
    "env": ("env -i A=b DFTRACER_ENABLE=1 python x.py\n", [("ENABLE", "1")]),
    "batch-option": (
        "sbatch --export=ALL,DFTRACER_ENABLE=1,DFTRACER_INIT=x job.sh\n",
        [("ENABLE", "1"), ("INIT", "x")],
    ),
    "batch-option-apart": ("qsub -v A=1,DFTRACER_ENABLE=1 job.sh\n", [("ENABLE", "1")]),
    "mpi": ("mpirun -x DFTRACER_ENABLE=1 -x DFTRACER_INIT ./a\n", [("ENABLE", "1")]),
    "mpich": ("mpiexec -genv DFTRACER_ENABLE 1 -n 4 ./a\n", [("ENABLE", "1")]),
    "container": ("docker run -e DFTRACER_ENABLE=1 --env=DFTRACER_INIT=x image\n", [("ENABLE", "1"), ("INIT", "x")]),
    "c-shell": ("setenv DFTRACER_ENABLE 1\n", [("ENABLE", "1")]),
    "declared": ("declare -x DFTRACER_ENABLE=1\nlocal DFTRACER_INIT=x\n", [("ENABLE", "1")]),
    "build-option": ("cmake -DDFTRACER_ENABLE=ON -D DFTRACER_ENABLE=ON .\n", []),
    "crlf": ("export DFTRACER_ENABLE=1\r\npython x.py\r\n", [("ENABLE", "1")]),
    "other-variable": ("export MY_DFTRACER_ENABLE=1 ENABLE=1\n", []),
    "directive": (
        "#!/bin/sh\n#SBATCH --export=ALL,DFTRACER_ENABLE=1\n# SBATCH --export=DFTRACER_ENABLE=0\n",
        [("ENABLE", "1")],
    ),
    "unclosed": ("export DFTRACER_ENABLE='1\n", [("ENABLE", "1\n")]),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_what_a_script_sets(name: str) -> None:
    text, wanted = SCRIPTS[name]
    found = in_text(TextFile("run.sh", text))
    assert [(setting.short, setting.value) for setting in found] == wanted
    lines = text.splitlines(keepends=True)
    for setting in found:
        line, column, _, end = setting.name_place
        assert lines[line - 1][column - 1 : end - 1] == setting.name


@given(st.text(alphabet="AD=_ \t\n\\\"'`$(){}<>|;&#-,E1", max_size=60))
def test_any_text_is_read_to_its_end(text: str) -> None:
    for found in assignments(text, ("A", "D"), alone=True):
        assert text[found.start :].startswith(found.name[:1])
        assert 0 <= found.start <= found.value_start <= len(text)
        assert found.end <= len(text)


@given(
    st.text(alphabet="DFTRACER_ENABLE=:- \n|>'\"{}[]#10", max_size=80).map(
        lambda text: f"run: |\n DFTRACER_X=1\n{text}"
    )
)
@pytest.mark.parametrize("path", ["a.yml", "a.sh", "Dockerfile", ".env"])
def test_any_file_is_read_to_its_end(path: str, text: str) -> None:
    file = TextFile(path, text)
    for setting in in_text(file):
        line, column, _, end = setting.name_place
        assert file.lines[line - 1][column - 1 : end - 1] == setting.name
