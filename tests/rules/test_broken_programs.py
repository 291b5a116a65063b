"""Programs of the corpus as ``apply`` annotates them, broken by hand as people break them: ``lint --fix`` puts them
right, they do what they did, and every call is in the trace.

The calls are counted in a run of the program as it was, by a counter that knows no tracer.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from dfannotate import manifest as manifests
from tests.conftest import RunCli
from tests.test_programs import EVENT_KINDS, NOT_CALLS, PROGRAM_LIST, copy_of, counted, execute

DOCUMENT = "pyproject.toml"


@dataclass(frozen=True)
class Break:
    """What is replaced, once, in the file: text, or what the pattern matches. ``codes``: the rules that see it."""

    old: str | re.Pattern[str]
    new: str
    codes: tuple[str, ...]


@dataclass(frozen=True)
class Broken:
    """A program of the corpus, its file that is broken, and how. ``more``: events by category and name that the program
    logs itself each time that a function returns; ``arguments``: what they carry."""

    program: str
    file: str
    breaks: tuple[Break, ...]
    more: Mapping[tuple[str, str], str] = field(default_factory=dict)
    arguments: Mapping[str, object] = field(default_factory=dict)


IMPORT = "from dftracer.python import dftracer, dft_fn as DFTracerFn, DFTRACER_ENABLE\n"

SCRIPT = Broken(
    "main_guard",
    "convert.py",
    (
        Break(IMPORT, IMPORT.replace("dftracer.python", "dftracer.logger"), ("DFT101",)),
        Break("logfile=None, data_dir=None, process_id=-1", "log_file=None, process_id=None", ("DFT103", "DFT104")),
        Break(
            "    finally:\n        if DFTRACER_ENABLE:\n            _dft_log.finalize()\n",
            "    finally:\n        sys.stdout.flush()\n",
            ("DFT301",),
        ),
        Break("@_dft.log\ndef read_number", "@_dft.log\n@_dft.log\ndef read_number", ("DFT206",)),
        Break(
            "@_dft.log\ndef write_totals(totals, path):\n",
            """\
@_dft.log
def write_totals(totals, path):
    if DFTRACER_ENABLE:
        import time

        dftracer.get_instance().log_event(
            name="totals", cat="steps", start_time=time.time() * 1e6, duration=1,
            int_args={"size": len(totals)}, string_args={"unit": "days"},
        )
""",
            ("DFT501", "DFT505"),
        ),
    ),
    {("steps", "totals"): "write_totals"},
    {"size": 3, "unit": "days"},
)

CLASSES = Broken(
    "hazards",
    "simulate.py",
    (
        Break(IMPORT, IMPORT.replace("dft_fn", "dftracer_fn"), ("DFT102",)),
        Break("@_dft.log_static\ndef resize", "@_dft.log\ndef resize", ("DFT205",)),
        Break("@_dft.log_static\ndef schedule", "@_dft.log()\ndef schedule", ("DFT205",)),
        Break(
            "    @_dft.log_init\n    def __init__(self, folder: Path) -> None:\n        super()",
            "    @_dft.log\n    def __init__(self, folder: Path) -> None:\n        super()",
            ("DFT204",),
        ),
        Break("    @classmethod\n    @_dft.log\n", "    @_dft.log\n    @classmethod\n", ("DFT202",)),
        Break(
            """\
    @staticmethod
    def check(values: list[int]) -> int:
        with DFTracerFn("simulate", name="check"):
            total = 0
            for value in values:
                total += value
            return total
""",
            """\
    @_dft.log
    @staticmethod
    def check(values: list[int]) -> int:
        total = 0
        for value in values:
            total += value
        return total
""",
            ("DFT202",),
        ),
        Break(
            """\
    @functools.cached_property
    def table(self) -> list[int]:
        with DFTracerFn("simulate", name="table"):
            return [number * number for number in range(10)]
""",
            """\
    @_dft.log
    @functools.cached_property
    def table(self) -> list[int]:
        return [number * number for number in range(10)]
""",
            ("DFT201",),
        ),
        Break(
            """\
async def read(path: Path) -> str:
    with DFTracerFn("simulate", name="read"):
        await asyncio.sleep(0)
        with open(path) as stream:
            return stream.read()
""",
            """\
@_dft.log
async def read(path: Path) -> str:
    await asyncio.sleep(0)
    with open(path) as stream:
        return stream.read()
""",
            ("DFT203",),
        ),
        Break('with DFTracerFn("simulate", name="more"):', 'with DFTracerFn("simulate"):', ("DFT208",)),
        Break('with DFTracerFn("simulate", name="factorial"):', 'with DFTracerFn("simulate"):', ("DFT208",)),
    ),
)

PROCESSES = Broken(
    "processes",
    "crawl.py",
    (
        Break(re.compile(r"\n\ndef _dft_worker\(.*\n_dft_worker_ready\(\)\n", re.DOTALL), "", ()),
        Break("target=_dft_worker(fetch_all)", "target=fetch_all", ("DFT405",)),
        Break("        atexit.register(_dft_log.finalize)\n", "", ("DFT301",)),
        Break("process_id=-1", "process_id=None", ("DFT104",)),
        Break(
            "@_dft.log\ndef fail(folder):\n    with open(",
            "@_dft.log\ndef fail(folder):\n    with DFTracerFn(cat='crawl', name='opening', comp='crawl'), open(",
            ("DFT103",),
        ),
    ),
    {("crawl", "opening"): "fail"},
)

ALL = {broken.program: broken for broken in (SCRIPT, CLASSES, PROCESSES)}


def broken_text(text: str, breaks: tuple[Break, ...]) -> str:
    for change in breaks:
        if isinstance(change.old, str):
            assert text.count(change.old) == 1, change.old
            text = text.replace(change.old, change.new)
        else:
            text, number = change.old.subn(change.new, text)
            assert number == 1, change.old
    return text


def events(folder: Path) -> list[dict[str, Any]]:
    found = []
    for path in folder.iterdir():
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            found += [json.loads(line) for line in lines]
    return [event for event in found if event["ph"] == 1 and event["cat"] not in NOT_CALLS]


@pytest.mark.parametrize("name", ALL)
def test_a_broken_program_is_put_right_and_traces_fully(name: str, tmp_path: Path, run_cli: RunCli) -> None:
    broken = ALL[name]
    program = next(program for program in PROGRAM_LIST if program.name == name)
    original = copy_of(program, tmp_path / "original")
    plain = [counted(program, run, original, tmp_path / f"plain-{n}") for n, run in enumerate(program.runs)]

    source = copy_of(program, tmp_path / "annotated")
    (source / DOCUMENT).touch()
    assert run_cli("apply", source, "--functions", "all", "--quiet").code == 0
    entries = manifests.load(source / ".dfannotate" / "manifest.json").files
    sites = {(e.path, s.function): s for e in entries for s in e.sites if s.kind in EVENT_KINDS}
    file = source / broken.file
    file.write_text(broken_text(file.read_text(), broken.breaks))

    found = json.loads(run_cli("lint", "--output-format", "json", source).out)
    codes = Counter(finding["code"] for finding in found)
    assert Counter(code for change in broken.breaks for code in change.codes) - codes == Counter()
    fixed = run_cli("lint", "--fix", "--quiet", source)
    assert (fixed.code, fixed.out, fixed.err) == (0, "", "")

    for number, (run, (before, calls)) in enumerate(zip(program.runs, plain, strict=True)):
        off = execute(program, run, source, tmp_path / f"off-{number}")
        assert (off.exit_code, off.stdout, off.left) == (before.exit_code, before.stdout, before.left), off.stderr
        traces = tmp_path / f"traces-{number}"
        traced = (sys.executable, "-m", "dfannotate", "run", "--trace-dir", os.fspath(traces), "--")
        on = execute(program, run, source, tmp_path / f"on-{number}", before=traced)
        assert (on.exit_code, on.stdout, on.left) == (before.exit_code, before.stdout, before.left), on.stderr

        # A fix may name the event of a method with its class or without it.
        expected: Counter[tuple[str, str]] = Counter()
        for place, site in sites.items():
            # A decorated function that raises leaves no event, a region does.
            ended = calls.returned[place] + (calls.raised[place] if site.kind == "region" else 0)
            expected[site.category, place[1].rpartition(".")[2]] += ended
        for (category, event), function in broken.more.items():
            place = (broken.file, function)
            expected[category, event] += calls.returned[place] + calls.raised[place]
        logged = events(traces)
        assert Counter((e["cat"], e["name"].rpartition(".")[2]) for e in logged) == +expected, on.stderr
        own = [e["args"] for e in logged if (e["cat"], e["name"]) in broken.more]
        assert all(broken.arguments.items() <= args.items() for args in own)
