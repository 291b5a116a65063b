"""The tracing API as data: names, import paths, arguments, environment variables, versions.

No string of the tracing API stands anywhere else in the package (test text apart), so a new generation of the tracer
is a change to this file. Standard library only: every layer may import it.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass

# --- the Python API of the current generation (dftracer 2.x) --------------------------------------------------------

TRACER_PACKAGE = "dftracer"
"""Top-level import package of every 1.x and 2.x release."""

TRACER_PACKAGES = (TRACER_PACKAGE, "dftracer_dbg", "dlio_profiler")
"""Those of every generation, by which its functions are known."""

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
GET_TIME = "get_time"
GET_CONFIG = "get_config"
"""Of the instance, from 2.1.0 on: what a variable of the environment is set to, or its default."""
LOG_EVENT = "log_event"
ENTER_EVENT = "enter_event"
EXIT_EVENT = "exit_event"
LOG_INIT = "log_init"
LOG_STATIC = "log_static"
DECORATORS = frozenset({LOG, LOG_INIT, LOG_STATIC})

OLD_MODULES = frozenset({"dftracer.logger", "dftracer_dbg.logger", "dftracer.dbg.logger", "dlio_profiler.logger"})
"""Import paths of earlier generations: such a file is annotated already, in a spelling that no longer imports."""

FUNCTION_PARAMETERS = "cat, name=None, epoch=None, step=None, image_idx=None, image_size=None, enable=True"

OFF_METHODS = {
    LOG: "decorates",
    LOG_INIT: "decorates",
    LOG_STATIC: "decorates",
    "iter": "first",
    "update": "self",
    "flush": "self",
    "reset": "self",
    "log_metadata": "self",
    INITIALIZE: "self",
    GET_INSTANCE: "self",
    GET_TIME: "0",
    GET_CONFIG: '""',
    ENTER_EVENT: "None",
    EXIT_EVENT: "None",
    LOG_EVENT: "None",
    "log_metadata_event": "None",
    FINALIZE: "None",
}
"""Methods of LOGGER, of its instance and of FUNCTION's -> what they give with tracing off: the function that they
decorate, their first argument, the object itself, or a value."""

HAZARDOUS_NAMES = frozenset({"epoch", "step", "image_idx", "image_size"})
"""``@x.log`` and ``@x.log_init`` convert parameters, and ``@x.log`` also attributes of ``self``, that are called so."""

# --- the local names that annotations introduce ---------------------------------------------------------------------

FUNCTION_ALIAS = "DFTracerFn"
INSTANCE_ALIAS = "_dft"
LOG_ALIAS = "_dft_log"
WORKER_ALIAS = "_dft_worker"
INTERRUPT_ALIAS = "_dft_interrupt"
EVENT_ALIAS = "_DFTracerEvent"
EVENT_VALUE_ALIAS = "_dft_event"
EVENT_ERROR_ALIAS = "_dft_error"

# --- environment ----------------------------------------------------------------------------------------------------

ENV_ENABLE = "DFTRACER_ENABLE"
ENV_LOG_FILE = "DFTRACER_LOG_FILE"
ENV_DATA_DIR = "DFTRACER_DATA_DIR"
ENV_METADATA = "DFTRACER_INC_METADATA"
ENV_INIT = "DFTRACER_INIT"
ENV_TIME_METRIC = "DFTRACER_TIME_METRIC"
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

DELIBERATE_VALUES = frozenset({"DATA_DIR", "ENABLE_AGGREGATION"})
"""Variables whose ``bad`` values are set by people who know what they do."""
OFF_WORDS = frozenset({"0", "false", "no", "off", "n", "f"})
"""Written for off; the tracer takes whatever is not 1 for it."""
OFF_IS_FINE = frozenset({"ENABLE", "INC_METADATA"})

# --- releases -------------------------------------------------------------------------------------------------------

DISTRIBUTION_NATIVE = "dftracer"
DISTRIBUTION_PYTHON = "pydftracer"
DISTRIBUTION_OLD = "dlio-profiler-py"
PRELOAD_LIBRARY = "dftracer_preload"
INSTALL_HINT = "pip install 'dfannotate[tracer]'"
NEWEST_TARGET = "2.2.0"
TARGETS = ("2.0.2", "2.0.3", "2.1.0", "2.1.1", "2.2.0")
"""Releases whose Python API is the one above, oldest first."""


@dataclass(frozen=True)
class Generation:
    """Releases of one distribution in which the Python API is spelled alike: ``first`` to ``last``, both included.

    ``module`` exports ``logger``, ``function`` and ``enabled``, which do what ``LOGGER``, ``FUNCTION`` and ``ENABLED``
    do in the newest. ``enabled`` is also the environment variable; ``on_unless_off`` tells that tracing is on where it
    is not set, ``typed_arguments`` that ``log_event`` takes numbers and (tag, value) pairs, not strings alone."""

    distribution: str
    first: tuple[int, int, int]
    last: tuple[int, int, int] | None
    module: str
    logger: str = LOGGER
    function: str = FUNCTION
    enabled: str = ENABLED
    on_unless_off: bool = False
    typed_arguments: bool = False

    def in_words(self) -> str:
        """The releases, as a message names them."""
        first, last = (".".join(map(str, release)) for release in (self.first, self.last or self.first))
        return f"{first} to {last} ({self.distribution})" if self.last else f"{first} and later ({self.distribution})"


GENERATIONS = (
    Generation(
        DISTRIBUTION_OLD,
        (0, 0, 3),  # 0.0.2 cannot decorate without looking at arguments
        (0, 0, 7),
        "dlio_profiler.logger",
        logger="dlio_logger",
        function="fn_interceptor",
        enabled="DLIO_PROFILER_ENABLE",
        on_unless_off=True,
    ),
    Generation(DISTRIBUTION_PYTHON, (1, 0, 1), (1, 0, 8), "dftracer.logger", on_unless_off=True),
    Generation(DISTRIBUTION_PYTHON, (1, 0, 9), (1, 0, 15), "dftracer.logger"),
    Generation(DISTRIBUTION_NATIVE, (2, 0, 2), None, MODULE, typed_arguments=True),
)
"""Oldest first. In the first three, one wheel holds everything; later the Python half has numbers of its own."""

CURRENT = GENERATIONS[-1]


def generation_of(version: str) -> Generation | None:
    """The generation that a release belongs to (``2.1.1``, ``2.1.1.post45``), None where none is known."""
    match = re.fullmatch(r"(\d+)\.(\d+)\.(\d+)(?:\.(?:post|dev)\d+|(?:a|b|rc)\d+)*", version)
    if match is None:
        return None
    release = (int(match[1]), int(match[2]), int(match[3]))
    for generation in GENERATIONS:
        last = generation.last or (generation.first[0], sys.maxsize, 0)
        if generation.first <= release <= last:
            return generation
    return None


# --- the API by names, for what is read and not written --------------------------------------------------------------

TRACER_IMPORTS = frozenset({TRACER_PACKAGE, "dftracer_dbg", "dlio_profiler", "pydftracer", "dlio_profiler_py"})
"""Import packages of the tracer, the native ones of its first generations among them."""

MENTION = rf"(?i:{TRACER_PACKAGE}|dlio_profiler)|{LOG_ALIAS}\b"
"""What stands in every file that uses the tracer itself, its environment variables included; in a shim's name, too."""

MENTIONS = ("ftracer", "FTRACER", "FTracer", "lio_profiler", "LIO_PROFILER", LOG_ALIAS)
"""Parts of which each match of MENTION holds one: looking for them is many times faster."""

NATIVE_MODULE = "dftracer.dftracer"
"""The compiled half: it has none of the Python API's names, and is what ``from dftracer import dftracer`` gives."""

OLD_NATIVE_MODULES = frozenset({"pydftracer", "dlio_profiler_py"})
PREDECESSORS = frozenset({"dlio_profiler", "dlio_profiler_py"})
"""Import packages of the time before the tracer had its name."""

SUBMODULES = {
    TRACER_PACKAGE: frozenset({"dftracer", "python", "logger", "dbg", "dynamo"}),
    "dftracer.python": frozenset({"logger", "env", "common", "dbg", "torch"}),
    "dftracer.python.torch": frozenset({"profiler"}),
    "dftracer.dbg": frozenset({"logger"}),
    "dftracer_dbg": frozenset({"logger"}),
    "dlio_profiler": frozenset({"logger"}),
}
"""Module -> the modules in it. ``dftracer.python.ai`` and ``.dynamo`` are left out: the names give objects."""

MOVED_MODULES = {
    "dlio_profiler.logger": MODULE,
    "dftracer.logger": MODULE,
    "dftracer.logger.ai": "dftracer.python.ai",
    "dftracer_dbg.logger": "dftracer.python.dbg",
    "dftracer.dbg.logger": "dftracer.python.dbg",
}
"""Import path of an earlier generation -> where its names are in the newest."""

_API = frozenset({LOGGER, FUNCTION, ENABLED})
_AI_GROUPS = frozenset({"compute", "data", "dataloader", "comm", "device", "checkpoint", "pipeline"})
READY_MADE = _AI_GROUPS | {"ai"}
"""Objects that decorate by themselves, and their members do; each is a region too, any number of times."""
_NEWER = (
    _API
    | _AI_GROUPS
    | {
        "ai",
        "dynamo",
        "Dynamo",
        "create_backend",
        "get_time_scale",
        "TagValue",
        "TagType",
        "TagDType",
        "AI",
        "DFTracerAI",
    }
    | {"EntityStore", "EntityRole", "EntityRelation", "EntityID", "NoOpProfiler", "ProfilerProtocol", "ProfileCategory"}
    | {
        "DFTRACER_ENABLE_ENV",
        "DFTRACER_INIT_ENV",
        "DFTRACER_INIT_PRELOAD",
        "DFTRACER_LOG_LEVEL",
        "DFTRACER_LOG_LEVEL_ENV",
    }
    | {
        "DFTRACER_TIME_METRIC_ENV",
        "setup_logger",
        "setup_stream_logger",
        "capture_signal",
        "get_default_args",
        "version",
    }
    | {
        "TagValueTuple",
        "Checkpoint",
        "Communication",
        "Compute",
        "Data",
        "DataLoader",
        "Device",
        "Pipeline",
        "Other",
        "IO",
    }
    | {"profiler", "dft_fn_orig", "dftracer_orig", "StringEnum", "ai_common", "ai_init", "DFTRACER_LOG_LEVEL"}
)
_OLD_API = _API | {"DFTRACER_ENABLE_ENV", "DFTRACER_INIT_ENV", "DFTRACER_INIT_PRELOAD", "DFTRACER_LOG_LEVEL"}

_EXPORTS = {
    MODULE: _NEWER,
    "dftracer.python.logger": _API,
    "dftracer.python.dbg": _NEWER,
    "dftracer.python.ai": _AI_GROUPS | {"ai", "init", "io", "other"},
    "dftracer.python.dynamo": frozenset({"Dynamo", "dynamo", "create_backend"}),
    "dftracer.python.common": frozenset({"TagValue", "TagType", "TagDType", "TagValueTuple", "get_time_scale"}),
    "dftracer.logger": _OLD_API | _AI_GROUPS | {"ai"},
    "dftracer.logger.ai": _AI_GROUPS | {"ai"},
    "dftracer.dbg.logger": _OLD_API,
    "dftracer_dbg.logger": _OLD_API,
    "dlio_profiler.logger": frozenset({"dlio_logger", "fn_interceptor", "DLIO_PROFILER_ENABLE"}),
}
"""Module of the tracer -> the names of it that are its own (it hands on ``os``, ``Path`` and more besides)."""

HANDED_ON = frozenset(
    [
        "Any",
        "BLOCK_NAME",
        "CTX_SEPARATOR",
        "Callable",
        "CheckpointEvent",
        "CommunicationEvent",
        "ComputeEvent",
        "DataEvent",
        "DataLoaderEvent",
        "DeviceEvent",
        "Dict",
        "Enum",
        "Generator",
        "IOEvent",
        "INIT_NAME",
        "ITER_COUNT_NAME",
        "ITER_NAME",
        "IntEnum",
        "Iterable",
        "Iterator",
        "List",
        "Optional",
        "OtherEvent",
        "P",
        "PackageNotFoundError",
        "ParamSpec",
        "Path",
        "PipelineEvent",
        "Protocol",
        "R",
        "ROOT_CAT",
        "ROOT_NAME",
        "START_METADATA_NAME",
        "STOP_METADATA_NAME",
        "Sequence",
        "T",
        "Tuple",
        "TypeVar",
        "Union",
        "auto",
        "cast",
        "common",
        "env",
        "functools",
        "get_iter_block_name",
        "get_iter_handle_name",
        "inspect",
        "logger",
        "logging",
        "os",
        "overload",
        "signal",
        "sys",
        "wraps",
    ]
)
"""What MODULE has besides, having imported it, or for use within the library."""

OLD_DYNAMO = "dftracer.dynamo"
"""Of 1.0.14 and 1.0.15: its ``dft_fn`` is another class, called ``Dynamo`` in the newest, with other arguments."""

MISTAKEN_NAMES = {
    "dftracer_fn": "function",
    "DFTracer": "logger",
    "DFTracerFn": "function",
    "fn_interceptor": "function",
    "dlio_logger": "logger",
    "DLIO_PROFILER_ENABLE": "enabled",
    "dft_fn": "function",
}
"""Names that are looked for where they are not (they never existed, or do elsewhere) -> what is meant, as a field of
``Generation``."""

MISTAKEN_METHODS = {"finalize_log": FINALIZE, "initialize": INITIALIZE, "init_log": INITIALIZE}
"""Methods that never existed -> what is meant."""

LOGGER_METHODS = frozenset({INITIALIZE, GET_INSTANCE})
"""What LOGGER has itself, static or of the class; the rest is its instance's."""
LOG_METHODS = LOGGER_METHODS | {
    GET_TIME,
    GET_CONFIG,
    ENTER_EVENT,
    EXIT_EVENT,
    LOG_EVENT,
    FINALIZE,
    "log_metadata_event",
    "set_app_metadata_int",
    "set_app_metadata_string",
    "mark_used",
    "declare_entity",
    "declare_entity_type",
    "relate_entities",
}
WITHOUT_ARGUMENTS = frozenset({GET_TIME, ENTER_EVENT, EXIT_EVENT, FINALIZE})
INSTANCE_METHODS = DECORATORS | {"iter", "update", "flush", "reset", "log_metadata", "relate", "relate_entity", "uses"}

MISTAKEN_ARGUMENTS = {"log_file": "logfile"}
INVENTED_ARGUMENT = "comp"
"""Passed to FUNCTION in examples, where no release takes it; an argument of the event is meant, or its category."""
WRAPPED_ARGUMENT = {LOG: "func", LOG_INIT: "init", LOG_STATIC: "func"}
OLD_WRAPPED_ARGUMENT = "f_py"
"""What the argument of each of DECORATORS is called, and was in 1.0.11 to 1.0.15."""
ITER = "iter"
UPDATE = "update"
UPDATE_ORDER = ("epoch", "step", "image_idx", "image_size", "args")
ITER_NAME_ARGUMENT = "iter_name"
GONE_ITER_ARGUMENTS = frozenset({"include_yield", "include_iter"})
MISTAKEN_CATEGORY = "category"
"""What is written where ``cat`` is meant."""
FUNCTION_ARGUMENTS = ("cat", "name", "epoch", "step", "image_idx", "image_size", "enable")
INITIALIZE_ORDER = ("logfile", "data_dir", "process_id")
EVENT_ORDER = ("name", "cat", "start_time", "duration", "int_args", "float_args", "string_args", "relations")
TAG_VALUE, TAG_TYPE, TAG_DTYPE, TAG_VALUE_TYPE = "TagValue", "TagType", "TagDType", "dtype"
TAG_DTYPES = {int: "INT", float: "FLOAT", str: "STRING"}
TAGGED_ARGUMENTS = {"int_args": int, "float_args": float, "string_args": str}
"""Arguments of ``log_event`` that take (tag, value) pairs -> the type of the values."""


def exported_names(module: str) -> frozenset[str]:
    """The names that are a tracer module's own; empty for one that is not known."""
    return _EXPORTS.get(module, frozenset())


def api_of(module: str) -> Generation | None:
    """How a module of the tracer spells the three names that matter, None where it has them not."""
    if module.startswith("dlio_profiler."):
        return GENERATIONS[0]
    return CURRENT if FUNCTION in exported_names(module) else None


# --- the module that annotated files of a package may import from instead -------------------------------------------

SHIM = "_dftracer"
"""Its name; where that is taken, ``SHIM_2`` and so on."""


IMPORTED_BY_TRACER = frozenset(
    {
        "dill",
        "filelock",
        "functorch",
        "mpmath",
        "networkx",
        "numpy",
        "opt_einsum",
        "sympy",
        "torch",
        "torchgen",
        "tqdm",
        "typing_extensions",
    }
)
"""What the tracer's own import imports (seen with ``-X importtime``, dftracer 2.2.0 and torch 2.13), mostly through
torch, where that is installed. None of them can import the tracer: it would be found half imported, or find them so."""


def is_shim(module: str) -> bool:
    """Whether a module (dotted) is called as a shim is. A shim exports the names of the newest generation."""
    return SHIM in module and re.fullmatch(rf"(?:.*\.)?{SHIM}(?:_\d+)?", module) is not None


def generation_of_module(module: str) -> Generation:
    """How the names that ``module`` exports are spelled."""
    return next((generation for generation in GENERATIONS if generation.module == module), CURRENT)


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

# --- manual events --------------------------------------------------------------------------------------------------

KEY_TAG = 0
"""An argument of ``log_event`` is a pair: the tag that makes it a key of the event, and the value."""
INT_BITS = 32
"""An integer beyond raises TypeError."""
FLOAT_LIMIT = "3e38"
"""Beyond it a float, which has 32 bits and 6 digits there, is infinite, which JSON does not know."""
STRING_ROOM = 12_000
"""How many bytes of a line the strings of an event may take: at 16 KiB the tracer cuts the line."""
RESERVED_ARGUMENTS = {
    "hhash": "the tracer's own; the node of a simulation is mhost",
    "tid": "the tracer's own, and raises",
}
JSON_ARGUMENTS = "json_args"
"""The argument that names those (by commas) whose strings are JSON: what the tracer cannot hold otherwise."""
TIME_UNITS = {"ns": 10**9, "us": 10**6, "ms": 10**3, "s": 1}
"""Unit of an expression -> how many a second."""
TRACE_UNITS = {"NS": 10**9, "US": 10**6, "MS": 10**3, "SEC": 1}
DEFAULT_TRACE_UNIT = "US"

# --- trace files ----------------------------------------------------------------------------------------------------

TRACE_SUFFIX = ".pfw"
TRACE_SUFFIX_GZIP = ".pfw.gz"
DEBUG_LOG = "dft.log"
"""What ``initialize_log`` opens in the working directory, tracing or not."""
MINIMUM_EVENTS = 3
"""From 2.1.0 on, ``finalize`` deletes the trace of a process that logged fewer events than this."""
WORKER_MARK = "worker"
"""The tracer's own event, in its own category, with which a worker process begins, as often as its trace needs."""


@dataclass(frozen=True)
class TraceFields:
    """Names in a trace line; see the records of the format in the reader's docstring."""

    start_event: str = "start"
    end_event: str = "end"
    tracer_category: str = "dftracer"
    metadata_phases: tuple[int | str, ...] = ("M", 4)
    complete_phases: tuple[int | str, ...] = ("X", 1)
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
    log_file: str = "log_file"
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
