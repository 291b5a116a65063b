"""Which files a command works on: the Python files below the paths named, less what is not the user's own source."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pathspec import GitIgnoreSpec

from dfannotate.cli.show import UserError
from dfannotate.cli.state import project_root as project_root

SUFFIX = ".py"

NOT_OURS = frozenset(
    {
        "vendor",
        "vendored",
        "vendors",
        "_vendor",
        "_vendored",
        "third_party",
        "third-party",
        "thirdparty",
        "_third_party",
        "3rdparty",
        "site-packages",
        "dist-packages",
        "node_modules",
        "bower_components",
        "__pypackages__",
        "__pycache__",
    }
)
"""Names of folders that hold other people's code, or none that was written by hand."""

ENVIRONMENT_MARKS = frozenset({"pyvenv.cfg", "conda-meta"})
"""What the top folder of a virtual or conda environment holds."""


def is_python(name: str) -> bool:
    """Whether a file is Python by its name."""
    return name.endswith(SUFFIX)


def find_sources(
    paths: Sequence[Path],
    *,
    root: Path,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    wanted: Callable[[str], bool] = is_python,
) -> list[Path]:
    """The files that ``paths`` stand for: absolute, without links in them, each once, sorted.

    A file that is named is taken whatever it is called and wherever it lies. Below a folder that is named, the files
    are taken whose name is ``wanted`` (by default those called ``.py``), except hidden and git-ignored ones, those of
    virtual environments and of folders in ``NOT_OURS``, those behind symbolic links (what they point to is found where
    it lies, or is not part of the tree), and those that ``exclude`` matches. With ``include``, only those that it
    matches; a pattern that spells out a folder or file, as ``vendor/mine/**``, opens it as naming it would. Both take
    patterns as ``.gitignore`` does, relative to ``root`` (to the folder named, where it lies elsewhere).

    What does not exist, or cannot be listed, stays in the list, so that reading it reports it as any other file that
    cannot be read.
    """
    found: set[Path] = set()
    for path in paths:
        here = _resolved(path)
        if here.is_dir():
            base = root if here.is_relative_to(root) else here
            found.update(map(Path, _Walk(base, include, exclude, wanted).below(here)))
        else:
            found.add(here)
    return sorted(found)


def dirty_files(root: Path, paths: Iterable[Path]) -> set[Path]:
    """Those of ``paths`` that git knows to differ from the last commit, staged or not, or that it does not track yet;
    relative ones are taken from ``root``. One call of git per repository; without git, or outside a repository,
    nothing is dirty. Raises ``UserError`` where git refuses to say."""
    by_repository: dict[Path, dict[Path, Path]] = {}
    repository_of: dict[Path, Path | None] = {}
    for path in paths:
        real = _resolved(root / path)
        folder = real.parent
        if folder not in repository_of:
            repository_of[folder] = _repository(folder)
        repository = repository_of[folder]
        if repository is not None:
            by_repository.setdefault(repository, {})[real] = path
    dirty: set[Path] = set()
    for repository, candidates in by_repository.items():
        dirty.update(candidates[real] for real in _changed(repository) if real in candidates)
    return dirty


def _changed(repository: Path) -> list[Path]:
    command = ["git", "-C", os.fspath(repository), "status", "--porcelain", "-z", "--no-renames"]
    command += ["--untracked-files=all", "--ignore-submodules=all"]
    # In a hook, these name the repository of the commit, not the one asked about; and a look must not take the lock.
    environment = {key: value for key, value in os.environ.items() if key not in ("GIT_DIR", "GIT_WORK_TREE")}
    environment["GIT_OPTIONAL_LOCKS"] = "0"
    try:
        answer = subprocess.run(command, capture_output=True, env=environment, check=False)
    except FileNotFoundError:
        return []
    if answer.returncode != 0:
        reason = os.fsdecode(answer.stderr).strip().splitlines()
        raise UserError(
            f"{repository}: git cannot tell which files have uncommitted changes: "
            f"{reason[0] if reason else f'exit code {answer.returncode}'}. Use --allow-dirty to go on without it."
        )
    # Each record is two letters of state, a space, and the path from the top of the repository.
    return [repository / os.fsdecode(record[3:]) for record in answer.stdout.split(b"\0") if record]


def _repository(folder: Path) -> Path | None:
    """The top of the git work tree that ``folder`` lies in."""
    return next((top for top in (folder, *folder.parents) if (top / ".git").exists()), None)


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # a link that leads back to itself
        return path.absolute()


@dataclass(frozen=True)
class _Pattern:
    """One line of an ignore file, compiled."""

    regex: re.Pattern[str]
    ignores: bool

    def hits(self, path: str) -> bool:
        """Whether the pattern matches the entry ``path`` itself (folders end in ``/``), rather than a folder above it:
        those were looked at on the way down."""
        start = 0 if self.regex.pattern.startswith("^") else len(path) - 1
        match = self.regex.search(path, start)
        if match is None:
            return False
        if match.groupdict().get("ps_d") is not None:
            return match.end("ps_d") == len(path)
        # What is left with a slash at its end is "folder/**": all that the folder holds, but not the folder.
        return not self.regex.pattern.endswith("/") or match.end() < len(path)


def _patterns(lines: Sequence[str]) -> list[_Pattern]:
    """The lines of an ignore file, compiled; one that is no pattern (a lone ``!``) matches nothing, as with git."""
    try:
        parsed = GitIgnoreSpec.from_lines(lines).patterns
    except (ValueError, re.error):
        return [pattern for line in lines for pattern in _patterns([line])] if len(lines) > 1 else []
    return [_Pattern(p.regex, p.include) for p in parsed if p.regex is not None and p.include is not None]


def check_pattern(pattern: str, where: str) -> None:
    """Raises ``UserError`` where a pattern that the user gave, in the option or setting ``where``, is none."""
    try:
        GitIgnoreSpec.from_lines([pattern])
    except (ValueError, re.error) as error:
        raise UserError(f"{where}: {pattern!r} is no pattern like those of .gitignore: {error}") from None


class _Rules:
    """The patterns of one ignore file, or of the command line; paths are given relative to ``folder``."""

    def __init__(self, lines: Iterable[str], folder: str) -> None:
        self.folder = folder
        self._patterns = list(reversed(_patterns(list(lines))))
        self._prepare()

    def _prepare(self) -> None:
        # Nearly every path matches nothing: one search tells, whatever the number of patterns.
        sources = [pattern.regex.pattern.replace("?P<ps_d>", "?:") for pattern in self._patterns]
        self._any = re.compile("|".join(f"(?:{source})" for source in sources)) if sources else None

    def verdict(self, path: str) -> bool | None:
        """Whether the entry at the absolute ``path`` is matched (``True``), expressly not (``False``, a pattern with
        ``!``), or not mentioned (``None``)."""
        relative = path[len(self.folder) :].lstrip("/")
        if self._any is None or self._any.search(relative) is None:
            return None
        return next((pattern.ignores for pattern in self._patterns if pattern.hits(relative)), None)

    def covers(self, path: str) -> bool:
        """Whether the folder at ``path``, or one above it, is matched."""
        parts = path[len(self.folder) :].strip("/").split("/")
        steps = ("/".join(parts[: depth + 1]) for depth in range(len(parts)))
        return any(self.verdict(f"{self.folder}/{step}/") for step in steps if step)

    def below(self, path: str) -> _Rules:
        """The rules that hold below the folder ``path``, which the user named: if they leave it out, patterns such as
        ``*`` that would leave out whatever it holds are set aside."""
        only_ignores = all(pattern.ignores for pattern in self._patterns)
        if not (self.covers(path) or (path == self.folder and only_ignores)):
            return self
        child = f"{path}/\ufffe"[len(self.folder) :].lstrip("/")  # a name that no pattern means
        kept = _Rules((), self.folder)
        kept._patterns = [pattern for pattern in self._patterns if not (pattern.ignores and pattern.hits(child))]
        kept._prepare()
        return kept


class _Walk:
    """One walk below a folder that was named."""

    def __init__(
        self, base: Path, include: Sequence[str], exclude: Sequence[str], wanted: Callable[[str], bool] = is_python
    ) -> None:
        for option, patterns in (("include", include), ("exclude", exclude)):
            for pattern in patterns:
                check_pattern(pattern, option)
        self._wanted = wanted
        self._base = os.fspath(base)
        self._include = _Rules(include, self._base) if include else None
        self._exclude = _Rules(exclude, self._base)
        self._opened_paths, self._opened_names = _spelled_out(include, self._base)
        self._found: list[str] = []

    def below(self, folder: Path) -> list[str]:
        """The files below ``folder``."""
        here = os.fspath(folder)
        rules = [_Rules(_lines(file), top) for file, top in _ignore_files_above(folder)]
        self._exclude = self._exclude.below(here)
        self._visit(here, [rule.below(here) for rule in rules], self._include_covers(here))
        return self._found

    def _include_covers(self, folder: str) -> bool:
        return self._include is not None and self._include.covers(folder)

    def _visit(self, top: str, rules: list[_Rules], included: bool) -> None:
        # A stack of its own: a tree may be deeper than Python's.
        pending: list[tuple[str, list[_Rules], bool]] = [(top, rules, included)]
        while pending:
            folder, rules, included = pending.pop()
            try:
                with os.scandir(folder) as listing:
                    entries = list(listing)
            except OSError:
                self._found.append(folder)
                continue
            names = {entry.name for entry in entries}
            if folder != top:
                if not ENVIRONMENT_MARKS.isdisjoint(names) and not self._is_opened(folder):
                    continue
                if ".git" in names:  # a repository in the repository: git asks its own ignore files only
                    rules = _own_rules(folder)
                if ".gitignore" in names:
                    rules = [*rules, _Rules(_lines(os.path.join(folder, ".gitignore")), folder)]
            for entry in entries:
                self._take(entry, rules, included, pending)

    def _take(
        self,
        entry: os.DirEntry[str],
        rules: list[_Rules],
        included: bool,
        pending: list[tuple[str, list[_Rules], bool]],
    ) -> None:
        is_folder = entry.is_dir(follow_symlinks=False)
        if is_folder:
            path = entry.path + "/"
        elif self._wanted(entry.name) and entry.is_file(follow_symlinks=False):
            path = entry.path
        else:
            return
        if self._exclude.verdict(path):
            return
        if self._is_opened(entry.path):
            rules = [rule.below(entry.path) for rule in rules] if is_folder else rules
        elif self._is_hidden(entry.name) or (is_folder and entry.name in NOT_OURS) or _ignored(path, rules):
            return
        if self._include is not None:
            verdict = self._include.verdict(path)
            included = included if verdict is None else verdict
        if is_folder:
            pending.append((entry.path, rules, included))
        elif included or self._include is None:
            self._found.append(entry.path)

    def _is_hidden(self, name: str) -> bool:
        # A hidden file that is asked for by its name, such as ``.env``, is not hidden to whoever asks for it.
        return name.startswith(".") and (is_python(name) or not self._wanted(name))

    def _is_opened(self, path: str) -> bool:
        """Whether an ``include`` pattern spells out this path, or leads through it."""
        return path in self._opened_paths or os.path.basename(path) in self._opened_names


def _spelled_out(patterns: Iterable[str], base: str) -> tuple[set[str], set[str]]:
    """What ``include`` patterns say in full: the absolute paths that the fixed beginnings of those with a ``/`` lead
    through, and the bare names."""
    paths: set[str] = set()
    names: set[str] = set()
    for pattern in patterns:
        if pattern.startswith(("!", "#")):
            continue
        if "/" not in pattern.rstrip("/"):
            names.add(pattern.rstrip("/"))  # with wildcards in it, it equals no name
            continue
        path = base
        for part in pattern.strip("/").split("/"):
            if re.search(r"[*?\[\\]", part):
                break
            path = os.path.join(path, part)
            paths.add(path)
    return paths, names


def _ignored(path: str, rules: Sequence[_Rules]) -> bool:
    """Whether the innermost ignore file that mentions ``path`` ignores it."""
    for rule in reversed(rules):
        verdict = rule.verdict(path)
        if verdict is not None:
            return verdict
    return False


def _ignore_files_above(folder: Path) -> list[tuple[str, str]]:
    """The ignore files that hold in ``folder``, outermost first, each with the folder it speaks of: those of its
    repository, from the top down, or, outside one, its own."""
    top = _repository(folder)
    if top is None:
        return [(os.path.join(folder, ".gitignore"), os.fspath(folder))]
    between = [parent for parent in (folder, *folder.parents) if parent.is_relative_to(top)]
    files = [(os.path.join(parent, ".gitignore"), os.fspath(parent)) for parent in reversed(between)]
    return [(os.path.join(_git_folder(top), "info", "exclude"), os.fspath(top)), *files]


def _own_rules(top: str) -> list[_Rules]:
    return [_Rules(_lines(os.path.join(_git_folder(Path(top)), "info", "exclude")), top)]


def _git_folder(top: Path) -> str:
    """Where the repository at ``top`` keeps its ``info`` folder: ``.git``, or where a work tree or submodule says."""
    mark = top / ".git"
    try:
        if mark.is_dir():
            return os.fspath(mark)
        own = top / mark.read_text(encoding="utf-8", errors="surrogateescape").removeprefix("gitdir:").strip()
        shared = own / "commondir"
        return os.fspath(own / shared.read_text(encoding="utf-8").strip() if shared.is_file() else own)
    except OSError:
        return os.fspath(mark)


def _lines(file: str) -> list[str]:
    """The lines of an ignore file; none where it is missing or cannot be read, as git takes it."""
    try:
        with open(file, encoding="utf-8", errors="surrogateescape") as stream:
            return stream.read().splitlines()
    except OSError:
        return []
