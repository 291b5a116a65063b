"""What only all files of a project together tell: a class's bases and heirs, entry points, who looks at frames."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from dfannotate.calls import CONTEXT, LOCAL, STAR, SUPER
from dfannotate.codemods import Context
from dfannotate.codemods.index import HOPS, FileSummary, Index, called_by
from dfannotate.codemods.torchscript import TorchScript
from dfannotate.facts import LISTERS, SOURCE_SENDERS, ClassFacts
from dfannotate.names import resolve
from dfannotate.rules.loaders import MAKERS, OF_CONTEXTS, Maker
from dfannotate.rules.safety import (
    FLEX_ATTENTION,
    INIT_WRITERS,
    Surroundings,
    base_is_harmless,
    is_compiler,
    makes_graph,
    makes_whole_graph,
    own_hazard,
)

LARGE_PACKAGE = 50
"""Modules from which on the imports of a package may take long where each asks for the stack above it: that costs more
the deeper it is, and the more modules are loaded."""


class Project(Index):
    """The index, and what is asked of it."""

    def __init__(
        self,
        summaries: Iterable[FileSummary],
        console_scripts: Iterable[str] = (),
        locate: Callable[[str], FileSummary | None] | None = None,
    ) -> None:
        """``locate`` reads a module of the project that is not among ``summaries``, by its dotted name."""
        super().__init__(summaries, locate)
        sizes = Counter(name.partition(".")[0] for name in self.modules)
        self.packages = frozenset(sizes)
        self._large = frozenset(name for name, size in sizes.items() if size >= LARGE_PACKAGE)
        self.frame_names = self._frame_names()
        self.listed = self._listed()
        self.compiled = self._compiled()
        self.script = TorchScript(self)
        every_import = frozenset().union(*(s.facts.imported for s in self.files.values()))
        self.uses_mods = any(name.startswith(FLEX_ATTENTION) for name in every_import)
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
        self.starting = self._starting()
        self.recursive = frozenset().union(*(s.recursive for s in self.files.values()))
        self.outside = frozenset().union(*(s.facts.outside_hazards for s in self.files.values()))
        self.rewrites_init = not INIT_WRITERS.isdisjoint(name.partition(".")[0] for name in every_import)
        self.entries = self._entries(console_scripts)
        self._bases: dict[tuple[str, str], list[tuple[str, str]]] = {}
        self._hazards = self._class_hazards()
        handing = {key: "frames" for key, klass in self.classes.items() if klass.hands_frames}
        self._framed = _spread(handing, self._bases)

    def context(self, path: str, category: str, *, is_entry: bool, every_function: bool = False) -> Context:
        """What the plan for one file depends on."""
        summary = self.files[path]
        own = frozenset(name for module, name in self.entries if module == summary.module)
        imports = self.imports_of(summary)
        calls = frozenset(
            target for target in imports.values() if self.follow(self.absolute(summary, target)) in self.entries
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
            recursive_methods=self.recursive,
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
            starting_names=self.starting,
            is_interrupted=self.is_interrupted,
            makers=self.makers(path),
            process_classes=self._process_classes(summary),
            in_large_package=summary.module.partition(".")[0] in self._large,
        )

    # --- names ------------------------------------------------------------------------------------------------------

    def _listed(self) -> frozenset[str]:
        """Modules whose names are taken as they are: by ``from module import *``, ``dir(module)`` and the like."""
        found: set[str] = set()
        for summary in self.files.values():
            names = [*summary.facts.star_imports]
            imports = self.imports_of(summary)
            names += [imports.get(name, name) for callee, name in summary.facts.handed_over if callee in LISTERS]
            found.update(self.absolute(summary, name) for name in names)
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
            imports = self.imports_of(summary)
            for callee, name in summary.facts.handed_over:
                if is_compiler(callee):
                    module, rest = self.follow(self.absolute(summary, resolve(name, imports)))
                    if module:
                        found.setdefault(module, set()).add(rest)
        return {module: frozenset(names) for module, names in found.items()}

    def _graphed(self) -> frozenset[str]:
        """Where the project speaks of whole graphs, or uses operators that make them: the names, as they are called, of
        what is made one and of all that this calls. Torch follows those calls, and a graph with the tracer in it is an
        error."""
        speaks = any(summary.facts.mentions_graph for summary in self.files.values())
        start = ["forward"] if speaks else []
        for summary in self.files.values():
            if speaks:
                start += summary.graphed
            if self.uses_mods:
                start += map(called_by, summary.mods)
            for callee, name in summary.facts.handed_over:
                if makes_whole_graph(callee) or (speaks and makes_graph(callee)):
                    start.append(name.rpartition(".")[2])
        return self.called_from(start) if start else frozenset()

    def _graph_classes(self) -> frozenset[tuple[str, str]]:
        """(path, qualified name) of classes whose methods may be meant where a graph's code calls one on some object:
        those of which objects are made on the way, those that work on tensors, with their heirs, and all bases."""
        if not self.graphed:
            return frozenset()
        bases = {
            (path, klass.qualname): [place for base in klass.bases if (place := self.class_place(path, klass, base))]
            for (path, _), klass in self.classes.items()
        }
        heirs: dict[tuple[str, str], list[tuple[str, str]]] = {}
        for key, places in bases.items():
            for place in places:
                heirs.setdefault(place, []).append(key)
        on_tensors = [
            (path, qualname)
            for (path, qualname), klass in self.classes.items()
            if qualname in self.files[path].torch_classes or any(base.startswith("torch.") for base in klass.bases)
        ]
        meant = _spread(dict.fromkeys(on_tensors, "on tensors"), bases)
        meant |= {key: "made" for key, klass in self.classes.items() if klass.name in self.graphed}
        return frozenset(_spread(meant, heirs))

    def _compiled_in(self, summary: FileSummary) -> frozenset[str]:
        """The functions (qualified names) and classes of a module that are compiled, or may be, somewhere else."""
        found = set(self.compiled.get(summary.module, ()))
        found |= self.script.compiles(summary)
        if self.uses_mods:
            found.update(summary.mods)
        if self.graphed:
            for qualname in summary.functions:
                owner = qualname.rpartition(".")[0]
                if called_by(qualname) in self.graphed and (not owner or (summary.path, owner) in self.graph_classes):
                    found.add(qualname)
        return frozenset(found)

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
            place = self.follow(f"{module}.{function}")
            if place[0]:
                found.add(place)
        return frozenset(found)

    def bases(self, path: str) -> dict[str, frozenset[str]]:
        """Qualified name of each class of a file -> the names of all its bases, where they are defined."""
        return {klass.qualname: frozenset(self.names_above(path, klass)) for klass in self.files[path].facts.classes}

    def _starting(self) -> frozenset[str]:
        """The names, as they are called, of functions that start the tracing as the project has it, and of what calls
        these: those names that mean nothing else in it."""
        found = {name for summary in self.files.values() for name in summary.starts}
        if not found:
            return frozenset()
        meanings = Counter(called_by(qualname) for summary in self.files.values() for qualname in summary.functions)
        calls = [call for summary in self.files.values() for call in summary.calls]
        while True:
            found = {name for name in found if meanings[name] == 1}
            around = {caller for caller, called in calls if not called.isdisjoint(found)}
            if {name for name in around if meanings[name] == 1} <= found:
                return frozenset(found)
            found |= around

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
        return frozenset(klass.qualname for klass in classes if self._is_process(summary.path, klass, HOPS))

    def _maker(self, summary: FileSummary, name: str, hops: int = HOPS) -> Maker | None:
        """What a call of ``name`` in a file comes down to. A class that has its own ``__init__`` is none: what it
        calls in there is."""
        if not hops:
            return None
        if name.startswith(SUPER):
            klass = self.classes.get((summary.path, name.removeprefix(SUPER)))
            return self._maker_above(summary.path, klass, hops) if klass else None
        if name.startswith(CONTEXT):
            return OF_CONTEXTS[name.removeprefix(CONTEXT)]
        if name.startswith(STAR):
            rest = name.removeprefix(STAR)
            stars = (f"{self.absolute(summary, star)}.{rest}" for star in reversed(summary.facts.star_imports))
            return next((maker for star in stars if (maker := self._maker_of(star, hops))), None)
        bare = name.removesuffix(".__init__")
        if bare != name:
            maker = self._maker(summary, bare, hops - 1)
            position = None if maker is None or maker.position is None else maker.position + 1
            return replace(maker, position=position) if maker else None
        if name.startswith(LOCAL):
            klass = self.classes.get((summary.path, name.removeprefix(LOCAL)))
            return self._maker_of_class(summary.path, klass, hops) if klass else None
        head, dot, tail = name.partition(".")
        alias = dict(summary.facts.aliases).get(head)
        if alias and alias != head and not name.startswith("."):  # the bases of a class come as they are written
            return self._maker(summary, alias + dot + tail, hops - 1)
        return self._maker_of(self.absolute(summary, name), hops)

    def _maker_of(self, name: str, hops: int) -> Maker | None:
        if name in MAKERS:
            return MAKERS[name]
        module, rest = self.follow(name)
        if not module:
            return MAKERS.get(rest)
        summary = self.modules[module]
        if (summary.path, rest) in self.classes:
            return self._maker_of_class(summary.path, self.classes[summary.path, rest], hops)
        head, dot, tail = rest.partition(".")
        alias = dict(summary.facts.aliases).get(head)
        return self._maker(summary, alias + dot + tail, hops - 1) if alias else None

    def _maker_of_class(self, path: str, klass: ClassFacts, hops: int) -> Maker | None:
        return None if "__init__" in klass.defines else self._maker_above(path, klass, hops)

    def _maker_above(self, path: str, klass: ClassFacts, hops: int) -> Maker | None:
        """What the first ``__init__`` above a class is that of; None where that cannot be told."""
        for base in klass.bases if hops else ():
            place = self.class_place(path, klass, base)
            if place is None:
                maker = self._maker(self.files[path], base, hops - 1)
                if maker is None and not self._is_harmless(path, base):
                    return None
            elif "__init__" in self.classes[place].defines:
                return None
            else:
                maker = self._maker_above(place[0], self.classes[place], hops - 1)
            if maker is not None:
                # A process whose class has its own run does not care for its target.
                return None if maker.is_process and "run" in klass.defines else maker
        return None

    def _is_process(self, path: str, klass: ClassFacts, hops: int) -> bool:
        for base in klass.bases if hops else ():
            place = self.class_place(path, klass, base)
            if place is not None:
                if self._is_process(place[0], self.classes[place], hops - 1):
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
        while pending := [key for key in self.classes if key not in bases]:  # a base may bring its module in
            for key in pending:
                klass = self.classes[key]
                reason: str | None = own_hazard(klass)
                if reason is None and self.outside:
                    # An object from elsewhere may be one of this class: which it is cannot be told.
                    reason = "hazardous-attribute-set-outside"
                known: list[tuple[str, str]] = []
                for base in klass.bases:
                    place = self.class_place(key[0], klass, base)
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

    def _is_harmless(self, path: str, base: str) -> bool:
        """Whether a base that is no class of the project is a known one, under any of its public names."""
        if base_is_harmless(base):
            return True
        _, name = self.follow(self.absolute(self.files[path], base))
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
