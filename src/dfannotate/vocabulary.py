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
ENV_PREFIX = "DFTRACER_"
ENV_PREFIX_OLD = "DLIO_PROFILER_"
ENV_PRELOAD = "LD_PRELOAD"
ENABLE_VALUE = "1"
"""The only value of ``DFTRACER_ENABLE`` that turns tracing on."""


@dataclass(frozen=True)
class Variable:
    """One environment variable of the tracer, without its prefix: the values that it accepts (``None``: any), and
    ``bad``, values that are accepted but do not do what one would expect, each with what they do."""

    name: str
    values: tuple[str, ...] | None = None
    otherwise: str = ""
    bad: tuple[tuple[str, str], ...] = ()


_SWITCH = ("0", "1")
VARIABLES = (
    Variable("ENABLE", _SWITCH, "tracing is off: only exactly 1 turns it on"),
    Variable(
        "INIT",
        ("FUNCTION", "PRELOAD"),
        "no such mode: the library then intercepts nothing, and forked workers leave empty traces; "
        "unset it, or use FUNCTION",
    ),
    Variable("LOG_FILE"),
    Variable(
        "DATA_DIR",
        bad=(("all", "every file access of the process is recorded, the interpreter's own included"),),
    ),
    Variable("INC_METADATA", ("1",), "events carry no arguments, and processes no parent: set it to 1"),
    Variable("TRACE_COMPRESSION", _SWITCH, "must be 0 or 1"),
    Variable("WRITE_BUFFER_SIZE"),
    Variable("TIME_METRIC", ("NS", "US", "MS", "SEC"), "no such unit, so microseconds: use NS, US, MS or SEC"),
    Variable("DISABLE_IO", _SWITCH, "must be 0 or 1"),
    Variable("DISABLE_POSIX", _SWITCH, "must be 0 or 1"),
    Variable("DISABLE_STDIO", _SWITCH, "must be 0 or 1"),
    Variable(
        "DISABLE_TIDS", _SWITCH, "must be 0 or 1", (("0", "inverted in the library: 0 takes the thread ids away"),)
    ),
    Variable(
        "BIND_SIGNALS",
        _SWITCH,
        "must be 0 or 1",
        (("1", "its handlers replace those that finalize a trace: a SIGTERM then loses every event; unset it"),),
    ),
    Variable("SET_CORE_AFFINITY"),
    Variable("GOTCHA_PRIORITY"),
    Variable("ERROR"),
    Variable("LOG_LEVEL"),
    Variable("CONFIGURATION"),
    Variable(
        "ENABLE_AGGREGATION",
        _SWITCH,
        "must be 0 or 1",
        (("1", "calls are summed up by the second, there are no events of single calls"),),
    ),
    Variable("AGGREGATION_TYPE"),
    Variable("AGGREGATION_FILE"),
    Variable("TRACE_INTERVAL_MS"),
    Variable("LIBUV_THREADS"),
    Variable("ENABLE_PAPI_TRACING"),
    Variable("PAPI_EVENTS"),
    Variable("PAPI_MULTIPLEX"),
    Variable("PAPI_SAMPLE_INTERVAL_MS"),
    Variable("DISABLE_VARIORUM_POWER"),
    Variable("DEBUG_REGION_TRACK"),
)
BUILD_VARIABLES = frozenset(
    {
        "ENABLE_MPI",
        "ENABLE_HIP_TRACING",
        "ENABLE_CUDA_TRACING",
        "ENABLE_FTRACING",
        "ENABLE_TESTS",
        "INSTALL_DIR",
        "BUILD_TYPE",
    }
)
"""Read when the library is built; setting them for a run does nothing."""

# --- releases -------------------------------------------------------------------------------------------------------

DISTRIBUTION_NATIVE = "dftracer"
DISTRIBUTION_PYTHON = "pydftracer"
DISTRIBUTION_OLD = "dlio-profiler-py"
NATIVE_MODULE = "dftracer.dftracer"
PRELOAD_LIBRARY = "dftracer_preload"
INSTALL_HINT = "pip install 'dfannotate[tracer]'"
NEWEST_TARGET = "2.2.0"
TARGETS = ("2.0.2", "2.0.3", "2.1.0", "2.1.1", "2.2.0")
"""Releases whose Python API is the one above, oldest first."""


@dataclass(frozen=True)
class BrokenPair:
    """Releases of the two halves of the tracer that cannot work together: the Python half from ``python_since`` on
    with the native half from ``native_since`` up to, not including, ``native_before``."""

    native_since: str
    native_before: str
    python_since: str
    python_before: str
    effect: str
    remedy: str


BROKEN_PAIRS = (
    BrokenPair(
        native_since="2.0",
        native_before="2.1.0.post21",
        python_since="2.0.5",
        python_before="",
        effect="initialize_log raises AttributeError (mark_used) as soon as tracing is on",
        remedy="pip install 'dftracer>=2.2'",
    ),
)
"""pip makes such pairs by itself: the native half declares only a lower bound for the Python half."""

# --- trace files ----------------------------------------------------------------------------------------------------

TRACE_SUFFIX = ".pfw"
TRACE_SUFFIX_GZIP = ".pfw.gz"
DEBUG_LOG = "dft.log"
"""What ``initialize_log`` opens in the working directory, tracing or not."""
MINIMUM_EVENTS = 3
"""From 2.1.0 on, ``finalize`` deletes the trace of a process that logged fewer events than this."""


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
    # metadata records, by their name; each has the arguments ``name`` and ``value``
    host_record: str = "HH"
    path_record: str = "FH"
    string_record: str = "SH"
    custom_record: str = "CM"
    process_record: str = "PR"
    time_metric: str = "time_metric"
    # arguments of start, end and aggregated records
    parent: str = "ppid"
    command_hash: str = "cmd_hash"
    executable_hash: str = "exec_hash"
    version: str = "version"
    event_count: str = "num_events"
    configuration: str = "cfg"
    calls: str = "dft_cnt"
    duration_sum: str = "dur_sum"
    duration: str = "dur"
    rank: str = "rank"
    old_host: str = "hostname"
    # calls of the C library that the tracer intercepts
    libc_category: str = "POSIX"
    fork_event: str = "fork"
    fork_result: str = "ret"
    # file names
    fork_suffix: str = "fork"
    default_executable: str = "DEFAULT"
    spawn_executable: str = "DEFAULT-spawn"


TRACE = TraceFields()
