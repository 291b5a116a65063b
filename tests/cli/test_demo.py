"""``dfannotate demo``: the whole loop, for real, and its voice when a part of it goes wrong."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from dfannotate import manifest as manifests
from dfannotate.cli import apply as apply_module
from dfannotate.cli import demo as module
from dfannotate.cli import revert as revert_module
from dfannotate.cli.apply import ApplyOptions, apply
from dfannotate.cli.config import Config
from dfannotate.cli.demo import EXPECTED, PACKAGE, SHOWN, SOURCE, demo
from dfannotate.cli.environment import without_tracer_variables
from dfannotate.cli.show import UserError
from dfannotate.cli.traced import Tracer
from dfannotate.cli.verify import verify
from tests.conftest import WITHOUT_TORCH, files_of

PARTS = 6


@pytest.fixture(autouse=True)
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No tracer variables, a temporary folder that can be looked into, and no torch, which only takes time here."""
    for name in set(os.environ) - set(without_tracer_variables(os.environ)):
        monkeypatch.delenv(name)
    monkeypatch.setenv("PYTHONPATH", str(WITHOUT_TORCH))
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))


def test_every_part_goes_well_and_nothing_is_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert demo(keep=None, quiet=False) == 0
    out = capsys.readouterr().out
    assert f"== {PARTS}/{PARTS} revert" in out
    assert "+@_dft.log" in out
    assert f"all {PARTS} parts went well" in out
    assert "dfannotate demo --keep DIR" in out
    assert list((tmp_path / "temporary").iterdir()) == []


def test_keep_leaves_the_annotated_program_and_its_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep = tmp_path / "kept"
    # A project around it must not become the project that is annotated.
    (tmp_path / "pyproject.toml").write_text("[tool.dfannotate]\n")

    assert demo(keep=keep, quiet=True) == 0

    assert capsys.readouterr().out.count("\n") == 1
    assert not (tmp_path / ".dfannotate").exists()
    original = files_of(SOURCE)
    assert files_of(keep / "reverted") == original
    annotated = files_of(keep / "program")
    changed = {name for name, content in annotated.items() if content != original[name]}
    assert SHOWN in changed
    assert annotated.keys() == original.keys()
    manifest = keep / "program" / ".dfannotate" / "manifest.json"
    assert {entry.path for entry in manifests.load(manifest).files if entry.sites} == changed
    assert verify(keep / "traces", manifest=manifest, expect=(), output="json", quiet=True) == 0


def test_keep_takes_no_folder_that_is_in_use(tmp_path: Path) -> None:
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "file").write_text("mine")
    with pytest.raises(UserError, match="not empty"):
        demo(keep=tmp_path / "used", quiet=False)
    with pytest.raises(UserError, match="name a new folder"):
        demo(keep=tmp_path / "used" / "file", quiet=False)
    assert (tmp_path / "used" / "file").read_text() == "mine"


@pytest.mark.parametrize("tracer", [Tracer(False, False), Tracer(True, False)], ids=["none", "python half"])
def test_without_tracer_says_how_to_get_it(tracer: Tracer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_tracer", lambda interpreter: tracer)
    with pytest.raises(UserError, match=r"pip install 'dfannotate\[tracer\]'"):
        demo(keep=tmp_path / "kept", quiet=False)
    assert not (tmp_path / "kept").exists()


def _apply_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apply_module, "apply", lambda options, config: 0)


def _apply_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apply_module, "apply", lambda options, config: 2)


def _apply_breaks(old: str, new: str) -> Callable[[pytest.MonkeyPatch], None]:
    """``apply`` as it is, and then a line of the annotated program changed."""

    def broken(options: ApplyOptions, config: Config) -> int:
        code = apply(options, config)
        path = options.paths[0] / SHOWN
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))
        return code

    return lambda monkeypatch: monkeypatch.setattr(apply_module, "apply", broken)


def _more_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EXPECTED", {**EXPECTED, "checkpoint:load_checkpoint": 2})


def _reverts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(revert_module, "revert", lambda options, config: 0)


LOADS = "        state = pickle.load(stream)\n"


@pytest.mark.parametrize(
    ("sabotage", "part", "said"),
    [
        pytest.param(_apply_fails, "2, apply,", "exit code 2", id="apply fails"),
        pytest.param(_apply_nothing, "2, apply,", "nothing was annotated", id="apply does nothing"),
        pytest.param(_apply_breaks("pickle.load", "pickle.lod"), "3, ", "AttributeError", id="does not run"),
        pytest.param(_apply_breaks(LOADS, LOADS + "        print('more')\n"), "3, ", "+more", id="prints more"),
        pytest.param(
            _apply_breaks(LOADS, LOADS + "        open('left', 'w').close()\n"),
            "3, ",
            "left something",
            id="leaves a file",
        ),
        pytest.param(
            _apply_breaks(
                LOADS, LOADS + "        if __import__('os').environ.get('DFTRACER_ENABLE'): print('traced')\n"
            ),
            "4, run,",
            "+traced",
            id="prints more when traced",
        ),
        pytest.param(
            _apply_breaks("@_dft.log\ndef load", "def load"), "5, verify,", "load_checkpoint", id="event missing"
        ),
        pytest.param(_more_expected, "5, verify,", "load_checkpoint=2", id="fewer events than calls"),
        pytest.param(_reverts_nothing, "6, revert,", "is not what it was before apply", id="revert does nothing"),
    ],
)
def test_a_part_that_fails_is_named_and_left_to_look_at(
    sabotage: Callable[[pytest.MonkeyPatch], None],
    part: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    sabotage(monkeypatch)
    assert demo(keep=None, quiet=True) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert f"part {part}" in captured.err
    assert said in captured.err
    [left] = (tmp_path / "temporary").iterdir()
    assert f"everything is left in {left}" in captured.err
    assert (left / "program" / PACKAGE).is_dir()


def test_program_knows_nothing_of_the_tracer() -> None:
    for name, content in files_of(SOURCE).items():
        assert b"dftracer" not in content, name
