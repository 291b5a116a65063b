"""``dfannotate run``: the variables, the folder, the exit codes, the signals, and what it says."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import ClassVar, cast

import pytest

from dfannotate.cli import traced
from dfannotate.cli.environment import without_tracer_variables
from dfannotate.cli.state import IGNORE_TEXT, project_root, state_folder
from dfannotate.cli.traced import interpreter_of, new_trace_folder, run, traced_environment
from tests.conftest import TIMEOUT

VARIABLES = ("DFTRACER_ENABLE", "DFTRACER_LOG_FILE", "DFTRACER_DATA_DIR", "DFTRACER_INC_METADATA")

TRACED = """\
from dftracer.python import dftracer, dft_fn
log = dftracer.initialize_log(logfile=None, data_dir=None, process_id=-1)
@dft_fn("test").log
def work(number): return number
for number in range(5): work(number)
log.finalize()
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project as working directory, in an environment without tracer variables."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "pyproject.toml").write_text("")
    monkeypatch.chdir(folder)
    for name in set(os.environ) - set(without_tracer_variables(os.environ)):
        monkeypatch.delenv(name)
    return folder


@pytest.fixture
def with_tracer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spare the tests of everything else the start of a second interpreter."""
    monkeypatch.setattr(traced, "find_tracer", lambda interpreter: traced.Tracer(True, True))


def python(program: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", program, *arguments]


def test_program_is_traced_and_the_folder_named(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (project / "program.py").write_text(TRACED)

    assert run([sys.executable, "program.py"], trace_dir=None, quiet=False) == 0

    [folder] = (project / ".dfannotate" / "traces").iterdir()
    [trace] = folder.iterdir()
    said = capfd.readouterr().err
    assert f"1 trace file, {trace.stat().st_size} bytes, in .dfannotate/traces/{folder.name}" in said
    assert f"dfannotate verify .dfannotate/traces/{folder.name}" in said
    assert not (project / "dft.log").exists()


@pytest.mark.usefixtures("with_tracer")
class TestVariables:
    def test_all_are_set_for_the_command_and_not_here(self, project: Path, capfd: pytest.CaptureFixture[str]) -> None:
        program = f"import os; print([os.environ[name] for name in {VARIABLES!r}])"

        assert run(python(program), trace_dir=project / "new", quiet=True) == 0

        expected = ["1", str(project / "new" / "trace"), str(project / "new"), "1"]
        assert capfd.readouterr().out.strip() == str(expected)
        assert not set(VARIABLES) & set(os.environ)

    @pytest.mark.parametrize("name", VARIABLES)
    def test_one_that_is_set_wins_with_a_note(
        self, name: str, project: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
    ) -> None:
        value = str(project / "mine")
        monkeypatch.setenv(name, value)

        assert run(python("import os, sys; print(os.environ[sys.argv[1]])", name), trace_dir=None, quiet=False) == 0

        captured = capfd.readouterr()
        assert captured.out.strip() == value
        assert f"note: {name} is set already and stays {value!r}" in captured.err

    def test_traces_are_counted_where_the_set_prefix_puts_them(
        self, project: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setenv("DFTRACER_LOG_FILE", str(project / "mine"))
        (project / "mine-old.pfw.gz").write_bytes(b"x" * 1000)
        (project / "other.pfw.gz").write_bytes(b"x" * 1000)

        run(python("import os; open(os.environ['DFTRACER_LOG_FILE'] + '-new.pfw', 'w').write('12345')"),
            trace_dir=None, quiet=False)  # fmt: skip

        assert "1 trace file, 5 bytes, in ." in capfd.readouterr().err
        assert not (project / ".dfannotate").exists()

    def test_value_that_cannot_work_is_warned_of(
        self, project: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setenv("DFTRACER_ENABLE", "true")
        run(python(""), trace_dir=None, quiet=True)
        assert "warning: DFTRACER_ENABLE=true: tracing is off: only exactly 1 turns it on" in capfd.readouterr().err

    def test_file_accesses_are_not_recorded_unless_asked_for(self, tmp_path: Path) -> None:
        assert traced_environment(tmp_path, {})["DFTRACER_DATA_DIR"] == str(tmp_path)
        assert traced_environment(tmp_path, {"DFTRACER_DATA_DIR": "all"})["DFTRACER_DATA_DIR"] == "all"


@pytest.mark.usefixtures("with_tracer")
class TestTraceFolder:
    def test_is_made_below_the_project_root_whatever_the_working_directory(
        self, project: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (project / "deep" / "er").mkdir(parents=True)
        monkeypatch.chdir(project / "deep" / "er")
        assert new_trace_folder(None).parent == project / ".dfannotate" / "traces"

    def test_two_runs_in_one_second_get_two_folders(self, project: Path) -> None:
        folders = [new_trace_folder(None) for _ in range(5)]
        assert len(set(folders)) == 5

    def test_with_parents_is_made(self, project: Path) -> None:
        assert run(python(""), trace_dir=project / "a" / "b", quiet=True) == 0
        assert (project / "a" / "b").is_dir()

    def test_empty_one_is_taken(self, project: Path) -> None:
        (project / "empty").mkdir()
        assert run(python(""), trace_dir=project / "empty", quiet=True) == 0

    @pytest.mark.parametrize("taken", ["folder with a file", "file"])
    def test_taken_one_is_refused_and_nothing_runs(
        self, taken: str, project: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        where = project / "taken"
        if taken == "file":
            where.write_text("x")
        else:
            where.mkdir()
            (where / "old.pfw.gz").write_bytes(b"x")

        assert run(python("print('ran')"), trace_dir=where, quiet=False) == 2

        captured = capfd.readouterr()
        assert captured.out == ""
        assert str(where) in captured.err

    def test_none_is_left_by_a_command_that_cannot_start(self, project: Path) -> None:
        script = project / "script"
        script.write_text("no first line\n")
        script.chmod(0o755)
        assert run(["./script"], trace_dir=project / "new", quiet=True) == 126
        assert not (project / "new").exists()

    def test_git_sees_the_manifest_alone(self, project: Path) -> None:
        subprocess.run(["git", "init", "-q", "."], check=True)
        folder = new_trace_folder(None)
        (folder / "trace.pfw.gz").write_bytes(b"x")
        (project / ".dfannotate" / "manifest.json").write_text("{}")

        status = subprocess.run(["git", "status", "--short", "-uall"], check=True, capture_output=True, text=True)

        assert status.stdout.splitlines() == ["?? .dfannotate/manifest.json", "?? pyproject.toml"]

    def test_users_own_ignore_file_stays(self, project: Path) -> None:
        (project / ".dfannotate").mkdir()
        (project / ".dfannotate" / ".gitignore").write_text("!traces\n")
        state_folder(project)
        assert (project / ".dfannotate" / ".gitignore").read_text() == "!traces\n" != IGNORE_TEXT


@pytest.mark.parametrize("mark", ["pyproject.toml", ".git"])
def test_project_root_is_the_nearest_marked_folder(mark: str, tmp_path: Path) -> None:
    inner = tmp_path / "outer" / "inner"
    (inner / "package").mkdir(parents=True)
    (tmp_path / "outer" / ".git").mkdir()
    assert project_root(inner / "package") == tmp_path / "outer"
    if mark == ".git":
        (inner / mark).mkdir()
    else:
        (inner / mark).write_text("")
    assert project_root(inner / "package") == inner
    (inner / "module.py").write_text("")
    assert project_root(inner / "module.py") == inner


@pytest.mark.usefixtures("with_tracer")
class TestExitCode:
    @pytest.mark.parametrize("code", [0, 1, 2, 77, 255])
    def test_is_the_commands_own(self, code: int, project: Path) -> None:
        assert run(python(f"raise SystemExit({code})"), trace_dir=None, quiet=True) == code

    @pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM], ids=lambda s: s.name)
    def test_of_a_command_killed_by_a_signal_is_the_shells(self, number: signal.Signals, project: Path) -> None:
        assert (
            run(python(f"import os; os.kill(os.getpid(), {int(number)})"), trace_dir=None, quiet=True) == 128 + number
        )

    def test_not_found(self, project: Path, capfd: pytest.CaptureFixture[str]) -> None:
        assert run(["no-such-command"], trace_dir=None, quiet=False) == 127
        assert "no-such-command: command not found" in capfd.readouterr().err
        assert not (project / ".dfannotate").exists()

    def test_script_without_its_path_is_told_how_to_be_run(
        self, project: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        (project / "train.py").write_text("")
        assert run(["train.py"], trace_dir=None, quiet=False) == 127
        assert "dfannotate run -- python train.py" in capfd.readouterr().err

    @pytest.mark.parametrize(
        ("kind", "message"),
        [
            ("not executable", "chmod +x"),
            ("folder", "is a directory"),
            ("no first line", "#! line"),
            ("interpreter gone", "interpreter that the first line of ./it names is not there"),
        ],
    )
    def test_cannot_be_executed(
        self, kind: str, message: str, project: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        path = project / "it"
        if kind == "folder":
            path.mkdir()
        else:
            path.write_text("#!/no/such/interpreter\n" if kind == "interpreter gone" else "nothing\n")
            path.chmod(0o644 if kind == "not executable" else 0o755)
        assert run(["./it"], trace_dir=None, quiet=False) == 126
        said = capfd.readouterr().err
        assert "./it" in said
        assert message in said

    def test_no_command(self, project: Path, capfd: pytest.CaptureFixture[str]) -> None:
        assert run([], trace_dir=None, quiet=False) == 2
        assert "dfannotate run -- python train.py" in capfd.readouterr().err


@pytest.mark.usefixtures("with_tracer")
class TestReport:
    @pytest.mark.parametrize("quiet", [False, True])
    def test_nothing_written_is_warned_of(self, quiet: bool, project: Path, capfd: pytest.CaptureFixture[str]) -> None:
        run(python(""), trace_dir=project / "t", quiet=quiet)
        assert "warning: no trace was written to t" in capfd.readouterr().err

    def test_empty_files_are_warned_of(self, project: Path, capfd: pytest.CaptureFixture[str]) -> None:
        program = "import os\nfor n in 'abc': open(f\"{os.environ['DFTRACER_LOG_FILE']}-{n}.pfw.gz\", 'w')"
        run(python(program), trace_dir=project / "t", quiet=True)
        assert "warning: 3 trace files of 3 with nothing in it" in capfd.readouterr().err

    def test_quiet_says_nothing_when_all_is_well(self, project: Path, capfd: pytest.CaptureFixture[str]) -> None:
        run(python("import os; open(os.environ['DFTRACER_LOG_FILE'] + '.pfw', 'w').write('x')"),
            trace_dir=project / "t", quiet=True)  # fmt: skip
        assert capfd.readouterr().err == ""

    def test_read_only_working_directory_is_warned_of(
        self, project: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
    ) -> None:
        access = os.access
        # The superuser, who may run these tests, can write to any folder.
        monkeypatch.setattr(os, "access", lambda path, mode: path != project and access(path, mode))
        assert run(python(""), trace_dir=project / "t", quiet=True) == 0
        assert "read-only: initialize_log opens dft.log there" in capfd.readouterr().err

    @pytest.mark.parametrize("state", ["there before", "written to"])
    def test_debug_log_with_a_history_stays(self, state: str, project: Path) -> None:
        if state == "there before":
            (project / "dft.log").write_text("")
        run(python("" if state == "there before" else "open('dft.log', 'w').write('x')"), trace_dir=None, quiet=True)
        assert (project / "dft.log").exists()


class TestWithoutTracer:
    def test_certain_interpreter_is_refused_with_the_way_to_get_it(
        self, project: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(traced, "find_tracer", lambda interpreter: traced.Tracer(False, False))
        assert run(python("print('ran')"), trace_dir=None, quiet=False) == 2
        captured = capfd.readouterr()
        assert captured.out == ""
        assert f"{sys.executable} has no dftracer.python" in captured.err
        assert "pip install 'dfannotate[tracer]'" in captured.err
        assert not (project / ".dfannotate").exists()

    def test_python_half_alone_is_refused(
        self, project: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(traced, "find_tracer", lambda interpreter: traced.Tracer(True, False))
        assert run(python(""), trace_dir=None, quiet=False) == 2
        assert "but not the native one" in capfd.readouterr().err

    def test_launcher_may_bring_its_own(
        self, project: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(traced, "find_tracer", lambda interpreter: traced.Tracer(False, False))
        assert run(["sh", "-c", "echo ran"], trace_dir=None, quiet=False) == 0
        captured = capfd.readouterr()
        assert captured.out == "ran\n"
        assert "pip install 'dfannotate[tracer]'" in captured.err

    @pytest.mark.parametrize(
        ("halves", "found"),
        [
            ((), traced.Tracer(False, False)),
            (("python",), traced.Tracer(True, False)),
            (("dftracer",), traced.Tracer(False, True)),
            (("python", "dftracer"), traced.Tracer(True, True)),
            (("logger",), traced.Tracer(True, True)),
        ],
        ids=["neither", "python half", "native half", "both", "1.x, which has no halves"],
    )
    def test_halves_are_looked_for_in_the_commands_interpreter(
        self, halves: tuple[str, ...], found: traced.Tracer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        package = tmp_path / "dftracer"
        package.mkdir()
        (package / "__init__.py").write_text("")
        for half in halves:
            # Importing it would fail: it must only be looked for.
            (package / f"{half}.py").write_text("raise RuntimeError\n")
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        assert traced.find_tracer(sys.executable) == found


@pytest.mark.parametrize(
    ("name", "first_line", "expected"),
    [
        ("python3.11", "", "itself"),
        ("python", "", "itself"),
        ("tool", "#!{0}/python3", "python3"),
        ("tool", "#!{0}/python3 -E", "python3"),
        ("tool", "#!/bin/sh\n'''exec' \"{0}/a b/python3\" \"$0\" \"$@\"\n' '''", "a b/python3"),
        ("tool", "#!/bin/sh\n'''exec' {0}/python3 \"$0\" \"$@\"\n' '''", "python3"),
        ("tool", "#!/bin/sh", None),
        ("tool", "\x7fELF", None),
        ("pythonic-tool", "#!/bin/sh", None),
    ],
    ids=[
        *("python3.11", "python", "shebang", "shebang with flag", "installed in a path with a space", "in a long path"),
        *("shell", "binary", "only begins with python"),
    ],
)
def test_interpreter_of(name: str, first_line: str, expected: str | None, tmp_path: Path) -> None:
    (tmp_path / "a b").mkdir()
    for interpreter in (tmp_path / "python3", tmp_path / "a b" / "python3"):
        interpreter.symlink_to(sys.executable)
    path = tmp_path / name
    path.write_text(first_line.format(tmp_path) + "\n")
    found = interpreter_of(str(path))
    assert found == (str(path) if expected == "itself" else expected and str(tmp_path / expected))


def test_interpreter_of_env_line_is_found_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interpreter = tmp_path / "python3"
    interpreter.symlink_to(sys.executable)
    script = tmp_path / "tool"
    script.write_text("#!/usr/bin/env python3\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert interpreter_of(str(script)) == str(interpreter)


CHILD = """\
import os, signal, sys, time
def stop(number, frame):
    print("got", signal.Signals(number).name, flush=True)
    sys.exit(9)
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
    signal.signal(number, stop)
print("ready", flush=True)
time.sleep(60)
"""


class TestSignals:
    @staticmethod
    def start(project: Path) -> subprocess.Popen[str]:
        """In a session of its own, so without a terminal."""
        command = [sys.executable, "-m", "dfannotate", "run", "--quiet", "--", *python(CHILD)]
        return subprocess.Popen(command, cwd=project, stdout=subprocess.PIPE, text=True, start_new_session=True)

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1], ids=lambda s: s.name)
    def test_sent_to_this_process_alone_reach_the_command(self, number: signal.Signals, project: Path) -> None:
        with self.start(project) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            process.send_signal(number)
            out, _ = process.communicate(timeout=TIMEOUT)
        assert out == f"got {number.name}\n"
        assert process.returncode == 9

    @pytest.mark.parametrize(
        ("terminal", "number", "relayed"),
        [
            (True, signal.SIGINT, False),
            (True, signal.SIGTERM, True),
            (False, signal.SIGINT, True),
            (False, signal.SIGTERM, True),
        ],
        ids=["Ctrl-C in a terminal", "SIGTERM in a terminal", "SIGINT without", "SIGTERM without"],
    )
    def test_what_the_kernel_sends_to_both_is_not_relayed(
        self, terminal: bool, number: signal.Signals, relayed: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Child:
            sent: ClassVar[list[int]] = []

            def send_signal(self, number: int) -> None:
                self.sent.append(number)

        Child.sent.clear()
        before = signal.getsignal(number)
        monkeypatch.setattr(traced, "_in_foreground_of_terminal", lambda: terminal)
        with traced._relayed_signals() as children:
            children.append(cast("subprocess.Popen[bytes]", Child()))
            os.kill(os.getpid(), number)
        assert Child.sent == ([number] if relayed else [])
        assert signal.getsignal(number) is before

    def test_ignored_signal_stays_ignored_in_the_command(
        self, project: Path, capfd: pytest.CaptureFixture[str], with_tracer: None
    ) -> None:
        before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
        try:
            program = "import signal; print(signal.getsignal(signal.SIGHUP) is signal.SIG_IGN)"
            run(python(program), trace_dir=None, quiet=True)
        finally:
            signal.signal(signal.SIGHUP, before)
        assert capfd.readouterr().out == "True\n"

    def test_keyboard_interrupt_reaches_the_command_once_and_is_waited_for(self, project: Path) -> None:
        """In a terminal the kernel sends it to every process of the foreground group."""
        pid, terminal = os.forkpty()
        if pid == 0:
            os.chdir(project)
            program = CHILD.replace("sys.exit(9)", "time.sleep(0.5); print('finished', flush=True); sys.exit(9)")
            os.execv(sys.executable, [sys.executable, "-m", "dfannotate", "run", "--quiet", "--", *python(program)])
        read = b""
        deadline = time.monotonic() + 30
        interrupted = False
        with contextlib.suppress(OSError):  # the terminal closes with its last process
            while time.monotonic() < deadline:
                read += os.read(terminal, 4096)
                if b"ready" in read and not interrupted:
                    os.write(terminal, b"\x03")
                    interrupted = True
        _, status = os.waitpid(pid, 0)
        os.close(terminal)
        assert read.count(b"got SIGINT") == 1
        assert b"finished" in read
        assert os.waitstatus_to_exitcode(status) == 9
