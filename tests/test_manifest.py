"""The manifest's file: what is written is read back, and what is broken is told from what is not."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dfannotate.manifest import FileEntry, Manifest, ManifestError, Site, Skip, Undo, dump, load, save

ENTRY = FileEntry(
    path="pkg/träin step.py",
    category="train",
    entry=True,
    sha256_before="0" * 64,
    sha256_after="1" * 64,
    sites=(
        Site("decorator", "Trainer.step", "Trainer.step", "train", 41),
        Site("lifecycle", "<module>", "", "", 60),
    ),
    skipped=(Skip("Trainer.name", 50, "trivial"), Skip("f", 55, "generator")),
    undo=(Undo(3, 5, ""), Undo(41, 42, 'x = "\u2028\\"\r\n')),
    names={"instance": "_dft"},
    introduced=("instance",),
)
PLAIN = FileEntry("b.py", "b", False, "2" * 64, "2" * 64, (), (Skip("g", 1, "trivial"),))
UNTEXT = FileEntry("c\udcff.py", "c", False, "3" * 64, "3" * 64)
MANIFEST = Manifest("2.2.0", (PLAIN, UNTEXT, ENTRY))


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    save(MANIFEST, tmp_path / "folder" / "m.json")
    assert load(tmp_path / "folder" / "m.json") == MANIFEST
    save(Manifest("2.2.0"), tmp_path / "m.json")
    assert load(tmp_path / "m.json") == Manifest("2.2.0")


def test_the_keys_are_those_of_the_contract() -> None:
    document = json.loads(dump(MANIFEST))
    assert list(document) == ["version", "tool", "target", "files"]
    assert document["version"] == 1
    assert document["tool"].startswith("dfannotate ")
    entry = document["files"][2]
    required = ["path", "category", "entry", "sha256_before", "sha256_after", "sites", "skipped"]
    assert list(entry)[: len(required)] == required
    assert list(document["files"][0]) == required
    assert list(entry["sites"][0]) == ["kind", "function", "event", "category", "line"]
    assert list(entry["skipped"][0]) == ["function", "line", "reason"]


def test_one_line_for_each_site_skip_and_undo() -> None:
    lines = dump(MANIFEST).splitlines()
    for part in ('"kind":', '"reason":', '"before":'):
        holding = [line for line in lines if part in line]
        assert holding
        assert all(line.count(part) == 1 for line in holding)
    more = Manifest("2.2.0", (PLAIN, UNTEXT, FileEntry(**{**vars(ENTRY), "sites": ENTRY.sites[:1]})))
    assert len(set(dump(MANIFEST).splitlines()) - set(dump(more).splitlines())) <= 2
    assert dump(MANIFEST).isascii()
    assert dump(MANIFEST).endswith("}\n")


def test_an_unchanged_manifest_is_not_written_again(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    save(MANIFEST, path)
    before = path.stat()
    save(MANIFEST, path)
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link.json").symlink_to("real.json")
    save(MANIFEST, tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    assert load(tmp_path / "real.json") == MANIFEST


def test_the_mode_is_what_the_user_wants_of_new_files(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        save(MANIFEST, tmp_path / "m.json")
    finally:
        os.umask(before)
    assert (tmp_path / "m.json").stat().st_mode & 0o777 == 0o640


def test_a_fault_leaves_the_old_one_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.json"
    save(MANIFEST, path)
    before = path.read_bytes()

    def fail(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    for call in ("replace", "fsync"):
        with monkeypatch.context() as patched:
            patched.setattr(os, call, fail)
            with pytest.raises(OSError, match="No space"):
                save(Manifest("2.1.0", (PLAIN,)), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_merging_keeps_the_others_and_the_order() -> None:
    changed = FileEntry("a.py", "a", False, "4" * 64, "4" * 64)
    merged = Manifest("2.1.0", (PLAIN, ENTRY)).merged("2.2.0", [changed], ["b.py", "never.py"])
    assert [entry.path for entry in merged.files] == ["a.py", "pkg/träin step.py"]
    assert merged.target == "2.2.0"


def document() -> dict[str, Any]:
    value: dict[str, Any] = json.loads(dump(MANIFEST))
    return value


def changed(*keys: Any, to: object) -> Callable[[], bytes]:
    """The manifest with one value replaced; ``...`` takes the key out."""

    def make() -> bytes:
        whole: Any = document()
        place = whole
        for key in keys[:-1]:
            place = place[key]
        if to is ...:
            del place[keys[-1]]
        else:
            place[keys[-1]] = to
        return json.dumps(whole).encode()

    return make


BROKEN: dict[str, tuple[Callable[[], bytes], str]] = {
    "empty": (lambda: b"", "not JSON"),
    "cut": (lambda: dump(MANIFEST).encode()[:-40], "not JSON"),
    "conflict-markers": (lambda: b"<<<<<<< HEAD\n" + dump(MANIFEST).encode(), "not JSON"),
    "bytes": (lambda: b"\xff\xfe\x00", "not JSON"),
    "nested": (lambda: b"[" * 100_000, "not JSON"),
    "a-list": (lambda: b"[]", "an object is expected"),
    "no-version": (changed("version", to=...), "version None"),
    "later-version": (changed("version", to=2), "version 2"),
    "version-true": (changed("version", to=True), "version True"),
    "version-float": (changed("version", to=1.0), "version 1.0"),
    "no-target": (changed("target", to=...), "no 'target'"),
    "target-number": (changed("target", to=2.2), "'target' must be a string"),
    "no-files": (changed("files", to=...), "no 'files'"),
    "files-object": (changed("files", to={}), "'files' must be a list"),
    "file-a-string": (changed("files", 2, to="a.py"), "'files' must be a list of objects"),
    "no-path": (changed("files", 2, "path", to=...), "no 'path'"),
    "empty-path": (changed("files", 2, "path", to=""), "'path' must be relative"),
    "absolute-path": (changed("files", 2, "path", to="/etc/passwd"), "'path' must be relative"),
    "path-with-nul": (changed("files", 2, "path", to="a\0.py"), "'path' must be relative"),
    "path-twice": (changed("files", 2, "path", to="b.py"), "listed twice"),
    "entry-number": (changed("files", 2, "entry", to=1), "'entry' must be true or false"),
    "hash-null": (changed("files", 2, "sha256_after", to=None), "'sha256_after' must be a string"),
    "no-sites": (changed("files", 2, "sites", to=...), "no 'sites'"),
    "unknown-kind": (changed("files", 2, "sites", 0, "kind", to="magic"), "unknown kind of site 'magic'"),
    "line-string": (changed("files", 2, "sites", 0, "line", to="41"), "'line' must be an integer"),
    "line-bool": (changed("files", 2, "sites", 0, "line", to=True), "'line' must be an integer"),
    "skipped-strings": (changed("files", 2, "skipped", to=["f"]), "'skipped' must be a list of objects"),
    "undo-backwards": (changed("files", 2, "undo", 0, "end", to=1), "no lines 3 to 1"),
    "undo-before-the-first": (changed("files", 2, "undo", 0, "start", to=0), "no lines 0 to 5"),
    "names-list": (changed("files", 2, "names", to=["_dft"]), "'names' must be an object"),
    "names-numbers": (changed("files", 2, "names", to={"instance": 1}), "'names' must be an object"),
    "introduced-string": (changed("files", 2, "introduced", to="instance"), "'introduced' must be a list"),
    "introduced-numbers": (changed("files", 2, "introduced", to=[1]), "'introduced' must be a list"),
}


@pytest.mark.parametrize(("make", "message"), BROKEN.values(), ids=BROKEN)
def test_broken(tmp_path: Path, make: Callable[[], bytes], message: str) -> None:
    path = tmp_path / "m.json"
    path.write_bytes(make())
    with pytest.raises(ManifestError) as raised:
        load(path)
    assert str(raised.value).startswith(f"{path}: ")
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_what_only_revert_needs_may_be_missing_and_more_may_be_there(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    whole = document()
    for key in ("undo", "names", "introduced"):
        del whole["files"][2][key]
    whole["more"] = whole["files"][2]["more"] = 1
    path.write_text(json.dumps(whole))
    assert load(path).files[2] == FileEntry(**{**vars(ENTRY), "undo": (), "names": {}, "introduced": ()})


def test_a_missing_or_unreadable_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "m.json")
    with pytest.raises(IsADirectoryError):
        load(tmp_path)
