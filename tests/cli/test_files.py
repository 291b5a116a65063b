"""Replacing a file: whole or not at all, and never over what somebody else wrote."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from dfannotate.cli import files
from dfannotate.source import ParseFailure, digest
from tests.conftest import TIMEOUT

OLD, NEW = b"old\n", b"new\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a file é.py"
    path.write_bytes(OLD)
    return path


def others(file: Path) -> list[str]:
    return [path.name for path in file.parent.iterdir() if path != file]


def test_replaced_with_its_mode(file: Path) -> None:
    file.chmod(0o754)
    files.replace(file, NEW, digest(OLD))
    assert file.read_bytes() == NEW
    assert stat.S_IMODE(file.stat().st_mode) == 0o754
    assert not others(file)


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser can give files away")
def test_replaced_with_its_owner(file: Path) -> None:
    os.chown(file, 12345, 54321)
    files.replace(file, NEW, digest(OLD))
    assert (file.stat().st_uid, file.stat().st_gid) == (12345, 54321)


def test_what_changed_since_it_was_read_stays(file: Path) -> None:
    with pytest.raises(files.WriteError, match="changed while"):
        files.replace(file, NEW, digest(b"older\n"))
    assert file.read_bytes() == OLD
    assert not others(file)


def test_a_file_that_went_away_does_not_come_back(file: Path) -> None:
    file.unlink()
    with pytest.raises(files.WriteError, match="gone"):
        files.replace(file, NEW, digest(OLD))
    assert not file.exists()
    assert not others(file)


def test_a_read_only_file_stays_also_for_the_superuser(file: Path) -> None:
    file.chmod(0o444)
    with pytest.raises(files.WriteError, match=r"read-only.*chmod u\+w"):
        files.replace(file, NEW, digest(OLD))
    assert file.read_bytes() == OLD


FAULTS = {
    "disk-full": (errno.ENOSPC, "No space left"),
    "quota": (errno.EDQUOT, "quota"),
    "read-only-file-system": (errno.EROFS, "Read-only file system"),
    "read-only-folder": (errno.EACCES, "Permission denied; make the folder writable"),
    "device-fault": (errno.EIO, "Input/output error"),
}


@pytest.mark.parametrize(("code", "message"), FAULTS.values(), ids=FAULTS)
@pytest.mark.parametrize("call", ["replace", "fchmod"])
def test_a_fault_leaves_the_old_file_and_nothing_else(
    file: Path, monkeypatch: pytest.MonkeyPatch, call: str, code: int, message: str
) -> None:
    def fail(*arguments: object, **keywords: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(files.WriteError, match=message):
        files.replace(file, NEW, digest(OLD))
    assert file.read_bytes() == OLD
    assert not others(file)


def test_a_write_that_the_system_stops_half_way(file: Path) -> None:
    """A limit on the size of files gives the error of a full disk, in the middle of a real write."""
    program = (
        "import resource, signal, sys, pathlib\n"
        "from dfannotate.cli import files\n"
        "from dfannotate.source import digest\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "path = pathlib.Path(sys.argv[1])\n"
        "try: files.replace(path, b'x' * 5000, digest(path.read_bytes()))\n"
        "except files.WriteError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, file], capture_output=True, text=True, check=True)
    assert "File too large" in done.stdout
    assert file.read_bytes() == OLD
    assert not others(file)


def test_an_interruption_leaves_nothing_behind(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        files.replace(file, NEW, digest(OLD))
    assert file.read_bytes() == OLD
    assert not others(file)


def test_what_a_killed_run_left_is_taken_over(file: Path) -> None:
    files.temporary_of(file).write_bytes(b"half")
    files.replace(file, NEW, digest(OLD))
    assert file.read_bytes() == NEW
    assert not others(file)


def test_a_link_in_the_place_of_the_temporary_file_is_not_followed(file: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(OLD)
    files.temporary_of(file).symlink_to(victim)
    files.replace(file, NEW, digest(OLD))
    assert victim.read_bytes() == OLD
    assert file.read_bytes() == NEW
    assert not file.is_symlink()


def test_reading_says_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(ParseFailure, match=r"^a\.py: cannot be read: No such file"):
        files.read_bytes(tmp_path / "a.py", "a.py")
    with pytest.raises(ParseFailure, match="folder"):
        files.read_bytes(tmp_path, "a.py")
    os.mkfifo(tmp_path / "pipe.py")
    with pytest.raises(ParseFailure, match="not a regular file"):
        files.read_bytes(tmp_path / "pipe.py", "pipe.py")
    assert files.digest_of(tmp_path / "a.py") is None


def test_a_lock_keeps_others_out(tmp_path: Path) -> None:
    program = (
        "import sys, pathlib\n"
        "from dfannotate.cli import files\n"
        "with files.locked(pathlib.Path(sys.argv[1])): print('in')"
    )
    with files.locked(tmp_path):
        other = subprocess.Popen([sys.executable, "-c", program, tmp_path], stdout=subprocess.PIPE, text=True)
        with pytest.raises(subprocess.TimeoutExpired):
            other.wait(1.5)
    out, _ = other.communicate(timeout=TIMEOUT)
    assert out == "in\n"
