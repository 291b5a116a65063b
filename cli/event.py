"""``dfannotate event``: one function is logged as an event of the user's making, in place of its decorator."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dfannotate.cli.apply import ApplyOptions, apply
from dfannotate.cli.config import Config, Writing, check_event, check_pair
from dfannotate.cli.show import UserError
from dfannotate.manifest import ManualEvent


@dataclass(frozen=True, kw_only=True)
class EventOptions(Writing):
    """The flags of ``event``; ``ints``, ``floats`` and ``strings`` are ``KEY=EXPR`` each."""

    file: Path
    function: str
    name: str = ""
    category: str = ""
    start: str = ""
    duration: str = ""
    unit: str = "s"
    outcome: bool = False
    ints: tuple[str, ...] = ()
    floats: tuple[str, ...] = ()
    strings: tuple[str, ...] = ()


def event(options: EventOptions, config: Config) -> int:
    """Put the event in, or replace the one that the function has. Returns the exit code. Raises ``UserError`` where the
    flags do not go together."""
    if options.file.is_dir():
        raise UserError(f"{options.file}: a folder; name the file that holds {options.function}")
    try:
        wanted = check_event(
            ManualEvent(
                function=options.function,
                name=options.name,
                category=options.category,
                start=options.start,
                duration=options.duration,
                unit=options.unit,
                outcome=options.outcome,
                ints=tuple(map(check_pair, options.ints)),
                floats=tuple(map(check_pair, options.floats)),
                strings=tuple(map(check_pair, options.strings)),
            )
        )
    except ValueError as error:
        raise UserError(f"{options.file}: {options.function}: {error}") from None
    return apply(
        ApplyOptions(
            paths=(options.file,),
            check=options.check,
            diff=options.diff,
            exclude=config.exclude,
            category=config.category,
            functions=config.functions,
            target=config.target,
            manifest=options.manifest,
            jobs=config.jobs,
            allow_dirty=options.allow_dirty,
            output=options.output,
            quiet=options.quiet,
            event=wanted,
        ),
        config,
    )
