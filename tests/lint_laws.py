"""No false alarm over thousands of real files, and no crash: what the rules say of code that is good.

Run by ``make laws`` (not by pytest: it takes minutes). The standard library of the running Python and, where it is
installed, torch are linted as they are in a project that is traced, and with the tracer imported at the end of each
file, so that every rule looks at every file; then torch is annotated in every mode, and linted again. Files that
Python itself does not compile may be reported as such, and for nothing else.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tests.laws import copy_sources, is_source, judge, parser_of

WORKERS = "DFT401,DFT405"
"""What is missing in good code that nobody traces: loaders and processes whose workers do not trace themselves."""
SYNTAX = "DFT001"
CONFIGURATION = "pyproject.toml"
MODES = {
    "worthwhile, by module": (["--functions", "worthwhile", "--category", "module"], False),
    "all, by module": (["--functions", "all", "--category", "module"], False),
    "worthwhile, by role": (["--functions", "worthwhile", "--category", "role"], False),
    "all, by role": (["--functions", "all", "--category", "role"], False),
    "all, through a shim": (["--functions", "all"], True),
}


def lint(folder: Path, *flags: str) -> tuple[list[dict[str, Any]], list[str]]:
    """The findings below a folder, and what is said on standard error or beside them."""
    command = [sys.executable, "-m", "dfannotate", "lint", "--quiet", "--select", "ALL", "--output-format", "json"]
    done = subprocess.run([*command, *flags, str(folder)], capture_output=True, text=True, check=False)
    said = [line for line in done.stderr.splitlines() if "noqa` without a code" not in line]
    return json.loads(done.stdout or "[]"), said + ([] if done.stdout else [f"exit code {done.returncode}"])


def faults_in(folder: Path, *flags: str) -> tuple[list[str], Counter[str]]:
    """The false alarms and crashes below a folder, and how often each code was seen, false or not."""
    findings, said = lint(folder, *flags)
    faults = [line for line in said if "internal error" in line or not _is_unreadable(line)]
    for finding in findings:
        path = Path(finding["path"])
        if finding["code"] != SYNTAX or is_source(path):
            faults.append(f"{path}:{finding['line']}: {finding['code']} {finding['message']}")
    return faults, Counter(finding["code"] for finding in findings)


def _is_unreadable(message: str) -> bool:
    """Whether a message is about a file that Python does not compile either."""
    match = re.match(r"error: (.+?\.py):", message)
    return match is not None and not is_source(Path(match[1]))


def try_plain(name: str, origin: Path, *, touched: bool) -> list[str]:
    """A tree as it is, in a project that is traced; ``touched``: each file imports the tracer, and does no more."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        number = copy_sources(origin, folder)
        if touched:
            for file in folder.rglob("*.py"):
                file.write_bytes(file.read_bytes().rstrip() + b"\n\nimport dftracer.python\n")
        (folder / CONFIGURATION).write_text("")
        (folder / "traced.py").write_text("import dftracer.python\n")
        started = time.perf_counter()
        faults, seen = faults_in(folder, "--ignore", WORKERS)
        how = ", the tracer imported in each" if touched else ""
        took = time.perf_counter() - started
        print(f"{name}: {number} files{how}, {took:.1f} s, {dict(seen) or 'nothing'} found", flush=True)
        return faults


def try_annotated(name: str, origin: Path, mode: str) -> list[str]:
    """A tree as ``apply`` annotates it."""
    flags, shim = MODES[mode]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        copy_sources(origin, folder)
        (folder / CONFIGURATION).write_text("[tool.dfannotate]\nshim = true\n" if shim else "")
        command = [sys.executable, "-m", "dfannotate", "apply", "--quiet", *flags, str(folder)]
        subprocess.run(command, capture_output=True, check=False)
        started = time.perf_counter()
        faults, seen = faults_in(folder)
        changed = sum(b"dftracer" in file.read_bytes() for file in folder.rglob("*.py"))
        took = time.perf_counter() - started
        print(
            f"{name} after apply, {mode}: {changed} annotated, {took:.1f} s, {dict(seen) or 'nothing'} found",
            flush=True,
        )
        return faults


def main() -> int:
    """Print what was seen; 1 if anything was that should not be."""

    def attempt(name: str, origin: Path) -> list[str]:
        faults = [*try_plain(name, origin, touched=False), *try_plain(name, origin, touched=True)]
        if name == "torch":
            for mode in MODES:
                faults += try_annotated(name, origin, mode)
        return faults

    return judge(parser_of(__doc__).parse_args().trees, attempt)


if __name__ == "__main__":
    sys.exit(main())
