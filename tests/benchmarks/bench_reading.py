"""Reading speed and memory on made traces, beside the counter that comes with the tracer. Run by ``make bench``.

    python tests/benchmarks/bench_reading.py [EVENTS...]

Each reader runs in a process of its own on one trace file, and is charged with all processor time and the peak memory
that the system counted for it, start-up included. Exit code 1 if this project's reader takes more than one core-second
for half a million events, or needs more memory for a longer trace.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.benchmarks.bench_verify import COUNT, EVENTS_PER_STEP, MAKE, find_tools

SIZES = (1_000_000, 3_000_000)
REQUIRED_RATE = 500_000
ALLOWED_GROWTH = 1.15
READ = """
import sys
from pathlib import Path
from dfannotate.analysis.reader import summarize
print(sum(process.count for process in summarize(Path(sys.argv[1])).processes))
"""


@dataclass(frozen=True)
class Cost:
    """Processor time in seconds, peak resident memory in MiB, and the last line of the output."""

    seconds: float
    peak: float
    answer: str


def main(arguments: Sequence[str]) -> int:
    sizes = tuple(int(argument) for argument in arguments) or SIZES
    tools = find_tools(MAKE, COUNT)
    if tools is None:
        return 2
    rows = []
    with tempfile.TemporaryDirectory(prefix="bench-reading-") as folder:
        for size in sizes:
            trace = Path(folder, str(size))
            steps = str(max(1, size // EVENTS_PER_STEP))
            _run([tools[MAKE], "-o", str(trace), "-p", "1", "-H", "1", "-e", "1", "-s", steps])
            (file,) = trace.glob("*.pfw.gz")
            ours = _run([sys.executable, "-c", READ, str(file)])
            index = str(Path(folder, f"index-{size}"))
            one = ["--executor-threads", "1", "--io-threads", "1", "--log-level", "off"]
            theirs = _run([tools[COUNT], "-d", str(trace), "--index-dir", index, "-f", *one])
            rows.append((int(ours.answer), ours, theirs))
            shutil.rmtree(trace)
    head = ("events", "read/s/core", f"{COUNT}/s/core", "ratio", "peak MiB", f"{COUNT} MiB")
    print("  ".join(f"{cell:>12}" for cell in head))
    for events, ours, theirs in rows:
        rates = (events / ours.seconds, events / theirs.seconds)
        cells = (
            f"{events:,}",
            f"{rates[0]:,.0f}",
            f"{rates[1]:,.0f}",
            f"{rates[0] / rates[1]:.2f}",
            f"{ours.peak:.0f}",
            f"{theirs.peak:.0f}",
        )
        print("  ".join(f"{cell:>{max(12, len(name))}}" for cell, name in zip(cells, head, strict=True)))
    slow = [events for events, ours, _ in rows if events / ours.seconds < REQUIRED_RATE]
    growth = rows[-1][1].peak / rows[0][1].peak
    print(f"peak memory, longest to shortest trace: {growth:.2f}")
    if slow:
        print(f"too slow: below {REQUIRED_RATE:,} events a second and core", file=sys.stderr)
    if growth > ALLOWED_GROWTH:
        print("memory grows with the trace", file=sys.stderr)
    return 1 if slow or growth > ALLOWED_GROWTH else 0


def _run(command: Sequence[str]) -> Cost:
    with (
        tempfile.TemporaryFile() as output,
        subprocess.Popen(command, stdout=output, stderr=subprocess.DEVNULL) as child,
    ):
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise SystemExit(f"{command[0]} ended with exit code {child.returncode}")
        output.seek(0)
        lines = output.read().decode().split("\n")
    answer = next((line for line in reversed(lines) if line.strip()), "")
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, answer)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
