"""Members alone, against zlib: what comes out of a file that is cut, to the byte."""

from __future__ import annotations

import gzip
import io
import zlib

from dfannotate.analysis.inflate import Members
from dfannotate.analysis.traces import ProblemKind

Report = tuple[ProblemKind, str, int]


def read(data: bytes) -> tuple[bytes, int, list[Report]]:
    reports: list[Report] = []
    members = Members(io.BytesIO(data), lambda *report: reports.append(report))
    blocks = list(members.blocks())
    assert max(map(len, blocks), default=0) <= 1 << 18
    return b"".join(blocks), members.whole, reports


def test_output_that_is_pending_when_the_input_ends_is_given() -> None:
    # a few bytes of this stand for a whole block of output, so that cuts fall where one is just full
    data = gzip.compress(b'{"a":1}\n' * 70_000, mtime=0)
    for end in range(20, len(data)):
        cut = data[:end]
        text, whole, reports = read(cut)
        assert text == zlib.decompressobj(31).decompress(cut)
        assert whole == 0
        assert [kind for kind, _, _ in reports] == ["truncated"]


def test_whole_members_are_given_and_counted() -> None:
    data = gzip.compress(b"one\n") + gzip.compress(b"") + gzip.compress(b"two\n")
    assert read(data) == (b"one\ntwo\n", 3, [])
