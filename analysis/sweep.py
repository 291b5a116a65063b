"""The overlap of A and B, window by window of time.

Time is cut into windows of about ``WINDOW`` runs each, and only one window is in memory at a time. What is found in a
window for some of the processes is a ``Measured``; those of all processes, merged by an associative and commutative
operation, are what the window adds to the ``Sums``. Where the cuts fall does not change the sums: what cannot be
decided in one window, the busiest process of a bucket that is cut, is put off until the bucket is over.

Memory: for a window the runs in it, about ``WINDOW`` (if within a chunk of at most 8,192 runs they are spread evenly),
16 bytes each and about ten times that while they are worked on; beside it some numbers for each process.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from dfannotate.analysis.intervals import Array, Busy, Grid, Runs, busiest, busy_in, busy_of, union_of
from dfannotate.analysis.partials import A, B, Contribution, ProcessKey, Rounds, Stock
from dfannotate.analysis.schedule import Portion

WINDOW = 1 << 19
"""Runs in a window, about."""

_CELLS = 1 << 14

Cut = dict[int, dict[ProcessKey, int]]
"""Busy time, in ns, of each process in buckets that are not whole in a window."""


@dataclass(frozen=True)
class Window:
    """A stretch of time, ``[low, high)`` in ns, and the buckets of all of it."""

    low: int
    high: int
    grid: Grid

    def cut_buckets(self) -> tuple[int, ...]:
        """The buckets that lie in it in part only."""
        first, last = self.grid.bucket(self.low), self.grid.bucket(self.high - 1)
        cut = {first} if self.grid.edge(first) < self.low else set()
        return tuple(sorted(cut | ({last} if self.grid.edge(last + 1) > self.high else set())))


@dataclass(frozen=True, eq=False)
class Measured:
    """What some of the processes do in a window. Pairs are of A and of B; ``processes`` says for each process for how
    long it is in A, in B, and in both at once."""

    busy: tuple[Busy, Busy]
    cut: tuple[Cut, Cut]
    unions: tuple[Runs, Runs]
    processes: dict[ProcessKey, tuple[int, int, int]]


def measure(contributions: Sequence[Contribution], window: Window) -> Measured:
    """What the processes do whose files these are; all files of a process must be among them."""
    own = _own(contributions, window.low, window.high)
    keys = sorted(own)
    busy, cuts, unions = [], [], []
    for side in (A, B):
        active = [key for key in keys if len(own[key][side])]
        runs = [own[key][side] for key in active]
        found = busy_of(runs, window.grid, window.cut_buckets())
        busy.append(found.most)
        cuts.append({bucket: {active[i]: time for i, time in times.items()} for bucket, times in found.cut.items()})
        unions.append(union_of(runs))
    return Measured(
        (busy[A], busy[B]),
        (cuts[A], cuts[B]),
        (unions[A], unions[B]),
        {key: (own[key][A].measure, own[key][B].measure, own[key][A].common(own[key][B])) for key in keys},
    )


def merge_measured(several: Sequence[Measured]) -> Measured:
    """What all of them do. Associative and commutative; no process may be in two of them."""
    if len(several) == 1:
        return several[0]
    return Measured(
        (busiest([one.busy[A] for one in several]), busiest([one.busy[B] for one in several])),
        (_joined_cuts([one.cut[A] for one in several]), _joined_cuts([one.cut[B] for one in several])),
        (union_of([one.unions[A] for one in several]), union_of([one.unions[B] for one in several])),
        {key: times for one in several for key, times in one.processes.items()},
    )


def _joined_cuts(several: Sequence[Cut]) -> Cut:
    joined: Cut = {}
    for cut in several:
        for bucket, times in cut.items():
            joined.setdefault(bucket, {}).update(times)
    return joined


def _own(contributions: Sequence[Contribution], low: int, high: int) -> dict[ProcessKey, tuple[Runs, Runs]]:
    """The runs of each process, those that come from several chunks or files merged."""
    parts: dict[ProcessKey, tuple[list[Runs], list[Runs]]] = {}
    for contribution in contributions:
        for spans in contribution.spans:
            found = spans.between(low, high)
            if found:
                parts.setdefault(spans.process, ([], []))[spans.side].extend(found)
    return {key: (union_of(both[A]), union_of(both[B])) for key, both in parts.items()}


# --- how much of a process is hidden behind all others ---------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Against:
    """A window, and when any process at all is in A and in B there."""

    window: Window
    unions: tuple[Runs, Runs]


Hidden = dict[ProcessKey, tuple[int, int]]
"""For how long a process is in A while any process is in B, and in B while any is in A, in ns."""


def hide(contributions: Sequence[Contribution], against: Against) -> Hidden:
    """Of each process whose files these are."""
    a, b = against.unions
    own = _own(contributions, against.window.low, against.window.high)
    return {key: (runs[A].common(b), runs[B].common(a)) for key, runs in own.items()}


def merge_hidden(several: Sequence[Hidden]) -> Hidden:
    return {key: times for one in several for key, times in one.items()}


# --- all windows together --------------------------------------------------------------------------------------------


@dataclass
class Sums:
    """The figures of all windows, which must be added in their order. Times are in ns.

    ``totals``: of A and of B, the busy time of the busiest process of each bucket, summed. ``lower``: the lower bound
    of the overlap by buckets. ``unions``: for how long any process is in A, in B. ``exact``: for how long some process
    is in A while some process is in B. ``processes``, ``hidden``: for each process, as in ``Measured`` and ``Hidden``.
    ``rounds``: for each round of ``bounds``, for how long any process is in A, in B, in both."""

    grid: Grid
    bounds: Rounds | None = None
    totals: list[int] = field(default_factory=lambda: [0, 0])
    unions: list[int] = field(default_factory=lambda: [0, 0])
    lower: int = 0
    exact: int = 0
    processes: dict[ProcessKey, tuple[int, int, int]] = field(default_factory=dict)
    hidden: dict[ProcessKey, tuple[int, int]] = field(default_factory=dict)
    rounds: list[Array] = field(default_factory=list)
    _cut: tuple[Cut, Cut] = field(default_factory=lambda: ({}, {}))

    def add(self, measured: Measured, window: Window) -> None:
        a, b = measured.unions
        both = a.intersection(b)
        self.unions[A] += a.measure
        self.unions[B] += b.measure
        self.exact += both.measure
        self._add_busy(measured.busy)
        for side in (A, B):
            for bucket, times in measured.cut[side].items():
                held = self._cut[side].setdefault(bucket, {})
                for key, time in times.items():
                    held[key] = held.get(key, 0) + time
        self._settle(self.grid.bucket(window.high))
        for key, (in_a, in_b, in_both) in measured.processes.items():
            old = self.processes.get(key, (0, 0, 0))
            self.processes[key] = old[0] + in_a, old[1] + in_b, old[2] + in_both
        if self.bounds is not None:
            if not self.rounds:
                self.rounds = [np.zeros(len(self.bounds.starts), np.int64) for _ in range(3)]
            for sums, runs in zip(self.rounds, (a, b, both), strict=True):
                sums += runs.below(self.bounds.ends) - runs.below(self.bounds.starts)

    def add_hidden(self, hidden: Hidden) -> None:
        for key, (a, b) in hidden.items():
            old = self.hidden.get(key, (0, 0))
            self.hidden[key] = old[A] + a, old[B] + b

    def _add_busy(self, busy: tuple[Busy, Busy]) -> None:
        for side in (A, B):
            self.totals[side] += busy[side].total(self.grid)
        self.lower += busy[A].lower_bound(busy[B], self.grid)

    def _settle(self, open_bucket: int) -> None:
        """Count the buckets before this one that were cut: they are over."""
        done = sorted({bucket for cut in self._cut for bucket in cut if bucket < open_bucket})
        times: list[dict[int, int]] = [{}, {}]
        for side in (A, B):
            for bucket in done:
                if bucket in self._cut[side]:
                    times[side][bucket] = max(self._cut[side].pop(bucket).values())
        self._add_busy((busy_in(times[A]), busy_in(times[B])))


# --- the plan --------------------------------------------------------------------------------------------------------


def plan(stocks: Sequence[Stock], grid: Grid, end: int, window: int | None = None) -> list[Portion[Window]]:
    """The windows from the origin of the grid to ``end``, each with the files that have something in it, grouped: the
    files of one process stand together, and so do as many as have enough to do for a task of its own."""
    window = window or WINDOW
    chunks = np.concatenate([stock.chunks for stock in stocks])
    numbers = np.repeat(np.arange(len(stocks)), [len(stock.chunks) for stock in stocks])
    cuts = _cuts(chunks, grid, end, window)
    cuts[-1] = grid.edge(grid.bucket(end - 1) + 1)  # the last bucket is whole: nothing comes after it
    together = _together(stocks)
    portions = []
    for low, high in pairwise(cuts):
        inside = (chunks[:, 0] < high) & (chunks[:, 1] > low)
        loads = np.bincount(numbers[inside], chunks[inside, 2], len(stocks))
        groups: dict[int, list[int]] = {}
        for number in np.flatnonzero(loads).tolist():
            groups.setdefault(together[number], []).append(number)
        batches = _batched(list(groups.values()), loads, window)
        portions.append(Portion(Window(low, high, grid), [[stocks[index].number for index in one] for one in batches]))
    return [portion for portion in portions if portion.groups]


def _cuts(chunks: Array, grid: Grid, end: int, window: int) -> list[int]:
    """Times between windows, both ends included; on the edge of a bucket where a window has one."""
    cell = max(1, -(-(end - grid.origin) // _CELLS))
    first = (chunks[:, 0] - grid.origin) // cell
    last = np.maximum((chunks[:, 1] - 1 - grid.origin) // cell, first)
    changes = np.zeros(_CELLS + 2)
    density = chunks[:, 2] / (last - first + 1)
    np.add.at(changes, first, density)
    np.subtract.at(changes, last + 1, density)
    load = np.cumsum(np.cumsum(changes))
    steps = np.arange(1, int(load[-1] // window) + 1) * window
    cuts = [grid.origin]
    for place in (np.searchsorted(load, steps) + 1).tolist():
        time = grid.origin + place * cell
        edge = grid.edge(grid.bucket(time))
        time = edge if edge > cuts[-1] else time
        if cuts[-1] < time < end:
            cuts.append(time)
    return [*cuts, end]


def _together(stocks: Sequence[Stock]) -> list[int]:
    """For each file the first of those that must stay together with it, as they share processes."""
    leader = list(range(len(stocks)))

    def find(number: int) -> int:
        while leader[number] != number:
            leader[number] = leader[leader[number]]
            number = leader[number]
        return number

    seen: dict[ProcessKey, int] = {}
    for number, stock in enumerate(stocks):
        for key in stock.processes:
            one, other = sorted((find(number), find(seen.setdefault(key, number))))
            leader[other] = one
    return [find(number) for number in range(len(stocks))]


def _batched(groups: Iterable[list[int]], loads: Array, window: int) -> list[list[int]]:
    """Groups of files, several taken together while they have less than an eighth of a window's runs."""
    batches: list[list[int]] = []
    room = 0.0
    for group in groups:
        load = float(loads[group].sum())
        if not batches or load > room:
            batches.append([])
            room = window / 8
        batches[-1] += group
        room -= load
    return batches
