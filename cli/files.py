"""Reading and replacing source files: the only place that writes one."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from dfannotate.source import ParseFailure


class WriteError(Exception):
    """A file that could not be replaced; the message names it and says why. The old file is untouched."""


def read_bytes(path: Path, shown: str) -> bytes:
    """The content of a file. Raises ``ParseFailure`` where it cannot be read: to a user that is the same fault."""
    try:
        return path.read_bytes()
    except IsADirectoryError:
        raise ParseFailure(shown, 0, 0, "a folder that cannot be listed, or not a Python file") from None
    except OSError as error:
        raise ParseFailure(shown, 0, 0, error.strerror or str(error)) from None


def replace(path: Path, data: bytes, shown: str) -> None:
    """Put ``data`` in the place of ``path``, with its mode and, where possible, its owner.

    At any moment the file is the old one or the new one: the new one is written beside it, and renamed over it. Raises
    ``WriteError``."""
    temporary = path.with_name(f".{path.name}.dfannotate~")
    try:
        state = path.stat()
        if not state.st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
            raise WriteError(f"{shown}: the file is read-only; make it writable (chmod u+w) and run again")
        with open(temporary, "wb") as stream:
            stream.write(data)
            os.fchmod(stream.fileno(), stat.S_IMODE(state.st_mode))
            with contextlib.suppress(PermissionError):
                os.fchown(stream.fileno(), state.st_uid, state.st_gid)
        os.replace(temporary, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise WriteError(f"{shown}: cannot be written: {error.strerror or error}") from None
