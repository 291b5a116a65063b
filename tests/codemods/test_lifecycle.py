"""Where tracing starts and ends: guards, console scripts, bare scripts, MPI."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

GUARDS = {
    "plain": (
        """
        import os
        if __name__ == "__main__":
            run()
        """,
        """
        import os
        <import start>
        if __name__ == "__main__":
            <start>
            try:
                run()
            finally:
                <finish>
        """,
    ),
    "one-line": (
        """
        import os
        if __name__ == "__main__": run(); stop()  # go
        """,
        """
        import os
        <import start>
        if __name__ == "__main__":
            <start>
            try:
                run(); stop()  # go
            finally:
                <finish>
        """,
    ),
    "else": (
        """
        import os
        if __name__ == "__main__":
            run()
        else:
            # imported
            prepare()
        """,
        """
        import os
        <import start>
        if __name__ == "__main__":
            <start>
            try:
                run()
            finally:
                <finish>
        else:
            # imported
            prepare()
        """,
    ),
    "one-line-with-else": (
        """
        import os
        if __name__ == "__main__": run()
        elif os: pass
        else: prepare()
        """,
        """
        import os
        <import start>
        if __name__ == "__main__":
            <start>
            try:
                run()
            finally:
                <finish>
        elif os: pass
        else: prepare()
        """,
    ),
    "reversed-comparison-in-parentheses": (
        """
        import os
        if ("__main__" == __name__):
            run()
        """,
        """
        import os
        <import start>
        if ("__main__" == __name__):
            <start>
            try:
                run()
            finally:
                <finish>
        """,
    ),
    "with-a-second-condition": (
        """
        import os
        if __name__ == "__main__" and os.name == "posix":
            run()
        """,
        """
        import os
        <import start>
        if __name__ == "__main__" and os.name == "posix":
            <start>
            try:
                run()
            finally:
                <finish>
        """,
    ),
    "comments-everywhere": (
        """
        import os
        # above
        if __name__ == "__main__":  # beside

            # first
            run()  # at work

            # between
            stop()
            # last

        # below
        """,
        """
        import os
        <import start>
        # above
        if __name__ == "__main__":  # beside
            <start>
            try:

                # first
                run()  # at work

                # between
                stop()
            finally:
                <finish>
            # last

        # below
        """,
    ),
    "body-of-nothing": (
        """
        import os
        if __name__ == "__main__":
            '''Docs.'''
            pass
        """,
        """
        import os
        <import start>
        if __name__ == "__main__":
            <start>
            try:
                '''Docs.'''
                pass
            finally:
                <finish>
        """,
    ),
    "strings-and-continuations-stay": (
        '''
        import os
        if __name__ == "__main__":
            text = """
            as it is
        and here
        """ f"""{os}
            """
            run(text,
                [1,
          2],
            3)
            x = 1 + \\
            2
            y = """\\
            z"""; run(x)
        ''',
        '''
        import os
        <import start>
        if __name__ == "__main__":
            <start>
            try:
                text = """
            as it is
        and here
        """ f"""{os}
            """
                run(text,
                    [1,
          2],
                3)
                x = 1 + \\
            2
                y = """\\
            z"""; run(x)
            finally:
                <finish>
        ''',
    ),
    "functions-and-imports-in-the-guard": (
        """
        import os
        if __name__ == "__main__":
            from os.path import *
            import functools

            @functools.cache
            def load(path):
                return open(path).read()

            class A:
                def save(self): open("x")

            load("x")
        """,
        """
        import os
        <import all>

        <instance>
        if __name__ == "__main__":
            <start>
            try:
                from os.path import *
                import functools

                @functools.cache
                @_dft.log
                def load(path):
                    return open(path).read()

                class A:
                    @_dft.log
                    def save(self): open("x")

                load("x")
            finally:
                <finish>
        """,
    ),
    "guard-in-a-guard": (
        """
        import os
        if __name__ == "__main__":
            if __name__ == "__main__":
                run()
        """,
        """
        import os
        <import start>
        if __name__ == "__main__":
            <start>
            try:
                if __name__ == "__main__":
                    run()
            finally:
                <finish>
        """,
    ),
    "followed-by-definitions-only": (
        """
        import os
        if __name__ == "__main__":
            run()
        def helper(): pass
        """,
        """
        import os
        <import start>
        if __name__ == "__main__":
            <start>
            try:
                run()
            finally:
                <finish>
        def helper(): pass
        """,
    ),
    "code-after-the-guard": (
        """
        import os
        if __name__ == "__main__":
            # first
            run()
        report()
        """,
        """
        import os
        import atexit
        <import start>
        if __name__ == "__main__":
            <start once>
            # first
            run()
        report()
        """,
    ),
    "two-guards": (
        """
        import os
        if __name__ == "__main__": prepare()
        if __name__ == "__main__":
            run()
        """,
        """
        import os
        import atexit
        <import start>
        if __name__ == "__main__":
            <start once>
            prepare()
        if __name__ == "__main__":
            run()
        """,
    ),
    "form-feed-before-the-guard": (
        'import os\n\x0cif __name__ == "__main__":\n    run()\n',
        'import os\n<import start>\n\x0cif __name__ == "__main__":\n    <start>\n    try:\n        run()\n'
        "    finally:\n        <finish>\n",
    ),
    "one-line-in-a-file-of-tabs": (
        "import os\nclass A:\n\tx = 1\nif __name__ == '__main__': run()\n",
        "import os\n<import start>\nclass A:\n\tx = 1\nif __name__ == '__main__':\n\t<start>\n\ttry:\n\t\trun()\n"
        "\tfinally:\n\t\t<finish>\n",
    ),
    "blocks-of-another-indentation-than-the-file": (
        "import os\nclass A:\n  x = 1\nif __name__ == '__main__':\n        for x in y:\n            run()\n",
        "import os\n<import start>\nclass A:\n  x = 1\nif __name__ == '__main__':\n        <start>\n        try:\n"
        "          for x in y:\n              run()\n        finally:\n          <finish>\n",
    ),
    "docstring-that-looks-like-a-block": (
        """
        '''Usage:
          python run.py
        '''
        if __name__ == "__main__":
            for x in y:
                run(x)
        """,
        """
        '''Usage:
          python run.py
        '''

        <import start>
        if __name__ == "__main__":
            <start>
            try:
                for x in y:
                    run(x)
            finally:
                <finish>
        """,
    ),
}


@pytest.mark.parametrize(("before", "after"), GUARDS.values(), ids=GUARDS)
def test_guard(before: str, after: str, rewrite: Callable[..., Any], expanded: Callable[[str], str]) -> None:
    done = rewrite(before)
    assert done.text == expanded(after)
    assert done.entry.entry


NO_GUARD = {
    "guard-in-a-try": "try:\n    if __name__ == '__main__':\n        run()\nfinally: pass\n",
    "guard-in-a-function": "def f():\n    if __name__ == '__main__':\n        run()\n",
    "other-name": "if __name__ == 'run':\n    run()\n",
    "other-variable": "if name == '__main__':\n    run()\n",
    "either": "if __name__ == '__main__' or debug:\n    run()\n",
    "not": "if __name__ != '__main__':\n    run()\n",
    "attribute": "if self.__name__ == '__main__':\n    run()\n",
    "in": "if __name__ in ('__main__',):\n    run()\n",
    "elif": "if a:\n    pass\nelif __name__ == '__main__':\n    run()\n",
    "script-that-nobody-names": "run()\n",
    "main-that-no-script-enters": "def main():\n    run()\n",
}


@pytest.mark.parametrize("source", NO_GUARD.values(), ids=NO_GUARD)
def test_no_entry_point(source: str, rewrite: Callable[..., Any]) -> None:
    done = rewrite(source)
    assert not [site for site in done.entry.sites if site.kind == "lifecycle"]
    assert "initialize_log" not in done.text
    assert not done.entry.entry


MAINS = {
    "plain": (
        """
        import os
        def main():
            run()
        """,
        """
        import os
        import atexit
        <import start>
        def main():
            <start once>
            run()
        """,
    ),
    "docstring-and-comment": (
        """
        import os
        def main(argv=None):
            '''Run.'''
            # first
            return run(argv)
        """,
        """
        import os
        import atexit
        <import start>
        def main(argv=None):
            '''Run.'''
            # first
            <start once>
            return run(argv)
        """,
    ),
    "docstring-only": (
        """
        import os
        def main():
            '''Run.'''
        """,
        """
        import os
        import atexit
        <import start>
        def main():
            '''Run.'''
            <start once>
        """,
    ),
    "one-line": (
        """
        import os
        def main(): return run()  # go
        """,
        """
        import os
        import atexit
        <import start>
        def main():
            <start once>
            return run()  # go
        """,
    ),
    "one-line-with-docstring": (
        """
        import os
        def main(): "Run."; return run()
        """,
        """
        import os
        import atexit
        <import start>
        def main():
            "Run."
            <start once>
            return run()
        """,
    ),
    "docstring-that-shares-its-line": (
        """
        import os
        def main():
            "Run."; return run()
        """,
        """
        import os
        import atexit
        <import start>
        def main():
            "Run."
            <start once>
            return run()
        """,
    ),
    "decorated": (
        """
        import click
        @click.command()
        @click.option("--x")
        def main(x):
            run(x)
        """,
        """
        import click
        import atexit
        <import start>
        @click.command()
        @click.option("--x")
        def main(x):
            <start once>
            run(x)
        """,
    ),
    "first-statement-is-a-decorated-function": (
        """
        import os
        def main():
            @cache
            def run(): pass
            run()
        """,
        """
        import os
        import atexit
        <import start>
        def main():
            <start once>
            @cache
            def run(): pass
            run()
        """,
    ),
    "under-a-condition-twice": (
        """
        import os
        if os.name == "nt":
            def main(): run()
        else:
            def main():
                run()
        """,
        """
        import os
        import atexit
        <import start>
        if os.name == "nt":
            def main():
                <start once>
                run()
        else:
            def main():
                <start once>
                run()
        """,
    ),
    "guard-that-calls-it-has-no-pair": (
        """
        import sys
        def main():
            run()
        if __name__ == "__main__":
            sys.exit(main())
        """,
        """
        import sys
        import atexit
        <import start>
        def main():
            <start once>
            run()
        if __name__ == "__main__":
            sys.exit(main())
        """,
    ),
    "its-callers-are-not-decorated": (
        """
        import sys
        def main():
            open("x")
        def outer():
            open("y")
            main()
        def outermost():
            open("z")
            outer()
        def other():
            open("w")
        """,
        """
        import sys
        import atexit
        <import all>

        <instance>
        def main():
            <start once>
            open("x")
        def outer():
            open("y")
            main()
        def outermost():
            open("z")
            outer()
        @_dft.log
        def other():
            open("w")
        """,
    ),
    "called-while-the-module-is-imported": (
        """
        def main():
            run()
        main()
        import os
        """,
        """
        import atexit
        <import start>

        def main():
            <start once>
            run()
        main()
        import os
        """,
    ),
    "tracer-imported-below": (
        """
        import os
        def main():
            run()
        main()
        from dftracer.python import dftracer
        """,
        """
        import os
        import atexit
        from dftracer.python import dftracer as _dftracer, DFTRACER_ENABLE
        def main():
            if DFTRACER_ENABLE and _dftracer.get_instance().logger is None:
                _dft_log = _dftracer.initialize_log(logfile=None, data_dir=None, process_id=-1)
                atexit.register(_dft_log.finalize)
            run()
        main()
        from dftracer.python import dftracer
        """,
    ),
    "atexit-imported-within": (
        """
        import os
        def main():
            import atexit
            atexit.register(print)
        """,
        """
        import os
        import atexit as _atexit
        <import start>
        def main():
            if DFTRACER_ENABLE and dftracer.get_instance().logger is None:
                _dft_log = dftracer.initialize_log(logfile=None, data_dir=None, process_id=-1)
                _atexit.register(_dft_log.finalize)
            import atexit
            atexit.register(print)
        """,
    ),
    "atexit-taken-in-both-spellings": (
        """
        import os
        atexit = _atexit = None
        def main():
            run()
        """,
        """
        import os
        import atexit as _atexit_2
        <import start>
        atexit = _atexit = None
        def main():
            if DFTRACER_ENABLE and dftracer.get_instance().logger is None:
                _dft_log = dftracer.initialize_log(logfile=None, data_dir=None, process_id=-1)
                _atexit_2.register(_dft_log.finalize)
            run()
        """,
    ),
}


@pytest.mark.parametrize(("before", "after"), MAINS.values(), ids=MAINS)
def test_function_of_a_console_script(
    before: str, after: str, rewrite: Callable[..., Any], expanded: Callable[[str], str]
) -> None:
    done = rewrite(before, mains=("main",))
    assert done.text == expanded(after)
    assert done.entry.entry
    assert done.reasons["main"] == "entry-point"


def test_guard_that_calls_the_console_script_of_another_file(rewrite: Callable[..., Any]) -> None:
    source = 'from app.cli import main\nif __name__ == "__main__":\n    main()\n'
    assert not rewrite(source, calls=("app.cli.main",)).changed
    assert rewrite(source).changed


@pytest.mark.parametrize("source", ["async def main():\n    await run()\n", "def main():\n    yield run()\n"])
def test_entry_function_that_cannot_hold_the_start(source: str, rewrite: Callable[..., Any]) -> None:
    done = rewrite(source, mains=("main",))
    assert "initialize_log" not in done.text
    assert not [site for site in done.entry.sites if site.kind == "lifecycle"]
    assert done.notes == ("m.py:1: main() cannot hold the start of tracing",)


def test_function_that_a_guard_defines_is_no_entry_point(
    rewrite: Callable[..., Any], expanded: Callable[[str], str]
) -> None:
    before = """
        import sys
        if __name__ == "__main__":
            def main(): pass
            main()
        """
    after = """
        import sys
        <import start>
        if __name__ == "__main__":
            <start>
            try:
                def main(): pass
                main()
            finally:
                <finish>
        """
    assert rewrite(before, mains=("main",)).text == expanded(after)


def test_method_called_main_is_no_entry_point(rewrite: Callable[..., Any]) -> None:
    assert not rewrite("class A:\n    def main(self):\n        pass\n", mains=("main",)).changed


SCRIPTS = {
    "imports": (
        """
        #!/usr/bin/env python3
        '''Run.'''
        import os
        run(os)
        """,
        """
        #!/usr/bin/env python3
        '''Run.'''
        import os
        import atexit
        <import start>
        <start once>
        run(os)
        """,
    ),
    "functions-are-decorated-too": (
        """
        import os
        def load(x):
            open(x)
        load("x")
        """,
        """
        import os
        import atexit
        <import all>

        <instance>
        <start once>
        @_dft.log
        def load(x):
            open(x)
        load("x")
        """,
    ),
    "guard-wins": (
        """
        import os
        if __name__ == "__main__":
            run()
        """,
        """
        import os
        <import start>
        if __name__ == "__main__":
            <start>
            try:
                run()
            finally:
                <finish>
        """,
    ),
    "docstring-only": (
        """
        '''Run.'''
        """,
        """
        '''Run.'''

        import atexit
        <import start>
        <start once>
        """,
    ),
}


@pytest.mark.parametrize(("before", "after"), SCRIPTS.values(), ids=SCRIPTS)
def test_script(before: str, after: str, rewrite: Callable[..., Any], expanded: Callable[[str], str]) -> None:
    assert rewrite(before, entry=True).text == expanded(after)


def test_dunder_main_that_calls_a_console_script_has_no_pair(rewrite: Callable[..., Any]) -> None:
    source = "import sys\nfrom .cli import main\nsys.exit(main())\n"
    assert not rewrite(source, entry=True, calls=(".cli.main",)).changed


MPI = {
    "init-and-finalize-in-the-guard": (
        """
        from mpi4py import MPI
        if __name__ == "__main__":
            MPI.Init()
            run()
            MPI.Finalize()
        """,
        """
        from mpi4py import MPI
        import atexit
        <import start>
        if __name__ == "__main__":
            MPI.Init()
            <start once>
            run()
            <finish now>
            MPI.Finalize()
        """,
    ),
    "init-thread-in-main": (
        """
        import mpi4py.MPI as M
        def main():
            M.Init_thread(
                M.THREAD_MULTIPLE)
            run()
            if M.Is_initialized():
                M.Finalize()
        if __name__ == "__main__":
            main()
        """,
        """
        import mpi4py.MPI as M
        import atexit
        <import start>
        def main():
            M.Init_thread(
                M.THREAD_MULTIPLE)
            <start once>
            run()
            if M.Is_initialized():
                <finish now>
                M.Finalize()
        if __name__ == "__main__":
            main()
        """,
    ),
    "world-in-the-guard": (
        """
        from mpi4py import MPI
        if __name__ == "__main__":
            comm = MPI.COMM_WORLD
            rank = MPI.COMM_WORLD.Get_rank()
            # work
            run(MPI.COMM_WORLD)
            report()
        """,
        """
        from mpi4py import MPI
        <import start>
        if __name__ == "__main__":
            comm = MPI.COMM_WORLD
            rank = MPI.COMM_WORLD.Get_rank()
            <start>
            try:
                # work
                run(MPI.COMM_WORLD)
                report()
            finally:
                <finish>
        """,
    ),
    "world-used-not-set-up": (
        """
        from mpi4py import MPI
        if __name__ == "__main__":
            result = run(MPI.COMM_WORLD)
            print(result)
        """,
        """
        from mpi4py import MPI
        <import start>
        if __name__ == "__main__":
            <start>
            try:
                result = run(MPI.COMM_WORLD)
                print(result)
            finally:
                <finish>
        """,
    ),
    "world-at-module-level": (
        """
        from mpi4py import MPI
        comm = MPI.COMM_WORLD
        run(comm)
        MPI.Finalize()
        """,
        """
        from mpi4py import MPI
        import atexit
        <import start>
        comm = MPI.COMM_WORLD
        <start once>
        run(comm)
        <finish now>
        MPI.Finalize()
        """,
    ),
    "world-in-the-function-of-a-console-script": (
        """
        from mpi4py import MPI
        def start():
            comm = MPI.COMM_WORLD
            run(comm)
        """,
        """
        from mpi4py import MPI
        import atexit
        <import start>
        def start():
            comm = MPI.COMM_WORLD
            <start once>
            run(comm)
        """,
    ),
}


@pytest.mark.parametrize(("before", "after"), MPI.values(), ids=MPI)
def test_mpi(before: str, after: str, rewrite: Callable[..., Any], expanded: Callable[[str], str]) -> None:
    mains = ("start",) if "def start" in before else ()
    entry = "__name__" not in before and not mains
    assert rewrite(before, entry=entry, mains=mains).text == expanded(after)


def test_mpi_that_shares_its_line_is_left_with_a_note(rewrite: Callable[..., Any]) -> None:
    done = rewrite(
        "from mpi4py import MPI\nif not MPI.Is_initialized(): MPI.Init()\nrun(); MPI.Finalize()\n", entry=True
    )
    assert not done.changed
    assert [note.partition(";")[0] for note in done.notes] == [
        "m.py:2: MPI starts on a line with other statements",
        "m.py:3: MPI ends on a line with other statements",
    ]


def test_library_that_starts_mpi_does_not_start_tracing(rewrite: Callable[..., Any]) -> None:
    done = rewrite("from mpi4py import MPI\ndef begin():\n    MPI.Init()\n")
    assert done.traced == ["begin"]
    assert "initialize_log" not in done.text


def test_mpi_in_methods_and_their_callers(rewrite: Callable[..., Any]) -> None:
    done = rewrite(
        """
        from mpi4py import MPI
        class App:
            def begin(self):
                MPI.Init()
            def run(self):
                self.begin()
                open("x")
            def work(self):
                open("y")
            def end(self):
                MPI.Finalize()
        def launch():
            app = App()
            app.run()
            app.end()
        if __name__ == "__main__":
            launch()
        """
    )
    assert done.traced == ["App.work"]
    assert done.reasons == {
        "App.begin": "entry-point",
        "App.run": "around-initialize",
        "App.end": "around-finalize",
        "launch": "around-initialize",
    }
    assert done.text.count("initialize_log") == 1


def test_library_that_ends_mpi_ends_tracing_before(rewrite: Callable[..., Any], expanded: Callable[[str], str]) -> None:
    done = rewrite("from mpi4py import MPI\ndef leave():\n    MPI.Finalize()\n")
    assert done.text == expanded(
        "from mpi4py import MPI\n<import finish>\ndef leave():\n    <finish now>\n    MPI.Finalize()\n"
    )


def test_program_with_a_lifecycle_of_its_own_keeps_it(
    rewrite: Callable[..., Any], expanded: Callable[[str], str]
) -> None:
    source = """
        from dftracer.python import dftracer, dft_fn
        x = dft_fn("A")
        <decorator>
        def load():
            open("x")
        if __name__ == "__main__":
            log = dftracer.initialize_log()
            load()
            log.finalize()
        """
    done = rewrite(source.replace("        <decorator>\n", ""))
    assert done.text == expanded(source.replace("<decorator>", "@x.log"))
    assert done.entry.entry


def test_site_lines_of_several_starts_follow_the_file(rewrite: Callable[..., Any]) -> None:
    done = rewrite('if __name__ == "__main__":\n    x = 1\ndef main():\n    run()\n', mains=("main",))
    lines = done.text.splitlines()
    starts = [number for number, line in enumerate(lines, 1) if "initialize_log" in line]
    found = [(site.function, site.line) for site in done.entry.sites if site.kind == "lifecycle"]
    assert found == [("<module>", starts[0]), ("main", starts[1])]


def test_functions_around_a_start_of_the_programs_own(rewrite: Callable[..., Any]) -> None:
    """Their events would begin before there is a trace, in 1970; what handed the tracer on does not matter."""
    source = """
    from tracing import Tracer
    class Args:
        def start(self):
            if self.path:
                return Tracer.initialize_log(self.path, None, process_id=-1)
        def work(self):
            open("x")
    def launch():
        def begin():
            return Args().start()
        return begin()
    def count():
        open("x")
    if __name__ == "__main__":
        launch()
    """
    done = rewrite(source)
    assert done.traced == ["Args.work", "count"]
    assert done.reasons == {
        "Args.start": "starts-tracing",
        "launch.<locals>.begin": "around-initialize",
        "launch": "around-initialize",
    }
