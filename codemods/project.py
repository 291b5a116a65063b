"""What only all files of a project together tell: a class's bases and heirs, entry points, who looks at frames.

The index is built from the facts of each file that is worked on. A name that comes through another module is followed
through that module's imports; a module of the project that is not among those files is located when it is needed.
"""

from __future__ import annotations

import builtins
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from dfannotate.calls import CONTEXT, LOCAL, STAR, SUPER
from dfannotate.codemods import Context
from dfannotate.facts import LISTERS, SOURCE_SENDERS, ClassFacts, FunctionFacts, ModuleFacts
from dfannotate.names import UNNAMED, resolve
from dfannotate.rules.loaders import MAKERS, OF_CONTEXTS, Maker
from dfannotate.rules.safety import (
    INIT_WRITERS,
    Surroundings,
    base_is_harmless,
    is_compiler,
    makes_graph,
    own_hazard,
)

LARGE_PACKAGE = 50
"""Modules from which on the imports of a package may take long where each asks for the stack above it: that costs more
the deeper it is, and the more modules are loaded."""

_HOPS = 12
"""How many re-exports are followed before a name counts as unknown."""


_NAMED_TUPLES = frozenset({"typing.NamedTuple", "typing_extensions.NamedTuple"})
"""Bases of classes of which TorchScript compiles no method, but the types of the fields."""

_NEVER_SCRIPTED = frozenset(
    {"tuple", "list", "collections.namedtuple", "torch.Tensor"}
    | {name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, BaseException)}
)
"""Bases of classes that mean nothing to TorchScript, or of which it compiles nothing, and all exceptions."""

_OTHER_TYPES = ("torch.nn.", "torch.autograd.", "enum.")
"""How the names of others begin: modules are compiled from ``forward`` on, and of the rest nothing is."""

_SCRIPT = "torch.jit."
_OF_OBJECTS = ("self.", "cls.", UNNAMED)  # not those that begin with a dot: a relative import may be behind it
_BUILTINS = frozenset(vars(builtins))


@dataclass(frozen=True)
class Compilable:
    """What TorchScript would compile on account of a function that it compiles."""

    qualname: str
    types: frozenset[str]
    """The names, dotted and as they are written, of what its annotations and type tests say."""
    calls: frozenset[str]
    """What it calls, dotted and resolved."""
    is_scripted: bool
    """A decorator compiles it."""
    is_unused: bool
    """A decorator leaves it out of its class, with its signature, but not that out of a module."""


@dataclass(frozen=True)
class FileSummary:
    """The part of a file's facts that other files need."""

    path: str
    module: str
    """Dotted name under which the project imports the file."""
    facts: ModuleFacts
    frames: tuple[tuple[str, int], ...]
    """Functions that look at frames, by the name they are called by -> how many frames above their own."""
    functions: tuple[str, ...]
    """Their qualified names."""
    graphed: tuple[str, ...]
    """Functions that a decorator makes a graph of, by the name they are called by."""
    torch_classes: frozenset[str]
    """Qualified names of the classes with a method that calls something of torch."""
    calls: tuple[tuple[str, frozenset[str]], ...]
    """Functions, by the name they are called by -> the last names of what they call."""
    properties: tuple[str, ...]
    """Qualified names of the functions that a ``property`` is made of."""
    compilable: tuple[Compilable, ...]
    """The functions that TorchScript may compile, and those that it leaves to Python but reads the signatures of."""
    unscriptable: frozenset[str]
    """Qualified names of the classes that it cannot compile, for what their methods hold."""


def summarize(path: str, module: str, facts: ModuleFacts) -> FileSummary:
    """A summary is small: it travels from the process that read the file to the one that knows them all."""
    frames = tuple((_called(f), f.frame_depth) for f in facts.functions if f.frame_depth)
    calls = tuple(
        (_called(f), frozenset(call.name.rpartition(".")[2] for call in f.calls)) for f in facts.functions if f.calls
    )
    graphed = tuple(_called(f) for f in facts.functions if f.decorators and any(map(makes_graph, f.decorators)))
    torch = frozenset(f.owner for f in facts.functions if any("torch" in call.name.split(".") for call in f.calls))
    names = tuple(function.qualname for function in facts.functions)
    properties = tuple(f.qualname for f in facts.functions if any(map(_makes_property, f.decorators)))
    compilable = tuple(one for function in facts.functions if (one := _compilable(function)))
    twice = {name for name, number in Counter(klass.qualname for klass in facts.classes).items() if number > 1}
    unscriptable = frozenset(f.owner for f in facts.functions if f.scope == "class" and _keeps_class_from_script(f))
    unscriptable -= twice  # which of them it is cannot be told
    facts = replace(facts, functions=(), statements=())
    return FileSummary(path, module, facts, frames, names, graphed, torch, calls, properties, compilable, unscriptable)


def _compilable(function: FunctionFacts) -> Compilable | None:
    types, calls = function.signature_types, frozenset[str]()
    is_left = bool(function.decorators) and _is_left_to_python(function.decorators)
    if not is_left:
        if not function.is_scriptable:
            return None
        types |= function.body_types
        # What an object does is its class's matter.
        calls = frozenset([c.name for c in function.calls if not c.name.startswith(_OF_OBJECTS)]) - _BUILTINS
    types -= _BUILTINS
    if not types and not calls:
        return None
    is_scripted = not is_left and any(name.startswith(_SCRIPT) for name in function.decorators)
    return Compilable(function.qualname, types, calls, is_scripted, _is_unused(function.decorators))


def _is_left_to_python(decorators: tuple[str, ...]) -> bool:
    """Whether TorchScript has Python call a function (``@torch.jit.ignore``) or forbids the call (``…unused``)."""
    return any(name.startswith(_SCRIPT) and name.endswith((".ignore", ".unused")) for name in decorators)


def _is_unused(decorators: tuple[str, ...]) -> bool:
    return any(name.startswith(_SCRIPT) and name.endswith(".unused") for name in decorators)


def _keeps_class_from_script(method: FunctionFacts) -> bool:
    """Whether a class cannot be compiled, as nothing leaves out the method that holds what TorchScript refuses, or
    reaches for a base, which it knows of modules only. In a class that is no module, ``ignore`` leaves out nothing."""
    is_left_out = "staticmethod" in method.decorators or method.name == "__new__"
    is_left_out |= _is_unused(method.decorators)
    return not is_left_out and (not method.is_scriptable or _calls_base(method))


def _calls_base(method: FunctionFacts) -> bool:
    """Whether a method calls one of a base, and not where TorchScript does not look."""
    if not any(call.name == "super" for call in method.calls):
        return False
    return not any(call.name.rpartition(".")[2] == "is_scripting" for call in method.calls)


def _is_refused(summary: FileSummary, klass: ClassFacts, above: set[str]) -> bool:
    """Whether a class, with the names of all its bases, is nothing that TorchScript compiles the methods of."""
    is_other = any(name.startswith(_OTHER_TYPES) or name.endswith("Enum") for name in above)
    return is_other or not above.isdisjoint(_NEVER_SCRIPTED) or klass.qualname in summary.unscriptable


def _makes_property(decorator: str) -> bool:
    return decorator == "property" or decorator.endswith((".getter", ".setter"))


def _called(function: FunctionFacts) -> str:
    """The name by which a function is called: its class's for what runs when an object is made."""
    return _called_by(function.qualname)


def _called_by(qualname: str) -> str:
    owner, _, name = qualname.rpartition(".")
    return owner.rpartition(".")[2] if name in ("__init__", "__new__", "__post_init__") else name


class Project:
    """The index. Files are known by path; several may share a module name (scripts in different folders)."""

    def __init__(
        self,
        summaries: Iterable[FileSummary],
        console_scripts: Iterable[str] = (),
        locate: Callable[[str], FileSummary | None] | None = None,
    ) -> None:
        """``locate`` reads a module of the project that is not among ``summaries``, by its dotted name."""
        self.files: dict[str, FileSummary] = {}
        self.modules: dict[str, FileSummary] = {}
        self._classes: dict[tuple[str, str], ClassFacts] = {}
        self._locate = locate
        self._located: set[str] = set()
        self._followed: dict[tuple[str, int, bool], tuple[str, str]] = {}
        self._imports: dict[str, Mapping[str, str]] = {}
        for summary in summaries:
            self._add(summary)
        sizes = Counter(name.partition(".")[0] for name in self.modules)
        self.packages = frozenset(sizes)
        self._large = frozenset(name for name, size in sizes.items() if size >= LARGE_PACKAGE)
        self.frame_names = self._frame_names()
        self.listed = self._listed()
        self.compiled = self._compiled()
        self._torch_modules: dict[tuple[str, str], bool] = {}
        self._type_aliases: dict[str, Mapping[str, frozenset[str]]] = {}
        self._meant: dict[tuple[str, str], frozenset[tuple[str, str]]] = {}
        self.scripted, self.script_classes = self._scripted()
        self.graphed = self._graphed()
        self.graph_classes = self._graph_classes()
        self.outlives = any(s.facts.outlives for s in self.files.values())
        self.is_interrupted = any(s.facts.is_interrupted for s in self.files.values())
        self.wrapped_names = frozenset().union(*(s.facts.looked_at | s.facts.copied for s in self.files.values()))
        own_readers = frozenset().union(*(s.facts.source_readers for s in self.files.values()))
        self.source_readers = SOURCE_SENDERS | own_readers
        given = (pair for s in self.files.values() for pair in s.facts.given)
        self.read_names = frozenset(name for callee, name in given if callee in self.source_readers)
        self.looks_into = any(s.facts.looks_into for s in self.files.values())
        self.walks_frames = any(s.facts.walks_frames for s in self.files.values())
        self.compares_code = any(s.facts.compares_code for s in self.files.values())
        self.outside = frozenset().union(*(s.facts.outside_hazards for s in self.files.values()))
        every_import = (name for s in self.files.values() for name in s.facts.imported)
        self.rewrites_init = not INIT_WRITERS.isdisjoint(name.partition(".")[0] for name in every_import)
        self.entries = self._entries(console_scripts)
        self._bases: dict[tuple[str, str], list[tuple[str, str]]] = {}
        self._hazards = self._class_hazards()
        handing = {key: "frames" for key, klass in self._classes.items() if klass.hands_frames}
        self._framed = _spread(handing, self._bases)

    def context(self, path: str, category: str, *, is_entry: bool, every_function: bool = False) -> Context:
        """What the plan for one file depends on."""
        summary = self.files[path]
        own = frozenset(name for module, name in self.entries if module == summary.module)
        imports = self._imports_of(summary)
        calls = frozenset(
            target for target in imports.values() if self._follow(self._absolute(summary, target)) in self.entries
        )
        calls |= {f"{module}.{name}" for module, name in self.entries}
        unsafe = {
            klass.qualname: reason
            for klass in summary.facts.classes
            if (reason := self._hazards.get((path, klass.qualname)))
        }
        heads = {target.partition(".")[0] for target in imports.values() if not target.startswith(".")}
        framed = (klass.qualname for klass in summary.facts.classes if (path, klass.qualname) in self._framed)
        around = Surroundings(
            unsafe_classes=unsafe,
            frame_names=self.frame_names,
            packages=frozenset(heads - self.packages),
            wrapped_names=self.wrapped_names,
            compiled=self._compiled_in(summary),
            read_names=self.read_names,
            source_readers=self.source_readers,
            looks_into=self.looks_into,
            walks_frames=self.walks_frames,
            rewrites_init=self.rewrites_init,
            compares_code=self.compares_code,
            framed_classes=frozenset(framed),
        )
        return Context(
            category,
            is_entry,
            own,
            calls,
            around,
            self._is_listed(summary),
            self.outlives,
            every_function,
            is_interrupted=self.is_interrupted,
            makers=self.makers(path),
            process_classes=self._process_classes(summary),
            in_large_package=summary.module.partition(".")[0] in self._large,
        )

    # --- names ------------------------------------------------------------------------------------------------------

    def _absolute(self, summary: FileSummary, name: str) -> str:
        """A name that imports resolved, with leading dots replaced by the package they mean."""
        if not name.startswith("."):
            return name
        level = len(name) - len(name.lstrip("."))
        package = summary.module.split(".")
        if not summary.path.endswith("__init__.py"):
            package = package[:-1]
        package = package[: len(package) - (level - 1)] if level > 1 else package
        return ".".join([*package, name.lstrip(".")]).rstrip(".")

    def _split(self, name: str) -> tuple[FileSummary, str] | None:
        """A dotted name as the module of the project it begins with, and the rest."""
        module = name
        while module:
            module, _, _ = module.rpartition(".")
            if module in self.modules or self._find(module):
                return self.modules[module], name[len(module) + 1 :]
        return None

    def _add(self, summary: FileSummary) -> None:
        known = self.files.setdefault(summary.path, summary)
        self.modules.setdefault(summary.module, known)
        for klass in known.facts.classes:
            self._classes[known.path, klass.qualname] = klass

    def _find(self, module: str) -> bool:
        """Whether the project has ``module`` after all; it is in the index then."""
        if self._locate is None or not module or module in self._located:
            return False
        self._located.add(module)
        if module.partition(".")[0] in sys.stdlib_module_names:
            return False
        summary = self._locate(module)
        if summary is not None:
            self._add(summary)
        return module in self.modules

    def _follow(self, name: str, hops: int = _HOPS, through_stars: bool = True) -> tuple[str, str]:
        """The module and the name where something that is imported as ``name`` is defined, re-exports followed; ``""``
        and the name as far as it was followed where that leads out of the project."""
        # Modules that import all of each other (tkinter's do) would be gone through once for each way between them.
        key = name, hops, through_stars
        place = self._followed.get(key)
        if place is None:
            place = self._followed[key] = self._find_place(*key)
        return place

    def _find_place(self, name: str, hops: int, through_stars: bool) -> tuple[str, str]:
        found = self._split(name)
        if found is None or not hops:
            return "", name
        summary, rest = found
        head, dot, tail = rest.partition(".")
        target = self._imports_of(summary).get(head)
        if target is not None:
            return self._follow(self._absolute(summary, target) + dot + tail, hops - 1)
        if through_stars and (summary.path, head) not in self._classes:
            for star in summary.facts.star_imports:
                module, name = self._follow_star(summary, star, rest, hops - 1)
                if module and (self.modules[module].path, name.partition(".")[0]) in self._classes:
                    return module, name
        return summary.module, rest

    def _follow_star(self, summary: FileSummary, star: str, name: str, hops: int = _HOPS) -> tuple[str, str]:
        """Where ``name`` is defined, if it came by ``from star import *``."""
        module = self._absolute(summary, star)
        # What is no module of the project, as ``from ._C import *`` has it, is not looked for in what all others bring.
        return self._follow(f"{module}.{name}", hops, module in self.modules or self._find(module))

    def _imports_of(self, summary: FileSummary) -> Mapping[str, str]:
        """``import_map`` of a file of the index, made once."""
        found = self._imports.get(summary.path)
        if found is None:
            found = self._imports[summary.path] = summary.facts.import_map()
        return found

    def _listed(self) -> frozenset[str]:
        """Modules whose names are taken as they are: by ``from module import *``, ``dir(module)`` and the like."""
        found: set[str] = set()
        for summary in self.files.values():
            names = [*summary.facts.star_imports]
            imports = self._imports_of(summary)
            names += [imports.get(name, name) for callee, name in summary.facts.handed_over if callee in LISTERS]
            found.update(self._absolute(summary, name) for name in names)
        return frozenset(found)

    def _is_listed(self, summary: FileSummary) -> bool:
        """Whether the module's names are somebody's matter: a package's are, as what it offers to the world, and those
        of a module that says which it offers (tests hold its names against ``__all__``)."""
        facts = summary.facts
        return (
            facts.lists_itself or facts.has_all or summary.module in self.listed or summary.path.endswith("__init__.py")
        )

    def _compiled(self) -> Mapping[str, frozenset[str]]:
        """Module -> the names of it that any module hands to a compiler (``allow_in_graph(rearrange)``)."""
        found: dict[str, set[str]] = {}
        for summary in list(self.files.values()):  # a name that is followed may bring its module in
            imports = self._imports_of(summary)
            for callee, name in summary.facts.handed_over:
                if is_compiler(callee):
                    module, rest = self._follow(self._absolute(summary, resolve(name, imports)))
                    if module:
                        found.setdefault(module, set()).add(rest)
        return {module: frozenset(names) for module, names in found.items()}

    def _scripted(self) -> tuple[frozenset[str], frozenset[tuple[str, str]]]:
        """Where the project speaks of TorchScript: ``forward``, the properties of modules, which are compiled with it
        whether it reads them or not, and the names of all that is called from these on. What is compiled from its
        source must be found as it is, and so must what that calls.

        And (path, qualified name) of the classes that are compiled as a whole, since something that is compiled makes
        objects of them or names them as a type. What their methods call and name is compiled in turn."""
        if not any(summary.facts.mentions_script for summary in self.files.values()):
            return frozenset(), frozenset()
        start = {"forward"}
        handed: set[tuple[str, str]] = set()
        given: set[tuple[str, str]] = set()
        places: set[tuple[str, str]] = set()
        for summary in list(self.files.values()):  # a base that is followed may bring its module in
            for qualname in summary.properties:
                owner, _, name = qualname.rpartition(".")
                klass = self._classes.get((summary.path, owner))
                if klass is not None and self._is_torch_module(summary.path, klass):
                    start.add(name)
            for callee, name in summary.facts.handed_over:
                if callee.startswith(_SCRIPT):
                    module, rest = self._follow(self._absolute(summary, resolve(name, self._imports_of(summary))))
                    handed.add((module or summary.module, rest))
            for klass in summary.facts.classes:
                if any(name.startswith(_SCRIPT) for name in klass.decorators):
                    given.add((summary.path, klass.qualname))
                if klass.types and self._is_torch_module(summary.path, klass):  # its attributes
                    places |= self._classes_meant(summary, klass.qualname, klass.types)
        given |= {(self.modules[module].path, rest) for module, rest in handed} & self._classes.keys()
        classes = self._compiled_whole(places, given)
        seen: set[tuple[str, Compilable]] = set()
        while True:
            names, known, places = self._called_from(start), len(start), set()
            for summary in list(self.files.values()):
                for one in self._compilable_in(summary, names, classes, handed):
                    if (summary.path, one) not in seen:
                        seen.add((summary.path, one))
                        owner = one.qualname.rpartition(".")[0]
                        makers = {name.rpartition(".")[0] for name in one.calls} - {""}  # Sparse.from_dense(x)
                        places |= self._classes_meant(summary, owner, one.types | one.calls | makers)
                        is_start = one.is_scripted or (summary.module, one.qualname) in handed
                        if is_start or (summary.path, owner) in classes:
                            start |= self._functions_meant(summary, one.calls)
            places = self._compiled_whole(places) - classes
            if not places and len(start) == known:
                return names, frozenset(classes)
            classes |= places

    def _compilable_in(
        self,
        summary: FileSummary,
        names: frozenset[str],
        whole: set[tuple[str, str]],
        handed: set[tuple[str, str]],
    ) -> Iterator[Compilable]:
        """The functions of a file that are compiled if ``names`` and the ``whole`` classes are, and those that the
        project, or a decorator, compiles one by one."""
        reached = self._reached(summary, names, whole)
        for one in summary.compilable:
            owner, _, name = one.qualname.rpartition(".")
            if one.is_unused and (summary.path, owner) in whole:
                continue
            if one.is_scripted or one.qualname in reached or (summary.module, one.qualname) in handed:
                klass = self._classes.get((summary.path, owner)) if name == "__init__" else None
                if klass is None or not self._is_torch_module(summary.path, klass):  # that of a module is executed
                    yield one

    def _reached(self, summary: FileSummary, names: frozenset[str], whole: Collection[tuple[str, str]]) -> set[str]:
        """Qualified names of a file's functions that TorchScript may compile, if it compiles what has one of ``names``
        and the ``whole`` classes."""
        speaks = summary.facts.mentions_script  # then its classes may be helpers of what is compiled
        classes = {k.qualname for k in summary.facts.classes if speaks or self._is_torch_module(summary.path, k)}
        whole_here = {k.qualname for k in summary.facts.classes if (summary.path, k.qualname) in whole}
        found: set[str] = set()
        for qualname in summary.functions:
            owner, _, name = qualname.rpartition(".")
            if owner in whole_here or (name in names and (not owner or owner in classes)):
                found.add(qualname)
        return found

    def _compiled_whole(
        self, named: Iterable[tuple[str, str]], given: Iterable[tuple[str, str]] = ()
    ) -> set[tuple[str, str]]:
        """Of the classes that are ``named`` as types and those that are ``given`` to TorchScript themselves, those of
        which it compiles the methods; with those that are fields of a named tuple, or of a data class.

        Of its own methods it compiles all that are not ``unused``, static ones if something calls them; of its bases'
        none. It refuses a class altogether for what some methods hold, and where it is only named, one whose
        constructor is generated."""
        found: set[tuple[str, str]] = set()
        seen: set[tuple[str, str]] = set()
        known = set(given)
        pending = [*named, *known]
        while pending:
            key = pending.pop()
            if key in seen:
                continue
            seen.add(key)
            summary, klass = self.files[key[0]], self._classes[key]
            above = self._names_above(key[0], klass)
            is_made = "dataclasses.dataclass" in klass.decorators and "__init__" not in klass.defines
            is_tuple = not above.isdisjoint(_NAMED_TUPLES)
            if not is_tuple and (_is_refused(summary, klass, above) or (is_made and key not in known)):
                continue
            if is_made or is_tuple:
                pending += self._classes_meant(summary, klass.qualname, klass.types)
            if not is_tuple:
                found.add(key)
        return found

    def _classes_meant(self, summary: FileSummary, scope: str, names: Iterable[str]) -> set[tuple[str, str]]:
        """(path, qualified name) of the project's classes that ``names`` mean, or are made of, to what stands in
        ``scope`` (a qualified name) of a file."""
        found: set[tuple[str, str]] = set()
        for name in names:
            around = scope
            while around and (summary.path, f"{around}.{name}") not in self._classes:
                around = around.rpartition(".")[0]
            if around:
                found.add((summary.path, f"{around}.{name}"))
                continue
            key = summary.path, name
            if key not in self._meant:
                self._meant[key] = self._find_meant(summary, name)
            found |= self._meant[key]
        return found

    def _find_meant(self, summary: FileSummary, name: str) -> frozenset[tuple[str, str]]:
        """All that a top-level name may stand for: it may be bound in one branch and imported in another."""
        found: set[tuple[str, str]] = set()
        seen: set[tuple[str, str]] = set()
        pending = [(summary, name)]
        while pending:
            where, name = pending.pop()
            key = where.path, name
            if key in seen:
                continue
            seen.add(key)
            head, dot, tail = name.partition(".")
            if key in self._classes:
                found.add(key)
            aliased = self._type_aliases_of(where).get(name, ())
            pending += [(where, one) for one in aliased]
            target = self._imports_of(where).get(head)
            if target is not None or dot:  # a callee's name is resolved already
                place = self._split(self._absolute(where, name if target is None else target + dot + tail))
                pending += [place] if place else []
            if target is None and not aliased and key not in self._classes and head not in _BUILTINS:
                for star in where.facts.star_imports:
                    module = self._absolute(where, star)
                    if module in self.modules or self._find(module):
                        pending.append((self.modules[module], name))
        return frozenset(found)

    def _functions_meant(self, summary: FileSummary, names: Iterable[str]) -> set[str]:
        """The last names of those callees that are functions of the project, or may be: no methods of some object."""
        found: set[str] = set()
        for name in names:
            module, rest = self._follow(self._absolute(summary, name)) if "." in name else (summary.module, name)
            where = self.modules[module] if module and "." in name else summary
            if rest in where.functions or ("." not in name and summary.facts.star_imports):
                found.add(rest)
        return found

    def _type_aliases_of(self, summary: FileSummary) -> Mapping[str, frozenset[str]]:
        found = self._type_aliases.get(summary.path)
        if found is None:
            found = self._type_aliases[summary.path] = dict(summary.facts.type_aliases)
        return found

    def _graphed(self) -> frozenset[str]:
        """Where the project speaks of whole graphs: the names, as they are called, of what is made one and of all that
        this calls. Torch follows those calls, and a graph with the tracer in it is an error."""
        if not any(summary.facts.mentions_graph for summary in self.files.values()):
            return frozenset()
        start = ["forward"]
        for summary in self.files.values():
            start += summary.graphed
            start += (name.rpartition(".")[2] for callee, name in summary.facts.handed_over if makes_graph(callee))
        return self._called_from(start)

    def _graph_classes(self) -> frozenset[tuple[str, str]]:
        """(path, qualified name) of classes whose methods may be meant where a graph's code calls one on some object:
        those of which objects are made on the way, those that work on tensors, and the bases of both."""
        if not self.graphed:
            return frozenset()
        found: set[tuple[str, str]] = set()
        pending = [
            (path, qualname)
            for (path, qualname), klass in self._classes.items()
            if klass.name in self.graphed or qualname in self.files[path].torch_classes
        ]
        while pending:
            key = pending.pop()
            if key not in found:
                found.add(key)
                klass = self._classes[key]
                places = (self._class_place(key[0], klass, base) for base in klass.bases)
                pending.extend(place for place in places if place)
        return frozenset(found)

    def _called_from(self, start: Iterable[str]) -> frozenset[str]:
        """The given names, and those of all that is called from what they name, however many calls lie between."""
        callees: dict[str, list[frozenset[str]]] = {}
        for summary in self.files.values():
            for caller, called in summary.calls:
                callees.setdefault(caller, []).append(called)
        found = pending = set(start)
        while pending:
            called_next = (called for name in pending for called in callees.get(name, ()))
            pending = set().union(*called_next) - found
            found = found | pending
        return frozenset(found)

    def _compiled_in(self, summary: FileSummary) -> frozenset[str]:
        """The functions (qualified names) and classes of a module that are compiled, or may be, somewhere else."""
        found = set(self.compiled.get(summary.module, ()))
        if self.scripted:
            found |= self._reached(summary, self.scripted, self.script_classes)
        if self.graphed:
            for qualname in summary.functions:
                owner = qualname.rpartition(".")[0]
                if _called_by(qualname) in self.graphed and (not owner or (summary.path, owner) in self.graph_classes):
                    found.add(qualname)
        return frozenset(found)

    def _is_torch_module(self, path: str, klass: ClassFacts) -> bool:
        """Whether a class, or one that it is derived from in the project, has a base of ``torch.nn``."""
        key = path, klass.qualname
        if key not in self._torch_modules:
            self._torch_modules[key] = self._has_torch_base(path, klass)
        return self._torch_modules[key]

    def _has_torch_base(self, path: str, klass: ClassFacts) -> bool:
        seen: set[tuple[str, str]] = set()
        pending = [(path, klass)]
        while pending:
            where, one = pending.pop()
            if (where, one.qualname) in seen:
                continue
            seen.add((where, one.qualname))
            for base in one.bases:
                if base.startswith("torch.nn."):
                    return True
                place = self._class_place(where, one, base)
                if place is not None:
                    pending.append((place[0], self._classes[place]))
        return False

    def _frame_names(self) -> frozenset[str]:
        """Names of functions whose callers are looked at through them, however many calls lie between."""
        depths: dict[str, int] = {}
        for summary in self.files.values():
            for name, depth in summary.frames:
                depths[name] = max(depth, depths.get(name, 0))
        calls = [call for summary in self.files.values() for call in summary.calls]
        renamed = [pair for summary in self.files.values() for pair in summary.facts.renamed]
        pending = {name for name, depth in depths.items() if depth > 1}
        while pending:  # as often as the deepest of them has levels
            fresh: set[str] = set()
            for caller, callees in calls:
                if not callees.isdisjoint(pending):
                    left = max(depths[name] for name in callees & pending) - 1
                    if depths.get(caller, 0) < left:
                        depths[caller] = left
                        fresh.add(caller)
            for attribute, name in renamed:
                if name in pending and depths.get(attribute, 0) < depths[name]:
                    depths[attribute] = depths[name]
                    fresh.add(attribute)
            pending = {name for name in fresh if depths[name] > 1}
        return frozenset(name for name, depth in depths.items() if depth > 1)

    # --- entry points -----------------------------------------------------------------------------------------------

    def _entries(self, console_scripts: Iterable[str]) -> frozenset[tuple[str, str]]:
        """(module, function) of every ``package.module:function``, where the project has the module."""
        found = set()
        for script in console_scripts:
            module, _, function = script.partition(":")
            place = self._follow(f"{module}.{function}")
            if place[0]:
                found.add(place)
        return frozenset(found)

    def bases(self, path: str) -> dict[str, frozenset[str]]:
        """Qualified name of each class of a file -> the names of all its bases, where they are defined."""
        return {klass.qualname: frozenset(self._names_above(path, klass)) for klass in self.files[path].facts.classes}

    # --- worker processes -------------------------------------------------------------------------------------------

    def makers(self, path: str) -> dict[str, Maker]:
        """What of a file's calls makes worker processes, by the name that the facts give it."""
        summary = self.files[path]
        names = {name for call in summary.facts.worker_calls for name in call.callees}
        names |= {name for value in summary.facts.worker_values for name in value.names}
        found = {name: self._maker(summary, name) for name in names}
        return {name: maker for name, maker in found.items() if maker is not None}

    def _process_classes(self, summary: FileSummary) -> frozenset[str]:
        """Qualified names of the file's classes with a ``run`` of their own that a process runs."""
        classes = (klass for klass in summary.facts.classes if "run" in klass.defines)
        return frozenset(klass.qualname for klass in classes if self._is_process(summary.path, klass, _HOPS))

    def _maker(self, summary: FileSummary, name: str, hops: int = _HOPS) -> Maker | None:
        """What a call of ``name`` in a file comes down to. A class that has its own ``__init__`` is none: what it
        calls in there is."""
        if not hops:
            return None
        if name.startswith(SUPER):
            klass = self._classes.get((summary.path, name.removeprefix(SUPER)))
            return self._maker_above(summary.path, klass, hops) if klass else None
        if name.startswith(CONTEXT):
            return OF_CONTEXTS[name.removeprefix(CONTEXT)]
        if name.startswith(STAR):
            rest = name.removeprefix(STAR)
            stars = (f"{self._absolute(summary, star)}.{rest}" for star in reversed(summary.facts.star_imports))
            return next((maker for star in stars if (maker := self._maker_of(star, hops))), None)
        bare = name.removesuffix(".__init__")
        if bare != name:
            maker = self._maker(summary, bare, hops - 1)
            position = None if maker is None or maker.position is None else maker.position + 1
            return replace(maker, position=position) if maker else None
        if name.startswith(LOCAL):
            klass = self._classes.get((summary.path, name.removeprefix(LOCAL)))
            return self._maker_of_class(summary.path, klass, hops) if klass else None
        head, dot, tail = name.partition(".")
        alias = dict(summary.facts.aliases).get(head)
        if alias and alias != head and not name.startswith("."):  # the bases of a class come as they are written
            return self._maker(summary, alias + dot + tail, hops - 1)
        return self._maker_of(self._absolute(summary, name), hops)

    def _maker_of(self, name: str, hops: int) -> Maker | None:
        if name in MAKERS:
            return MAKERS[name]
        module, rest = self._follow(name)
        if not module:
            return MAKERS.get(rest)
        summary = self.modules[module]
        if (summary.path, rest) in self._classes:
            return self._maker_of_class(summary.path, self._classes[summary.path, rest], hops)
        head, dot, tail = rest.partition(".")
        alias = dict(summary.facts.aliases).get(head)
        return self._maker(summary, alias + dot + tail, hops - 1) if alias else None

    def _maker_of_class(self, path: str, klass: ClassFacts, hops: int) -> Maker | None:
        return None if "__init__" in klass.defines else self._maker_above(path, klass, hops)

    def _maker_above(self, path: str, klass: ClassFacts, hops: int) -> Maker | None:
        """What the first ``__init__`` above a class is that of; None where that cannot be told."""
        for base in klass.bases if hops else ():
            place = self._class_place(path, klass, base)
            if place is None:
                maker = self._maker(self.files[path], base, hops - 1)
                if maker is None and not self._is_harmless(path, base):
                    return None
            elif "__init__" in self._classes[place].defines:
                return None
            else:
                maker = self._maker_above(place[0], self._classes[place], hops - 1)
            if maker is not None:
                # A process whose class has its own run does not care for its target.
                return None if maker.is_process and "run" in klass.defines else maker
        return None

    def _is_process(self, path: str, klass: ClassFacts, hops: int) -> bool:
        for base in klass.bases if hops else ():
            place = self._class_place(path, klass, base)
            if place is not None:
                if self._is_process(place[0], self._classes[place], hops - 1):
                    return True
                continue
            maker = self._maker(self.files[path], base, hops - 1)
            if maker is not None and maker.is_process:
                return True
        return False

    # --- classes ----------------------------------------------------------------------------------------------------

    def _class_hazards(self) -> Mapping[tuple[str, str], str]:
        """(path, qualified name) -> why methods of the class are a hazard, by itself, its bases or its heirs.

        A method of a base runs on objects of an heir, so what an heir defines counts for its bases too."""
        bases = self._bases
        reasons: dict[tuple[str, str], str] = {}
        while pending := [key for key in self._classes if key not in bases]:  # a base may bring its module in
            for key in pending:
                klass = self._classes[key]
                reason: str | None = own_hazard(klass)
                if reason is None and self.outside:
                    # An object from elsewhere may be one of this class: which it is cannot be told.
                    reason = "hazardous-attribute-set-outside"
                known: list[tuple[str, str]] = []
                for base in klass.bases:
                    place = self._class_place(key[0], klass, base)
                    if place is not None and place != key:
                        known.append(place)
                    elif place is None and not self._is_harmless(key[0], base):
                        reason = reason or "unknown-base"
                bases[key] = known
                if reason:
                    reasons[key] = reason
        inherited = _spread(reasons, bases)
        heirs: dict[tuple[str, str], list[tuple[str, str]]] = {}
        for key, above in bases.items():
            for parent in above:
                heirs.setdefault(parent, []).append(key)
        own = {key: reason for key, reason in reasons.items() if reason != "unknown-base"}
        return {**_spread(own, heirs), **inherited}

    def _names_above(self, path: str, klass: ClassFacts) -> set[str]:
        names: set[str] = set()
        seen = {(path, klass.qualname)}
        pending = [(path, klass)]
        while pending:
            file, current = pending.pop()
            for base in current.bases:
                place = self._class_place(file, current, base)
                if place is None:
                    names.update((base, self._follow(self._absolute(self.files[file], base))[1]))
                elif place not in seen:
                    seen.add(place)
                    names.add(place[1])
                    pending.append((place[0], self._classes[place]))
        return names

    def _class_place(self, path: str, klass: ClassFacts, base: str) -> tuple[str, str] | None:
        scope = klass.qualname.rpartition(".")[0]
        while True:
            candidate = f"{scope}.{base}" if scope else base
            if (path, candidate) in self._classes:
                return path, candidate
            if not scope:
                break
            scope = scope.rpartition(".")[0]
        summary = self.files[path]
        module, name = self._follow(self._absolute(summary, base))
        if module and (self.modules[module].path, name) in self._classes:
            return self.modules[module].path, name
        for star in summary.facts.star_imports:
            module, name = self._follow_star(summary, star, base)
            if module and (self.modules[module].path, name) in self._classes:
                return self.modules[module].path, name
        return None

    def _is_harmless(self, path: str, base: str) -> bool:
        """Whether a base that is no class of the project is a known one, under any of its public names."""
        if base_is_harmless(base):
            return True
        _, name = self._follow(self._absolute(self.files[path], base))
        return base_is_harmless(name)


def _spread(
    reasons: Mapping[tuple[str, str], str], along: Mapping[tuple[str, str], list[tuple[str, str]]]
) -> dict[tuple[str, str], str]:
    """Give each class the reason of any that it reaches ``along`` the edges, its own first."""
    sources: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for key, targets in along.items():
        for target in targets:
            sources.setdefault(target, []).append(key)
    result = dict(reasons)
    pending = list(reasons)
    while pending:
        key = pending.pop()
        for reached in sources.get(key, ()):
            if reached not in result:
                result[reached] = result[key]
                pending.append(reached)
    return result
