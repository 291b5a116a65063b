"""``dfannotate verify`` on made traces of millions of events, beside the counter that comes with the tracer.

    python tests/benchmarks/bench_verify.py [--events 3000000 10000000] [--ranks 1 8] [--runs 3]

Both read the same files with all cores, whole programs from start to exit, in turns and each time without the files in
the cache; the best run of each counts. (The counter makes an index as it goes; that of an earlier run is not given to
it.) Of the shortest trace the counts by name are compared with those of the tracer's own statistics.

Exit code 1 if verify takes more than 1.3 times as long, if all its processes together ever need more than 600 MiB, if
they need more for a longer trace, or if a count differs.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MAKE, COUNT, STATISTICS = "dftracer_gen_fake_trace", "dftracer_event_count", "dftracer_stats"
EVENTS = (3_000_000, 10_000_000)
RANKS = (1, 8)
EVENTS_PER_STEP = 19  # of the made traces, in a single epoch
ALLOWED_RATIO = 1.3
ALLOWED_PEAK = 600
ALLOWED_GROWTH = 1.1
SAMPLE_SECONDS = 0.02


@dataclass(frozen=True)
class Cost:
    """Wall and processor time in seconds, and the most resident memory in MiB that a process and its children had at
    one moment (pages that they share are counted for each)."""

    wall: float
    processor: float
    peak: float
    output: str


@dataclass(frozen=True)
class Row:
    """The best of the runs on one trace."""

    ranks: int
    events: int
    ours: Cost
    theirs: Cost

    @property
    def ratio(self) -> float:
        return self.ours.wall / self.theirs.wall


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description="verify beside the tracer's own counter")
    parser.add_argument("--events", type=int, nargs="+", default=EVENTS, help="lengths of the traces")
    parser.add_argument("--ranks", type=int, nargs="+", default=RANKS, help="files of a trace")
    parser.add_argument("--runs", type=int, default=3, help="runs of each program")
    parser.add_argument("--folder", type=Path, help="where the traces are made (default: the system's)")
    options = parser.parse_args(arguments)
    tools = find_tools(MAKE, COUNT, STATISTICS)
    if tools is None:
        return 2
    faults: list[str] = []
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="bench-verify-", dir=options.folder) as folder:
        for ranks in options.ranks:
            for size in sorted(options.events):
                trace = Path(folder, "trace")
                steps = str(max(1, size // (EVENTS_PER_STEP * ranks)))
                _run([tools[MAKE], "-o", str(trace), "-p", str(ranks), "-H", "1", "-e", "1", "-s", steps])
                row = _compare(trace, ranks, options.runs, tools[COUNT], Path(folder, "index"))
                faults += _differences(row, trace, tools[STATISTICS] if size == min(options.events) else None)
                rows.append(row)
                shutil.rmtree(trace)
    _print(rows)
    for row in rows:
        if row.ratio > ALLOWED_RATIO:
            faults.append(f"{row.events:,} events: {row.ratio:.2f} times as long as {COUNT}")
        if row.ours.peak > ALLOWED_PEAK:
            faults.append(f"{row.events:,} events: {row.ours.peak:.0f} MiB")
    for ranks in options.ranks:
        peaks = [row.ours.peak for row in rows if row.ranks == ranks]
        if max(peaks) > peaks[0] * ALLOWED_GROWTH:
            faults.append(f"memory grows with the trace: {', '.join(f'{peak:.0f}' for peak in peaks)} MiB")
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


def _compare(trace: Path, ranks: int, runs: int, counter: str, index: Path) -> Row:
    verify = [sys.executable, "-m", "dfannotate", "verify", str(trace), "--format", "json", "--quiet"]
    count = [counter, "-d", str(trace), "--index-dir", str(index), "--log-level", "off"]
    ours: list[Cost] = []
    theirs: list[Cost] = []
    for _ in range(runs):
        _forget(trace)
        ours.append(_run(verify, allowed=(0, 1)))
        shutil.rmtree(index, ignore_errors=True)
        _forget(trace)
        theirs.append(_run(count))
    best = [min(costs, key=lambda cost: cost.wall) for costs in (ours, theirs)]
    peak = max(cost.peak for cost in ours)
    first = Cost(best[0].wall, best[0].processor, peak, best[0].output)
    return Row(ranks, int(best[1].output.split()[-1]), first, best[1])


def _differences(row: Row, trace: Path, statistics: str | None) -> list[str]:
    """Counts that are not the same for both."""
    events: list[dict[str, Any]] = json.loads(row.ours.output)["events"]
    names = Counter[str]()
    for event in events:
        names[event["name"]] += event["count"]
    faults = []
    if names.total() != row.events:
        faults.append(f"verify counts {names.total():,} events, {COUNT} {row.events:,}")
    if statistics is not None:
        with tempfile.TemporaryDirectory() as index:
            command = [statistics, "-d", str(trace), "--index-dir", index, "--json", "--report", "names"]
            reports = json.loads(_run([*command, "--log-level", "off"]).output)
        theirs = Counter[str]()
        for report in reports:  # one a file
            theirs.update({entry["name"]: entry["count"] for entry in report["results"]})
        faults += [
            f"{name}: verify counts {names[name]:,}, {STATISTICS} {theirs[name]:,}"
            for name in sorted(names | theirs)
            if names[name] != theirs[name]
        ]
    return faults


def _print(rows: Sequence[Row]) -> None:
    head = ("files", "events", "verify s", "cpu s", "peak MiB", f"{COUNT} s", "cpu s", "peak MiB", "ratio")
    print("  ".join(f"{cell:>10}" for cell in head))
    for row in rows:
        cells = (
            f"{row.ranks}",
            f"{row.events:,}",
            *(f"{row.ours.wall:.2f}", f"{row.ours.processor:.2f}", f"{row.ours.peak:.0f}"),
            *(f"{row.theirs.wall:.2f}", f"{row.theirs.processor:.2f}", f"{row.theirs.peak:.0f}"),
            f"{row.ratio:.2f}",
        )
        print("  ".join(f"{cell:>{max(10, len(name))}}" for cell, name in zip(cells, head, strict=True)))


def _forget(trace: Path) -> None:
    """Take the files out of the cache, where the system lets that be asked for."""
    for path in trace.iterdir():
        with path.open("rb") as file:
            os.fsync(file.fileno())
            if hasattr(os, "posix_fadvise"):
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def find_tools(*names: str) -> dict[str, str] | None:
    """Programs of the tracer, by name, beside this Python or on the path; None, and a message, where one is missing."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    found = {name: shutil.which(name, path=path) for name in names}
    absent = [name for name, program in found.items() if program is None]
    if absent:
        print(f"not found: {', '.join(absent)}; install dftracer for the benchmark", file=sys.stderr)
        return None
    return {name: program for name, program in found.items() if program is not None}


def _run(command: Sequence[str], allowed: Sequence[int] = (0,)) -> Cost:
    with tempfile.TemporaryFile() as output:
        began = time.perf_counter()
        with subprocess.Popen(command, stdout=output, stderr=subprocess.DEVNULL) as child:
            watch = _Watch(child.pid)
            watch.start()
            _, status, usage = os.wait4(child.pid, 0)
            wall = time.perf_counter() - began
            child.returncode = os.waitstatus_to_exitcode(status)
            watch.stop()
        if child.returncode not in allowed:
            raise SystemExit(f"{command[0]} ended with exit code {child.returncode}")
        output.seek(0)
        text = output.read().decode()
    return Cost(wall, usage.ru_utime + usage.ru_stime, watch.peak / 1024, text)


class _Watch(threading.Thread):
    """Looks at the memory of a process and all below it, many times a second."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.peak = 0
        self._pid = pid
        self._over = threading.Event()

    def run(self) -> None:
        while not self._over.wait(SAMPLE_SECONDS):
            self.peak = max(self.peak, _resident(self._pid))

    def stop(self) -> None:
        self._over.set()
        self.join()


def _resident(pid: int) -> int:
    """Resident memory in KiB of a process and all below it; 0 where the system does not tell it in this way."""
    total = 0
    with suppress(OSError, ValueError):
        status = Path(f"/proc/{pid}/status").read_text()
        total += next((int(row.split()[1]) for row in status.splitlines() if row.startswith("VmRSS")), 0)
        for task in Path(f"/proc/{pid}/task").iterdir():
            total += sum(_resident(int(child)) for child in (task / "children").read_text().split())
    return total


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
