"""``dfannotate overlap`` on made traces of millions of events, beside the counter that comes with the tracer.

    python tests/benchmarks/bench_overlap.py [--events 10000000] [--memory 3000000 30000000] [--ranks 8] [--runs 3]

As in ``bench_verify``: the same files, all cores, whole programs from start to exit, in turns, cold caches alike; the
best run of each counts. Every event is one of A or of B. ``--events`` is the length of the trace for the times,
``--memory`` are those between which the memory must not grow.

Exit code 1 if overlap takes more than 1.5 times as long as the counter, if all its processes together ever need more
than 600 MiB, if they need more for a longer trace, or if its events are not as many as the counter's.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.benchmarks.bench_verify import (  # the tools for measuring are there
    ALLOWED_PEAK,
    COUNT,
    EVENTS_PER_STEP,
    MAKE,
    Cost,
    Row,
    _forget,
    _run,
    find_tools,
)

EVENTS = 10_000_000
MEMORY = (3_000_000, 30_000_000)
ALLOWED_RATIO = 1.5
ALLOWED_GROWTH = 1.25
"""Of memory, from the shortest trace to the longest: the buffers for runs are full from some ten million events on."""
A, B = "POSIX,IO", "APP"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description="overlap beside the tracer's own counter")
    parser.add_argument("--events", type=int, default=EVENTS, help="length of the trace for the times")
    parser.add_argument("--memory", type=int, nargs="*", default=MEMORY, help="lengths of those for the memory")
    parser.add_argument("--ranks", type=int, default=8, help="files of a trace")
    parser.add_argument("--runs", type=int, default=3, help="runs of each program")
    parser.add_argument("--folder", type=Path, help="where the traces are made (default: the system's)")
    options = parser.parse_args(arguments)
    tools = find_tools(MAKE, COUNT)
    if tools is None:
        return 2
    faults: list[str] = []
    peaks: list[float] = []
    with tempfile.TemporaryDirectory(prefix="bench-overlap-", dir=options.folder) as folder:
        trace, index = Path(folder, "trace"), Path(folder, "index")
        for size in sorted({options.events, *options.memory}):
            steps = str(max(1, size // (EVENTS_PER_STEP * options.ranks)))
            _run([tools[MAKE], "-o", str(trace), "-p", str(options.ranks), "-H", "1", "-e", "1", "-s", steps])
            if size == options.events:
                row = _compare(trace, options, tools[COUNT], index)
                print(f"{row.events:,} events in {options.ranks} files")
                _print("overlap", row.ours)
                _print(COUNT, row.theirs)
                print(f"ratio {row.ratio:.2f}")
                if row.ratio > ALLOWED_RATIO:
                    faults.append(f"{row.ratio:.2f} times as long as {COUNT}")
                counted = _events(row.ours)
                if counted != row.events:
                    faults.append(f"overlap has {counted:,} events, {COUNT} {row.events:,}")
                cost = row.ours
            else:
                cost = _run(_overlap(trace))
                print(f"{_events(cost):,} events in {options.ranks} files")
                _print("overlap", cost)
            if cost.peak > ALLOWED_PEAK:
                faults.append(f"{size:,} events: {cost.peak:.0f} MiB")
            if size in options.memory:
                peaks.append(cost.peak)
            shutil.rmtree(trace)
    if peaks and max(peaks) > peaks[0] * ALLOWED_GROWTH:
        faults.append(f"memory grows with the trace: {', '.join(f'{peak:.0f}' for peak in peaks)} MiB")
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


def _overlap(trace: Path) -> list[str]:
    return [
        *[sys.executable, "-m", "dfannotate", "overlap", str(trace), "--a", A, "--b", B],
        *["--format", "json", "--quiet"],
    ]


def _compare(trace: Path, options: argparse.Namespace, counter: str, index: Path) -> Row:
    count = [counter, "-d", str(trace), "--index-dir", str(index), "--log-level", "off"]
    ours: list[Cost] = []
    theirs: list[Cost] = []
    for _ in range(options.runs):
        _forget(trace)
        ours.append(_run(_overlap(trace)))
        shutil.rmtree(index, ignore_errors=True)
        _forget(trace)
        theirs.append(_run(count))
    first, second = (min(costs, key=lambda cost: cost.wall) for costs in (ours, theirs))
    peak = max(cost.peak for cost in ours)
    first = Cost(first.wall, first.processor, peak, first.output)
    return Row(options.ranks, int(second.output.split()[-1]), first, second)


def _events(cost: Cost) -> int:
    """Of A and of B together."""
    found = json.loads(cost.output)
    return int(found["a"]["events"]) + int(found["b"]["events"])


def _print(name: str, cost: Cost) -> None:
    print(f"  {name:<22} {cost.wall:7.2f} s  {cost.processor:7.2f} s of processor  {cost.peak:6.0f} MiB")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
