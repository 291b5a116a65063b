"""How long ``dfannotate --version`` takes beside ``python -c pass``: what the pre-commit hook and the shell pay.

Both run alternately in one loop, so that a busy machine slows both; medians are compared. The bound is 200 ms.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROUNDS = 20
BOUND_MS = 200.0


def milliseconds(command: Sequence[str]) -> float:
    """The wall time of one run of ``command``."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - start) * 1000


def main() -> int:
    """Print the medians; 1 if the difference passes the bound."""
    script = Path(sys.executable).with_name("dfannotate")
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "dfannotate --version": [str(script), "--version"],
        "dfannotate --help": [str(script), "--help"],
    }
    for command in commands.values():
        milliseconds(command)  # bytecode and file cache
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            times[name].append(milliseconds(command))
    medians = {name: statistics.median(values) for name, values in times.items()}
    base = medians["python -c pass"]
    print(f"start-up, median of {ROUNDS}, Python {sys.version.split()[0]}")
    for name, median in medians.items():
        print(f"  {name:<22} {median:7.1f} ms  {median - base:+7.1f} ms")
    over = medians["dfannotate --version"] - base
    print(f"  --version is {over:.1f} ms over python -c pass (bound: {BOUND_MS:.0f} ms)")
    return int(over > BOUND_MS)


if __name__ == "__main__":
    sys.exit(main())
