"""Where a decorator is harmless: every row of the tables, and the order in which reasons are given."""

from __future__ import annotations

from textwrap import dedent

import pytest

from dfannotate.facts import ModuleFacts, find_facts
from dfannotate.rules import safety
from dfannotate.rules.safety import Surroundings, base_is_harmless, is_compiler, own_hazard, treat
from dfannotate.source import read_source


def facts(text: str) -> ModuleFacts:
    return find_facts(read_source("m.py", dedent(text).lstrip("\n").encode()))


def verdicts(text: str, around: Surroundings | None = None) -> dict[str, str | None]:
    """Why each function gets another form than the plain decorator, or none."""
    module = facts(text.replace("pass", "return 1"))  # nothing is said of functions without code
    return {f.qualname: treat(f, module, around or Surroundings()).reason or None for f in module.functions}


def forms(text: str) -> dict[str, str]:
    module = facts(text)
    return {function.qualname: treat(function, module, Surroundings()).form for function in module.functions}


def under(decorator: str, imports: str = "") -> str | None:
    return verdicts(f"{imports}\nclass A:\n    @{decorator}\n    def f(this): pass\n")["A.f"]


def test_plain_function_is_safe() -> None:
    assert verdicts("def f(a, *b, c=1): pass\n") == {"f": None}


@pytest.mark.parametrize("name", sorted(safety.PROPERTIES))
def test_property_of_the_table(name: str) -> None:
    module, dot, last = name.rpartition(".")
    assert under(last, f"from {module} import {last}" if dot else "") == "property"
    if dot:
        assert under(f"other.{last}", f"import {module} as other") == "property"


@pytest.mark.parametrize(
    ("decorator", "reason"),
    [
        ("x.setter", "property"),
        ("x.getter", "property"),
        ("x.deleter", "property"),
        ("lib.fancyproperty", "property"),
        ("staticmethod", "staticmethod"),
        ("builtins.classmethod", None),
        ("abc.abstractclassmethod", "unknown-decorator"),
        ("contextmanager", "unknown-decorator"),
        ("properties", "unknown-decorator"),
        ("staticmethods", "unknown-decorator"),
        ("functools.partial", "unknown-decorator"),
        ("torch.no_gradient", "unknown-decorator"),
        ("jit", "unknown-decorator"),
        ("lib.overload", "overload"),
        ("typing.overload", "overload"),
    ],
)
def test_decorator_by_its_name(decorator: str, reason: str | None) -> None:
    assert under(decorator) == reason


@pytest.mark.parametrize("name", [name for name in safety.HARMLESS_DECORATORS if "*" not in name])
def test_harmless_decorator_of_the_table(name: str) -> None:
    module, _, last = name.rpartition(".")
    assert under(name, f"import {module}") is None
    assert under(f"{last}(1)", f"from {module} import {last}") is None
    # The same word from elsewhere is another decorator.
    assert under(last, f"from elsewhere import {last}") == "unknown-decorator"
    assert under(last) == "unknown-decorator"


def test_first_reason_is_why_there_is_no_form_at_all() -> None:
    source = "import lib\nclass A:\n    @lib.x\n    @property\n    async def f(self, step): yield\n"
    assert verdicts(source) == {"A.f": "async-generator"}


def test_forms() -> None:
    source = """
        import lib
        class A:
            def __init__(self, a): self.a = a
            def __eq__(self, other): return True
            def __getattr__(self, name): return 1
            def __call__(this): return 1
            @property
            def p(self): return 1
            @staticmethod
            def s(step): return 1
            @classmethod
            def c(cls): return 1
            @classmethod
            def d(cls, step): return 1
        @lib.register
        def r(): return 1
        async def a(): return 1
        def g(): yield 1
        def k(**more): return 1
        def stub(): ...
        def deep(n): return deep(n - 1)
        def documented(): "D."; return 1
        """
    assert forms(source) == {
        "A.__init__": "init", "A.__eq__": "region", "A.__getattr__": "none", "A.__call__": "plain", "A.p": "region",
        "A.s": "region", "A.c": "plain", "A.d": "static", "r": "region", "a": "region", "g": "none",
        "k": "static", "stub": "none", "deep": "region", "documented": "plain",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "compiles"),
    [
        ("torch.jit.script", True),
        ("torch.compile", True),
        ("torch.compiler.disable", True),
        ("numba.njit", True),
        ("numba.cuda.jit", True),
        ("jax.jit", True),
        ("triton.jit", True),
        ("torch.export.export", True),
        ("torch.fx.wrap", True),
        ("torch.no_grad", False),
        ("jax.numpy.array", False),
        ("re.compile", False),
        ("torch.jitter", False),
        ("compile", False),
    ],
)
def test_compiler(name: str, compiles: bool) -> None:
    assert is_compiler(name) is compiles


@pytest.mark.parametrize(
    ("base", "harmless"),
    [
        ("object", True),
        ("dict", True),
        ("OSError", True),
        ("lib.CustomError", True),
        ("abc.ABC", True),
        ("enum.IntEnum", True),
        ("typing.Generic", True),
        ("threading.Thread", True),
        ("torch.nn.Module", True),
        ("torch.nn.Linear", True),
        ("torch.utils.data.Dataset", True),
        ("torch.optim.Optimizer", False),
        ("torch.optim.lr_scheduler.LRScheduler", False),
        ("torch.nn.functional", False),
        ("lib.Base", False),
        ("?", False),
        ("", False),
        ("Module", False),
    ],
)
def test_base(base: str, harmless: bool) -> None:
    assert base_is_harmless(base) is harmless


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("def f(self): self.step = 1", "hazardous-attribute"),
        ("def __getattr__(self, name): pass", "getattr-hook"),
        ("def __getattribute__(self, name): self.step = 1", "getattr-hook"),
        ("def f(self, **k): self.__dict__.update(k)", "dynamic-attributes"),
        ("def f(self): self.stop = 1", None),
        ("def __setattr__(self, name, value): super().__setattr__(name, value)", None),
    ],
)
def test_hazard_of_a_class(body: str, reason: str | None) -> None:
    (klass,) = facts(f"class A:\n    {body}\n").classes
    assert own_hazard(klass) == reason


def test_unsafe_class_counts_for_what_is_called_self() -> None:
    source = """
        class A:
            def __init__(self): pass
            def f(self): pass
            def g(this): pass
            def h(*self): pass
            class B:
                def f(self): pass
        """
    unsafe = Surroundings({"A": "hazardous-attribute"})
    assert verdicts(source, unsafe) == {
        "A.__init__": None, "A.f": "hazardous-attribute", "A.g": None, "A.h": None, "A.B.f": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("call", "packages", "reason"),
    [
        pytest.param("whoami()", (), "frames", id="own-function"),
        pytest.param("self.whoami()", (), "frames", id="method"),
        pytest.param("helpers.whoami()", (), "frames", id="module-of-the-project"),
        pytest.param("lib.whoami()", ("lib",), None, id="namesake-of-a-package"),
        pytest.param("who()", (), None, id="other"),
    ],
)
def test_caller_of_what_looks_at_frames(call: str, packages: tuple[str, ...], reason: str | None) -> None:
    around = Surroundings(frame_names=frozenset({"whoami"}), packages=frozenset(packages))
    assert verdicts(f"import lib, helpers\ndef f(x): {call}\n", around) == {"f": reason}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("signal.signal(signal.SIGINT, f)", "signal-handler"),
        ("inspect.getsource(f)", "introspected"),
        ("inspect.getfullargspec(f)", "introspected"),
        ("inspect.signature(f)", None),
        ("dis.dis(f)", "introspected"),
        ("torch.compile(f)", "compiled"),
        ("torch.jit.trace(f, x)", "compiled"),
        ("torch.compile(m.f)", "compiled"),
        ("numba.njit(f)(1)", "compiled"),
        ("torch.add(f)", None),
        ("f.__code__", "introspected"),
        ("x = f.__defaults__", "introspected"),
        ("f.__doc__", None),
        ("signal.signal(signal.SIGINT, g)", None),
    ],
)
def test_use_elsewhere_in_the_module(line: str, reason: str | None) -> None:
    imports = "import signal, inspect, dis, torch, numba"
    assert verdicts(f"{imports}\ndef f(x): pass\n{line}\n") == {"f": reason}


CLOCKS = {
    "by-name": "def f(size, sim_time): pass",
    "by-class": "import simpy\ndef f(env: simpy.Environment): pass",
    "by-class-under-another-name": "from simpy.core import Environment as Env\ndef f(*, env: Env | None = None): pass",
    "by-class-in-a-string": "import simpy as s\ndef f(env: 'list[s.Environment]'): pass",
    "asynchronous": "async def f(virtual_clock): pass",
}
REAL = {
    "another-environment": "from jinja2 import Environment\ndef f(env: Environment): pass",
    "another-class-of-the-library": "import simpy\ndef f(store: simpy.Store, env): pass",
    "annotated-return": "import simpy\ndef f(until) -> simpy.Environment: pass",
    "any-number-of-values": "def f(*sim_time, **virtual_time): pass",
    "part-of-the-simulation-that-is-made": "import simpy\ndef __init__(self, env: simpy.Environment): pass",
}


@pytest.mark.parametrize("case", CLOCKS)
def test_function_on_a_simulated_clock_is_left_alone(case: str) -> None:
    assert verdicts(CLOCKS[case]) == {"f": "simulated-clock"}


@pytest.mark.parametrize("case", REAL)
def test_function_on_the_real_clock_is_not(case: str) -> None:
    assert "simulated-clock" not in verdicts(REAL[case]).values()
