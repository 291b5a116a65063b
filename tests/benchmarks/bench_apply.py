"""How fast ``apply`` is: beside ``ast.parse`` on all of torch, and beside LibCST's own codemod runner.

Each pair runs alternately, with the same number of processes, so that a busy machine slows both; the best round of each
is taken. Bounds: ``apply --diff`` takes at most 6 times what ``ast.parse`` takes for the same files; ``apply`` is at
least 5 times faster than LibCST's command with a codemod that changes nothing.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

PARSE_BOUND = 6.0
LIBCST_BOUND = 5.0
ROUNDS = 2
SAMPLE = 150
JOBS = str(len(os.sched_getaffinity(0)))

PARSE = """
import ast, sys, warnings
from concurrent.futures import ProcessPoolExecutor
warnings.simplefilter("ignore")
def parse(path):
    try:
        with open(path, "rb") as stream:
            ast.parse(stream.read())
    except (SyntaxError, ValueError):
        return 0
    return 1
if __name__ == "__main__":
    with open(sys.argv[2]) as stream:
        paths = stream.read().splitlines()
    with ProcessPoolExecutor(int(sys.argv[1])) as pool:
        assert sum(pool.map(parse, paths, chunksize=8)) > len(paths) / 2
"""
NOTHING = """
from libcst.codemod import VisitorBasedCodemodCommand
class Nothing(VisitorBasedCodemodCommand):
    DESCRIPTION = "Changes nothing."
"""
LIBCST_SETTINGS = "generated_code_marker: '@generated'\nformatter: ['cat']\nmodules: [commands]\nrepo_root: '.'\n"


def seconds(command: Sequence[str], cwd: Path) -> float:
    """The wall time of one run of ``command``."""
    start = time.perf_counter()
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    took = time.perf_counter() - start
    if done.returncode not in (0, 2):  # 2: torch has a file for a later Python
        raise SystemExit(f"{' '.join(command[:6])}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    return took


def peak_mb(command: Sequence[str], cwd: Path) -> float:
    """The most memory that ``command`` and its children had at one time: the sum of what each had for itself, and of
    its part in what several share."""
    process = subprocess.Popen(command, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    most = 0
    while process.poll() is None:
        most = max(most, sum(_memory_kb(pid) for pid in _family(process.pid)))
        time.sleep(0.05)
    return most / 1024


def _family(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    except OSError:
        return []
    return [pid, *(member for child in children for member in _family(int(child)))]


def _memory_kb(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def best(rounds: int, *runs: Callable[[], float]) -> list[float]:
    """The shortest time of each run, all of them taking turns."""
    times: list[list[float]] = [[] for _ in runs]
    for _ in range(rounds):
        for run, taken in zip(runs, times, strict=True):
            taken.append(run())
    return [min(taken) for taken in times]


def torch_sources(folder: Path) -> list[Path]:
    """A copy of torch's sources below ``folder``; empty where torch is not installed."""
    torch = importlib.util.find_spec("torch")
    if torch is None or torch.origin is None:
        return []
    origin = Path(torch.origin).parent
    copies: list[Path] = []
    for file in sorted(origin.rglob("*.py")):
        copy = folder / "torch" / file.relative_to(origin)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
        copies.append(copy)
    (folder / "torch" / "pyproject.toml").write_text("", encoding="ascii")
    return copies


def against_parse(folder: Path, paths: Sequence[Path]) -> bool:
    listing, script = folder / "paths", folder / "parse.py"
    listing.write_text("\n".join(map(str, paths)), encoding="utf-8")
    script.write_text(PARSE, encoding="ascii")
    apply = [sys.executable, "-m", "dfannotate", "apply", "--diff", "--quiet", "--jobs", JOBS, str(folder / "torch")]
    parse = [sys.executable, str(script), JOBS, str(listing)]
    parsing, applying = best(ROUNDS, lambda: seconds(parse, folder), lambda: seconds(apply, folder))
    size = sum(path.stat().st_size for path in paths) / 1e6
    print(f"torch, {len(paths)} files, {size:.1f} MB, {JOBS} processes, best of {ROUNDS}")
    print(f"  ast.parse              {parsing:7.2f} s")
    print(f"  apply --diff           {applying:7.2f} s   {applying / parsing:.2f} times (bound: {PARSE_BOUND:.0f})")
    print(f"  apply, peak memory     {peak_mb(apply, folder):7.0f} MB, children included")
    return applying / parsing <= PARSE_BOUND


def against_libcst(folder: Path, candidates: Sequence[Path]) -> bool:
    work = folder / "work"
    work.mkdir()
    (work / "pyproject.toml").write_text("", encoding="ascii")
    (work / ".libcst.codemod.yaml").write_text(LIBCST_SETTINGS, encoding="ascii")
    (work / "commands").mkdir()
    (work / "commands" / "__init__.py").write_text("", encoding="ascii")
    (work / "commands" / "nothing.py").write_text(NOTHING, encoding="ascii")
    (work / "tree").mkdir()
    # Every so many files, so that there are large and small ones, of all kinds.
    for number, path in enumerate(candidates[:: max(1, len(candidates) // SAMPLE)][:SAMPLE]):
        shutil.copyfile(path, work / "tree" / f"m{number}_{path.name}")
    libcst = [sys.executable, "-m", "libcst.tool", "codemod", "nothing.Nothing", "tree", "--jobs", JOBS]
    libcst.append("--hide-progress")
    apply = [sys.executable, "-m", "dfannotate", "apply", "--quiet", "--jobs", JOBS, "tree"]
    revert = [sys.executable, "-m", "dfannotate", "revert", "--quiet", "tree"]

    def apply_anew() -> float:
        took = seconds(apply, work)
        seconds(revert, work)
        return took

    others, ours = best(ROUNDS, lambda: seconds(libcst, work), apply_anew)
    size = sum(path.stat().st_size for path in (work / "tree").iterdir()) / 1e6
    print(f"{SAMPLE} files, {size:.1f} MB, {JOBS} processes, best of {ROUNDS}")
    print(f"  libcst codemod, no-op  {others:7.2f} s")
    print(f"  apply                  {ours:7.2f} s   {others / ours:.1f} times faster (bound: {LIBCST_BOUND:.0f})")
    return others / ours >= LIBCST_BOUND


def main() -> int:
    """Print the table; 1 if a bound is not kept."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        paths = torch_sources(folder)
        kept = True
        if paths:
            kept = against_parse(folder, paths)
        else:
            print("torch is not installed: nothing to hold against ast.parse, and the standard library below")
            paths = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
        return 0 if against_libcst(folder, paths) and kept else 1


if __name__ == "__main__":
    sys.exit(main())
