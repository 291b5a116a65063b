"""How a function that is logged as an event is rewritten, what it then logs, and that it does what it did."""

from __future__ import annotations

import ast
import contextlib
import io
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from dfannotate.codemods import Context
from dfannotate.codemods.annotate import Annotated, annotate
from dfannotate.codemods.revert import exact_text, structural_text
from dfannotate.edits import EditError
from dfannotate.facts import find_facts
from dfannotate.manifest import ManualEvent
from dfannotate.source import read_source

CLOCK = ManualEvent("f", name="event", category="cat", start="begun", duration="ended - begun")
OUTCOME = ManualEvent("f", name="event", category="cat", outcome=True)


def rewritten(text: str, *events: ManualEvent, only: bool = True) -> tuple[str, Annotated]:
    """The annotated text, after every law of rewriting was found to hold."""
    source = read_source("m.py", text.encode())
    facts = find_facts(source)
    context = Context("m", kept_events=events, only_events=only)
    annotated = annotate(source, facts, context)
    assert annotated.edited is not None
    new = annotated.edited.text
    again = read_source("m.py", new.encode())
    assert exact_text(again, annotated.entry) == text
    # By structure, the same program is left, with its comments.
    left = structural_text(again, annotated.entry)
    assert ast.dump(ast.parse(left)) == ast.dump(ast.parse(text))
    assert left.count("#") == text.count("#")
    assert left.count("_dft") == text.count("_dft")
    assert annotate(read_source("m.py", text.encode()), facts, context) == annotated
    return new, annotated


# --- a tracer that remembers ------------------------------------------------------------------------------------------


class Tracer:
    """What the helper class calls, in microseconds from 1000 on; one passes at each look."""

    def __init__(self) -> None:
        self.now = 1000
        self.events: list[dict[str, Any]] = []

    def get_instance(self) -> Tracer:
        return self

    def get_time(self) -> int:
        self.now += 1
        return self.now

    def get_config(self, key: str) -> str:
        return "US"

    def enter_event(self) -> None: ...
    def exit_event(self) -> None: ...

    def log_event(self, **values: Any) -> None:
        self.events.append(values)


@pytest.fixture
def tracer(monkeypatch: pytest.MonkeyPatch) -> Tracer:
    found = Tracer()
    module = types.ModuleType("dftracer.python")
    module.dftracer = found  # type: ignore[attr-defined]
    module.dft_fn = lambda *a, **k: None  # type: ignore[attr-defined]
    module.DFTRACER_ENABLE = True  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "dftracer", types.ModuleType("dftracer"))
    monkeypatch.setitem(sys.modules, "dftracer.python", module)
    return found


def run(text: str) -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "m"}
    exec(compile(text, "m.py", "exec"), namespace)
    return namespace


# --- the text ---------------------------------------------------------------------------------------------------------

SHAPES = {
    "docstring": 'def f(begun):\n    """Doc."""\n    ended = 2\n    return ended\n',
    "one-line": "def f(begun, ended): return begun\n",
    "comments": "def f(begun):\n    # first\n    ended = 2  # second\n    # last\n    return ended\n\n\nx = 1\n",
    "string-lines": 'def f(begun):\n    ended = """\n  a\nb\n    """\n    return ended\n',
    "continuation": "def f(begun):\n    ended = 1 + \\\n  2\n    return (ended,\n3)\n",
    "tabs": "def f(begun):\n\tended = 2\n\treturn ended\n",
    "crlf": "def f(begun):\r\n    ended = 2\r\n    return ended\r\n",
    "no-last-newline": "def f(begun):\n    ended = 2\n    return ended",
    "semicolons": "def f(begun):\n    ended = 2; return ended\n",
    "generator": "def f(begun):\n    ended = yield begun\n    return ended\n",
    "async": "async def f(begun):\n    ended = 2\n    return ended\n",
    "decorated": "import functools\n\n\n@functools.lru_cache\ndef f(begun):\n    ended = 2\n    return ended\n",
    "nested-definitions": "def f(begun):\n    def g():\n        return begun\n    ended = g()\n    return ended\n",
    "try": "def f(begun):\n    try:\n        ended = 2\n    finally:\n        ended = 3\n    return ended\n",
    "future": "from __future__ import annotations\nimport os\ndef f(begun):\n    ended = 2\n    return ended\n",
    "own-names": "_dft_event = DFTRACER_ENABLE = _DFTracerEvent = 1\ndef f(begun):\n    ended = 2\n    return ended\n",
    "own-import": "from dftracer.python import dftracer as log\n\n\ndef f(begun):\n    ended = 2\n    return ended\n",
    "globals": "ended = 2\n\n\ndef f(begun):\n    global ended\n    ended += 1\n",
}


@pytest.mark.parametrize("event", [CLOCK, OUTCOME], ids=["clock", "outcome"])
@pytest.mark.parametrize("text", SHAPES.values(), ids=SHAPES.keys())
def test_every_shape_of_body_keeps_the_laws(text: str, event: ManualEvent) -> None:
    new, annotated = rewritten(text, event)
    [site] = annotated.entry.sites
    assert (site.kind, site.function, site.event, site.category) == ("event", "f", "event", "cat")
    assert "def f(" in new.splitlines()[site.line - 1]
    assert annotated.entry.skipped == ()


def test_functions_in_functions_can_both_be_events() -> None:
    text = (
        "def f():\n    x = 1\n\n    def g():\n        # mine\n        return x\n\n\ndef h():\n    def g(): return 1\n"
    )
    nested = [replace(OUTCOME, function=name) for name in ("f", "f.<locals>.g", "h", "h.<locals>.g")]
    _, annotated = rewritten(text, *nested)
    assert [site.function for site in annotated.entry.sites] == [event.function for event in nested]


def test_the_text_of_a_clock() -> None:
    text = "class A:\n    def f(self, begun):\n        ended = 2\n        return ended\n"
    event = replace(
        CLOCK, function="A.f", ints=(("n", "len( [begun] )"),), strings=(("mhost", "self.name"),), unit="ms"
    )
    new, _ = rewritten(text, event)
    assert new[new.index("class A:") :] == (
        "class A:\n"
        "    def f(self, begun):\n"
        "        try:\n"
        "            ended = 2\n"
        "            return ended\n"
        "        finally:\n"
        "            if DFTRACER_ENABLE:\n"
        '                _dft_event = _DFTracerEvent("event", "cat", 1000)\n'
        "                with _dft_event:\n"
        "                    _dft_event.clock(begun, ended - begun)\n"
        "                with _dft_event:\n"
        '                    _dft_event.add_int("n", len([begun]))\n'
        "                with _dft_event:\n"
        '                    _dft_event.add_string("mhost", self.name)\n'
        "                _dft_event.log()\n"
    )


def test_the_text_of_an_outcome() -> None:
    new, _ = rewritten("def f(data):\n    return len(data)\n", OUTCOME)
    assert new[new.index("def f(") :] == (
        "def f(data):\n"
        "    if DFTRACER_ENABLE:\n"
        '        _dft_event = _DFTracerEvent("event", "cat")\n'
        "    try:\n"
        "        return len(data)\n"
        "    except BaseException as _dft_error:\n"
        "        if DFTRACER_ENABLE:\n"
        "            _dft_event.failed(_dft_error)\n"
        "        raise\n"
        "    finally:\n"
        "        if DFTRACER_ENABLE:\n"
        "            _dft_event.log()\n"
    )


def test_the_users_edits_survive_a_revert_by_structure() -> None:
    text = "def f(begun):\n    ended = 2\n    return ended\n\n\ndef g():\n    pass\n"
    new, annotated = rewritten(text, replace(CLOCK, strings=(("s", "begun"),)), replace(OUTCOME, function="g"))
    edited = new.replace("ended = 2\n", "ended = 2\n        # mine\n        begun += 1\n") + "\n\nh = 1\n"
    assert structural_text(read_source("m.py", edited.encode()), annotated.entry).lstrip("\n") == (
        "def f(begun):\n    ended = 2\n    # mine\n    begun += 1\n    return ended\n"
        "\n\ndef g():\n    pass\n\n\nh = 1\n"
    )


# --- what it does -----------------------------------------------------------------------------------------------------

BEHAVIOUR = """\
import inspect

def f(n, clock):
    begun = clock()
    ended = begun
    if n == 0:
        return "early"
    for ended in range(n):
        if ended == 5:
            raise OverflowError("five")
    else:
        ended = begun + n
    return ended

def g(n):
    begun = 0.5
    ended = begun
    got = []
    try:
        for ended in range(n):
            got.append((yield ended))
    except KeyError:
        return "caught"
    return got

class A:
    __private = 7

    @property
    def value(self):
        begun = ended = self.__private
        return super().__hash__() and ended

    @classmethod
    def make(cls, begun, *, ended=2):
        return cls.__name__

def outer(seed):
    def inner(ended):
        nonlocal seed
        begun = seed
        seed += 1
        return seed
    return inner

async def co(begun):
    ended = begun + 1
    return ended
"""


def exercise(space: dict[str, Any]) -> list[Any]:
    """Whatever can be seen of the functions of BEHAVIOUR."""
    seen: list[Any] = []

    def call(function: Callable[[], Any]) -> None:
        try:
            seen.append(function())
        except Exception as error:
            # Where it came from, by what is written there: lines move.
            seen.append((type(error).__name__, str(error), type(error.__cause__).__name__))

    for n in (0, 3, 9):
        call(lambda n=n: space["f"](n, lambda: 1))  # type: ignore[misc]
    call(lambda: list(space["g"](3)))
    call(lambda: throw(space["g"](3)))
    call(lambda: next(space["g"](0)))
    generator = space["g"](2)
    next(generator)
    generator.close()
    del generator
    thing = space["A"]()
    call(lambda: thing.value)
    call(lambda: thing.make(1))
    call(lambda: space["A"].make(1, ended=3))
    inner = space["outer"](10)
    call(lambda: (inner(1), inner(2)))
    coroutine = space["co"](4)
    call(lambda: coroutine.send(None))
    inspect = space["inspect"]
    seen += [inspect.isgeneratorfunction(space["g"]), inspect.iscoroutinefunction(space["co"])]
    seen += [str(inspect.signature(space[name])) for name in ("f", "g", "co", "outer")]
    seen += [
        space["f"].__name__,
        space["f"].__closure__,
        space["f"].__code__.co_freevars,
        space["f"].__code__.co_cellvars,
    ]
    return seen


def throw(generator: Iterator[Any]) -> Any:
    next(generator)
    try:
        return generator.throw(KeyError)  # type: ignore[attr-defined]
    except StopIteration as stop:
        return stop.value


FUNCTIONS = ("f", "g", "A.value", "A.make", "outer.<locals>.inner", "co")


@pytest.mark.parametrize("enabled", [True, False], ids=["on", "off"])
@pytest.mark.parametrize("kind", ["clock", "outcome"])
def test_programs_do_what_they_did(kind: str, enabled: bool, tracer: Tracer) -> None:
    base = CLOCK if kind == "clock" else OUTCOME
    events = [replace(base, function=name, name=name) for name in FUNCTIONS]
    new, _ = rewritten(BEHAVIOUR, *events)
    sys.modules["dftracer.python"].DFTRACER_ENABLE = enabled  # type: ignore[attr-defined]
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        assert exercise(run(new)) == exercise(run(BEHAVIOUR))
    assert said.getvalue() == ""
    names = [event["name"] for event in tracer.events]
    if not enabled:
        assert names == []
        return
    expected = {"f": 3, "g": 4, "A.value": 1, "A.make": 2, "outer.<locals>.inner": 2, "co": 1}
    assert {name: names.count(name) for name in FUNCTIONS} == expected
    if kind == "clock":
        clocks = [(event["start_time"], event["duration"]) for event in tracer.events if event["name"] == "f"]
        assert clocks == [(1_000_000, 0), (1_000_000, 3_000_000), (1_000_000, 4_000_000)]
        assert (500_000, 1_500_000) in [(e["start_time"], e["duration"]) for e in tracer.events if e["name"] == "g"]
    else:
        errors = [event["string_args"].get("error") for event in tracer.events if event["name"] == "f"]
        assert errors == [None, None, (0, "OverflowError: five")]


def test_a_caller_s_exception_is_not_the_outcome(tracer: Tracer) -> None:
    text = "def f():\n    return 1\n\n\ndef g():\n    raise\n"
    new, _ = rewritten(text, OUTCOME, replace(OUTCOME, function="g"))
    space = run(new)
    outer = KeyError("outer")
    try:
        raise outer
    except KeyError:
        assert space["f"]() == 1
        with pytest.raises(KeyError) as caught:
            space["g"]()
    assert caught.value is outer
    assert [event["string_args"] for event in tracer.events] == [{}, {"error": (0, "KeyError: 'outer'")}]


def test_times_are_whole_and_not_negative(tracer: Tracer) -> None:
    text = "def f(begun, ended):\n    pass\n"
    new, _ = rewritten(text, CLOCK)
    f = run(new)["f"]
    f(-5, -9)
    f(2**60, 2**60 + 1)
    f(0.1, 0.1 + 2e-7)
    f(1.9999996, 2.9999996)
    times = [(event["start_time"], event["duration"]) for event in tracer.events]
    assert times == [(0, 0), (2**60 * 10**6, 10**6), (100_000, 0), (2_000_000, 1_000_000)]
    assert all(type(time) is int for pair in times for time in pair)


def test_a_time_that_is_none_is_said_and_nothing_is_logged(tracer: Tracer) -> None:
    new, _ = rewritten("def f(begun, ended):\n    return 5\n", CLOCK)
    space = run(new)
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        assert [space["f"](*times) for times in ((None, 1), (1, float("nan")), (float("inf"), 1), (1, None))] == [5] * 4
    assert tracer.events == []
    assert len(said.getvalue().splitlines()) == 1
    assert "m.py:" in said.getvalue()
    assert "event event: TypeError" in said.getvalue()


def test_interrupts_are_not_held_back(tracer: Tracer) -> None:
    new, _ = rewritten("def f(stop):\n    return 5\n", replace(OUTCOME, ints=(("n", "stop()"),)))

    def stop() -> int:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(new)["f"](stop)


def test_a_broken_stderr_changes_nothing(tracer: Tracer, monkeypatch: pytest.MonkeyPatch) -> None:
    new, _ = rewritten("def f(x):\n    return 5\n", replace(OUTCOME, ints=(("n", "x.y"),)))
    for broken in (None, object()):
        monkeypatch.setattr(sys, "stderr", broken)
        assert run(new)["f"](1) == 5
    assert len(tracer.events) == 2


def test_values_are_pairs_of_tag_and_value(tracer: Tracer) -> None:
    event = replace(
        OUTCOME, ints=(("i", "x"), ("big", "x << 40")), floats=(("f", "x / 2"),), strings=(("s", "'a\"b'"),)
    )
    new, _ = rewritten("def f(x):\n    pass\n", event)
    run(new)["f"](3)
    [logged] = tracer.events
    assert logged["int_args"] == {"i": (0, 3)}
    assert logged["float_args"] == {"f": (0, 1.5)}
    assert logged["string_args"] == {"big": (0, "3298534883328"), "s": (0, 'a\\"b'), "json_args": (0, "big")}


def test_an_older_tracer_gets_strings_alone() -> None:
    from dfannotate.vocabulary import GENERATIONS

    text = "def f(x):\n    pass\n"
    source = read_source("m.py", text.encode())
    old = next(generation for generation in GENERATIONS if not generation.typed_arguments)
    context = Context("m", kept_events=(OUTCOME,), only_events=True, generation=old)
    annotated = annotate(source, find_facts(source, old), context)
    assert annotated.edited is not None
    assert "int_args" not in annotated.edited.text
    assert "string_args=self.strings" in annotated.edited.text
    assert old.module in annotated.edited.text


def test_names_of_the_program_s_own_stay_its_own(tracer: Tracer) -> None:
    text = "_dft_event = _DFTracerEvent = 7\n\n\ndef f():\n    _dft_error = 7\n"
    text += "    return _dft_event + _DFTracerEvent + _dft_error\n"
    for event in (OUTCOME, replace(CLOCK, start="1", duration="2")):
        new, _ = rewritten(text, event)
        assert run(new)["f"]() == 21
    assert len(tracer.events) == 2


def test_the_decorator_of_the_function_goes() -> None:
    text = "import os\n\n\ndef f(path):\n    return os.listdir(path)\n\n\ndef g(path):\n    return os.listdir(path)\n"
    new, annotated = rewritten(text, OUTCOME, only=False)
    assert new.count("@_dft.log") == 1
    assert [(site.kind, site.function) for site in annotated.entry.sites] == [("event", "f"), ("decorator", "g")]
    assert annotated.entry.skipped == ()


# --- mistakes ---------------------------------------------------------------------------------------------------------

SCOPES = """\
import os
from json import dumps as to_json

LIMIT = 3

class C:
    attribute = 1

    def method(self, a, /, b, *rest, c=None, **more):
        local = [x for x in rest if (kept := x)]
        with open(a) as stream, open(b) as (left, *right):
            import os.path as path
        for index, (deep,) in enumerate(local):
            pass
        match a:
            case {"k": captured, **others}:
                pass
            case [first, *tail] | (first as tail):
                pass
        try:
            pass
        except OSError as error:
            pass
        def inner():
            hidden = 1
            return local
        class Local:
            member = 1
        return inner

def late():
    global made
    made = 1

def compiled(x):
    return x
"""

KNOWN = [
    "self",
    "a",
    "b",
    "rest",
    "c",
    "more",
    "local",
    "kept",
    "stream",
    "left",
    "right",
    "path",
    "index",
    "deep",
    "captured",
    "others",
    "first",
    "tail",
    "inner",
    "Local",
    "os",
    "to_json",
    "LIMIT",
    "C",
    "late",
    "made",
    "len",
    "__name__",
    "__class__",
    "super",
]


@pytest.mark.parametrize("name", KNOWN)
def test_names_that_can_be_used(name: str) -> None:
    rewritten(
        SCOPES, replace(OUTCOME, function="C.method", strings=(("k", f"({name}, [y for y in ()], lambda z: z)"),))
    )


@pytest.mark.parametrize("name", ["x", "hidden", "member", "attribute", "method", "error", "json", "lokal", "hash_"])
def test_names_that_the_function_does_not_have(name: str) -> None:
    with pytest.raises(EditError) as caught:
        rewritten(SCOPES, replace(OUTCOME, function="C.method", ints=(("k", f"len({name})"),)))
    assert str(caught.value).startswith("m.py:9: C.method has no name ")
    assert f"no name {name} (--int k 'len({name})')" in str(caught.value)
    assert ("did you mean local?" in str(caught.value)) == (name == "lokal")


def test_names_of_enclosing_functions_can_be_used() -> None:
    text = (
        "def outer(a):\n    b = 1\n    class K:\n        c = 1\n        def f(self):\n            pass\n    return K\n"
    )
    event = replace(OUTCOME, function="outer.<locals>.K.f")
    rewritten(text, replace(event, ints=(("k", "a + b"),)))
    with pytest.raises(EditError, match="has no name c "):
        rewritten(text, replace(event, ints=(("k", "c"),)))


def test_a_star_import_may_bring_any_name() -> None:
    rewritten("from os import *\n\n\ndef f():\n    pass\n", replace(OUTCOME, ints=(("k", "getpid()"),)))


MISTAKES: dict[str, tuple[str, ManualEvent, str]] = {
    "no-function": ("def g():\n    pass\n", OUTCOME, "m.py: no function f"),
    "only-the-last-name": ("class A:\n    def f(self):\n        pass\n", OUTCOME, "did you mean A.f?"),
    "syntax": ("def f():\n    pass\n", replace(OUTCOME, ints=(("k", "1 +"),)), "m.py:1: f --int k: '1 +' is no Python"),
    "statement": ("def f():\n    pass\n", replace(OUTCOME, ints=(("k", "x = 1"),)), "is no Python expression"),
    "two-lines": ("def f():\n    pass\n", replace(OUTCOME, ints=(("k", "1\nimport os"),)), "is no Python expression"),
    "walrus": (
        "def f():\n    pass\n",
        replace(OUTCOME, ints=(("k", "(x := 1)"),)),
        "would change what the function does",
    ),
    "await": (
        "async def f(x):\n    pass\n",
        replace(OUTCOME, ints=(("k", "await x"),)),
        "would change what the function",
    ),
    "docstring-only": ('def f():\n    """Doc."""\n', OUTCOME, "has nothing but a docstring to log"),
    "immovable": ('def f():\n    """Doc."""; return 1\n', OUTCOME, "has a body that cannot be moved in"),
    "compiled": ("import numba\n\n\n@numba.njit\ndef f():\n    return 1\n", OUTCOME, "cannot hold an event (compiled)"),
    "locals": ("def f(x):\n    return dict(locals())\n", OUTCOME, "looks at its own locals"),
    "own-decorator": (
        'from dftracer.python import dft_fn\n\nx = dft_fn("a")\n\n\n@x.log\ndef f():\n    return 1\n',
        OUTCOME,
        "is traced by its own decorator",
    ),
}


@pytest.mark.parametrize(("text", "event", "message"), MISTAKES.values(), ids=MISTAKES.keys())
def test_mistakes_are_told_with_their_place(text: str, event: ManualEvent, message: str) -> None:
    with pytest.raises(EditError) as caught:
        rewritten(text, event)
    assert message in str(caught.value)
    assert str(caught.value).startswith("m.py:")


def test_an_expression_that_the_encoding_has_not() -> None:
    source = read_source("m.py", b"# -*- coding: latin-1 -*-\ndef f():\n    return '\xe9'\n")
    context = Context("m", kept_events=(replace(OUTCOME, strings=(("k", "'\u4e2d'"),)),), only_events=True)
    with pytest.raises(EditError, match="cannot be written in iso-8859-1"):
        annotate(source, find_facts(source), context)


@pytest.mark.parametrize(
    "name", ['say "hi"', "back\\slash", "caf\u00e9", "{braces}"], ids=["quotes", "backslash", "accent", "braces"]
)
def test_a_name_reaches_the_trace_as_it_is(name: str, tracer: Tracer) -> None:
    import json

    new, annotated = rewritten("def f():\n    pass\n", replace(OUTCOME, name=name))
    run(new)["f"]()
    assert json.loads(f'"{tracer.events[0]["name"]}"') == name
    assert annotated.entry.sites[0].event == name
