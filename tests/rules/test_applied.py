"""What ``apply`` writes has no fault: every program and rewrite case of the corpus, in every mode, under all rules."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from dfannotate import manifest as manifests
from dfannotate import vocabulary
from dfannotate.cli.main import main
from dfannotate.rules.engine import mentions
from tests.conftest import DESCRIPTION, PROGRAMS, REWRITES, described

CONFIGURATION = "pyproject.toml"
TABLE = "[tool.dfannotate]"


@dataclass(frozen=True)
class Subject:
    """A program of the corpus, or the file of a rewrite case."""

    name: str
    folder: Path
    start: tuple[str, ...] = ()
    scripts: tuple[str, ...] = ()

    def copy_to(self, folder: Path, settings: str = "", tables: str = "") -> Path:
        """The subject in ``folder``, with more in its configuration: ``settings`` of the tool, and further tables."""
        if self.folder.parent == PROGRAMS:
            shutil.copytree(self.folder, folder, ignore=shutil.ignore_patterns("__pycache__", DESCRIPTION))
        else:
            folder.mkdir()
            shutil.copy(self.folder / "before.py", folder)
        file = folder / CONFIGURATION
        text = file.read_text() if file.exists() else "[project]\nname = 'corpus'\nversion = '1'\n"
        if self.scripts:
            text += "[project.scripts]\n" + "".join(f"run{n} = {entry!r}\n" for n, entry in enumerate(self.scripts))
        if TABLE not in text:
            text += f"\n{TABLE}\n"
        file.write_text(text.replace(f"{TABLE}\n", f"{TABLE}\n{settings}", 1) + tables)
        return folder


def subjects() -> list[Subject]:
    found = []
    for folder in [*sorted(PROGRAMS.iterdir()), *sorted(REWRITES.iterdir())]:
        if folder.is_dir():
            around = described(folder)
            name = folder.name if folder.parent == PROGRAMS else f"case-{folder.name}"
            found.append(Subject(name, folder, tuple(around.get("entry", ())), tuple(around.get("scripts", ()))))
    return found


SUBJECTS = subjects()
MODES = {
    f"{functions}-{category}{'-shim' if shim else ''}": (functions, category, shim)
    for functions in ("worthwhile", "all")
    for category in ("module", "role")
    for shim in (False, True)
    if not shim or (functions, category) in (("worthwhile", "module"), ("all", "role"))
}


def apply(subject: Subject, folder: Path, *flags: str) -> None:
    entries = [word for start in subject.start for word in ("--entry", str(folder / start))]
    assert main(["apply", "--quiet", str(folder), *entries, *flags]) == 0


def found_in(folder: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What all rules find in a folder; nothing else may be said."""
    capsys.readouterr()
    code = main(["lint", "--quiet", "--select", "ALL", "--output-format", "concise", str(folder)])
    out, err = capsys.readouterr()
    assert (code, err) == (int(bool(out)), "")
    return out.splitlines()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
def test_what_apply_writes_has_no_fault(
    subject: Subject, mode: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    functions, category, shim = MODES[mode]
    folder = subject.copy_to(tmp_path / "program", "shim = true\n" if shim else "")
    apply(subject, folder, "--functions", functions, "--category", category)
    assert any(mentions(path.read_bytes()) for path in folder.rglob("*.py"))
    assert found_in(folder, capsys) == []


TARGETS = [".".join(map(str, generation.last)) for generation in vocabulary.GENERATIONS if generation.last]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
def test_what_apply_writes_for_a_release_has_no_fault_for_that_release(
    subject: Subject, target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = subject.copy_to(tmp_path / "program")
    apply(subject, folder, "--target", target, "--functions", "all")
    assert found_in(folder, capsys) == []


NO_EVENTS = {("main.py", "main")}
"""Looks at its own locals: refused."""


def event_tables(folder: Path) -> str:
    """The configuration by which every function that is traced, and has a name of its own, is logged as an event."""
    tables = []
    for entry in manifests.load(folder / ".dfannotate" / "manifest.json").files:
        names = Counter(site.function for site in entry.sites) + Counter(skip.function for skip in entry.skipped)
        alone = [site for site in entry.sites if site.event and names[site.function] == 1]
        for number, site in enumerate(site for site in alone if (entry.path, site.function) not in NO_EVENTS):
            clock = "start = '0.5'\nduration = '1 / 3'" if number % 2 else "outcome = true"
            tables.append(
                f"[[tool.dfannotate.events]]\nfile = {entry.path!r}\nfunction = {site.function!r}\n{clock}\n"
                "int = { one = '1', large = '1 << 40' }\nfloat = ['part=1 / 3']\nstring = { text = 'str(1)' }\n"
            )
    return "\n".join(tables)


@pytest.mark.parametrize("shim", [False, True], ids=["direct", "shim"])
@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
def test_events_have_no_fault(subject: Subject, shim: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    draft = subject.copy_to(tmp_path / "draft")
    apply(subject, draft)
    has_its_own = "[[tool.dfannotate.events]]" in (draft / CONFIGURATION).read_text()
    tables = "" if has_its_own else event_tables(draft)
    assert has_its_own or tables
    folder = subject.copy_to(tmp_path / "program", "shim = true\n" if shim else "", f"\n{tables}")
    apply(subject, folder)
    assert any(".log_event(" in path.read_text("latin-1") for path in folder.rglob("*.py"))
    assert found_in(folder, capsys) == []


@pytest.mark.parametrize("when", ["before", "after"])
def test_an_event_that_is_asked_for_has_no_fault(when: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    subject = next(subject for subject in SUBJECTS if subject.name == "main_guard")
    folder = subject.copy_to(tmp_path / "program")
    asked = ["--function", "convert", "--outcome", "--int", "length=len(folder)", "--string", "broken=broken"]
    steps: list[Callable[[], object]] = [
        lambda: apply(subject, folder),
        lambda: main(["event", "--quiet", str(folder / "convert.py"), *asked]),
    ]
    for step in steps if when == "after" else steps[::-1]:
        step()
    assert ".log_event(" in (folder / "convert.py").read_text()
    assert found_in(folder, capsys) == []


SIMULATION = """\
import simpy


class Link:
    def __init__(self, env: simpy.Environment, path):
        self.env = env
        self.file = open(path)

    def send(self, env: simpy.Environment, size):
        begin = env.now
        self.file.write(str(size))
        yield env.timeout(size)


def replay(sim_time, path):
    with open(path) as file:
        return [sim_time + len(line) for line in file]


def main():
    env = simpy.Environment()
    print(replay(env.now, "log"), Link(env, "log").send(env, 3))
    env.run(until=10)


if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize("functions", ["worthwhile", "all"])
def test_functions_on_a_simulated_clock_are_logged_by_it_or_not_at_all(
    functions: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / CONFIGURATION).write_text(TABLE)
    file = tmp_path / "simulate.py"
    file.write_text(SIMULATION)
    assert main(["apply", "--quiet", str(tmp_path), "--functions", functions]) == 0
    (entry,) = manifests.load(tmp_path / ".dfannotate" / "manifest.json").files
    assert {skip.function: skip.reason for skip in entry.skipped}["replay"] == "simulated-clock"
    assert {site.function for site in entry.sites if site.event} == {"Link.__init__", "main"}
    assert found_in(tmp_path, capsys) == []

    flags = ["--start", "sim_time", "--duration", "1", "--category", "simulation"]
    assert main(["event", "--quiet", str(file), "--function", "replay", *flags]) == 0
    (entry,) = manifests.load(tmp_path / ".dfannotate" / "manifest.json").files
    assert {site.function: site.kind for site in entry.sites if site.event}["replay"] == "event"
    assert found_in(tmp_path, capsys) == []
