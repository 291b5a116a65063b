"""Reading and replacing source files: the only place that writes one."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from dfannotate.source import ParseFailure, digest


class WriteError(Exception):
    """A file that could not be replaced; the message says why. The old file is untouched."""


def read_bytes(path: Path, shown: str) -> bytes:
    """The content of a file. Raises ``ParseFailure`` where it cannot be read: to a user that is the same fault."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # reading a pipe would wait for ever
            reason = "a folder that cannot be listed" if path.is_dir() else "not a regular file"
            raise ParseFailure(shown, 0, 0, reason)
        return path.read_bytes()
    except OSError as error:
        raise ParseFailure(shown, 0, 0, f"cannot be read: {error.strerror or error}") from None


def size_of(path: str | Path) -> int:
    """In bytes; 0 for what cannot be looked at."""
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def digest_of(path: Path) -> str | None:
    """The SHA-256 of a file's content, None where it cannot be read."""
    try:
        return digest(read_bytes(path, ""))
    except ParseFailure:
        return None


def replace(path: Path, data: bytes, seen: str) -> None:
    """Put ``data`` in the place of ``path``, with its mode and, where possible, its owner, unless its content is no
    longer the one whose SHA-256 is ``seen``.

    At any moment the file is the old one or the new one: the new one is written beside it, and renamed over it. Raises
    ``WriteError``."""
    temporary = temporary_of(path)
    try:
        state = path.stat()
        if not _is_writable(path, state.st_mode):
            raise WriteError("the file is read-only; make it writable (chmod u+w) and run again")
        try:
            remove_leftover(path)
            # Exclusive, so that a link that somebody put there is not followed.
            with open(temporary, "xb") as stream:
                stream.write(data)
                with contextlib.suppress(PermissionError):
                    os.fchown(stream.fileno(), state.st_uid, state.st_gid)
                os.fchmod(stream.fileno(), stat.S_IMODE(state.st_mode))
            if digest(path.read_bytes()) != seen:  # as late as can be: an editor may save at any time
                raise WriteError("changed while dfannotate was at work, so it was left alone; run again")
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise
    except FileNotFoundError:
        raise WriteError("gone since it was read") from None
    except PermissionError as error:
        raise WriteError(
            f"cannot be written: {error.strerror or error}; make the folder writable (chmod u+w) and run again"
        ) from None
    except OSError as error:
        raise WriteError(f"cannot be written: {error.strerror or error}") from None


def create(path: Path, data: bytes) -> None:
    """Write ``data`` to a file that is not there yet, all of it or nothing. Raises ``WriteError``."""
    temporary = temporary_of(path)
    try:
        remove_leftover(path)
        try:
            with open(temporary, "xb") as stream:
                stream.write(data)
            os.link(temporary, path)  # unlike a rename, it puts nothing in the place of what came meanwhile
        finally:
            remove_leftover(path)
    except FileExistsError:
        raise WriteError("somebody else made this file; run again") from None
    except OSError as error:
        raise WriteError(f"cannot be written: {error.strerror or error}") from None


def temporary_of(path: Path) -> Path:
    """Where the new content of ``path`` is written first. Always the same name, hidden and not a Python file's: what a
    killed run left is found, by nobody else, and goes with the next run."""
    return path.with_name(f".{path.name}.dfannotate~")


def remove_leftover(path: Path) -> None:
    """Remove what a killed run may have left beside ``path``."""
    with contextlib.suppress(FileNotFoundError):
        temporary_of(path).unlink()


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold ``folder`` against other runs: one writes at a time, and knows of what the one before wrote. Where the file
    system has no locks, there is none."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _is_writable(path: Path, mode: int) -> bool:
    # The bits are asked too: the superuser may write whatever is read-only, but nobody means it to.
    return bool(mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH)) and os.access(path, os.W_OK)
