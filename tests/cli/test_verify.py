"""``verify`` as a user meets it: output, exit codes, messages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from dfannotate.analysis import discover
from dfannotate.cli.show import UserError
from dfannotate.cli.verify import verify
from dfannotate.manifest import FileEntry, Manifest, ManifestError, Site, save
from tests.conftest import REAL_TRACES, TRACES, RealTrace

CHECKS = [check.id for check in discover()]
APP = Manifest(
    "2.2.0",
    (
        FileEntry(
            "app.py",
            "app",
            True,
            "",
            "",
            (
                Site("decorator", "Samples.__getitem__", "Samples.__getitem__", "IO", 34),
                Site("decorator", "augment", "augment", "IO", 40),
                Site("decorator", "train_step", "train_step", "COMPUTE", 45),
                Site("lifecycle", "main", "", "", 110),
            ),
        ),
    ),
)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a project of its own, without a manifest."""
    (tmp_path / "pyproject.toml").touch()
    monkeypatch.chdir(tmp_path)


def verify_json(
    capsys: pytest.CaptureFixture[str], folder: Path, *, manifest: Path | None = None, expect: Sequence[str] = ()
) -> tuple[int, dict[str, Any]]:
    code = verify(folder, manifest=manifest, expect=expect, output="json", quiet=False)
    captured = capsys.readouterr()
    assert captured.err == ""
    result: dict[str, Any] = json.loads(captured.out)
    return code, result


def test_the_json_is_the_contract_s(real_trace: RealTrace, capsys: pytest.CaptureFixture[str]) -> None:
    code, result = verify_json(capsys, real_trace.folder)
    assert list(result) == ["ok", "checks", "processes", "events"]
    assert [check["id"] for check in result["checks"]] == CHECKS
    for check in result["checks"]:
        assert list(check) == ["id", "status", "message", "details"]
        assert check["status"] in {"pass", "fail", "warn", "skip"}
        assert check["message"]
    for process in result["processes"]:
        assert list(process) == ["pid", "ppid", "host", "role", "file", "bytes", "events", "finalized"]
        assert process["role"] in {"main", "worker", "rank"}
    for event in result["events"]:
        assert list(event) == ["category", "name", "count", "total_us", "processes"]
    assert {check["id"] for check in result["checks"] if check["status"] == "fail"} == real_trace.checks_failed
    assert code == (1 if real_trace.checks_failed else 0)
    assert result["ok"] == (code == 0)


@pytest.mark.parametrize("trace", [pytest.param(trace, id=trace.name) for trace in REAL_TRACES if trace.checks_failed])
def test_what_is_broken_is_never_ok_with_a_manifest_either(
    trace: RealTrace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save(APP, tmp_path / "manifest.json")
    code, result = verify_json(capsys, trace.folder, manifest=tmp_path / "manifest.json")
    assert (code, result["ok"]) == (1, False)


def test_the_manifest_of_the_project_is_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save(APP, tmp_path / ".dfannotate" / "manifest.json")
    _, result = verify_json(capsys, TRACES / "fork")
    coverage = result["checks"][CHECKS.index("coverage")]
    assert coverage["status"] == "pass"
    assert coverage["details"]["annotated"] == 3


def test_expectations_decide(capsys: pytest.CaptureFixture[str]) -> None:
    right, wrong = "COMPUTE:train_step=8", "COMPUTE:train_step=9"
    assert verify_json(capsys, TRACES / "fork", expect=[right])[0] == 0
    code, result = verify_json(capsys, TRACES / "fork", expect=[right, wrong])
    assert code == 1
    assert result["checks"][CHECKS.index("counts")]["message"] == "COMPUTE:train_step=9: 8"


@pytest.mark.parametrize(
    ("tree", "arguments", "says"),
    [
        pytest.param({}, {"trace_dir": "nowhere"}, "no such folder", id="no-folder"),
        pytest.param({"traces/": b""}, {"trace_dir": "traces"}, "nothing was traced", id="empty-folder"),
        pytest.param({"traces/notes.txt": b"x"}, {"trace_dir": "traces"}, "nothing was traced", id="no-trace-in-it"),
        pytest.param({}, {"expect": ["f=3"]}, "CATEGORY:NAME=N", id="expectation"),
        pytest.param({}, {"manifest": "gone.json"}, "no such manifest", id="no-manifest"),
        pytest.param({"m.json": b"{"}, {"manifest": "m.json"}, "m.json: not JSON", id="manifest-not-json"),
        pytest.param({"m.json": b"[]"}, {"manifest": "m.json"}, "m.json: not a manifest", id="manifest-of-other-kind"),
        pytest.param({"m.json": b'{"version":9}'}, {"manifest": "m.json"}, "version 9", id="manifest-version"),
        pytest.param(
            {".dfannotate/manifest.json": b"{"}, {}, "manifest.json: not JSON", id="broken-manifest-of-the-project"
        ),
    ],
)
def test_what_cannot_be_done_says_why(
    tmp_path: Path,
    tree: dict[str, bytes],
    arguments: dict[str, Any],
    says: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, data in tree.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith("/"):
            path.mkdir()
        else:
            path.write_bytes(data)
    folder = Path(arguments.get("trace_dir", TRACES / "fork"))
    manifest = Path(arguments["manifest"]) if "manifest" in arguments else None
    # `main` turns both into a message and exit code 2
    with pytest.raises((UserError, ManifestError), match=says):
        verify(folder, manifest=manifest, expect=arguments.get("expect", ()), output="text", quiet=False)
    assert capsys.readouterr().out == ""


def test_the_command_line_answers_with_exit_codes(run_cli: Any, tmp_path: Path) -> None:
    assert run_cli("verify", TRACES / "fork").code == 0
    assert run_cli("verify", TRACES / "no-finalize").code == 1
    missing = run_cli("verify", tmp_path / "nowhere")
    assert missing.code == 2
    assert missing.out == ""
    assert "no such folder" in missing.err
    assert "Traceback" not in missing.err


def test_an_unreadable_file_is_told_and_the_others_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = next((TRACES / "plain-text").glob("*.pfw")).read_bytes()
    (tmp_path / "a.pfw").write_bytes(data)
    (tmp_path / "b.pfw").symlink_to(tmp_path / "gone")
    code, result = verify_json(capsys, tmp_path)
    assert code == 2
    assert result["ok"] is False
    assert result["events"][0]["count"] == 10
    assert "b.pfw: a link to something that is not there" in result["checks"][0]["message"]


def test_text_is_plain_outside_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert verify(TRACES / "spawn-broken", manifest=None, expect=(), output="text", quiet=False) == 1
    captured = capsys.readouterr()
    assert captured.err == ""
    assert "\x1b" not in captured.out
    assert all(line.isprintable() for line in captured.out.splitlines())
    rows = [line.split() for line in captured.out.splitlines()]
    assert ["10785", "10782", "vm", "main", "16", "1245", "yes", "run-5d57c87eb9b535f1-app.pfw.gz"] in rows
    assert ["COMPUTE", "train_step", "8"] in [row[:3] for row in rows]
    assert rows[-1] == ["not", "ok:", "integrity,", "finalized,", "workers,", "coverage", "failed"]


def test_quiet_leaves_the_checks(capsys: pytest.CaptureFixture[str]) -> None:
    verify(TRACES / "fork", manifest=None, expect=(), output="text", quiet=True)
    *checks, last = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in checks] == CHECKS
    assert last == "ok"


def test_control_characters_in_names_are_shown_escaped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = json.dumps("red\x1b[31m\r[bold]\u202eend")
    (tmp_path / "run.pfw").write_text(f'{{"name":{name},"cat":"C","pid":1,"ts":5,"dur":1,"ph":1}}\n')
    verify(tmp_path, manifest=None, expect=(), output="text", quiet=False)
    out = capsys.readouterr().out
    assert "red\\x1b[31m\\r[bold]\\u202eend" in out
    assert "\x1b" not in out
    assert "\u202e" not in out


@pytest.mark.parametrize("no_colour", [False, True])
def test_a_terminal_gets_tables_and_colour_unless_told_not_to(
    no_colour: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm-256color")
    if no_colour:
        monkeypatch.setenv("NO_COLOR", "1")
    verify(TRACES / "fork", manifest=None, expect=(), output="text", quiet=True)
    verify(TRACES / "fork", manifest=None, expect=(), output="text", quiet=False)
    out = capsys.readouterr().out
    assert ("\x1b[32mpass" in out) == (not no_colour)
    assert ("\x1b" in out) == (not no_colour)
    assert "Samples.__getitem__" in out
