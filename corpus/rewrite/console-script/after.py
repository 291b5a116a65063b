"""The command line of a package: pyproject.toml names main() as a console script."""
import logging
import sys
from pathlib import Path
import atexit
from dftracer.python import dftracer, dft_fn as DFTracerFn, DFTRACER_ENABLE

_dft = DFTracerFn("console-script")

log = logging.getLogger(__name__)


@_dft.log
def copy(source: Path, target: Path) -> int:
    data = source.read_bytes()
    target.write_bytes(data)
    return len(data)


def main(argv: list[str] | None = None) -> int:
    """Copy files.

    Tests call this many times in one process.
    """
    if DFTRACER_ENABLE and dftracer.get_instance().logger is None:
        _dft_log = dftracer.initialize_log(logfile=None, data_dir=None, process_id=-1)
        atexit.register(_dft_log.finalize)
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
