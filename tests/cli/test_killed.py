"""``apply`` and ``revert``, killed: no file is ever half of each, and the next command puts everything right."""

from __future__ import annotations

import io
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from dfannotate.cli.main import main
from dfannotate.manifest import load
from tests.conftest import LIBRARY, MANIFEST, RunCli, WriteTree, files_of, sources_of

MORE = "\n\ndef save(path):\n    open(path, 'w').write('')\n"
PROJECT: dict[str, str | bytes] = {
    "pyproject.toml": "",
    "train.py": LIBRARY + '\n\nif __name__ == "__main__":\n    load(__file__)\n',
    "pkg/__init__.py": "",
    "pkg/io.py": LIBRARY.replace("\n", "\r\n"),
    "pkg/latin.py": ("# coding: latin-1\n" + LIBRARY + "# é").encode("latin-1"),
}
MANY = {
    "pyproject.toml": "",
    **{f"pkg{number % 7}/m{number}.py": LIBRARY.replace("load", f"load_{number}") for number in range(60)},
}
GITIGNORE = ".dfannotate/.gitignore"
WRITES = frozenset({"os.rename", "os.remove", "os.mkdir", "os.chmod", "os.chown"})
SLOW = """
import os, sys, time
real = os.replace
def replace(*arguments):
    print(end=".", file=sys.stderr, flush=True)
    time.sleep(0.004)
    real(*arguments)
    time.sleep(0.004)
os.replace = replace
from dfannotate.cli.main import main
print(end=".", file=sys.stderr, flush=True)
sys.exit(main(sys.argv[1:]))
"""


def killed_before(moment: int, root: Path, *arguments: str) -> bool:
    """The command in a fork of this process that is killed before its ``moment``-th change of the disk (0: before the
    first); whether it came that far."""
    pid = os.fork()
    if not pid:
        changes = 0
        top = str(root)

        def hook(event: str, details: tuple[Any, ...]) -> None:
            nonlocal changes
            if event in WRITES or (event == "open" and str(details[0]).startswith(top)):
                if changes == moment:
                    os.kill(os.getpid(), signal.SIGKILL)
                changes += 1

        code = 99
        try:
            sys.stdout = sys.stderr = io.StringIO()
            sys.addaudithook(hook)
            code = main(list(arguments))
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert code in (0, -signal.SIGKILL)
    return code != 0


def each_moment(
    state: Mapping[str, bytes], folders: pytest.TempPathFactory, command: str, *flags: str
) -> Iterator[Path]:
    """A project in ``state``, in a new folder, after the command was killed before its first change of the disk; after
    it was killed before its second; and so on, until it is through."""
    moment = 0
    was_killed = True
    while was_killed:
        root = folders.mktemp("killed")
        for name, data in state.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(data)
        was_killed = killed_before(moment, root, command, str(root), *flags)
        yield root
        moment += 1
    assert moment > 15


def kill_during(command: str, root: Path, moment: int, delay: float) -> None:
    """Kill the command once it has begun with so many replacements (0: once it is loaded), and a little later."""
    arguments = [sys.executable, "-c", SLOW, command, str(root)]
    with subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, bufsize=0) as process:
        assert process.stderr is not None
        for _ in range(moment + 1):
            process.stderr.read(1)
        time.sleep(delay)
        process.kill()


def assert_whole(root: Path, old: Mapping[str, bytes], new: Mapping[str, bytes]) -> None:
    """Every file is the old one or the new one, and the manifest is one, or is not there."""
    now = sources_of(root)
    assert set(now) == set(old)
    assert not [name for name, data in now.items() if data not in (old[name], new[name])]
    if (root / MANIFEST).exists():
        load(root / MANIFEST)


def edit(root: Path, *names: str) -> None:
    """Add a function to files that are annotated."""
    for name in names:
        with open(root / name, "ab") as stream:
            stream.write(MORE.encode())


@pytest.mark.parametrize("edited", [False, True], ids=["first", "edited-since"])
@pytest.mark.parametrize("then", ["apply", "revert"])
def test_apply_killed_before_every_single_change_of_the_disk(
    write_tree: WriteTree, run_cli: RunCli, tmp_path_factory: pytest.TempPathFactory, edited: bool, then: str
) -> None:
    project = write_tree(PROJECT)
    if edited:
        run_cli("apply", project)
        edit(project, "train.py", "pkg/io.py")
    start, old = files_of(project, own=True), sources_of(project)
    run_cli("apply", project)
    end, new = files_of(project, own=True), sources_of(project)
    run_cli("revert", project)
    base = sources_of(project)
    for root in each_moment(start, tmp_path_factory, "apply", "--jobs", "1"):
        assert_whole(root, old, new)
        if then == "apply":
            assert run_cli("apply", root).code == 0
            assert files_of(root, own=True) == end
        code = run_cli("revert", root).code
        assert sources_of(root) == base
        left = set(files_of(root, own=True)) - set(start) - {GITIGNORE}
        if code == 2:  # killed before anything was annotated: there is no manifest, which revert says
            assert then == "revert"
            left -= {".dfannotate/.manifest.json.pending.new"}
        assert not left


@pytest.mark.parametrize("edited", [False, True], ids=["as-written", "edited-since"])
@pytest.mark.parametrize("then", ["apply", "revert"])
def test_revert_killed_before_every_single_change_of_the_disk(
    write_tree: WriteTree, run_cli: RunCli, tmp_path_factory: pytest.TempPathFactory, edited: bool, then: str
) -> None:
    project = write_tree(PROJECT)
    base = sources_of(project)
    run_cli("apply", project)
    if edited:
        edit(project, "train.py")
        base["train.py"] += MORE.encode()
    start, annotated = files_of(project, own=True), sources_of(project)
    for root in each_moment(start, tmp_path_factory, "revert"):
        assert_whole(root, annotated, base)
        if then == "apply":
            assert run_cli("apply", root).code == 0
        run_cli("revert", root)
        assert sources_of(root) == base
        assert set(files_of(root, own=True)) == {*PROJECT, GITIGNORE}


@pytest.mark.parametrize(
    ("command", "seed", "moments"), [("apply", 2, (0, 0, 1, 2, 61)), ("revert", 5, (0, 1, 2))], ids=["apply", "revert"]
)
def test_killed_at_any_time(
    command: str, seed: int, moments: tuple[int, ...], write_tree: WriteTree, run_cli: RunCli
) -> None:
    root = write_tree(MANY)
    old = sources_of(root)
    run_cli("apply", root)
    new, complete = sources_of(root), (root / MANIFEST).read_bytes()
    chance = random.Random(seed)
    seen: set[str] = set()
    for moment in (*moments, *chance.sample(range(4, 60), 3)):
        run_cli("revert" if command == "apply" else "apply", root)
        kill_during(command, root, moment, chance.uniform(0, 0.01 if moment else 0.6))
        assert_whole(root, old, new)
        seen.add("between" if sources_of(root) not in (old, new) else "at an end")
        if command == "apply":
            assert run_cli("apply", root).code == 0
            assert sources_of(root) == new
            assert (root / MANIFEST).read_bytes() == complete
        run_cli("revert", root)
        assert sources_of(root) == old
        assert set(files_of(root, own=True)) == {*MANY, GITIGNORE}
    assert "between" in seen
