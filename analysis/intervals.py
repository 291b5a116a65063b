"""Arithmetic of time intervals: unions, intersections, busy time per bucket, distributions of durations.

Times are nanoseconds in int64 arrays; an interval is half open, ``[start, end)``. Nothing is rounded and nothing
depends on an order, so that a figure is the same bit for bit however the work that leads to it was divided.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.int64]

NONE: Array = np.empty(0, np.int64)
DISTINCT = 1 << 16
"""Different durations that a distribution keeps apart before it begins to round them."""
_BITS = 63


def _none() -> Array:
    return NONE


@dataclass(frozen=True, eq=False)
class Runs:
    """Intervals that are sorted, disjoint and do not touch: two arrays of one length, 16 bytes an interval."""

    starts: Array = field(default_factory=_none)
    ends: Array = field(default_factory=_none)

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def measure(self) -> int:
        """Sum of the lengths."""
        return int((self.ends - self.starts).sum())

    def clip(self, low: int, high: int) -> Runs:
        """What of them lies in ``[low, high)``."""
        first = int(np.searchsorted(self.ends, low, "right"))
        behind = int(np.searchsorted(self.starts, high, "left"))
        if first >= behind:
            return Runs()
        return Runs(np.maximum(self.starts[first:behind], low), np.minimum(self.ends[first:behind], high))

    def below(self, points: Array) -> Array:
        """For each point the sum of the lengths before it."""
        if not len(self):
            return np.zeros(len(points), np.int64)
        sums = np.concatenate((np.zeros(1, np.int64), np.cumsum(self.ends - self.starts)))
        started = np.searchsorted(self.starts, points, "right")
        beyond = np.maximum(self.ends[np.maximum(started, 1) - 1] - points, 0)
        return sums[started] - np.where(started > 0, beyond, 0)

    def common(self, other: Runs) -> int:
        """Length of the intersection with ``other``."""
        few, many = sorted((self, other), key=len)
        return int((many.below(few.ends) - many.below(few.starts)).sum())

    def intersection(self, other: Runs) -> Runs:
        """The intersection with ``other``."""
        first = np.searchsorted(other.ends, self.starts, "right")
        counts = np.maximum(np.searchsorted(other.starts, self.ends, "left") - first, 0)
        mine = np.repeat(np.arange(len(self)), counts)
        theirs = np.arange(len(mine)) - np.repeat(np.cumsum(counts) - counts, counts) + first[mine]
        return Runs(
            np.maximum(self.starts[mine], other.starts[theirs]), np.minimum(self.ends[mine], other.ends[theirs])
        )


def union(starts: Array, ends: Array) -> Runs:
    """The union of intervals in any order; empty ones vanish, those that overlap or touch become one."""
    some = ends > starts
    if not some.all():
        starts, ends = starts[some], ends[some]
    if not len(starts):
        return Runs()
    if (starts[1:] < starts[:-1]).any():
        order = np.argsort(starts, kind="stable")
        starts, ends = starts[order], ends[order]
    reach = np.maximum.accumulate(ends)
    opening = np.flatnonzero(np.concatenate((np.ones(1, np.bool_), starts[1:] > reach[:-1])))
    closing = np.concatenate((opening[1:] - 1, np.array([len(starts) - 1])))
    return Runs(starts[opening], reach[closing])


def union_of(several: Sequence[Runs]) -> Runs:
    """The union of runs."""
    if len(several) == 1:
        return several[0]
    return union(_joined([runs.starts for runs in several]), _joined([runs.ends for runs in several]))


def _joined(arrays: Sequence[Array]) -> Array:
    return np.concatenate(arrays) if arrays else NONE


# --- busy time per bucket --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Grid:
    """Buckets of ``width`` ns from ``origin`` on: bucket k is ``[origin + k * width, origin + (k + 1) * width)``."""

    origin: int
    width: int

    def edge(self, bucket: int) -> int:
        return self.origin + bucket * self.width

    def bucket(self, time: int) -> int:
        return (time - self.origin) // self.width


@dataclass(frozen=True, eq=False)
class Busy:
    """Busy time per bucket, as a step function: ``full`` are ranges of bucket numbers that are busy throughout, and
    ``times[i]`` ns, more than 0, are the busy time of ``buckets[i]`` (sorted) outside of them; the rest is idle.

    Its size depends on the number of intervals, never on the number of buckets."""

    full: Runs = Runs()
    buckets: Array = field(default_factory=_none)
    times: Array = field(default_factory=_none)

    def total(self, grid: Grid) -> int:
        """Sum over all buckets, in ns."""
        return self.full.measure * grid.width + int(self.times.sum())

    def lower_bound(self, other: Busy, grid: Grid) -> int:
        """Sum over all buckets of max(0, this busy time + the other's - width), in ns: in a bucket where both together
        are busy for longer than it lasts, they must be busy at the same time for at least the difference."""
        both = self.full.common(other.full) * grid.width
        both += int(self.times[_inside(other.full, self.buckets)].sum())
        both += int(other.times[_inside(self.full, other.buckets)].sum())
        _, mine, theirs = np.intersect1d(self.buckets, other.buckets, assume_unique=True, return_indices=True)
        return both + int(np.maximum(self.times[mine] + other.times[theirs] - grid.width, 0).sum())


def busiest(several: Sequence[Busy]) -> Busy:
    """For each bucket the maximum over ``several``. Associative and commutative."""
    if len(several) == 1:
        return several[0]
    full = union_of([busy.full for busy in several])
    return _greatest(full, _joined([busy.buckets for busy in several]), _joined([busy.times for busy in several]))


def _greatest(full: Runs, buckets: Array, times: Array) -> Busy:
    outside = ~_inside(full, buckets)
    buckets, times = buckets[outside], times[outside]
    order = np.argsort(buckets, kind="stable")
    buckets, times = buckets[order], times[order]
    heads = _heads(buckets)
    return Busy(full, buckets[heads], np.maximum.reduceat(times, heads) if len(heads) else NONE)


@dataclass(frozen=True, eq=False)
class Busyness:
    """What ``busy_of`` finds: the maximum over the processes, and, of the buckets named in ``cut``, which are not whole
    in the time that was looked at, the time of each process: bucket -> number of the process -> ns."""

    most: Busy
    cut: dict[int, dict[int, int]]


def busy_of(processes: Sequence[Runs], grid: Grid, cut: Iterable[int] = ()) -> Busyness:
    """Busy time per bucket, maximum over processes; each process's own events are merged already, so that none is busy
    for longer than a bucket lasts. Each interval is split at the edges of the buckets."""
    width = grid.width
    starts = _joined([runs.starts for runs in processes]) - grid.origin
    ends = _joined([runs.ends for runs in processes]) - grid.origin
    owners = np.repeat(np.arange(len(processes)), [len(runs) for runs in processes])
    first, last = starts // width, (ends - 1) // width
    full_from, full_to = -(-starts // width), ends // width
    full = union(full_from, full_to)
    # what is left of an interval: a piece in its first bucket, and one in its last, where it does not fill them
    alone = (first == last) & (full_to <= full_from)
    left = (first < last) & (full_from > first)
    right = (first < last) & (full_to <= last)
    buckets = np.concatenate((first[alone], first[left], last[right]))
    times = np.concatenate(
        (ends[alone] - starts[alone], (first[left] + 1) * width - starts[left], ends[right] - last[right] * width)
    )
    owners = np.concatenate((owners[alone], owners[left], owners[right]))
    order = np.lexsort((owners, buckets))
    buckets, times, owners = buckets[order], times[order], owners[order]
    heads = _heads(buckets, owners)
    if len(heads):
        buckets, times, owners = buckets[heads], np.add.reduceat(times, heads), owners[heads]
    pieces: dict[int, dict[int, int]] = {}
    for number in cut:
        low, high = np.searchsorted(buckets, [number, number + 1])
        if low < high:
            pieces[number] = dict(zip(owners[low:high].tolist(), times[low:high].tolist(), strict=True))
            buckets, times, owners = (np.concatenate((array[:low], array[high:])) for array in (buckets, times, owners))
    return Busyness(_greatest(full, buckets, times), pieces)


def busy_in(times: dict[int, int]) -> Busy:
    """The busy time of single buckets."""
    buckets = sorted(times)
    return Busy(Runs(), np.array(buckets, np.int64), np.array([times[bucket] for bucket in buckets], np.int64))


def _heads(*keys: Array) -> Array:
    """Where a new value begins in sorted keys."""
    if not len(keys[0]):
        return NONE
    new = np.zeros(len(keys[0]), np.bool_)
    new[0] = True
    for key in keys:
        new[1:] |= key[1:] != key[:-1]
    return np.flatnonzero(new)


def _inside(ranges: Runs, numbers: Array) -> npt.NDArray[np.bool_]:
    """For each number whether one of the ranges holds it."""
    if not len(ranges):
        return np.zeros(len(numbers), np.bool_)
    position = np.searchsorted(ranges.starts, numbers, "right") - 1
    return (position >= 0) & (numbers < ranges.ends[np.maximum(position, 0)])


# --- distributions of durations --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Durations:
    """How often each duration (ns, at least 0) occurs: sorted ``values`` and their ``counts``.

    Exact up to ``DISTINCT`` different values. Beyond that, the values lose low bits: with ``level`` n, at most 63 - n
    significant bits are kept of each (the rest set to 0), n being the smallest for which no more than ``DISTINCT``
    values are left. At least 11 significant bits always are, so a value is off by less than 0.1 %. The level depends on
    the set of durations alone, as a set needs no lower level than any part of it: merging is associative and
    commutative, and the outcome the same in whatever parts the durations came."""

    values: Array = field(default_factory=_none)
    counts: Array = field(default_factory=_none)
    level: int = 0
    longest: int = 0

    @property
    def count(self) -> int:
        return int(self.counts.sum())

    def percentile(self, percent: int) -> int:
        """The smallest duration that at least ``percent`` in a hundred do not exceed (nearest rank); 0 without any."""
        if not len(self.values):
            return 0
        rank = -(-self.count * percent // 100)
        return int(self.values[np.searchsorted(np.cumsum(self.counts), max(rank, 1))])


def durations_of(values: Array) -> Durations:
    """The distribution of durations, all at least 0."""
    distinct, counts = np.unique(values, return_counts=True)
    longest = int(distinct[-1]) if len(distinct) else 0
    return _rounded(distinct, counts.astype(np.int64), 0, longest)


def merge_durations(several: Sequence[Durations]) -> Durations:
    """All durations of all. Associative and commutative."""
    level = max((durations.level for durations in several), default=0)
    values = _cut_bits(_joined([durations.values for durations in several]), level)
    longest = max((durations.longest for durations in several), default=0)
    return _rounded(*_grouped(values, _joined([durations.counts for durations in several])), level, longest)


def _rounded(values: Array, counts: Array, level: int, longest: int) -> Durations:
    while len(values) > DISTINCT:
        level += 1
        values, counts = _grouped(_cut_bits(values, level), counts)
    return Durations(values, counts, level, longest)


def _grouped(values: Array, counts: Array) -> tuple[Array, Array]:
    distinct, places = np.unique(values, return_inverse=True)
    sums = np.zeros(len(distinct), np.int64)
    np.add.at(sums, places, counts)
    return distinct, sums


def _cut_bits(values: Array, level: int) -> Array:
    """``values`` with at most 63 - level significant bits; one level's values are rounded alike by every higher one."""
    if not level:
        return values
    # frexp of a float that was rounded up to a power of two would give a bit too many; so look at the high half alone
    high = values >> 32
    length = np.where(high > 0, _length(high) + 32, _length(values & 0xFFFFFFFF))
    drop = np.maximum(length - (_BITS - level), 0)
    rounded: Array = (values >> drop) << drop
    return rounded


def _length(values: Array) -> Array:
    """Number of bits of values below 2**32."""
    return np.frexp(values.astype(np.float64))[1].astype(np.int64)
