"""``dfannotate event``, ``[[tool.dfannotate.events]]`` and categories by role, as a user sees them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

SIM = """\
import os


class Machine:
    def work(self, env, parts):
        begun = env.now
        for part in parts:
            yield env.timeout(part)
        total = len(parts)

    def size(self, path):
        return os.path.getsize(path)


def list_all(path):
    return [os.path.getsize(name) for name in os.listdir(path)]
"""
CLOCK = ("--function", "Machine.work", "--start", "begun", "--duration", "env.now - begun")
OUTCOME = ("--function", "Machine.size", "--outcome")
EMPTY = {"pyproject.toml": ""}


def entry_of(root: Path, path: str = "sim.py") -> dict[str, Any]:
    document = json.loads((root / ".dfannotate/manifest.json").read_text())
    [entry] = [entry for entry in document["files"] if entry["path"] == path]
    assert isinstance(entry, dict)
    return entry


def kinds(root: Path) -> dict[str, str]:
    return {site["function"]: site["kind"] for site in entry_of(root)["sites"]}


# --- the command ------------------------------------------------------------------------------------------------------


def test_one_function_of_a_file_that_was_not_annotated(write_tree: Any, run_cli: Any) -> None:
    root = write_tree({**EMPTY, "sim.py": SIM})
    result = run_cli("event", root / "sim.py", *CLOCK, "--name", "work", "--category", "sim", "--int", "n=total")
    assert (result.code, result.err.count("\n")) == (0, 1)
    assert "sim.py:" in result.out
    assert result.out.endswith(": Machine.work is logged now as sim:work\n")
    assert "dfannotate apply" in result.err
    [site] = entry_of(root)["sites"]
    text = (root / "sim.py").read_text()
    assert "def work(" in text.splitlines()[site["line"] - 1]
    assert site == {**site, "kind": "event", "function": "Machine.work", "event": "work", "category": "sim"}
    assert "@_dft" not in text


def test_again_changes_nothing_and_otherwise_replaces(write_tree: Any, run_cli: Any) -> None:
    root = write_tree({**EMPTY, "sim.py": SIM})
    run_cli("event", root / "sim.py", *CLOCK)
    once = (root / "sim.py").read_bytes()
    again = run_cli("event", root / "sim.py", *CLOCK)
    assert (again.code, (root / "sim.py").read_bytes()) == (0, once)
    assert "is logged already as sim:Machine.work" in again.out
    assert run_cli("event", root / "sim.py", *CLOCK, "--unit", "ms").code == 0
    assert '"Machine.work", "sim", 1000)' in (root / "sim.py").read_text()
    assert run_cli("event", root / "sim.py", *OUTCOME).code == 0
    assert kinds(root) == {"Machine.work": "event", "Machine.size": "event"}
    assert run_cli("revert", root).code == 0
    assert (root / "sim.py").read_text() == SIM


@pytest.mark.parametrize("functions", ["worthwhile", "all"])
@pytest.mark.parametrize("category", ["module", "role", "mine"])
def test_after_apply_the_rest_stays_and_a_later_apply_keeps_it(
    functions: str, category: str, write_tree: Any, run_cli: Any
) -> None:
    flags = ("--functions", functions, "--category", category)
    root = write_tree({**EMPTY, "sim.py": SIM, "other.py": "from sim import Machine\n\nMachine().step = 3\n"})
    assert run_cli("apply", root, *flags).code == 0
    before = {site["function"]: site for site in entry_of(root)["sites"]}
    assert run_cli("event", root / "sim.py", *OUTCOME).code == 0
    after = {site["function"]: site for site in entry_of(root)["sites"]}
    assert after.pop("Machine.size")["kind"] == "event"
    del before["Machine.size"]
    assert {name: (site["kind"], site["category"]) for name, site in after.items()} == {
        name: (site["kind"], site["category"]) for name, site in before.items()
    }
    text = (root / "sim.py").read_bytes()
    result = run_cli("apply", root, *flags)
    assert (result.code, (root / "sim.py").read_bytes()) == (0, text)
    assert run_cli("revert", root).code == 0
    assert (root / "sim.py").read_text() == SIM
    assert run_cli("apply", root, *flags).code == 0
    assert "event" not in kinds(root).values()


def test_an_apply_after_an_event_adds_the_rest(write_tree: Any, run_cli: Any) -> None:
    root = write_tree({**EMPTY, "sim.py": SIM})
    run_cli("event", root / "sim.py", *OUTCOME)
    assert run_cli("apply", root).code == 0
    assert kinds(root) == {"Machine.size": "event", "list_all": "decorator"}
    assert all(skip["function"] != "Machine.size" for skip in entry_of(root)["skipped"])


def test_edits_of_the_user_s_stay(write_tree: Any, run_cli: Any) -> None:
    root = write_tree({**EMPTY, "sim.py": SIM})
    run_cli("apply", root)
    run_cli("event", root / "sim.py", *CLOCK)
    text = (root / "sim.py").read_text() + "\n\nMINE = 1\n"
    (root / "sim.py").write_text(text)
    assert run_cli("event", root / "sim.py", *OUTCOME).code == 0
    assert kinds(root) == {"Machine.work": "event", "Machine.size": "event", "list_all": "decorator"}
    assert run_cli("revert", root).code == 0
    assert (root / "sim.py").read_text() == f"{SIM}\n\nMINE = 1\n"


def test_check_and_diff_write_nothing(write_tree: Any, run_cli: Any) -> None:
    root = write_tree({**EMPTY, "sim.py": SIM})
    check = run_cli("event", root / "sim.py", *OUTCOME, "--check")
    assert (check.code, "Machine.size would be logged as sim:Machine.size" in check.out) == (1, True)
    diff = run_cli("event", root / "sim.py", *OUTCOME, "--diff")
    assert (diff.code, "+        except BaseException as _dft_error:" in diff.out) == (0, True)
    assert (root / "sim.py").read_text() == SIM
    assert not (root / ".dfannotate").exists()


def test_json(write_tree: Any, run_cli: Any) -> None:
    root = write_tree({**EMPTY, "sim.py": SIM})
    document = json.loads(run_cli("event", root / "sim.py", *OUTCOME, "--format", "json").out)
    assert document["ok"] is True
    assert document["changed"] == ["sim.py"]
    assert document["files"][0]["sites"][0]["kind"] == "event"
    assert "events" not in document["files"][0]


def test_uncommitted_changes_are_respected(write_tree: Any, run_cli: Any, git: Any) -> None:
    root = write_tree({**EMPTY, "sim.py": SIM})
    git("init", "-q")
    refused = run_cli("event", root / "sim.py", *OUTCOME)
    assert (refused.code, "--allow-dirty" in refused.err, (root / "sim.py").read_text() == SIM) == (2, True, True)
    assert run_cli("event", root / "sim.py", *OUTCOME, "--allow-dirty").code == 0


REFUSED: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "no-function": (("--function", "Machine.wrok", "--outcome"), ("sim.py: no function Machine.wrok", "Machine.work")),
    "unknown-name": (
        ("--function", "Machine.size", "--outcome", "--int", "n=len(pth)"),
        ("sim.py:11:", "Machine.size has no name pth (--int n 'len(pth)')", "did you mean path?"),
    ),
    "unknown-name-in-start": (
        ("--function", "Machine.work", "--start", "clock", "--duration", "1"),
        ("sim.py:5:", "Machine.work has no name clock (--start 'clock')"),
    ),
    "syntax": (("--function", "Machine.size", "--outcome", "--string", "s='"), ("sim.py:11:", "no Python expression")),
    "no-kind": (("--function", "Machine.size"), ("needs start and duration", "outcome")),
    "start-alone": (("--function", "Machine.work", "--start", "begun"), ("needs start and duration",)),
    "both-kinds": ((*CLOCK, "--outcome"), ("either start and duration", "or outcome")),
    "no-key": (("--function", "Machine.size", "--outcome", "--int", "path"), ("'path': KEY=EXPR is expected",)),
    "no-expression": (("--function", "Machine.size", "--outcome", "--int", "n= "), ("KEY=EXPR is expected",)),
    "hhash": ((*CLOCK, "--string", "hhash=self"), ("'hhash': the tracer's own; the node of a simulation is mhost",)),
    "tid": ((*CLOCK, "--int", "tid=1"), ("'tid': the tracer's own",)),
    "error": ((*OUTCOME, "--string", "error=path"), ("'error': ",)),
    "quote-in-key": ((*OUTCOME, "--string", 'a"b=path'), ("quotes, backslashes",)),
    "twice": ((*OUTCOME, "--int", "n=1", "--float", "n=2"), ("'n': given twice",)),
    "unit": ((*CLOCK, "--unit", "min"), ("Invalid value for '--unit'",)),
    "category": ((*OUTCOME, "--category", 'a"b'), ("would break the trace",)),
    "name": ((*OUTCOME, "--name", "a\nb"), ("printable characters",)),
    "no-flag": ((), ("Missing option '--function'",)),
}


@pytest.mark.parametrize(("flags", "parts"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(flags: tuple[str, ...], parts: tuple[str, ...], write_tree: Any, run_cli: Any) -> None:
    root = write_tree({**EMPTY, "sim.py": SIM})
    result = run_cli("event", root / "sim.py", *flags)
    assert (result.code, result.out) == (2, "")
    assert all(part in result.err for part in parts), result.err
    assert (root / "sim.py").read_text() == SIM
    assert not (root / ".dfannotate/manifest.json").exists()


@pytest.mark.parametrize("name", ["gone.py", ".", "broken.py"])
def test_files_that_cannot_be_annotated(name: str, write_tree: Any, run_cli: Any) -> None:
    root = write_tree({**EMPTY, "broken.py": "def f(:\n"})
    result = run_cli("event", root / name, "--function", "f", "--outcome")
    assert (result.code, result.out) == (2, "")
    assert Path(root / name).name in result.err
    assert "Traceback" not in result.err


# --- configuration ----------------------------------------------------------------------------------------------------

EVENT = """
[[tool.dfannotate.events]]
file = "sim.py"
function = "Machine.work"
name = "work"
category = "sim"
start = "begun"
duration = "env.now - begun"
unit = "us"
int = ["n=total", "m=len(parts)"]
float = { half = "total / 2" }
string = { mhost = "self" }
"""


def test_configured_events_are_put_in_by_apply(write_tree: Any, run_cli: Any) -> None:
    root = write_tree({"pyproject.toml": EVENT, "sim.py": SIM})
    assert run_cli("apply", root).code == 0
    text = (root / "sim.py").read_text()
    for part in ('"work", "sim", 1000000)', '"n", total)', '"m", len(parts))', '"half", total / 2)', '"mhost", self)'):
        assert part in text
    assert kinds(root)["Machine.work"] == "event"
    assert run_cli("apply", root, "--check").code == 0
    # What leaves the configuration leaves the file.
    (root / "pyproject.toml").write_text("")
    assert run_cli("apply", root).code == 0
    assert "Machine.work" not in kinds(root)


def test_the_command_goes_before_the_configuration(write_tree: Any, run_cli: Any) -> None:
    root = write_tree({"pyproject.toml": EVENT, "sim.py": SIM})
    run_cli("apply", root)
    assert run_cli("event", root / "sim.py", *CLOCK, "--name", "other").code == 0
    run_cli("apply", root)
    assert '"other"' in (root / "sim.py").read_text()
    assert '"work"' not in (root / "sim.py").read_text()


BAD_EVENTS = {
    "unknown-key": (EVENT + 'strat = "1"\n', "events: Machine.work: unknown key 'strat' in [[tool.dfannotate.events]]"),
    "no-file": (EVENT.replace('file = "sim.py"\n', ""), "events: Machine.work: needs a 'file'"),
    "no-function": (EVENT.replace('function = "Machine.work"\n', ""), "events: number 1: needs a 'function'"),
    "no-such-file": (EVENT.replace("sim.py", "gone.py"), "gone.py: no such file"),
    "no-such-function": (EVENT.replace("Machine.work", "work"), "no function work; did you mean Machine.work?"),
    "unknown-name": (EVENT.replace("total / 2", "totl / 2"), "sim.py:5:1: Machine.work has no name totl"),
    "no-duration": (EVENT.replace('duration = "env.now - begun"\n', ""), "needs start and duration"),
    "outcome-too": (EVENT + "outcome = true\n", "either start and duration"),
    "unit": (EVENT.replace('"us"', '"min"'), "unit: 'min' is none of ns, us, ms, s"),
    "wrong-type": (EVENT.replace('["n=total", "m=len(parts)"]', "3"), "int: must be a list of strings or a table"),
    "not-tables": ("[tool.dfannotate]\nevents = 3\n", "must be a list of tables"),
    "twice": (EVENT + EVENT, "Machine.work: named twice for sim.py"),
    "categories": ("[tool.dfannotate]\ncategories = 3\n", "must be a table of patterns with categories"),
    "category": ("[tool.dfannotate.categories]\nx = 'a\"b'\n", "would break the trace"),
}


@pytest.mark.parametrize(("text", "message"), BAD_EVENTS.values(), ids=BAD_EVENTS.keys())
def test_bad_configuration(text: str, message: str, write_tree: Any, run_cli: Any, monkeypatch: Any) -> None:
    root = write_tree({"pyproject.toml": text, "sim.py": SIM})
    monkeypatch.chdir(root)
    result = run_cli("apply", ".")
    assert (result.code, message in result.err) == (2, True), result.err
    assert (root / "sim.py").read_text() == SIM


def test_an_event_in_a_file_that_is_left_out_is_told(write_tree: Any, run_cli: Any) -> None:
    config = EVENT.replace("sim.py", "tests/sim.py")
    root = write_tree({"pyproject.toml": config, "tests/sim.py": SIM, "a.py": SIM})
    result = run_cli("apply", root)
    assert (result.code, "sim.py: left out (test), so Machine.work is not logged: name the file" in result.err) == (
        0,
        True,
    )
    assert "left out (" not in run_cli("apply", root / "a.py").err
    assert run_cli("apply", root / "tests/sim.py").code == 0
    assert '"work", "sim"' in (root / "tests/sim.py").read_text()


def test_a_file_whose_event_is_wrong_does_not_stop_the_others(write_tree: Any, run_cli: Any) -> None:
    root = write_tree({"pyproject.toml": EVENT.replace("total / 2", "totl"), "sim.py": SIM, "b.py": SIM})
    assert run_cli("apply", root).code == 2
    assert (root / "sim.py").read_text() == SIM
    assert (root / "b.py").read_text() != SIM


# --- categories -------------------------------------------------------------------------------------------------------

DATA = """\
import json


def load(path):
    with open(path) as stream:
        return preprocess(json.load(stream))


def preprocess(values):
    for value in values:
        yield_to(value)
    return values


def arrange(values):
    for value in values:
        print(value)
"""


def test_one_instance_a_role_and_the_file_for_the_rest(write_tree: Any, run_cli: Any) -> None:
    root = write_tree({**EMPTY, "data.py": DATA})
    assert run_cli("apply", root, "--category", "role").code == 0
    entry = entry_of(root, "data.py")
    categories = {site["function"]: site["category"] for site in entry["sites"]}
    # A function of data.py whose role is unknown must not pass for one that has to do with data.
    assert categories == {"load": "io", "preprocess": "data", "arrange": "data.py"}
    text = (root / "data.py").read_text()
    for line in ('_dft = DFTracerFn("data.py")', '_dft_data = DFTracerFn("data")', '_dft_io = DFTracerFn("io")'):
        assert text.count(f"{line}\n") == 1
    assert run_cli("apply", root, "--category", "role", "--check").code == 0
    (root / "data.py").write_text(f"{text}\n\nMINE = 1\n")
    assert run_cli("revert", root).code == 0
    assert (root / "data.py").read_text() == f"{DATA}\n\nMINE = 1\n"


def test_names_of_the_program_s_own_are_left_to_it(write_tree: Any, run_cli: Any) -> None:
    root = write_tree({**EMPTY, "m.py": f"_dft_io = _dft_data = 3\n{DATA}"})
    assert run_cli("apply", root, "--category", "role").code == 0
    text = (root / "m.py").read_text()
    assert '_dft_io_ = DFTracerFn("io")' in text
    assert '_dft_data_ = DFTracerFn("data")' in text
    assert "@_dft_io_.log\n" in text


@pytest.mark.parametrize("category", ["module", "role"])
def test_patterns_go_first(category: str, write_tree: Any, run_cli: Any) -> None:
    config = '[tool.dfannotate.categories]\n"data.py::pre*" = "early log"\n"data.load" = "log"\n'
    root = write_tree({"pyproject.toml": config, "data.py": DATA})
    assert run_cli("apply", root, "--category", category).code == 0
    categories = {site["function"]: site["category"] for site in entry_of(root, "data.py")["sites"]}
    rest = "data.py" if category == "role" else "data"
    assert categories == {"load": "log", "preprocess": "early log", "arrange": rest}
    text = (root / "data.py").read_text()
    assert '_dft_early_log = DFTracerFn("early log")' in text
    assert '_dft_log_ = DFTracerFn("log")' in text  # ``_dft_log`` is what tracing is started with
    assert run_cli("revert", root).code == 0
    assert (root / "data.py").read_text() == DATA


def test_an_instance_of_the_program_s_own_keeps_its_category(write_tree: Any, run_cli: Any) -> None:
    own = 'from dftracer.python import dftracer, dft_fn\n\nmine = dft_fn("own")\n' + DATA
    root = write_tree({**EMPTY, "m.py": own})
    assert run_cli("apply", root, "--category", "role").code == 0
    categories = {site["function"]: site["category"] for site in entry_of(root, "m.py")["sites"]}
    assert categories == {"load": "io", "preprocess": "data", "arrange": "own"}
    text = (root / "m.py").read_text()
    assert "@mine.log\ndef arrange" in text
    assert run_cli("revert", root).code == 0
    assert (root / "m.py").read_text() == own
