"""The command line of a package: pyproject.toml names main() as a console script."""
import logging
import sys
from pathlib import Path

log = logging.getLogger(__name__)


def copy(source: Path, target: Path) -> int:
    data = source.read_bytes()
    target.write_bytes(data)
    return len(data)


def main(argv: list[str] | None = None) -> int:
    """Copy files.

    Tests call this many times in one process.
    """
    arguments = sys.argv[1:] if argv is None else argv
    if len(arguments) != 2:
        sys.exit("usage: copy SOURCE TARGET")
    log.info("copying")
    return 0 if copy(Path(arguments[0]), Path(arguments[1])) else 1


def run() -> None:
    # around main(), so around the start of tracing
    try:
        sys.exit(main())
    except OSError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    run()
    main()
