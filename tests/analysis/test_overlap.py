"""The overlap of two kinds of events: against a reference that counts microsecond by microsecond, and its laws."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfannotate.analysis import open_trace, sweep
from dfannotate.analysis.figures import Overlap
from dfannotate.analysis.overlap import overlap, parse_interval
from dfannotate.analysis.traces import TraceError
from tests.conftest import TRACES

BASE = 1_700_000_000_000_000
SPAN = 120


@dataclass(frozen=True)
class Event:
    """One event; times in microseconds."""

    process: int
    side: str
    start: int
    length: int


def frame_of(events: Sequence[Event], base: int = BASE) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "host": ["node"] * len(events),
            "pid": pd.Series([event.process for event in events], dtype="Int64"),
            "category": [event.side for event in events],
            "name": ["f"] * len(events),
            "start_ns": pd.Series([(base + event.start) * 1000 for event in events], dtype="Int64"),
            "duration_ns": pd.Series([event.length * 1000 for event in events], dtype="Int64"),
        }
    )


def figures(events: Sequence[Event], interval: str | int = "p99", base: int = BASE) -> Overlap:
    return overlap(frame_of(events, base), "A", "B", interval)


def write_trace(folder: Path, events: Sequence[Event], unit: str = "US") -> Path:
    """One finalized file for each process."""
    folder.mkdir(parents=True, exist_ok=True)
    factor = {"US": 1, "NS": 1000}[unit]
    for process in sorted({event.process for event in events}):
        pid = 100 + process
        head = {"pid": pid, "tid": pid}
        lines = [
            {"name": "HH", "cat": "dftracer", **head, "ph": 4, "args": {"name": "node", "value": "1"}},
            {"name": "CM", "cat": "dftracer", **head, "ph": 4, "args": {"name": "time_metric", "value": unit}},
            {"name": "start", "cat": "dftracer", **head, "ph": 1, "ts": BASE * factor, "dur": 0},
        ]
        lines += [
            {
                "name": "f",
                "cat": event.side,
                **head,
                "ph": 1,
                "id": number,
                "ts": (BASE + event.start) * factor,
                "dur": event.length * factor,
            }
            for number, event in enumerate(events)
            if event.process == process
        ]
        lines.append({"name": "end", "cat": "dftracer", **head, "ph": 1, "ts": BASE * factor, "dur": 0})
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / f"run-{process}.pfw").write_text(text, encoding="utf-8")
    return folder


@dataclass(frozen=True)
class Reference:
    lower: int
    exact: int
    totals: tuple[int, int]
    unions: tuple[int, int]
    same_process: int


def reference(events: Sequence[Event], width: int) -> Reference:
    """The same figures, a bit for each microsecond; ``width`` in microseconds."""
    busy: dict[str, dict[int, np.ndarray]] = {"A": {}, "B": {}}
    for event in events:
        bits = busy[event.side].setdefault(event.process, np.zeros(4 * SPAN, np.bool_))
        bits[event.start : event.start + event.length] = True
    timed = [event for event in events if event.length]
    origin = min((event.start for event in timed), default=0)
    end = max((event.start + event.length for event in timed), default=0)
    lower, totals = 0, [0, 0]
    for edge in range(origin, end, width):
        a, b = (max((int(bits[edge : edge + width].sum()) for bits in busy[side].values()), default=0) for side in "AB")
        totals[0] += a
        totals[1] += b
        lower += max(0, a + b - width)
    none = np.zeros(4 * SPAN, np.bool_)
    unions = [np.logical_or.reduce([none, *busy[side].values()]) for side in "AB"]
    same = sum(int((busy["A"].get(process, none) & bits).sum()) for process, bits in busy["B"].items())
    return Reference(
        lower,
        int((unions[0] & unions[1]).sum()),
        (totals[0], totals[1]),
        (int(unions[0].sum()), int(unions[1].sum())),
        same,
    )


EVENTS = st.builds(
    Event, st.integers(0, 3), st.sampled_from("AB"), st.integers(0, SPAN), st.integers(0, SPAN) | st.integers(0, 4)
)
EVENT_LISTS = st.lists(EVENTS, max_size=24).map(lambda events: [*events, Event(0, "A", 7, 3), Event(1, "B", 9, 5)])
WIDTHS = st.integers(1, 3 * SPAN)


@pytest.fixture(params=[None, 1, 4], ids=["one window", "tiny windows", "small windows"], scope="module")
def _windows(request: pytest.FixtureRequest) -> Iterator[None]:
    """The same again with time cut into windows of one run, and of four."""
    before = sweep.WINDOW
    sweep.WINDOW = request.param or before
    yield
    sweep.WINDOW = before


@pytest.mark.usefixtures("_windows")
@given(EVENT_LISTS, WIDTHS)
def test_all_figures_agree_with_a_count_of_microseconds(events: list[Event], width: int) -> None:
    found, true = figures(events, width), reference(events, width)
    assert found.lower == true.lower * 1000
    assert found.exact == true.exact * 1000
    assert (found.a.total, found.b.total) == (true.totals[0] * 1000, true.totals[1] * 1000)
    assert (found.a_union, found.b_union) == (true.unions[0] * 1000, true.unions[1] * 1000)
    assert found.same_process == true.same_process * 1000
    assert found.a.events == sum(event.side == "A" for event in events)
    assert found.b.processes == len({event.process for event in events if event.side == "B"})


# --- laws ------------------------------------------------------------------------------------------------------------


def hold_laws(found: Overlap) -> None:
    assert 0 <= found.lower <= found.exact <= min(found.a_union, found.b_union)
    assert found.a.total <= found.a_union
    assert found.same_process <= found.same_process_a
    for percentage in (found.pct_of_a, found.pct_of_b, found.stall_pct_of_a, found.pct_of_smaller):
        assert percentage is None or 0 <= percentage <= 100


@given(EVENT_LISTS, st.sampled_from(["p99", "max"]) | WIDTHS)
def test_the_bounds_hold_and_nothing_is_above_100(events: list[Event], interval: str | int) -> None:
    hold_laws(figures(events, interval))


@given(EVENT_LISTS, WIDTHS, st.integers(2, 7))
def test_a_finer_interval_keeps_the_laws_and_the_exact_figures(events: list[Event], width: int, parts: int) -> None:
    coarse, fine = figures(events, width * parts), figures(events, width)
    hold_laws(fine)
    assert (fine.exact, fine.a_union, fine.b_union) == (coarse.exact, coarse.a_union, coarse.b_union)
    # a maximum over processes of a sum is at most the sum of maxima
    assert fine.a.total >= coarse.a.total


@given(EVENT_LISTS, st.sampled_from(["p99", "max"]) | WIDTHS, st.integers(0, 10**15))
def test_a_shift_of_all_events_changes_nothing(events: list[Event], interval: str | int, shift: int) -> None:
    assert figures(events, interval) == figures(events, interval, base=shift)


@given(EVENT_LISTS, WIDTHS, st.data())
def test_an_event_may_as_well_be_two(events: list[Event], width: int, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(events) - 1))
    event = events[index]
    at = data.draw(st.integers(0, event.length))
    parts = [
        Event(event.process, event.side, event.start, at),
        Event(event.process, event.side, event.start + at, event.length - at),
    ]
    whole, split = figures(events, width), figures([*events[:index], *parts, *events[index + 1 :]], width)
    assert (split.lower, split.exact, split.a.total, split.b.total) == (
        whole.lower,
        whole.exact,
        whole.a.total,
        whole.b.total,
    )


@given(EVENT_LISTS, st.sampled_from(["p99", "max"]) | WIDTHS, st.permutations(range(4)))
def test_names_of_processes_and_the_order_of_events_do_not_matter(
    events: list[Event], interval: str | int, names: list[int]
) -> None:
    renamed = [Event(names[event.process], event.side, event.start, event.length) for event in reversed(events)]
    assert figures(events, interval) == figures(renamed, interval)


@given(EVENT_LISTS, st.sampled_from(["p99", "max"]) | WIDTHS)
def test_a_and_b_may_be_exchanged(events: list[Event], interval: str | int) -> None:
    found, exchanged = figures(events, interval), overlap(frame_of(events), "B", "A", interval)
    assert (found.lower, found.exact, found.interval) == (exchanged.lower, exchanged.exact, exchanged.interval)
    assert (found.a, found.b) == (exchanged.b, exchanged.a)
    assert found.pct_of_a == exchanged.pct_of_b


# --- the interval ----------------------------------------------------------------------------------------------------


def outlier() -> list[Event]:
    """The worked shape: a read every 10 ms, which takes 10 ms or 4 ms in turn, for 3.38 s; and something that hangs for
    the first half of it, and takes 10 ms beside every second read of the other half."""
    reads = [Event(1, "A", number * 10_000, 4_000 if number % 2 else 10_000) for number in range(338)]
    rest = [Event(0, "B", number * 10_000, 10_000) for number in range(170, 338, 2)]
    return [*reads, Event(0, "B", 0, 1_700_000), *rest]


def test_one_long_outlier_makes_two_buckets_of_the_maximum_and_169_of_the_percentile() -> None:
    found, coarse = figures(outlier()), figures(outlier(), "max")
    assert (found.interval, found.buckets) == (20_000_000, 169)
    assert (coarse.interval, coarse.buckets) == (1_700_000_000, 2)
    # while B hangs, A is busy for 14 of each 20 ms: 85 times; then 10 ms of B lie beside 10 of 14 ms of A: 84 times
    assert found.exact == coarse.exact == (85 * 14 + 84 * 10) * 10**6
    # of these second ones, 14 + 10 - 20 are proved by a bucket of 20 ms, and 84 * (14 + 10) - 1700 by one of 1.7 s
    assert found.lower == (85 * 14 + 84 * 4) * 10**6
    assert coarse.lower == (85 * 14 + 84 * 24 - 1700) * 10**6


@pytest.mark.parametrize(
    ("durations", "interval"),
    [
        ([5] * 99 + [100], 10),
        ([5] * 98 + [100, 100], 200),
        ([3], 6),
        ([0] * 99 + [7], 7),
        (list(range(1, 101)), 198),
        (list(range(1, 102)), 200),
    ],
    ids=["one in 100 is above", "two in 100 are above", "one event", "99 take no time", "1 to 100", "1 to 101"],
)
def test_the_interval_is_twice_the_nearest_rank_percentile(durations: list[int], interval: int) -> None:
    events = [Event(0, "A", 3 * number, length) for number, length in enumerate(durations)]
    frame = frame_of([*events, *(Event(1, "B", event.start, event.length) for event in events)])
    assert overlap(frame, "A", "B").interval == interval * 1000


@pytest.mark.parametrize(
    ("text", "interval"), [("p99", "p99"), ("max", "max"), ("5", 5000), ("0.001", 1), ("1e3", 1_000_000)]
)
def test_intervals_are_read(text: str, interval: str | int) -> None:
    assert parse_interval(text) == interval


@pytest.mark.parametrize("text", ["", "p95", "0", "-1", "0.0001", "nan", "inf", "1e99", "5us"])
def test_what_is_no_interval_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not p99, max or a number of microseconds"):
        parse_interval(text)


# --- from files ------------------------------------------------------------------------------------------------------

WORKED = [
    Event(0, "B", 0, 40),
    Event(0, "B", 60, 40),
    Event(1, "A", 10, 30),
    Event(1, "A", 15, 5),
    Event(2, "A", 30, 50),
]


@pytest.mark.parametrize("unit", ["US", "NS"])
def test_a_trace_gives_what_its_frame_gives_in_either_unit(tmp_path: Path, unit: str) -> None:
    trace = open_trace(write_trace(tmp_path, WORKED, unit))
    of_files, of_frame = overlap(trace, "A", "B", 10), overlap(trace.events, "A", "B", 10)
    assert of_files == of_frame
    true = reference(WORKED, 10)
    assert (of_files.lower, of_files.exact) == (true.lower * 1000, true.exact * 1000)
    assert of_files.a.events == 3


def test_units_may_differ_between_the_processes_of_a_run(tmp_path: Path) -> None:
    write_trace(tmp_path, [event for event in WORKED if event.process == 0], "NS")
    write_trace(tmp_path, [event for event in WORKED if event.process > 0], "US")
    assert overlap(open_trace(tmp_path), "A", "B", 10).exact == reference(WORKED, 10).exact * 1000


@given(EVENT_LISTS, WIDTHS)
def test_shares_of_processes_agree_with_a_count_of_microseconds(events: list[Event], width: int) -> None:
    found = overlap(frame_of(events), "A", "B", width, by="process")
    bits = {(side, process): np.zeros(4 * SPAN, np.bool_) for side in "AB" for process in range(4)}
    for event in events:
        bits[event.side, event.process][event.start : event.start + event.length] = True
    any_a = np.logical_or.reduce([bits["A", process] for process in range(4)])
    any_b = np.logical_or.reduce([bits["B", process] for process in range(4)])
    for share in found.processes:
        assert share.pid is not None
        a, b = bits["A", share.pid], bits["B", share.pid]
        counts = [a.sum(), b.sum(), (a & any_b).sum(), (b & any_a).sum(), (a & b).sum()]
        assert [share.a, share.b, share.a_hidden, share.b_hidden, share.both] == [1000 * int(n) for n in counts]
    assert {share.pid for share in found.processes} == {event.process for event in events if event.length}


def test_rounds_are_those_of_the_process_that_began_first(tmp_path: Path) -> None:
    rounds = [Event(0, "train_epoch", 0, 50), Event(0, "train_epoch", 50, 50), Event(1, "train_epoch", 5, 90)]
    folder = write_trace(tmp_path, [*WORKED, *rounds])
    for file in folder.glob("*.pfw"):
        text = file.read_text(encoding="utf-8").replace('"name": "f", "cat": "train_epoch"', '"name": "one epoch"')
        file.write_text(text, encoding="utf-8")
    found = overlap(open_trace(folder), "A", "B", 10, by="round")
    assert [(share.start // 1000 - BASE, share.end // 1000 - BASE) for share in found.rounds] == [(0, 50), (50, 100)]
    # B is busy in [0, 40) and [60, 100), A in [10, 80)
    assert [share.exact for share in found.rounds] == [30_000, 20_000]
    assert [share.a for share in found.rounds] == [40_000, 30_000]
    assert sum(share.exact for share in found.rounds) == found.exact


def test_events_of_both_overlap_with_themselves_and_that_is_said(tmp_path: Path) -> None:
    found = overlap(open_trace(write_trace(tmp_path, WORKED)), "A", "A:f,B:g", 10)
    assert found.exact == found.a_union
    assert any("3 events belong to A (A) and to B (A:f,B:g) both" in warning for warning in found.warnings)


def test_the_same_process_figure_stands_in_a_warning(tmp_path: Path) -> None:
    found = overlap(open_trace(write_trace(tmp_path, WORKED)), "A", "B", 10)
    assert found.same_process == 0
    (warning,) = found.warnings
    assert warning.startswith("same-process figure: 0 us, 0.0 % of A;")


# --- what there is no answer to --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("case", "a", "b", "reason"),
    [
        ("spawn-broken", "*:train_step", "*:epoch", "of 0 bytes"),
        ("fork-preload-broken", "*:train_step", "*:epoch", "of 0 bytes"),
        ("small-workers-deleted", "*:train_step", "*:epoch", "left no file"),
        ("no-finalize", "*", "*", "of 0 bytes"),
        ("aggregated", "*:augment", "*:augment", "are aggregated"),
        ("fork", "*:train_step", "*:nothing", r"no event matches B \(\*:nothing\)"),
        ("fork", "nothing", "*:epoch", r"no event matches A \(nothing\); the categories in it are"),
    ],
)
def test_no_figure_where_there_can_be_none(case: str, a: str, b: str, reason: str) -> None:
    with pytest.raises(TraceError, match=reason):
        overlap(open_trace(TRACES / case), a, b)


@pytest.mark.parametrize(
    "case",
    ["fork", "spawn", "forkserver", "no-metadata", "ns-metric", "fork-2.1.0", "spawn-2.0.3", "spawn-1.0.11"],
)
def test_real_traces_agree_with_a_count_of_microseconds(case: str) -> None:
    trace = open_trace(TRACES / case)
    frame = trace.events
    chosen = frame[frame["name"].isin(["Samples.__getitem__", "epoch", "train_step"])]
    origin = int(chosen["start_ns"].min())
    span = int((chosen["start_ns"] + chosen["duration_ns"]).max() - origin) // 1000
    bits = {name: np.zeros(span, np.bool_) for name in ("Samples.__getitem__", "epoch", "train_step")}
    for name, start, duration in zip(chosen["name"], chosen["start_ns"], chosen["duration_ns"], strict=True):
        first = (start - origin) // 1000
        bits[name][first : first + duration // 1000] = True
    for a, b in (("Samples.__getitem__", "epoch"), ("Samples.__getitem__", "train_step"), ("train_step", "epoch")):
        found = overlap(trace, f"*:{a}", f"*:{b}")
        assert found.exact == 1000 * int((bits[a] & bits[b]).sum())
        hold_laws(found)
    # every sample is loaded while an epoch is under way
    assert overlap(trace, "*:Samples*", "*:epoch").exact == overlap(trace, "*:Samples*", "*:epoch").a_union


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ({"ts": 0, "dur": BASE}, "1 events have times that cannot be"),
        ({"ts": 2**64 - 1, "dur": 1}, "1 events have times that cannot be"),
        ({"ts": BASE, "dur": -5}, "1 events have times that cannot be"),
        ({"dur": 5}, "1 events have times that cannot be"),
    ],
    ids=["around the initialization", "after finalize", "negative", "without a begin"],
)
def test_events_without_a_place_in_time_are_left_out_and_told(
    tmp_path: Path, line: dict[str, int], reason: str
) -> None:
    folder = write_trace(tmp_path, WORKED)
    with (folder / "run-1.pfw").open("a", encoding="utf-8") as stream:
        stream.write(json.dumps({"name": "f", "cat": "A", "pid": 101, "tid": 101, "ph": 1, **line}) + "\n")
    found = overlap(open_trace(folder), "A", "B", 10)
    assert found.exact == reference(WORKED, 10).exact * 1000
    assert reason in " ".join(found.warnings)
