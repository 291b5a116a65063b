"""Which form of annotation changes nothing for a function, and why some get none. Tables first, their reading second.

The facts behind it, seen on dftracer 2.x: ``@x.log`` converts parameters, and attributes of an object called ``self``,
that are named epoch, step, image_idx or image_size, and raises where they are no numbers; its wrapper is a frame of its
own, hides the code object, and times a coroutine or a generator for the moment that it takes to be made.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from dfannotate.names import is_dunder
from dfannotate.rules.clocks import clock_of
from dfannotate.rules.selection import call_cost
from dfannotate.vocabulary import HAZARDOUS_NAMES

if TYPE_CHECKING:
    from dfannotate.facts import ClassFacts, FunctionFacts, ModuleFacts

Form = Literal["plain", "init", "static", "region", "none"]
"""The decorator, the one of ``__init__``, the one that looks at no argument; a region in the body; nothing."""

HOOKS = frozenset(
    {"__getattr__", "__getattribute__", "__setattr__", "__delattr__", "__del__", "__dir__", "__class_getitem__"}
    | {"__init_subclass__", "__set_name__", "__prepare__", "__instancecheck__", "__subclasscheck__", "__subclasshook__"}
    | {"__mro_entries__", "__new__"}
)
"""Methods that Python calls on its own while it looks something up, makes a class, or takes an object down."""

DECORATED_DUNDERS = frozenset({"__init__", "__call__", "__getitem__", "__next__", "__enter__", "__exit__"})

COUNTED_PARAMETERS = frozenset(
    f"{when}_{what}" for when in ("setup", "teardown") for what in ("module", "class", "method", "function")
)
"""Functions of tests that pytest gives an argument if their code, or that of what is in their place, takes one."""

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

GRAPH_MAKERS = ("torch.compile", "torch.compiler.*", "torch._dynamo.*", "torch.fx.*", "torch.export*")
"""Those that follow the calls of what they are given."""

FLEX_ATTENTION = "torch.nn.attention.flex_attention"
WHOLE_GRAPH_MAKERS = (
    "torch.cond",
    "torch.while_loop",
    "torch.scan",
    "torch._higher_order_ops.*",
    f"{FLEX_ATTENTION}.*",
    "functorch.experimental.control_flow.*",
)
"""Operators that make a graph of each function they are given, wherever they are called: one that cannot be made of the
whole is an error. Some of them count the parameters of the function's own code, too."""

SCRIPT = "torch.jit.script"
"""Compiles what it is given, and whatever that calls."""

INSPECTORS = (
    "inspect.getsource*",
    "inspect.getfullargspec",
    "inspect.getargspec",
    "inspect.getclosurevars",
    "dis.*",
    "signal.signal",
)
"""Calls that look into a function they are given, or that run it where tracing must not."""

INIT_WRITERS = frozenset({"sqlalchemy", "flask_sqlalchemy", "sqlmodel"})
"""Packages that give a class a new ``__init__``, with the parameters that they read off the code of its own."""

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
    ``frame_names``: names of the project's functions through which frames of their callers are looked at.
    ``packages``: top-level names of the packages, other than the project's own, that the module imports.
    ``wrapped_names``: functions of the project whose defaults, code, … are looked at somewhere in it.
    ``read_names``: functions and classes of the project that are given to something that reads their text.
    ``source_readers``: names of the project's functions that read the text of what they are given.
    ``looks_into``: the project looks at those of functions that it is given, whichever they are.
    ``walks_frames``: the project goes up the stack, whoever stands on it.
    ``compiled``: names of functions and classes of the module that the project compiles, or may, somewhere else.
    ``rewrites_init``: the project uses a package that reads and replaces the ``__init__`` of its heirs.
    ``compares_code``: somewhere in the project methods are told apart by their code, which those of all wrappers share.
    ``framed_classes``: qualified names of classes of the module whose constructor's frame is read by that of a base.
    ``recursive_methods``: names of methods of the project that call the method of that name of their own object."""

    unsafe_classes: Mapping[str, str] = field(default_factory=dict)
    frame_names: frozenset[str] = frozenset()
    packages: frozenset[str] = frozenset()
    wrapped_names: frozenset[str] = frozenset()
    compiled: frozenset[str] = frozenset()
    read_names: frozenset[str] = frozenset()
    source_readers: frozenset[str] = frozenset()
    looks_into: bool = False
    walks_frames: bool = False
    rewrites_init: bool = False
    compares_code: bool = False
    framed_classes: frozenset[str] = frozenset()
    recursive_methods: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Treatment:
    """How a function is annotated; ``reason`` says why it is not, or why it is not by the plain decorator."""

    form: Form
    reason: str = ""


def treat(function: FunctionFacts, module: ModuleFacts, around: Surroundings) -> Treatment:
    """The form that changes nothing but the tracing: the decorator where it is provably harmless, the one that looks at
    no argument where arguments or attributes are the only hazard, a region in the body where any decorator could be
    seen; none where even that could."""
    reason = why_none(function, module, around)
    if reason:
        return Treatment("none", reason)
    reason = _why_region(function, module, around)
    if reason:
        if function.block is None or not function.block.movable:
            return Treatment("none", "immovable-body")
        return Treatment("region", reason)
    is_init = function.name == "__init__" and function.scope == "class"
    if any(p.kind == "kwargs" or p.name in HAZARDOUS_NAMES for p in function.parameters):
        return Treatment("static", "hazardous-parameter")
    if function.first_parameter == "self" and not is_init:
        # The tracer takes anything called self for an object to look at, a plain function's argument too.
        known = function.scope == "class"
        reason = around.unsafe_classes.get(function.owner) if known else "hazardous-parameter"
        if reason:
            return Treatment("static", reason)
    return Treatment("init" if is_init else "plain")


def why_none(function: FunctionFacts, module: ModuleFacts, around: Surroundings) -> str | None:
    """Why a function cannot be annotated at all without a change that somebody could see."""
    for name in function.decorators:
        if name in CONTEXT_MANAGERS:
            return "contextmanager"
        if name.rpartition(".")[2] == "overload":
            return "overload"
        if is_compiler(name):
            return "compiled"
    if function.is_generator:
        return "async-generator" if function.is_async else "generator"
    if function.name in HOOKS:  # a module has them too, and a class is given them from outside
        return "hook"
    if function.body == "stub":
        return "stub"
    if function.is_continued:
        return "continued-line"
    if not around.compiled.isdisjoint((function.qualname, function.owner.partition(".")[0])):
        return "compiled"
    outer = function.qualname.rpartition(".<locals>.")[0]
    if outer and any(why_none(f, module, around) == "compiled" for f in _about(module).by_qualname.get(outer, ())):
        return "compiled"
    if around.source_readers and _is_read(function, module, around):
        return "introspected"
    if outer and _stands_in_counted_lines(outer, module):
        return "line-numbers"
    if clock_of(function, module):
        return "simulated-clock"
    return _by_use(function, module)


def _is_read(function: FunctionFacts, module: ModuleFacts, around: Surroundings) -> bool:
    """Whether somebody reads the text of a function, of one around it, or of its class."""
    around_it = [function]
    outer = function.qualname.rpartition(".<locals>.")[0]
    while outer:
        around_it += _about(module).by_qualname.get(outer, ())
        outer = outer.rpartition(".<locals>.")[0]
    for one in around_it:
        if not around.read_names.isdisjoint(_own_names(one)):
            return True
        for name in one.decorators:
            if name.rpartition(".")[2] in around.source_readers and name.partition(".")[0] not in around.packages:
                return True
    return False


def _stands_in_counted_lines(outer: str, module: ModuleFacts) -> bool:
    """Whether a function, or one around it, counts the lines between places in it, to which any form adds one."""
    while outer:
        if any(function.counts_lines for function in _about(module).by_qualname.get(outer, ())):
            return True
        outer = outer.rpartition(".<locals>.")[0]
    return False


def _why_region(function: FunctionFacts, module: ModuleFacts, around: Surroundings) -> str | None:
    """Why a decorator could be seen: by what wraps the function, by what it looks at, by who defines it when."""
    if function.is_async:
        return "async"
    for name in function.decorators:
        last = name.rpartition(".")[2]
        if name in PROPERTIES or last in ACCESSORS or last.endswith(("property", "Property")):
            return "property"
        if last == "staticmethod":
            return "staticmethod"
        if last != "classmethod" and not _decorator_is_harmless(name):
            return "unknown-decorator"
    if "<locals>" in function.qualname:
        return "nested"
    # What calls nothing is never above one that walks up the stack; anything else may be, through whatever it is given.
    may_be_above = around.walks_frames and bool(function.calls)
    is_framed = function.name == "__init__" and function.owner in around.framed_classes
    if function.frame_depth or may_be_above or is_framed or _calls_frame_function(function, around):
        return "frames"
    if function.lets_go:  # a wrapper would hold on to its arguments
        return "references"
    # Each level would take two of the frames that the interpreter allows.
    if function.is_recursive or any(call_cost(name, False) != "io" for name in function.namesakes):
        return "recursive"
    if function.qualname in _about(module).in_cycles or _is_on_the_way_of_another(function, around):
        return "recursive"
    if function.scope == "class" and is_dunder(function.name) and function.name not in DECORATED_DUNDERS:
        return "dunder"
    is_compared = around.compares_code and function.scope == "class"
    is_looked_into = function.name in around.wrapped_names or function.name in COUNTED_PARAMETERS
    if is_looked_into or around.looks_into or is_compared:
        return "introspected"
    if function.name == "__init__" and around.rewrites_init and around.unsafe_classes.get(function.owner):
        return "introspected"
    return None


def _is_on_the_way_of_another(function: FunctionFacts, around: Surroundings) -> bool:
    """Whether a method hands on to one of its name which calls itself, and so may come back to this one: the heir's."""
    is_method = function.scope == "class" and function.name in around.recursive_methods
    return is_method and any(call.name.rpartition(".")[2] == function.name for call in function.calls)


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
    if any(base == "type" or base.rpartition(".")[2].endswith(("Meta", "MetaClass")) for base in klass.bases):
        return "metaclass"  # its objects are classes, with whatever attributes those have
    if klass.sets_attributes:
        return "dynamic-attributes"
    return None


@lru_cache(maxsize=4096)
def _decorator_is_harmless(name: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in HARMLESS_DECORATORS)


@lru_cache(maxsize=4096)
def is_compiler(name: str) -> bool:
    """Whether a decorator or a call (resolved, dotted) compiles what it is given, or reads its source."""
    return any(fnmatchcase(name, pattern) for pattern in (*COMPILERS, *WHOLE_GRAPH_MAKERS))


@lru_cache(maxsize=4096)
def makes_graph(name: str) -> bool:
    """Whether a decorator or a call (resolved, dotted) makes a graph of what it is given and of all that this calls."""
    return any(fnmatchcase(name, pattern) for pattern in GRAPH_MAKERS)


@lru_cache(maxsize=4096)
def makes_whole_graph(name: str) -> bool:
    """Whether a call (resolved, dotted) makes a graph of the whole of what it is given, wherever it stands."""
    return any(fnmatchcase(name, pattern) for pattern in WHOLE_GRAPH_MAKERS)


def _by_use(function: FunctionFacts, module: ModuleFacts) -> str | None:
    """What the rest of the module does with the function by name, or with its class."""
    if any(is_compiler(d) for klass in module.classes if klass.qualname == function.owner for d in klass.decorators):
        return "compiled"
    names = _own_names(function)
    if function.name in module.looked_at:
        return "introspected"
    if function.name in _about(module).scripted:
        return "compiled"
    for callee, given in module.handed_over:
        if given.rpartition(".")[2] in names:
            if is_compiler(callee):
                return "compiled"
            if given.rpartition(".")[2] == function.name and any(fnmatchcase(callee, p) for p in INSPECTORS):
                return "signal-handler" if callee == "signal.signal" else "introspected"
    return None


def _own_names(function: FunctionFacts) -> set[str]:
    """Names that stand for the function where something is given them: its own, and that of its class."""
    return {function.name, function.owner.rpartition(".")[2]} - {""}


@dataclass(frozen=True)
class _About:
    """What only all functions of a module together tell."""

    scripted: frozenset[str]
    in_cycles: frozenset[str]
    by_qualname: Mapping[str, tuple[FunctionFacts, ...]]


def _about(module: ModuleFacts) -> _About:
    global _latest
    if _latest is None or _latest[0] is not module:
        by_qualname: dict[str, tuple[FunctionFacts, ...]] = {}
        for function in module.functions:
            by_qualname[function.qualname] = (*by_qualname.get(function.qualname, ()), function)
        _latest = (module, _About(_find_called_by_scripted(module), _find_cycles(module), by_qualname))
    return _latest[1]


_latest: tuple[ModuleFacts, _About] | None = None
"""The answer for the module that was asked about last: one is asked about function by function."""


def _find_called_by_scripted(module: ModuleFacts) -> frozenset[str]:
    """Names of what the module's scripted functions call, however deep: TorchScript compiles all of it."""
    given = {name.rpartition(".")[2] for callee, name in module.handed_over if callee == SCRIPT}
    given |= {klass.name for klass in module.classes if SCRIPT in klass.decorators}
    scripted = (f for f in module.functions if SCRIPT in f.decorators or not given.isdisjoint(_own_names(f)))
    pending = list(scripted)
    found: set[str] = set()
    while pending:
        called = {call.name.rpartition(".")[2] for call in pending.pop().calls} - found
        found |= called
        pending += [f for f in module.functions if f.name in called]
    return frozenset(found)


def _find_cycles(module: ModuleFacts) -> frozenset[str]:
    """Qualified names of functions that call each other in a circle, by plain names and on ``self``, and of those on a
    way from one circle to another."""
    by_qualname = {function.qualname for function in module.functions}
    methods: dict[str, list[str]] = {}
    for function in module.functions:
        if function.scope == "class":
            methods.setdefault(function.name, []).append(function.qualname)
    called: dict[str, set[str]] = {}
    for function in module.functions:
        targets = called.setdefault(function.qualname, set())
        for call in function.calls:
            targets.update(_called_in_module(function, call.name, by_qualname, methods))
    # What calls nothing that is left, or is called by nothing that is left, is in no circle.
    left = set(called)
    while True:
        targets = {target for name in left for target in called[name] if target in left}
        kept = {name for name in targets if not called[name].isdisjoint(left)}
        if kept == left:
            return frozenset(left)
        left = kept


def _called_in_module(
    function: FunctionFacts, name: str, by_qualname: set[str], methods: Mapping[str, list[str]]
) -> Iterable[str]:
    """Qualified names of the module's functions that a call of ``name`` in ``function`` may mean."""
    owner, dot, last = name.rpartition(".")
    if dot:
        if owner not in ("self", "cls") or last not in methods:
            return ()
        own = f"{function.owner}.{last}"
        return (own,) if own in by_qualname else methods[last]
    scope = function.qualname
    while scope:
        inner = f"{scope}.<locals>.{name}"
        if inner in by_qualname:
            return (inner,)
        scope = scope.rpartition(".<locals>.")[0]
    return tuple(found for found in (name, f"{name}.__init__") if found in by_qualname)


def _calls_frame_function(function: FunctionFacts, around: Surroundings) -> bool:
    return any(
        call.name.rpartition(".")[2] in around.frame_names and call.name.partition(".")[0] not in around.packages
        for call in function.calls
    )
