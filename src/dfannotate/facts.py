"""Source -> what the module holds, by one walk over its ``ast``: the only place that understands a program.

Facts are plain values without the tree, so that they travel between processes: codemods and rules read them, and a
project's facts together answer what a single file cannot (a class's bases, the callers of a function).
Names are resolved through the module's imports: with ``import numpy as np`` a call of ``np.load`` is ``numpy.load``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dfannotate import vocabulary
from dfannotate.calls import CONTEXT_MAKERS, Calls, WorkerCall, WorkerValue, may_make_workers
from dfannotate.names import UNNAMED, dotted, is_dunder, is_main_guard, resolve
from dfannotate.source import PARTS, Source, nodes_in

Scope = Literal["module", "class", "function"]
Body = Literal["code", "stub"]

DEEP = 8
"""How many frames above itself a function looks at that walks the stack: more than any program's layers of helpers."""

FRAME_CALLS = {
    "sys._getframe": 0,  # and as many as its argument says
    "sys._getframemodulename": 0,
    "inspect.currentframe": 0,
    "sys.exc_info": 2,
    **dict.fromkeys(("inspect.stack", "inspect.trace", "inspect.getouterframes", "inspect.getinnerframes"), DEEP),
    **dict.fromkeys(("traceback.extract_stack", "traceback.format_stack", "traceback.print_stack"), DEEP),
    **dict.fromkeys(("traceback.walk_stack", "traceback.StackSummary.extract"), DEEP),
    **dict.fromkeys(("sys.settrace", "sys.setprofile"), DEEP),
    **dict.fromkeys(("sys.getrefcount", "gc.get_referrers"), 2),  # each wrapper holds what it hands on
}
"""Calls that look at the frames above them, where a decorator's would be seen -> how many frames up."""

FRAME_ATTRIBUTES = {
    **dict.fromkeys(("__traceback__", "__cause__", "with_traceback", "tb_frame", "tb_next", "tb_lineno"), 2),
    "_source_traceback": DEEP,  # where a future or a task of asyncio was made, while that is debugged
    **dict.fromkeys(("f_code", "f_globals", "f_lineno", "f_locals", "f_trace"), 1),
}
"""Attributes of frames, and those by which a program puts together the traceback that somebody will read."""

STACK_READERS = ("inspect.", "sys._getframe", "traceback.")
"""How the names of those calls begin that tell where in the file the frames are."""

LINE_ATTRIBUTES = frozenset({"f_lineno", "tb_lineno", "lineno", "co_firstlineno"})
"""Attributes of frames and of what sums them up that say where in the file something stands."""

HIDDEN_FRAMES = frozenset({"__tracebackhide__", "__traceback_hide__", "__unittest"})
"""Names by which a function, or a module for all of its own, asks those that show tracebacks to leave its frame out:
with a wrapper above it there would be one to show."""

FRAME_HANDERS = frozenset({"save_hyperparameters"})
"""Methods, whoever defines them, that take a constructor's arguments from its frame, and those of the constructors of
its heirs from the frames directly above."""

LISTERS = frozenset({"dir", "vars", "inspect.getmembers"})
"""Calls that list the names of a module they are given."""

LOOKED_AT = frozenset({"__code__", "__defaults__", "__kwdefaults__", "__closure__", "__globals__", "__wrapped__"})
"""Attributes that a wrapper does not share with the function it wraps."""

LOOKING_CALLS = frozenset(
    {
        *(f"inspect.{name}" for name in ("getfullargspec", "getargspec", "getclosurevars", "getcallargs", "unwrap")),
        *(f"inspect.{name}" for name in ("getfile", "getsourcefile", "getabsfile")),
        *(f"six.get_function_{part}" for part in ("code", "closure", "defaults", "globals")),
        "boltons.funcutils.FunctionBuilder.from_func",
    }
)
"""Calls that tell a function from its wrapper."""

SIGNATURE_CALLS = frozenset({"inspect.signature", "inspect.Signature.from_callable"})
"""Calls that do so where they are asked not to follow a wrapper to the function."""

SOURCE_CALLS = frozenset({f"inspect.{name}" for name in ("getsource", "getsourcelines", "findsource")})
"""Calls that read the text of what they are given."""

SOURCE_SENDERS = frozenset({"remote_exec"})
"""Methods, whoever defines them, that send the text of the function that they are given to where it is executed."""

CODE_COMPARERS = frozenset({"is_overridden", "is_overriden", "is_method_overridden"})
"""What trainers call the function that compares the code of a method with that of a base's."""

INSPECTING_PACKAGES = frozenset(
    {"torch", "numba", "jax", "tensorflow", "tf", "taichi", "triton", "cython", "inspect", "signal", "dis", "warp"}
)
"""Packages whose calls are remembered with the plain names they are given: they compile or inspect functions."""


OUTLIVING = frozenset({"threading", "_thread", "concurrent", "atexit"})
"""Packages by which work goes on after the last statement of a program: threads, pools, exit handlers."""

INTERRUPTED = frozenset(
    {"click", "typer", "trio", "anyio", "lightning", "pytorch_lightning", "prompt_toolkit", "IPython"}
)
"""Packages that catch ``KeyboardInterrupt`` for the program."""

_ENVIRONMENT = frozenset(
    {"os.environ", "os.putenv", "os.environb", "sys.path", "warnings", "matplotlib.use", "os.chdir"}
    | {"mpi4py.rc", "gevent.monkey", "eventlet.monkey_patch"}
)
"""What a module may set between its imports, for the sake of the imports that follow."""

_CAPTURES: tuple[type[ast.AST], ...] = (
    ast.MatchAs,
    ast.MatchStar,
    ast.MatchMapping,
    *(kind for name in ("TypeVar", "ParamSpec", "TypeVarTuple") if (kind := getattr(ast, name, None))),
)
"""Patterns and type parameters (from Python 3.12 on): they bind a name that the tree holds as a string."""

_MOST_NESTED = 18
"""Blocks in blocks; Python compiles no more than 20, a region included."""

_UNSCRIPTABLE: frozenset[type] = frozenset(
    {ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.Try}
    | {ast.AsyncFor, ast.AsyncWith}
)
"""Statements that TorchScript compiles nowhere, not even where it would never run them."""

_TYPE_ARGUMENTS = {"isinstance": 1, "annotate": 0}
"""Calls, by their last name, that are given a type -> which of their arguments it is."""

_TYPE_COMMENT = re.compile(r"#\s*type:(?!\s*ignore\b)(.*)")
_PLACEHOLDER_RAISES = frozenset({"NotImplementedError", "NotImplemented"})
_SCRIPT = re.compile(r"(?i:torch\.jit\b|torchscript|jit\.script|\bscriptable)")
_GRAPH_WORDS = ("allow_in_graph", "fullgraph", "torch.export", "symbolic_trace")
_SCRIPT_WORDS = ("torch.jit", "torchscript", "jit.script", "scriptable")
"""One of these, in lower case, is in every text that ``_SCRIPT`` finds something in."""
_WATCHES = re.compile(
    r"""(?:\bbuiltins?|__builtins?__)\W{1,3}__import__['"\]]{0,2}\s*=(?!=)|['"](?:builtins\.)?__import__['"]"""
    r"""|['"][\w.]+['"]\s+(?:not\s+)?in\s+sys\.modules\b|\bimporttime\b"""
)
_WATCHES_WORDS = ("__import__", "sys.modules", "importtime")
_GRAPH = re.compile(
    r"""\ballow_in_graph\b|\btorch\.export\b|\bsymbolic_trace\b|\bfullgraph\s*:[^=\n]*=\s*True\b"""
    r"""|(?:\bfullgraph\s*=|['"]fullgraph['"]\s*(?::|\]\s*=))(?!=|\s*(?:False|None)\b)"""
)
_GENERATED = re.compile(r"@generated|(?i:\bdo not (?:edit|modify)\b|\b(?:auto-?)?generated by\b)")
_SELF_GENERATED = re.compile(
    r"(?i)\W*(?:.*@generated\b|.*\bdo not (?:edit|modify)\b"
    r"|(?:(?:this|the|file|code|module|was|is|has|been|auto|automatically|[\w.]+\.py)\W+)*(?:auto)?generated by\b)"
)
_SECTION_MARK = re.compile(r"#+([{}])[\w\s-]*$")
_DOTTED = re.compile(r"[^\W\d]\w*(?:\.\w+)*")
_TAKEN = re.compile(r"_?(?:dft|DFT|atexit)")
_TAKEN_WORDS = ("dft", "DFT", "atexit")


@dataclass(frozen=True)
class Parameter:
    name: str
    kind: Literal["positional", "keyword", "args", "kwargs"]
    annotation: tuple[str, ...] = ()
    """The names in its annotation, dotted, as they are written."""


@dataclass(frozen=True)
class Call:
    """A call in a function's own scope. ``name`` is dotted and resolved (``numpy.load``, ``self.fh.read``); a callee
    that is no plain name keeps its last part (``.read``), and is ``UNNAMED`` where it has none (``table[key]()``)."""

    name: str
    line: int


@dataclass(frozen=True)
class Block:
    """The statements of a body, a function's docstring left out: lines ``first`` to ``last``, each beginning with
    ``prefix``. ``broken`` is the column where the body begins behind its header's colon, 0 where it begins on a line of
    its own. ``movable`` tells that it can be moved one level in by white space alone."""

    first: int
    last: int
    prefix: str
    broken: int
    starts_line: bool
    """Nothing but white space stands before it on its line, and no backslash joins the line to the one above."""
    movable: bool


@dataclass(frozen=True)
class FunctionFacts:
    """One ``def``. ``line`` is that of ``def``, ``indent`` the white space before it; ``block`` is None where the body
    is nothing but a docstring."""

    qualname: str
    name: str
    line: int
    end_line: int
    block: Block | None
    indent: str
    scope: Scope
    owner: str
    is_async: bool
    is_generator: bool
    body: Body
    decorators: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    calls: tuple[Call, ...]
    statements: int
    has_loop: bool
    has_with: bool
    frame_depth: int
    """How many frames above its own the function looks at; 0 where it looks at none."""
    is_recursive: bool
    namesakes: tuple[str, ...]
    """Calls of a method's own name on what its object holds (``self.left.walk`` in ``walk``): maybe an object of the
    same class, maybe the file that ``read`` reads."""
    is_continued: bool
    """A backslash stands before ``def``, at the end of the line above."""
    counts_lines: bool
    """Works out a line from another one that it was on: the lines within it must stay as far apart as they are."""
    lets_go: bool
    """Gives up one of its own parameters, so that the object can go, or to break a circle of an exception and the
    frames of its traceback."""
    signature_types: frozenset[str] = frozenset()
    """The dotted names, as they are written, in the annotations and type comments of its parameters and result."""
    body_types: frozenset[str] = frozenset()
    """Those in the annotations of its own variables, and in the types that it asks for (``isinstance(x, Sparse)``)."""
    is_scriptable: bool = True
    """Holds nothing that TorchScript refuses whatever the rest is: a definition, a lambda, ``try``, ``*args``, …"""

    @property
    def first_parameter(self) -> str:
        return self.parameters[0].name if self.parameters and self.parameters[0].kind == "positional" else ""


@dataclass(frozen=True)
class ClassFacts:
    """One ``class``. ``hazards`` are the attributes of the class and of ``self`` that the tracer would convert."""

    qualname: str
    name: str
    line: int
    bases: tuple[str, ...]
    metaclass: str
    decorators: tuple[str, ...]
    hazards: frozenset[str]
    has_getattr: bool
    sets_attributes: bool
    """Sets attributes whose names are not in the source (``setattr(self, name, …)``, ``self.__dict__``)."""
    defines: frozenset[str] = frozenset()
    """Which of ``__init__`` and ``run`` it has itself."""
    hands_frames: bool = False
    """Its constructor calls what reads the arguments off its frame and off its heirs'."""
    types: frozenset[str] = frozenset()
    """The dotted names, as they are written, in the annotations of its body (the fields of a named tuple)."""


@dataclass(frozen=True)
class Statement:
    """A top-level statement with the lines of its whole logical line (others may share it behind a ``;``)."""

    kind: Literal["docstring", "future", "import", "environment", "guard", "definition", "other"]
    first_line: int
    end_line: int
    names: tuple[str, ...] = ()
    """What the statement calls, resolved (``mpi4py.MPI.Init``, ``main``)."""
    alone: bool = True
    """No other statement shares its lines."""


@dataclass(frozen=True)
class Guard:
    """A top-level ``if __name__ == "__main__":`` with the statements of its body."""

    line: int
    end_line: int
    body: tuple[Statement, ...]
    block: Block


@dataclass(frozen=True)
class TracerNames:
    """The names under which a module knows the tracer; empty where it does not."""

    logger: str = ""
    function: str = ""
    enabled: str = ""
    instance: str = ""
    instance_category: str = ""
    import_line: int = 0
    """The last line of the import of ``function``; 0 where there is none."""
    instance_line: int = 0


@dataclass(frozen=True)
class MpiStatement:
    """A statement that starts MPI, ends it, or sets up its world, with the qualified name of what it stands in (``""``
    for the module). ``direct``: no other block lies between. ``alone``: no other statement shares its lines."""

    what: Literal["init", "finalize", "world"]
    function: str
    first_line: int
    end_line: int
    indent: str
    direct: bool
    alone: bool


@dataclass(frozen=True)
class ModuleFacts:
    """Everything that a file says about itself, without its tree."""

    path: str
    sha256: str
    indent_unit: str
    statements: tuple[Statement, ...]
    functions: tuple[FunctionFacts, ...]
    classes: tuple[ClassFacts, ...]
    guards: tuple[Guard, ...]
    imports: tuple[tuple[str, str], ...]
    """Local name -> what it stands for, dotted (``np`` -> ``numpy``); relative imports keep their leading dots."""
    star_imports: tuple[str, ...]
    lists_itself: bool
    """Asks for all its own global names (``globals()``; ``dir()`` at the top level)."""
    has_all: bool
    """Says by ``__all__`` what ``from module import *`` brings."""
    taken: frozenset[str]
    """Identifiers of any scope that could meet the names an annotation introduces."""
    tracer: TracerNames
    tracer_modules: frozenset[str]
    """Modules of the tracer that the file imports, of whatever generation."""
    initialize_lines: tuple[int, ...]
    """Lines of calls that start tracing: the file has a lifecycle of its own."""
    outside_hazards: frozenset[str]
    """Hazardous attribute names that the file sets on objects other than ``self``."""
    looked_at: frozenset[str]
    """Functions and classes whose code, defaults, … the file looks at (``f.__code__``)."""
    walks_frames: bool
    """Goes up the stack until it finds what it looks for, however far."""
    looks_into: bool
    """Looks at the code, defaults, … of functions that it is given: which they are cannot be told."""
    handed_over: frozenset[tuple[str, str]]
    """(callee, plain name given to it) for the packages that compile or inspect what they are given."""
    generated: bool
    """The head of the file says that a tool wrote it."""
    mpi: tuple[MpiStatement, ...]
    outlives: bool
    """Imports something by which work goes on after the program's last statement."""
    is_interrupted: bool
    """Speaks of ``KeyboardInterrupt``, or imports something that catches it."""
    watches_imports: bool
    """Says what an import does by code of its own, asks whether some module has been imported, or measures imports."""
    mentions_script: bool
    """Speaks of TorchScript, in code or in a comment: its modules may be compiled from their source."""
    worker_calls: tuple[WorkerCall, ...] = ()
    worker_values: tuple[WorkerValue, ...] = ()
    """Calls by which worker processes may come to be."""
    aliases: tuple[tuple[str, str], ...] = ()
    """Top-level name -> what it stands for by an assignment (``Loader = DataLoader``)."""
    imported: frozenset[str] = frozenset()
    """Everything that any import of the file names, dotted, also where the local name is bound again (``a.b`` for
    ``import a.b`` and for ``from a import b``); relative imports keep their leading dots."""
    copied: frozenset[str] = frozenset()
    """What the file takes the attributes of as a whole (``cls.dispatch.__dict__``): a wrapper has one more, by which
    what they are given to would pass for a wrapper of the same function. And what it hands to somebody who reads its
    code: ``memory.cache(f)``, ``signal.connect(f)``, ``inspect.getcallargs(f)``."""
    renamed: frozenset[tuple[str, str]] = frozenset()
    """(attribute, name of a function or of something imported) where the one is set to the other."""
    mentions_graph: bool = False
    """Speaks of graphs that torch makes of whole functions, which nothing but tensors may break."""
    source_readers: frozenset[str] = frozenset()
    """Functions, as they are called, that read the text of what they are given, or hand it to one that does."""
    given: frozenset[tuple[str, str]] = frozenset()
    """(last name of the callee, last name of the function or class) where one that the file knows by name is given to
    a call."""
    section_line: int = 0
    """The line of a comment that opens a part of the file (``###{core``), which one further down closes, if the first
    definition stands in that part: programs that hand on parts of their own text cut them out by such marks."""
    compares_code: bool = False
    """Tells by their code whether two functions are the same, or imports what does: an heir's method and its base's."""
    type_aliases: tuple[tuple[str, frozenset[str]], ...] = ()
    """Top-level name -> the dotted names in what it may stand for as a type (``Adj = Union[Tensor, Sparse]``), all
    assignments to it taken together."""

    def function_at(self, line: int) -> FunctionFacts | None:
        """The innermost function that a line is in."""
        around = [function for function in self.functions if function.line <= line <= function.end_line]
        return max(around, key=lambda function: function.line, default=None)

    def import_map(self) -> dict[str, str]:
        return dict(self.imports)


class _Resolved(dict[str, str]):
    """``resolve`` for the names of a module, each done once."""

    def __init__(self, imports: dict[str, str]) -> None:
        super().__init__()
        self._imports = imports

    def __missing__(self, name: str) -> str:
        found = self[name] = resolve(name, self._imports)
        return found


def find_facts(source: Source, generation: vocabulary.Generation = vocabulary.CURRENT) -> ModuleFacts:
    """The facts of a parsed file, for a tracer of ``generation``: what imports from that knows the tracer already."""
    return _Walk(source, generation).run()


def first_line(node: ast.stmt, lines: Sequence[str]) -> int:
    """The line where a statement begins, decorators included; a decorator's expression may stand below its ``@``."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    if not decorators:
        return node.lineno
    line = decorators[0].lineno
    while line > 1 and not lines[line - 1].lstrip(" \t\f").startswith("@"):
        line -= 1
    return line


def logical_end(node: ast.stmt, lines: Sequence[str]) -> int:
    """The last line of a statement, a trailing backslash before an empty line included."""
    end = node.end_lineno or node.lineno
    while end < len(lines) and lines[end - 1].rstrip("\r\n").endswith("\\") and not lines[end].strip():
        end += 1
    return end


def is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


class _Context:
    """What is gathered about one function (or the module's own code) while its statements are walked."""

    __slots__ = (
        "asked",
        "backs",
        "calls",
        "counts",
        "frames",
        "klass",
        "let_go",
        "levels",
        "loop",
        "name",
        "namesakes",
        "node",
        "outer",
        "owner",
        "parameters",
        "qualname",
        "recursive",
        "scope",
        "self_name",
        "stands_in",
        "statements",
        "unscriptable",
        "walks",
        "withs",
        "yields",
    )

    def __init__(
        self,
        scope: Scope,
        name: str = "",
        outer: _Context | None = None,
        klass: _Class | None = None,
        self_name: str = "",
        node: ast.AST | None = None,
    ) -> None:
        self.scope: Scope = scope
        self.name = name
        self.node = node
        self.outer = outer
        self.qualname = outer.inner_name(name) if outer else ""
        self.stands_in: Scope = outer.scope if outer else "module"
        self.owner = outer.qualname if outer else ""
        self.klass = klass
        self.self_name = self_name
        self.calls: list[tuple[str, int]] = []
        self.namesakes: list[str] = []
        self.parameters: frozenset[str] = frozenset()
        self.levels: list[tuple[str, int]] = []
        """Calls that may be given a stack level, if they are what they look like, and what they would look at."""
        self.let_go: set[str] = set()
        """Names that are deleted or set to None."""
        self.statements = 0
        self.asked: list[ast.expr] = []
        """Annotations of variables, and types that calls are given."""
        self.loop = self.withs = self.yields = self.recursive = self.unscriptable = False
        self.frames = self.backs = 0
        self.walks = self.counts = False

    def depth(self) -> int:
        """How many frames above its own the scope looks at."""
        return DEEP if self.walks else self.frames + self.backs

    def inner_name(self, name: str) -> str:
        """The ``__qualname__`` of a definition in this scope."""
        if self.scope == "function":
            return f"{self.qualname}.<locals>.{name}"
        return f"{self.qualname}.{name}" if self.qualname else name

    def definitions(self) -> tuple[ast.AST, ...]:
        """The definitions around what stands in this scope, outermost first."""
        around = self.outer.definitions() if self.outer else ()
        return (*around, self.node) if self.node else around


class _Class:
    __slots__ = ("defines", "frames", "getattr", "hazards", "qualname", "sets", "types")

    def __init__(self, qualname: str) -> None:
        self.qualname = qualname
        self.hazards: set[str] = set()
        self.defines: set[str] = set()
        self.types: list[ast.expr] = []
        self.getattr = self.sets = self.frames = False


class _Walk:
    def __init__(self, source: Source, generation: vocabulary.Generation) -> None:
        self.source = source
        self.generation = generation
        self.lines = source.lines
        self.functions: list[tuple[ast.FunctionDef | ast.AsyncFunctionDef, _Context]] = []
        self.classes: list[tuple[ast.ClassDef, _Class]] = []
        self.imports: dict[str, str] = {}
        self.worker_calls = Calls(source.tree, self.imports)
        self.star_imports: list[str] = []
        self.imported: set[str] = set()
        self.taken: set[str] = set()
        self.outside_hazards: set[str] = set()
        self.looked_at: set[str] = set()
        self.handed: list[tuple[str, ast.Call, _Context]] = []
        self.inspected: list[tuple[ast.expr, _Context]] = []
        self.dicts: list[ast.expr] = []
        """What is asked for its ``__dict__``."""
        self.resolved = _Resolved(self.imports)
        self.renamed: set[tuple[str, str]] = set()
        self.copied: set[str] = set()
        self.type_aliases: dict[str, set[str]] = {}
        self.type_comments: list[tuple[int, list[str]]] = []
        """The names in each type comment, by its line."""
        if "type:" in source.text and _TYPE_COMMENT.search(source.text):
            comments = ((number, _TYPE_COMMENT.search(line)) for number, line in enumerate(self.lines, 1))
            self.type_comments = [(number, _DOTTED.findall(found[1])) for number, found in comments if found]
        self.hides_frames = False
        self.tracer_modules: set[str] = set()
        self.lists_itself = False
        self.initialize_lines: list[int] = []
        # Whether any name could meet ours is asked of the text once; only then are identifiers compared.
        self.has_form_feed = "\f" in source.text
        # Outside ASCII a name may be spelt in characters that Python takes for the same letters.
        self.watch_names = not source.text.isascii() or any(word in source.text for word in _TAKEN_WORDS)

    def run(self) -> ModuleFacts:
        body = self.source.tree.body
        module = _Context("module")
        self._scan(body, module)
        self._resolve_calls()
        statements = self._statements(body, top=True)
        known = {node.name for node, _ in self.functions} | {node.name for node, _ in self.classes}
        callable_names = {*self.imports, *(node.name for node, _ in self.functions)}
        return ModuleFacts(
            path=self.source.path,
            sha256=self.source.sha256,
            indent_unit=self.source.indent_unit,
            statements=statements,
            functions=tuple(sorted((self._function(*item) for item in self.functions), key=lambda f: f.line)),
            classes=tuple(sorted((self._class(*item) for item in self.classes), key=lambda c: c.line)),
            guards=tuple(self._guards(body)),
            imports=tuple(sorted(self.imports.items())),
            star_imports=tuple(self.star_imports),
            imported=frozenset(self.imported),
            lists_itself=self.lists_itself or self._lists_own_module(),
            has_all="__all__" in self.source.text and "__all__" in _names_bound_by(body),
            taken=frozenset(self.taken),
            tracer=self._tracer(body),
            tracer_modules=frozenset(self.tracer_modules),
            initialize_lines=tuple(sorted(self.initialize_lines)),
            outside_hazards=frozenset(self.outside_hazards),
            looked_at=frozenset(self.looked_at),
            copied=frozenset(self.copied | self._looked_into_by_name()),
            walks_frames=any(context.walks for _, context in self.functions),
            looks_into=self._looks_into(),
            handed_over=frozenset(self._handed_over()),
            generated=_is_generated(self.source.text[:2000]),
            worker_calls=self.worker_calls.found(self.lines, {node.name: bool(node.bases) for node, _ in self.classes}),
            worker_values=self.worker_calls.values(self.source.text),
            aliases=self.worker_calls.aliases(),
            mentions_script=_mentions_script(self.source.text),
            renamed=frozenset(pair for pair in self.renamed if pair[1] in callable_names),
            mentions_graph=_mentions_graph(self.source.text),
            compares_code=self._compares_code(),
            type_aliases=tuple((name, frozenset(types)) for name, types in sorted(self.type_aliases.items())),
            source_readers=self._source_readers(),
            given=frozenset(self._given(known | self.imports.keys())),
            section_line=_find_section(body, self.lines) if "#{" in self.source.text else 0,
            outlives=not OUTLIVING.isdisjoint(target.partition(".")[0] for target in self.imported),
            is_interrupted="KeyboardInterrupt" in self.source.text
            or not INTERRUPTED.isdisjoint(target.partition(".")[0] for target in self.imported),
            watches_imports=_watches_imports(self.source.text),
            mpi=tuple(self._mpi(body, "", direct=True)) if "mpi4py" in self.source.text else (),
        )

    # --- the walk ----------------------------------------------------------------------------------------------------

    def _scan(self, roots: Iterable[ast.AST], context: _Context, in_lambda: bool = False) -> None:
        """Walk what runs in ``context`` below ``roots``; definitions found there open contexts of their own."""
        stack: list[Any] = list(roots)
        pop, push = stack.pop, stack.append
        watch = self.watch_names
        while stack:
            node = pop()
            kind = node.__class__
            if kind is ast.Name:
                if watch and _TAKEN.match(node.id):
                    self.taken.add(node.id)
                continue
            if kind is ast.Constant:
                continue
            if kind is ast.Attribute:
                if node.attr in _TELLING_ATTRIBUTES:
                    self._attribute(node, context)
                value = node.value
                if watch or value.__class__ is not ast.Name:
                    push(value)
                continue
            if kind is ast.Call:
                self._call(node, context)
            elif kind in _STATEMENTS:
                context.statements += 1
                if kind in _TELLING_STATEMENTS and self._statement(node, kind, context):
                    continue
            elif kind is ast.JoinedStr:
                self.worker_calls.strings.append(node)
            elif kind is ast.Lambda:
                context.unscriptable = True
                self._scan([node.body], context, in_lambda=True)
                self._scan([node.args], context)
                continue
            elif (kind is ast.Yield or kind is ast.YieldFrom) and not in_lambda:
                context.yields = True
            elif watch:
                if kind is ast.arg:
                    self._take([node.arg])
                elif kind is ast.ExceptHandler and node.name:
                    self._take([node.name])
                elif isinstance(node, _CAPTURES):
                    captured = getattr(node, "name", None) or getattr(node, "rest", None)
                    self._take([captured] if captured else [])
            for field in PARTS[kind]:
                value = getattr(node, field)
                if value.__class__ is list:
                    stack += value
                elif value is not None:
                    push(value)

    def _statement(self, node: Any, kind: type, context: _Context) -> bool:
        """Note what a statement says of its context; whether nothing in it is left to walk."""
        if kind in _UNSCRIPTABLE:
            context.unscriptable = True
        if kind is ast.FunctionDef or kind is ast.AsyncFunctionDef:
            self._enter_function(node, context)
            return True
        if kind is ast.ClassDef:
            self._enter_class(node, context)
            return True
        if kind is ast.Import or kind is ast.ImportFrom:
            self._import(node)
            return True
        if kind is ast.Assign:
            self._rename(node)
            if context.scope == "module":
                self._note_alias(node.targets, node.value)
            context.let_go.update(_names_let_go(node))
            if any(isinstance(target, ast.Name) and target.id in HIDDEN_FRAMES for target in node.targets):
                context.frames = max(context.frames, 1)
                self.hides_frames |= context.scope == "module"
        elif kind is ast.AnnAssign:
            context.asked.append(node.annotation)
            if context.scope == "module" and node.value:
                self._note_alias([node.target], node.value)
        elif kind is ast.With or kind is ast.AsyncWith:
            context.withs = True
        elif kind is ast.Delete:
            context.let_go.update(target.id for target in node.targets if isinstance(target, ast.Name))
        elif kind is ast.Global or kind is ast.Nonlocal:
            self._take(node.names)
            if kind is ast.Global:
                self.worker_calls.global_names.update(node.names)
        elif kind is not ast.Try:
            context.loop = True
        return False

    def _note_alias(self, targets: list[ast.expr], value: ast.expr) -> None:
        """Note what top-level names stand for that may be types."""
        if isinstance(value, ast.Call):  # NamedTuple("Batch", [("rows", Sparse)])
            is_type = dotted(value.func).rpartition(".")[2] == "NamedTuple"
        elif isinstance(value, ast.BinOp):
            is_type = isinstance(value.op, ast.BitOr)
        else:
            is_type = isinstance(value, (ast.Name, ast.Attribute, ast.Subscript))
        if is_type:
            for target in targets:
                if isinstance(target, ast.Name):
                    self.type_aliases.setdefault(target.id, set()).update(_names_in(value))

    def _rename(self, node: ast.Assign) -> None:
        value = node.value
        if not isinstance(value, (ast.Name, ast.Attribute)):
            return
        name = value.id if isinstance(value, ast.Name) else value.attr
        self.renamed.update((t.attr, name) for t in node.targets if isinstance(t, ast.Attribute) and t.attr != name)

    def _resolve_calls(self) -> None:
        """What functions call, and so which look at frames: only now are all imports known, wherever they stand. A
        function is on the stack when one within it runs."""
        resolved = self.resolved
        for _, context in reversed(self.functions):
            context.calls = [(resolved[name], line) for name, line in context.calls]
            looks = [FRAME_CALLS[name] for name, _ in context.calls if name in FRAME_CALLS]
            context.walks = context.loop and (context.backs > 0 or (DEEP in looks and self._lists_stack(context)))
            looks += [depth for name, depth in context.levels if resolved[name] == "warnings.warn"]
            context.frames = max([context.frames, *looks])
            is_told = any(name in FRAME_CALLS and name.startswith(STACK_READERS) for name, _ in context.calls)
            context.counts = is_told and self._counts_lines(context)
            depth, outer = context.depth(), context.outer
            while outer and depth:
                outer.frames = max(outer.frames, depth)
                outer = outer.outer

    def _lists_stack(self, context: _Context) -> bool:
        """Whether a function has all frames at once, rather than the part of them that it asks for (``stack()[1]``)."""
        nodes = list(ast.walk(context.node)) if context.node else []
        parts = {id(node.value) for node in nodes if isinstance(node, ast.Subscript)}
        calls = (node for node in nodes if isinstance(node, ast.Call) and id(node) not in parts)
        return any(FRAME_CALLS.get(self.resolved[dotted(call.func)]) == DEEP for call in calls)

    def _counts_lines(self, context: _Context) -> bool:
        """Whether a function adds to a line that a frame was on (``stack[-1][1] + 9``, ``f.f_lineno - 1``)."""
        nodes = ast.walk(context.node) if context.node else ()
        sums = (node for node in nodes if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)))
        return any(_is_line(part) for node in sums for part in (node.left, node.right))

    def _take(self, names: Iterable[str]) -> None:
        if self.watch_names:
            self.taken.update(name for name in names if _TAKEN.match(name))

    def _enter_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, outer: _Context) -> None:
        self._take([node.name])
        arguments = node.args
        around: list[ast.AST] = [*node.decorator_list, *arguments.defaults, *(d for d in arguments.kw_defaults if d)]
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        every += [argument for argument in (arguments.vararg, arguments.kwarg) if argument]
        around += [argument.annotation for argument in every if argument.annotation]
        around += [node.returns] if node.returns else []
        around += getattr(node, "type_params", ())
        self._scan(around, outer)
        self._take(argument.arg for argument in every)
        klass = outer.klass if outer.scope == "class" else None
        positional = [*arguments.posonlyargs, *arguments.args]
        self_name = positional[0].arg if klass and positional else ""
        if klass:
            if node.name in vocabulary.HAZARDOUS_NAMES:
                klass.hazards.add(node.name)
            if node.name in ("__init__", "run"):
                klass.defines.add(node.name)
        context = _Context("function", node.name, outer, klass, self_name, node)
        context.parameters = frozenset(argument.arg for argument in every)
        context.unscriptable = bool(arguments.vararg or arguments.kwarg) or isinstance(node, ast.AsyncFunctionDef)
        self.functions.append((node, context))
        self._scan(node.body, context)

    def _enter_class(self, node: ast.ClassDef, outer: _Context) -> None:
        self._take([node.name])
        self._scan([*node.decorator_list, *node.bases, *node.keywords, *getattr(node, "type_params", ())], outer)
        klass = _Class(outer.inner_name(node.name))
        self.classes.append((node, klass))
        for base in node.bases:
            # namedtuple("Point", "epoch step") and the like: the names of fields are strings.
            for part in nodes_in(base) if not isinstance(base, ast.Name) else ():
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    klass.hazards.update(vocabulary.HAZARDOUS_NAMES.intersection(re.findall(r"\w+", part.value)))
        context = _Context("class", node.name, outer, klass, node=node)
        bound = set(_names_bound_by(node.body))
        klass.hazards.update(vocabulary.HAZARDOUS_NAMES & bound)
        klass.getattr = not bound.isdisjoint(("__getattr__", "__getattribute__"))
        self._scan(node.body, context)
        klass.types = context.asked

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                self.imported.add(alias.name)
                if alias.asname:
                    self.imports[alias.asname] = alias.name
                else:
                    head = alias.name.partition(".")[0]
                    self.imports[head] = head
                self._take([alias.asname or alias.name.partition(".")[0]])
                self._note_tracer(alias.name)
            return
        module = "." * node.level + (node.module or "")
        self._note_tracer(module)
        for alias in node.names:
            if alias.name == "*":
                self.star_imports.append(module)
                self.imported.add(module)
                continue
            joined = module if module.endswith(".") else module + "."
            self.imports[alias.asname or alias.name] = joined + alias.name
            self.imported.add(joined + alias.name)
            self._take([alias.asname or alias.name])

    def _note_tracer(self, module: str) -> None:
        head = module.partition(".")[0]
        if head == vocabulary.TRACER_PACKAGE or module in vocabulary.OLD_MODULES or vocabulary.is_shim(module):
            self.tracer_modules.add(module)

    def _call(self, node: ast.Call, context: _Context) -> None:
        func = node.func
        if isinstance(func, ast.Name):
            name = last = func.id
        elif isinstance(func, ast.Attribute):
            name, last = dotted(func), func.attr
        else:
            name = last = UNNAMED
        context.calls.append((name, node.lineno))
        if may_make_workers(last):
            self.worker_calls.note(node, name, context.qualname, context.definitions)
        position = _TYPE_ARGUMENTS.get(last)
        if position is not None and len(node.args) > position:
            context.asked.append(node.args[position])
        if last in _TELLING_CALLS:
            self._telling_call(node, name, last, context)
        for keyword in node.keywords:
            if keyword.arg in ("stacklevel", "stack_level"):
                context.frames = max(context.frames, _integer(keyword.value) - 1)
        if last == context.name and context.scope == "function":
            klass = context.klass
            through = {f"{owner}.{last}" for owner in (context.self_name, "cls", klass.qualname)} if klass else {last}
            context.recursive |= name in through
            if klass and name not in through and name.partition(".")[0] == context.self_name:
                context.namesakes.append(name)
        if node.args or node.keywords:
            self.handed.append((name, node, context))

    def _telling_call(self, node: ast.Call, name: str, last: str, context: _Context) -> None:
        if last == vocabulary.INITIALIZE:
            self.initialize_lines.append(node.lineno)
        if not node.args and (name == "globals" or (name in ("dir", "vars", "locals") and context.scope == "module")):
            self.lists_itself = True
        if last in ("_getframe", "currentframe"):
            depth = _integer(node.args[0]) if node.args and last == "_getframe" else 0
            context.frames = max(context.frames, depth)
        # Joblib keeps results on disk for as long as the function's code is the same; toolkits read off the code of a
        # slot how many of a signal's values it takes, or try it with fewer where the call itself was an error.
        if last in ("cache", "connect") and node.args:
            self.copied.add(dotted(node.args[0]).rpartition(".")[2])
        if last in ("getattr", "hasattr") and len(node.args) > 1:
            name_of = node.args[1]
            if isinstance(name_of, ast.Constant) and name_of.value in LOOKED_AT:
                self.inspected.append((node.args[0], context))
            elif isinstance(name_of, ast.Constant) and name == "getattr" and name_of.value in _TELLING_ATTRIBUTES:
                self._attribute(ast.Attribute(node.args[0], str(name_of.value), ast.Load()), context)
        if last in FRAME_HANDERS and context.klass:
            context.klass.frames |= context.name == "__init__"
        if last == "warn" and len(node.args) > 2:
            context.levels.append((name, _integer(node.args[2]) - 1))
        of_object = last == "__setattr__" and len(node.args) > 2 and context.name != "__setattr__"
        if of_object or (name in ("setattr", "delattr") and node.args):
            self._set_by_name(node.args, context)
        elif last in _ATTRIBUTE_SETTERS and isinstance(node.func, ast.Attribute):
            given = [keyword.value for keyword in node.keywords if keyword.arg == "name"]
            target = ast.Name(context.self_name, ast.Load()) if _is_super(node.func.value) else node.func.value
            if context.name not in _ATTRIBUTE_SETTERS:
                self._set_by_name([target, *(node.args[:1] or given)], context)
        elif last == "vars" and node.args and _is_self(node.args[0], context) and context.klass:
            context.klass.sets = True

    def _compares_code(self) -> bool:
        if any(name.rpartition(".")[2] in CODE_COMPARERS for name in self.imported):
            return True
        if "__code__" not in self.source.text:
            return False
        compared = (node for node in ast.walk(self.source.tree) if isinstance(node, ast.Compare))
        return any(sum(map(_is_code, (node.left, *node.comparators))) > 1 for node in compared)

    def _handed_over(self) -> Iterator[tuple[str, str]]:
        known = {node.name for node, _ in self.functions} | {*self.imports}
        for raw, node, _ in self.handed:
            callee = self.resolved[raw]
            if callee in LISTERS or callee.partition(".")[0] in INSPECTING_PACKAGES:
                for argument in node.args[:2]:
                    name = _name_given(argument)
                    if name and not name.startswith("."):
                        yield callee, name
                for argument in (*node.args[2:], *(keyword.value for keyword in node.keywords)):
                    name = _name_given(argument)
                    if name.rpartition(".")[2] in known:
                        yield callee, name
        yield from (("vars", name) for name in map(dotted, self.dicts) if name.partition(".")[0] in self.imports)

    def _lists_own_module(self) -> bool:
        """Whether the file lists the names of ``sys.modules[__name__]``."""
        given = (node.args for raw, node, _ in self.handed if self.resolved[raw] in LISTERS)
        listed = [*self.dicts, *(arguments[0] for arguments in given if arguments)]
        subscripts = (node for node in listed if isinstance(node, ast.Subscript))
        own = (s.value for s in subscripts if isinstance(s.slice, ast.Name) and s.slice.id == "__name__")
        return any(self.resolved[dotted(modules)] == "sys.modules" for modules in own)

    def _source_readers(self) -> frozenset[str]:
        if "getsource" not in self.source.text and "findsource" not in self.source.text:
            return frozenset()
        found: set[str] = set()
        while True:
            fresh = {
                context.owner.rpartition(".")[2] if context.name == "__init__" else context.name
                for raw, node, context in self.handed
                if raw.rpartition(".")[2] in found or self.resolved[raw] in SOURCE_CALLS
                if any(isinstance(part, ast.Name) and part.id in context.parameters for part in node.args)
            } - found
            if not fresh:
                return frozenset(found)
            found |= fresh

    def _given(self, known: set[str]) -> Iterator[tuple[str, str]]:
        for raw, node, _ in self.handed:
            for argument in node.args:
                last = argument.id if isinstance(argument, ast.Name) else getattr(argument, "attr", "")
                if last in known:
                    yield raw.rpartition(".")[2], last

    def _looked_into(self) -> Iterator[tuple[ast.expr, _Context]]:
        """What is given to calls that tell a function from its wrapper."""
        for raw, node, context in self.handed:
            callee = self.resolved[raw]
            if node.args and (
                callee in LOOKING_CALLS or (callee in SIGNATURE_CALLS and _has(node, "follow_wrapped", False))
            ):
                yield node.args[0], context

    def _looked_into_by_name(self) -> frozenset[str]:
        """The last names of those."""
        return frozenset(dotted(node).rpartition(".")[2] for node, _ in self._looked_into()) - {""}

    def _looks_into(self) -> bool:
        """Whether something is looked into that no name tells, now that all names are known."""
        if self._asks_for_inner_frames():
            return True
        looked = [*self.inspected, *self._looked_into()]
        if not looked:
            return False
        known = {node.name for node, _ in self.functions} | {node.name for node, _ in self.classes}
        return any(self._is_unknown(node, context, known) for node, context in looked)

    def _asks_for_inner_frames(self) -> bool:
        """Whether it depends on ``tb_next`` what happens: that of an error which a call makes itself, as its arguments
        do not fit, is None, and the frame of a wrapper is there all the same. To go on to the last is no question."""
        if "tb_next" not in self.source.text:
            return False
        for node in ast.walk(self.source.tree):
            if isinstance(node, ast.Compare):
                asked = [node.left, *node.comparators]
            elif isinstance(node, (ast.If, ast.IfExp)):
                asked = [node.test]
            elif isinstance(node, ast.BoolOp):
                asked = node.values
            elif isinstance(node, ast.UnaryOp):
                asked = [node.operand]
            else:
                continue
            if any(isinstance(one, ast.Attribute) and one.attr == "tb_next" for one in asked):
                return True
        return False

    def _is_unknown(self, node: ast.expr, context: _Context, known: set[str]) -> bool:
        """Whether an expression may stand for any function; what a definition or an import is named for is known."""
        made = node
        while isinstance(made, ast.Call):
            made = made.func
        if isinstance(made, ast.Lambda):
            return False
        if isinstance(node, ast.Name):
            inner: _Context | None = context
            while inner:
                if node.id in inner.parameters:
                    return node.id != inner.self_name
                inner = inner.outer
            return node.id not in known and node.id not in self.imports
        if isinstance(node, ast.Attribute):
            if node.attr in known or (is_dunder(node.attr) and node.attr != "__func__"):
                return False
            head = self.imports.get(dotted(node).partition(".")[0], ".")
            return head.startswith(".")
        return True

    def _set_by_name(self, arguments: list[ast.expr], context: _Context) -> None:
        target = arguments[0]
        name = arguments[1] if len(arguments) > 1 else None
        constant = name.value if isinstance(name, ast.Constant) and isinstance(name.value, str) else None
        if _is_self(target, context) and context.klass:
            if constant is None:
                context.klass.sets = True
            elif constant in vocabulary.HAZARDOUS_NAMES:
                context.klass.hazards.add(constant)
        elif constant in vocabulary.HAZARDOUS_NAMES:
            self.outside_hazards.add(str(constant))

    def _attribute(self, node: ast.Attribute, context: _Context) -> None:
        attribute = node.attr
        if attribute in vocabulary.HAZARDOUS_NAMES:
            if node.ctx.__class__ is not ast.Load:
                if context.klass and _is_self(node.value, context):
                    context.klass.hazards.add(attribute)
                else:
                    self.outside_hazards.add(attribute)
        elif attribute in LOOKED_AT:
            looked_at = dotted(node.value).rpartition(".")[2]
            if looked_at:
                self.looked_at.add(looked_at)
            self.inspected.append((node.value, context))
        elif attribute == "f_back":
            context.backs += 1
        elif attribute in FRAME_ATTRIBUTES:
            context.frames = max(context.frames, FRAME_ATTRIBUTES[attribute])
        elif attribute == "__dict__":
            self.dicts.append(node.value)
            if context.klass and context.name not in _COPYING_METHODS:
                context.klass.sets |= _is_self(node.value, context)
            if isinstance(node.value, ast.Attribute):
                self.copied.add(node.value.attr)

    # --- from nodes to values ----------------------------------------------------------------------------------------

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, context: _Context) -> FunctionFacts:
        body = node.body[1:] if is_docstring(node.body[0]) else node.body
        text = self.lines[node.lineno - 1]
        calls = tuple(Call(name, line) for name, line in sorted(context.calls, key=_line_of_call))
        parameters = _parameters(node.args)
        return FunctionFacts(
            qualname=context.qualname,
            name=node.name,
            line=node.lineno,
            end_line=node.end_lineno or node.lineno,
            block=self._block(
                body, text[: _char_column(text, node.col_offset)], after=node.body[0] if body is not node.body else None
            ),
            indent=text[: _char_column(text, node.col_offset)],
            scope=context.stands_in,
            owner=context.owner,
            is_async=isinstance(node, ast.AsyncFunctionDef),
            is_generator=context.yields,
            body="stub" if _is_stub(body) else "code",
            decorators=tuple(self._decorator(decorator) for decorator in node.decorator_list),
            parameters=parameters,
            calls=calls,
            statements=context.statements - (len(node.body) - len(body)),
            has_loop=context.loop,
            has_with=context.withs,
            frame_depth=max(context.depth(), int(self.hides_frames)),
            is_recursive=context.recursive,
            namesakes=tuple(context.namesakes),
            is_continued=self._is_continued(node.lineno),
            counts_lines=context.counts,
            lets_go=bool(context.let_go) and not context.let_go.isdisjoint(p.name for p in parameters),
            signature_types=self._signature_types(node, parameters),
            body_types=_names_of(context.asked),
            is_scriptable=not (context.unscriptable or context.yields),
        )

    def _signature_types(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef, parameters: tuple[Parameter, ...]
    ) -> frozenset[str]:
        names = [name for parameter in parameters for name in parameter.annotation]
        if node.returns:
            names += _names_in(node.returns)
        for line, commented in self.type_comments:
            if node.lineno <= line <= (node.end_lineno or 0):
                names += commented
        return frozenset(names)

    def _is_continued(self, line: int) -> bool:
        """Whether a backslash joins the line to the one above it."""
        return line > 1 and self.lines[line - 2].rstrip("\r\n").endswith("\\")

    def _decorator(self, node: ast.expr) -> str:
        """The decorator's resolved name, that of its callee for ``@retry(3)``; ``UNNAMED`` for any other expression."""
        while isinstance(node, ast.Call):
            node = node.func
        name = dotted(node)
        return self.resolved[name] if name else UNNAMED

    def _class(self, node: ast.ClassDef, klass: _Class) -> ClassFacts:
        bases = []
        for base in node.bases:
            if isinstance(base, ast.Subscript):  # Generic[T], Dataset[T]
                base = base.value
            if isinstance(base, ast.Call):
                base = base.func
            bases.append(self._of_context(base) or resolve(dotted(base), self.imports) or UNNAMED)
        metaclass = next((keyword.value for keyword in node.keywords if keyword.arg == "metaclass"), None)
        return ClassFacts(
            qualname=klass.qualname,
            name=node.name,
            line=node.lineno,
            bases=tuple(bases),
            metaclass="" if metaclass is None else resolve(dotted(metaclass), self.imports) or UNNAMED,
            decorators=tuple(self._decorator(decorator) for decorator in node.decorator_list),
            hazards=frozenset(klass.hazards),
            has_getattr=klass.getattr,
            sets_attributes=klass.sets,
            defines=frozenset(klass.defines),
            hands_frames=klass.frames,
            types=_names_of(klass.types),
        )

    def _of_context(self, node: ast.expr) -> str:
        """``get_context("spawn").Process`` as what it is a name for; ``""`` for anything else."""
        if not (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Call)):
            return ""
        module = CONTEXT_MAKERS.get(resolve(dotted(node.value.func), self.imports))
        return f"{module}.{node.attr}" if module else ""

    def _statements(self, body: list[ast.stmt], *, top: bool) -> tuple[Statement, ...]:
        result: list[Statement] = []
        for index, node in enumerate(body):
            start, end = first_line(node, self.lines), logical_end(node, self.lines)
            shares_next = index + 1 < len(body) and body[index + 1].lineno <= (node.end_lineno or 0)
            shares_last = index > 0 and (body[index - 1].end_lineno or 0) >= node.lineno
            result.append(
                Statement(
                    kind=self._kind(node, first=index == 0 and top),
                    first_line=start,
                    end_line=end,
                    names=self._names_in(node),
                    alone=not (shares_next or shares_last),
                )
            )
        return tuple(result)

    def _kind(
        self, node: ast.stmt, *, first: bool
    ) -> Literal["docstring", "future", "import", "environment", "guard", "definition", "other"]:
        if first and is_docstring(node):
            return "docstring"
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            return "future"
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            return "import"
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return "definition"
        if isinstance(node, ast.If) and is_main_guard(node.test):
            return "guard"
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr, ast.Delete)) and self._sets_environment(node):
            return "environment"
        return "other"

    def _sets_environment(self, node: ast.stmt) -> bool:
        if isinstance(node, ast.Expr):
            targets: list[ast.expr] = [node.value.func] if isinstance(node.value, ast.Call) else []
        elif isinstance(node, (ast.Assign, ast.Delete)):
            targets = node.targets
        else:
            targets = [node.target]  # type: ignore[attr-defined]
        for target in targets:
            if isinstance(target, ast.Subscript):
                target = target.value
            name = resolve(dotted(target), self.imports)
            if any(name == setting or name.startswith(setting + ".") for setting in _ENVIRONMENT):
                return True
        return False

    def _names_in(self, node: ast.stmt) -> tuple[str, ...]:
        """What a statement calls or, for MPI, mentions; not what its definitions would call later."""
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return ()
        names = []
        for part in nodes_in(node):
            if isinstance(part, ast.Call):
                names.append(self.resolved[dotted(part.func)])
            elif isinstance(part, ast.Attribute) and part.attr == "COMM_WORLD":
                names.append(self.resolved[dotted(part)])
        return tuple(name for name in names if name)

    def _guards(self, body: list[ast.stmt]) -> Iterable[Guard]:
        for node in body:
            if isinstance(node, ast.If) and is_main_guard(node.test):
                text = self.lines[node.lineno - 1]
                block = self._block(node.body, text[: _char_column(text, node.col_offset)], after=None)
                assert block is not None
                yield Guard(node.lineno, logical_end(node, self.lines), self._statements(node.body, top=False), block)

    def _block(self, body: list[ast.stmt], indent: str, after: ast.stmt | None) -> Block | None:
        """The block of ``body``; ``after`` is the docstring before it, ``indent`` the white space before the header."""
        if not body:
            return None
        first = first_line(body[0], self.lines)
        last = logical_end(body[-1], self.lines)
        text = self.lines[first - 1]
        column = _char_column(text, body[0].col_offset) if first == body[0].lineno else len(_blank_start(text))
        prefix, broken = text[:column], 0
        starts_line = not prefix.strip(" \t\f") and not self._is_continued(first)
        shares_docstring = after is not None and first <= (after.end_lineno or 0)
        if prefix.strip(" \t\f"):
            prefix, broken = indent + self.source.indent_unit, column
        has_form_feed = self.has_form_feed and any("\f" in line for line in self.lines[first - 1 : last])
        movable = (starts_line or broken > 0) and not has_form_feed and not shares_docstring
        if movable and last - first > _MOST_NESTED:
            movable = _nesting(body) < _MOST_NESTED
        return Block(first, last, prefix, broken, starts_line and not shares_docstring, movable)

    def _spelling(self, node: ast.stmt) -> vocabulary.Generation | None:
        """How the tracer's names are spelled in an import of them that works with the generation written for."""
        if not isinstance(node, ast.ImportFrom) or node.level or node.module is None:
            return None
        if node.module == self.generation.module:
            return self.generation
        return vocabulary.CURRENT if vocabulary.is_shim(node.module) else None

    def _tracer(self, body: list[ast.stmt]) -> TracerNames:
        logger = function = enabled = instance = category = ""
        import_line = instance_line = 0
        ours = frozenset(part for node in body for part in _tracer_imports(node) if self._spelling(part))
        if not ours:
            return TracerNames()
        rebound = _names_bound_elsewhere(self.source.tree, ours)
        defined = False
        for statement in body:
            node = _tracer_imports(statement)[0]
            defined |= isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
            spelled = self._spelling(node)
            if spelled:
                for alias in node.names:  # type: ignore[attr-defined]
                    local = alias.asname or alias.name
                    if local in rebound:
                        continue
                    if alias.name == spelled.function:
                        function = function or local
                        import_line = logical_end(statement, self.lines)
                    elif defined:  # what stands above may be called before this import
                        continue
                    elif alias.name == spelled.logger:
                        logger = logger or local
                    elif alias.name == spelled.enabled:
                        enabled = enabled or local
            elif isinstance(node, ast.Assign) and function and not instance:
                value = node.value
                if (
                    isinstance(value, ast.Call)
                    and isinstance(value.func, ast.Name)
                    and value.func.id == function
                    and len(node.targets) == 1
                    and isinstance(node.targets[0], ast.Name)
                    and node.targets[0].id not in rebound
                    # A class would read a private name as one of its own.
                    and not re.match(r"__(?!.*__$)", node.targets[0].id)
                ):
                    instance = node.targets[0].id
                    instance_line = logical_end(node, self.lines)
                    given = [*value.args[:1], *(k.value for k in value.keywords if k.arg == "cat")]
                    if given and isinstance(given[0], ast.Constant) and isinstance(given[0].value, str):
                        category = given[0].value
        return TracerNames(logger, function, enabled, instance, category, import_line, instance_line)

    def _mpi(
        self, body: list[ast.stmt], function: str, *, direct: bool, in_class: bool = False
    ) -> Iterable[MpiStatement]:
        for index, node in enumerate(body):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                name = (
                    f"{function}{'' if in_class or not function else '.<locals>'}{'.' if function else ''}{node.name}"
                )
                is_class = isinstance(node, ast.ClassDef)
                yield from self._mpi(node.body, name, direct=not is_class, in_class=is_class)
                continue
            blocks = [inner for field in ("body", "orelse", "finalbody") if (inner := getattr(node, field, None))]
            if blocks:
                guard = isinstance(node, ast.If) and is_main_guard(node.test)
                for inner in blocks:
                    yield from self._mpi(inner, function, direct=direct and guard, in_class=in_class)
                continue
            what = _mpi_meaning(self._names_in(node), isinstance(node, (ast.Assign, ast.AnnAssign)))
            if what:
                alone = (index == 0 or (body[index - 1].end_lineno or 0) < node.lineno) and (
                    index + 1 == len(body) or body[index + 1].lineno > (node.end_lineno or 0)
                )
                text = self.lines[node.lineno - 1]
                indent = text[: _char_column(text, node.col_offset)]
                yield MpiStatement(
                    what,
                    function,
                    node.lineno,
                    logical_end(node, self.lines),
                    indent,
                    direct,
                    alone and not indent.strip(),
                )


_ATTRIBUTE_SETTERS = frozenset(
    {"__setattr__", "register_buffer", "register_parameter", "register_module", "add_module", "add_state"}
)
"""Methods that give their object an attribute of the name that is their first argument."""

_COPYING_METHODS = frozenset(
    {"__getstate__", "__setstate__", "__reduce__", "__reduce_ex__", "__copy__", "__deepcopy__", "__repr__", "__str__"}
    | {"__eq__", "__ne__", "__hash__", "__dir__"}
)
"""Methods that read or restore ``self.__dict__`` as a whole, and bring no new attribute in."""


_STATEMENTS: frozenset[type] = frozenset(kind for kind in PARTS if issubclass(kind, ast.stmt))
_TELLING_STATEMENTS: frozenset[type] = frozenset(
    {ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal}
    | {ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Assign, ast.AnnAssign, ast.Delete, ast.Try}
)
_TELLING_ATTRIBUTES = vocabulary.HAZARDOUS_NAMES | LOOKED_AT | FRAME_ATTRIBUTES.keys() | {"f_back", "__dict__"}
_TELLING_CALLS = (
    _ATTRIBUTE_SETTERS
    | FRAME_HANDERS
    | {
        *(vocabulary.INITIALIZE, "globals", "dir", "vars", "locals", "_getframe", "currentframe", "warn", "setattr"),
        *("delattr", "getattr", "hasattr", "cache", "connect"),
    }
)
"""Of all others, the walk has no more to note."""


def _name_given(argument: ast.expr) -> str:
    """The name of the function, or of what makes it, that an argument stands for; "" where nothing tells."""
    if not isinstance(argument, ast.Call):
        return dotted(argument)
    name = dotted(argument.func)
    is_partial = name.rpartition(".")[2] == "partial" and argument.args
    return _name_given(argument.args[0]) if is_partial else name


def _has(node: ast.Call, keyword: str, value: object) -> bool:
    """Whether a call has a keyword with just this constant."""
    given = (k.value for k in node.keywords if k.arg == keyword)
    return any(isinstance(one, ast.Constant) and one.value is value for one in given)


def _integer(node: ast.expr) -> int:
    """The value of a whole number written out; ``DEEP`` for anything else."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, int) else DEEP


def _nesting(body: Iterable[ast.stmt]) -> int:
    """How many blocks deep the statements of a body are, those of definitions in it left out."""
    deepest = 0
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        inner: list[ast.stmt] = []
        for field in ("body", "orelse", "finalbody"):
            inner += getattr(node, field, None) or []
        for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            inner += part.body
        if inner:
            weight = 2 if isinstance(node, ast.Try) else 1
            deepest = max(deepest, weight + _nesting(inner))
    return deepest


def _names_let_go(node: ast.Assign) -> Iterator[str]:
    """Names that are set to None, or to a tuple of nothing but that."""
    values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
    if values and all(isinstance(value, ast.Constant) and value.value is None for value in values):
        yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def _line_of_call(call: tuple[str, int]) -> int:
    return call[1]


def _is_line(node: ast.expr) -> bool:
    """Whether an expression may be the line of a frame: by its name, or as the second item of its summary."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant) and node.slice.value == 1
    return isinstance(node, ast.Attribute) and node.attr in LINE_ATTRIBUTES


def _is_code(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "__code__"


def _is_self(node: ast.expr, context: _Context) -> bool:
    return isinstance(node, ast.Name) and bool(context.self_name) and node.id == context.self_name


def _is_super(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"


def _names_bound_by(body: list[ast.stmt]) -> Iterable[str]:
    """Names that the statements of a class body bind, nested blocks included, definitions' insides left out."""
    stack: list[Any] = list(body)
    while stack:
        node = stack.pop()
        kind = node.__class__
        if kind is ast.Name:
            if node.ctx.__class__ is not ast.Load:
                yield node.id
        elif kind is ast.Constant:
            if isinstance(node.value, str):
                yield node.value  # __slots__, field lists: a string that is a hazardous name counts
        elif kind is ast.FunctionDef or kind is ast.AsyncFunctionDef or kind is ast.ClassDef:
            yield node.name
        elif kind is ast.Import or kind is ast.ImportFrom:
            yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
        else:
            for field in PARTS[kind]:
                value = getattr(node, field)
                if value.__class__ is list:
                    stack += value
                elif value is not None:
                    stack.append(value)


def _tracer_imports(node: ast.stmt) -> list[ast.stmt]:
    """A statement, or those in the form that a package's script gets: from the package's shim, else the tracer."""
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "__package__":
        return [*node.body, *node.orelse]
    return [node]


def _names_bound_elsewhere(tree: ast.Module, imports: frozenset[ast.stmt]) -> frozenset[str]:
    """Names of a module that mean more than one thing in it, whatever the scope: those that anything binds besides
    ``imports`` of the tracer and the instances made at the top level."""
    top = set(tree.body)
    ours: set[ast.AST] = set(imports)
    for node in top:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and len(node.targets) == 1:
            ours.add(node.targets[0])
    names: list[str] = []
    # One name, two instances: a decorator between them would get the other's category.
    names += [target.id for target in ours if isinstance(target, ast.Name)]
    names = [name for name in names if names.count(name) > 1]
    for part in ast.walk(tree):
        if part in ours:
            continue
        if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load):
            names.append(part.id)
        elif isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.append(part.name)
        elif isinstance(part, (ast.Import, ast.ImportFrom)):
            names += [alias.asname or alias.name.partition(".")[0] for alias in part.names]
        elif isinstance(part, (ast.Global, ast.Nonlocal)):
            names += part.names
        elif isinstance(part, (ast.ExceptHandler, *_CAPTURES)):
            names += [name for name in (getattr(part, "name", None), getattr(part, "rest", None)) if name]
        elif isinstance(part, ast.arg):
            names.append(part.arg)
    return frozenset(names)


def _parameters(arguments: ast.arguments) -> tuple[Parameter, ...]:
    positional = (*arguments.posonlyargs, *arguments.args)
    result = [Parameter(a.arg, "positional", _names_in(a.annotation)) for a in positional]
    if arguments.vararg:
        result.append(Parameter(arguments.vararg.arg, "args"))
    result += [Parameter(a.arg, "keyword", _names_in(a.annotation)) for a in arguments.kwonlyargs]
    if arguments.kwarg:
        result.append(Parameter(arguments.kwarg.arg, "kwargs"))
    return tuple(result)


def _names_in(annotation: ast.expr | None) -> tuple[str, ...]:
    """The dotted names in an annotation, also in one that is a string."""
    if annotation is None:
        return ()
    if isinstance(annotation, ast.Name):
        return (annotation.id,)
    found: list[str] = []
    stack: list[ast.AST] = [annotation]
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.Name, ast.Attribute)):
            found.append(dotted(node))
        elif isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                found += _DOTTED.findall(node.value)
        else:
            stack.extend(ast.iter_child_nodes(node))
    return tuple(found)


def _names_of(annotations: list[ast.expr]) -> frozenset[str]:
    return frozenset(name for one in annotations for name in _names_in(one)) if annotations else frozenset()


def _mpi_meaning(names: tuple[str, ...], is_assignment: bool) -> Literal["init", "finalize", "world", ""]:
    for name in names:
        if name in ("mpi4py.MPI.Init", "mpi4py.MPI.Init_thread"):
            return "init"
        if name == "mpi4py.MPI.Finalize":
            return "finalize"
    # ``train(MPI.COMM_WORLD)`` uses the world, and is to be traced; ``comm = MPI.COMM_WORLD`` sets it up.
    is_world = any(name.startswith("mpi4py.MPI.COMM_WORLD") for name in names)
    return "world" if is_world and is_assignment and all(name.startswith("mpi4py.") for name in names) else ""


def _is_stub(body: list[ast.stmt]) -> bool:
    """Nothing but ``pass``, ``...``, a docstring, or the statement that there is no implementation."""
    for node in body:
        if isinstance(node, ast.Pass):
            continue
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        if isinstance(node, ast.Raise) and node.exc is not None:
            raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            if dotted(raised) in _PLACEHOLDER_RAISES:
                continue
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Name) and node.value.id == "NotImplemented":
            continue
        return False
    return True


def _find_section(body: Sequence[ast.stmt], lines: Sequence[str]) -> int:
    """The line of the mark that opens the part of the file that its first definition stands in; 0 where none does."""
    definitions = (node for node in body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)))
    first = next((first_line(node, lines) for node in definitions), 0)
    marks = [(number, mark[1]) for number, line in enumerate(lines, 1) if (mark := _SECTION_MARK.match(line))]
    above = [(number, mark) for number, mark in marks if number < first]
    below = [mark for number, mark in marks if number > first]
    if not above or above[-1][1] != "{" or below[:1] != ["}"]:
        return 0
    opened = above[-1][0]
    in_statement = any(node.lineno <= opened <= (node.end_lineno or 0) for node in body)  # a string's own line
    return 0 if in_statement else opened


def _mentions_script(text: str) -> bool:
    lower = text.lower()
    # Outside ASCII, letters that are no others in lower case may be the same to a pattern that ignores case.
    likely = not text.isascii() or any(word in lower for word in _SCRIPT_WORDS)
    return likely and bool(_SCRIPT.search(text))


def _watches_imports(text: str) -> bool:
    return any(word in text for word in _WATCHES_WORDS) and bool(_WATCHES.search(text))


def _mentions_graph(text: str) -> bool:
    return any(word in text for word in _GRAPH_WORDS) and bool(_GRAPH.search(text))


def _is_generated(head: str) -> bool:
    lines = [line.lstrip() for line in head.splitlines()[:20]]
    if any(line.startswith("#") and _GENERATED.search(line) for line in lines):
        return True
    # A docstring may as well be about what the module's classes are generated by.
    return any(_SELF_GENERATED.match(line) for line in lines if line.startswith(('"""', "'''")))


def _blank_start(text: str) -> str:
    return text[: len(text) - len(text.lstrip(" \t\f"))]


def _char_column(text: str, column: int) -> int:
    """A column in UTF-8 bytes, as the tree has it, in characters."""
    return column if text.isascii() else len(text.encode()[:column].decode(errors="replace"))
