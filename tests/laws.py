"""The laws of rewriting over thousands of real files: revert(apply(x)) = x byte for byte, apply twice = apply once.

Run by ``make laws`` (not by pytest: it takes minutes). The standard library of the running Python and, where it is
installed, torch are copied to a temporary folder, annotated with every construct (all functions, an instance for each
role), annotated again, and reverted.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def trees() -> dict[str, Path]:
    """What is tried: name -> folder."""
    found = {"stdlib": Path(sysconfig.get_path("stdlib"))}
    torch = importlib.util.find_spec("torch")
    if torch is not None and torch.origin:
        found["torch"] = Path(torch.origin).parent
    return found


def copy_sources(origin: Path, destination: Path) -> int:
    """Copy the ``.py`` files below ``origin``, tests and installed packages of the standard library included."""
    count = 0
    for file in origin.rglob("*.py"):
        relative = file.relative_to(origin)
        if "site-packages" in relative.parts:
            continue
        target = destination / relative
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
        count += 1
    return count


def is_source(file: Path) -> bool:
    """Whether Python itself compiles the file."""
    try:
        compile(file.read_bytes(), str(file), "exec")
    except (SyntaxError, ValueError, OSError):
        return False
    return True


def contents(folder: Path) -> dict[str, bytes]:
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*.py")}


def dfannotate(*arguments: str) -> tuple[int, dict[str, object], str]:
    """Run the command; its exit code, its JSON, its stderr."""
    command = [sys.executable, "-m", "dfannotate", *arguments, "--format", "json", "--quiet"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return result.returncode, json.loads(result.stdout), result.stderr


def items(result: dict[str, object], key: str) -> list[Any]:
    value = result[key]
    assert isinstance(value, list)
    return value


def try_tree(name: str, origin: Path, folder: Path, options: list[str]) -> list[str]:
    """The faults found in one tree; prints what was seen."""
    number = copy_sources(origin, folder)
    (folder / "pyproject.toml").write_text("")
    before = contents(folder)
    faults: list[str] = []
    started = time.perf_counter()
    # Every file is named, so that tests, documentation and generated files are annotated too.
    names = sorted(str(file) for file in folder.rglob("*.py"))
    _, first, _ = dfannotate("apply", *options, *names)
    took = time.perf_counter() - started
    annotated = contents(folder)
    errors = items(first, "errors")
    unparsable = [error for error in errors if not is_source(folder / error["path"])]
    faults += [f"{error['path']}: {error['message']}" for error in errors if error not in unparsable]
    changed = sum(annotated[path] != before[path] for path in before)
    functions = sum(len(file["sites"]) for file in items(first, "files"))
    print(
        f"{name}: {number} files, {changed} annotated ({functions} sites), {len(unparsable)} cannot be parsed,"
        f" {took:.1f} s",
        flush=True,
    )
    for error in unparsable:
        print(f"  reported: {error['path']}:{error['line']}: {error['message']}")
    _, second, _ = dfannotate("apply", *options, *names)
    faults += [f"{path}: the second apply changed it" for path in items(second, "changed")]
    faults += [
        f"{path}: bytes differ after the second apply"
        for path, data in contents(folder).items()
        if data != annotated[path]
    ]
    _, third, _ = dfannotate("revert", str(folder))
    faults += [f"{error['path']}: {error['message']}" for error in items(third, "errors")]
    faults += [
        f"{path}: not the same bytes after revert" for path, data in contents(folder).items() if data != before[path]
    ]
    return faults


def parser_of(description: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("trees", nargs="*", help="stdlib, torch; default: all that are here")
    return parser


def judge(wanted: list[str], attempt: Callable[[str, Path], list[str]]) -> int:
    """Try every tree that is wanted, all where none is named, and print the faults; the exit code."""
    faults = [
        fault for name, origin in trees().items() if not wanted or name in wanted for fault in attempt(name, origin)
    ]
    for fault in faults:
        print(f"FAULT {fault}")
    print(f"{len(faults)} faults")
    return 1 if faults else 0


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--functions", choices=["worthwhile", "all"], default="all")
    parser.add_argument("--category", help="as for apply (role: by what each function does)", default="role")
    given = parser.parse_args()
    options = ["--functions", given.functions, "--category", given.category]

    def attempt(name: str, origin: Path) -> list[str]:
        with tempfile.TemporaryDirectory() as temporary:
            return try_tree(name, origin, Path(temporary), options)

    return judge(given.trees, attempt)


if __name__ == "__main__":
    sys.exit(main())
