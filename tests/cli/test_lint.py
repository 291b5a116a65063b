"""``lint`` from the command line: what is looked at, how it is shown, what is written, and the exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from dfannotate.cli.lint_formats import excerpt
from dfannotate.rules import Finding, discover
from dfannotate.source import split_lines
from tests.conftest import RunCli, WriteTree

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "tests" / "data" / "sarif-schema-2.1.0.json").read_text(encoding="utf-8"))
PROJECT = "[project]\nname = 'p'\n"
BROKEN = "from dftracer.python import dftracer\n\ndftracer.initialize_log(process_id=None)\n"
MENDED = BROKEN.replace("None", "-1")
ONLY = ("--select", "DFT104,DFT002")
"""What the files of this module are broken in, so that a new rule changes nothing here."""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write_tree: WriteTree) -> WriteTree:
    """Writes files into an empty project, which is the current folder."""
    monkeypatch.chdir(tmp_path)
    write_tree({"pyproject.toml": PROJECT})
    return write_tree


def lint(run_cli: RunCli, *arguments: str) -> Any:
    return run_cli("lint", *ONLY, *arguments)


def places(result: Any) -> list[tuple[str, int, int, str]]:
    return [(f["path"], f["line"], f["column"], f["code"]) for f in json.loads(result.out)]


# --- formats ----------------------------------------------------------------------------------------------------------


def test_full_shows_the_place(here: WriteTree, run_cli: RunCli) -> None:
    here({"train.py": BROKEN})
    result = lint(run_cli)
    assert result.code == 1
    assert result.out == (
        "DFT104 [*] `process_id=None` raises TypeError when tracing is on; write `-1`\n"
        " --> train.py:3:36\n"
        "  |\n"
        "1 | from dftracer.python import dftracer\n"
        "2 |\n"
        "3 | dftracer.initialize_log(process_id=None)\n"
        "  |                                    ^^^^\n\n"
    )
    assert result.err == "1 finding, 1 of them fixable with --fix; 2 files looked at\n".replace("2 files", "1 file")


def test_concise(here: WriteTree, run_cli: RunCli) -> None:
    here({"b.py": BROKEN, "a.py": BROKEN + BROKEN})
    result = lint(run_cli, "--output-format", "concise", "-q")
    message = "DFT104 [*] `process_id=None` raises TypeError when tracing is on; write `-1`"
    assert result.out == f"a.py:3:36: {message}\na.py:6:36: {message}\nb.py:3:36: {message}\n"
    assert result.err == ""


def test_json_is_the_contract(here: WriteTree, run_cli: RunCli) -> None:
    here({"train.py": BROKEN})
    assert json.loads(lint(run_cli, "--output-format", "json").out) == [
        {
            "code": "DFT104",
            "name": "process-id-none",
            "message": "`process_id=None` raises TypeError when tracing is on; write `-1`",
            "path": "train.py",
            "line": 3,
            "column": 36,
            "end_line": 3,
            "end_column": 40,
            "fixable": True,
        }
    ]


def test_json_of_nothing_is_an_empty_list(here: WriteTree, run_cli: RunCli) -> None:
    here({"train.py": MENDED})
    result = lint(run_cli, "--output-format", "json")
    assert (result.code, json.loads(result.out)) == (0, [])


def test_github_escapes_what_would_end_the_command(here: WriteTree, run_cli: RunCli) -> None:
    here({"a,b:%.py": BROKEN})
    line = lint(run_cli, "--output-format", "github").out
    assert line.startswith(
        "::error title=dfannotate (DFT104),file=a%2Cb%3A%25.py,line=3,col=36,endLine=3,endColumn=40::a,b:%25.py:3:36: "
    )
    assert line.count("\n") == 1


def sarif_of(result: Any) -> Any:
    report = json.loads(result.out)
    jsonschema.validate(report, SCHEMA)
    return report["runs"][0]


def test_sarif_holds_against_its_schema(here: WriteTree, run_cli: RunCli) -> None:
    here({"my folder/träin.py": BROKEN, "broken.py": "import dftracer\n(\n", "clean.py": MENDED})
    run = sarif_of(run_cli("lint", "--output-format", "sarif", "--ignore", "DFT3,DFT4"))
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    found = {(r["ruleId"], r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]) for r in run["results"]}
    assert ("DFT104", "my%20folder/tr%C3%A4in.py") in found
    assert ("DFT001", "broken.py") in found
    assert run["invocations"][0]["executionSuccessful"] is True


def test_sarif_says_what_could_not_be_read(here: WriteTree, run_cli: RunCli) -> None:
    here({"train.py": BROKEN})
    result = run_cli("lint", "--output-format", "sarif", "gone.py", "train.py")
    run = sarif_of(result)
    assert result.code == 2
    assert run["invocations"][0]["executionSuccessful"] is False
    assert "No such file" in run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"]


def test_sarif_of_nothing(here: WriteTree, run_cli: RunCli) -> None:
    here({"train.py": MENDED})
    run = sarif_of(lint(run_cli, "--output-format", "sarif"))
    assert run["results"] == []
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["DFT001", "DFT002", "DFT104"]


def test_statistics(here: WriteTree, run_cli: RunCli) -> None:
    here({"a.py": BROKEN * 10, "b.py": "import dftracer  # noqa: DFT104\n"})
    assert lint(run_cli, "--statistics").out == "10  DFT104  [*] process-id-none\n 1  DFT002  [*] unused-suppression\n"
    counted = json.loads(lint(run_cli, "--statistics", "--output-format", "json").out)
    assert counted[0] == {"code": "DFT104", "name": "process-id-none", "count": 10, "fixable": 10}


SPANS = {
    "plain": "x = 1\nimport os\ny = 2\nz = 3\nw = 4\n",
    "umlauts": 'x = "äöü"; import os\n',
    "wide": 'x = "日本"; import os\n',
    "tabs": "if 1:\n\tif 2:\n\t\timport os\n",
    "crlf": "x = 1\r\nimport os\r\ny = 2\r\n",
    "last-line-open": "x = 1\nimport os",
    "blank-around": "\n\nimport os\n\n\nx = 1\n",
    "tenth-line": "x = 1\n" * 8 + "import os\n" + "y = 1\n" * 4,
    "continued": "from os import (\n    path,\n    sep,\n)\n",
}


@pytest.mark.parametrize("name", SPANS)
def test_places_and_excerpts_are_those_of_ruff(name: str, tmp_path: Path) -> None:
    """The same span as ruff finds is shown as ruff shows it, line numbers, tabs, wide letters and all."""
    path = tmp_path / "code.py"
    path.write_bytes(SPANS[name].encode())
    base = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--select", "F401"]
    as_json = subprocess.run([*base, "--output-format", "json", path], capture_output=True, check=False).stdout
    first = json.loads(as_json)[0]
    start, end = first["location"], first["end_location"]
    finding = Finding("code.py", start["row"], start["column"], "F401", "", "", end["row"], end["column"])
    shown = subprocess.run([*base, path], capture_output=True, text=True, encoding="utf-8", check=False).stdout
    block = shown.split("\n")[2:]
    expected = block[: next(i for i, line in enumerate(block) if line.startswith("help: "))]
    assert excerpt(finding, split_lines(SPANS[name])).split("\n") == expected


def test_several_lines_are_marked_beside() -> None:
    lines = ["a\n", "call(\n", "    b,\n", ")\n", "c\n"]
    finding = Finding("x.py", 2, 1, "DFT104", "", "", 4, 2)
    assert excerpt(finding, lines).split("\n") == [
        "  |",
        "1 |   a",
        "2 | / call(",
        "3 | |     b,",
        "4 | | )",
        "  | |_^",
        "5 |   c",
        "  |",
    ]


def test_columns_are_characters(here: WriteTree, run_cli: RunCli) -> None:
    here({"a.py": 'from dftracer.python import dftracer\nif 1:\n\tö = "ä"; dftracer.initialize_log(process_id=None)\n'})
    assert places(lint(run_cli, "--output-format", "json")) == [("a.py", 3, 46, "DFT104")]


# --- what is looked at ------------------------------------------------------------------------------------------------


def test_folders_are_walked_and_named_files_are_taken(here: WriteTree, run_cli: RunCli) -> None:
    here({"a.py": BROKEN, ".venv/pyvenv.cfg": "", ".venv/b.py": BROKEN, "script": BROKEN, ".hidden.py": BROKEN})
    assert places(lint(run_cli, "--output-format", "json")) == [("a.py", 3, 36, "DFT104")]
    named = lint(run_cli, "--output-format", "json", ".venv/b.py", "script")
    assert [place[0] for place in places(named)] == [".venv/b.py", "script"]


@pytest.mark.parametrize(
    "name", ["run.sh", "job.sbatch", "job.slurm", "compose.yml", "ci.yaml", "Dockerfile", "Dockerfile.gpu", ".env"]
)
def test_launch_files_are_read_as_text(here: WriteTree, run_cli: RunCli, name: str) -> None:
    here({name: "DFTRACER_ENABLE: 1\n- not Python (\n", "README.md": "dftracer (\n"})
    result = run_cli("lint", "--select", "DFT001")
    assert (result.code, result.out) == (0, "")
    assert result.err.endswith("1 file looked at\n")


def test_a_shell_script_without_a_suffix_is_known_by_its_first_line(here: WriteTree, run_cli: RunCli) -> None:
    here({"launch": "#!/usr/bin/env bash\nexport DFTRACER_ENABLE=1 ; (\n"})
    assert run_cli("lint", "--select", "DFT001", "launch").code == 0


def test_files_that_do_not_mention_the_tracer_are_not_parsed(here: WriteTree, run_cli: RunCli) -> None:
    here({"template.py": "{{ not python }}\n", "a.py": MENDED})
    assert lint(run_cli).code == 0


REEXPORTS: dict[str, dict[str, str]] = {
    "absolute": {
        "myapp/__init__.py": "",
        "myapp/tracing.py": "from dftracer.python import dftracer as Log\n",
        "train.py": "from myapp.tracing import Log\nLog.initialize_log(process_id=None)\n",
    },
    "relative": {
        "myapp/__init__.py": "",
        "myapp/tracing.py": "from dftracer.python import dftracer as Log\n",
        "myapp/train.py": "from .tracing import Log\nLog.initialize_log(process_id=None)\n",
    },
    "package": {
        "src/myapp/__init__.py": "from .tracing import Log as Tracer\n",
        "src/myapp/tracing.py": "from dftracer.python import dftracer as Log\n",
        "scripts/train.py": "from myapp import Tracer\nTracer.initialize_log(process_id=None)\n",
    },
    "star": {
        "myapp/__init__.py": "",
        "myapp/tracing.py": "from dftracer.python import dftracer as Log\n",
        "myapp/all.py": "from myapp.tracing import *\n",
        "train.py": "from myapp.all import Log\nLog.initialize_log(process_id=None)\n",
    },
    "module": {
        "tracing.py": "from dftracer.python import dftracer as Log\n",
        "train.py": "import os\nimport tracing\ntracing.Log.initialize_log(process_id=None)\n",
    },
    "dotted-module": {
        "myapp/__init__.py": "",
        "myapp/tracing.py": "from dftracer.python import dftracer as Log\n",
        "train.py": "import myapp.tracing\nmyapp.tracing.Log.initialize_log(process_id=None)\n",
    },
    "submodule": {
        "myapp/__init__.py": "",
        "myapp/tracing.py": "from dftracer.python import dftracer as Log\n",
        "train.py": "from myapp import tracing\ntracing.Log.initialize_log(process_id=None)\n",
    },
    "made-of-it": {
        "myapp/__init__.py": "",
        "myapp/tracing.py": (
            "from dftracer.python import dftracer\n\n\ndef tracer():\n    return dftracer.get_instance()\n"
        ),
        "train.py": "from myapp.tracing import tracer\ntracer().initialize_log(process_id=None)\n",
    },
    "in-a-circle": {
        "a.py": "from b import Log\nfrom dftracer.python import dftracer as Tracer\n",
        "b.py": "from a import Tracer as Log\n",
        "train.py": "from b import Log\nLog.initialize_log(process_id=None)\n",
    },
}
OTHER_NAMESAKES: dict[str, dict[str, str]] = {
    "own-class": {
        "tracing.py": "from dftracer.python import dftracer\n\n\nclass Log:\n    pass\n",
        "train.py": "from tracing import Log\nLog.initialize_log(process_id=None)\n",
    },
    "other-module": {
        "tracing.py": "from dftracer.python import dftracer as Log\n",
        "logs.py": "class Log: ...\n",
        "train.py": "from logs import Log\nLog.initialize_log(process_id=None)\n",
    },
    "bound-again": {
        "tracing.py": "from dftracer.python import dftracer as Log\n",
        "train.py": "from tracing import Log\nLog = object()\nLog.initialize_log(process_id=None)\n",
    },
}


@pytest.mark.parametrize("alone", [True, False], ids=["alone", "with-the-project"])
@pytest.mark.parametrize("name", REEXPORTS)
def test_names_are_followed_through_modules_of_the_project(
    name: str, alone: bool, here: WriteTree, run_cli: RunCli
) -> None:
    here(REEXPORTS[name])
    train, text = next((path, text) for path, text in REEXPORTS[name].items() if path.endswith("train.py"))
    line = len(text.splitlines())
    result = lint(run_cli, "--output-format", "json", *([train] if alone else []))
    assert [place[:2] for place in places(result)] == [(train, line)], result.err


@pytest.mark.parametrize("alone", [True, False], ids=["alone", "with-the-project"])
@pytest.mark.parametrize("name", OTHER_NAMESAKES)
def test_namesakes_are_left_alone(name: str, alone: bool, here: WriteTree, run_cli: RunCli) -> None:
    here(OTHER_NAMESAKES[name])
    assert lint(run_cli, *(["train.py"] if alone else [])).code == 0


def test_many_files_give_the_same_as_one(here: WriteTree, run_cli: RunCli) -> None:
    """Beyond a handful, files are looked at in several processes."""
    tree = {f"m{n:02}.py": f"from n{n:02} import Log\nLog.initialize_log(process_id=None)\n" for n in range(15)}
    tree |= {f"n{n:02}.py": "from dftracer.python import dftracer as Log\n" for n in range(15)}
    here(tree)
    found = places(lint(run_cli, "--output-format", "json"))
    assert found == [(f"m{n:02}.py", 2, 31, "DFT104") for n in range(15)]


# --- selection --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["--select", "DFT104"], True),
        (["--select", "dft1"], True),
        (["--select", "ALL"], True),
        (["--select", "DFT2,DFT104"], True),
        (["--select", "DFT2"], False),
        (["--ignore", "DFT104"], False),
        (["--ignore", "DFT1"], False),
        (["--ignore", "DFT1", "--select", "DFT104"], True),
        (["--select", "DFT1", "--ignore", "DFT104"], False),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_selection(arguments: list[str], found: bool, here: WriteTree, run_cli: RunCli) -> None:
    here({"a.py": BROKEN})
    codes = {code for *_, code in places(run_cli("lint", "--output-format", "json", *arguments))}
    assert ("DFT104" in codes) is found


@pytest.mark.parametrize("flag", ["--select", "--ignore"])
def test_an_unknown_code_is_named(flag: str, here: WriteTree, run_cli: RunCli) -> None:
    here({"a.py": BROKEN})
    result = run_cli("lint", flag, "DFT104,DFT999")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("dfannotate: error: 'DFT999': no rule has this code")


def test_configuration(here: WriteTree, run_cli: RunCli) -> None:
    here(
        {
            "pyproject.toml": PROJECT
            + "[tool.dfannotate]\nselect = ['DFT1', 'DFT002']\nignore = ['DFT101']\n"
            + "[tool.dfannotate.per-file-ignores]\n'old/*.py' = ['DFT104']\n'legacy.py' = ['ALL']\n",
            "a.py": BROKEN,
            "old/b.py": BROKEN,
            "sub/legacy.py": BROKEN,
        }
    )
    assert places(run_cli("lint", "--output-format", "json")) == [("a.py", 3, 36, "DFT104")]
    assert places(run_cli("lint", "--output-format", "json", "--select", "DFT002")) == []


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("select = ['DFT999']", "'DFT999'"),
        ("ignore = ['E501']", "'E501'"),
        ("[tool.dfannotate.per-file-ignores]\n'*.py' = ['DFT999']", "'DFT999'"),
        ("select = 'DFT1'", "tool.dfannotate.select"),
        ("per-file-ignores = ['DFT1']", "tool.dfannotate.per-file-ignores"),
        ("per_file_ignores = {}", "'per_file_ignores'"),
    ],
    ids=["select", "ignore", "per-file", "select-type", "per-file-type", "spelling"],
)
def test_a_wrong_configuration_is_named(text: str, named: str, here: WriteTree, run_cli: RunCli) -> None:
    here({"pyproject.toml": f"[tool.dfannotate]\n{text}\n", "a.py": BROKEN})
    result = run_cli("lint")
    assert (result.code, result.out) == (2, "")
    assert named in result.err


# --- suppression ------------------------------------------------------------------------------------------------------

CALL = "dftracer.initialize_log(process_id=None)"
SILENCED = {
    "noqa": f"{CALL}  # noqa: DFT104\n",
    "noqa-lower-case": f"{CALL}  # NoQA: dft104\n",
    "noqa-tight": f"{CALL}  #noqa:DFT104\n",
    "noqa-several": f"{CALL}  # noqa: E501, DFT104\n",
    "noqa-without-comma": f"{CALL}  # noqa: E501 DFT104\n",
    "noqa-with-reason": f"{CALL}  # noqa: DFT104 never traced\n",
    "behind-another-comment": f"{CALL}  # type: ignore  # noqa: DFT104\n",
    "ignore": f"{CALL}  # dfannotate: ignore[DFT104] never traced\n",
    "ignore-several": f"{CALL}  # dfannotate: ignore[DFT104, DFT104]\n",
    "ignore-above": f"# dfannotate: ignore[DFT104] never traced\n{CALL}\n",
    "ignore-above-another-comment": f"# dfannotate: ignore[DFT104] never traced\n# in tests\n{CALL}\n",
    "behind-the-last-line": "dftracer.initialize_log(\n    process_id=None\n)  # noqa: DFT104\n".replace(
        "    process_id=None\n)", "    process_id=None)"
    ),
    "behind-joined-lines": "dftracer.initialize_log(process_id=None); \\\n    x = 1  # noqa: DFT104\n",
    "behind-a-string": 'dftracer.initialize_log(process_id=None); x = """\n"""  # noqa: DFT104\n',
    "behind-an-f-string": 'dftracer.initialize_log(process_id=None); x = f"""\n{1}\n"""  # noqa: DFT104\n',
}
LOUD = {
    "bare": f"{CALL}  # noqa\n",
    "other-code": f"{CALL}  # noqa: E501\n",
    "above": f"# noqa: DFT104\n{CALL}\n",
    "in-a-string": f"x = '# noqa: DFT104'; {CALL}\n",
    "longer-code": f"{CALL}  # noqa: DFT1041\n",
    "two-above": f"# dfannotate: ignore[DFT104]\n\n{CALL}\n",
    "next-line": f"{CALL}\nx = 1  # noqa: DFT104\n",
}


@pytest.mark.parametrize("name", SILENCED)
def test_silenced(name: str, here: WriteTree, run_cli: RunCli) -> None:
    here({"a.py": f"from dftracer.python import dftracer\n\n{SILENCED[name]}"})
    result = lint(run_cli, "--output-format", "concise")
    assert (result.code, result.out) == (0, "")


@pytest.mark.parametrize("name", LOUD)
def test_not_silenced(name: str, here: WriteTree, run_cli: RunCli) -> None:
    here({"a.py": f"from dftracer.python import dftracer\n\n{LOUD[name]}"})
    assert "DFT104" in {code for *_, code in places(lint(run_cli, "--output-format", "json"))}


def test_a_noqa_without_a_code_is_spoken_of(here: WriteTree, run_cli: RunCli) -> None:
    here({"a.py": f"from dftracer.python import dftracer  # noqa\n{CALL}  # noqa\n"})
    result = lint(run_cli, "-q")
    assert result.code == 1
    assert result.err == ("warning: a.py:2: `# noqa` without a code silences nothing here: `# noqa: DFT104`\n"), (
        "where nothing is found, it is somebody else's"
    )


def test_what_was_not_asked_for_is_not_called_unused(here: WriteTree, run_cli: RunCli) -> None:
    here({"a.py": f"from dftracer.python import dftracer\n{CALL}  # noqa: DFT104\n"})
    assert run_cli("lint", "--select", "DFT002,DFT2").code == 0
    here({"a.py": "import dftracer  # noqa: DFT999\n"})
    assert places(run_cli("lint", "--select", "DFT002", "--output-format", "json")) == [("a.py", 1, 18, "DFT002")]


# --- fixing -----------------------------------------------------------------------------------------------------------


def test_fix(here: WriteTree, run_cli: RunCli, tmp_path: Path) -> None:
    here({"a.py": BROKEN, "b.py": MENDED})
    os.chmod(tmp_path / "a.py", 0o755)
    result = lint(run_cli, "--fix")
    assert (result.code, result.out) == (0, "")
    assert result.err == "fixed 1, 0 findings left; 2 files looked at\n"
    assert (tmp_path / "a.py").read_text() == MENDED
    assert (tmp_path / "a.py").stat().st_mode & 0o777 == 0o755
    assert sorted(os.listdir(tmp_path)) == ["a.py", "b.py", "pyproject.toml"]
    assert lint(run_cli, "--fix").err == "fixed 0, 0 findings left; 2 files looked at\n"


def test_fix_keeps_bytes(here: WriteTree, run_cli: RunCli, tmp_path: Path) -> None:
    data = b"\xef\xbb\xbf" + BROKEN.replace("\n", "\r\n").encode() + b"x = '\xc3\xa4\x0c'\r\n\ty" * 0 + b"# \xc3\xa4"
    here({"a.py": data})
    assert lint(run_cli, "--fix").code == 0
    assert (tmp_path / "a.py").read_bytes() == data.replace(b"None", b"-1")


def test_fix_leaves_the_unfixable(here: WriteTree, run_cli: RunCli, tmp_path: Path) -> None:
    here({"a.py": BROKEN + "(\n"})
    result = lint(run_cli, "--fix", "--output-format", "concise")
    assert result.code == 2
    assert result.out.startswith("a.py:4:1: DFT001 ")
    assert (tmp_path / "a.py").read_text() == BROKEN + "(\n"


def test_diff(here: WriteTree, run_cli: RunCli, tmp_path: Path) -> None:
    here({"a.py": BROKEN})
    result = lint(run_cli, "--diff")
    assert result.code == 1
    assert result.out == (
        "--- a.py\n+++ a.py\n@@ -1,3 +1,3 @@\n from dftracer.python import dftracer\n \n"
        "-dftracer.initialize_log(process_id=None)\n+dftracer.initialize_log(process_id=-1)\n"
    )
    assert (tmp_path / "a.py").read_text() == BROKEN
    here({"a.py": MENDED})
    assert lint(run_cli, "--diff").code == 0


def test_a_read_only_file_is_kept(here: WriteTree, run_cli: RunCli, tmp_path: Path) -> None:
    here({"a.py": BROKEN, "b.py": BROKEN})
    os.chmod(tmp_path / "a.py", 0o444)
    result = lint(run_cli, "--fix")
    assert result.code == 2
    assert "error: a.py: the file is read-only; make it writable" in result.err
    assert (tmp_path / "a.py").read_text() == BROKEN
    assert (tmp_path / "b.py").read_text() == MENDED


def run(*arguments: str, stdin: bytes, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "dfannotate", "lint", *ONLY, *arguments]
    return subprocess.run(command, input=stdin, cwd=cwd, capture_output=True, check=False)


def test_standard_input(here: WriteTree, tmp_path: Path) -> None:
    data = BROKEN.replace("\n", "\r\n").encode()
    found = run("--stdin-filename", "pkg/a.py", "--output-format", "concise", "-", stdin=data, cwd=tmp_path)
    assert found.returncode == 1
    assert found.stdout.startswith(b"pkg/a.py:3:36: DFT104 ")
    fixed = run("--fix", "--stdin-filename", "pkg/a.py", "-", stdin=data, cwd=tmp_path)
    assert (fixed.returncode, fixed.stdout) == (0, data.replace(b"None", b"-1"))
    diff = run("--diff", "-", stdin=data, cwd=tmp_path)
    assert (diff.returncode, diff.stdout.splitlines()[0]) == (1, b"--- stdin.py")
    broken = run("--fix", "-", stdin=b"import dftracer\n(\n", cwd=tmp_path)
    assert (broken.returncode, broken.stdout) == (2, b"import dftracer\n(\n")
    assert b"DFT001" in broken.stderr
    assert not (tmp_path / "pkg").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-", "a.py"], "standard input (-) is linted alone"),
        (["--stdin-filename", "a.py", "a.py"], "--stdin-filename goes with -"),
        (["--fix", "--diff"], "--fix or --diff, not both"),
        (["--output-format", "xml"], "invalid choice: 'xml'"),
        (["--foo"], "unrecognized arguments: --foo. See 'dfannotate lint --help'."),
    ],
    ids=["stdin-and-files", "name-without-stdin", "fix-and-diff", "format", "flag"],
)
def test_bad_usage(arguments: list[str], said: str, here: WriteTree, run_cli: RunCli) -> None:
    here({"a.py": MENDED})
    result = run_cli("lint", *arguments)
    assert (result.code, result.out) == (2, "")
    assert said in result.err


def test_help(run_cli: RunCli) -> None:
    result = run_cli("lint", "--help")
    assert result.code == 0
    for flag in ("--fix", "--diff", "--select", "--ignore", "--output-format", "--stdin-filename", "--statistics"):
        assert flag in result.out
    assert "lint" in run_cli("--help").out


# --- bad input --------------------------------------------------------------------------------------------------------


def test_bad_files_stop_no_other(here: WriteTree, run_cli: RunCli, tmp_path: Path) -> None:
    here(
        {
            "a.py": BROKEN,
            "bytes.py": b"import dftracer\nx = '\xff'\n",
            "cookie.py": b"# coding: nonesuch\nimport dftracer\n",
            "nul.py": b"import dftracer\n\0\n",
            "new.py": "import dftracer\nx = \N{SNOWMAN}\n",
            "deep.py": "import dftracer\nx = " + "(" * 300 + ")" * 300 + "\n",
        }
    )
    os.mkfifo(tmp_path / "pipe.py")
    result = lint(run_cli, "--output-format", "concise", ".", "gone.py", "pipe.py")
    assert result.code == 2
    lines = {line.split(":")[0]: line for line in result.out.splitlines()}
    assert "DFT104" in lines.pop("a.py")
    assert set(lines) == {"bytes.py", "cookie.py", "nul.py", "new.py", "deep.py"}
    assert all(" DFT001 " in line for line in lines.values())
    assert lines["bytes.py"].startswith("bytes.py:2:6: DFT001 not utf-8 text: byte 0xff")
    assert "not Python 3." in lines["new.py"]
    assert "error: gone.py: cannot be read: No such file or directory" in result.err
    assert "error: pipe.py: not a regular file" in result.err
    assert "Traceback" not in result.err


def test_a_syntax_error_is_told_whatever_is_selected(here: WriteTree, run_cli: RunCli) -> None:
    here({"a.py": "import dftracer\n(\n"})
    assert run_cli("lint", "--select", "DFT2").code == 2
    assert run_cli("lint", "--ignore", "DFT0").code == 2
    ignored = run_cli("lint", "--ignore", "DFT001")
    assert (ignored.code, ignored.out) == (0, "")


def test_a_large_generated_file(here: WriteTree, run_cli: RunCli) -> None:
    row = "    {'name': 'value', 'numbers': [1, 2, 3, 4, 5, 6, 7, 8]},\n"
    here({"table.py": f"TABLE = [\n{row * (5_000_000 // len(row))}]\n{BROKEN}"})
    result = lint(run_cli, "--output-format", "json")
    assert [code for *_, code in places(result)] == ["DFT104"]


def test_the_one_file_path_imports_nothing_heavy(here: WriteTree, tmp_path: Path) -> None:
    here({"a.py": BROKEN})
    program = (
        "import sys; from dfannotate.cli.main import main; main(['lint', '-q', 'a.py']);"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stderr.split()}
    assert loaded.isdisjoint({"typer", "click", "libcst", "rope", "pandas", "numpy", "rich", "msgspec", "pathspec"})
    assert "multiprocessing" not in loaded


def test_a_file_without_fault_needs_nothing_of_what_mends_one(here: WriteTree, tmp_path: Path) -> None:
    here({"a.py": "from dftracer.python import dft_fn\nx = dft_fn('a')\n\n\n@x.log\ndef f():\n    return open('g')\n"})
    program = (
        "import sys; from dfannotate.cli.main import main; print(main(['lint', '-q', 'a.py']));"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"
    assert set(done.stderr.split()).isdisjoint(
        {"dfannotate.facts", "dfannotate.shapes", "dfannotate.codemods", "difflib", "pickle", "traceback"}
    )


# --- the rules in words -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", discover(), ids=lambda rule: rule.CODE)
def test_a_rule_is_explained(rule: Any, run_cli: RunCli) -> None:
    result = run_cli("rule", rule.CODE)
    assert result.code == 0
    assert result.out.startswith(f"# {rule.CODE} {rule.NAME}\n\n")
    told = json.loads(run_cli("rule", rule.NAME, "--format", "json").out)
    assert (told["code"], told["name"], told["fixable"]) == (rule.CODE, rule.NAME, rule.FIXABLE)
    assert told["explanation"]


def test_all_rules_are_explained(run_cli: RunCli) -> None:
    told = json.loads(run_cli("rule", "--all", "--format", "json").out)
    assert [rule["code"] for rule in told["rules"]] == [rule.CODE for rule in discover()]


def test_the_page_of_the_rules_is_up_to_date(run_cli: RunCli) -> None:
    page = (ROOT / "rules" / "README.md").read_text(encoding="utf-8")
    assert page == run_cli("rule", "--all").out, "run `make rules`"


@pytest.mark.parametrize("arguments", [["DFT999"], [], ["DFT104", "--all"]], ids=["unknown", "nothing", "both"])
def test_bad_usage_of_rule(arguments: list[str], run_cli: RunCli) -> None:
    result = run_cli("rule", *arguments)
    assert (result.code, result.out) == (2, "")


def test_classes_of_the_project_are_followed_wherever_they_lead(write_tree: WriteTree, run_cli: RunCli) -> None:
    """The modules that a file leads to are read while the file is asked about, what it hands to a compiler too."""
    root = write_tree(
        {
            "pyproject.toml": "",
            "app/__init__.py": "",
            "app/traced.py": "from dftracer.python import dftracer\n",
            "app/kernels.py": "def scale(x):\n    return x\n",
            "app/loaders.py": "from torch.utils.data import DataLoader\n\n\nclass Batches(DataLoader):\n    pass\n",
            "app/train.py": "import torch\nfrom torch.utils.data import DataLoader\nfrom app import kernels, loaders\n"
            "\nscale = torch.compile(kernels.scale)\nready = DataLoader([1])\n"
            "later = loaders.Batches([1], num_workers=2)\n",
        }
    )
    found = run_cli("lint", "--quiet", "--output-format", "concise", root / "app" / "train.py")
    assert (found.code, found.err) == (1, "")
    (line,) = found.out.splitlines()
    assert ":7:9: DFT401 " in line


def test_workers_of_what_apply_leaves_out(write_tree: WriteTree, run_cli: RunCli) -> None:
    """Tests are no part of the program: nothing is missing there, unless they use the tracer themselves."""
    makes = "import multiprocessing as mp\nfrom torch.utils.data import DataLoader\n\n"
    makes += "d = DataLoader([1], num_workers=2)\np = mp.Pool(2)\n"
    root = write_tree(
        {
            "pyproject.toml": "",
            "app/__init__.py": "",
            "app/load.py": "def load(x):\n    for one in x:\n        print(one)\n",
            "app/tests/test_load.py": makes,
            "docs/conf.py": makes,
            "tests/traced.py": "from dftracer.python import dftracer\n" + makes,
        }
    )
    assert run_cli("apply", "--functions", "all", root).code == 0
    found = run_cli("lint", "--quiet", "--output-format", "concise", root)
    assert found.code == 1
    assert {line.partition(":")[0].rpartition("/")[2] for line in found.out.splitlines()} == {"traced.py"}
