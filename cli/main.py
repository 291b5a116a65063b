"""The command: its exit code, and what a user sees when something goes wrong.

Nothing but the standard library is imported before ``main`` knows that it needs more, so that ``--version`` costs no
more than starting Python. The commands themselves, with their flags, are in ``cli/commands.py``.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from itertools import takewhile

from dfannotate import __version__

PROGRAM = "dfannotate"
OK, NO, FAILED = 0, 1, 2
INTERRUPTED = 128 + 2  # what a shell reports for SIGINT
PIPE_CLOSED = 128 + 13  # and for SIGPIPE


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line ``argv`` (default: the process's own) and return its exit code: 0 all is well, 1 the answer
    is no, 2 it could not be done, 130 interrupted, 141 the reader of the output went away.

    No exception leaves here but ``SystemExit`` (and, with ``--debug`` before the command, any that is a bug)."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments == ["--version"]:
        print(f"{PROGRAM} {__version__}")
        return OK
    debug = "--debug" in takewhile(lambda argument: argument.startswith("-"), arguments)
    try:
        code = _dispatch(arguments)
        sys.stdout.flush()  # here, where a closed pipe is caught, rather than at interpreter exit
    except KeyboardInterrupt:
        print(f"{PROGRAM}: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        _silence_stdout()
        return PIPE_CLOSED
    except Exception as error:
        if debug:
            raise
        print(f"{PROGRAM}: {_explain(error, arguments)}", file=sys.stderr)
        return FAILED
    return code


def _dispatch(arguments: list[str]) -> int:
    # A file name or a source line need not be encodable in the terminal's encoding; showing it escaped beats dying.
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")

    own = arguments[1:] if arguments[:1] == ["--debug"] else arguments
    if own[:1] == ["lint"] and "_DFANNOTATE_COMPLETE" not in os.environ:
        # A hook that runs at every commit: it does without the library that reads the flags of the other commands.
        from dfannotate.cli.lint import main as lint

        return lint(own[1:])

    import typer

    from dfannotate.cli.commands import app

    command = typer.main.get_command(app)
    if "_DFANNOTATE_COMPLETE" in os.environ:  # the shell asks for completions
        command.main(args=arguments, prog_name=PROGRAM)
        return OK
    # Not `command.main()`: it answers a closed pipe with exit code 1, which here means "the answer is no".
    try:
        with command.make_context(PROGRAM, arguments) as context:
            result = command.invoke(context)
    except typer.Exit as leave:
        return leave.exit_code
    except typer.Abort as abort:
        raise KeyboardInterrupt from abort
    except typer.TyperException as error:
        context_of_error = getattr(error, "ctx", None)
        path = context_of_error.command_path if context_of_error is not None else PROGRAM
        message = error.format_message().replace("Value error, ", "").rstrip().rstrip(".")
        print(f"{path}: error: {message}. See '{path} --help'.", file=sys.stderr)
        return FAILED
    return OK if result is None else int(result)


def _explain(error: Exception, arguments: Sequence[str]) -> str:
    """One line for ``error``: the message as it is where it was written for users, else the exception and how to learn
    more."""
    from dfannotate.cli.show import UserError, printable
    from dfannotate.manifest import ManifestError

    if isinstance(error, (UserError, ManifestError)):
        return f"error: {printable(str(error))}"
    if isinstance(error, OSError) and error.strerror:
        place = f"{error.filename}: " if error.filename is not None else ""
        return f"error: {printable(place + error.strerror)}"
    text = printable(" ".join(str(error).split()))
    name = type(error).__name__ + (f": {text}" if text else "")
    rerun = " ".join([PROGRAM, "--debug", *arguments[:1], *(["…"] if len(arguments) > 1 else [])])
    return f"internal error: {name}. This is a bug; rerun with `{rerun}` to see where, and please report it."


def _silence_stdout() -> None:
    """Point standard output at nothing, so that flushing what is left in its buffer at exit does not fail again."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, sys.stdout.fileno())
        os.close(nothing)
