"""The tracing API as data: names, import paths, arguments, environment variables, versions.

No string of the tracing API stands anywhere else in the package (test text apart), so a new generation of the tracer
is a change to this file. Standard library only: every layer may import it.
"""

from __future__ import annotations

from dataclasses import dataclass

# --- the Python API of the current generation (dftracer 2.x) --------------------------------------------------------

TRACER_PACKAGE = "dftracer"
"""Top-level import package of every 1.x and 2.x release."""

MODULE = "dftracer.python"
"""Where the 2.x names are imported from."""

LOGGER = "dftracer"
"""The class whose static ``initialize_log`` starts tracing and whose ``get_instance`` is the process-wide singleton."""

FUNCTION = "dft_fn"
"""The class of decorators and regions."""

ENABLED = "DFTRACER_ENABLE"
"""A bool of MODULE, fixed at import: whether tracing is on. Also the name of the environment variable."""

INITIALIZE = "initialize_log"
FINALIZE = "finalize"
GET_INSTANCE = "get_instance"
INITIALIZE_ARGUMENTS = "logfile=None, data_dir=None, process_id=-1"

LOG = "log"
LOG_INIT = "log_init"
LOG_STATIC = "log_static"
DECORATORS = frozenset({LOG, LOG_INIT, LOG_STATIC})

OLD_MODULES = frozenset({"dftracer.logger", "dftracer_dbg.logger", "dftracer.dbg.logger", "dlio_profiler.logger"})
"""Import paths of earlier generations: such a file is annotated already, in a spelling that no longer imports."""

HAZARDOUS_NAMES = frozenset({"epoch", "step", "image_idx", "image_size"})
"""``@x.log`` and ``@x.log_init`` convert parameters, and ``@x.log`` also attributes of ``self``, that are called so."""

# --- the local names that annotations introduce ---------------------------------------------------------------------

FUNCTION_ALIAS = "DFTracerFn"
INSTANCE_ALIAS = "_dft"
LOG_ALIAS = "_dft_log"

# --- environment ----------------------------------------------------------------------------------------------------

ENV_ENABLE = "DFTRACER_ENABLE"
ENV_LOG_FILE = "DFTRACER_LOG_FILE"
ENV_DATA_DIR = "DFTRACER_DATA_DIR"
ENV_METADATA = "DFTRACER_INC_METADATA"
ENV_INIT = "DFTRACER_INIT"

# --- releases -------------------------------------------------------------------------------------------------------

DISTRIBUTION_NATIVE = "dftracer"
DISTRIBUTION_PYTHON = "pydftracer"
NEWEST_TARGET = "2.2.0"
TARGETS = ("2.0.2", "2.0.3", "2.1.0", "2.1.1", "2.2.0")
"""Releases whose Python API is the one above, oldest first."""

# --- trace files ----------------------------------------------------------------------------------------------------

TRACE_SUFFIX = ".pfw"
TRACE_SUFFIX_GZIP = ".pfw.gz"


@dataclass(frozen=True)
class TraceFields:
    """Names in a trace line; see the records of the format in the reader's docstring."""

    start_event: str = "start"
    end_event: str = "end"
    tracer_category: str = "dftracer"
    metadata_phases: tuple[int | str, ...] = ("M", 4)
    complete_phases: tuple[int | str, ...] = ("X", 1)
    counter_phase: int = 2
    aggregated_phase: int = 3


TRACE = TraceFields()
