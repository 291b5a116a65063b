"""What is emitted for each generation of the tracer, run with the releases themselves: one table at the end.

Every release goes into a virtual environment of its own, made once in --folder (a temporary one where none is given).
A small program with each construct is annotated for the release, with and without the shim, and run by the
environment's Python with tracing off and on: it must say the same and end the same, leave no trace when off, and when
on exactly the events that were counted by hand. A release that does not install here is reported as such. Minutes.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dfannotate.analysis.reader import open_traces
from dfannotate.analysis.traces import TraceError
from dfannotate.cli.environment import without_tracer_variables
from dfannotate.vocabulary import DEBUG_LOG, Generation, generation_of

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Release:
    """A release, by the version of its target and what pip is to install. ``alone``: without its dependencies, one of
    which (an indexer of traces) builds on few machines and is not used by the tracer."""

    target: str
    requirements: tuple[str, ...]
    alone: bool = False


UNDECLARED = "typing-extensions"
"""What the tracer's Python half imports, and declares for old Pythons only."""

RELEASES = (
    Release("0.0.6", ("dlio-profiler-py==0.0.6",), alone=True),
    Release("1.0.1", ("pydftracer==1.0.1",), alone=True),
    Release("1.0.5", ("pydftracer==1.0.5",), alone=True),
    Release("1.0.8", ("pydftracer==1.0.8",), alone=True),
    Release("1.0.9", ("pydftracer==1.0.9",), alone=True),
    Release("1.0.11", ("pydftracer==1.0.11",), alone=True),
    Release("2.0.2", ("dftracer==2.0.2", "pydftracer==2.0.2", UNDECLARED)),
    Release("2.0.3", ("dftracer==2.0.3", "pydftracer==2.0.3", UNDECLARED)),
    Release("2.1.0", ("dftracer==2.1.0", "pydftracer==2.0.4", UNDECLARED)),
    Release("2.1.1.post45", ("dftracer==2.1.1.post45", "pydftracer==2.0.5", UNDECLARED)),
    Release("2.2.0", ("dftracer==2.2.0", "pydftracer==2.0.6", UNDECLARED)),
)

GUARD = '''\
"""Every construct that is annotated, and a guard."""
from functools import cached_property


def plain(n, size=(2, 3), epoch=None):
    total = 0
    for i in range(n):
        total += i
    return total


def fails(n):
    for i in range(n):
        if i == 2:
            raise KeyError(i)


class Base:
    step = None

    def __init__(self, path, image_size=(224, 224)):
        self.path, self.image_size = path, image_size

    @property
    def name(self):
        return "".join(sorted(self.path))

    @cached_property
    def once(self):
        return [len(self.path) for _ in range(3)]

    @staticmethod
    def fixed(n):
        return [plain(1) for _ in range(n)]

    @classmethod
    def make(cls, path):
        return cls(path)


class Model(Base):
    def step(self, n):
        return sum(range(n)) + plain(n)


def push(n):
    if n > 1:
        raise ValueError(f"more than one: \\"{n}\\"")
    return n


def simulated(now, took):
    return now + took


async def wait(n):
    return [plain(i) for i in range(n)]


def main():
    import asyncio

    model = Model.make("weights")
    out = [plain(5, epoch=None), model.step(4), model.name, model.once, model.once, Base.fixed(2), asyncio.run(wait(3))]
    out += [push(0), push(1), simulated(1.5, 0.25), simulated(1.75, 0.5)]
    try:
        push(2)
    except ValueError as error:
        out.append(repr(error))
    try:
        fails(5)
    except KeyError as error:
        out.append(repr(error))
    print(out)


if __name__ == "__main__":
    main()
'''

EVENTS = """
[[tool.dfannotate.events]]
file = "guard.py"
function = "push"
outcome = true
int = ["size=n", "large=n + 2 ** 40"]
string = ["text=repr('a')"]

[[tool.dfannotate.events]]
file = "guard.py"
function = "simulated"
start = "now"
duration = "took"
float = ["half=took / 2"]
"""
"""Two functions of the program as manual events."""

SCRIPT = """\
def twice(n):
    return [n for _ in range(2)]


for number in range(6):
    print(twice(number))
"""


@dataclass(frozen=True)
class Program:
    """A file, and its events by hand. A decorated function that raises leaves none; the two that have no frame of
    their own for the tracer, regions, leave one whatever happens."""

    name: str
    text: str
    events: Mapping[str, int]
    entry: bool = False
    configuration: str = ""


PROGRAMS = (
    Program(
        "guard",
        GUARD,
        {
            "main": 1,
            "plain": 1 + 1 + 2 + 3,
            "Base.__init__": 1,
            "Base.make": 1,
            "Model.step": 1,
            "name": 1,
            "once": 1,
            "fixed": 1,
            "wait": 1,
            "push": 3,
            "simulated": 2,
        },
        configuration=EVENTS,
    ),
    Program("script", SCRIPT, {"twice": 6}, entry=True),
)


@dataclass(frozen=True)
class Outcome:
    """One way of running a program: what went wrong, and how many events were right."""

    faults: tuple[str, ...]
    events: int = 0


@dataclass
class Row:
    release: Release
    python: str = ""
    note: str = ""
    outcomes: dict[str, Outcome] = field(default_factory=dict)


def python_of(release: Release, folder: Path) -> Path | None:
    """The Python that has the release, None where it does not install here."""
    home = folder / release.target
    python = home / "bin" / "python"
    if not (home / "ready").exists():
        base = Path(sys.base_prefix) / "bin" / f"python{sys.version_info[0]}.{sys.version_info[1]}"
        subprocess.run([base, "-m", "venv", "--clear", home], check=True)
        pip = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--only-binary=:all:"]
        if release.alone:
            pip.append("--no-deps")
        done = subprocess.run([*pip, *release.requirements], capture_output=True, text=True, check=False)
        if done.returncode:
            return None
        (home / "ready").touch()
    return python


def environment(generation: Generation, traces: Path | None) -> dict[str, str]:
    """The variables of a run: those that the generation reads, tracing on where ``traces`` is given."""
    prefix = generation.enabled.removesuffix("ENABLE")
    environ = without_tracer_variables(os.environ)
    environ |= {"PYTHONDONTWRITEBYTECODE": "1", generation.enabled: "0" if traces is None else "1"}
    if traces is not None:
        environ |= {f"{prefix}LOG_FILE": str(traces / "trace"), f"{prefix}DATA_DIR": str(traces / "none")}
        environ |= {f"{prefix}INC_METADATA": "1", f"{prefix}INIT": "FUNCTION"}
    return environ


def run(python: Path, file: Path, generation: Generation, traces: Path | None) -> subprocess.CompletedProcess[str]:
    command = [str(python), file.name]
    environ = environment(generation, traces)
    return subprocess.run(command, cwd=file.parent, env=environ, capture_output=True, text=True, check=False)


def try_program(program: Program, release: Release, python: Path, shim: bool, folder: Path) -> dict[str, Outcome]:
    """The program annotated for the release, run off and on: what went wrong, by ``off`` and ``on``."""
    generation = generation_of(release.target)
    assert generation is not None, release.target
    folder.mkdir(parents=True)
    (folder / "pyproject.toml").write_text(f"[tool.dfannotate]\nshim = {str(shim).lower()}\n{program.configuration}")
    file = folder / f"{program.name}.py"
    file.write_text(program.text)
    plain = run(python, file, generation, None)
    assert plain.returncode == 0, plain.stderr
    command = [sys.executable, "-m", "dfannotate", "apply", "--functions", "all", "--target", release.target, "--quiet"]
    command += ["--entry", str(file)] if program.entry else []
    applied = subprocess.run([*command, str(folder)], capture_output=True, text=True, check=False)
    if applied.returncode:
        return {"off": Outcome((f"apply: {applied.stderr.strip()}",))}
    before = {path.name for path in folder.iterdir()}
    outcomes = {}
    for name in ("off", "on"):
        traces = folder / "traces" if name == "on" else None
        if traces:
            traces.mkdir()
        done = run(python, file, generation, traces)
        faults = []
        if (done.returncode, done.stdout) != (plain.returncode, plain.stdout):
            said = done.stderr.strip().splitlines()[-1:]
            faults.append(f"exit code {done.returncode}, {done.stdout.strip()!r}, {said}")
        events = 0
        if traces is None:
            left = {path.name for path in folder.iterdir()} - before
            faults += [f"left {', '.join(sorted(left))}"] if left else []
            faults += [f"stderr {done.stderr.strip()[-300:]!r}"] if done.stderr else []
        else:
            counted: Counter[str] = Counter()
            try:
                for total in open_traces(traces).totals():
                    if total.category == program.name:
                        counted[total.name] += total.count
            except TraceError as error:
                faults.append(str(error).partition(":")[2].strip())
            expected = Counter(program.events)
            events = (counted & expected).total()
            if counted != expected:
                faults.append(f"missing {dict(expected - counted)}, not expected {dict(counted - expected)}")
        outcomes[name] = Outcome(tuple(faults), events)
        for leftover in ("dlp.log", DEBUG_LOG):
            (folder / leftover).unlink(missing_ok=True)
    return outcomes


def try_release(release: Release, folder: Path, work: Path) -> Row:
    python = python_of(release, folder)
    if python is None:
        return Row(release, note="does not install here")
    version = subprocess.run([python, "-V"], capture_output=True, text=True, check=True).stdout.split()[1]
    row = Row(release, version)
    for shim in (False, True):
        for program in PROGRAMS:
            outcomes = try_program(program, release, python, shim, work / f"{program.name}-{shim}")
            row.outcomes |= {f"{program.name}{', shim' if shim else ''}, {n}": o for n, o in outcomes.items()}
    return row


def show(rows: list[Row]) -> None:
    """The table, in Markdown, and the faults below it."""
    columns = list(dict.fromkeys(name for row in rows for name in row.outcomes))
    print(f"| packages | Python | {' | '.join(columns)} |")
    print(f"| --- | --- |{' --- |' * len(columns)}")
    for row in rows:
        cells = []
        for name in columns:
            outcome = row.outcomes.get(name)
            events = f", {outcome.events} events" if outcome and name.endswith(" on") else ""
            cells.append(row.note if outcome is None else f"{'FAULT' if outcome.faults else 'same'}{events}")
        print(f"| {' '.join(row.release.requirements[:2])} | {row.python} | {' | '.join(cells)} |")
    for row in rows:
        for name, outcome in row.outcomes.items():
            for fault in outcome.faults:
                print(f"FAULT {row.release.target} ({name}): {fault}")


def main() -> int:
    parser = argparse.ArgumentParser(description="Run what is emitted for each generation of the tracer.")
    parser.add_argument("targets", nargs="*", help="versions; default: all that are known to install somewhere")
    parser.add_argument("--folder", type=Path, help="where the virtual environments are kept")
    given = parser.parse_args()
    releases = [release for release in RELEASES if not given.targets or release.target in given.targets]
    with tempfile.TemporaryDirectory() as temporary:
        rows = []
        for release in releases:
            print(f"trying {release.target}", file=sys.stderr, flush=True)
            work = Path(temporary) / "work" / release.target.replace(".", "-")  # 2.0 cuts a file's name at the last dot
            rows.append(try_release(release, (given.folder or Path(temporary)).resolve(), work))
    show(rows)
    return 1 if any(outcome.faults for row in rows for outcome in row.outcomes.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
