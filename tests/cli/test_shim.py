"""``shim = true``: where the module lies, who imports it, and how it comes and goes; and programs run with it."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from shutil import copytree

import pytest

from dfannotate.analysis.reader import open_traces
from dfannotate.codemods.shim import MARK, shim_text
from dfannotate.manifest import load
from dfannotate.vocabulary import CURRENT, GENERATIONS
from tests.conftest import PROGRAMS, WITHOUT_TORCH, RunCli, WriteTree, described, files_of, run_for_real

CONFIGURED = "[tool.dfannotate]\nshim = true\nfunctions = 'all'\n"
WORK = "def work(values):\n    return [value for value in values]\n"
GUARD = '\nif __name__ == "__main__":\n    print(work("ab"))\n'
PACKAGE = {
    "pyproject.toml": CONFIGURED,
    "pkg/__init__.py": "",
    "pkg/a.py": WORK,
    "pkg/sub/__init__.py": "",
    "pkg/sub/b.py": WORK,
}


NO_TRACER = """\
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("dftracer", "pydftracer"):
            raise ImportError(f"{name} is not installed here")

sys.meta_path.insert(0, Blocked())
"""


def imports(root: Path) -> dict[str, str]:
    """Where each annotated file imports the tracer's names from; ``a or b`` where that depends."""
    found: dict[str, list[str]] = {}
    for file in sorted(root.rglob("*.py")):
        for line in file.read_text().splitlines():
            if "DFTracerFn" in line and line.strip().startswith("from "):
                found.setdefault(file.relative_to(root).as_posix(), []).append(line.split()[1])
    return {path: " or ".join(modules) for path, modules in found.items()}


# --- where it lies --------------------------------------------------------------------------------------------------

EITHER = "try:\n    from .helper import x\nexcept ImportError:\n    from helper import x\n"
RELATIVE = "from .helper import x\n" + WORK
PLACES: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "package": (PACKAGE, {"pkg/a.py": "pkg._dftracer", "pkg/sub/b.py": "pkg._dftracer"}),
    "init": ({"pkg/__init__.py": WORK}, {"pkg/__init__.py": "pkg._dftracer"}),
    "src-layout": (
        {"src/pkg/__init__.py": "", "src/pkg/a.py": WORK},
        {"src/pkg/a.py": "pkg._dftracer"},
    ),
    "script": ({"train.py": WORK + GUARD}, {"train.py": "_dftracer"}),
    "script-and-what-stands-beside-it": (
        {"train.py": "from helper import work\n" + WORK + GUARD, "helper.py": WORK},
        {"train.py": "_dftracer", "helper.py": "_dftracer"},
    ),
    "script-and-package": (
        {"train.py": "import pkg.a\n" + WORK + GUARD, "pkg/__init__.py": "", "pkg/a.py": WORK},
        {"train.py": "_dftracer", "pkg/a.py": "pkg._dftracer"},
    ),
    "two-packages": (
        {"one/__init__.py": "", "one/a.py": WORK, "two/__init__.py": "", "two/a.py": WORK},
        {"one/a.py": "one._dftracer", "two/a.py": "two._dftracer"},
    ),
    "script-in-a-package": (
        {"pkg/__init__.py": "", "pkg/tool.py": WORK + GUARD, "pkg/a.py": WORK},
        {"pkg/a.py": "pkg._dftracer", "pkg/tool.py": "pkg._dftracer or dftracer.python"},
    ),
    "script-in-a-package-that-imports-it-by-name": (
        {"pkg/__init__.py": "", "pkg/tool.py": "import pkg.a\n" + WORK + GUARD, "pkg/a.py": WORK},
        {"pkg/a.py": "pkg._dftracer", "pkg/tool.py": "pkg._dftracer"},
    ),
    "script-in-a-package-with-relative-imports": (
        {"pkg/__init__.py": "", "pkg/tool.py": RELATIVE + GUARD, "pkg/helper.py": "x = 1\n"},
        {"pkg/tool.py": "pkg._dftracer"},
    ),
    "script-in-a-package-that-is-run-either-way": (
        {
            "pkg/__init__.py": "",
            "pkg/tool.py": EITHER + WORK + GUARD,
            "pkg/helper.py": "x = 1\n",
        },
        {"pkg/tool.py": "pkg._dftracer or dftracer.python"},
    ),
    "main-of-a-package-that-imports-nothing-of-it": (
        {"pkg/__init__.py": "", "pkg/__main__.py": WORK + "work('ab')\n", "pkg/a.py": WORK},
        {"pkg/__main__.py": "pkg._dftracer or dftracer.python", "pkg/a.py": "pkg._dftracer"},
    ),
    "init-in-the-root-too": (
        {"r/__init__.py": "", "r/run.py": "import pkg.a\n" + WORK, "r/pkg/__init__.py": "", "r/pkg/a.py": WORK},
        {"r/pkg/a.py": "pkg._dftracer", "r/run.py": "dftracer.python"},
    ),
    "init-in-the-root-and-a-script-there": (
        {"r/__init__.py": "", "r/run.py": "import pkg.a\n" + WORK + GUARD, "r/pkg/__init__.py": "", "r/pkg/a.py": WORK},
        {"r/pkg/a.py": "pkg._dftracer", "r/run.py": "_dftracer"},
    ),
    "package-with-a-module-called-as-something-installed": (
        {"pkg/__init__.py": "", "pkg/torch.py": WORK, "pkg/a.py": "import torch\n" + WORK},
        {"pkg/torch.py": "pkg._dftracer", "pkg/a.py": "pkg._dftracer"},
    ),
    "root-with-an-init-whose-files-import-one-another-as-scripts-do": (
        {"r/__init__.py": "", "r/run.py": "import tools\n" + WORK + GUARD, "r/tools.py": WORK},
        {"r/run.py": "_dftracer", "r/tools.py": "_dftracer"},
    ),
    "folder-that-is-no-package-but-imported-as-one": (
        {"run.py": "from tools.io import work\n" + GUARD, "tools/io.py": WORK},
        {"tools/io.py": "dftracer.python"},
    ),
    "module-of-which-nothing-is-known": ({"alone.py": WORK}, {"alone.py": "dftracer.python"}),
    "inner-package-called-as-something-installed": (
        {
            "pkg/__init__.py": "",
            "pkg/json/__init__.py": "",
            "pkg/json/a.py": "import json.decoder\n" + WORK,
            "pkg/b.py": "from . import json\n" + WORK,
        },
        {"pkg/json/a.py": "pkg._dftracer", "pkg/b.py": "pkg._dftracer"},
    ),
}


@pytest.mark.parametrize(("tree", "expected"), PLACES.values(), ids=PLACES.keys())
def test_where_a_file_imports_from(
    tree: dict[str, str], expected: dict[str, str], write_tree: WriteTree, run_cli: RunCli
) -> None:
    root = write_tree({"pyproject.toml": CONFIGURED, **tree})
    before = files_of(root)
    result = run_cli("apply", root)
    assert result.code == 0, result.err
    found = imports(root)
    assert {path: found[path] for path in expected} == expected
    for path in expected:
        said = "imports dftracer itself" in result.err and path in result.err
        assert said == (CURRENT.module in expected[path])
    annotated = files_of(root)
    shims = {path for path in annotated if Path(path).stem == "_dftracer"}
    assert shims == set(annotated) - set(before)
    assert all(annotated[path].decode() == shim_text(CURRENT) for path in shims)
    assert run_cli("apply", root).code == 0
    assert files_of(root) == annotated
    assert run_cli("apply", root, "--check").code == 0
    assert run_cli("revert", root).code == 0
    assert files_of(root) == before
    assert not (root / ".dfannotate" / "manifest.json").exists()


def test_the_usual_name_is_taken(write_tree: WriteTree, run_cli: RunCli) -> None:
    root = write_tree({**PACKAGE, "pkg/_dftracer.py": "own = 1\n", "pkg/_dftracer_2/x.py": "own = 2\n"})
    before = files_of(root)
    assert run_cli("apply", root).code == 0
    assert imports(root)["pkg/a.py"] == "pkg._dftracer_3"
    assert (root / "pkg" / "_dftracer.py").read_text() == "own = 1\n"
    assert (root / "pkg" / "_dftracer_3.py").read_text() == shim_text(CURRENT)
    annotated = files_of(root)
    assert run_cli("apply", root).code == 0
    assert files_of(root) == annotated
    assert run_cli("revert", root).code == 0
    assert files_of(root) == before


RUNS = {
    "script": ("script", "train.py", "."),
    "beside": ("script-and-what-stands-beside-it", "train.py", "."),
    "script-and-package": ("script-and-package", "train.py", "."),
    "from-elsewhere": ("script-and-package", "../train.py", "pkg"),
    "in-a-package": ("script-in-a-package-that-imports-it-by-name", "-m pkg.tool", "."),
    "script-in-a-package-imported": ("script-in-a-package", "-c from~pkg.tool~import~work;print(work('ab'))", "."),
    "script-in-a-package-as-module": ("script-in-a-package", "-m pkg.tool", "."),
    "run-either-way-as-module": ("script-in-a-package-that-is-run-either-way", "-m pkg.tool", "."),
    "relative": ("script-in-a-package-with-relative-imports", "-m pkg.tool", "."),
    "root": ("root-with-an-init-whose-files-import-one-another-as-scripts-do", "r/run.py", "."),
    "root-and-package": ("init-in-the-root-and-a-script-there", "r/run.py", "."),
}


@pytest.mark.parametrize(("place", "command", "where"), RUNS.values(), ids=RUNS.keys())
def test_the_module_is_found(
    place: str, command: str, where: str, write_tree: WriteTree, run_cli: RunCli, tmp_path: Path
) -> None:
    blocked = {"blocked/sitecustomize.py": NO_TRACER}
    root = write_tree({"pyproject.toml": CONFIGURED, **PLACES[place][0], **blocked})
    assert run_cli("apply", root, "--exclude", "blocked").code == 0
    command_line = [sys.executable, *(word.replace("~", " ") for word in command.split())]
    done = run_for_real(command_line, root / where, path=[root / "blocked"])
    assert (done.returncode, done.stdout) == (0, "['a', 'b']\n"), done.stderr


# --- coming and going -----------------------------------------------------------------------------------------------


@pytest.fixture
def package(write_tree: WriteTree) -> Path:
    return write_tree(PACKAGE)


def test_the_manifest_names_it(package: Path, run_cli: RunCli) -> None:
    assert run_cli("apply", package).code == 0
    document = json.loads((package / ".dfannotate" / "manifest.json").read_text())
    entries = {entry["path"]: entry for entry in document["files"]}
    shim = entries["pkg/_dftracer.py"]
    assert (shim["generated"], shim["sites"], shim["sha256_before"]) == (True, [], "")
    assert entries["pkg/sub/b.py"]["shim"] == "pkg/_dftracer.py"
    assert "generated" not in entries["pkg/sub/b.py"]
    manifest = load(package / ".dfannotate" / "manifest.json")
    assert manifest.by_path()["pkg/_dftracer.py"].generated


def test_it_is_never_annotated(package: Path, run_cli: RunCli) -> None:
    assert run_cli("apply", package).code == 0
    shim = package / "pkg" / "_dftracer.py"
    result = run_cli("apply", shim, package / "pkg" / "a.py", "--format", "json")
    assert shim.read_text() == shim_text(CURRENT)
    assert json.loads(result.out)["left_out"] == [{"path": "pkg/_dftracer.py", "reason": "generated"}]


def test_what_is_said(package: Path, run_cli: RunCli) -> None:
    result = run_cli("apply", package, "--check")
    assert result.code == 1
    assert f"would write {package}/pkg/_dftracer.py" in result.out
    assert not (package / "pkg" / "_dftracer.py").exists()
    diff = run_cli("apply", package, "--diff").out
    assert "+++ pkg/_dftracer.py" in diff
    assert f"+{MARK}\n" in diff
    result = run_cli("apply", package, "--format", "json")
    document = json.loads(result.out)
    assert document["changed"] == ["pkg/_dftracer.py", "pkg/a.py", "pkg/sub/b.py"]
    result = run_cli("revert", package, "--check", "--format", "json")
    assert result.code == 1
    assert {"path": "pkg/_dftracer.py", "how": "removed"} in json.loads(result.out)["changed"]
    assert f"removed {package}/pkg/_dftracer.py" in run_cli("revert", package).out


def test_it_goes_with_the_last_file_that_imports_it(package: Path, run_cli: RunCli) -> None:
    shim = package / "pkg" / "_dftracer.py"
    run_cli("apply", package)
    assert run_cli("revert", package / "pkg" / "a.py").code == 0
    assert shim.exists()
    assert run_cli("revert", package / "pkg" / "sub" / "b.py").code == 0
    assert not shim.exists()
    assert not (package / ".dfannotate" / "manifest.json").exists()


def test_it_goes_when_it_is_no_longer_wanted(package: Path, run_cli: RunCli) -> None:
    run_cli("apply", package)
    (package / "pyproject.toml").write_text(CONFIGURED.replace("true", "false"))
    result = run_cli("apply", package)
    assert result.code == 0
    assert "removed" in result.out
    assert set(imports(package).values()) == {CURRENT.module}
    assert not (package / "pkg" / "_dftracer.py").exists()


def test_it_is_written_anew_when_it_is_gone_or_stale(package: Path, run_cli: RunCli) -> None:
    shim = package / "pkg" / "_dftracer.py"
    run_cli("apply", package)
    shim.unlink()
    assert run_cli("apply", package, "--check").code == 1
    assert run_cli("apply", package).code == 0
    assert shim.read_text() == shim_text(CURRENT)
    annotated = files_of(package)
    assert run_cli("apply", package, "--target", "1.0.11").code == 0
    assert shim.read_text() == shim_text(GENERATIONS[2])
    now = files_of(package)
    assert {path for path in now if now[path] != annotated[path]} == {"pkg/_dftracer.py"}  # the target is its matter


def test_one_that_is_known_to_no_manifest_is_taken_over(package: Path, run_cli: RunCli) -> None:
    (package / "pkg" / "_dftracer.py").write_text(shim_text(GENERATIONS[0]))
    assert run_cli("apply", package).code == 0
    assert imports(package)["pkg/a.py"] == "pkg._dftracer"
    assert (package / "pkg" / "_dftracer.py").read_text() == shim_text(CURRENT)


def test_one_that_was_edited_is_left(package: Path, run_cli: RunCli) -> None:
    shim = package / "pkg" / "_dftracer.py"
    run_cli("apply", package)
    edited = shim.read_text() + "mine = 1\n"
    shim.write_text(edited)
    result = run_cli("apply", package)
    assert result.code == 0
    assert "pkg/_dftracer.py: edited since dfannotate wrote it, so it stays as it is" in result.err
    assert shim.read_text() == edited
    result = run_cli("revert", package)
    assert result.code == 0
    assert "_dftracer.py: edited since dfannotate wrote it, so it was left" in result.err
    assert shim.read_text() == edited
    assert imports(package) == {}


def test_a_manifest_cannot_have_another_file_removed(package: Path, run_cli: RunCli) -> None:
    run_cli("apply", package)
    manifest = package / ".dfannotate" / "manifest.json"
    document = json.loads(manifest.read_text())
    for entry in document["files"]:
        if entry.get("generated"):
            entry["path"] = "pkg/sub/__init__.py"
            entry["sha256_after"] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"  # of nothing
    manifest.write_text(json.dumps(document))
    assert run_cli("revert", package).code == 0
    assert (package / "pkg" / "sub" / "__init__.py").exists()


def test_files_that_were_edited_are_reverted_by_structure(package: Path, run_cli: RunCli) -> None:
    run_cli("apply", package)
    file = package / "pkg" / "a.py"
    file.write_text(file.read_text() + "\n\nMORE = 1\n")
    assert run_cli("revert", package).code == 0
    assert "dftracer" not in file.read_text()
    assert "MORE = 1" in file.read_text()
    assert not (package / "pkg" / "_dftracer.py").exists()


def test_a_file_with_two_imports_is_reverted_by_structure(package: Path, run_cli: RunCli) -> None:
    file = package / "pkg" / "tool.py"
    file.write_text(WORK + GUARD)
    run_cli("apply", package)
    assert "if __package__:" in file.read_text()
    file.write_text(file.read_text() + "\n\nMORE = 1\n")
    assert run_cli("revert", package).code == 0
    assert file.read_text().split() == (WORK + GUARD + "MORE = 1").split()


def test_without_the_manifest_annotated_files_are_known(package: Path, run_cli: RunCli) -> None:
    (package / "pkg" / "tool.py").write_text(WORK + GUARD)
    run_cli("apply", package)
    annotated = files_of(package)
    (package / ".dfannotate" / "manifest.json").unlink()
    assert run_cli("apply", package).code == 0
    assert files_of(package) == annotated


def test_a_folder_that_cannot_be_written_fails_the_files_that_would_import_from_it(
    package: Path, run_cli: RunCli, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dfannotate.cli import files

    def refuse(path: Path, data: bytes) -> None:
        raise files.WriteError("cannot be written: Permission denied")

    monkeypatch.setattr(files, "create", refuse)
    before = files_of(package)
    result = run_cli("apply", package)
    assert result.code == 2
    assert "pkg/_dftracer.py: cannot be written: Permission denied" in result.err
    assert files_of(package) == before


# --- packages that the tracer imports itself ------------------------------------------------------------------------

IMPORTED = {
    "networkx/__init__.py": "from networkx.names import name\n\nname('first')\n\nfrom networkx.graphs import Graph\n",
    "networkx/names.py": "def name(word):\n    return [letter for letter in word]\n",
    "networkx/graphs.py": (
        "from networkx.names import name\n\n\nclass Graph:\n    @property\n    def size(self):\n"
        "        return len(self.nodes())\n\n    def nodes(self):\n        return name('ab')\n"
    ),
    "typing_extensions.py": "def override(function):\n    return [function][0]\n",
}
"""A package of that name, and a module."""

CIRCLE = """\
import functools
import networkx
import typing_extensions

Graph = networkx.Graph  # as a module in the tracer's imports does
seen = []


class dft_fn:
    def __init__(self, cat, name=None):
        self.name = name

    def __enter__(self):
        seen.append(self.name)
        return self

    def __exit__(self, *_):
        return None

    def log(self, function):
        @functools.wraps(function)
        def call(*args, **kwargs):
            seen.append(function.__qualname__)
            return function(*args, **kwargs)

        return call

    log_static = log_init = log


class dftracer:
    pass


DFTRACER_ENABLE = True
"""
"""A tracer whose import imports that package."""

USE = "print(networkx.Graph().size, networkx.Graph.nodes.__module__, typing_extensions.override(3))\n"


@pytest.mark.parametrize("enable", ["0", "1"], ids=["off", "on"])
@pytest.mark.parametrize(
    "order",
    [
        "import networkx, dftracer.python",
        "import dftracer.python, networkx",
        "import typing_extensions, networkx, dftracer.python",
    ],
)
def test_a_package_that_the_tracer_imports_does_not_import_it_in_a_circle(
    order: str, enable: str, tmp_path_factory: pytest.TempPathFactory, write_tree: WriteTree, run_cli: RunCli
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    root = write_tree(IMPORTED)
    before = files_of(root)
    assert run_cli("apply", root, "--functions", "all").code == 0
    annotated = files_of(root)
    assert set(annotated) - set(before) == {"networkx/_dftracer.py"}
    assert annotated["typing_extensions.py"] == before["typing_extensions.py"]
    assert imports(root) == {"networkx/names.py": "networkx._dftracer", "networkx/graphs.py": "networkx._dftracer"}
    tracer = elsewhere / "dftracer" / "python"
    tracer.mkdir(parents=True)
    (tracer.parent / "__init__.py").touch()
    (tracer / "__init__.py").write_text(CIRCLE)
    program = f"{order}\nimport typing_extensions\n{USE}print(dftracer.python.seen)"
    done = run_for_real(
        [sys.executable, "-c", program], elsewhere, path=[root, elsewhere], environ={"DFTRACER_ENABLE": enable}
    )
    assert done.returncode == 0, done.stderr
    events = ["size", "Graph.nodes", "name"] if enable == "1" else []
    assert done.stdout.splitlines() == ["2 networkx.graphs 3", str(events)]
    assert run_cli("apply", root, "--functions", "all").code == 0
    assert files_of(root) == annotated
    assert run_cli("lint", root).code == 0
    assert run_cli("revert", root).code == 0
    assert files_of(root) == before


# --- projects that look at what is imported --------------------------------------------------------------------------

WATCHES = {
    "replaced": "import builtins\nreal = builtins.__import__\n\ndef test(f):\n    builtins.__import__ = f\n",
    "patched": "def test(monkeypatch, f):\n    monkeypatch.setattr('builtins.__import__', f)\n",
    "asked": "import sys\n\ndef test():\n    import pkg.a\n    assert 'torch' not in sys.modules\n",
    "measured": "COMMAND = ['python', '-X', 'importtime', '-c', 'import pkg']\n",
}
WATCHED = {
    "pyproject.toml": "",
    "pkg/__init__.py": "from pkg.a import work\n",
    "pkg/a.py": (
        f"import os\n\n\n{WORK}\n\nclass Box:\n    @property\n    def size(self):\n        return len(work('ab'))\n"
    ),
    "pkg/tool.py": WORK + GUARD,
    "main.py": f"import pkg\n\n\n{WORK}{GUARD}",
}
WATCHER = """\
import builtins
import json
import sys

real = builtins.__import__
seen = set()


def watching(name, globals=None, locals=None, fromlist=(), level=0):
    if globals and globals["__name__"].startswith("pkg"):
        seen.add(name)
    return real(name, globals, locals, fromlist, level)


builtins.__import__ = watching
import pkg
from pkg.a import Box

pkg.work("ab"), Box().size
print(json.dumps([sorted(seen), [name for name in ("dftracer", "torch", "numpy") if name in sys.modules]]))
"""


@pytest.mark.parametrize("watch", WATCHES)
def test_where_imports_are_watched_the_tracer_is_kept_out_of_them(
    watch: str, write_tree: WriteTree, run_cli: RunCli
) -> None:
    root = write_tree({**WATCHED, "tests/test_imports.py": WATCHES[watch]})
    before = files_of(root)
    assert run_cli("apply", root / "pkg", root / "main.py", "--functions", "all").code == 0
    annotated = files_of(root)
    assert set(annotated) - set(before) == {"pkg/_dftracer.py", "_dftracer.py"}
    assert annotated["pkg/_dftracer.py"].decode() == shim_text(CURRENT, late=True)
    # A script has none that imports the tracer with tracing off; with it on, it is what starts the tracing.
    assert annotated["_dftracer.py"].decode() == shim_text(CURRENT)
    assert imports(root) == {
        "pkg/a.py": "pkg._dftracer",
        "pkg/tool.py": "pkg._dftracer or dftracer.python",
        "main.py": "_dftracer",
    }
    assert run_cli("apply", root / "pkg", root / "main.py", "--functions", "all").code == 0
    assert files_of(root) == annotated
    assert run_cli("lint", root).code == 0
    assert run_cli("revert", root).code == 0
    assert files_of(root) == before


@pytest.mark.parametrize("enable", ["0", "1"], ids=["off", "on"])
def test_what_a_package_imports_is_what_it_was(
    enable: str, tmp_path: Path, write_tree: WriteTree, run_cli: RunCli
) -> None:
    root = write_tree({**WATCHED, "tests/test_imports.py": WATCHES["replaced"]})

    def watched() -> tuple[set[str], list[str]]:
        done = run_for_real([sys.executable, "-c", WATCHER], root, path=(), environ={"DFTRACER_ENABLE": enable})
        assert done.returncode == 0, done.stderr
        seen, loaded = json.loads(done.stdout)
        return set(seen), loaded

    before, none = watched()
    assert (before, none) == ({"os", "pkg.a"}, [])
    assert run_cli("apply", root / "pkg", "--functions", "all").code == 0
    after, loaded = watched()
    assert loaded == []
    assert after - before == {"functools", "itertools", "pkg._dftracer", "sys"}


def test_a_script_that_asks_what_is_imported_is_told_what_it_was(write_tree: WriteTree, run_cli: RunCli) -> None:
    asks = "import sys\n\nprint('numpy' in sys.modules, 'dftracer' in sys.modules)\n"
    root = write_tree({"train.py": f"{asks}\n\n{WORK}{GUARD}{asks}"})

    def run() -> str:
        done = run_for_real([sys.executable, root / "train.py"], root, path=())
        assert done.returncode == 0, done.stderr
        return done.stdout

    before = run()
    assert run_cli("apply", root, "--functions", "all").code == 0
    assert imports(root) == {"train.py": "_dftracer"}
    assert run() == before == "False False\n['a', 'b']\nFalse False\n"


# --- for real -------------------------------------------------------------------------------------------------------

REAL = ("package_relative_imports", "hazards", "console_script", "main_guard")


def run_first(
    folder: Path, work: Path, *, path: tuple[Path, ...] = (), traces: Path | None = None
) -> tuple[int, str, str, list[str]]:
    """Run the first command of a program: exit code, stdout, stderr, and what it left in its working directory."""
    description = described(PROGRAMS / folder.name)
    work.mkdir(parents=True)
    places = {"python": sys.executable, "program": str(folder), "out": str(work / "out")}
    here = work / "here"
    here.mkdir()
    command = [word.format_map(places) for word in description["runs"][0]["command"]]
    if traces is not None:
        command = [sys.executable, "-m", "dfannotate", "run", "--quiet", "--trace-dir", str(traces), "--", *command]
    own = (folder / entry for entry in description.get("python_path", ()))
    done = run_for_real(command, here, path=[*path, WITHOUT_TORCH, *own])
    return done.returncode, done.stdout, done.stderr, sorted(path.name for path in here.iterdir())


def events_in(traces: Path) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    for total in open_traces(traces).totals():
        if total.category not in ("dftracer", "POSIX", "STDIO"):
            found[total.category, total.name] += total.count
    return found


@pytest.mark.parametrize("name", REAL)
def test_a_program_without_the_tracer_does_what_it_did_and_with_it_is_traced_whole(
    name: str, tmp_path: Path, run_cli: RunCli
) -> None:
    blocked = tmp_path / "blocked"
    blocked.mkdir()
    (blocked / "sitecustomize.py").write_text(NO_TRACER)
    original = copytree(PROGRAMS / name, tmp_path / "original" / name)
    plain = run_first(original, tmp_path / "plain", path=(blocked,))
    events = {}
    for kind in ("direct", "shim", "watched"):
        folder = copytree(PROGRAMS / name, tmp_path / kind / name)
        if kind == "watched":
            (folder / "test_watching.py").write_text(WATCHES["asked"])
        with open(folder / "pyproject.toml", "a") as stream:
            stream.write(f"\n[tool.dfannotate]\nshim = {str(kind == 'shim').lower()}\nfunctions = 'all'\n")
        assert run_cli("apply", folder).code == 0
        if kind == "shim":
            assert run_first(folder, tmp_path / "off", path=(blocked,)) == plain
        elif kind == "direct":
            assert run_first(folder, tmp_path / "needs-it", path=(blocked,))[0] != plain[0]
        traces = tmp_path / f"traces-{kind}"
        code, out, err, left = run_first(folder, tmp_path / f"on-{kind}", traces=traces)
        assert (code, out, left) == (plain[0], plain[1], plain[3]), err
        events[kind] = events_in(traces)
    assert events["shim"] == events["watched"] == events["direct"]
    assert events["shim"].total() >= 3
    manifest = tmp_path / "shim" / name / ".dfannotate" / "manifest.json"
    result = run_cli("verify", tmp_path / "traces-shim", "--manifest", manifest, "--format", "json")
    assert [check for check in json.loads(result.out)["checks"] if check["status"] == "fail"] == []
