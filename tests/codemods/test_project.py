"""The index of a whole project: names that come by many ways, modules that are located late."""

from __future__ import annotations

import pytest

from tests.codemods.conftest import project_of

STARS = "".join(f"from .m{number} import *\n" for number in range(8))
COMPILED = "from ._C import *\nfrom ._D import *\n"
UNSAFE = "class Unsafe:\n    step = 0\n"
START = "return d.initialize_log()"
HEIR = "from p import Unsafe, Nothing\nclass Heir(Unsafe):\n    def f(self): pass\nclass Other(Nothing): pass\n"


@pytest.mark.parametrize(
    "modules",
    [
        pytest.param({f"p/m{number}.py": STARS for number in range(7)}, id="each-imports-all-of-all"),
        pytest.param({f"p/m{number}.py": COMPILED for number in range(7)}, id="each-imports-all-of-what-has-no-source"),
        pytest.param({}, id="most-are-no-modules-of-the-project"),
    ],
)
def test_a_class_is_found_behind_any_number_of_star_imports(modules: dict[str, str]) -> None:
    project = project_of({"p/__init__.py": STARS, **modules, "p/m7.py": UNSAFE, "main.py": HEIR})
    unsafe = project.context("main.py", "main", is_entry=True).around.unsafe_classes
    assert unsafe == {"Heir": "hazardous-attribute", "Other": "unknown-base"}


def test_a_module_that_is_found_late_counts_like_the_others() -> None:
    files = {
        "main.py": "import torch, lib\ntorch.compile(lib.f)\nclass A(lib.Unsafe): pass\n",
        "lib.py": f"{UNSAFE}def f(): pass\n",
    }
    for late in ((), ("lib",)):
        project = project_of(files, found_late=late)
        assert project.compiled == {"lib": {"f"}}
        assert project.context("main.py", "main", is_entry=True).around.unsafe_classes == {"A": "hazardous-attribute"}


@pytest.mark.parametrize(
    ("looks", "names"),
    [
        pytest.param("sys._getframe(1)", set(), id="at-its-caller"),
        pytest.param("sys._getframe(2)", {"a"}, id="one-further"),
        pytest.param("sys._getframe(4)", {"a", "b", "c"}, id="three-further"),
        pytest.param("inspect.stack()", {"a", "b", "c", "d"}, id="at-all"),
    ],
)
def test_functions_through_which_frames_are_looked_at(looks: str, names: set[str]) -> None:
    calls = "def b(): a()\ndef c(): b(); d()\ndef d(): c()\n"
    project = project_of({"m.py": f"import sys, inspect\ndef a(): {looks}\n", "n.py": f"from m import a\n{calls}"})
    assert project.frame_names == names


@pytest.mark.parametrize(
    ("text", "compares"),
    [
        pytest.param("def same(a, b): return a.f.__code__ != b.f.__code__\n", True, id="of-two"),
        pytest.param("def same(a, b): return a.__code__ is b.__code__\n", True, id="as-one-object"),
        pytest.param("from trainer.overrides import is_overridden as _is\n", True, id="by-what-it-imports"),
        pytest.param(
            "class A:\n    def is_overridden(self): return 'f.__code__'\n", False, id="not-by-a-name-of-its-own"
        ),
        pytest.param("def f(a): return a.__code__ is None\n", False, id="of-one"),
    ],
)
def test_methods_whose_code_may_be_compared_keep_it(text: str, compares: bool) -> None:
    project = project_of({"m.py": text, "n.py": "class A:\n    def f(self): pass\n"})
    assert project.context("n.py", "n", is_entry=False).around.compares_code is compares


def test_functions_around_a_start_of_tracing_elsewhere_go_by_names_that_mean_nothing_else() -> None:
    files = {
        "a.py": f"import dftracer as d\ndef begin(): {START}\ndef run(): {START}\n",
        "b.py": "import a\ndef outer(): a.begin()\nclass Main:\n    def __init__(self): outer()\n",
        "c.py": "class Job:\n    def run(self): pass\ndef start(job): job.run()\ndef other(): Main()\n",
    }
    assert project_of(files).context("c.py", "c", is_entry=True).starting_names == {"begin", "outer", "Main", "other"}
    assert project_of({"c.py": files["c.py"]}).context("c.py", "c", is_entry=True).starting_names == frozenset()
