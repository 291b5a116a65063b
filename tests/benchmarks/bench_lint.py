"""How long ``lint`` takes, beside what it is measured against, in one loop, so that a busy machine slows both.

- the installed torch, no file of which uses the tracer, beside ``ruff check --no-cache --select F401``: at most 1.5
  times;
- the same tree after ``apply``, beside ``ast.parse`` of its files on as many cores: at most 3 times;
- one file, beside starting Python: at most 300 ms more.

The first two compare medians of wall time. The last counts processor time, which is the same on a machine with nothing
else to do: so short a run says more about what else is running. Bytecode is kept, as where the package is installed.
"""

from __future__ import annotations

import argparse
import ast
import gc
import importlib.util
import multiprocessing
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

RUFF_BOUND, PARSE_BOUND, START_BOUND_MS = 1.5, 3.0, 300.0
LINT: list[str | os.PathLike[str]] = [sys.executable, "-m", "dfannotate", "lint", "--quiet"]
FILE = "from dftracer.python import dftracer, dft_fn\n\n_dft = dft_fn('m')\n" + "\n\n".join(
    f"@_dft.log\ndef f{number}(a, b):\n    return a + b\n" for number in range(100)
)


def seconds(work: Callable[[], object]) -> float:
    """The wall time of ``work``."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def call(command: Sequence[str | os.PathLike[str]], *, good: Sequence[int] = (0,)) -> None:
    """Run a command, whose exit code must be one of ``good``."""
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    if done.returncode not in good:
        raise SystemExit(f"{command}: exit code {done.returncode}\n{done.stderr.decode(errors='replace')}")


def processor_seconds(command: Sequence[str | os.PathLike[str]]) -> float:
    """The processor time of one run of ``command``."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    call(command, good=(0, 1))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def parse(files: Sequence[Path]) -> None:
    """Parse files, and keep nothing."""
    gc.disable()
    warnings.simplefilter("ignore")
    for file in files:
        try:
            ast.parse(file.read_bytes())
        except (SyntaxError, ValueError):
            continue


def parse_all(files: Sequence[Path]) -> None:
    """Parse files on all cores, each as much as the others."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    by_size = sorted(files, key=lambda file: file.stat().st_size)
    lanes = [multiprocessing.Process(target=parse, args=(by_size[lane::cores],)) for lane in range(cores)]
    for lane in lanes:
        lane.start()
    for lane in lanes:
        lane.join()


def compare(
    what: str, ours: Callable[[], object], theirs: Callable[[], object], rounds: int
) -> tuple[list[float], list[float]]:
    """The wall times of both, run in turn after one round that fills the caches."""
    ours()
    theirs()
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        times[0].append(seconds(ours))
        times[1].append(seconds(theirs))
    print(
        f"{what:<34} {statistics.median(times[0]):7.3f} s beside {statistics.median(times[1]):7.3f} s,"
        f" fastest {min(times[0]):.3f} s and {min(times[1]):.3f} s"
    )
    return times


def ratio(times: tuple[list[float], list[float]], bound: float) -> bool:
    """Whether the median of the first passes ``bound`` times that of the second."""
    value = statistics.median(times[0]) / statistics.median(times[1])
    print(f"    {value:.2f} times (bound: {bound})")
    return value > bound


def main() -> int:
    """Print the figures; 1 if one passes its bound."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rounds", type=int, default=5)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    rounds = arguments.parse_args().rounds
    found = importlib.util.find_spec("torch")
    if found is None or not found.submodule_search_locations:
        raise SystemExit("torch is not installed: pip install 'dfannotate[test]'")
    torch = Path(next(iter(found.submodule_search_locations)))
    over = []
    with tempfile.TemporaryDirectory(prefix="dfannotate-bench-") as name:
        folder = Path(name)
        ruff: list[str | os.PathLike[str]] = [
            sys.executable,
            "-m",
            "ruff",
            "check",
            "--isolated",
            "--no-cache",
            "--quiet",
            "--select",
            "F401",
            torch,
        ]
        times = compare(
            "torch as it is, beside ruff", lambda: call([*LINT, torch]), lambda: call(ruff, good=(0, 1)), rounds
        )
        over.append(ratio(times, RUFF_BOUND))
        copy = folder / "annotated" / "torch"
        shutil.copytree(torch, copy, ignore=lambda top, names: {n for n in names if not _is_source(Path(top, n))})
        (folder / "annotated" / "pyproject.toml").write_text("", encoding="utf-8")
        call([sys.executable, "-m", "dfannotate", "apply", "--quiet", copy], good=(0, 2))
        files = list(copy.rglob("*.py"))
        times = compare(
            "torch after apply, beside ast.parse",
            lambda: call([*LINT, copy], good=(0, 1, 2)),
            lambda: parse_all(files),
            max(1, rounds // 2),
        )
        over.append(ratio(times, PARSE_BOUND))
        one = folder / "one.py"
        one.write_text(FILE, encoding="utf-8")
        ours = [processor_seconds([*LINT, one]) for _ in range(rounds * 3 + 1)]
        theirs = [processor_seconds([sys.executable, "-c", "pass"]) for _ in range(rounds * 3 + 1)]
        more = (statistics.median(ours) - statistics.median(theirs)) * 1000
        print(f"one file, beside python -c pass\n    {more:.0f} ms more (bound: {START_BOUND_MS:.0f} ms)")
        over.append(more > START_BOUND_MS)
    return int(any(over))


def _is_source(path: Path) -> bool:
    return path.suffix == ".py" or path.is_dir()


if __name__ == "__main__":
    sys.exit(main())
