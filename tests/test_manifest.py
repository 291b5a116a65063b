"""The manifest: what is written is what is read, and what cannot be used says so."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfannotate.manifest import FileEntry, Manifest, ManifestError, Site, Skip, Undo, dump, load, save

ENTRY = FileEntry(
    path="a/train.py",
    category="train",
    entry=True,
    sha256_before="0" * 64,
    sha256_after="1" * 64,
    sites=(Site("decorator", "Trainer.fit", "Trainer.fit", "train", 41), Site("lifecycle", "<module>", "", "", 60)),
    skipped=(Skip("Trainer.name", 50, "trivial"),),
    undo=(Undo(3, 6, ""), Undo(60, 70, 'if __name__ == "__main__": "é\r\n"\n')),
    names={"instance": "_dft", "function": "DFTracerFn"},
    introduced=("function", "instance"),
)
WHOLE = Manifest("2.2.0", (ENTRY, FileEntry("b.py", "b", False, "2" * 64, "2" * 64)))


def write(path: Path, document: object) -> Path:
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


def test_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "new" / "manifest.json"
    save(WHOLE, path)
    assert load(path) == WHOLE
    assert path.read_text() == dump(WHOLE)
    assert [item.name for item in path.parent.iterdir()] == ["manifest.json"]


TEXT = st.text(max_size=12)
NUMBER = st.integers(1, 10**6)
ENTRIES = st.builds(
    FileEntry,
    path=st.from_regex(r"[a-zé][a-zé/ ]{0,8}\.py", fullmatch=True),
    category=TEXT,
    entry=st.booleans(),
    sha256_before=TEXT,
    sha256_after=TEXT,
    sites=st.lists(st.builds(Site, st.sampled_from(["init", "pool"]), TEXT, TEXT, TEXT, NUMBER), max_size=3).map(tuple),
    skipped=st.lists(st.builds(Skip, TEXT, NUMBER, TEXT), max_size=3).map(tuple),
    undo=st.lists(st.builds(lambda a, n, t: Undo(a, a + n, t), NUMBER, NUMBER, TEXT), max_size=3).map(tuple),
    names=st.dictionaries(TEXT, TEXT, max_size=3),
    introduced=st.lists(TEXT, max_size=3).map(tuple),
)


@given(entries=st.lists(ENTRIES, max_size=3, unique_by=lambda entry: entry.path))
def test_any_manifest_comes_back(entries: list[FileEntry], tmp_path_factory: pytest.TempPathFactory) -> None:
    manifest = Manifest("2.2.0", tuple(entries))
    path = tmp_path_factory.getbasetemp() / "any.json"
    save(manifest, path)
    assert load(path) == manifest


def test_keys_of_the_contract() -> None:
    document = json.loads(dump(WHOLE))
    assert {key: document[key] for key in ("version", "target")} == {"version": 1, "target": "2.2.0"}
    assert document["tool"].startswith("dfannotate ")
    first = document["files"][0]
    wanted = {"path", "category", "entry", "sha256_before", "sha256_after", "sites", "skipped"}
    assert wanted <= set(first)
    assert wanted <= set(document["files"][1])
    assert first["sites"][0] == {
        "kind": "decorator", "function": "Trainer.fit", "event": "Trainer.fit", "category": "train", "line": 41,
    }  # fmt: skip
    assert first["skipped"] == [{"function": "Trainer.name", "line": 50, "reason": "trivial"}]


def test_manifest_of_the_contract_alone_is_read(tmp_path: Path) -> None:
    """Without what only ``revert`` needs."""
    document = json.loads(dump(WHOLE))
    for entry in document["files"]:
        for key in ("undo", "names", "introduced"):
            entry.pop(key, None)
    manifest = load(write(tmp_path / "m.json", document))
    assert manifest.files[0].sites == ENTRY.sites
    assert (manifest.files[0].undo, manifest.files[0].names, manifest.files[0].introduced) == ((), {}, ())


def test_merged_replaces_adds_removes_and_sorts() -> None:
    new = FileEntry("a/a.py", "a", False, "", "")
    changed = FileEntry("b.py", "other", True, "", "")
    merged = WHOLE.merged("2.1.0", [changed, new], ["a/train.py", "unknown.py"])
    assert merged.target == "2.1.0"
    assert merged.files == (new, changed)
    assert WHOLE.files[0] == ENTRY


def broken(**changes: Any) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(dump(WHOLE))
    for key, value in changes.items():
        where, _, last = key.rpartition("__")
        target: Any = document
        for part in where.split("__") if where else []:
            target = target[int(part)] if part.isdigit() else target[part]
        if value is None:
            target.pop(last)
        else:
            target[int(last) if last.isdigit() else last] = value
    return document


BROKEN = {
    "empty": ("", "not JSON"),
    "cut-off": (dump(WHOLE)[:200], "not JSON"),
    "nested-too-deeply": ("[" * 100_000, "not JSON"),
    "list": ([], "an object is expected"),
    "no-version": (broken(version=None), "manifest version None"),
    "newer": (broken(version=2), "manifest version 2"),
    "version-as-text": (broken(version="1"), "manifest version '1'"),
    "version-as-truth": (broken(version=True), "manifest version True"),
    "no-target": (broken(target=None), "'target'"),
    "no-files": (broken(files=None), "'files'"),
    "files-of-another-kind": (broken(files={"a": 1}), "'files' must be a list of objects"),
    "no-path": (broken(files__0__path=None), "'path'"),
    "absolute-path": (broken(files__0__path="/etc/passwd.py"), "relative"),
    "path-twice": (broken(files__1__path="a/train.py"), "twice"),
    "unknown-kind": (broken(files__0__sites__0__kind="laser"), "unknown kind of site 'laser'"),
    "line-as-text": (broken(files__0__sites__0__line="41"), "'line' must be an integer"),
    "line-as-truth": (broken(files__0__sites__0__line=True), "'line' must be an integer"),
    "entry-as-number": (broken(files__0__entry=1), "'entry' must be true or false"),
    "undo-backwards": (broken(files__0__undo__0__end=1), "no lines 3 to 1"),
    "names-as-list": (broken(files__0__names=["_dft"]), "'names'"),
    "introduced-as-text": (broken(files__0__introduced="instance"), "'introduced'"),
}


@pytest.mark.parametrize(("document", "message"), BROKEN.values(), ids=BROKEN)
def test_broken_manifest_says_what_is_wrong_and_where(document: object, message: str, tmp_path: Path) -> None:
    path = write(tmp_path / "manifest.json", document)
    with pytest.raises(ManifestError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    path.write_bytes(b'{"version": 1, "tool": "\xff"}')
    with pytest.raises(ManifestError, match="not JSON"):
        load(path)


def test_missing_file_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "manifest.json")


def test_save_keeps_what_is_the_same_and_replaces_what_is_not(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    save(WHOLE, path)
    first = path.stat()
    save(WHOLE, path)
    assert path.stat().st_mtime_ns == first.st_mtime_ns
    assert path.stat().st_ino == first.st_ino
    save(Manifest("2.2.0"), path)
    assert load(path).files == ()
    assert path.stat().st_ino != first.st_ino


def test_failed_save_leaves_the_old_manifest_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "manifest.json"
    save(WHOLE, path)

    def fail(*arguments: object, **options: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        save(Manifest("2.2.0"), path)
    assert load(path) == WHOLE
    assert [item.name for item in tmp_path.iterdir()] == ["manifest.json"]


def test_others_may_read_the_manifest(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    mask = os.umask(0o022)
    try:
        save(WHOLE, path)
    finally:
        os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
