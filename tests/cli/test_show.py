"""Output helpers: colour and progress on a terminal only, results that any reader can take."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import pytest

from dfannotate.cli.show import Messages, paint, print_json, printable, progress


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("variables", "colour"),
    [
        ({"TERM": "xterm"}, True),
        ({"TERM": "xterm", "NO_COLOR": ""}, True),  # the convention: set and not empty
        ({"TERM": "xterm", "NO_COLOR": "1"}, False),
        ({"TERM": "dumb"}, False),
    ],
    ids=["terminal", "no-color-empty", "no-color", "dumb"],
)
def test_colour_on_a_terminal(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], colour: bool) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert (paint("no", "red", Terminal()) != "no") is colour
    assert paint("no", "red", io.StringIO()) == "no"


def test_quiet_drops_notes_alone(capsys: pytest.CaptureFixture[str]) -> None:
    for quiet in (False, True):
        messages = Messages(quiet)
        messages.note("note")
        messages.warning("look")
        messages.error("no")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "note\nwarning: look\nerror: no\nwarning: look\nerror: no\n"


def test_json_is_one_object_in_the_order_given(capsys: pytest.CaptureFixture[str]) -> None:
    value = {"b": 1, "a": {"path": "größe\udcff.py"}}
    print_json(value)
    out = capsys.readouterr().out
    assert out.isascii()
    assert json.loads(out) == value
    assert list(json.loads(out)) == ["b", "a"]


def test_progress_is_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    for quiet, total in ((True, 3), (False, 0)):
        with progress("reading", total, quiet=quiet) as advance:
            advance(1)
        assert terminal.getvalue() == ""
    with progress("reading", 3) as advance:
        advance(3)
    assert "reading" in terminal.getvalue()


def test_without_a_terminal_rich_is_not_imported() -> None:
    code = (
        "import sys; from dfannotate.cli.show import progress\n"
        "with progress('reading', 3) as advance: advance(3)\n"
        "sys.exit('rich' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("train.step: 5 µs … 完", "train.step: 5 µs … 完", id="plain"),
        pytest.param("a\nb\r\tc", r"a\nb\r\tc", id="line-ends"),
        pytest.param("\x1b]0;title\x07\x9b31m", r"\x1b]0;title\x07\x9b31m", id="terminal-escapes"),
        pytest.param("gnp.\u202e", r"gnp.\u202e", id="direction-of-writing"),
        pytest.param("\udcff", r"\udcff", id="byte-that-is-no-text"),
        pytest.param("\U000e0041", r"\U000e0041", id="invisible"),
    ],
)
def test_nothing_that_steers_a_terminal_is_printed(text: str, shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert printable(text) == shown
    messages = Messages()
    for say in (messages.note, messages.warning, messages.error):
        say(text)
    assert capsys.readouterr().err.splitlines() == [shown, f"warning: {shown}", f"error: {shown}"]
