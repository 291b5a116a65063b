"""What is written for each generation of the tracer, and how a file that imports from one is known."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest

from dfannotate.cli.apply import apply as apply_command
from dfannotate.cli.config import ConfigError, check_target, read_config
from dfannotate.codemods import Context
from dfannotate.codemods.annotate import annotate
from dfannotate.codemods.revert import exact_text, structural_text
from dfannotate.facts import find_facts
from dfannotate.source import read_source
from dfannotate.vocabulary import CURRENT, GENERATIONS, Generation, generation_of

PROGRAM = """\
import os


def total(values):
    result = 0
    for value in values:
        result += value
    return result


class Box:
    @property
    def size(self):
        return len(os.listdir("."))


if __name__ == "__main__":
    print(total([1, 2]))
"""

ANNOTATED = """\
import os
{import_line}

_dft = DFTracerFn("m")


@_dft.log
def total(values):
    result = 0
    for value in values:
        result += value
    return result


class Box:
    @property
    def size(self):
        with DFTracerFn("m", name="size"):
            return len(os.listdir("."))


if __name__ == "__main__":
    if DFTRACER_ENABLE:
        _dft_log = dftracer.initialize_log(logfile=None, data_dir=None, process_id=-1)
    try:
        print(total([1, 2]))
    finally:
        if DFTRACER_ENABLE:
            _dft_log.finalize()
"""
"""The names that annotations use are the same for all; where they come from is not."""

IMPORTS = {
    "0.0.6": "from dlio_profiler.logger import dlio_logger as dftracer, fn_interceptor as DFTracerFn, "
    "DLIO_PROFILER_ENABLE as DFTRACER_ENABLE",
    "1.0.1": "from dftracer.logger import dftracer, dft_fn as DFTracerFn, DFTRACER_ENABLE",
    "1.0.8": "from dftracer.logger import dftracer, dft_fn as DFTracerFn, DFTRACER_ENABLE",
    "1.0.11": "from dftracer.logger import dftracer, dft_fn as DFTracerFn, DFTRACER_ENABLE",
    "2.0.2": "from dftracer.python import dftracer, dft_fn as DFTracerFn, DFTRACER_ENABLE",
    "2.2.0": "from dftracer.python import dftracer, dft_fn as DFTracerFn, DFTRACER_ENABLE",
}


def known(version: str) -> Generation:
    generation = generation_of(version)
    assert generation is not None
    return generation


def filled(text: str) -> list[str]:
    """The lines of a text that are not blank: by structure, a blank line may stay."""
    return [line for line in text.splitlines() if line.strip()]


@pytest.mark.parametrize("version", IMPORTS)
def test_text_for_a_target(version: str) -> None:
    generation = known(version)
    source = read_source("m.py", PROGRAM.encode())
    context = Context("m", generation=generation, every_function=True)
    annotated = annotate(source, find_facts(source, generation), context)
    assert annotated.edited is not None
    assert annotated.edited.text == ANNOTATED.format(import_line=IMPORTS[version])
    written = read_source("m.py", annotated.edited.text.encode())
    assert exact_text(written, annotated.entry) == PROGRAM
    assert filled(structural_text(written, annotated.entry)) == filled(PROGRAM)


@pytest.mark.parametrize("version", IMPORTS)
def test_a_file_that_imports_from_the_generation_keeps_its_own_names(version: str) -> None:
    generation = known(version)
    own = f"from {generation.module} import {generation.logger} as log, {generation.function}, {generation.enabled}\n"
    source = read_source("m.py", (own + PROGRAM).encode())
    facts = find_facts(source, generation)
    assert (facts.tracer.logger, facts.tracer.function) == ("log", generation.function)
    annotated = annotate(source, facts, Context("m", generation=generation, every_function=True))
    assert annotated.edited is not None
    assert annotated.edited.text.count("import ") == 2  # that one, and os
    assert f'_dft = {generation.function}("m")' in annotated.edited.text
    assert f"if {generation.enabled}:\n        _dft_log = log.initialize_log(" in annotated.edited.text
    written = read_source("m.py", annotated.edited.text.encode())
    assert filled(structural_text(written, annotated.entry)) == filled(own + PROGRAM)


OTHERS = {
    "old-file-new-target": ("from dftracer.logger import dft_fn\n", CURRENT),
    "new-file-old-target": ("from dftracer.python import dft_fn\n", GENERATIONS[1]),
    "oldest-file": ("from dlio_profiler.logger import fn_interceptor\n", CURRENT),
}


@pytest.mark.parametrize(("text", "generation"), OTHERS.values(), ids=OTHERS.keys())
def test_names_of_another_generation_are_not_used(text: str, generation: Generation) -> None:
    facts = find_facts(read_source("m.py", (text + PROGRAM).encode()), generation)
    assert facts.tracer.function == ""
    assert facts.tracer_modules


def test_what_an_import_of_a_generation_means_to_decorated_functions() -> None:
    text = "from dftracer.logger import dft_fn\nx = dft_fn('C')\n\n@x.log\ndef f(n):\n    return sum(range(n))\n"
    source = read_source("m.py", text.encode())
    for generation in (GENERATIONS[1], CURRENT):  # annotated already, whether the import works or not
        context = Context("m", generation=generation, every_function=True)
        annotated = annotate(source, find_facts(source, generation), context)
        assert annotated.edited is None
        assert [skip.reason for skip in annotated.entry.skipped] == ["annotated"]


# --- which version belongs where ------------------------------------------------------------------------------------

VERSIONS = {
    "0.0.3": "dlio_profiler.logger",
    "0.0.7": "dlio_profiler.logger",
    "1.0.1": "dftracer.logger",
    "1.0.15": "dftracer.logger",
    "2.0.2": "dftracer.python",
    "2.1.1.post45": "dftracer.python",
    "2.1.0": "dftracer.python",
    "2.7.1": "dftracer.python",
    "2.3.0rc1": "dftracer.python",
}


@pytest.mark.parametrize("version", VERSIONS)
def test_generation_of_a_version(version: str) -> None:
    assert known(version).module == VERSIONS[version]
    assert check_target(version) == version


@pytest.mark.parametrize(
    "version", ["0.0.2", "0.1.0", "1.0", "1.0.0", "1.0.16", "2", "2.0.1", "3.0.0", "", "newest", "2.2.0x"]
)
def test_unknown_versions(version: str) -> None:
    assert generation_of(version) is None
    message = (
        f"{version!r} is not a release that dfannotate writes for; known: 0.0.3 to 0.0.7 (dlio-profiler-py), "
        "1.0.1 to 1.0.8 (pydftracer), 1.0.9 to 1.0.15 (pydftracer), 2.0.2 and later (dftracer)"
    )
    with pytest.raises(ValueError, match="is not a release") as caught:
        check_target(version)
    assert str(caught.value) == message


def test_generations_follow_one_another() -> None:
    ends = [(generation.first, generation.last) for generation in GENERATIONS]
    assert ends == sorted(ends)
    assert all(last is not None and first <= last < ends[n + 1][0] for n, (first, last) in enumerate(ends[:-1]))


INSTALLED = {
    "current": ({"dftracer": "2.1.0", "pydftracer": "2.0.6"}, "2.1.0"),
    "newer": ({"dftracer": "2.9.0", "pydftracer": "2.0.9"}, "2.9.0"),
    "first": ({"pydftracer": "1.0.11"}, "1.0.11"),
    "oldest": ({"dlio-profiler-py": "0.0.6"}, "0.0.6"),
    "new-beside-old": ({"dftracer": "2.2.0", "dlio-profiler-py": "0.0.6"}, "2.2.0"),
    "python-half-alone": ({"pydftracer": "2.0.6"}, "2.2.0"),
    "unknown": ({"dftracer": "9.0.0"}, "2.2.0"),
    "nothing": ({}, "2.2.0"),
}


@pytest.mark.parametrize(("installed", "target"), INSTALLED.values(), ids=INSTALLED.keys())
def test_default_target(
    installed: dict[str, str], target: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from dfannotate.cli.apply import ApplyOptions
    from dfannotate.cli.config import Config
    from dfannotate.manifest import load

    def version(name: str) -> str:
        if name not in installed:
            raise metadata.PackageNotFoundError(name)
        return installed[name]

    monkeypatch.setattr(metadata, "version", version)
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "m.py").write_text(PROGRAM)
    assert apply_command(ApplyOptions(paths=(tmp_path,), quiet=True), Config()) == 0
    assert load(tmp_path / ".dfannotate" / "manifest.json").target == target
    assert f"from {known(target).module} import" in (tmp_path / "m.py").read_text()


def test_a_release_that_traces_by_default_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from dfannotate.cli.main import main

    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "m.py").write_text(PROGRAM)
    assert main(["apply", str(tmp_path), "--target", "1.0.8"]) == 0
    assert "pydftracer 1.0.8 traces unless DFTRACER_ENABLE=0 is set" in capsys.readouterr().err
    assert main(["apply", str(tmp_path), "--target", "1.0.11"]) == 0
    assert "traces unless" not in capsys.readouterr().err


def test_another_target_changes_the_imports_and_reverts_to_the_same(tmp_path: Path) -> None:
    from dfannotate.cli.main import main

    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "m.py").write_text(PROGRAM)
    for version in ("2.2.0", "1.0.11", "0.0.6", "2.0.2"):
        assert main(["apply", str(tmp_path), "--functions", "all", "--target", version]) == 0
        assert (tmp_path / "m.py").read_text() == ANNOTATED.format(import_line=IMPORTS[version])
    assert main(["revert", str(tmp_path)]) == 0
    assert (tmp_path / "m.py").read_text() == PROGRAM


def test_target_in_the_configuration(tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text('[tool.dfannotate]\ntarget = "0.0.6"\n')
    assert read_config(file).target == "0.0.6"
    file.write_text('[tool.dfannotate]\ntarget = "3.1"\n')
    with pytest.raises(ConfigError, match=r"tool\.dfannotate\.target: '3.1' is not a release"):
        read_config(file)
