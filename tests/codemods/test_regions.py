"""Every construct in which a decorator could be seen: what is written instead, and that the program cannot tell.

Each program is compared as text and executed as it was and as it became, with a tracer that converts and wraps as the
real one does; it prints whatever could give the annotation away.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Check = Callable[..., Any]


@pytest.fixture(scope="module")
def check(rewrite: Callable[..., Any], fake_tracer: Any) -> Check:
    """Annotate every function of a program and execute it before and after."""

    def run(source: str, **context: object) -> Any:
        done = rewrite(source, **{"every": True, **context})
        before, none, _ = fake_tracer.run(done.source.text)
        after, events, _ = fake_tracer.run(done.text)
        assert not none
        assert after == before
        names = {(site.category, site.event) for site in done.entry.sites if site.event}
        assert set(events) <= names
        done.events_seen[:] = [name for _, name in events]
        return done

    return run


REWRITES: dict[str, tuple[str, str, list[str]]] = {
    # program -> what it becomes, and the events of a run
    "property-with-setter-and-deleter": (
        """
        class A:
            @property
            def size(self):
                '''How large.'''
                return self._size

            @size.setter
            def size(self, value):
                self._size = value

            @size.deleter
            def size(self):
                del self._size
        a = A()
        a.size = 3
        print(a.size, A.size.__doc__, type(A.size), A.size.fget.__qualname__)
        del a.size
        print(vars(a))
        """,
        """
        <import>

        class A:
            @property
            def size(self):
                '''How large.'''
                with DFTracerFn("m", name="A.size"):
                    return self._size

            @size.setter
            def size(self, value):
                with DFTracerFn("m", name="A.size"):
                    self._size = value

            @size.deleter
            def size(self):
                with DFTracerFn("m", name="A.size"):
                    del self._size
        a = A()
        a.size = 3
        print(a.size, A.size.__doc__, type(A.size), A.size.fget.__qualname__)
        del a.size
        print(vars(a))
        """,
        ["A.size"] * 3,
    ),
    "cached-property-and-property-made-by-a-call": (
        """
        import functools
        class A:
            @functools.cached_property
            def table(self):
                print("made")
                return [1]
            def getx(self):
                return 5
            x = property(getx)
        a = A()
        print(a.table, a.table, a.x, vars(a))
        """,
        """
        import functools
        <import>

        <instance>
        class A:
            @functools.cached_property
            def table(self):
                with DFTracerFn("m", name="table"):
                    print("made")
                    return [1]
            @_dft.log
            def getx(self):
                return 5
            x = property(getx)
        a = A()
        print(a.table, a.table, a.x, vars(a))
        """,
        ["table", "A.getx"],
    ),
    "static-and-class-methods": (
        """
        class A:
            @staticmethod
            def area(a, b):
                return a * b
            @classmethod
            def make(cls, n=2):
                return cls, n
            def late(x):
                return x
            late = staticmethod(late)
        class B(A): pass
        print(A.area(2, 3), A().area(2, 3), B.make()[0] is B, B().make(3)[1], B().late(1), type(vars(A)["make"]))
        """,
        """
        <import>

        <instance>

        class A:
            @staticmethod
            def area(a, b):
                with DFTracerFn("m", name="area"):
                    return a * b
            @classmethod
            @_dft.log
            def make(cls, n=2):
                return cls, n
            @_dft.log
            def late(x):
                return x
            late = staticmethod(late)
        class B(A): pass
        print(A.area(2, 3), A().area(2, 3), B.make()[0] is B, B().make(3)[1], B().late(1), type(vars(A)["make"]))
        """,
        ["area", "area", "A.make", "A.make", "A.late"],
    ),
    "coroutine-function": (
        """
        import asyncio, inspect
        async def get(n):
            '''Get.'''
            await asyncio.sleep(0)
            async with asyncio.Lock():
                return n
        async def gets():
            return [await get(n) for n in (1, 2)] + [n async for n in numbers()]
        async def numbers():
            yield 3
        print(asyncio.run(gets()), inspect.iscoroutinefunction(get), inspect.isasyncgenfunction(numbers), get.__doc__)
        """,
        """
        import asyncio, inspect
        <import>
        async def get(n):
            '''Get.'''
            with DFTracerFn("m", name="get"):
                await asyncio.sleep(0)
                async with asyncio.Lock():
                    return n
        async def gets():
            with DFTracerFn("m", name="gets"):
                return [await get(n) for n in (1, 2)] + [n async for n in numbers()]
        async def numbers():
            yield 3
        print(asyncio.run(gets()), inspect.iscoroutinefunction(get), inspect.isasyncgenfunction(numbers), get.__doc__)
        """,
        ["get", "get", "gets"],
    ),
    "same-name-twice": (
        """
        class A:
            @property
            def load(self): return 1
        class B:
            @property
            def load(self): return 2
        @(lambda f: f)
        def load(): return 3
        print(A().load, B().load, load())
        """,
        """
        <import>

        class A:
            @property
            def load(self):
                with DFTracerFn("m", name="A.load"):
                    return 1
        class B:
            @property
            def load(self):
                with DFTracerFn("m", name="B.load"):
                    return 2
        @(lambda f: f)
        def load():
            with DFTracerFn("m", name="load"):
                return 3
        print(A().load, B().load, load())
        """,
        ["A.load", "B.load", "load"],
    ),
    "name-of-a-decorated-function": (
        """
        def load(): return 1
        class A:
            @staticmethod
            def load(): return 2
        print(load(), A.load())
        """,
        """
        <import>

        <instance>

        @_dft.log
        def load(): return 1
        class A:
            @staticmethod
            def load():
                with DFTracerFn("m", name="A.load"):
                    return 2
        print(load(), A.load())
        """,
        ["load", "A.load"],
    ),
    "nested-functions-with-nonlocal-global-and-cells": (
        """
        count = 0
        def outer(n):
            total = 0
            def add(m):
                nonlocal total
                global count
                total += m
                count += 1
                return lambda: total
            def mul(m): return m * n; print("never")
            return add(1)() + add(2)() + mul(3)
        print(outer(4), count, outer.__code__.co_cellvars)
        """,
        """
        <import>

        count = 0
        def outer(n):
            total = 0
            def add(m):
                with DFTracerFn("m", name="add"):
                    nonlocal total
                    global count
                    total += m
                    count += 1
                    return lambda: total
            def mul(m):
                with DFTracerFn("m", name="mul"):
                    return m * n; print("never")
            return add(1)() + add(2)() + mul(3)
        print(outer(4), count, outer.__code__.co_cellvars)
        """,
        ["add", "add", "mul"],
    ),
    "regions-in-regions": (
        """
        @(lambda f: f)
        def outer():
            # first
            class Inner:
                x = 1

                @property
                def y(self):
                    # within
                    def z(): return [
                        self.x,
              2]
                    return z()
            # last

            return Inner().y
        print(outer())
        """,
        """
        <import>

        @(lambda f: f)
        def outer():
            # first
            with DFTracerFn("m", name="outer"):
                class Inner:
                    x = 1

                    @property
                    def y(self):
                        # within
                        with DFTracerFn("m", name="y"):
                            def z():
                                with DFTracerFn("m", name="z"):
                                    return [
                                    self.x,
                  2]
                            return z()
                # last

                return Inner().y
        print(outer())
        """,
        ["z", "y", "outer"],
    ),
    "super-and-class-cell": (
        """
        class A:
            @property
            def name(self):
                return "A"
            @staticmethod
            def who(): return __class__.__name__
            def __repr__(self): return "<A>"
        class B(A):
            @property
            def name(self):
                return super().name + __class__.__name__
            def __repr__(self): return super().__repr__() + "B"
        print(B().name, B.who(), B())
        """,
        """
        <import>

        class A:
            @property
            def name(self):
                with DFTracerFn("m", name="A.name"):
                    return "A"
            @staticmethod
            def who():
                with DFTracerFn("m", name="who"):
                    return __class__.__name__
            def __repr__(self):
                with DFTracerFn("m", name="A.__repr__"):
                    return "<A>"
        class B(A):
            @property
            def name(self):
                with DFTracerFn("m", name="B.name"):
                    return super().name + __class__.__name__
            def __repr__(self):
                with DFTracerFn("m", name="B.__repr__"):
                    return super().__repr__() + "B"
        print(B().name, B.who(), B())
        """,
        ["A.name", "B.name", "who", "A.__repr__", "B.__repr__"],
    ),
    "returns-everywhere": (
        """
        @(lambda f: f)
        def f(n):
            try:
                while n > 2:
                    n -= 1
                    if n == 7:
                        return "seven"
                else:
                    for x in range(n):
                        if x: break
                    else:
                        return "none"
                if (y := n) == 2: return y
                match n:
                    case 1:
                        return "one"
                    case _: raise KeyError(n)
            except KeyError as error:
                return repr(error)
            else:
                return "else"
            finally:
                if n == -1:
                    return "finally"
        print([f(n) for n in (9, 5, 2, 1, 0, -1)])
        """,
        """
        <import>

        @(lambda f: f)
        def f(n):
            with DFTracerFn("m", name="f"):
                try:
                    while n > 2:
                        n -= 1
                        if n == 7:
                            return "seven"
                    else:
                        for x in range(n):
                            if x: break
                        else:
                            return "none"
                    if (y := n) == 2: return y
                    match n:
                        case 1:
                            return "one"
                        case _: raise KeyError(n)
                except KeyError as error:
                    return repr(error)
                else:
                    return "else"
                finally:
                    if n == -1:
                        return "finally"
        print([f(n) for n in (9, 5, 2, 1, 0, -1)])
        """,
        ["f"] * 6,
    ),
    "strings-stay": (
        '''
        @(lambda f: f)
        def f(x):
            """Docs
              of f.
            """
            """no docs
            """
            a = """one
            two
        three""" + f"""{x}
                {x + 1:
        >3}
            """
            b = (rb"""\\
            raw""", "con"
            "cat" """
            enated""", print("in", """
            a call
            """, end=""))
            return a, b, """
            """; 'never'
        print(f(1), f.__doc__)
        ''',
        '''
        <import>

        @(lambda f: f)
        def f(x):
            """Docs
              of f.
            """
            with DFTracerFn("m", name="f"):
                """no docs
            """
                a = """one
            two
        three""" + f"""{x}
                {x + 1:
        >3}
            """
                b = (rb"""\\
            raw""", "con"
            "cat" """
            enated""", print("in", """
            a call
            """, end=""))
                return a, b, """
            """; 'never'
        print(f(1), f.__doc__)
        ''',
        ["f"],
    ),
    "comments-and-continuations-stay": (
        """
        @(lambda f: f)
        # between
        def f(x,
              y=(1,
           2)):  # beside
            # first

            z = x + \\
                1 + \\
          2  # far
          # out
        # further
            if z: \\
                z += 1
            with open(__file__) if False else \\
                    __import__("contextlib").nullcontext():
                pass
            assert (z,  # one
        # two
                    y)
            return z
            # last

        # next
        print(f(1))
        """,
        """
        <import>

        @(lambda f: f)
        # between
        def f(x,
              y=(1,
           2)):  # beside
            # first

            with DFTracerFn("m", name="f"):
                z = x + \\
                    1 + \\
          2  # far
          # out
        # further
                if z: \\
                    z += 1
                with open(__file__) if False else \\
                        __import__("contextlib").nullcontext():
                    pass
                assert (z,  # one
        # two
                        y)
                return z
            # last

        # next
        print(f(1))
        """,
        ["f"],
    ),
    "one-line-bodies": (
        """
        class A:
            @staticmethod
            def f(x=lambda: 1): return x()  # why
            @property
            def g(self): a = 1; b = [a,
                2]; return b
            @staticmethod
            async def h(
                x): return x
        print(A.f(), A().g)
        try: A.h(1).send(None)
        except StopIteration as stop: print(stop.value)
        """,
        """
        <import>

        class A:
            @staticmethod
            def f(x=lambda: 1):
                with DFTracerFn("m", name="f"):
                    return x()  # why
            @property
            def g(self):
                with DFTracerFn("m", name="g"):
                    a = 1; b = [a,
                    2]; return b
            @staticmethod
            async def h(
                x):
                with DFTracerFn("m", name="h"):
                    return x
        print(A.f(), A().g)
        try: A.h(1).send(None)
        except StopIteration as stop: print(stop.value)
        """,
        ["f", "g", "h"],
    ),
    "conditional-definitions-and-names-that-go": (
        """
        import sys
        if sys.argv is None:
            async def f(): return 1
        else:
            try:
                import nothing_of_this_name
            except ImportError:
                async def f(): return 2
            else:
                def f(): return 3
        def g(): return 4
        def g(): return 5
        h = g
        del g
        print(f.__code__.co_flags & 0x80, h(), "g" in globals())
        """,
        """
        import sys
        <import>

        <instance>
        if sys.argv is None:
            async def f(): return 1
        else:
            try:
                import nothing_of_this_name
            except ImportError:
                async def f(): return 2
            else:
                def f(): return 3
        @_dft.log
        def g(): return 4
        @_dft.log
        def g(): return 5
        h = g
        del g
        print(f.__code__.co_flags & 0x80, h(), "g" in globals())
        """,
        ["g"],
    ),
    "conditional-coroutine-functions": (
        """
        import sys
        if sys.argv is None:
            async def f(): return 1
        else:
            async def f():
                return 2
        try: f().send(None)
        except StopIteration as stop: print(stop.value)
        """,
        """
        import sys
        <import>
        if sys.argv is None:
            async def f():
                with DFTracerFn("m", name="f"):
                    return 1
        else:
            async def f():
                with DFTracerFn("m", name="f"):
                    return 2
        try: f().send(None)
        except StopIteration as stop: print(stop.value)
        """,
        ["f"],
    ),
    "hazards-of-parameters": (
        """
        def resize(image, image_size=(2, 2)): return image_size
        def train(epoch=None, *, step="linear"): return epoch, step
        def any(**options): return options
        class Net:
            def __init__(self, image_size): self.size = image_size
            def load(this, image_idx=None): return image_idx
        print(resize(1), train(), any(step="x"), Net((1, 2)).size, Net((1, 2)).load())
        """,
        """
        <import>

        <instance>

        @_dft.log_static
        def resize(image, image_size=(2, 2)): return image_size
        @_dft.log_static
        def train(epoch=None, *, step="linear"): return epoch, step
        @_dft.log_static
        def any(**options): return options
        class Net:
            @_dft.log_static
            def __init__(self, image_size): self.size = image_size
            @_dft.log_static
            def load(this, image_idx=None): return image_idx
        print(resize(1), train(), any(step="x"), Net((1, 2)).size, Net((1, 2)).load())
        """,
        ["resize", "train", "any", "Net.__init__", "Net.__init__", "Net.load"],
    ),
    "recursion-near-the-limit": (
        """
        import sys
        def down(n):
            return 0 if n == 0 else 1 + down(n - 1)
        depth = len(__import__("inspect").stack())
        sys.setrecursionlimit(depth + 160)
        print(down(130))
        """,
        """
        import sys
        <import>
        def down(n):
            with DFTracerFn("m", name="down"):
                return 0 if n == 0 else 1 + down(n - 1)
        depth = len(__import__("inspect").stack())
        sys.setrecursionlimit(depth + 160)
        print(down(130))
        """,
        ["down"] * 131,
    ),
    "frames": (
        """
        import sys, inspect
        def me(): return sys._getframe().f_code.co_name
        def caller(): return sys._getframe(1).f_code.co_name
        def grand(): return inspect.currentframe().f_back.f_back.f_code.co_name
        def one(): return me(), caller()
        def two(): return grand()
        def three(): return two()
        print(me(), one(), three())
        """,
        """
        import sys, inspect
        <import>

        <instance>
        def me():
            with DFTracerFn("m", name="me"):
                return sys._getframe().f_code.co_name
        def caller():
            with DFTracerFn("m", name="caller"):
                return sys._getframe(1).f_code.co_name
        def grand():
            with DFTracerFn("m", name="grand"):
                return inspect.currentframe().f_back.f_back.f_code.co_name
        @_dft.log
        def one(): return me(), caller()
        def two():
            with DFTracerFn("m", name="two"):
                return grand()
        @_dft.log
        def three(): return two()
        print(me(), one(), three())
        """,
        ["me", "me", "caller", "one", "grand", "two", "three"],
    ),
    "warnings-at-the-line-of-the-caller": (
        """
        import warnings
        def here(): warnings.warn("here")
        def old():
            warnings.warn("old", DeprecationWarning, 2)
        def older():
            warnings.warn("older", stacklevel=3)
        def helper():
            older()
        def user():
            here()
            old()
            helper()
            return 1
        user()
        """,
        """
        import warnings
        <import>

        <instance>
        @_dft.log
        def here(): warnings.warn("here")
        def old():
            with DFTracerFn("m", name="old"):
                warnings.warn("old", DeprecationWarning, 2)
        def older():
            with DFTracerFn("m", name="older"):
                warnings.warn("older", stacklevel=3)
        def helper():
            with DFTracerFn("m", name="helper"):
                older()
        @_dft.log
        def user():
            here()
            old()
            helper()
            return 1
        user()
        """,
        ["here", "old", "older", "helper", "user"],
    ),
    "pickles-and-what-inspect-says": (
        """
        import inspect, pickle
        from typing import get_type_hints
        def f(a, b: int = 2, /, *c, d: "str" = "x", **e) -> None: 'Docs.'; return None
        class A:
            def __init__(self, x: int) -> None: self.x = x
            @classmethod
            def make(cls, n: int = 3): return cls(n)
            @staticmethod
            def s(q, *, r=1): return q
            def __reduce__(self): return A, (self.x,)
            async def co(self, z=(1, 2)): return z
            def gen(self): yield 1
            def m(self, y=0): return y
        for thing in (f, A, A.__init__, A.make, A.s, A.co, A.gen, A.m):
            print(thing.__module__, thing.__qualname__, thing.__name__, thing.__doc__, inspect.signature(thing))
            print(inspect.iscoroutinefunction(thing), inspect.isgeneratorfunction(thing), inspect.isfunction(thing))
            print(get_type_hints(thing), inspect.unwrap(thing).__name__)
        a = pickle.loads(pickle.dumps(A(7)))
        print(a.x, pickle.loads(pickle.dumps((f, A, A.make, A.s, A.m, a.m)))[5](9))
        """,
        "",
        ["A.__init__", "__reduce__", "A.__init__", "__reduce__", "A.__init__", "A.m"],
    ),
}


@pytest.mark.parametrize(("before", "after", "events"), REWRITES.values(), ids=REWRITES)
def test_rewrite(
    before: str, after: str, events: list[str], check: Check, expanded: Callable[[str], str], fake_tracer: Any
) -> None:
    frames = ("grand", "older") if "def grand" in before or "def older" in before else ()
    done = check(before, frames=frames)
    if after:
        assert done.text == expanded(after)
    assert done.events_seen == events
