"""Where a decorator is provably harmless, and why not elsewhere. Tables first, the reading of them second.

The facts behind it, seen on dftracer 2.x: ``@x.log`` converts parameters, and attributes of an object called ``self``,
that are named epoch, step, image_idx or image_size, and raises where they are no numbers; its wrapper is a frame of its
own, hides the code object, and times a coroutine or a generator for the moment that it takes to be made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache

from dfannotate.facts import ClassFacts, FunctionFacts, ModuleFacts
from dfannotate.rules.selection import call_cost
from dfannotate.vocabulary import HAZARDOUS_NAMES

PROPERTIES = frozenset(
    {
        "property",
        "functools.cached_property",
        "cached_property.cached_property",
        "django.utils.functional.cached_property",
        "werkzeug.utils.cached_property",
        "torch.utils._contextlib.cached_property",
        "abc.abstractproperty",
        "enum.property",
        "types.DynamicClassAttribute",
        "pydantic.computed_field",
        "hybrid_property",
        "sqlalchemy.ext.hybrid.hybrid_property",
    }
)
ACCESSORS = frozenset({"setter", "getter", "deleter"})

CONTEXT_MANAGERS = frozenset({"contextlib.contextmanager", "contextlib.asynccontextmanager"})

COMPILERS = (
    "torch.jit.*",
    "torch.compile",
    "torch.compiler.*",
    "torch._dynamo.*",
    "torch.fx.*",
    "torch.export*",
    "numba.*",
    "jax.jit",
    "jax.pmap",
    "jax.vmap",
    "jax.grad",
    "jax.value_and_grad",
    "jax.checkpoint",
    "jax.custom_jvp",
    "jax.custom_vjp",
    "tensorflow.function",
    "tf.function",
    "taichi.*",
    "triton.*",
    "cython.*",
    "warp.*",
    "pythran.*",
    "cupy.fuse",
)
"""Decorators and calls that compile a function, or read its source, instead of calling it."""

INSPECTORS = (
    "inspect.getsource*",
    "inspect.getfullargspec",
    "inspect.getargspec",
    "inspect.getclosurevars",
    "dis.*",
    "signal.signal",
)
"""Calls that look into a function they are given, or that run it where tracing must not."""

HARMLESS_DECORATORS = (
    "functools.lru_cache",
    "functools.cache",
    "functools.singledispatch",
    "functools.wraps",
    "functools.total_ordering",
    "abc.abstractmethod",
    "typing.final",
    "typing.override",
    "typing.no_type_check",
    "typing_extensions.final",
    "typing_extensions.override",
    "typing_extensions.deprecated",
    "warnings.deprecated",
    "torch.no_grad",
    "torch.enable_grad",
    "torch.inference_mode",
    "torch.autograd.no_grad",
    "torch.autograd.grad_mode.no_grad",
    "torch.set_grad_enabled",
    "torch.autocast",
    "torch.cuda.amp.autocast",
    "hydra.main",
    "click.*",
    "tenacity.retry",
    "backoff.on_exception",
    "retrying.retry",
)
"""Decorators that call what they are given, and ask no more of it than ``functools.wraps`` hands on."""

HARMLESS_BASES = (
    "object",
    "type",
    "dict",
    "list",
    "tuple",
    "set",
    "frozenset",
    "str",
    "bytes",
    "bytearray",
    "int",
    "float",
    "complex",
    "BaseException",
    "*Exception",
    "*Error",
    "*Warning",
    "abc.ABC",
    "enum.*",
    "typing.*",
    "typing_extensions.*",
    "types.*",
    "collections.*",
    "contextlib.*",
    "threading.*",
    "multiprocessing.*",
    "queue.*",
    "io.*",
    "pathlib.*",
    "json.*",
    "pickle.*",
    "logging.*",
    "argparse.*",
    "string.*",
    "ast.*",
    "socketserver.*",
    "http.server.*",
    "unittest.TestCase",
    "unittest.IsolatedAsyncioTestCase",
    "numpy.ndarray",
    "torch.Tensor",
    "torch.autograd.Function",
    "torch.nn.Module",
    "torch.nn.modules.module.Module",
    "torch.nn.[A-Z]*",
    "torch.utils.data.*",
)
"""Bases from outside the project without an attribute that the tracer would convert. ``torch.optim`` is not among
them: optimizers and schedulers have a method called ``step``."""


@dataclass(frozen=True)
class Surroundings:
    """What the rest of the project says about a module.

    ``unsafe_classes``: qualified name of a class of the module -> why its objects are a hazard.
    ``frame_names``: names of the project's functions that look at the frames above them.
    ``packages``: top-level names of the packages, other than the project's own, that the module imports."""

    unsafe_classes: Mapping[str, str] = field(default_factory=dict)
    frame_names: frozenset[str] = frozenset()
    packages: frozenset[str] = frozenset()


def why_unsafe(function: FunctionFacts, module: ModuleFacts, around: Surroundings) -> str | None:
    """None where a decorator directly above the ``def`` changes nothing, else the reason to leave it out."""
    reason = _by_decorators(function)
    if reason:
        return reason
    if function.is_async:
        return "async-generator" if function.is_generator else "async"
    if function.is_generator:
        return "generator"
    reason = _by_use(function, module)
    if reason:
        return reason
    if function.looks_at_frames or _calls_frame_function(function, around):
        return "frames"
    # Each level would take two of the frames that the interpreter allows.
    if function.is_recursive or any(call_cost(name, False) != "io" for name in function.namesakes):
        return "recursive"
    if any(p.kind == "kwargs" or p.name in HAZARDOUS_NAMES for p in function.parameters):
        return "hazardous-parameter"
    if function.first_parameter == "self":
        if function.scope != "class":
            return "foreign-self"  # a method of whatever class it is given to
        if function.name != "__init__":
            return around.unsafe_classes.get(function.owner)
    return None


@lru_cache(maxsize=4096)
def base_is_harmless(base: str) -> bool:
    """Whether a base from outside the project (resolved, dotted) is known to hold no hazard."""
    return any(fnmatchcase(base, pattern) for pattern in HARMLESS_BASES)


def own_hazard(klass: ClassFacts) -> str | None:
    """Why the objects of a class are a hazard by what the class itself says."""
    if klass.has_getattr:
        return "getattr-hook"
    if klass.hazards:
        return "hazardous-attribute"
    if klass.sets_attributes:
        return "dynamic-attributes"
    return None


def _by_decorators(function: FunctionFacts) -> str | None:
    for name in function.decorators:
        last = name.rpartition(".")[2]
        if name in PROPERTIES or last in ACCESSORS or last.endswith(("property", "Property")):
            return "property"
        if last in ("staticmethod", "classmethod"):
            return last
        if name in CONTEXT_MANAGERS:
            return "contextmanager"
        if last == "overload":
            return "overload"
        if is_compiler(name):
            return "compiled"
    for name in function.decorators:
        if not _decorator_is_harmless(name):
            return "unknown-decorator"
    return None


@lru_cache(maxsize=4096)
def _decorator_is_harmless(name: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in HARMLESS_DECORATORS)


@lru_cache(maxsize=4096)
def is_compiler(name: str) -> bool:
    """Whether a decorator or a call (resolved, dotted) compiles what it is given, or reads its source."""
    return any(fnmatchcase(name, pattern) for pattern in COMPILERS)


def _by_use(function: FunctionFacts, module: ModuleFacts) -> str | None:
    """What the rest of the module does with the function by name, or with its class."""
    if any(is_compiler(d) for klass in module.classes if klass.qualname == function.owner for d in klass.decorators):
        return "compiled"
    names = {function.name, function.owner.rpartition(".")[2]} - {""}
    if function.name in module.looked_at:
        return "introspected"
    for callee, given in module.handed_over:
        if given.rpartition(".")[2] in names:
            if is_compiler(callee):
                return "compiled"
            if given.rpartition(".")[2] == function.name and any(fnmatchcase(callee, p) for p in INSPECTORS):
                return "signal-handler" if callee == "signal.signal" else "introspected"
    return None


def _calls_frame_function(function: FunctionFacts, around: Surroundings) -> bool:
    return any(
        call.name.rpartition(".")[2] in around.frame_names and call.name.partition(".")[0] not in around.packages
        for call in function.calls
    )
