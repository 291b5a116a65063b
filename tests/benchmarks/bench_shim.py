"""What annotated code costs with tracing off: through the shim, through the tracer itself, and not annotated at all.

The three are timed in turns in each of many short rounds, so that a busy machine slows all; the fastest round of each
counts. A decorated call must cost what a plain one does, a region less than half of what the tracer's own does. The
import is timed in processes of their own, with torch installed if it is here: the tracer imports it.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
import timeit
from collections.abc import Mapping
from pathlib import Path

from dfannotate.cli.environment import without_tracer_variables
from dfannotate.codemods.shim import shim_text
from dfannotate.vocabulary import CURRENT, FUNCTION, SHIM

ROUNDS = 60
CALLS = 20_000
IMPORTS = 5
CALL_BOUND = 1.15
"""A decorated call over a plain one: the same object, so nothing but noise."""
REGION_BOUND = 0.5
"""A region through the shim over one of the tracer's own."""

SETUP = f"""\
from {{module}} import {FUNCTION} as DFTracerFn
_dft = DFTracerFn("bench")
@_dft.log
def call(n):
    return n
def body(n):
    with DFTracerFn("bench", name="body"):
        return n
"""
PLAIN = "def call(n):\n    return n\nbody = call\n"


def nanoseconds(setups: Mapping[str, str]) -> dict[str, dict[str, float]]:
    """The time of a decorated call and of a function with a region, for each way."""
    spaces: dict[str, dict[str, object]] = {name: {} for name in setups}
    for name, setup in setups.items():
        exec(setup, spaces[name])
    best: dict[str, dict[str, float]] = {name: {} for name in setups}
    for _ in range(ROUNDS):
        for name, space in spaces.items():
            for what in ("call", "body"):
                took = timeit.timeit(f"{what}(1)", globals=space, number=CALLS) / CALLS * 1e9
                best[name][what] = min(took, best[name].get(what, took))
    return best


def import_seconds(module: str, folder: Path) -> float:
    """The median time that a fresh process needs to import ``module``."""
    program = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
    environ = {**without_tracer_variables(os.environ), "PYTHONPATH": str(folder)}
    times = []
    for _ in range(IMPORTS):
        done = subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=True)
        times.append(float(done.stdout))
    return statistics.median(times)


def main() -> int:
    """Print the table; 1 if a bound is passed."""
    for name in [name for name in os.environ if name not in without_tracer_variables(os.environ)]:
        del os.environ[name]
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / f"{SHIM}.py").write_text(shim_text(CURRENT))
        sys.path.insert(0, temporary)
        ways = {"plain": PLAIN, "shim": SETUP.format(module=SHIM), "tracer": SETUP.format(module=CURRENT.module)}
        times = nanoseconds(ways)
        imports = {"shim": import_seconds(SHIM, folder), "tracer": import_seconds(CURRENT.module, folder)}
    print(
        f"tracing off, Python {sys.version.split()[0]}: fastest of {ROUNDS} rounds, ns; import, median of {IMPORTS}, ms"
    )
    print(f"  {'':<8} {'call':>8} {'region':>8} {'import':>8}")
    for name, row in times.items():
        imported = f"{imports[name] * 1000:8.1f}" if name in imports else f"{'-':>8}"
        print(f"  {name:<8} {row['call']:8.1f} {row['body']:8.1f} {imported}")
    call = times["shim"]["call"] / times["plain"]["call"]
    plain = times["plain"]["body"]
    region = (times["shim"]["body"] - plain) / (times["tracer"]["body"] - plain)
    print(f"  a decorated call is {call:.2f} times a plain one (bound: {CALL_BOUND})")
    print(
        f"  a region costs {region:.2f} of the tracer's (bound: {REGION_BOUND}); {time.perf_counter() - started:.0f} s"
    )
    return int(call > CALL_BOUND or region > REGION_BOUND)


if __name__ == "__main__":
    sys.exit(main())
