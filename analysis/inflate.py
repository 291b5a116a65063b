"""Concatenated gzip members, inflated block by block: what stands before a break is given, and what stands after it.

The standard readers raise at the first fault and keep the last block to themselves. A killed process leaves a member
that is cut off, a damaged copy one that is broken in the middle; in both cases every byte that can be had is wanted,
and the place of the break.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Protocol, cast

from isal import isal_zlib

from dfannotate.analysis.traces import ProblemKind

MAGIC = b"\x1f\x8b\x08"

_ISAL_ERROR = cast("type[Exception]", isal_zlib.error)  # its stubs call it an instance
_GZIP = 31  # window bits that mean "a gzip header and trailer" to zlib
_READ = 1 << 16
_INFLATED = 1 << 18
_SMALL = 1 << 12
_RESYNCS = 100
_FALSE_STARTS = 10_000
"""Places that look like the beginning of a member and are none, after which no more are looked at: chance makes one in
16 MiB, so more are no accident."""
_LINE_STARTS = b"{[]\r\n"


class Stream(Protocol):
    """What is read from: a binary file, or something that watches over one."""

    def read(self, size: int, /) -> bytes: ...

    def seek(self, offset: int, /) -> int: ...


@dataclass(frozen=True)
class _Doubt:
    """A member that the fast way could not read to its end: where it begins, and how many bytes it gave."""

    start: int
    produced: int


@dataclass(frozen=True)
class _Break:
    """A member that has no end: where it begins, where it breaks, and why; no reason where the file ends first."""

    start: int
    place: int
    reason: str


class Members:
    """The members of one gzip file. ``whole`` counts those that were intact, once ``blocks`` is exhausted.

    ``report`` is called with the kind, a message and the offset in bytes of each break."""

    def __init__(self, stream: Stream, report: Callable[[ProblemKind, str, int], None]) -> None:
        self.whole = 0
        self._stream = stream
        self._report = report
        self._false_starts = 0

    def blocks(self) -> Iterator[bytes]:
        """The uncompressed bytes, at most 256 KiB at a time; a newline stands for each broken place."""
        start = 0
        for _ in range(_RESYNCS):
            found = yield from self._intact(start)
            if found is None:
                return
            broken = (yield from self._rest(found)) if isinstance(found, _Doubt) else found
            if isinstance(broken, int):
                start = broken
                continue
            # A member whose end is damaged runs on into those behind it, so the search begins at its own beginning.
            following = self._next_member(broken.start + 1)
            if broken.reason or following is not None:
                reason = broken.reason or "its end is not found"
                self._report("corrupt", f"damaged gzip member from byte {broken.start} ({reason})", broken.place)
            else:
                message = f"cut off in the gzip member that begins at byte {broken.start}"
                self._report("truncated", message, broken.place)
            if following is None:
                return
            yield b"\n"  # what follows does not continue the line that broke off
            start = following
        self._report("corrupt", "too many broken places: nothing was read from here on", start)

    def _intact(self, start: int) -> Generator[bytes, None, _Doubt | _Break | None]:
        """Members from ``start`` on, fast, up to the first doubt; None at the end of the file."""
        stream = self._stream
        stream.seek(start)
        position = start
        produced = 0
        inflater = isal_zlib.decompressobj(wbits=_GZIP)
        inside = False  # a member
        while block := stream.read(_READ):
            position += len(block)
            while block:
                if not inside:
                    if not block.strip(b"\0"):
                        break  # padding, as gzip itself takes it
                    start, produced, inside = position - len(block), 0, True
                    if not (block.startswith(MAGIC) or MAGIC.startswith(block)):
                        return _Doubt(start, 0)
                    inflater = isal_zlib.decompressobj(wbits=_GZIP)
                try:
                    output = inflater.decompress(block, _INFLATED)
                    block = inflater.unconsumed_tail
                    while output:
                        produced += len(output)
                        yield output
                        # a full block of output: the input may be used up and still have more to give
                        more = len(output) == _INFLATED and not block and not inflater.eof
                        output = inflater.decompress(b"", _INFLATED) if more else b""
                except _ISAL_ERROR:
                    return _Doubt(start, produced)
                if inflater.eof:
                    block = inflater.unused_data
                    inside = False
                    self.whole += 1
        return _Break(start, position, "") if inside else None

    def _rest(self, doubt: _Doubt) -> Generator[bytes, None, _Break | int]:
        """What a member gives beyond the bytes that it gave already, up to the very byte where it breaks.

        Returns the break, or where the next member begins if this one is intact after all."""
        self._stream.seek(doubt.start)
        position = doubt.start
        produced = doubt.produced
        inflater = zlib.decompressobj(_GZIP)
        while block := self._stream.read(_SMALL):
            before = inflater.copy()
            try:
                output = inflater.decompress(block)
            except zlib.error:
                inflater = before
                gathered = bytearray()
                for index in range(len(block)):
                    try:
                        gathered += inflater.decompress(block[index : index + 1])
                    except zlib.error as error:
                        yield bytes(gathered[produced:])
                        reason = str(error).removeprefix("Error -3 while decompressing data: ")
                        return _Break(doubt.start, position + index, reason)
                output = bytes(gathered)
            position += len(block) - len(inflater.unused_data)
            if len(output) > produced:
                yield output[produced:]
            produced = max(0, produced - len(output))
            if inflater.eof:
                self.whole += 1
                return position
        return _Break(doubt.start, position, "")

    def _next_member(self, start: int) -> int | None:
        """Where the next thing that inflates to lines begins, at or after ``start``."""
        self._stream.seek(start)
        position = start
        window = b""
        while block := self._stream.read(_READ):
            window += block
            found = window.find(MAGIC)
            while found >= 0:
                if self._begins_member(position + found):
                    return position + found
                self._false_starts += 1
                if self._false_starts > _FALSE_STARTS:
                    return None
                found = window.find(MAGIC, found + 1)
            kept = len(MAGIC) - 1
            position += len(window) - kept
            window = window[-kept:]
            self._stream.seek(position + kept)
        return None

    def _begins_member(self, start: int) -> bool:
        self._stream.seek(start)
        try:
            output = zlib.decompressobj(_GZIP).decompress(self._stream.read(_SMALL), _SMALL)
        except zlib.error:
            return False
        return output[:1] != b"" and output[:1] in _LINE_STARTS
