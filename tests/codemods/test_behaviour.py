"""What a rewritten program does when it runs: as before with tracing off, and with it on one start and one finalize."""

from __future__ import annotations

import atexit
import builtins
import io
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.conftest import run_for_real


@dataclass
class FakeTracer:
    """Stands in for ``dftracer.python``: records what it is asked, and behaves as the real one otherwise."""

    enabled: bool
    calls: list[str] = field(default_factory=list)
    at_exit: list[Callable[[], object]] = field(default_factory=list)
    started: bool = False

    def module(self) -> ModuleType:
        tracer = self

        class Log:
            @property
            def logger(self) -> object:
                return self if tracer.started else None

            def finalize(self) -> None:
                tracer.calls.append("finalize")

        class Logger:
            @staticmethod
            def initialize_log(logfile: object, data_dir: object, process_id: object) -> Log:
                assert (logfile, data_dir, process_id) == (None, None, -1)
                tracer.calls.append("initialize")
                tracer.started = True
                return log

            @staticmethod
            def get_instance() -> Log:
                return log

        class Function:
            def __init__(self, cat: str) -> None:
                self.cat = cat

            def log(self, function: Callable[..., Any]) -> Callable[..., Any]:
                @wraps(function)
                def wrapper(*args: Any, **keywords: Any) -> Any:
                    result = function(*args, **keywords)
                    if tracer.enabled:
                        tracer.calls.append(f"{self.cat}:{function.__qualname__}")
                    return result

                return wrapper

            log_init = log_static = log

        log = Log()
        module = ModuleType("dftracer.python")
        vars(module).update(dftracer=Logger, dft_fn=Function, DFTRACER_ENABLE=tracer.enabled)
        return module


@dataclass
class Run:
    out: str
    error: BaseException | None
    calls: list[str]
    scope: dict[str, Any]


RunProgram = Callable[..., Run]


@pytest.fixture
def run_program(monkeypatch: pytest.MonkeyPatch) -> RunProgram:
    """Execute a program's text as ``name``, with a fake tracer that is on or off; what it registers for the exit runs
    at the end, as if the process ended."""

    def run(text: str, *, on: bool = False, name: str = "__main__") -> Run:
        tracer = FakeTracer(on)
        package = ModuleType("dftracer")
        monkeypatch.setitem(sys.modules, "dftracer", package)
        monkeypatch.setitem(sys.modules, "dftracer.python", tracer.module())
        monkeypatch.setattr(atexit, "register", lambda function: tracer.at_exit.append(function))
        scope: dict[str, Any] = {"__name__": name, "__builtins__": builtins}
        error: BaseException | None = None
        out = io.StringIO()
        with redirect_stdout(out):
            try:
                exec(compile(text, "m.py", "exec", dont_inherit=True), scope)
            except (Exception, SystemExit, KeyboardInterrupt) as raised:
                error = raised
            for function in reversed(tracer.at_exit):
                function()
        return Run(out.getvalue(), error, tracer.calls, scope)

    return run


PROGRAMS = {
    "guard": """
        import os
        def work(x):
            print("work", x); os.stat(".")
        if __name__ == "__main__":
            work(1)
            print("end")
        """,
    "guard-that-raises": """
        import os
        def work():
            os.stat("."); raise ValueError("no")
        if __name__ == "__main__":
            work()
        """,
    "guard-that-exits": """
        import sys
        def work():
            open(".").read
        if __name__ == "__main__":
            print(1); sys.exit(3)
        """,
    "guard-interrupted": """
        if __name__ == "__main__":
            raise KeyboardInterrupt
        """,
    "guard-with-code-after-it": """
        def work(x):
            for i in range(x): print(i)
        if __name__ == "__main__":
            work(1)
        work(2)
        """,
    "two-guards": """
        def work(x):
            for i in range(x): print(i)
        if __name__ == "__main__": work(1)
        if __name__ == "__main__":
            work(2)
        """,
    "guard-that-calls-a-main-of-its-own": """
        import sys
        def main(argv=None):
            for i in range(2): print(i)
            return 5
        if __name__ == "__main__":
            sys.exit(main())
        """,
    "nested-guard-with-else": """
        if __name__ == "__main__":
            try:
                if __name__ == "__main__":
                    print("in")
                else: print("out")
            except ZeroDivisionError: pass
            else: print("else")
            finally: print("finally")
        else:
            print("imported")
        """,
    "walrus-and-global": """
        total = 0
        def add(n):
            global total
            for _ in range(n): total += 1
            return total
        if __name__ == "__main__":
            if (x := add(3)) > 2: print(x, total)
        """,
    "names-of-ours-in-use": """
        _dft = dftracer = DFTracerFn = DFTRACER_ENABLE = "mine"
        _dft_log = atexit = "too"
        def work(_dft):
            for i in "ab": print(_dft, dftracer, i)
        if __name__ == "__main__":
            work("x")
            print(_dft, dftracer, DFTracerFn, DFTRACER_ENABLE, _dft_log, atexit)
            del _dft, dftracer
        """,
    "private-names-in-classes": """
        class _A:
            __x = 1
            def load(self, __y=2):
                return self.__x + __y
            class B:
                def load(this):
                    return this
        if __name__ == "__main__":
            print(_A().load(), _A.B().load().__class__.__qualname__)
        """,
    "order-of-definitions": """
        def load(): return "first"
        first = load
        def load(): return "second"
        if __name__ == "__main__":
            print(first(), load(), first is load)
            for i in range(2):
                def load(i=i): return i
            print(load())
        """,
    "class-scope": """
        class A:
            def load(x=3): return x
            value = load()
            items = [load(i) for i in ()]
            double = property(lambda self: self.load.__name__)
            del load
            def save(self): return self.value
        if __name__ == "__main__":
            print(A.value, A().save(), hasattr(A, "load"))
        """,
    "introspection": """
        import inspect, pickle, typing
        class A:
            def __init__(self, path: str = ".") -> None: self.path = path; self.n = len(path)
            def load(self, x: int, *y: int, z: int = 1) -> int:
                '''Docs.'''
                for _ in y: x += z
                return x
        if __name__ == "__main__":
            print(inspect.signature(A.load), A.load.__doc__, A.load.__qualname__, typing.get_type_hints(A.load))
            print(A().load(1, 2, 3, z=4), A("x").path, inspect.signature(A))
        """,
    "inheritance-and-super": """
        class Base:
            def __init__(self): self.log = []
            def save(self): self.log.append("base"); print(self.log)
        class Heir(Base):
            def __init__(self):
                super().__init__()
                for x in "ab": self.log.append(x)
            def save(self):
                super().save()
                for x in self.log: print(__class__.__name__, x)
        if __name__ == "__main__":
            Heir().save()
        """,
    "protocols-of-objects": """
        class A:
            def __enter__(self):
                for x in "a": print("in")
                return self
            def __exit__(self, *error):
                for x in "a": print("out", error[0])
                return True
            def __call__(self, x):
                for i in range(x): print(i)
            def __getitem__(self, i):
                if i > 2: raise IndexError
                for x in "a": pass
                return i
            def __next__(self):
                for x in "a": pass
                raise StopIteration
            def __iter__(self): return self
        if __name__ == "__main__":
            with A() as a:
                a(2); print(a[1], list(a)); raise OSError
        """,
    "exception-in-a-function": """
        def load():
            for x in "a": raise KeyError(x)
        if __name__ == "__main__":
            try: load()
            except KeyError as error: print(repr(error), error.__context__)
        """,
    "enum-dataclass-namedtuple": """
        import enum, dataclasses, typing
        class Color(enum.Enum):
            RED = 1
            def load(self):
                for x in "a": print(self.name)
        @dataclasses.dataclass
        class D:
            x: int = 1
            def save(self):
                for x in "a": print(self)
        class T(typing.NamedTuple):
            x: int = 1
            def save(self):
                for x in "a": print(self)
        if __name__ == "__main__":
            Color.RED.load(); D().save(); T().save(); print(list(Color), len(T()))
        """,
    "match": """
        def load(x):
            match x:
                case {"a": y}: return y
                case [_, *rest]: return rest
                case str() as s: return s
        if __name__ == "__main__":
            print(load({"a": 1}), load([1, 2]), load("x"))
        """,
    "star-import-and-exec": """
        from os.path import *
        def load():
            exec("x = 1; print(x)")
            for k in sorted(locals()): print(k)
        if __name__ == "__main__":
            load(); print(join("a", "b"))
        """,
}


@pytest.mark.parametrize("name", ["__main__", "m"], ids=["run", "imported"])
@pytest.mark.parametrize("on", [False, True], ids=["off", "on"])
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_program_does_what_it_did(
    program: str, on: bool, name: str, rewrite: Callable[..., Any], run_program: RunProgram
) -> None:
    done = rewrite(program)
    assert done.changed
    before, after = run_program(done.source.text, on=on, name=name), run_program(done.text, on=on, name=name)
    assert after.out == before.out
    assert repr(after.error) == repr(before.error)
    lifecycle = [call for call in after.calls if call in ("initialize", "finalize")]
    assert lifecycle == (["initialize", "finalize"] if on and name == "__main__" else [])
    if lifecycle:
        assert after.calls[-1] == "finalize"


def test_console_script_starts_once_and_ends_with_the_process(
    rewrite: Callable[..., Any], run_program: RunProgram
) -> None:
    done = rewrite(
        """
        import os
        def load(): return [print("load") for _ in range(1)]
        def main():
            load()
            raise SystemExit(1)
        def helper():
            for _ in range(3):
                try: main()
                except SystemExit: pass
        """,
        mains=("main",),
    )
    run = run_program(f"{done.text}\nhelper()\n", on=True, name="m")
    assert run.calls == ["initialize", "m:load", "m:load", "m:load", "finalize"]
    run = run_program(f"{done.text}\nhelper()\n", name="m")
    assert run.calls == []
    assert run.out == "load\n" * 3


def test_guard_around_a_started_main_initializes_once(rewrite: Callable[..., Any], run_program: RunProgram) -> None:
    done = rewrite(
        """
        def main():
            for x in "a": print(x)
        def run():
            main()
        if __name__ == "__main__":
            run()
        """,
        mains=("main",),
    )
    run = run_program(done.text, on=True)
    assert run.calls.count("initialize") == 1
    assert run.calls[-1] == "finalize"


def test_mpi_order(rewrite: Callable[..., Any], run_program: RunProgram, monkeypatch: pytest.MonkeyPatch) -> None:
    for source in (
        """
        from mpi4py import MPI
        def work():
            for x in "a": print(x)
        if __name__ == "__main__":
            MPI.Init()
            work()
            MPI.Finalize()
        """,
        """
        from mpi4py import MPI
        def work():
            for x in "a": print(x)
        def main():
            MPI.Init()
            work()
            MPI.Finalize()
        if __name__ == "__main__":
            main()
        """,
    ):
        done = rewrite(source)
        order: list[str] = []
        mpi = ModuleType("mpi4py.MPI")
        package = ModuleType("mpi4py")
        vars(package)["MPI"] = mpi
        monkeypatch.setitem(sys.modules, "mpi4py", package)
        text = done.text.replace("    for x in", "    ORDER.append('work')\n    for x in")
        tracer_calls: list[list[str]] = []

        def note(what: str, calls: list[list[str]] = tracer_calls, into: list[str] = order) -> Callable[[], None]:
            return lambda: into.append(what)

        vars(mpi).update(Init=note("MPI.Init"), Finalize=note("MPI.Finalize"))
        monkeypatch.setattr(builtins, "ORDER", order, raising=False)
        text = text.replace("_dft_log = dftracer", "ORDER.append('initialize'); _dft_log = dftracer")
        text = text.replace(
            "dftracer.get_instance().finalize()", "ORDER.append('finalize'); dftracer.get_instance().finalize()"
        )
        run_program(text, on=True)
        assert order == ["MPI.Init", "initialize", "work", "finalize", "MPI.Finalize"]


# --- for real ---------------------------------------------------------------------------------------------------------

REAL = """
import os, sys

def save(path):
    for part in "abc":
        print(path, part)

if __name__ == "__main__":
    save("x")
    if len(sys.argv) > 1: sys.exit(int(sys.argv[1]))
"""


def run_real(
    text: str, folder: Path, *arguments: str, variables: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    (folder / "program.py").write_text(text)
    return run_for_real([sys.executable, "program.py", *arguments], folder, environ=variables)


def test_with_tracing_off_nothing_is_created(rewrite: Callable[..., Any], tmp_path: Path) -> None:
    result = run_real(rewrite(REAL).text, tmp_path, "4")
    assert (result.returncode, result.stdout, result.stderr) == (4, "x a\nx b\nx c\n", "")
    assert [path.name for path in tmp_path.iterdir()] == ["program.py"]


OPENED = """
import os, sys
sys.addaudithook(lambda event, args: print("OPENED", args[0]) if event == "open" and writes(args) else None)
def writes(args):
    here = os.path.dirname(os.path.abspath(str(args[0]))) == os.getcwd()
    return here and (set(str(args[1])) & set("wax+") or (args[2] or 0) & 3)
"""


@pytest.mark.parametrize("mains", [(), ("save",)], ids=["guard", "console-script"])
def test_with_tracing_off_no_file_is_opened_for_writing(
    mains: tuple[str, ...], rewrite: Callable[..., Any], tmp_path: Path
) -> None:
    """So that a working directory that is read-only changes nothing, whoever runs the test."""
    text = rewrite(REAL, mains=mains).text
    assert "initialize_log" in text
    # The watch works: started without asking whether tracing is on, the tracer does open its log.
    careless = run_real(OPENED + text.replace("if DFTRACER_ENABLE", "if True"), tmp_path)
    assert "OPENED" in careless.stdout
    result = run_real(OPENED + text, tmp_path)
    assert (result.returncode, result.stdout, result.stderr) == (0, "x a\nx b\nx c\n", "")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="another user can be taken by root only")
def test_with_tracing_off_in_a_read_only_folder(rewrite: Callable[..., Any], tmp_path: Path) -> None:
    text = rewrite(REAL).text
    drop = (
        "import os; os.setgroups([]); os.setgid(65534); os.setuid(65534)\ntry: open('x', 'w')\nexcept OSError: pass\n"
    )
    (tmp_path / "program.py").write_text("")
    tmp_path.chmod(0o555)
    # The libraries are read before the user changes: this one may not be allowed to.
    libraries = "import dftracer.python\n"
    result = run_real(libraries + drop + text, tmp_path)
    assert (result.returncode, result.stdout, result.stderr) == (0, "x a\nx b\nx c\n", "")
    assert [path.name for path in tmp_path.iterdir()] == ["program.py"]


@pytest.mark.parametrize("ending", ["", "3", "x"], ids=["return", "exit", "exception"])
def test_with_tracing_on_every_end_leaves_a_whole_trace(
    ending: str, rewrite: Callable[..., Any], tmp_path: Path
) -> None:
    import gzip
    import json

    text = rewrite(REAL.replace('    save("x")', '    for _ in range(5): save("x")')).text
    variables = {
        "DFTRACER_ENABLE": "1",
        "DFTRACER_LOG_FILE": str(tmp_path / "trace"),
        "DFTRACER_DATA_DIR": str(tmp_path),
        "DFTRACER_INC_METADATA": "1",
    }
    arguments = [ending] if ending else []
    plain = run_real(REAL.replace('    save("x")', '    for _ in range(5): save("x")'), tmp_path, *arguments)
    result = run_real(text, tmp_path, *arguments, variables=variables)
    assert (result.returncode, result.stdout) == (plain.returncode, plain.stdout)
    (trace,) = tmp_path.glob("*.pfw.gz")
    records = [
        json.loads(line) for line in gzip.decompress(trace.read_bytes()).decode().splitlines() if line[:1] == "{"
    ]
    assert sum(record["name"] == "save" and record.get("cat") == "m" for record in records) == 5
    assert sum(record["name"] == "end" for record in records) == 1
