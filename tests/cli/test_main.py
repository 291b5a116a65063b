"""The command line: which call each command line becomes, exit codes, and what goes to stderr."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from dfannotate import __version__
from dfannotate.cli.config import Config
from dfannotate.cli.main import main
from dfannotate.cli.overlap import OverlapOptions
from dfannotate.cli.show import UserError
from dfannotate.manifest import ManifestError
from tests.conftest import RunCli, WriteTree

COMMANDS = ("apply", "revert", "run", "verify", "overlap", "doctor", "demo")


class Recorder:
    """Stands in for a command's implementation: keeps the call, then returns or raises what it was told to."""

    def __init__(self) -> None:
        self.arguments: tuple[Any, ...] = ()
        self.keywords: dict[str, Any] = {}
        self.answer: int | BaseException = 0

    def __call__(self, *arguments: Any, **keywords: Any) -> int:
        self.arguments, self.keywords = arguments, keywords
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer

    def call(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """What the last call was made with."""
        return self.arguments, self.keywords


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    """One recorder in the place of every command's implementation. Only these are replaced: the options classes and
    everything in front of them are the real ones."""
    from dfannotate.cli import apply, demo, doctor, overlap, revert, traced, verify

    recorder = Recorder()
    places: list[tuple[ModuleType, str]] = [
        (apply, "apply"),
        (revert, "revert"),
        (traced, "run"),
        (verify, "verify"),
        (overlap, "overlap"),
        (doctor, "doctor"),
        (demo, "demo"),
    ]
    for module, name in places:
        monkeypatch.setattr(module, name, recorder)
    return recorder


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def options(recorder: Recorder) -> dict[str, Any]:
    given, config = recorder.arguments
    assert isinstance(config, Config)
    return {name: getattr(given, name) for name in given.__dataclass_fields__}


@pytest.mark.usefixtures("here")
def test_apply_defaults(recorded: Recorder, run_cli: RunCli) -> None:
    assert run_cli("apply").code == 0
    assert options(recorded) == {
        "paths": (Path(),),
        "check": False,
        "diff": False,
        "include": (),
        "exclude": (),
        "entry": (),
        "functions": "worthwhile",
        "event": None,
        "category": "module",
        "target": None,
        "manifest": None,
        "jobs": None,
        "allow_dirty": False,
        "output": "text",
        "quiet": False,
    }


@pytest.mark.usefixtures("here")
def test_apply_flags(recorded: Recorder, run_cli: RunCli) -> None:
    line = (
        "apply a b.py --check --diff --include x --include y --exclude z --entry a/t.py --entry u.py --category io "
        "--functions all "
        "--target 2.1.0 --manifest m.json --jobs 2 --allow-dirty --format json --quiet"
    )
    assert run_cli(*line.split()).code == 0
    assert options(recorded) == {
        "paths": (Path("a"), Path("b.py")),
        "check": True,
        "diff": True,
        "include": ("x", "y"),
        "exclude": ("z",),
        "entry": (Path("a/t.py"), Path("u.py")),
        "functions": "all",
        "event": None,
        "category": "io",
        "target": "2.1.0",
        "manifest": Path("m.json"),
        "jobs": 2,
        "allow_dirty": True,
        "output": "json",
        "quiet": True,
    }


def test_a_flag_beats_the_configuration(here: Path, write_tree: WriteTree, recorded: Recorder, run_cli: RunCli) -> None:
    write_tree(
        {
            "project/pyproject.toml": "[tool.dfannotate]\ninclude = ['i']\nexclude = ['e']\nentry = ['t.py']\n"
            "category = 'io'\ntarget = '2.0.3'\nmanifest = 'm.json'\njobs = 2\n",
            "project/a.py": "",
        }
    )
    run_cli("apply", "project/a.py")
    configured = options(recorded)
    project = here / "project"
    assert configured["include"] == ("i",)
    assert configured["exclude"] == ("e",)
    assert configured["entry"] == (project / "t.py",)
    assert (configured["category"], configured["target"], configured["jobs"]) == ("io", "2.0.3", 2)
    assert configured["manifest"] == project / "m.json"
    line = "apply project --include I --exclude E --entry T --category module --target 2.2.0 --manifest M --jobs 1"
    run_cli(*line.split())
    flagged = options(recorded)
    assert (flagged["include"], flagged["exclude"], flagged["entry"]) == (("I",), ("E",), (Path("T"),))
    assert (flagged["category"], flagged["target"], flagged["jobs"]) == ("module", "2.2.0", 1)
    assert flagged["manifest"] == Path("M")
    run_cli("revert", "project")
    assert options(recorded)["manifest"] == project / "m.json"
    run_cli("revert", "project", "--manifest", "M")
    assert options(recorded)["manifest"] == Path("M")


@pytest.mark.usefixtures("here")
def test_revert_flags(recorded: Recorder, run_cli: RunCli) -> None:
    run_cli(*["revert", "a", "--check", "--diff", "--manifest", "m.json", "--allow-dirty", "--format", "json", "-q"])
    assert options(recorded) == {
        "paths": (Path("a"),),
        "check": True,
        "diff": True,
        "manifest": Path("m.json"),
        "allow_dirty": True,
        "output": "json",
        "quiet": True,
    }


RUNS = {
    "plain": ("run -- python a.py", ["python", "a.py"], None),
    "its-own-flags": ("run -- a.py --quiet -q --trace-dir x", ["a.py", "--quiet", "-q", "--trace-dir", "x"], None),
    "without-dashes": ("run python -c pass --help", ["python", "-c", "pass", "--help"], None),
    "trace-dir": ("run --trace-dir t -- python a.py", ["python", "a.py"], Path("t")),
    "dashes-of-the-command": ("run -- cmd -- --x", ["cmd", "--", "--x"], None),
    "debug-of-the-command": ("run -- cmd --debug --version", ["cmd", "--debug", "--version"], None),
}


@pytest.mark.parametrize(("line", "command", "trace_dir"), RUNS.values(), ids=RUNS.keys())
def test_run(recorded: Recorder, run_cli: RunCli, line: str, command: list[str], trace_dir: Path | None) -> None:
    recorded.answer = 17
    assert run_cli(*line.split()).code == 17  # the command's own exit code
    assert [list(part) for part in recorded.arguments] == [command]
    assert recorded.keywords == {"trace_dir": trace_dir, "quiet": False, "audit": False, "manifest": None}


@pytest.mark.usefixtures("here")
def test_verify_overlap_doctor_demo(recorded: Recorder, run_cli: RunCli) -> None:
    run_cli(
        *["verify", "t", "--manifest", "m", "--expect", "train:step=3", "--expect", "io:read=>=1", "--format", "json"],
        *["--workers", "4", "--overlap", "IO:COMPUTE", "--min-overlap", "80", "--scheduler", "tcp://h:1"],
    )
    assert recorded.call() == (
        (Path("t"),),
        {
            "manifest": Path("m"),
            "expect": ("train:step=3", "io:read=>=1"),
            "workers": 4,
            "overlap": "IO:COMPUTE",
            "min_overlap": 80.0,
            "scheduler": "tcp://h:1",
            "output": "json",
            "quiet": False,
        },
    )
    run_cli("overlap", "t", "--a", "IO:read*,IO:open", "--b", "COMPUTE")
    assert recorded.call() == ((OverlapOptions(Path("t"), "IO:read*,IO:open", "COMPUTE"),), {})
    run_cli(
        *["overlap", "t", "--a", "A", "--b", "B", "--interval", "max", "--by", "round", "--round", "APP:epoch"],
        *["--scheduler", "tcp://h:1", "--manifest", "m", "--format", "json", "--quiet"],
    )
    options = OverlapOptions(
        Path("t"), "A", "B", "max", "round", "APP:epoch", "tcp://h:1", Path("m"), output="json", quiet=True
    )
    assert recorded.call() == ((options,), {})
    run_cli("doctor", "--format", "json", "--quiet")
    assert recorded.call() == ((), {"output": "json", "quiet": True})
    run_cli("demo", "--keep", "d")
    assert recorded.call() == ((), {"keep": Path("d"), "quiet": False})


@pytest.mark.parametrize("code", [0, 1, 2])
def test_the_code_of_the_command_is_the_code(recorded: Recorder, run_cli: RunCli, code: int) -> None:
    recorded.answer = code
    assert run_cli("doctor").code == code


BAD_USAGE = {
    "unknown-command": ("frobnicate", "dfannotate: error: No such command 'frobnicate'"),
    "misspelt-command": ("aply", "dfannotate: error: No such command 'aply'. Did you mean"),
    "unknown-flag": ("apply --frobnicate", "dfannotate apply: error: No such option: --frobnicate"),
    "unknown-functions": (
        "apply --functions most",
        "dfannotate apply: error: Invalid value for '--functions': 'most' is not one of",
    ),
    "bad-format": ("apply --format xml", "dfannotate apply: error: Invalid value for '--format': 'xml' is not one of"),
    "no-jobs": ("apply --jobs 0", "dfannotate apply: error: Invalid value for '--jobs': "),
    "jobs-not-a-number": ("apply --jobs many", "dfannotate apply: error: Invalid value for '--jobs': "),
    "empty-category": ("apply --category=", "'--category': a category needs a name"),
    "category-with-quote": ('apply --category a"b', "quotes, backslashes and control characters would"),
    "unknown-target": ("apply --target 1.0", "'--target': '1.0' is not a release that dfannotate writes"),
    "nothing-to-run": ("run", "dfannotate run: error: Missing argument"),
    "nothing-to-run-after-dashes": ("run --", "dfannotate run: error: Missing argument"),
    "no-trace-folder": ("verify", "dfannotate verify: error: Missing argument 'TRACE_DIR'"),
    "argument-too-many": ("doctor x", "dfannotate doctor: error: Got unexpected extra argument"),
}


@pytest.mark.usefixtures("here", "recorded")
@pytest.mark.parametrize(("line", "message"), BAD_USAGE.values(), ids=BAD_USAGE.keys())
def test_bad_usage_is_one_line_and_exit_2(run_cli: RunCli, line: str, message: str) -> None:
    result = run_cli(*line.split())
    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert result.err.count("\n") == 1
    assert result.err.endswith(" --help'.\n")


def test_bad_configuration_is_exit_2(here: Path, recorded: Recorder, write_tree: WriteTree, run_cli: RunCli) -> None:
    write_tree({"pyproject.toml": "[tool.dfannotate]\njob = 1\n"})
    result = run_cli("apply")
    assert (result.code, result.out) == (2, "")
    assert result.err == (
        f"dfannotate: error: {here / 'pyproject.toml'}: unknown key 'job' in [tool.dfannotate]; "
        "known: categories, category, entry, events, exclude, functions, ignore, include, jobs, manifest, "
        "per-file-ignores, select, shim, target\n"
    )
    assert recorded.arguments == ()


FAILURES = {
    "for-users": (UserError("a.py: no"), "dfannotate: error: a.py: no\n"),
    "manifest": (ManifestError("m.json: broken"), "dfannotate: error: m.json: broken\n"),
    "system": (PermissionError(13, "Permission denied", "x/y"), "dfannotate: error: x/y: Permission denied\n"),
    "disk-full": (OSError(28, "No space left on device"), "dfannotate: error: No space left on device\n"),
    "bug": (
        KeyError("line\nbreak"),
        "dfannotate: internal error: KeyError: 'line\\nbreak'. This is a bug; rerun with `dfannotate --debug doctor` "
        "to see where, and please report it.\n",
    ),
    "bug-without-words": (
        AssertionError(),
        "dfannotate: internal error: AssertionError. This is a bug; rerun with `dfannotate --debug doctor` to see "
        "where, and please report it.\n",
    ),
}


@pytest.mark.parametrize(("error", "message"), FAILURES.values(), ids=FAILURES.keys())
def test_no_traceback_reaches_a_user(recorded: Recorder, run_cli: RunCli, error: Exception, message: str) -> None:
    recorded.answer = error
    result = run_cli("doctor")
    assert (result.code, result.out, result.err) == (2, "", message)


def test_debug_shows_the_traceback(recorded: Recorder) -> None:
    recorded.answer = KeyError("x")
    with pytest.raises(KeyError):
        main(["--debug", "doctor"])


def test_interrupt(recorded: Recorder, run_cli: RunCli) -> None:
    recorded.answer = KeyboardInterrupt()
    result = run_cli("doctor")
    assert (result.code, result.out, result.err) == (130, "", "dfannotate: interrupted\n")


def test_without_arguments_the_help_is_bad_usage(run_cli: RunCli) -> None:
    result = run_cli()
    assert (result.code, result.out) == (2, "")
    assert all(f"\n  {command} " in result.err for command in COMMANDS)


@pytest.mark.parametrize("arguments", [["--help"], *([command, "--help"] for command in COMMANDS), ["apply", "-h"]])
def test_help(run_cli: RunCli, arguments: list[str]) -> None:
    result = run_cli(*arguments)
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("Usage: dfannotate ")


@pytest.mark.parametrize("arguments", [["--version"], ["--debug", "--version"]])
def test_version(run_cli: RunCli, arguments: list[str]) -> None:
    result = run_cli(*arguments)
    assert (result.code, result.out, result.err) == (0, f"dfannotate {__version__}\n", "")


def python(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )


def test_version_imports_nothing_but_the_standard_library() -> None:
    done = python("-c", "import sys; from dfannotate.cli.main import main; main(['--version']); print(*sys.modules)")
    outside = {"typer", "rich", "click", "libcst", "pandas", "pathspec"}
    assert outside.isdisjoint(name.split(".")[0] for name in done.stdout.split())


def test_the_commands_import_nothing_heavy_before_they_run() -> None:
    done = python(
        "-c", "import sys; from dfannotate.cli.main import main; main(['apply', '--help']); print(*sys.modules)"
    )
    heavy = {"rich", "libcst", "pandas", "numpy", "rope", "msgspec", "isal"}
    assert done.returncode == 0, done.stderr
    assert heavy.isdisjoint(name.split(".")[0] for name in done.stdout.split())


def test_python_m() -> None:
    assert python("-m", "dfannotate", "--version").stdout == f"dfannotate {__version__}\n"


def test_a_reader_that_goes_away_is_no_error() -> None:
    """The exit code is the one of a process that a closed pipe ended, and nothing is said."""
    code = (
        "import sys; from dfannotate.cli import commands, doctor; from dfannotate.cli.main import main\n"
        "doctor.doctor = lambda **options: print('x' * 1_000_000) or 0\n"
        "sys.exit(main(['doctor']))"
    )
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as stdout:
        done = subprocess.run([sys.executable, "-c", code], stdout=stdout, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (141, b"")


def test_text_that_the_terminal_cannot_show_is_escaped() -> None:
    code = (
        "import sys; from dfannotate.cli import doctor; from dfannotate.cli.main import main\n"
        "doctor.doctor = lambda **options: print('gr\\u00f6\\u00dfe \\udcff') or 0\n"
        "sys.exit(main(['doctor']))"
    )
    done = python("-c", code, PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stdout, done.stderr) == (0, "gr\\xf6\\xdfe \\udcff\n", "")


def test_completion_is_offered() -> None:
    done = python("-m", "dfannotate", _DFANNOTATE_COMPLETE="complete_bash", COMP_WORDS="dfannotate ver", COMP_CWORD="1")
    assert done.stdout.split() == ["verify"]
