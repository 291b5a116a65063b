"""``dfannotate doctor``: what it says about versions and variables, and that it really traces."""

from __future__ import annotations

import json
import os
from importlib import metadata
from pathlib import Path

import pytest

from dfannotate.cli import doctor as module
from dfannotate.cli.doctor import Packages, doctor, package_problems, release
from dfannotate.cli.environment import environment_problems, without_tracer_variables


@pytest.mark.parametrize(
    ("native", "python", "broken"),
    [
        # Each pair was installed and traced with: initialize_log raised AttributeError, or ten events of ten came.
        ("2.0.2", "2.0.4", False),
        ("2.0.2", "2.0.5", True),
        ("2.0.2", "2.0.6", True),
        ("2.0.3", "2.0.3", False),
        ("2.0.3", "2.0.5", True),
        ("2.0.3", "2.0.6", True),
        ("2.1.0", "2.0.2", False),
        ("2.1.0", "2.0.4", False),
        ("2.1.0", "2.0.5", True),
        ("2.1.0", "2.0.6", True),
        ("2.1.0.post21", "2.0.2", False),
        ("2.1.0.post21", "2.0.6", False),
        ("2.1.1.post45", "2.0.6", False),
        ("2.2.0", "2.0.2", False),
        ("2.2.0", "2.0.6", False),
    ],
)
def test_pairs(native: str, python: str, broken: bool) -> None:
    problems = package_problems(Packages(native, python, None, None))
    if broken:
        [problem] = problems
        assert f"dftracer {native} cannot work with pydftracer {python}" in problem
        assert "pip install" in problem
    else:
        assert problems == []


@pytest.mark.parametrize(
    ("packages", "said"),
    [
        (Packages(None, None, None, None), "no tracer is installed"),
        (Packages(None, None, None, "2.13.0"), "no tracer is installed"),
        (Packages(None, "2.0.6", None, None), "without a message and without a trace"),
        (Packages("2.2.0", None, None, None), "dftracer.python is missing"),
        (Packages(None, "1.0.11", None, None), "of an earlier generation"),
        (Packages(None, None, "0.0.6", None), "dlio-profiler-py 0.0.6 is the predecessor"),
    ],
    ids=["nothing", "torch alone", "python half", "native half", "first generation", "predecessor"],
)
def test_what_cannot_trace_is_named_with_a_remedy(packages: Packages, said: str) -> None:
    [problem] = package_problems(packages)
    assert said in problem
    assert "pip install 'dfannotate[tracer]'" in problem


def test_releases_are_ordered() -> None:
    ordered = ["1.0.11", "2.0.2", "2.0.10", "2.1.0", "2.1.0.post21", "2.1.1", "2.1.1.post45+local7", "2.2"]
    assert sorted(ordered, key=release) == ordered


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({"DFTRACER_ENABLE": "true"}, "only exactly 1"),
        ({"DFTRACER_ENABLE": "1"}, ""),
        ({"DFTRACER_ENABLE": "0"}, ""),
        ({"DFTRACER_INIT": "HYBRID"}, "no such mode"),
        ({"DFTRACER_INIT": "FUNCTION"}, ""),
        ({"DFTRACER_INIT": "PRELOAD"}, "forked workers leave empty traces"),
        ({"DFTRACER_INIT": "PRELOAD", "LD_PRELOAD": "/lib/libdftracer_preload.so"}, ""),
        ({"DFTRACER_INIT": "PRELOAD", "LD_PRELOAD": "/lib/libother.so"}, "forked workers leave empty traces"),
        ({"DFTRACER_DATA_DIR": "all"}, "every file access"),
        ({"DFTRACER_DATA_DIR": "/data"}, ""),
        ({"DFTRACER_INC_METADATA": "0"}, "no arguments"),
        ({"DFTRACER_TIME_METRIC": "ns"}, "so microseconds"),
        ({"DFTRACER_TIME_METRIC": "NS"}, ""),
        ({"DFTRACER_BIND_SIGNALS": "1"}, "loses every event"),
        ({"DFTRACER_DISABLE_TIDS": "0"}, "inverted"),
        ({"DFTRACER_ENABLE_AGGREGATION": "1"}, "no events of single calls"),
        ({"DFTRACER_ENABLE_MPI": "ON"}, "does nothing at run time"),
        ({"DFTRACER_LOGFILE": "x"}, "is DFTRACER_LOG_FILE meant?"),
        ({"DFTRACER_QQQQ": "x"}, "no release"),
        ({"DFTRACER_LOG_FILE": "/no/such/folder/trace"}, "does not exist"),
        ({"DFTRACER_LOG_FILE": "/trace"}, ""),
        ({"DLIO_PROFILER_ENABLE": "1"}, "DFTRACER_ENABLE now"),
        ({"LD_PRELOAD": "/lib/libother.so", "PATH": "/bin"}, ""),
    ],
    ids=lambda value: ",".join(f"{k}={v}" for k, v in value.items()) if isinstance(value, dict) else "",
)
def test_variables(environ: dict[str, str], said: str) -> None:
    problems = environment_problems(environ)
    assert [said in problem.message for problem in problems] == ([True] if said else [])


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in set(os.environ) - set(without_tracer_variables(os.environ)):
        monkeypatch.delenv(name)


def test_tracing_works_here_whatever_the_variables_say(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DFTRACER_ENABLE", "true")
    monkeypatch.setenv("DFTRACER_LOG_FILE", "/no/such/folder/trace")
    monkeypatch.setenv("DFTRACER_DISABLE_IO", "1")

    assert doctor(output="json", quiet=False) == 0

    document = json.loads(capsys.readouterr().out)
    assert list(document) == ["ok", "python", "packages", "problems", "environment", "probe"]
    assert document["ok"] is True
    assert document["packages"]["dftracer"] == metadata.version("dftracer")
    assert document["packages"]["pydftracer"] == metadata.version("pydftracer")
    assert document["problems"] == []
    assert [problem["name"] for problem in document["environment"]["problems"]] == [
        "DFTRACER_ENABLE",
        "DFTRACER_LOG_FILE",
    ]
    probe = document["probe"]
    assert (probe["ok"], probe["expected"], probe["recorded"]) == (True, 10, 10)
    assert probe["import_seconds"] > 0


def stand_in(folder: Path, initialize: str, imports: str = "") -> None:
    """A tracer that ends as the broken ones do."""
    package = folder / "dftracer" / "python"
    package.mkdir(parents=True)
    (folder / "dftracer" / "__init__.py").write_text("")
    (package / "__init__.py").write_text(
        f"{imports}\n"
        "class dft_fn:\n"
        "    def __init__(self, cat): pass\n"
        "    def log(self, func): return func\n"
        "class dftracer:\n"
        "    @staticmethod\n"
        f"    def initialize_log(logfile, data_dir, process_id): {initialize}\n"
        "    def finalize(self): pass\n"
    )


@pytest.mark.parametrize(
    ("initialize", "imports", "said"),
    [
        ("raise AttributeError('mark_used')", "", ["tracing     does not work", "AttributeError: mark_used"]),
        ("return dftracer()", "", ["tracing     does not work: 0 of 10 events recorded"]),
        ("return dftracer()", "import absent_module", ["pip install absent_module"]),
        ("import os; os.abort()", "", ["exit code -6"]),
    ],
    ids=["raises", "records nothing", "lacks a dependency", "aborts"],
)
def test_tracing_does_not_work(
    initialize: str,
    imports: str,
    said: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    stand_in(tmp_path, initialize, imports)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert doctor(output="text", quiet=True) == 1
    out = capsys.readouterr().out
    for text in said:
        assert text in out


def test_without_tracer_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(module, "installed", lambda: Packages(None, None, None, None))
    assert doctor(output="text", quiet=False) == 1
    assert "pip install 'dfannotate[tracer]'" in capsys.readouterr().out
    assert doctor(output="json", quiet=False) == 1
    assert json.loads(capsys.readouterr().out)["probe"] is None
