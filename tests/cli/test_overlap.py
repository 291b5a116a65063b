"""``dfannotate overlap``: what is printed, where, and with which exit code."""

from __future__ import annotations

import json
import re
import sys

import pytest

from tests.conftest import TRACES, RunCli

KEYS = [
    "a",
    "b",
    "interval_us",
    "buckets",
    "overlap_us",
    "overlap_exact_us",
    "overlap_pct_of_a",
    "stall_pct_of_a",
    "overlap_pct_of_b",
    "overlap_pct_of_smaller_total",
    "warnings",
]


def test_json_has_the_keys_of_the_contract(run_cli: RunCli) -> None:
    result = run_cli("overlap", TRACES / "fork", "--a", "IO:Samples*", "--b", "APP", "--format", "json")
    document = json.loads(result.out)
    assert (result.code, result.err) == (0, "")
    assert list(document) == KEYS
    assert list(document["a"]) == list(document["b"]) == ["events", "processes", "total_us"]
    assert (document["a"]["events"], document["a"]["processes"]) == (32, 4)
    assert document["overlap_pct_of_a"] + document["stall_pct_of_a"] == pytest.approx(100)


def test_text_says_the_same_and_warns_on_stderr(run_cli: RunCli) -> None:
    arguments = ("overlap", TRACES / "fork", "--a", "IO:Samples*", "--b", "APP", "--interval", "1000")
    document = json.loads(run_cli(*arguments, "--format", "json").out)
    result = run_cli(*arguments)
    assert result.code == 0
    assert (
        f"overlap    {document['overlap_us']:,.0f} us at least: {document['overlap_pct_of_a']:.1f} % of A" in result.out
    )
    assert f"exactly    {document['overlap_exact_us']:,.0f} us" in result.out
    assert f"interval   1,000 us, {document['buckets']} buckets" in result.out
    assert result.err.splitlines() == [f"warning: {text}" for text in document["warnings"]]


@pytest.mark.parametrize(("by", "key", "rows"), [("process", "processes", 5), ("round", "rounds", 2)])
def test_details_on_request(run_cli: RunCli, by: str, key: str, rows: int) -> None:
    arguments = ("overlap", TRACES / "fork", "--a", "IO:Samples*", "--b", "APP", "--by", by)
    document = json.loads(run_cli(*arguments, "--format", "json").out)
    assert list(document) == [*KEYS, key]
    assert len(document[key]) == rows
    assert sum(row["a_us"] for row in document[key]) == pytest.approx(
        20973 if by == "process" else document["overlap_exact_us"]
    )
    assert key in run_cli(*arguments).out


@pytest.mark.parametrize(
    ("case", "arguments", "message"),
    [
        (
            "spawn-broken",
            ["--a", "IO", "--b", "APP"],
            "no overlap can be told, as events of some processes are missing",
        ),
        ("fork-preload-broken", ["--a", "IO", "--b", "APP"], "and 1 more of 0 bytes"),
        ("small-workers-deleted", ["--a", "COMPUTE", "--b", "APP"], "left no file"),
        ("aggregated", ["--a", "*:augment", "--b", "*:augment"], "aggregated"),
        ("fork", ["--a", "GPU", "--b", "APP"], r"no event matches A \(GPU\); the categories in it are APP, COMPUTE"),
        ("fork", ["--a", "IO", "--b", "APP:step"], r"no event matches B \(APP:step\)"),
        ("fork", ["--a", "IO", "--b", ":step"], "--b: ':step' is not CATEGORY or CATEGORY:NAME"),
        ("fork", ["--a", "IO", "--b", "APP", "--interval", "p95"], "--interval: 'p95' is not p99, max or a number"),
        ("fork", ["--a", "IO", "--b", "APP", "--round", "X"], "needs --by round"),
        ("fork", ["--a", "IO", "--b", "APP", "--by", "round", "--round", "X"], r"no event matches the rounds \(X\)"),
        ("nothing-there", ["--a", "IO", "--b", "APP"], "no such folder"),
    ],
)
def test_what_cannot_be_told_is_exit_2_with_the_reason(
    run_cli: RunCli, case: str, arguments: list[str], message: str
) -> None:
    result = run_cli("overlap", TRACES / case, *arguments)
    assert (result.code, result.out) == (2, "")
    assert re.search(message, result.err)
    assert len(result.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "code", "status"),
    [
        (["--overlap", "IO:APP"], 0, "pass"),
        (["--overlap", "IO:Samples*:APP:*", "--min-overlap", "100"], 0, "pass"),
        (["--overlap", "APP:IO", "--min-overlap", "50"], 1, "fail"),
        (["--overlap", "APP:GPU"], 1, "fail"),
    ],
)
def test_verify_asks_too(run_cli: RunCli, arguments: list[str], code: int, status: str) -> None:
    result = run_cli("verify", TRACES / "fork", *arguments, "--format", "json")
    checks = {check["id"]: check for check in json.loads(result.out)["checks"]}
    assert (result.code, checks["overlap"]["status"]) == (code, status)
    assert checks["overlap"]["details"]["overlap"] == arguments[1]


def test_verify_fails_the_overlap_of_a_run_whose_workers_are_missing(run_cli: RunCli) -> None:
    result = run_cli("verify", TRACES / "spawn-broken", "--overlap", "IO:APP", "--format", "json")
    (check,) = (check for check in json.loads(result.out)["checks"] if check["id"] == "overlap")
    assert check["status"] == "fail"
    assert "of 0 bytes" in check["message"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--overlap", "IO"],
        ["--overlap", "IO:read:APP"],
        ["--min-overlap", "5"],
        ["--overlap", "A:B", "--min-overlap", "101"],
    ],
    ids=["one side", "three parts", "no overlap", "above 100"],
)
def test_bad_questions_are_bad_usage(run_cli: RunCli, arguments: list[str]) -> None:
    result = run_cli("verify", TRACES / "fork", *arguments)
    assert (result.code, result.out) == (2, "")


# --- progress --------------------------------------------------------------------------------------------------------


class _Terminal:
    """stderr as a terminal sees it."""

    encoding = "utf-8"

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> int:
        self.text += text
        return len(text)

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return 2


@pytest.mark.parametrize("command", [["verify"], ["overlap", "--a", "IO", "--b", "APP"]], ids=["verify", "overlap"])
def test_progress_is_shown_on_a_terminal(run_cli: RunCli, monkeypatch: pytest.MonkeyPatch, command: list[str]) -> None:
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "xterm")
    assert run_cli(*command, TRACES / "fork").code in (0, 1)
    assert "5 of 5 files" in terminal.text
    assert "events/s" in terminal.text


@pytest.mark.parametrize("quiet", [True, False], ids=["quiet", "no terminal"])
def test_no_progress_otherwise(run_cli: RunCli, monkeypatch: pytest.MonkeyPatch, quiet: bool) -> None:
    terminal = _Terminal()
    if quiet:
        monkeypatch.setattr(sys, "stderr", terminal)
    result = run_cli("verify", TRACES / "fork", *(["--quiet"] if quiet else []))
    assert "files" not in terminal.text + result.err


def test_progress_has_no_colour_where_none_is_wanted(run_cli: RunCli, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "xterm")
    run_cli("verify", TRACES / "fork")
    assert "5 of 5 files" in terminal.text
    assert not re.search(r"\x1b\[[0-9;]*[34][0-9](;|m)", terminal.text)
