"""What one walk over a module finds."""

from __future__ import annotations

import ast
import sys
from textwrap import dedent

import pytest

from dfannotate.facts import DEEP, FunctionFacts, ModuleFacts, find_facts
from dfannotate.names import dotted, is_main_guard, resolve
from dfannotate.source import read_source


def facts(text: str) -> ModuleFacts:
    return find_facts(read_source("m.py", dedent(text).lstrip("\n").encode()))


def function(text: str, qualname: str = "f") -> FunctionFacts:
    return next(found for found in facts(text).functions if found.qualname == qualname)


def test_qualified_names_scopes_and_owners_are_those_of_python() -> None:
    text = """
        def f():
            class L:
                def m(self): pass
            def g(): pass
        class A:
            def f(self):
                def g(): pass
            class B:
                def f(self): pass
        if True:
            def h(): pass
        """
    scope: dict[str, object] = {}
    exec(dedent(text), scope)
    found = {(f.qualname, f.scope, f.owner) for f in facts(text).functions}
    assert found == {
        ("f", "module", ""),
        ("f.<locals>.L.m", "class", "f.<locals>.L"),
        ("f.<locals>.g", "function", "f"),
        ("A.f", "class", "A"),
        ("A.f.<locals>.g", "function", "A.f"),
        ("A.B.f", "class", "A.B"),
        ("h", "module", ""),
    }
    assert scope["A"].B.f.__qualname__ == "A.B.f"  # type: ignore[attr-defined]


def test_calls_are_resolved_through_imports_wherever_they_stand() -> None:
    found = function(
        """
        def f(self):
            np.load(x); p.join(a)(b); self.fh.read(); table[k](); open(y).read(); late.run()
            import os.path as p
        import numpy as np
        from .a import late
        """
    )
    assert {call.line for call in found.calls} == {2}
    assert sorted(call.name for call in found.calls) == sorted(
        ["numpy.load", "os.path.join", "?", "self.fh.read", "?", ".read", "open", ".a.late.run"]
    )


@pytest.mark.parametrize(
    ("body", "line", "indent"),
    [
        pytest.param("def f():\n    x\n", 2, "    ", id="plain"),
        pytest.param('def f():\n    """D."""\n    # c\n    x\n', 4, "    ", id="docstring"),
        pytest.param('def f():\n    """D."""; x\n', 0, "", id="behind-the-docstring"),
        pytest.param("def f(): x\n", 0, "", id="one-line"),
        pytest.param('def f():\n    """D."""\n', 0, "", id="docstring-only"),
        pytest.param("def f():\n\t@d\n\tdef g(): pass\n", 2, "\t", id="decorated"),
        pytest.param("def f():\n    \\\n  x\n", 0, "", id="behind-a-backslash"),
        pytest.param("def f(\n  a,\n):\n  x; y\n", 4, "  ", id="long-header"),
    ],
)
def test_first_statement(body: str, line: int, indent: str) -> None:
    block = function(body).block
    starts = (block.first, block.prefix) if block is not None and block.starts_line else (0, "")
    assert starts == (line, indent)


def test_columns_are_in_characters() -> None:
    found = function("class É:\n    é = 1\n    def f(self): é('ü')\n", "É.f")
    assert (found.line, found.indent) == (3, "    ")


def test_shape_of_a_function() -> None:
    found = function(
        """
        @a.b(1)(2)
        @c[0]
        async def f(x, /, y, *z, w, **v):
            '''Docs.'''
            for i in x:
                with y: pass
            return lambda: (yield)
        """
    )
    assert found.decorators == ("a.b", "?")
    assert [(p.name, p.kind) for p in found.parameters] == [
        ("x", "positional"), ("y", "positional"), ("z", "args"), ("w", "keyword"), ("v", "kwargs"),
    ]  # fmt: skip
    assert (found.is_async, found.is_generator, found.has_loop, found.has_with) == (True, False, True, True)
    assert (found.statements, found.first_parameter) == (4, "x")


@pytest.mark.parametrize(
    ("body", "stub"),
    [
        ("pass", True), ("...", True), ("'''D.'''", True), ("'''D.'''\n    raise NotImplementedError('x')", True),
        ("return NotImplemented", True), ("raise NotImplementedError", True),
        ("raise ValueError", False), ("return None", False), ("pass\n    x()", False), ("raise", False),
    ],
)  # fmt: skip
def test_stub(body: str, stub: bool) -> None:
    assert function(f"def f():\n    {body}\n").body == ("stub" if stub else "code")


HAZARDS = {
    "self-attribute": ("def m(self): self.step = 1", {"step"}),
    "self-under-another-name": ("def m(this): this.epoch = 1", {"epoch"}),
    "augmented": ("def m(self): self.step += 1", {"step"}),
    "unpacked": ("def m(self): self.a, (self.epoch, *self.step) = x", {"epoch", "step"}),
    "for-target": ("def m(self):\n        for self.step in x: pass", {"step"}),
    "with-target": ("def m(self):\n        with x as self.step: pass", {"step"}),
    "annotated": ("def m(self): self.step: int = 1", {"step"}),
    "class-attribute": ("epoch = 1", {"epoch"}),
    "class-annotation": ("image_size: tuple[int, int]", {"image_size"}),
    "slots": ("__slots__ = ('step',)", {"step"}),
    "method": ("def step(self): pass", {"step"}),
    "property": ("@property\n    def epoch(self): return 1", {"epoch"}),
    "nested-block": ("if x:\n        try: step = 1\n        finally: pass", {"step"}),
    "import": ("import x as step", {"step"}),
    "setattr": ("def m(self): setattr(self, 'step', 1)", {"step"}),
    "object-setattr": ("def m(self): object.__setattr__(self, 'step', 1)", {"step"}),
    "super-setattr": ("def m(self): super().__setattr__('step', 1)", {"step"}),
    "buffer": ("def m(self): self.register_buffer('step', t)", {"step"}),
    "buffer-by-keyword": ("def m(self): self.register_buffer(name='step', tensor=t)", {"step"}),
    "submodule": ("def m(self): self.add_module('step', t)", {"step"}),
    # near misses
    "read-only": ("def m(self): return self.step", set()),
    "local": ("def m(self): step = 1", set()),
    "longer": ("def m(self): self.steps = self.epoch_count = 1", set()),
    "string-in-a-method": ("def m(self): print('step')", set()),
    "other-buffer": ("def m(self): self.register_buffer('mean', t)", set()),
}


@pytest.mark.parametrize(("body", "hazards"), HAZARDS.values(), ids=HAZARDS)
def test_hazardous_attributes_of_a_class(body: str, hazards: set[str]) -> None:
    (klass,) = facts(f"class A:\n    {body}\n").classes
    assert klass.hazards == hazards
    assert not klass.sets_attributes


@pytest.mark.parametrize(
    ("body", "sets"),
    [
        ("def m(self, n): setattr(self, n, 1)", True),
        ("def m(self, **k): self.__dict__.update(k)", True),
        ("def m(self, k): vars(self).update(k)", True),
        ("def m(self, n): object.__setattr__(self, n, 1)", True),
        ("def m(self, n): super().__setattr__(n, 1)", True),
        ("def m(self, n): self.register_buffer(n, 1)", True),
        ("def __setattr__(self, n, v): super().__setattr__(n, v)", False),
        ("def __setattr__(self, n, v): object.__setattr__(self, n, v)", False),
        ("def __getstate__(self): return self.__dict__.copy()", False),
        ("def m(self, n): setattr(n, 'x', 1)", False),
        ("def m(self, n): getattr(self, n)", False),
    ],
)
def test_attributes_set_by_name(body: str, sets: bool) -> None:
    (klass,) = facts(f"class A:\n    {body}\n").classes
    assert klass.sets_attributes is sets
    assert not klass.hazards


def test_names_of_types() -> None:
    text = """
        from typing import NamedTuple, Union
        Adj = Union[int, "a.Sparse"]
        if Adj:
            Adj = Dense | None
        Rows = NamedTuple("Rows", [("row", Row)])
        Alias: TypeAlias = list[Adj]
        number = 1 + count
        made = build(Row)
        def f(a: Adj, *, b: "list[b.Box]" = []) -> Result:
            x: Local = 1
            if isinstance(x, (Asked, c.Asked)):
                y = torch.jit.annotate(list[Noted], [])
        def g(a, b):  # type: ignore
            # type: (Tensor, Commented) -> Result
            return a
        class C(NamedTuple):
            row: Row
        """
    assert {name: set(types) for name, types in facts(text).type_aliases} == {
        "Adj": {"Union", "int", "a.Sparse", "Dense"},
        "Rows": {"NamedTuple", "Rows", "row", "Row"},
        "Alias": {"list", "Adj"},
    }
    assert function(text).signature_types == {"Adj", "list", "b.Box", "Result"}
    assert function(text).body_types == {"Local", "Asked", "c.Asked", "list", "Noted"}
    assert function(text, "g").signature_types == {"Tensor", "Commented", "Result"}
    assert facts(text).classes[0].types == {"Row"}


@pytest.mark.parametrize(
    ("head", "body", "scriptable"),
    [
        pytest.param("(x, y=lambda: 1)", "return [x for x in y]", True, id="lambda-as-a-default"),
        pytest.param("(x, *, y)", "with x: assert y", True, id="block"),
        pytest.param("(*x)", "pass", False, id="any-number-of-arguments"),
        pytest.param("(**x)", "pass", False, id="any-keywords"),
        pytest.param("(x)", "return sorted(x, key=lambda y: -y)", False, id="lambda"),
        pytest.param("(x)", "if x:\n  def g(): pass", False, id="definition"),
        pytest.param("(x)", "class A: pass", False, id="class"),
        pytest.param("(x)", "import os", False, id="import"),
        pytest.param("(x)", "global y", False, id="global-name"),
        pytest.param("(x)", "try: pass\n finally: pass", False, id="try"),
        pytest.param("(x)", "yield x", False, id="generator"),
    ],
)
def test_what_torchscript_refuses(head: str, body: str, scriptable: bool) -> None:
    assert function(f"def f{head}:\n {body}\n").is_scriptable is scriptable
    assert not function(f"async def f{head}:\n {body}\n").is_scriptable


def test_hazards_set_on_other_objects_and_fields_given_as_text() -> None:
    found = facts(
        """
        model.step = 1
        setattr(model, "epoch", 1)
        class T(namedtuple("T", "a image_idx")): pass
        class G(Base[int], metaclass=lib.Meta): pass
        class H(make(1)):
            def __getattr__(self, name): pass
        """
    )
    assert found.outside_hazards == {"step", "epoch"}
    t, g, h = found.classes
    assert t.hazards == {"image_idx"}
    assert (g.bases, g.metaclass) == (("Base",), "lib.Meta")
    assert h.bases == ("make",)
    assert (g.has_getattr, h.has_getattr) == (False, True)


@pytest.mark.parametrize(
    ("test", "is_guard"),
    [
        ('__name__ == "__main__"', True), ('"__main__" == __name__', True),
        ('x and (__name__ == "__main__" and y)', True),
        ('__name__ == "__main__" or x', False), ('__name__ != "__main__"', False), ('__name__ == "m"', False),
        ('x.__name__ == "__main__"', False), ('not __name__ == "__main__"', False), ('"__main__" == "__main__"', False),
        ('__name__ == "__main__" == x', False), ("__name__", False),
    ],
)  # fmt: skip
def test_guard_condition(test: str, is_guard: bool) -> None:
    assert is_main_guard(ast.parse(test, mode="eval").body) is is_guard


def test_kinds_of_statements_and_the_lines_they_share() -> None:
    found = facts(
        """
        '''Docs.'''
        from __future__ import annotations
        import os; x = [
            1]
        os.environ["A"] = "1"; sys.path.append(y)
        @d
        def f(): pass
        if __name__ == "__main__": f()
        x = 1 \\

        """
    )
    assert [(s.kind, s.first_line, s.end_line, s.alone) for s in found.statements] == [
        ("docstring", 1, 1, True),
        ("future", 2, 2, True),
        ("import", 3, 3, False),
        ("other", 3, 4, False),
        ("environment", 5, 5, False),
        ("environment", 5, 5, False),
        ("definition", 6, 7, True),
        ("guard", 8, 8, True),
        ("other", 9, 10, True),
    ]


def test_frames_are_on_the_stack_of_those_around_them() -> None:
    found = {f.qualname: f.frame_depth for f in facts(
        """
        from inspect import stack as s
        def outer():
            class A:
                def inner(self): return s()
        def other(): pass
        """
    ).functions}  # fmt: skip
    assert found == {"outer": DEEP, "outer.<locals>.A.inner": DEEP, "other": 0}


def test_mpi_statements() -> None:
    found = facts(
        """
        from mpi4py import MPI
        comm = MPI.COMM_WORLD
        size: int = MPI.COMM_WORLD.Get_size()
        run(MPI.COMM_WORLD)
        x = run(MPI.COMM_WORLD)
        class A:
            def start(self):
                if x: MPI.Init()
                MPI.Init_thread()
                def stop():
                    MPI.Finalize(); x
        """
    )
    assert [(m.what, m.function, m.first_line, m.direct, m.alone) for m in found.mpi] == [
        ("world", "", 2, True, True),
        ("world", "", 3, True, True),
        ("init", "A.start", 8, False, False),
        ("init", "A.start", 9, True, True),
        ("finalize", "A.start.<locals>.stop", 11, True, False),
    ]


@pytest.mark.parametrize(
    ("head", "generated"),
    [
        ("# @generated by x\n", True), ("# This file was automatically generated by SWIG\n", True),
        ("# DO NOT EDIT.\n", True), ('"""Generated by protoc."""\n', True),
        ("# how data is generated by us\nx = 1\n", True), ("x = 'generated by y'\n", False), ("# edit me\n", False),
        ('"""AST nodes generated by the parser."""\n', False), ('"""This file is auto-generated by x."""\n', True),
        ('"""Generated by x."""\n', True), ("'''Tables; do not edit.'''\n", True),
    ],
)  # fmt: skip
def test_generated(head: str, generated: bool) -> None:
    assert facts(head).generated is generated


def test_resolve_and_dotted() -> None:
    imports = {"np": "numpy", "load": ".io.load"}
    assert resolve("np.load", imports) == "numpy.load"
    assert resolve("load", imports) == ".io.load"
    assert resolve("self.np.load", imports) == "self.np.load"
    assert dotted(ast.parse("f().a.b", mode="eval").body) == ".b"
    assert dotted(ast.parse("f()", mode="eval").body) == ""


@pytest.mark.skipif(sys.version_info < (3, 12), reason="syntax of Python 3.12")
def test_type_parameters_take_names() -> None:
    assert facts("def f[_dft: x](y): pass\nclass A[*dftracer]: pass\n").taken == {"_dft", "dftracer"}


@pytest.mark.parametrize(
    ("text", "watches"),
    [
        ("builtins.__import__ = f", True),
        ("__builtin__.__import__ = f", True),
        ("__builtins__['__import__'] = f", True),
        ("SCRIPT = b'''\nbuiltins.__import__ = f\n'''", True),
        ('monkeypatch.setattr(builtins, "__import__", f)', True),
        ("mock.patch('builtins.__import__', f)", True),
        ('found = "torch" in sys.modules', True),
        ("assert 'a.b' not in sys.modules", True),
        ("run('-X', 'importtime')", True),
        ("real = builtins.__import__", False),
        ("builtins.__import__ == f", False),
        ("__import__('torch')", False),
        ("name in sys.modules", False),
        ("sys.modules['torch'] = None", False),
    ],
)
def test_files_that_watch_imports(text: str, watches: bool) -> None:
    assert facts(text).watches_imports is watches
