"""The house itself: folders and links, what the wheel holds, who imports whom, and what must not stand in the text."""

from __future__ import annotations

import ast
import contextlib
import gzip
import io
import os
import re
import subprocess
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dfannotate import __version__

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "dfannotate"
FOLDERS = sorted(path.name for path in PACKAGE.iterdir() if path.is_symlink())
DEMO_PROGRAM = ROOT / "cli" / "demo_program"


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def package_files() -> dict[str, Path]:
    """Where each file of the installed package lies here, by its path in the wheel."""
    files: dict[str, Path] = {}
    for top, prefix in [(PACKAGE, "dfannotate"), *((ROOT / name, f"dfannotate/{name}") for name in FOLDERS)]:
        for path in repository_files():
            inside = path.is_relative_to(top) and not (top == PACKAGE and path.parent != PACKAGE)
            if inside and not path.is_symlink():
                files[f"{prefix}/{path.relative_to(top).as_posix()}"] = path
    return files


def repository_files() -> list[Path]:
    """What belongs to the repository: what git would commit, or, outside a checkout, what lies here."""
    if (ROOT / ".git").exists():
        command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
        paths = [ROOT / os.fsdecode(name) for name in listed.split(b"\0") if name]
    else:
        walk = os.walk(ROOT)
        paths = [Path(top, name) for top, _, names in walk if "__pycache__" not in top for name in names]
    return sorted(path for path in paths if path.is_file() or path.is_symlink())


def modules() -> list[Path]:
    """The package's own Python files, without the program that the demo annotates."""
    return [path for path in package_files().values() if path.suffix == ".py" and not path.is_relative_to(DEMO_PROGRAM)]


# --- folders, links and lists ---------------------------------------------------------------------------------------


def test_every_package_at_the_top_is_linked_into_the_package() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests"}
    assert packages == set(FOLDERS) == {"analysis", "cli", "codemods", "rules"}


@pytest.mark.parametrize("name", FOLDERS)
def test_links_are_relative(name: str) -> None:
    assert os.readlink(PACKAGE / name) == f"../../{name}"
    assert (PACKAGE / name).resolve() == ROOT / name


def test_every_list_names_every_folder(project: dict[str, Any]) -> None:
    tool = project["tool"]
    wheel = tool["hatch"]["build"]["targets"]["wheel"]
    links = [f"src/dfannotate/{name}" for name in FOLDERS]
    assert sorted(wheel["only-include"]) == sorted(["src/dfannotate", *FOLDERS])
    assert sorted(wheel["exclude"]) == [f"/{link}" for link in links]
    assert wheel["sources"] == {"src/dfannotate": "dfannotate"} | {name: f"dfannotate/{name}" for name in FOLDERS}
    assert sorted(tool["pyright"]["include"]) == sorted([*FOLDERS, "src", "tests"])
    assert sorted(tool["pyright"]["exclude"]) == links
    assert sorted(tool["ruff"]["lint"]["flake8-tidy-imports"]["banned-api"]) == FOLDERS


def test_every_module_has_its_layer(project: dict[str, Any]) -> None:
    contract = next(entry for entry in project["tool"]["importlinter"]["contracts"] if entry["type"] == "layers")
    layers = {name.strip() for layer in contract["layers"] for name in layer.split("|")}
    roots = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__", "__main__"}
    assert layers == {f"dfannotate.{name}" for name in (*roots, *FOLDERS)}


def test_the_layers_hold() -> None:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


# --- what is built --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source distribution and the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_the_wheel_holds_the_package_and_nothing_else(built: Path) -> None:
    expected = package_files()
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        held = {name for name in wheel.namelist() if ".dist-info/" not in name}
        assert held == set(expected)
        assert "dfannotate/py.typed" in held
        changed = [name for name, path in expected.items() if wheel.read(name) != path.read_bytes()]
        assert changed == []


def test_the_wheel_says_what_it_is(built: Path, project: dict[str, Any]) -> None:
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        info = f"dfannotate-{__version__}.dist-info"
        metadata = wheel.read(f"{info}/METADATA").decode()
        assert wheel.read(f"{info}/entry_points.txt").decode().split() == [
            "[console_scripts]", "dfannotate", "=", "dfannotate.cli.main:main",
        ]  # fmt: skip
        assert wheel.read(f"{info}/licenses/LICENSE") == (ROOT / "LICENSE").read_bytes()
        assert wheel.read(f"{info}/WHEEL").decode().count("Tag: py3-none-any\n") == 1
    assert f"\nVersion: {__version__}\n" in metadata
    assert "\nRequires-Python: >=3.10\n" in metadata
    assert "\nLicense-Expression: Apache-2.0\n" in metadata
    required = re.findall(r"^Requires-Dist: ([\w-]+)(?!.*extra ==).*$", metadata, re.M)
    declared = [re.match(r"[\w-]+", line) for line in project["project"]["dependencies"]]
    assert sorted(required) == sorted(match.group() for match in declared if match)


def test_the_source_distribution_holds_the_repository(built: Path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    missing = {path.relative_to(ROOT).as_posix() for path in package_files().values()} - held
    assert missing == set()
    assert {"pyproject.toml", "README.md", "LICENSE", "Makefile", "tests/test_layout.py"} <= held


# --- what stands in the text ----------------------------------------------------------------------------------------

TRACING_API = re.compile(
    r"dft_fn|initialize_log|log_init|log_static|log_event|get_instance|dftracer\.\w|dlio_profiler|DFTRACER_|DLIO_PROFILER"
    r"|\.pfw"
)


SAID_BY_RULES = {"VALID", "INVALID", "MESSAGE"}


def strings(tree: ast.Module) -> Iterator[ast.Constant]:
    """Every string constant but those that stand alone as a statement (docstrings, and comments in that form) and what
    a rule says, to its reader or in its cases, which are tests."""
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    said = {
        id(node)
        for table in ast.walk(tree)
        if isinstance(table, ast.AnnAssign) and isinstance(table.target, ast.Name) and table.target.id in SAID_BY_RULES
        for node in ast.walk(table)
    }
    used = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    in_code = {node.id for node in used if id(node) not in said}
    for part in tree.body if said else ():  # what several cases begin with
        if isinstance(part, ast.Assign) and not {t.id for t in part.targets if isinstance(t, ast.Name)} & in_code:
            said |= {id(node) for node in ast.walk(part)}
    prose |= said
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node


def test_the_tracing_api_stands_in_the_vocabulary_alone() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{constant.lineno}: {constant.value!r}"
        for path in modules()
        if path != PACKAGE / "vocabulary.py"
        for constant in strings(ast.parse(path.read_bytes()))
        if TRACING_API.search(str(constant.value))
    ]
    assert found == []


def test_a_string_of_the_tracing_api_would_be_seen() -> None:
    seen = 'import a\ndef f():\n    """dft_fn"""\n    return f"{a}.pfw", "dft_fn"\n'
    assert {constant.value for constant in strings(ast.parse(seen))} == {".pfw", "dft_fn"}


FORBIDDEN = {
    "home-folder": re.compile(rb"(?<![\w.~-])/(?:root|home/\w+|Users/\w+|work)/[\w.]"),
    "folder-beside-the-repository": re.compile(rb"\.\./" + rb"shared"),
    "package-index": re.compile(rb"(?i)(?:--?(?:extra-)?index-url|--find-links|PIP_\w*INDEX|\w+://[\w.-]+/simple\b)"),
}


@pytest.mark.parametrize("pattern", FORBIDDEN.values(), ids=FORBIDDEN.keys())
def test_the_repository_stands_alone(pattern: re.Pattern[bytes]) -> None:
    """No file names a place of the machine where it was written, in traces inside archives neither."""
    found = []
    for path in repository_files():
        if path.is_symlink() or path == Path(__file__):
            continue
        content = path.read_bytes()
        if path.suffix == ".gz":
            content = unpacked(content)
        match = pattern.search(content)
        if match is not None:
            line = content.count(b"\n", 0, match.start()) + 1
            found.append(f"{path.relative_to(ROOT)}:{line}: {match.group().decode(errors='replace')}")
    assert found == []


def unpacked(content: bytes) -> bytes:
    """As much as can be inflated: some traces are cut off on purpose."""
    whole = bytearray()
    with contextlib.suppress(EOFError, OSError, zlib.error), gzip.open(io.BytesIO(content)) as stream:
        while chunk := stream.read(1 << 16):
            whole += chunk
    return bytes(whole)


def test_links_in_the_documents_lead_somewhere() -> None:
    broken = []
    for path in repository_files():
        if path.suffix == ".md" and not path.is_relative_to(ROOT / "corpus"):
            for target in re.findall(r"\]\(([^)#\s]+)", path.read_text(encoding="utf-8")):
                if "://" not in target and not (path.parent / target).exists():
                    broken.append(f"{path.relative_to(ROOT)}: {target}")
    assert broken == []


def test_make_has_what_the_documents_name() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    for name in ("README.md", "CONTRIBUTING.md"):
        assert set(re.findall(r"\bmake ([a-z]+)", (ROOT / name).read_text(encoding="utf-8"))) <= targets
    assert {"demo", "test", "check", "bench", "laws"} <= targets
