"""The generated module: what it loads when tracing is on, and what it does not do when it is off."""

from __future__ import annotations

import ast
import importlib
import pickle
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from dfannotate.codemods.shim import MARK, every_text, shim_text
from dfannotate.facts import find_facts
from dfannotate.source import read_source
from dfannotate.vocabulary import (
    CURRENT,
    DECORATORS,
    GENERATIONS,
    OFF_METHODS,
    TRACER_PACKAGE,
    Generation,
    generation_of_module,
    is_shim,
)

IDS = [generation.in_words() for generation in GENERATIONS]


def load(
    generation: Generation, folder: Path, monkeypatch: pytest.MonkeyPatch, *, enable: str | None, number: int = 0
) -> ModuleType:
    """Import the shim as a program would, under a name of its own."""
    name = f"shim_under_test_{GENERATIONS.index(generation)}_{number}"
    (folder / f"{name}.py").write_text(shim_text(generation))
    if enable is None:
        monkeypatch.delenv(generation.enabled, raising=False)
    else:
        monkeypatch.setenv(generation.enabled, enable)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module(name)


@pytest.fixture
def off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module with tracing off, where an import of the tracer would fail."""
    for package in (TRACER_PACKAGE, CURRENT.module):
        monkeypatch.setitem(sys.modules, package, None)
    return load(CURRENT, tmp_path, monkeypatch, enable=None)


@pytest.mark.parametrize("late", [False, True], ids=["plain", "late"])
@pytest.mark.parametrize("generation", GENERATIONS, ids=IDS)
def test_text(generation: Generation, late: bool) -> None:
    text = shim_text(generation, late=late)
    assert text.startswith(MARK + "\n")
    assert text in every_text()
    # The programs traced with the first generations run on Pythons of their time.
    ast.parse(text, feature_version=(3, 7))
    compile(text, "_dftracer.py", "exec")
    assert max(map(len, text.splitlines())) <= 120
    assert find_facts(read_source("_dftracer.py", text.encode())).generated


@pytest.mark.parametrize("enable", [None, "0", "", "true", "2"])
@pytest.mark.parametrize("generation", GENERATIONS, ids=IDS)
def test_off_unless_exactly_one(
    generation: Generation, enable: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in (generation.module, generation.module.partition(".")[0]):
        monkeypatch.setitem(sys.modules, package, None)
    module: Any = load(generation, tmp_path, monkeypatch, enable=enable)
    assert module.DFTRACER_ENABLE is False
    assert module.dftracer.get_instance().logger is None


@pytest.mark.parametrize("generation", GENERATIONS, ids=IDS)
def test_on_it_gives_the_tracers_own_names(
    generation: Generation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = ModuleType(generation.module.partition(".")[0])
    package.__path__ = []
    tracer = ModuleType(generation.module)
    logger, function = object(), object()
    setattr(tracer, generation.logger, logger)
    setattr(tracer, generation.function, function)
    monkeypatch.setitem(sys.modules, package.__name__, package)
    monkeypatch.setitem(sys.modules, generation.module, tracer)
    module: Any = load(generation, tmp_path, monkeypatch, enable="1", number=1)
    assert (module.DFTRACER_ENABLE, module.dftracer, module.dft_fn) == (True, logger, function)


def test_on_without_the_tracer_is_the_import_error_that_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, CURRENT.module, None)
    with pytest.raises(ImportError, match="dftracer"):
        load(CURRENT, tmp_path, monkeypatch, enable="1", number=2)


def test_decorators_give_the_function_back(off: Any) -> None:
    x = off.dft_fn("C")

    def function() -> int:
        return 3

    for name in DECORATORS:
        decorator = getattr(x, name)
        assert decorator(function) is function
        assert decorator()(function) is function
        assert decorator(name="n")(function) is function

    class Box:
        def __init__(self, value: int) -> None:
            self.value = value

        def get(self) -> int:
            return self.value

    for name, decorator in (("__init__", x.log_init), ("get", x.log_static)):
        before = vars(Box)[name]
        setattr(Box, name, decorator(before))
        assert vars(Box)[name] is before
    assert Box(1).get() == 1


def test_regions_do_nothing(off: Any) -> None:
    with (
        off.dft_fn("C", name="outer") as outer,
        off.dft_fn(cat="C", name="inner", epoch=1, step=2, enable=True) as inner,
    ):
        assert outer is inner  # one object, whatever is asked for
        assert outer.update(epoch=1, args={"a": 1}) is outer
        assert outer.flush().reset().log_metadata("k", "v") is outer
    with pytest.raises(KeyError), outer:
        raise KeyError
    for _ in range(3):
        with outer, outer:
            pass

    def returns() -> int:
        for value in outer.iter([1, 2], name="n"):
            with outer:
                if value == 2:
                    return int(value)
        return 0

    assert returns() == 2


def test_the_logger_does_nothing(off: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    monkeypatch.chdir(folder)
    log = off.dftracer.initialize_log(logfile="f", data_dir="all", process_id=-1)
    assert log is off.dftracer.get_instance()
    assert (log.get_time(), log.get_config("DFTRACER_TIME_METRIC")) == (0, "")
    log.enter_event()
    log.log_event(name="n", cat="c", start_time=1, duration=2, int_args={"k": (0, 1)})
    log.log_metadata_event("k", "v")
    log.exit_event()
    log.finalize()
    assert list(folder.iterdir()) == []


def test_what_it_offers_pickles(off: Any) -> None:
    copy = pickle.loads(pickle.dumps(off.dft_fn("C")))
    with copy:
        assert copy.log(len) is len


def test_the_newest_tracer_has_everything_that_is_offered() -> None:
    """With the real one: nothing is answered here that the tracer would not know."""
    tracer: Any = importlib.import_module(CURRENT.module)
    logger, function = tracer.dftracer, tracer.dft_fn
    assert [name for name in OFF_METHODS if not (hasattr(logger, name) or hasattr(function, name))] == []


def test_spelling() -> None:
    assert is_shim("_dftracer")
    assert is_shim("package.sub._dftracer_2")
    assert not any(map(is_shim, ("dftracer", "my_dftracer", "_dftracer.python", "_dftracer_x")))
    assert generation_of_module("package._dftracer") == CURRENT
