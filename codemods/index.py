"""What all files of a project hold, by the names that they go by: the base of all that only the files together tell.

It is built from the facts of each file that is worked on. A name that comes through another module is followed
through that module's imports; a module of the project that is not among those files is located when it is needed.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from dfannotate.codemods.scriptable import Compilable, find_compilable, keeps_class_from_script
from dfannotate.facts import ClassFacts, FunctionFacts, ModuleFacts
from dfannotate.rules.safety import makes_graph

HOPS = 12
"""How many re-exports are followed before a name counts as unknown."""


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
    mods: tuple[str, ...]
    """Qualified names of the functions that may say what attention takes into account, by what they are given."""
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
    recursive: frozenset[str]
    """Names of the methods that call the method of that name of their own object."""
    starts: tuple[str, ...]
    """Functions that start the tracing as the program has it, by the name they are called by."""


def summarize(path: str, module: str, facts: ModuleFacts) -> FileSummary:
    """A summary is small: it travels from the process that read the file to the one that knows them all."""
    frames = tuple((_called(f), f.frame_depth) for f in facts.functions if f.frame_depth)
    calls = tuple(
        (_called(f), frozenset(call.name.rpartition(".")[2] for call in f.calls)) for f in facts.functions if f.calls
    )
    graphed = tuple(_called(f) for f in facts.functions if f.decorators and any(map(makes_graph, f.decorators)))
    mods = tuple(f.qualname for f in facts.functions if _is_mod(f))
    torch = frozenset(f.owner for f in facts.functions if any("torch" in call.name.split(".") for call in f.calls))
    names = tuple(function.qualname for function in facts.functions)
    properties = tuple(f.qualname for f in facts.functions if any(map(_makes_property, f.decorators)))
    compilable = tuple(one for function in facts.functions if (one := find_compilable(function)))
    twice = {name for name, number in Counter(klass.qualname for klass in facts.classes).items() if number > 1}
    unscriptable = frozenset(f.owner for f in facts.functions if f.scope == "class" and keeps_class_from_script(f))
    unscriptable -= twice  # which of them it is cannot be told
    recursive = frozenset(f.name for f in facts.functions if f.scope == "class" and f.is_recursive)
    starts = tuple(_called(function) for line in facts.initialize_lines if (function := facts.function_at(line)))
    facts = replace(facts, functions=(), statements=())
    by_name = (frames, names, graphed, mods, torch, calls, properties)
    return FileSummary(path, module, facts, *by_name, compilable, unscriptable, recursive, starts)


def _makes_property(decorator: str) -> bool:
    return decorator == "property" or decorator.endswith((".getter", ".setter"))


def _is_mod(function: FunctionFacts) -> bool:
    """Whether it may be a ``mask_mod`` or a ``score_mod``: (score, batch, head, place of the query, of the key)."""
    given = [parameter.name for parameter in function.parameters if parameter.kind == "positional"]
    if function.scope == "class" and function.first_parameter in ("self", "cls"):
        del given[0]
    if len(given) not in (4, 5):
        return False
    batch, head, query, key = given[-4:]
    usual = (batch[0] == "b" and head[0] == "h") or ("q" in query and "k" in key)
    return usual or ".<locals>." in function.qualname


def _called(function: FunctionFacts) -> str:
    """The name by which a function is called: its class's for what runs when an object is made."""
    return called_by(function.qualname)


def called_by(qualname: str) -> str:
    """The name by which what has a qualified name is called."""
    owner, _, name = qualname.rpartition(".")
    return owner.rpartition(".")[2] if name in ("__init__", "__new__", "__post_init__") else name


class Index:
    """Files are known by path; several may share a module name (scripts in different folders)."""

    def __init__(
        self, summaries: Iterable[FileSummary], locate: Callable[[str], FileSummary | None] | None = None
    ) -> None:
        """``locate`` reads a module of the project that is not among ``summaries``, by its dotted name."""
        self.files: dict[str, FileSummary] = {}
        self.modules: dict[str, FileSummary] = {}
        self.classes: dict[tuple[str, str], ClassFacts] = {}
        """(path, qualified name) of each class -> its facts."""
        self._locate = locate
        self._located: set[str] = set()
        self._followed: dict[tuple[str, int, bool], tuple[str, str]] = {}
        self._imports: dict[str, Mapping[str, str]] = {}
        for summary in summaries:
            self._add(summary)

    def absolute(self, summary: FileSummary, name: str) -> str:
        """A name that imports resolved, with leading dots replaced by the package they mean."""
        if not name.startswith("."):
            return name
        level = len(name) - len(name.lstrip("."))
        package = summary.module.split(".")
        if not summary.path.endswith("__init__.py"):
            package = package[:-1]
        package = package[: len(package) - (level - 1)] if level > 1 else package
        return ".".join([*package, name.lstrip(".")]).rstrip(".")

    def split(self, name: str) -> tuple[FileSummary, str] | None:
        """A dotted name as the module of the project it begins with, and the rest."""
        module = name
        while module:
            module, _, _ = module.rpartition(".")
            if module in self.modules or self.find(module):
                return self.modules[module], name[len(module) + 1 :]
        return None

    def _add(self, summary: FileSummary) -> None:
        known = self.files.setdefault(summary.path, summary)
        self.modules.setdefault(summary.module, known)
        for klass in known.facts.classes:
            self.classes[known.path, klass.qualname] = klass

    def find(self, module: str) -> bool:
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

    def follow(self, name: str, hops: int = HOPS, through_stars: bool = True) -> tuple[str, str]:
        """The module and the name where something that is imported as ``name`` is defined, re-exports followed; ``""``
        and the name as far as it was followed where that leads out of the project."""
        # Modules that import all of each other (tkinter's do) would be gone through once for each way between them.
        key = name, hops, through_stars
        place = self._followed.get(key)
        if place is None:
            place = self._followed[key] = self._find_place(*key)
        return place

    def _find_place(self, name: str, hops: int, through_stars: bool) -> tuple[str, str]:
        found = self.split(name)
        if found is None or not hops:
            return "", name
        summary, rest = found
        head, dot, tail = rest.partition(".")
        target = self.imports_of(summary).get(head)
        if target is not None:
            return self.follow(self.absolute(summary, target) + dot + tail, hops - 1)
        if through_stars and (summary.path, head) not in self.classes:
            for star in summary.facts.star_imports:
                module, name = self.follow_star(summary, star, rest, hops - 1)
                if module and (self.modules[module].path, name.partition(".")[0]) in self.classes:
                    return module, name
        return summary.module, rest

    def follow_star(self, summary: FileSummary, star: str, name: str, hops: int = HOPS) -> tuple[str, str]:
        """Where ``name`` is defined, if it came by ``from star import *``."""
        module = self.absolute(summary, star)
        # What is no module of the project, as ``from ._C import *`` has it, is not looked for in what all others bring.
        return self.follow(f"{module}.{name}", hops, module in self.modules or self.find(module))

    def imports_of(self, summary: FileSummary) -> Mapping[str, str]:
        """``import_map`` of a file of the index, made once."""
        found = self._imports.get(summary.path)
        if found is None:
            found = self._imports[summary.path] = summary.facts.import_map()
        return found

    def names_above(self, path: str, klass: ClassFacts) -> set[str]:
        """The names of all bases of a class, as they are written and where they are defined."""
        names: set[str] = set()
        seen = {(path, klass.qualname)}
        pending = [(path, klass)]
        while pending:
            file, current = pending.pop()
            for base in current.bases:
                place = self.class_place(file, current, base)
                if place is None:
                    names.update((base, self.follow(self.absolute(self.files[file], base))[1]))
                elif place not in seen:
                    seen.add(place)
                    names.add(place[1])
                    pending.append((place[0], self.classes[place]))
        return names

    def class_place(self, path: str, klass: ClassFacts, base: str) -> tuple[str, str] | None:
        """(path, qualified name) of a class of the project that is a base of ``klass`` by the name ``base``."""
        nested = self.nested_class(path, klass.qualname.rpartition(".")[0], base)
        if nested is not None or (path, base) in self.classes:
            return path, nested or base
        summary = self.files[path]
        module, name = self.follow(self.absolute(summary, base))
        if module and (self.modules[module].path, name) in self.classes:
            return self.modules[module].path, name
        for star in summary.facts.star_imports:
            module, name = self.follow_star(summary, star, base)
            if module and (self.modules[module].path, name) in self.classes:
                return self.modules[module].path, name
        return None

    def nested_class(self, path: str, scope: str, name: str) -> str | None:
        """The qualified name of the class that ``name`` means in ``scope``, a qualified name or ``""``, of a file: of
        those that are defined in it or around it, but for the top level."""
        while scope:
            if (path, f"{scope}.{name}") in self.classes:
                return f"{scope}.{name}"
            scope = scope.rpartition(".")[0]
        return None

    def called_from(self, start: Iterable[str]) -> frozenset[str]:
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
