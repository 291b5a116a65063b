"""What ``run --audit`` prepares: which code is counted, and the way by which every Python process comes to count it."""

from __future__ import annotations

import ast
import os
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dfannotate.analysis.audit import FAILURE_SUFFIX, FOLDER, PLAN, AuditSite, plan_text
from dfannotate.cli.files import read_bytes
from dfannotate.cli.state import FOLDER as STATE_FOLDER
from dfannotate.cli.state import MANIFEST_NAME, project_root
from dfannotate.manifest import FileEntry, Site, load
from dfannotate.source import ParseFailure, read_source
from dfannotate.vocabulary import ENABLE_VALUE, ENV_ENABLE, FINALIZE, INITIALIZE, MODULE, OLD_MODULES

HOOK = Path(__file__).resolve().parent / "audit_hook"
"""The folder of the module that counts, which goes onto the path of every interpreter."""
VARIABLE = "DFANNOTATE_AUDIT"
"""Where the counter of a process finds its plan, and leaves its counts."""
_PATH = "PYTHONPATH"

_Function = ast.FunctionDef | ast.AsyncFunctionDef


class AuditError(Exception):
    """The calls cannot be counted; the message says why and what to do."""


@dataclass(frozen=True)
class Plan:
    """``text`` is what the counters read; ``remarks`` say what will not be counted."""

    text: str
    sites: int
    remarks: tuple[str, ...]


def find_manifest(wanted: Path | None, command: list[str]) -> tuple[Path, Path]:
    """The manifest that says what is annotated, and the root that its paths are relative to: ``wanted``, else that of
    the project around the working directory, else that around the script of the command. Raises ``AuditError``."""
    if wanted is not None:
        if not wanted.exists():
            raise AuditError(f"{wanted}: no such manifest; `dfannotate apply` writes one")
        inside = wanted.absolute().parent
        return wanted, inside.parent if inside.name == STATE_FOLDER else project_root(inside)
    scripts = (Path(word) for word in command if word.endswith(".py"))
    for start in (Path.cwd(), *(script for script in scripts if script.is_file())):
        root = project_root(start)
        path = root / STATE_FOLDER / MANIFEST_NAME
        if path.exists():
            return path, root
    raise AuditError(
        f"--audit counts the calls of annotated functions, and no manifest says which these are (looked for"
        f" {project_root(Path.cwd()) / STATE_FOLDER / MANIFEST_NAME}); annotate the program with `dfannotate apply`, or"
        " name the manifest with --manifest"
    )


def make_plan(path: Path, root: Path) -> Plan:
    """Find the code of every function of the manifest that logs an event. Raises ``AuditError``, ``ManifestError``."""
    manifest = load(path)
    sites: list[AuditSite] = []
    files: list[Mapping[str, Any]] = []
    remarks: list[str] = []
    for entry in manifest.files:
        if any(site.event for site in entry.sites):
            _plan_file(entry, root, sites, files, remarks)
    if not sites:
        raise AuditError(f"{path}: names no function that logs an event, so there is nothing to count")
    modules = sorted({MODULE, *OLD_MODULES})
    tracer = {
        "variable": ENV_ENABLE,
        "value": ENABLE_VALUE,
        "initialize": INITIALIZE,
        "finalize": FINALIZE,
        "paths": [f"{os.sep}{module.replace('.', os.sep)}" for module in modules],
    }
    return Plan(plan_text(sites, files, tracer), len(sites), tuple(remarks))


def _plan_file(
    entry: FileEntry, root: Path, sites: list[AuditSite], files: list[Mapping[str, Any]], remarks: list[str]
) -> None:
    try:
        source = read_source(entry.path, read_bytes(root / entry.path, entry.path))
    except ParseFailure as error:
        remarks.append(f"{error}; its functions are not counted")
        return
    changed = source.sha256 != entry.sha256_after
    functions = _functions(source.tree)
    codes: list[tuple[int, str, int]] = []
    taken: set[int] = set()
    for site in entry.sites:
        if not site.event:
            continue
        found = _function_of(site, functions, changed, taken)
        if found is None:
            remarks.append(f"{entry.path}:{site.line}: {site.function} is not there any more, and not counted")
            continue
        taken.add(found.lineno)
        first = min([found.lineno, *(decorator.lineno for decorator in found.decorator_list)])
        codes.append((first, found.name, len(sites)))
        of_creation = site.kind in ("decorator", "init") and (
            isinstance(found, ast.AsyncFunctionDef) or _is_generator(found)
        )
        sites.append(
            AuditSite(entry.path, found.lineno, site.function, site.event, site.category, site.kind, not of_creation)
        )
    path = os.path.realpath(root / entry.path)
    files.append({"path": path, "sha256": source.sha256, "codes": codes})


def _function_of(
    site: Site, functions: Mapping[str, list[_Function]], changed: bool, taken: set[int]
) -> _Function | None:
    """By the line where the manifest puts it; in a file that has changed since, by its name, each function once."""
    free = [function for function in functions.get(site.function, ()) if function.lineno not in taken]
    exact = [function for function in free if function.lineno == site.line]
    if exact or not changed:
        return exact[0] if exact else None
    return free[0] if free else None


def _functions(tree: ast.Module) -> Mapping[str, list[_Function]]:
    """All functions by their qualified names, in order."""
    found: dict[str, list[_Function]] = defaultdict(list)

    def walk(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, _Function):
                found[prefix + child.name].append(child)
                walk(child, f"{prefix}{child.name}.<locals>.")
            elif isinstance(child, ast.ClassDef):
                walk(child, f"{prefix}{child.name}.")
            else:
                walk(child, prefix)

    walk(tree, "")
    return found


def _is_generator(function: _Function) -> bool:
    stack: list[ast.AST] = list(function.body)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(node, _Function | ast.Lambda | ast.ClassDef):
            stack.extend(ast.iter_child_nodes(node))
    return False


def prepare(folder: Path, plan: Plan) -> dict[str, str]:
    """Put the plan into the trace folder; the variables by which the counters find it, and Python finds them.

    Raises ``AuditError``."""
    here = folder.absolute() / FOLDER
    try:
        here.mkdir(parents=True, exist_ok=True)
        if any(here.iterdir()):
            raise AuditError(f"{here}: counts of another run are there; trace into a new folder")
        (here / PLAN).write_text(plan.text, encoding="ascii")
        for number, remark in enumerate(plan.remarks):
            (here / f"plan-{number}{FAILURE_SUFFIX}").write_text(remark + "\n", encoding="utf-8")
    except OSError as error:
        raise AuditError(f"{here}: {error.strerror}; the counts need a folder that can be written") from None
    before = os.environ.get(_PATH)
    return {VARIABLE: str(here), _PATH: str(HOOK) if not before else f"{HOOK}{os.pathsep}{before}"}
