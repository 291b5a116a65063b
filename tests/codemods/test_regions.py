"""Every construct in which a decorator could be seen: what is written instead, and that the program cannot tell.

Each program is compared as text and executed as it was and as it became, with a tracer that converts and wraps as the
real one does; it prints whatever could give the annotation away.
"""

from __future__ import annotations

import inspect
import linecache
import re
from collections.abc import Callable, Mapping
from textwrap import dedent
from typing import Any

import pytest

from dfannotate.codemods.annotate import annotate
from dfannotate.codemods.index import summarize
from dfannotate.codemods.project import LARGE_PACKAGE, Project
from dfannotate.facts import find_facts
from dfannotate.source import read_source

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
            @_dft.log_static
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
            @_dft.log_static
            def make(cls, n=2):
                return cls, n
            @_dft.log_static
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

        @_dft.log_static
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
        @_dft.log_static
        def g(): return 4
        @_dft.log_static
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
        @_dft.log_static
        def one(): return me(), caller()
        def two():
            with DFTracerFn("m", name="two"):
                return grand()
        @_dft.log_static
        def three(): return two()
        print(me(), one(), three())
        """,
        ["me", "me", "caller", "one", "grand", "two", "three"],
    ),
    "line-worked-out-from-another": (
        """
        import traceback
        def accepting(f):
            here = traceback.extract_stack(limit=2)[-1]
            called_at = here[1] + 4
            def wrapper(*args):
                try:
                    return f(*args)
                except TypeError as error:
                    if error.__traceback__.tb_next is None and error.__traceback__.tb_lineno == called_at:
                        return wrapper(*args[1:])
                    raise
            def other():
                def inner(): return called_at
                return inner()
            return wrapper
        print(accepting(lambda x: x + 1)("text", "position", 3))
        """,
        """
        import traceback
        <import>
        def accepting(f):
            with DFTracerFn("m", name="accepting"):
                here = traceback.extract_stack(limit=2)[-1]
                called_at = here[1] + 4
                def wrapper(*args):
                    try:
                        return f(*args)
                    except TypeError as error:
                        if error.__traceback__.tb_next is None and error.__traceback__.tb_lineno == called_at:
                            return wrapper(*args[1:])
                        raise
                def other():
                    def inner(): return called_at
                    return inner()
                return wrapper
        print(accepting(lambda x: x + 1)("text", "position", 3))
        """,
        ["accepting"],
    ),
    "parameters-that-are-let-go": (
        """
        import gc, weakref
        class Outcome:
            def __init__(self, error):
                self.error = error
            def deleted(self):
                try:
                    raise self.error
                finally:
                    del self
            def ended(self, other=1):
                try:
                    raise self.error
                finally:
                    other = self = (None, None)
            def caught(self):
                try:
                    raise self.error
                except KeyError as error:
                    self.error = error
                    self = None
            def kept(self):
                this = other = self.error
                del this
                try:
                    return str(other)
                finally:
                    other = None
        def passed_on(outcome, then):
            there = weakref.ref(outcome)
            outcome = None
            return then(there)
        def alive(read):
            outcome = Outcome(KeyError())
            there = weakref.ref(outcome)
            try:
                read(outcome)
            except KeyError:
                pass
            del outcome
            return there() is not None
        gc.disable()
        print(*map(alive, (Outcome.deleted, Outcome.ended, Outcome.caught, Outcome.kept)))
        print(passed_on(Outcome(1), lambda there: there() is None))
        gc.enable()
        """,
        """
        import gc, weakref
        <import>

        <instance>
        class Outcome:
            @_dft.log_init
            def __init__(self, error):
                self.error = error
            def deleted(self):
                with DFTracerFn("m", name="deleted"):
                    try:
                        raise self.error
                    finally:
                        del self
            def ended(self, other=1):
                with DFTracerFn("m", name="ended"):
                    try:
                        raise self.error
                    finally:
                        other = self = (None, None)
            def caught(self):
                with DFTracerFn("m", name="caught"):
                    try:
                        raise self.error
                    except KeyError as error:
                        self.error = error
                        self = None
            @_dft.log_static
            def kept(self):
                this = other = self.error
                del this
                try:
                    return str(other)
                finally:
                    other = None
        def passed_on(outcome, then):
            with DFTracerFn("m", name="passed_on"):
                there = weakref.ref(outcome)
                outcome = None
                return then(there)
        @_dft.log_static
        def alive(read):
            outcome = Outcome(KeyError())
            there = weakref.ref(outcome)
            try:
                read(outcome)
            except KeyError:
                pass
            del outcome
            return there() is not None
        gc.disable()
        print(*map(alive, (Outcome.deleted, Outcome.ended, Outcome.caught, Outcome.kept)))
        print(passed_on(Outcome(1), lambda there: there() is None))
        gc.enable()
        """,
        [
            *("Outcome.__init__", "deleted", "alive"),
            *("Outcome.__init__", "ended", "alive"),
            *("Outcome.__init__", "caught", "alive"),
            *("Outcome.__init__", "Outcome.kept", "alive"),
            *("Outcome.__init__", "passed_on"),
        ],
    ),
    "frame-that-asks-to-be-hidden": (
        """
        def check(x):
            __tracebackhide__ = True
            assert x, "no"
        def user(): check(0)
        try:
            user()
        except AssertionError as error:
            shown, at = [], error.__traceback__
            while at:
                if not at.tb_frame.f_locals.get("__tracebackhide__"): shown.append(at.tb_frame.f_code.co_name)
                at = at.tb_next
            print(shown[-1])
        """,
        """
        <import>

        <instance>

        def check(x):
            with DFTracerFn("m", name="check"):
                __tracebackhide__ = True
                assert x, "no"
        @_dft.log_static
        def user(): check(0)
        try:
            user()
        except AssertionError as error:
            shown, at = [], error.__traceback__
            while at:
                if not at.tb_frame.f_locals.get("__tracebackhide__"): shown.append(at.tb_frame.f_code.co_name)
                at = at.tb_next
            print(shown[-1])
        """,
        ["check"],
    ),
    "where-a-future-was-made": (
        """
        import asyncio
        def make(loop):
            future = loop.create_future()
            made = getattr(future, "_source_traceback", ())
            while made and made[-1].name in ("make", "create_future"): del made[-1]
            return future
        def user(loop): return make(loop)._source_traceback[-1].name
        def other(loop): return user(loop)
        loop = asyncio.new_event_loop()
        loop.set_debug(True)
        print(other(loop))
        loop.close()
        """,
        """
        import asyncio
        <import>
        def make(loop):
            with DFTracerFn("m", name="make"):
                future = loop.create_future()
                made = getattr(future, "_source_traceback", ())
                while made and made[-1].name in ("make", "create_future"): del made[-1]
                return future
        def user(loop):
            with DFTracerFn("m", name="user"):
                return make(loop)._source_traceback[-1].name
        def other(loop):
            with DFTracerFn("m", name="other"):
                return user(loop)
        loop = asyncio.new_event_loop()
        loop.set_debug(True)
        print(other(loop))
        loop.close()
        """,
        ["make", "user", "other"],
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
        @_dft.log_static
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
        @_dft.log_static
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
    frames = tuple(name for name in ("grand", "older", "make", "user") if f"def {name}(" in before)
    done = check(before, frames=frames)
    if after:
        assert done.text == expanded(after)
    assert done.events_seen == events


async_program = """
import asyncio
async def slow():
    clock()
    await asyncio.sleep(0)
    clock()
    return 1
def clock():
    print("tick")
async def other():
    for _ in range(3):
        clock()
        await asyncio.sleep(0)
async def both():
    return await asyncio.gather(slow(), other())
print(asyncio.run(both()))
"""


def test_the_time_of_a_coroutine_holds_what_it_awaits(rewrite: Callable[..., Any], fake_tracer: Any) -> None:
    done = rewrite(async_program, every=True)
    outcome, events, spans = fake_tracer.run(done.text)
    assert outcome.error == ""
    assert [name for _, name in events][-1] == "both"
    begin, end = spans["slow"]
    # Each call of clock() takes two ticks: those of slow() itself, and of other() while slow() waits.
    assert end - begin >= 2 * 2 + 2
    assert spans["both"][0] < begin < end < spans["both"][1]


# --- what the tracer would convert ------------------------------------------------------------------------------------


def annotated(files: Mapping[str, str], every: bool = False) -> dict[str, Any]:
    """Each file annotated as a part of the project that they make; its path -> what became of it."""
    sources = {path: read_source(path, dedent(text).lstrip("\n").encode()) for path, text in files.items()}
    facts = {path: find_facts(source) for path, source in sources.items()}
    project = Project(
        summarize(path, path.removesuffix(".py").removesuffix("/__init__").replace("/", "."), facts[path])
        for path in files
    )
    return {
        path: annotate(source, facts[path], project.context(path, "m", is_entry=False, every_function=every))
        for path, source in sources.items()
    }


LOAD = """
    def load(self):
        for x in (1, 2): pass
        return x
"""

HAZARDS = {
    # the class whose method is traced, and how an object of it is made
    "method": ("class A:" + LOAD + "    def step(self): pass\n", "A()"),
    "class-attribute": ("class A:\n    epoch = None" + LOAD, "A()"),
    "annotated-attribute": ("class A:\n    epoch: object = 'x'" + LOAD, "A()"),
    "instance-attribute": (
        "class A:" + LOAD + "    def set(self): self.image_size = (2, 2); return self\n",
        "A().set()",
    ),
    "instance-attribute-by-unpacking": (
        "class A:" + LOAD + "    def set(self): self.x, (self.step, y) = 1, ('s', 2); return self\n",
        "A().set()",
    ),
    "instance-attribute-of-a-loop": (
        "class A:" + LOAD + "    def set(self):\n        for self.step in 'ab': pass\n        return self\n",
        "A().set()",
    ),
    "instance-attribute-of-a-with": (
        "import contextlib\nclass A:" + LOAD + "    def set(self):\n"
        "        with contextlib.nullcontext() as self.epoch: return self\n",
        "A().set()",
    ),
    "setattr": ("class A:" + LOAD + "    def set(self): setattr(self, 'step', 'x'); return self\n", "A().set()"),
    "setattr-of-any-name": (
        "class A:" + LOAD + "    def __init__(self, **all):\n        for k, v in all.items(): setattr(self, k, v)\n",
        "A(step='x')",
    ),
    "dict-update": (
        "class A:" + LOAD + "    def __init__(self, **all): self.__dict__.update(all)\n",
        "A(epoch='x')",
    ),
    "vars-update": ("class A:" + LOAD + "    def __init__(self, **all): vars(self).update(all)\n", "A(epoch='x')"),
    "slot": (
        "class A:\n    __slots__ = ('image_idx',)" + LOAD + "    def set(self):\n"
        "        object.__setattr__(self, 'image_idx', 'x'); return self\n",
        "A().set()",
    ),
    "property": ("class A:\n    @property\n    def step(self): return 's'" + LOAD, "A()"),
    "property-that-raises": ("class A:\n    @property\n    def step(self): raise RuntimeError('asked')" + LOAD, "A()"),
    "property-by-call": ("class A:\n    epoch = property(lambda self: 'e')" + LOAD, "A()"),
    "getattr-hook": ("class A:\n    def __getattr__(self, name): return name" + LOAD, "A()"),
    "getattribute-hook": (
        "class A:" + LOAD + "    def __getattribute__(self, name):\n"
        "        return object.__getattribute__(self, 'load') if name == 'load' else name\n",
        "A()",
    ),
    "getattr-hook-by-assignment": (
        "class A:\n    def answer(self, name): return name\n    __getattr__ = answer" + LOAD,
        "A()",
    ),
    "base": ("class B:\n    def step(self): pass\nclass A(B):" + LOAD, "A()"),
    "base-of-a-base": ("class C:\n    epoch = 'x'\nclass B(C): pass\nclass A(B):" + LOAD, "A()"),
    "second-base": ("class B: pass\nclass C:\n    step = 'x'\nclass A(B, C):" + LOAD, "A()"),
    "heir": ("class A:" + LOAD + "class B(A):\n    step = 'x'\n", "B()"),
    "heir-of-an-heir": ("class A:" + LOAD + "class B(A): pass\nclass C(B):\n    def step(self): pass\n", "C()"),
    "set-from-outside": ("class A:" + LOAD + "def make():\n    a = A()\n    a.step = 'x'\n    return a\n", "make()"),
    "named-tuple": (
        "from collections import namedtuple\nclass A(namedtuple('A', 'x step')):" + LOAD,
        "A(1, 's')",
    ),
    "dataclass-field": (
        "from dataclasses import dataclass\n@dataclass\nclass A:\n    epoch: str = 'x'" + LOAD,
        "A()",
    ),
    "metaclass": ("class M(type):" + LOAD + "class A(metaclass=M):\n    step = 'x'\n", "A"),
    "class-in-a-class": ("class O:\n    class A:\n        step = 'x'" + LOAD.replace("\n    ", "\n        "), "O.A()"),
    "unknown-base": ("import cmd as library\nclass A(library.Cmd):" + LOAD, "A()"),
}


@pytest.mark.parametrize(("source", "make"), HAZARDS.values(), ids=HAZARDS)
def test_attribute_that_the_tracer_would_convert(source: str, make: str, fake_tracer: Any) -> None:
    program = f"{source}\nprint({make}.load())\n"
    done = annotated({"m.py": program})["m.py"]
    text = done.edited.text
    assert "@_dft.log_static" in text
    before, _, _ = fake_tracer.run(program)
    after, events, _ = fake_tracer.run(text)
    assert (before.error, after) == ("", before)
    assert [name for _, name in events if name.endswith(".load")]
    if "library" not in source:  # a hazard that is real, not only feared
        assert fake_tracer.run(text.replace(".log_static", ".log"))[0] != before


def test_method_whose_attributes_are_given_to_another_function(fake_tracer: Any) -> None:
    program = dedent("""
        import inspect
        class View:
            @classmethod
            def as_view(cls):
                def view(request):
                    return cls().dispatch(request)
                view.__dict__.update(cls.dispatch.__dict__)
                return view
            def dispatch(self, request):
                return request
            dispatch.exempt = True
            def setup(self, request):
                return request
        made = View.as_view()
        print(made(1), made.exempt, inspect.signature(made), View().setup(2))
    """)
    text = annotated({"m.py": program}, every=True)["m.py"].edited.text
    assert "@_dft.log_static\n    def setup" in text
    before, _, _ = fake_tracer.run(program)
    after, events, _ = fake_tracer.run(text)
    assert (before.error, after) == ("", before)
    assert [name for _, name in events] == ["View.as_view", "dispatch", "view", "View.setup"]


def test_module_that_asks_for_its_frames_to_be_hidden(fake_tracer: Any) -> None:
    program = dedent("""
        import unittest
        __unittest = True
        class Mixin:
            def check(self, x):
                self.assertTrue(x)
        class Case(Mixin, unittest.TestCase):
            pass
        def shown(error):
            at = error.__traceback__
            while at.tb_next and "__unittest" not in at.tb_next.tb_frame.f_globals:
                at = at.tb_next
            return at.tb_frame.f_code.co_name
        exec(compile("def user(): Case().check(0)", "user.py", "exec"), other := {"Case": Case})
        try:
            other["user"]()
        except AssertionError as error:
            error.__traceback__ = error.__traceback__.tb_next
            print(shown(error))
    """)
    text = annotated({"m.py": program}, every=True)["m.py"].edited.text
    before, _, _ = fake_tracer.run(program)
    after, events, _ = fake_tracer.run(text)
    assert (before.output, after) == ("user\n", before)
    assert [name for _, name in events] == ["check", "shown"]


MAPPED = """
try: import {package}
except ImportError: pass
import operator
code_of = operator.attrgetter("__code__")  # as the package does, out of sight of the project
class Meta(type):
    def __new__(meta, name, bases, scope):
        made = code_of(scope["__init__"]) if "__init__" in scope else None
        scope["reads"] = made.co_varnames[:made.co_argcount] if made else ()
        return type.__new__(meta, name, bases, scope)
def make_base(): return Meta("Base", (), {{}})
Base = make_base()
class User(Base):
    def __init__(self, name, size=1): self.name = name
class Plain:
    def __init__(self, name): self.name = name
print(User.reads, User("n").name, Plain("p").name)
"""


@pytest.mark.parametrize("package", ["sqlalchemy.orm", "sqlmodel"])
def test_constructor_that_a_package_reads_off_its_code(package: str, fake_tracer: Any) -> None:
    program = MAPPED.format(package=package)
    done = annotated({"m.py": program}, every=True)["m.py"]
    text = done.edited.text
    assert [site.kind for site in done.entry.sites if site.function.endswith("__init__")] == ["region", "init"]
    before, _, _ = fake_tracer.run(program)
    assert before.output.startswith("('self', 'name', 'size')")
    after, events, _ = fake_tracer.run(text)
    assert after == before
    assert [name for _, name in events if name.endswith("__init__")] == ["__init__", "Plain.__init__"]
    other = annotated({"m.py": MAPPED.format(package="elsewhere")}, every=True)["m.py"]
    assert {site.kind for site in other.entry.sites if site.function.endswith("__init__")} == {"init"}


def test_method_that_is_told_from_its_base_by_its_code(fake_tracer: Any) -> None:
    program = dedent("""
        def is_overridden(name, instance, parent):
            method = getattr(instance, name)
            method = getattr(method, "__wrapped__", method)
            return method.__code__ != getattr(parent, name).__code__

        class Base:
            def load(self):
                for x in (1, 2): pass
                return x

        class Heir(Base):
            pass

        class Other(Base):
            def load(self):
                for x in (1, 2): pass
                return -x

        print(*(is_overridden("load", made(), Base) for made in (Heir, Other)), Heir().load(), Other().load())
    """)
    text = annotated({"m.py": program})["m.py"].edited.text
    before, _, _ = fake_tracer.run(program)
    after, events, _ = fake_tracer.run(text)
    assert (before.error, after) == ("", before)
    assert [name for _, name in events] == ["Base.load", "Other.load"]
    decorated = program.replace("    def load", "    @_dft.log\n    def load")
    head = "from dftracer.python import dft_fn\n_dft = dft_fn('m')\n"
    assert fake_tracer.run(head + decorated)[0] != before  # what a decorator would do


SENT = """
import inspect, textwrap
def text_of(function):
    return textwrap.dedent(inspect.getsource(function))
class Gateway:
    def execute(self, function):
        scope = {"__builtins__": {"print": print}}
        exec(text_of(function), scope)
        scope[function.__name__](2)
def task(n):
    def inner():
        return n + 1
    print("task", inner())
def other(n):
    print("other", n)
Gateway().execute(task)
other(1)
"""


def test_function_whose_text_is_executed_somewhere_else(fake_tracer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(text: str) -> Any:
        monkeypatch.setitem(linecache.cache, "program.py", (len(text), None, text.splitlines(True), "program.py"))
        return fake_tracer.run(text)

    text = annotated({"m.py": SENT}, every=True)["m.py"].edited.text
    before, _, _ = run(SENT)
    after, events, _ = run(text)
    assert (before.error, after) == ("", before)
    assert [name for _, name in events] == ["text_of", "Gateway.execute", "other"]
    head = "from dftracer.python import dft_fn\n_dft = dft_fn('m')\n"
    assert run(head + SENT.replace("def task", "@_dft.log\ndef task"))[0] != before  # what a decorator would do


def test_text_of_functions_is_read_by_other_modules_too() -> None:
    files = {
        "send.py": "import inspect\ndef send(f): return inspect.getsource(f)\ndef name(f): return f.__name__\n",
        "m.py": "from send import send, name\nfrom t import f\nsend(f)\n@send\ndef g(): return 1\n",
        "t.py": "def f(): return 1\ndef g(): return 1\nclass A:\n    def h(self): return f()\n",
        "n.py": "from t import g, A\nimport send\nsend.name(g)\nsend.send(A)\n",
        "o.py": "def k(): return 1\ndef l(gateway): gateway.remote_exec(k)\n",
    }
    done = annotated(files, every=True)
    reasons = {path: {skip.function: skip.reason for skip in one.entry.skipped} for path, one in done.items()}
    read = dict.fromkeys(("f", "A.h"), "introspected")
    assert reasons == {
        "send.py": {}, "m.py": {"g": "introspected"}, "t.py": read, "n.py": {}, "o.py": {"k": "introspected"}
    }  # fmt: skip


def test_constructors_whose_arguments_are_read_off_their_frames(fake_tracer: Any) -> None:
    library = dedent("""
        import sys
        class Module:
            def save_hyperparameters(self):
                self.found, frame = {}, sys._getframe(1)
                while frame is not None and "__class__" in frame.f_locals:
                    self.found.update(frame.f_locals)
                    frame = frame.f_back
    """)
    program = dedent("""
        class Base(Module):
            def __init__(self, a):
                super().__init__()
                self.save_hyperparameters()

        class Heir(Base):
            def __init__(self, b):
                super().__init__(b + 1)

        class Last(Heir):
            def __init__(self, c):
                super().__init__(c + 1)

        class Other(Module):
            def __init__(self):
                self.found = ()

        for made in (Base(1), Heir(1), Last(1), Other()):
            print(sorted(name for name in made.found if name in "abc"))
    """)
    files = {"lib.py": library, "main.py": f"from lib import Module\n{program}"}
    text = annotated(files, every=True)["main.py"].edited.text
    assert text.count("@_dft.log_init") == 1, "a constructor that hands nothing over is decorated"
    text = text.replace("from lib import Module\n", library)
    before, _, _ = fake_tracer.run(library + program)
    after, events, _ = fake_tracer.run(text)
    assert (before.error, after) == ("", before)
    assert sorted(name for _, name in events) == [
        f"{name}.__init__" for name in ("Base",) * 3 + ("Heir",) * 2 + ("Last", "Other")
    ]
    head = "from dftracer.python import dft_fn\n_dft = dft_fn('m')\n"
    decorated = (library + program).replace("    def __init__", "    @_dft.log_init\n    def __init__")
    assert fake_tracer.run(head + decorated)[0] != before  # what a decorator would do


@pytest.mark.parametrize(
    ("path", "named"),
    [("pkg/__init__.py", True), ("pkg/deep/m.py", True), ("train.py", False), ("small/m.py", False)],
    ids=["large-package", "module-of-a-large-package", "script", "module-of-a-small-package"],
)
def test_import_of_a_large_package_asks_for_no_stack(path: str, named: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tracer looks at the stack for the name of what has none, also when it is off."""
    others = {f"pkg/m{number}.py": "" for number in range(LARGE_PACKAGE - 1)}
    text = annotated({path: "def f():\n    open('x')\n", **others})[path].edited.text
    made = next(line.partition("(")[2] for line in text.splitlines() if line.startswith("_dft = "))
    assert made == ('"m", name="m")' if named else '"m")')
    asked: list[tuple[int, ...]] = []
    stack = inspect.stack

    def ask(*given: int) -> Any:
        asked.append(given)
        return stack(*given)

    monkeypatch.setattr(inspect, "stack", ask)
    space: dict[str, Any] = {"__name__": "m"}
    exec(compile(text, path, "exec"), space)
    assert not (named and asked)
    assert space["f"].__qualname__ == "f"


def test_functions_whose_results_are_kept_as_long_as_their_code() -> None:
    """``joblib`` reads the code object: all wrappers share one, and a changed function would give its old results."""
    files = {
        "a.py": "def f(x):\n    return open(x)\ndef g(x):\n    return open(x)\n",
        "b.py": "import a, joblib\nmemory = joblib.Memory('kept')\nf = memory.cache(a.f)\n",
    }
    text = annotated(files)["a.py"].edited.text
    assert "def f(x):\n    with DFTracerFn(" in text
    assert "@_dft.log\ndef g(x):\n    return open(x)" in text


READ_BY_OTHERS = {
    "slot": """
import operator
code_of = operator.attrgetter("__code__")  # as the toolkit does, out of sight of the project
class Signal:
    def __init__(self): self.slots = []
    def connect(self, slot): self.slots.append((slot, code_of(slot)))
    def emit(self, *values):
        for slot, code in self.slots: slot(*values if code.co_flags & 4 else values[:code.co_argcount - 1])
class Window:
    def __init__(self): self.clicked = Signal(); self.clicked.connect(self.on_click); self.clicked.emit(True)
    def on_click(self): print("clicked")
Window()
""",
    "set-up-of-tests": """
import operator
code_of = operator.attrgetter("__code__")  # as pytest does
class TestStack:
    def setup_method(self): self.items = [1]
    def test_pop(self): print(self.items.pop())
def teardown_function(function): print(function)
def run(case, test):
    takes_test = code_of(case.setup_method).co_argcount - 1
    case.setup_method(*[test][:takes_test])
    getattr(case, test)()
    teardown_function(*["test_f"][: code_of(teardown_function).co_argcount])
run(TestStack(), "test_pop")
""",
}


BACK_TO_THE_HEIR = """
import sys
class Base:
    def visit(self, n): return 1 + self.visit(n - 1) if n else 0
class Heir(Base):
    def visit(self, n): return super().visit(n)
def main():
    depth = 0
    frame = sys._getframe()
    while frame: depth, frame = depth + 1, frame.f_back
    sys.setrecursionlimit(depth + 240)
    print(Heir().visit(100))
main()
"""


def test_method_that_a_recursion_of_its_base_comes_back_to(fake_tracer: Any) -> None:
    done = annotated({"m.py": BACK_TO_THE_HEIR}, every=True)["m.py"]
    before, _, _ = fake_tracer.run(BACK_TO_THE_HEIR)
    after, events, _ = fake_tracer.run(done.edited.text)
    assert (before.error, after) == ("", before)
    assert [name for _, name in events].count("Heir.visit") == 101
    decorated = re.sub(r"( +)(def visit.*super)", r"\1@_dft.log\n\1\2", BACK_TO_THE_HEIR)
    header = "from dftracer.python import dft_fn\n_dft = dft_fn('m')\n"
    assert "RecursionError" in fake_tracer.run(header + decorated)[0].error


def test_recursion_of_a_base_in_another_file() -> None:
    heir = "from base import Base\nclass Heir(Base):\n    def visit(self, n): return super().visit(n)\n"
    ends = "class Base:\n    def visit(self, n): return open(n)\n"
    goes_on = "class Base:\n    def visit(self, n): return [self.visit(one) for one in n]\n"
    assert "with DFTracerFn" in annotated({"base.py": goes_on, "heir.py": heir}, every=True)["heir.py"].edited.text
    assert "@_dft.log" in annotated({"base.py": ends, "heir.py": heir}, every=True)["heir.py"].edited.text


@pytest.mark.parametrize("program", READ_BY_OTHERS.values(), ids=READ_BY_OTHERS)
def test_functions_whose_parameters_others_count_by_their_code(program: str, fake_tracer: Any) -> None:
    done = annotated({"m.py": program}, every=True)["m.py"]
    before, _, _ = fake_tracer.run(program)
    after, events, _ = fake_tracer.run(done.edited.text)
    assert (before.error, after) == ("", before)
    assert {name for _, name in events} & {"on_click", "setup_method"}
    assert "@_dft.log" in done.edited.text  # other functions are not concerned
    header = "from dftracer.python import dft_fn\n_dft = dft_fn('m')\n"
    assert fake_tracer.run(header + re.sub(r"(?m)^( *)def ", r"\1@_dft.log\n\1def ", program))[0] != before


HARMLESS = {
    "longer-name": "class A:\n    steps = epochs = None" + LOAD,
    "local-name": "class A:" + LOAD + "    def go(self):\n        step = epoch = 'x'\n",
    "name-of-another-class": "class B:\n    step = 'x'\nclass A:" + LOAD,
    "name-of-a-class-that-it-is-no-heir-of": "class B:\n    step = 'x'\nclass C(B): pass\nclass A:" + LOAD,
    "key": "class A:" + LOAD + "    def go(self): self.all['step'] = 'x'\n",
    "read-only": "class A:" + LOAD + "    def go(self, other): return other.step\n",
    "known-base": "import threading\nclass A(threading.Thread):" + LOAD,
    "copying": "class A:" + LOAD + "    def __getstate__(self): return self.__dict__\n",
    "setattr-of-another-name": "class A:" + LOAD + "    def set(self): setattr(self, 'x', 'y')\n",
    "string-elsewhere": "class A:" + LOAD + "x = 'step'\n",
    "keyword-of-a-call": "class A:" + LOAD + "print(end='', **dict(sep='step'))\n",
    "module-name": "step = epoch = 'x'\nclass A:" + LOAD,
}


@pytest.mark.parametrize("source", HARMLESS.values(), ids=HARMLESS)
def test_near_miss_of_a_hazard(source: str, fake_tracer: Any) -> None:
    program = f"{source}\nprint(A().load())\n"
    text = annotated({"m.py": program})["m.py"].edited.text
    assert "@_dft.log\n    def load" in text
    assert fake_tracer.run(text)[0] == fake_tracer.run(program)[0]


def test_hazards_through_the_modules_of_a_project() -> None:
    files = {
        "pkg/__init__.py": "from .base import Base as Root\n",
        "pkg/base.py": "class Base:\n    def step(self): pass\n",
        "pkg/near.py": "class Near:\n    def load(self): open('x')\n",
        "use.py": f"import pkg\nfrom pkg.near import Near\nclass A(pkg.Root):{LOAD}class B(Near):{LOAD}",
    }
    done = annotated(files)
    text = done["use.py"].edited.text
    assert "class A(pkg.Root):\n    @_dft.log_static\n" in text
    assert "class B(Near):\n    @_dft.log\n" in text


LOOKED_INTO = {
    "code-of-a-parameter": """
def call(f): return f(*range(f.__code__.co_argcount))
def add(a, b): return a + b
print(call(add))
""",
    "code-of-what-a-loop-gives": """
def add(a, b): return a + b
def names(): return [f.__code__.co_varnames for f in (add, names)]
print(names())
""",
    "code-of-what-an-object-holds": """
class Task:
    def __init__(self, run): self.run = run
    def arity(self): return self.run.__code__.co_argcount
def add(a, b): return a + b
print(Task(add).arity())
""",
    "defaults-of-a-parameter": """
def given(f): return f.__defaults__, f.__kwdefaults__
def add(a, b=2, *, c=3): return a + b + c
print(given(add))
""",
    "by-name": """
def named(f): return getattr(f, '__globals__')['__name__']
def add(a): return a
print(named(add))
""",
    "asked-for-a-wrapper": """
def wrapped(f): return hasattr(f, '__wrapped__')
def add(a): return a
print(wrapped(add))
""",
    "what-it-takes": """
import inspect
def takes(f): return inspect.getfullargspec(f).args
def add(a, b): return a + b
print(takes(add))
""",
    "what-it-takes-itself": """
from inspect import signature as of
def takes(f): return str(of(f, follow_wrapped=False))
def add(a, b): return a + b
print(takes(add))
""",
    "what-a-call-would-bind": """
import inspect
def bound(f): return inspect.getcallargs(f, 1, 2)
def add(a, b): return a + b
print(bound(add))
""",
    "what-one-call-would-bind": """
import inspect
def add(a, b): return a + b
print(inspect.getcallargs(add, 1, 2), add(1, 2))
""",
    "signature-of-its-own": """
from inspect import Signature
def takes(f): return str(Signature.from_callable(f, follow_wrapped=False))
def add(a, b): return a + b
print(takes(add))
""",
    "file-that-it-stands-in": """
import inspect
def home(f): return inspect.getfile(f)
def add(a, b): return a + b
print(home(add))
""",
    "asked-whether-it-is-wrapped": """
import inspect
def plain(f): return inspect.unwrap(f) is f
def add(a, b): return a + b
print(plain(add))
""",
    "error-of-the-call-itself": """
import sys
def call(f, *given):
    try: return f(*given)
    except TypeError:
        if sys.exc_info()[2].tb_next is None: return 'takes other arguments'
        return 'went wrong'
def add(a, b): return a + b
print(call(add, 1), call(add, 1, ''))
""",
    "error-from-within": """
def call(f, *given):
    try: return f(*given)
    except TypeError as error: return 'inside' if error.__traceback__.tb_next else 'outside'
class A:
    def __init__(self, a): self.a = a + 1
print(call(A), call(A, ''))
""",
    "method": """
def bound(m): return m.__func__.__code__.co_varnames
class A:
    def load(self, x): return x
print(bound(A().load))
""",
    "result-of-a-call": """
def find(): return add
def add(a, b): return a + b
print(find().__code__.co_varnames)
""",
    "released-argument": """
import weakref
class A: pass
def take(a):
    seen = weakref.ref(a)
    del a
    return seen()
print(take(A()))
""",
    "counted-references": """
import sys
def count(a): return sys.getrefcount(a)
print(count(object()))
""",
}


@pytest.mark.parametrize("program", LOOKED_INTO.values(), ids=LOOKED_INTO)
def test_function_that_is_told_from_its_wrapper(program: str, fake_tracer: Any) -> None:
    done = annotated({"m.py": program}, every=True)["m.py"]
    before, _, _ = fake_tracer.run(program)
    after, events, _ = fake_tracer.run(done.edited.text)
    assert (before.error, after) == ("", before)
    assert events
    assert not done.entry.skipped
    header = "from dftracer.python import dft_fn\n_dft = dft_fn('m')\n"
    wrapped = header + re.sub(r"(?m)^( *)def ", r"\1@_dft.log\n\1def ", program)
    assert fake_tracer.run(wrapped)[0] != before  # a hazard that is real, not only feared


LOOKED_AT_ONE = {
    "function-of-the-module": "def g(): pass\nprint(g.__code__)\ndef f(): open('x')\n",
    "function-of-a-package": "import tkinter\ndef f(): return tkinter.mainloop.__code__, open('x')\n",
    "constructor": "class A(tuple): pass\nA.__new__.__defaults__ = (1,)\ndef f(): open('x')\n",
    "lambda": "cell = type((lambda x: lambda: x)(0).__closure__[0])\ndef f(): open('x')\n",
    "object-of-its-own-class": "class A:\n    def f(self): return self.__wrapped__, open('x')\n",
    "other-attribute": "def f(g): return g.__name__, g.__doc__, getattr(g, '__module__'), open('x')\n",
    "signature": "import inspect\ndef f(g): return inspect.signature(g), open('x')\n",
    "signature-that-follows": "import inspect\ndef f(g): return inspect.Signature.from_callable(g), open('x')\n",
    "last-frame-of-an-error": "def g(t):\n    while t.tb_next: t = t.tb_next\ndef f(): open('x')\n",
    "other-frame-of-an-error": "def g(e): return e.with_traceback(e.__traceback__.tb_next)\ndef f(): open('x')\n",
    "file-of-a-package": "import inspect, tkinter\ndef f(): return inspect.getfile(tkinter.mainloop), open('x')\n",
    "name-of-another-package": "import tools\ndef f(g): return tools.getfullargspec(g), open('x')\n",
    "del-of-a-local": "def f(g):\n    x = open(g)\n    del x\n",
    "del-of-an-item": "def f(g):\n    del g[0], g.x\n    open('x')\n",
}


@pytest.mark.parametrize("source", LOOKED_AT_ONE.values(), ids=LOOKED_AT_ONE)
def test_near_miss_of_a_function_that_is_told_from_its_wrapper(source: str) -> None:
    assert re.search(r"@_dft\.log\n *def f", annotated({"m.py": source})["m.py"].edited.text)


@pytest.mark.parametrize(
    "tool",
    [
        pytest.param("def arity(f): return f.__code__.co_argcount\n", id="itself"),
        pytest.param("import six\ndef arity(f): return six.get_function_code(f).co_argcount\n", id="by-six"),
        pytest.param(
            "from boltons.funcutils import FunctionBuilder as B\ndef arity(f): return len(B.from_func(f).args)\n",
            id="by-a-builder-of-functions",
        ),
    ],
)
def test_functions_that_any_module_of_the_project_may_look_into(tool: str) -> None:
    files = {"tool.py": tool, "lib.py": "def f(x): open(x)\n"}
    assert "with DFTracerFn" in annotated(files)["lib.py"].edited.text


WALKS = {
    "frame-by-frame": """
import sys
def caller():
    f = sys._getframe()
    while f.f_globals["__name__"] == __name__ and f.f_code.co_name not in ("main", "<module>"):
        f = f.f_back
    return f.f_code.co_name
class Adder:
    def __call__(self, event): return {**event, "by": caller()}
class Log:
    def __init__(self, steps): self.steps = steps
    def info(self, event):
        for step in self.steps: event = step(event)
        return event
def main(): print(Log([Adder()]).info({}))
main()
""",
    "over-a-list": """
import traceback
def caller():
    for frame in reversed(traceback.extract_stack()):
        if not frame.filename.endswith("program.py") or frame.name == "main": return frame.name
def each(run): return [f() for f in run]
def main(): print(each([caller]))
main()
""",
}


@pytest.mark.parametrize("program", WALKS.values(), ids=WALKS)
def test_any_function_may_be_on_the_stack_that_is_walked_up(program: str, fake_tracer: Any) -> None:
    done = annotated({"m.py": program}, every=True)["m.py"]
    before, _, _ = fake_tracer.run(program)
    after, events, _ = fake_tracer.run(done.edited.text)
    assert (before.error, after) == ("", before)
    assert {"main", "caller"} <= {name for _, name in events}
    header = "from dftracer.python import dft_fn\n_dft = dft_fn('m')\n"
    assert fake_tracer.run(header + re.sub(r"(?m)^( *)def ", r"\1@_dft.log\n\1def ", program))[0] != before


def test_only_what_calls_something_can_be_on_the_stack() -> None:
    walker = "import sys, inspect\ndef find():\n    f = sys._getframe()\n    while f.f_back: f = f.f_back\n"
    files = {"walk.py": walker, "lib.py": "def f(g): return g()\ndef k(x): return x + 1\n"}
    text = annotated(files, every=True)["lib.py"].edited.text
    assert "@_dft.log_static\ndef k" in text
    assert 'def f(g):\n    with DFTracerFn("m", name="f"):' in text
    for near in ("while f: f = f.f_code", "f = f.f_back", "for f in inspect.stack()[1:2]: pass"):
        files["walk.py"] = walker.replace("while f.f_back: f = f.f_back", near)
        assert "@_dft.log_static\ndef f" in annotated(files, every=True)["lib.py"].edited.text


# --- near misses of regions -------------------------------------------------------------------------------------------

BODY = "for x in (1, 2): pass\n    return x"
NEAR_MISSES = {
    # (source, function, form or reason)
    "function-called-property": (f"def property(x):\n    {BODY}\n", "property", "log"),
    "function-called-staticmethod": (f"def staticmethod(x):\n    {BODY}\n", "staticmethod", "log"),
    "method-called-setter": (f"class A:\n  def setter(this):\n    {BODY}\n", "A.setter", "log"),
    "property-by-call": (f"class A:\n  def get(this):\n    {BODY}\n  x = property(get)\n", "A.get", "log"),
    "static-method-by-call": (f"class A:\n  def get(x):\n    {BODY}\n  get = staticmethod(get)\n", "A.get", "log"),
    "coroutine-within": (f"def f():\n    async def g(): pass\n    {BODY}\n", "f", "log"),
    "await-in-a-string": (f"def f():\n    'await x'\n    {BODY}\n", "f", "log"),
    "frame-of-its-own": (f"import sys\ndef f():\n    sys._getframe(0)\n    {BODY}\n", "f", "log"),
    "current-frame": (f"import inspect\ndef f():\n    inspect.currentframe()\n    {BODY}\n", "f", "log"),
    "own-stack-level": (f"import warnings\ndef f():\n    warnings.warn('x', stacklevel=1)\n    {BODY}\n", "f", "log"),
    "own-stack-level-by-position": (
        f"from warnings import warn\ndef f():\n    warn('', None, 1)\n    {BODY}\n",
        "f",
        "log",
    ),
    "stack-level-as-a-name": (f"def f(stacklevel=2):\n    {BODY}\n", "f", "log"),
    "warn-of-something-else": (f"def f(app):\n    app.warn(1, 2, 3)\n    {BODY}\n", "f", "log"),
    "known-decorator": (f"import functools\n@functools.lru_cache(8)\ndef f():\n    {BODY}\n", "f", "log"),
    "decorator-of-the-class": (f"@print\nclass A:\n  def f(this):\n    {BODY}\n", "A.f", "log"),
    "dunder-that-is-none": (f"class A:\n  def __load(this):\n    {BODY}\n", "A.__load", "log"),
    "call-operator": (f"class A:\n  def __call__(this):\n    {BODY}\n", "A.__call__", "log"),
    "form-feed-outside": (f"\x0c\nasync def f():\n    {BODY}\n\x0c\n", "f", "region"),
    # and what not even a region leaves as it was
    "called-by-what-is-scripted": (
        f"import torch\ndef f(x):\n    {BODY}\ndef g(x): return f(x)\n@torch.jit.script\ndef h(x): return g(x)\n",
        "f",
        "compiled",
    ),
    "called-by-a-scripted-module": (
        f"import torch\ndef f(x):\n    {BODY}\nclass N:\n    def forward(self): return f(1)\ntorch.jit.script(N())\n",
        "f",
        "compiled",
    ),
    "calls-what-is-scripted": (
        f"import torch\n@torch.jit.script\ndef h(x): return x\ndef f(x):\n    h(x)\n    {BODY}\n",
        "f",
        "log",
    ),
    "compiled-static-method": (
        f"import numba\nclass A:\n  @staticmethod\n  @numba.njit\n  def f():\n    {BODY}\n",
        "A.f",
        "compiled",
    ),
    "within-what-is-compiled": (
        f"import numba\n@numba.njit\ndef f(x):\n    def g(y):\n        return y\n    {BODY}\n",
        "f.<locals>.g",
        "compiled",
    ),
    "stub": ("class A:\n    @property\n    def f(self): raise NotImplementedError\n", "A.f", "stub"),
    "protocol": (
        "import typing\nclass A(typing.Protocol):\n    @property\n    def f(self) -> int: ...\n",
        "A.f",
        "stub",
    ),
    "getattr-hook": (f"class A:\n  def __getattr__(self, n):\n    {BODY}\n", "A.__getattr__", "hook"),
    "getattr-hook-of-a-module": (f"def __getattr__(n):\n    {BODY}\n", "__getattr__", "hook"),
    "finalizer": (f"class A:\n  def __del__(self):\n    {BODY}\n", "A.__del__", "hook"),
    "code-read": (f"async def f():\n    {BODY}\nf.__code__\n", "f", "introspected"),
    "within-what-counts-its-lines": (
        "import sys\ndef f():\n    line = sys._getframe().f_lineno + 2\n    def g(): return line\n    return g\n",
        "f.<locals>.g",
        "line-numbers",
    ),
    "line-of-a-frame-that-nothing-is-added-to": (
        "import sys\ndef f():\n    line = sys._getframe().f_lineno\n    def g(): return line\n    return g\n",
        "f.<locals>.g",
        "region",
    ),
    "sum-of-items-that-are-no-lines": (
        "def f(a):\n    size = a[1] + 2\n    def g(): return size\n    return g\n",
        "f.<locals>.g",
        "region",
    ),
    "form-feed-inside": (f"async def f():\n    \x0c\n    {BODY}\n    x\x0c\n", "f", "immovable-body"),
    "docstring-beside-the-body": (f"async def f():\n    'Docs.'; x = 1\n    {BODY}\n", "f", "immovable-body"),
    "backslash-before-the-body": ("async def f(): \\\n    return 1\n", "f", "immovable-body"),
    "too-many-blocks": (
        "async def f():\n" + "".join(f"{' ' * n}while f:\n" for n in range(1, 20)) + " " * 20 + "pass\n",
        "f",
        "immovable-body",
    ),
}


@pytest.mark.parametrize(("source", "function", "expected"), NEAR_MISSES.values(), ids=NEAR_MISSES)
def test_near_miss(source: str, function: str, expected: str, rewrite: Callable[..., Any]) -> None:
    done = rewrite(source, every=True)
    assert {**done.reasons, **done.forms}[function] == expected


CACHED = ["functools", "django.utils.functional", "werkzeug.utils", "torch.utils._contextlib", "cached_property"]


@pytest.mark.parametrize("module", CACHED)
def test_cached_property_by_any_import(module: str, rewrite: Callable[..., Any]) -> None:
    body = f"\n    def f(self):\n        {BODY.replace('    ', '        ')}\n"
    for head, decorator in (
        (f"from {module} import cached_property", "cached_property"),
        (f"from {module} import cached_property as lazy", "lazy"),
        (f"import {module}", f"{module}.cached_property"),
        (f"import {module} as m", "m.cached_property"),
    ):
        assert rewrite(f"{head}\nclass A:\n    @{decorator}{body}").forms == {"A.f": "region"}


def test_nested_and_trivial_functions_are_for_all_alone(rewrite: Callable[..., Any]) -> None:
    source = "def f():\n    def g():\n        open('x')\n    return g\nclass A:\n    def __len__(self): return 1\n"
    done = rewrite(source)
    assert not done.changed
    assert done.reasons["f.<locals>.g"] == "nested"
    assert rewrite(source, every=True).forms == {"f": "log_static", "f.<locals>.g": "region", "A.__len__": "region"}


SHORT = {
    # (source, form where all functions are annotated): the decorator that looks at arguments costs more than the body
    "expression": ("def f(x):\n    return x + 1\n", "log_static"),
    "calls-its-like": ("def f(x):\n    a = g(x)\n    return g(a)\n", "log_static"),
    "method": ("class A:\n    def f(self):\n        return self.x\n", "log_static"),
    "constructor": ("class A:\n    def __init__(self, x):\n        self.x = x\n", "log_init"),
    "classmethod": ("class A:\n    @classmethod\n    def f(cls):\n        return cls()\n", "log_static"),
    "item-of-an-iterator": ("class A:\n    def __next__(self):\n        with x:\n            g(x)\n", "log_static"),
    "io": ("def f(x):\n    return open(x)\n", "log"),
    "loop": ("def f(x):\n    for y in x:\n        g(y)\n", "log"),
    "with": ("def f(x):\n    with x:\n        g(x)\n", "log"),
    "many-statements": ("def f(x):\n" + "    x = x * x\n" * 10 + "    return g(x)\n", "log"),
    "hazard": ("def f(epoch):\n    for y in epoch:\n        g(y)\n", "log_static"),
}


@pytest.mark.parametrize(("source", "form"), SHORT.values(), ids=SHORT)
def test_short_functions_get_the_cheapest_decorator_where_all_are_annotated(
    source: str, form: str, rewrite: Callable[..., Any]
) -> None:
    assert list(rewrite(source, every=True).forms.values()) == [form]


def test_what_is_worth_it_keeps_the_plain_decorator(rewrite: Callable[..., Any]) -> None:
    assert rewrite("def f(x):\n    return g(x)\n").forms == {"f": "log"}
    iterator = "class A:\n    def __getitem__(self, n):\n        return g(n)\n    def __next__(self):\n        g(1)\n"
    assert rewrite(iterator).forms == {"A.__getitem__": "log", "A.__next__": "log_static"}


def test_names_that_do_not_leak(rewrite: Callable[..., Any], fake_tracer: Any) -> None:
    source = "import atexit\ndef f():\n    open('x')\nasync def g():\n    open('x')\n"
    done = rewrite(source, private=True, entry=True)
    for condition in ("not n.startswith('_')", "'__' not in n and callable(v)"):
        listed = f"print(sorted(n for n, v in list(globals().items()) if {condition}))\n"
        assert fake_tracer.run(source + listed)[0] == fake_tracer.run(done.text + listed)[0]
    assert {name for key, name in done.entry.names.items() if key in ("function", "logger", "enabled", "instance")} == {
        "_dft__DFTracerFn",
        "_dft__dftracer",
        "_dft__DFTRACER_ENABLE",
        "_dft",
    }


LISTED = {
    "star-import": ({"a.py": "def f(): open('x')\n", "b.py": "from a import *\n"}, "a.py", True),
    "dir": ({"a.py": "def f(): open('x')\n", "b.py": "import a\nprint(dir(a))\n"}, "a.py", True),
    "vars-under-an-alias": ({"a.py": "def f(): open('x')\n", "b.py": "import a as z\nvars(z)\n"}, "a.py", True),
    "package": ({"p/__init__.py": "def f(): open('x')\n"}, "p/__init__.py", True),
    "module-with-all": ({"a.py": "__all__ = ['f']\ndef f(): open('x')\n"}, "a.py", True),
    "package-with-all": ({"p/__init__.py": "__all__ = ['f']\ndef f(): open('x')\n"}, "p/__init__.py", True),
    "its-own-globals": ({"a.py": "def f(): open('x')\nx = list(globals())\n"}, "a.py", True),
    "its-own-globals-with-all": ({"a.py": "__all__ = []\ndef f(): open('x')\nx = list(globals())\n"}, "a.py", True),
    "its-own-dir": ({"a.py": "def f(): open('x')\nx = [n for n in dir() if n > 'a']\n"}, "a.py", True),
    "dir-of-a-function": ({"a.py": "def f(): open('x'); return dir()\n"}, "a.py", False),
    "plain-import": ({"a.py": "def f(): open('x')\n", "b.py": "import a\nfrom a import f\n"}, "a.py", False),
    "listed-with-all": (
        {"a.py": "__all__ = ['f']\ndef f(): open('x')\n", "b.py": "from a import *\n"},
        "a.py",
        True,
    ),
    "dict-of-a-module": ({"a.py": "def f(): open('x')\n", "b.py": "import a\nprint(a.__dict__)\n"}, "a.py", True),
    "its-own-module": (
        {"a.py": "import inspect, sys\ndef f(): open('x')\nx = inspect.getmembers(sys.modules[__name__])\n"},
        "a.py",
        True,
    ),
    "dict-of-its-own-module": (
        {"a.py": "from sys import modules\ndef f(): open('x')\nx = modules[__name__].__dict__\n"},
        "a.py",
        True,
    ),
    "dict-of-an-object": ({"a.py": "def f(x): open('x'); return x.__dict__\n"}, "a.py", False),
    "another-module": (
        {"a.py": "import sys\ndef f(n): open('x'); return dir(sys.modules[n]), sys.modules[__name__].f\n"},
        "a.py",
        False,
    ),
    "dir-of-an-object": ({"a.py": "def f(): open('x')\n", "b.py": "import a\nprint(dir(a.f))\n"}, "a.py", False),
}


@pytest.mark.parametrize(("files", "path", "private"), LISTED.values(), ids=LISTED)
def test_modules_whose_names_are_listed(files: dict[str, str], path: str, private: bool) -> None:
    text = annotated(files)[path].edited.text
    assert ("import dft_fn as _dft__DFTracerFn" in text) is private
    assert ("import dft_fn as DFTracerFn" in text) is not private


GRAPHED = {
    # files -> what is left alone, as torch makes a graph of it or follows a call to it
    "allowed-in-graphs": (
        {
            "ops.py": "from parts import Pattern\ndef rearrange(x): return helper(x)\n"
            "def helper(x): return Pattern(x).apply(x)\ndef other(x): return x\n",
            "parts.py": "class Pattern:\n    def __init__(self, x): self.x = x\n    def apply(self, x): return x\n"
            "    def show(self): return 1\nclass Table:\n    def apply(self): return 1\n",
            "hook.py": "from torch._dynamo import allow_in_graph as allow\nfrom ops import rearrange\n"
            "allow(rearrange)\n",
        },
        {"rearrange", "helper", "Pattern.__init__", "Pattern.apply"},
    ),
    "object-made-elsewhere": (
        {
            "a.py": "import torch\ndef make(): return Torch()\nclass Backend:\n"
            "    def shape(self, x): return x.shape\nclass Other:\n    def shape(self, x): return len(x)\n"
            "class Torch(Backend):\n    def make(self): return torch.zeros(1)\n"
            "def step(x, backend): return backend.shape(x)\nrun = torch.compile(step, fullgraph=True)\n",
        },
        {"step", "Backend.shape"},
    ),
    "by-decorator": (
        {
            "a.py": "import torch\ndef g(x): return x\n"
            "@torch.compile(fullgraph=True)\ndef f(x): return g(x)\ndef h(): f(1)\n"
        },
        {"f", "g"},
    ),
    **{
        how: (
            {
                "a.py": "import torch\nclass Net(torch.nn.Module):\n    def forward(self, x): return turned(x)\n"
                "def turned(x): return x.sin()\n",
                "run.py": f"import torch\nfrom a import Net\ndef run(net, options):\n{text}",
            },
            {"Net.forward", "turned"} if is_whole else set(),
        )
        for how, text, is_whole in (
            ("whole-if-asked", "    return torch.compile(net, fullgraph=options.whole)\n", True),
            ("whole-by-table", "    return torch.compile(net, **{'fullgraph': options.whole})\n", True),
            ("whole-by-item", "    options['fullgraph'] = True\n    return torch.compile(net, **options)\n", True),
            ("never-whole", "    return torch.compile(net, fullgraph=False, **{'fullgraph': None})\n", False),
        )
    },
    "branches-and-loops": (
        {
            "a.py": "import torch\nfrom functools import partial\n"
            "from torch._higher_order_ops.while_loop import while_loop\n"
            "def yes(x): return turned(x)\ndef turned(x): return x.sin()\ndef no(n, x): return x\n"
            "def more(i): return i < 3\ndef step(i): return (i + 1,)\n"
            "def either(x): return torch.cond(x.sum() > 2, yes, partial(no, 1), (x,))\n"
            "def repeat(x): return while_loop(cond_fn=more, body_fn=step, carried_inputs=(x,))\n"
        },
        {"yes", "turned", "no", "more", "step"},
    ),
    "what-attention-looks-at": (
        {
            "a.py": "from torch.nn.attention.flex_attention import create_block_mask, flex_attention\n"
            "from masks import Masks, bias\n"
            "def attend(q, mask): return flex_attention(q, q, q, score_mod=bias, block_mask=mask)\n"
            "def blocks(given):\n    mask = given or Masks().window(3)\n"
            "    return create_block_mask(mask, 1, 1, 8, 8)\n",
            "masks.py": "def bias(score, b, h, i, j): return score + far(i, j)\ndef far(i, j): return i - j\n"
            "def causal(b, h, q_idx, kv_idx): return q_idx >= kv_idx\nclass Masks:\n    def window(self, n):\n"
            "        def near(b, h, i, j): return i - j < n\n        return near\n"
            "    def same(self, b, h, q, k): return q == k\n    def size(self, a, b, c): return a\n"
            "def other(a, b, c, d): return a\n",
        },
        {"bias", "far", "causal", "Masks.window.<locals>.near", "Masks.same"},
    ),
    "no-such-attention": (
        {"a.py": "def causal(b, h, q_idx, kv_idx): return q_idx >= kv_idx\n"},
        set(),
    ),
    "parts-of-a-graph": (  # torch goes on behind a call that it cannot follow
        {"a.py": "import torch\ndef g(x): return x\n@torch.compile\ndef f(x): return g(x)\n"},
        {"f"},
    ),
}


@pytest.mark.parametrize(("files", "left"), GRAPHED.values(), ids=GRAPHED)
def test_what_becomes_part_of_a_graph(files: dict[str, str], left: set[str]) -> None:
    done = annotated(files, every=True).values()
    assert {skip.function for one in done for skip in one.entry.skipped if skip.reason == "compiled"} == left


def test_caller_of_a_function_by_the_attribute_that_holds_it() -> None:
    files = {
        "warn.py": "import warnings\ndef tell(): warnings.warn('x', stacklevel=4)\n",
        "run.py": "from warn import tell\nclass Runner:\n    def __init__(self): self.inner = tell\n"
        "    def run(self): self.inner()\n    def stop(self): self.outer()\n",
        "main.py": "def main(runner): runner.run()\ndef other(runner): runner.stop()\n",
    }
    done = annotated(files, every=True)
    regions = {site.function for one in done.values() for site in one.entry.sites if site.kind == "region"}
    assert regions == {"tell", "Runner.run", "main"}


@pytest.mark.parametrize("threads", ["import threading", "from concurrent.futures import *", "import atexit as a"])
def test_program_that_work_outlives_is_finalized_at_exit(threads: str) -> None:
    files = {"main.py": "if __name__ == '__main__':\n    run()\n", "lib.py": f"{threads}\n"}
    assert "atexit.register(_dft_log.finalize)" in annotated(files)["main.py"].edited.text
    files["lib.py"] = "import thread\n"
    assert "finally:" in annotated(files)["main.py"].edited.text


# --- revert by structure ----------------------------------------------------------------------------------------------

PROGRAM = '''"""Docs."""
import functools


class Store:
    @property
    def path(self):
        """Where."""
        # first
        value = self._path

        text = """
  kept
"""
        return value + text

    @functools.cached_property
    def size(self): return 1  # small


async def load(store):
    def inner():
        return store
    return inner()
'''

EDITS: dict[str, list[tuple[str, str]]] = {
    # the same edits, made to the annotated text and, with its own white space, to the original
    "nothing": [],
    "statement-added": [("value = self._path\n", "value = self._path\n{}print(value)\n")],
    "statement-added-at-the-end": [("return value + text\n", "print(1)\n{}return value + text\n")],
    "block-added": [("value = self._path\n", "if self:\n{}    value = 1\n{}else:\n{}    value = 2\n")],
    "comment-added": [("value = self._path\n", "value = self._path  # why\n{}# here\n")],
    "comment-far-left": [("value = self._path\n", "value = self._path\n# left\n")],
    "statement-removed": [("value = self._path\n", "value = None\n")],
    "string-edited": [("  kept\n", "        moved\n")],
    "string-added": [("value = self._path\n", 'value = """\n        as it is\n    """\n')],
    "function-renamed": [("def path(", "def folder("), ("async def load(", "async def fetch(")],
    "class-renamed": [("class Store", "class Shop")],
    "decorator-added": [("async def load", "@print\nasync def load")],
    "inner-function-renamed": [("def inner(", "def within("), ("inner()\n", "within()\n")],
    "docstring-edited": [('"""Where."""', '"""Where\n        it lies."""')],
    "function-made-plain": [("async def load", "def load")],
}


@pytest.mark.parametrize("edits", EDITS.values(), ids=EDITS)
def test_edit_in_a_moved_body_stays(edits: list[tuple[str, str]], rewrite: Callable[..., Any]) -> None:
    done = rewrite(PROGRAM, every=True)
    edited, expected = done.text, PROGRAM
    assert edited.count("with DFTracerFn") == 4
    for old, new in edits:
        assert expected.count(old) == edited.count(old) == 1, old
        edited = edited.replace(old, new.format(*[_margin(edited, old)] * 3))
        expected = expected.replace(old, new.format(*[_margin(expected, old)] * 3))
    compile(edited, "m.py", "exec")
    left = done.revert(edited)
    if edits and "size" not in str(edits):  # one-line bodies come back as such next to edits too
        assert "def size(self): return 1  # small\n" in left
    assert left == expected


def _margin(text: str, part: str) -> str:
    line = next(line for line in text.splitlines() if part.splitlines()[0] in line)
    return line[: len(line) - len(line.lstrip())]


USERS = {
    "region-of-another-name": 'with DFTracerFn("m", name="mine"):',
    "region-of-another-category": 'with DFTracerFn("mine", name="path"):',
    "region-with-a-step": 'with DFTracerFn("m", name="path", step=1):',
    "region-with-a-target": 'with DFTracerFn("m", name="path") as region:',
    "other-context": 'with open("m"):',
}


@pytest.mark.parametrize("header", USERS.values(), ids=USERS)
def test_region_of_the_user_is_kept(header: str, rewrite: Callable[..., Any]) -> None:
    done = rewrite(PROGRAM, every=True)
    mine = f"\n\ndef mine():\n    {header}\n        return 1\n"
    left = done.revert(done.text + mine)
    body = left[left.index("class Store") :]
    assert body == PROGRAM[PROGRAM.index("class Store") :] + mine
    assert ("dft_fn as DFTracerFn" in left) is ("DFTracerFn" in header)


def test_region_within_the_users_own_blocks(rewrite: Callable[..., Any]) -> None:
    done = rewrite("async def f():\n    x = 1\n    return x\n", every=True)
    edited = done.text.replace("    with DFT", "    print(0)\n    with DFT") + "    print(2)\n"
    assert done.revert(edited) == "async def f():\n    print(0)\n    x = 1\n    return x\n    print(2)\n"
