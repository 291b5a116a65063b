"""The commands and their flags. Each body imports what it runs, so that no command pays for another's libraries."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from dfannotate import __version__
from dfannotate.cli.config import Config, check_category, check_target, load_config

app = typer.Typer(
    help="Annotate Python programs with dftracer, and verify the traces that they produce.",
    epilog="Exit codes: 0 all is well, 1 the answer is no, 2 it could not be done.",
    rich_markup_mode=None,  # plain help: importing rich would double the time of every call
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Format(str, Enum):
    """``--format``."""

    text = "text"
    json = "json"


class WhichFunctions(str, Enum):
    """``--functions``."""

    worthwhile = "worthwhile"
    all = "all"


class By(str, Enum):
    """``--by``."""

    process = "process"
    round = "round"


class Unit(str, Enum):
    """``--unit``."""

    ns = "ns"
    us = "us"
    ms = "ms"
    s = "s"


def _checker(check: Callable[[str], str]) -> Callable[[str | None], str | None]:
    """``check`` as a typer callback: its ``ValueError`` becomes bad usage that names the flag."""

    def callback(value: str | None) -> str | None:
        try:
            return None if value is None else check(value)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from error

    return callback


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"dfannotate {__version__}")
        raise typer.Exit


Paths = Annotated[
    list[Path] | None,
    typer.Argument(metavar="PATHS", help="Files and folders; default: the current folder.", show_default=False),
]
Check = Annotated[bool, typer.Option("--check", help="Write nothing; exit 1 if any file would change.")]
Diff = Annotated[bool, typer.Option("--diff", help="Print a unified diff and write nothing.")]
Manifest = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The manifest; default: .dfannotate/manifest.json under the project root."),
]
AllowDirty = Annotated[bool, typer.Option("--allow-dirty", help="Also touch files with uncommitted changes in git.")]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="A Dask scheduler (tcp://HOST:PORT) whose workers do the reading; default: this machine's cores.",
        show_default=False,
    ),
]
OutputFormat = Annotated[Format, typer.Option("--format", help="How results are printed.")]


def _argument(kind: str) -> Any:
    """The flag for arguments of one kind."""
    return typer.Option(
        f"--{kind}", metavar="KEY=EXPR", help=f"An argument of the event ({kind}); repeatable.", show_default=False
    )


Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Only results, warnings and errors.")]


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_show_version)
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an internal error.")] = False,
) -> None:
    # `debug` is read by `main`, which catches what escapes from here.
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(2)


@app.command("apply", short_help="Annotate a repository.")
def _apply(
    paths: Paths = None,
    check: Check = False,
    diff: Diff = False,
    include: Annotated[
        list[str] | None,
        typer.Option(metavar="GLOB", help="Only files that match, as in .gitignore; repeatable.", show_default=False),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(metavar="GLOB", help="Leave out what matches, as in .gitignore; repeatable.", show_default=False),
    ] = None,
    entry: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="A file that starts the program; repeatable; default: found."),
    ] = None,
    category: Annotated[
        str | None,
        typer.Option(
            metavar="module|role|NAME",
            help="Category of the events: each module's own name, the role of each function, or one for all."
            "  [default: module]",
            callback=_checker(check_category),
        ),
    ] = None,
    functions: Annotated[
        WhichFunctions | None,
        typer.Option(help="Annotate what is worth it, or all that can be annotated.  [default: worthwhile]"),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="VERSION",
            help="The dftracer to write for; default: the installed one, else the newest known.",
            callback=_checker(check_target),
        ),
    ] = None,
    manifest: Manifest = None,
    jobs: Annotated[int | None, typer.Option(metavar="N", min=1, help="Processes; default: one per core.")] = None,
    allow_dirty: AllowDirty = False,
    output: OutputFormat = Format.text,
    quiet: Quiet = False,
) -> int:
    """Annotate a repository: every function that is worth tracing, and the start and end of the trace."""
    from dfannotate.cli.apply import ApplyOptions, apply

    taken = _taken(paths)
    config = load_config(taken[0])
    options = ApplyOptions(
        paths=taken,
        check=check,
        diff=diff,
        include=tuple(include or config.include),
        exclude=tuple(exclude or config.exclude),
        entry=tuple(entry or config.entry),
        category=category if category is not None else config.category,
        functions=functions.value if functions is not None else config.functions,
        target=target if target is not None else config.target,
        manifest=_manifest(manifest, config),
        jobs=jobs if jobs is not None else config.jobs,
        allow_dirty=allow_dirty,
        output=output.value,
        quiet=quiet,
    )
    return apply(options, config)


@app.command("event", short_help="Log a function as an event of your own making.")
def _event(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file that holds the function.")],
    function: Annotated[str, typer.Option(metavar="QUALNAME", help="The function: name, or Class.method.")],
    name: Annotated[str, typer.Option(help="Name of the event; default: the function's.", show_default=False)] = "",
    category: Annotated[
        str, typer.Option(help="Category of the event; default: as for the file.", show_default=False)
    ] = "",
    start: Annotated[
        str,
        typer.Option(
            metavar="EXPR",
            help="When it began, on a simulated clock; evaluated when the function ends.",
            show_default=False,
        ),
    ] = "",
    duration: Annotated[
        str, typer.Option(metavar="EXPR", help="How long it took on that clock.", show_default=False)
    ] = "",
    unit: Annotated[Unit, typer.Option(help="Unit of both expressions.")] = Unit.s,
    outcome: Annotated[
        bool, typer.Option("--outcome", help="On the real clock, logged on success and on failure, with the error.")
    ] = False,
    ints: Annotated[list[str] | None, _argument("int")] = None,
    floats: Annotated[list[str] | None, _argument("float")] = None,
    strings: Annotated[list[str] | None, _argument("string")] = None,
    check: Check = False,
    diff: Diff = False,
    manifest: Manifest = None,
    allow_dirty: AllowDirty = False,
    output: OutputFormat = Format.text,
    quiet: Quiet = False,
) -> int:
    """Log a function as an event of your own making: on a simulated clock (--start and --duration), or an operation
    with its outcome (--outcome). Expressions are Python over the function's own names."""
    from dfannotate.cli.event import EventOptions, event

    config = load_config(file)
    options = EventOptions(
        file=file,
        function=function,
        name=name,
        category=category,
        start=start,
        duration=duration,
        unit=unit.value,
        outcome=outcome,
        ints=tuple(ints or ()),
        floats=tuple(floats or ()),
        strings=tuple(strings or ()),
        check=check,
        diff=diff,
        manifest=_manifest(manifest, config),
        allow_dirty=allow_dirty,
        output=output.value,
        quiet=quiet,
    )
    return event(options, config)


@app.command("revert")
def _revert(
    paths: Paths = None,
    check: Check = False,
    diff: Diff = False,
    manifest: Manifest = None,
    allow_dirty: AllowDirty = False,
    output: OutputFormat = Format.text,
    quiet: Quiet = False,
) -> int:
    """Take every annotation out again, byte for byte."""
    from dfannotate.cli.revert import RevertOptions, revert

    taken = _taken(paths)
    config = load_config(taken[0])
    options = RevertOptions(
        paths=taken,
        check=check,
        diff=diff,
        manifest=_manifest(manifest, config),
        allow_dirty=allow_dirty,
        output=output.value,
        quiet=quiet,
    )
    return revert(options, config)


# Its flags are read in `cli/lint.py`, by the standard library; here it is for the list of commands.
@app.command(
    "lint",
    short_help="Flag stale, broken and missing annotations; --fix repairs them.",
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
)
def _lint(context: typer.Context) -> int:
    from dfannotate.cli.lint import main as lint

    return lint(context.args)


@app.command("rule", short_help="Explain a lint rule.")
def _rule(
    code: Annotated[str | None, typer.Argument(metavar="CODE", help="The rule: its code or name.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Explain all rules.")] = False,
    output: OutputFormat = Format.text,
) -> int:
    """Explain a lint rule: what it finds, why that matters, and an example."""
    from dfannotate.cli.rule import rule

    if (code is None) != every:
        raise typer.BadParameter("either the code of a rule, or --all")
    return rule(code, every=every, output=output.value)


# Everything after the first word belongs to the command that is run, also what looks like one of our own flags.
@app.command("run", short_help="Run a command traced.", context_settings={"allow_interspersed_args": False})
def _run(
    command: Annotated[list[str], typer.Argument(metavar="COMMAND", help="The command and its arguments, after --.")],
    trace_dir: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Where the traces go, empty or new; default: .dfannotate/traces/ and the time."
        ),
    ] = None,
    audit: Annotated[
        bool,
        typer.Option(
            "--audit",
            help="Count the real calls of every annotated function too, without dftracer, so that verify can prove"
            " that no event is lost. Slower; interpreters that ignore PYTHONPATH (python -I, -E) are not counted.",
        ),
    ] = False,
    manifest: Manifest = None,
    quiet: Quiet = False,
) -> int:
    """Run a command traced, with every variable set that dftracer needs. The exit code is the command's own."""
    from dfannotate.cli.traced import run

    if audit:
        manifest = _manifest(manifest, load_config(Path()))
    return run(command, trace_dir=trace_dir, quiet=quiet, audit=audit, manifest=manifest)


@app.command("verify", short_help="Check a trace against what was annotated.")
def _verify(
    trace_dir: Annotated[Path, typer.Argument(metavar="TRACE_DIR", help="The folder that the run wrote to.")],
    manifest: Manifest = None,
    expect: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CATEGORY:NAME=N",
            help="A number of events that the trace must hold (also >=N); repeatable.",
            show_default=False,
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="How many worker processes there must have been.", show_default=False),
    ] = None,
    overlap: Annotated[
        str | None,
        typer.Option(
            metavar="A:B",
            help="How much of A is hidden behind B; two categories, or CATEGORY:NAME for both.",
            show_default=False,
        ),
    ] = None,
    min_overlap: Annotated[
        float | None,
        typer.Option(
            metavar="PCT", min=0, max=100, help="How many percent of A must be hidden at least.", show_default=False
        ),
    ] = None,
    scheduler: Scheduler = None,
    output: OutputFormat = Format.text,
    quiet: Quiet = False,
) -> int:
    """Check a trace against what was annotated; exit 1 if a check fails."""
    from dfannotate.cli.verify import verify

    config = load_config(Path())
    return verify(
        trace_dir,
        manifest=_manifest(manifest, config),
        expect=tuple(expect or ()),
        workers=workers,
        overlap=overlap,
        min_overlap=min_overlap,
        scheduler=scheduler,
        output=output.value,
        quiet=quiet,
    )


@app.command("overlap", short_help="How much of A is hidden behind B.")
def _overlap(
    trace_dir: Annotated[Path, typer.Argument(metavar="TRACE_DIR", help="The folder that the run wrote to.")],
    a: Annotated[str, typer.Option("--a", metavar="A", help="CATEGORY or CATEGORY:NAME patterns, comma-separated.")],
    b: Annotated[str, typer.Option("--b", metavar="B", help="The same, for what A is to be hidden behind.")],
    interval: Annotated[
        str,
        typer.Option(
            metavar="p99|max|N",
            help="Width of a bucket: twice the 99th percentile of the durations, the longest, or microseconds.",
        ),
    ] = "p99",
    by: Annotated[By | None, typer.Option(help="Also figures for each of these.", show_default=False)] = None,
    rounds: Annotated[
        str | None,
        typer.Option(
            "--round",
            metavar="CATEGORY:NAME",
            help="The events that are rounds; default: those called epoch, round, iteration or step.",
            show_default=False,
        ),
    ] = None,
    scheduler: Scheduler = None,
    manifest: Manifest = None,
    output: OutputFormat = Format.text,
    quiet: Quiet = False,
) -> int:
    """How much of A is hidden behind B, across all processes; exit 2 where that cannot be told."""
    from dfannotate.cli.overlap import OverlapOptions, overlap

    options = OverlapOptions(
        trace_dir=trace_dir,
        a=a,
        b=b,
        interval=interval,
        by=by.value if by is not None else None,
        rounds=rounds,
        scheduler=scheduler,
        manifest=_manifest(manifest, load_config(Path())),
        output=output.value,
        quiet=quiet,
    )
    return overlap(options)


@app.command("doctor", short_help="Say whether tracing works here.")
def _doctor(output: OutputFormat = Format.text, quiet: Quiet = False) -> int:
    """Say what of dftracer is installed here, and whether tracing really works."""
    from dfannotate.cli.doctor import doctor

    return doctor(output=output.value, quiet=quiet)


@app.command("demo", short_help="The whole loop on a bundled program.")
def _demo(
    keep: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Keep the annotated program and its traces in DIR, which must be new."),
    ] = None,
    quiet: Quiet = False,
) -> int:
    """Go through the whole loop on a bundled program: apply, run, verify."""
    from dfannotate.cli.demo import demo

    return demo(keep=keep, quiet=quiet)


def _taken(paths: list[Path] | None) -> tuple[Path, ...]:
    return tuple(paths) if paths else (Path(),)


def _manifest(flag: Path | None, config: Config) -> Path | None:
    return flag if flag is not None else config.manifest
