"""Distributions of durations, in parts and merged; unions and intersections are tested through the overlap."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfannotate.analysis import intervals
from dfannotate.analysis.intervals import Durations, durations_of, merge_durations, union

VALUES = st.lists(st.integers(0, 50) | st.integers(0, 2**62), max_size=60)


def described(durations: Durations) -> tuple[object, ...]:
    return durations.values.tolist(), durations.counts.tolist(), durations.level, durations.longest


@given(VALUES, st.integers(1, 100))
def test_percentiles_are_exact_while_there_is_room(values: list[int], percent: int) -> None:
    found = durations_of(np.array(values, np.int64))
    rank = -(-len(values) * percent // 100)
    assert found.percentile(percent) == (sorted(values)[rank - 1] if values else 0)
    assert (found.count, found.level) == (len(values), 0)


@pytest.fixture(params=[1 << 16, 128], ids=["room for all", "room for few"])
def _room(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intervals, "DISTINCT", request.param)


@pytest.mark.usefixtures("_room")
@pytest.mark.parametrize("seed", range(4))
def test_parts_and_their_order_do_not_matter(seed: int) -> None:
    chance = random.Random(seed)
    values = [chance.randrange(10 ** chance.randrange(1, 18)) for _ in range(3000)]
    whole = durations_of(np.array(values, np.int64))
    chance.shuffle(values)
    parts = [durations_of(np.array(values[first : first + 170], np.int64)) for first in range(0, 3000, 170)]
    while len(parts) > 1:
        chance.shuffle(parts)
        size = chance.randint(2, 4)
        parts = [merge_durations(parts[first : first + size]) for first in range(0, len(parts), size)]
    assert described(parts[0]) == described(whole)
    assert len(whole.values) <= intervals.DISTINCT


def test_what_there_is_no_room_for_is_rounded_by_less_than_a_thousandth() -> None:
    values = np.random.default_rng(0).integers(1, 10**15, 300_000)
    found = durations_of(values)
    assert found.level > 0
    assert len(found.values) <= intervals.DISTINCT
    for percent in (1, 50, 99, 100):
        true = int(np.sort(values)[-(-len(values) * percent // 100) - 1])
        assert true * 0.999 < found.percentile(percent) <= true
    assert found.longest == int(values.max())


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ([], []),
        ([(3, 3)], []),
        ([(1, 3), (3, 5)], [(1, 5)]),
        ([(4, 6), (1, 9), (2, 3)], [(1, 9)]),
        ([(5, 6), (1, 2), (5, 8)], [(1, 2), (5, 8)]),
    ],
    ids=["nothing", "empty", "touching", "nested", "unsorted"],
)
def test_unions(spans: list[tuple[int, int]], expected: list[tuple[int, int]]) -> None:
    starts, ends = (np.array([span[index] for span in spans], np.int64) for index in (0, 1))
    found = union(starts, ends)
    assert list(zip(found.starts.tolist(), found.ends.tolist(), strict=True)) == expected
