"""What TorchScript compiles of a project: from its source, so it must be found as it is, and so must what that calls.

Which functions and classes these are was seen with torch 2.13: a class is compiled as a whole where something that is
compiled makes objects of it or names it as a type, in an annotation, an alias, a type comment or a type test.
"""

from __future__ import annotations

import builtins
from collections.abc import Collection, Iterable, Iterator, Mapping

from dfannotate.codemods.index import FileSummary, Index
from dfannotate.codemods.scriptable import BUILTINS, SCRIPT, Compilable
from dfannotate.facts import ClassFacts
from dfannotate.names import resolve

_NAMED_TUPLES = frozenset({"typing.NamedTuple", "typing_extensions.NamedTuple"})
"""Bases of classes of which TorchScript compiles no method, but the types of the fields."""

_NEVER_SCRIPTED = frozenset(
    {"tuple", "list", "collections.namedtuple", "torch.Tensor"}
    | {name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, BaseException)}
)
"""Bases of classes that mean nothing to TorchScript, or of which it compiles nothing, and all exceptions."""

_OTHER_TYPES = ("torch.nn.", "torch.autograd.", "enum.")
"""How the names of others begin: modules are compiled from ``forward`` on, and of the rest nothing is."""


def _is_refused(summary: FileSummary, klass: ClassFacts, above: set[str]) -> bool:
    """Whether a class, with the names of all its bases, is nothing that TorchScript compiles the methods of."""
    is_other = any(name.startswith(_OTHER_TYPES) or name.endswith("Enum") for name in above)
    return is_other or not above.isdisjoint(_NEVER_SCRIPTED) or klass.qualname in summary.unscriptable


class TorchScript:
    """What is compiled of a project, or may be, where it speaks of TorchScript; elsewhere nothing.

    ``names``: ``forward``, the properties of modules, which are compiled with it whether it reads them or not, and the
    names of all that is called from these on. ``classes``: (path, qualified name) of the classes that are compiled as a
    whole. What their methods call and name is compiled in turn."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._torch_modules: dict[tuple[str, str], bool] = {}
        self._type_aliases: dict[str, Mapping[str, frozenset[str]]] = {}
        self._meant: dict[tuple[str, str], frozenset[tuple[str, str]]] = {}
        self.names, self.classes = self._find()

    def compiles(self, summary: FileSummary) -> set[str]:
        """Qualified names of the functions of a file that are compiled, or may be."""
        return self._reached(summary, self.names, self.classes) if self.names else set()

    def _find(self) -> tuple[frozenset[str], frozenset[tuple[str, str]]]:
        if not any(summary.facts.mentions_script for summary in self._index.files.values()):
            return frozenset(), frozenset()
        start = {"forward"}
        handed: set[tuple[str, str]] = set()
        given: set[tuple[str, str]] = set()
        places: set[tuple[str, str]] = set()
        for summary in list(self._index.files.values()):  # a base that is followed may bring its module in
            for qualname in summary.properties:
                owner, _, name = qualname.rpartition(".")
                klass = self._index.classes.get((summary.path, owner))
                if klass is not None and self._is_torch_module(summary.path, klass):
                    start.add(name)
            for callee, name in summary.facts.handed_over:
                if callee.startswith(SCRIPT):
                    meant = self._index.absolute(summary, resolve(name, self._index.imports_of(summary)))
                    module, rest = self._index.follow(meant)
                    handed.add((module or summary.module, rest))
            for klass in summary.facts.classes:
                if any(name.startswith(SCRIPT) for name in klass.decorators):
                    given.add((summary.path, klass.qualname))
                if klass.types and self._is_torch_module(summary.path, klass):  # its attributes
                    places |= self._classes_meant(summary, klass.qualname, klass.types)
        given |= {(self._index.modules[module].path, rest) for module, rest in handed} & self._index.classes.keys()
        classes = self._compiled_whole(places, given)
        seen: set[tuple[str, Compilable]] = set()
        while True:
            names, known, places = self._index.called_from(start), len(start), set()
            for summary in list(self._index.files.values()):
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
                klass = self._index.classes.get((summary.path, owner)) if name == "__init__" else None
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
            summary, klass = self._index.files[key[0]], self._index.classes[key]
            above = self._index.names_above(key[0], klass)
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
            nested = self._index.nested_class(summary.path, scope, name)
            if nested is not None:
                found.add((summary.path, nested))
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
            if key in self._index.classes:
                found.add(key)
            aliased = self._type_aliases_of(where).get(name, ())
            pending += [(where, one) for one in aliased]
            target = self._index.imports_of(where).get(head)
            if target is not None or dot:  # a callee's name is resolved already
                place = self._index.split(self._index.absolute(where, name if target is None else target + dot + tail))
                pending += [place] if place else []
            if target is None and not aliased and key not in self._index.classes and head not in BUILTINS:
                for star in where.facts.star_imports:
                    module = self._index.absolute(where, star)
                    if module in self._index.modules or self._index.find(module):
                        pending.append((self._index.modules[module], name))
        return frozenset(found)

    def _functions_meant(self, summary: FileSummary, names: Iterable[str]) -> set[str]:
        """The last names of those callees that are functions of the project, or may be: no methods of some object."""
        found: set[str] = set()
        for name in names:
            where, rest = summary, name
            if "." in name:
                module, rest = self._index.follow(self._index.absolute(summary, name))
                where = self._index.modules[module] if module else summary
            if rest in where.functions or ("." not in name and summary.facts.star_imports):
                found.add(rest)
        return found

    def _type_aliases_of(self, summary: FileSummary) -> Mapping[str, frozenset[str]]:
        found = self._type_aliases.get(summary.path)
        if found is None:
            found = self._type_aliases[summary.path] = dict(summary.facts.type_aliases)
        return found

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
                place = self._index.class_place(where, one, base)
                if place is not None:
                    pending.append((place[0], self._index.classes[place]))
        return False
