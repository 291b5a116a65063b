"""Programs that answer Ctrl-C: interrupted for real, they do what they did, and their trace is whole."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from dfannotate.cli.environment import without_tracer_variables
from dfannotate.cli.main import main
from tests.conftest import TIMEOUT, WITHOUT_TORCH

WORK = """\
import os
import time


def read():
    with open(os.devnull) as stream:
        return stream.read()


def train():
    for _ in range(5):
        read()
    print("ready", flush=True)
    time.sleep(60)
"""
CATCHES = """\
    try:
        work.train()
    except KeyboardInterrupt:
        work.read()
        print("saved", flush=True)
        sys.exit(7)
"""
GUARD = "if __name__ == '__main__':\n"
OWN = "def save(number, frame):\n    print('own', flush=True)\n    os._exit(5)\n"

PROGRAMS = {
    "guard": ("import sys, work\n" + GUARD + CATCHES, 7, 6),
    "guard that ends at exit": ("import sys, threading, work\n" + GUARD + CATCHES, 7, 6),
    "script": ("import sys, work\nfor _ in range(1):\n" + CATCHES, 7, 6),
    "caught elsewhere": (
        "import work\ndef stop():\n    raise KeyboardInterrupt\n" + GUARD + "    work.train()\n",
        -signal.SIGINT,
        5,
    ),
    "caught by a library": ("import work, click\n" + GUARD + "    click.command()(work.train)()\n", 1, 5),
    "handler of its own": (
        "import os, signal, sys, work\n" + OWN + "signal.signal(signal.SIGINT, save)\n" + GUARD + CATCHES,
        5,
        0,
    ),
    "handler of its own in the guard": (
        "import os, signal, sys, work\n" + OWN + GUARD + "    signal.signal(signal.SIGINT, save)\n" + CATCHES,
        5,
        0,
    ),
}


def interrupted(source: Path, **environ: str) -> tuple[int, str]:
    """The exit code and the output of a program that is interrupted when it is ready."""
    process = subprocess.Popen(
        [sys.executable, "main.py"],
        cwd=source,
        env={**without_tracer_variables(os.environ), "PYTHONPATH": str(WITHOUT_TORCH), **environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        # A shell lets what it starts in the background ignore the signal.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stdout
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=TIMEOUT)
    return process.returncode, out


def events(traces: Path) -> list[str]:
    """The names of the events of the one finished trace."""
    (path,) = traces.glob("*.pfw.gz")
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        records = [json.loads(line) for line in stream]
    assert any(record["cat"] == "dftracer" and record["name"] == "end" for record in records)
    return [record["name"] for record in records if record["ph"] == 1 and record["cat"] == "work"]


@pytest.mark.parametrize(("text", "code", "reads"), PROGRAMS.values(), ids=PROGRAMS)
def test_interrupted_program_does_what_it_did(text: str, code: int, reads: int, tmp_path: Path) -> None:
    source, traces = tmp_path / "source", tmp_path / "traces"
    traces.mkdir()
    files: Mapping[str, str] = {"main.py": text, "work.py": WORK, "pyproject.toml": ""}
    source.mkdir()
    for name, content in files.items():
        (source / name).write_text(content)
    plain = interrupted(source)
    assert plain[0] == code
    arguments = ["--quiet", str(source), "--entry", str(source / "main.py")]
    assert main(["apply", *arguments]) == 0
    on = {"DFTRACER_ENABLE": "1", "DFTRACER_LOG_FILE": str(traces / "t"), "DFTRACER_DATA_DIR": str(traces)}
    assert interrupted(source) == plain
    assert interrupted(source, **on) == plain
    if reads:
        assert events(traces).count("read") == reads
    assert main(["lint", str(source)]) == 0
    assert main(["revert", "--quiet", str(source)]) == 0
    assert {name: (source / name).read_text() for name in files} == files


@pytest.mark.parametrize("head", ["", "import threading\n"], ids=["finally", "at exit"])
def test_interrupts_are_given_back_where_tracing_starts(head: str, tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(f"import sys\n{head}import work\n{GUARD}{CATCHES}")
    assert main(["apply", "--quiet", str(tmp_path)]) == 0
    text = (tmp_path / "main.py").read_text()
    start = "        _dft_log = dftracer.initialize_log(logfile=None, data_dir=None, process_id=-1)\n"
    assert f"{start}        _dft_interrupt()\n" in text
    assert text.index("def _dft_interrupt():") < text.index(GUARD)


def test_program_that_leaves_interrupts_alone_gets_no_function_for_them(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(WORK + GUARD + "    train()\n")
    assert main(["apply", "--quiet", str(tmp_path)]) == 0
    assert "interrupt" not in (tmp_path / "main.py").read_text()
