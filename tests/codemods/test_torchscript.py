"""What TorchScript compiles of a project: by what names it, and what that calls."""

from __future__ import annotations

import pytest

from tests.codemods.conftest import project_of


def test_what_forward_calls_may_be_scripted_however_far() -> None:
    files = {
        "m.py": "import torch.jit\ndef forward(): a()\ndef a(): b(); forward()\n",
        "n.py": "def b(): c()\ndef d(): a()\n",
    }
    assert project_of(files).script.names == {"forward", "a", "b", "c"}


@pytest.mark.parametrize(
    ("base", "compiled"),
    [
        pytest.param("torch.nn.Module", {"M.size", "M.forward", "measure"}, id="module"),
        pytest.param("Base", {"M.size", "M.forward", "measure"}, id="derived"),
        pytest.param("object", {"M.forward"}, id="other-class"),
    ],
)
def test_properties_of_a_module_are_scripted_with_it(base: str, compiled: set[str]) -> None:
    text = (
        f"import torch.jit\nfrom m import Base\nclass M({base}):\n    def forward(self, x): return x\n"
        "    @property\n    def size(self): return measure(1)\n    @size.setter\n    def size(self, to): pass\n"
        "    def other(self): pass\ndef measure(x): return x\n"
    )
    project = project_of({"m.py": "import torch\nclass Base(torch.nn.Module): pass\n", "n.py": text})
    assert project.context("n.py", "n", is_entry=False).around.compiled == compiled


FORWARD = "import torch\nfrom typing import *\nfrom p.types import *\nclass Net(torch.nn.Module):\n    "
TYPES = """
import enum, dataclasses, torch
from typing import NamedTuple, Optional
class Base:
    def f(self): pass
class Sparse(Base):
    def __init__(self, n: int): self.n = n
    @property
    def dense(self) -> "Other": return helper(self.n)
    @staticmethod
    def make(): pass
    class Nested:
        def f(self): pass
    @torch.jit.unused
    def shown(self, *words, by: "Unread" = None): pass
class Heir(Sparse):
    def f(self): pass
class Other:
    def g(self): pass
class Unread:
    def g(self): pass
class Row(NamedTuple):
    of: Other
    def g(self): pass
class Kind(enum.Enum):
    def g(self): pass
@dataclasses.dataclass
class Record:
    of: Other
    def g(self): pass
class Refused:
    def __init__(self, **fields: Other): pass
    def g(self): pass
class Raised(ValueError):
    def g(self): pass
class Deep(Sparse):
    def __init__(self): super().__init__(1)
def helper(n: int): return further(n)
def further(n): return n
def unrelated(): pass
Adj = Optional[Sparse]
Adjs = list[Adj]
if Adj:
    def f(): from elsewhere import Moved
else:
    class Moved:
        def g(self): pass
"""
SPARSE = {"Sparse.__init__", "Sparse.dense", "Sparse.make", "Sparse.shown", "Other.g", "helper", "further"}


@pytest.mark.parametrize(
    ("forward", "compiled"),
    [
        pytest.param("def forward(self, x: Sparse): pass", SPARSE, id="parameter"),
        pytest.param("def forward(self, *, x: 'Optional[Sparse]'): pass", SPARSE, id="text"),
        pytest.param("def forward(self) -> Tuple[Sparse, int]: pass", SPARSE, id="result"),
        pytest.param("def forward(self, x: Adjs): pass", SPARSE, id="alias-of-an-alias"),
        pytest.param("def forward(self, x):\n        # type: (Sparse) -> int\n        pass", SPARSE, id="type-comment"),
        pytest.param("def forward(self, x):\n        x: Adj = None", SPARSE, id="variable"),
        pytest.param("def forward(self, x): isinstance(x, Sparse)", SPARSE, id="type-test"),
        pytest.param("def forward(self, x): torch.jit.annotate(Adj, None)", SPARSE, id="annotate"),
        pytest.param("def forward(self, x): Sparse(1)", SPARSE, id="object"),
        pytest.param("def forward(self, x): Sparse.make()", SPARSE, id="object-by-a-method-of-the-class"),
        pytest.param("rows: List[Sparse]\n    def forward(self): pass", SPARSE, id="attribute"),
        pytest.param("@torch.jit.export\n    def g(self, x: Sparse): pass", SPARSE, id="exported"),
        pytest.param("@torch.jit.ignore\n    def forward(self, x: Other): x: Sparse", {"Other.g"}, id="ignored"),
        pytest.param("def forward(self, x: Row): pass", {"Other.g"}, id="field-of-a-named-tuple"),
        pytest.param("def forward(self, x: Moved): pass", {"Moved.g"}, id="bound-in-a-branch"),
        pytest.param("def forward(self, x: Heir): pass", {"Heir.f"}, id="heir-alone"),
        pytest.param("def forward(self, x: Kind): pass", set(), id="enumeration"),
        pytest.param("def forward(self, x: Record): pass", set(), id="generated-constructor"),
        pytest.param("def forward(self, x: Refused): pass", set(), id="what-is-refused"),
        pytest.param("def forward(self, x: Deep): pass", set(), id="what-calls-its-base"),
        pytest.param("def forward(self, x: Raised): pass", set(), id="exception"),
        pytest.param("def forward(self, *x: Sparse): pass", set(), id="named-by-what-is-refused"),
        pytest.param("def __init__(self, x: Sparse): self.x: Sparse = x", set(), id="constructor-of-a-module"),
        pytest.param("def other(self, x: Sparse): pass", set(), id="method-that-nothing-calls"),
    ],
)
def test_classes_that_are_compiled_as_something_compiled_names_them(forward: str, compiled: set[str]) -> None:
    files = {"p/__init__.py": "", "p/types.py": TYPES, "net.py": FORWARD + forward}
    project = project_of({**files, "main.py": "import torch\nfrom net import Net\ntorch.jit.script(Net())\n"})
    assert project.context("p/types.py", "types", is_entry=False).around.compiled == compiled


@pytest.mark.parametrize(
    ("main", "compiled"),
    [
        pytest.param("@torch.jit.script\ndef f(x: Adj): pass", SPARSE, id="decorated-function"),
        pytest.param("def f(x: Adj): pass\ntorch.jit.script(f)", SPARSE, id="function-that-is-handed-over"),
        pytest.param("torch.jit.script(Sparse)", SPARSE, id="class-that-is-handed-over"),
        pytest.param("torch.jit.script(Record)", {"Record.g", "Other.g"}, id="data-class-that-is-handed-over"),
        pytest.param("@torch.jit.script\ndef f(x): helper(x)", {"helper", "further"}, id="called"),
        pytest.param("def f(x: Adj): pass\nprint(f)  # by torch.jit.script", set(), id="neither"),
    ],
)
def test_types_of_what_is_scripted_one_by_one(main: str, compiled: set[str]) -> None:
    files = {"p/__init__.py": "", "p/types.py": TYPES}
    project = project_of(
        {**files, "main.py": f"import torch\nfrom p.types import Adj, Record, Sparse, helper\n{main}\n"}
    )
    found = project.context("p/types.py", "types", is_entry=False).around.compiled
    assert found - {"Sparse", "Record"} == compiled  # which it has by the names of what is handed over


def test_what_is_made_by_a_relative_import_is_compiled() -> None:
    forward = FORWARD.replace("from p.types import *", "from .types import Sparse, helper as h")
    files = {"p/__init__.py": "", "p/types.py": TYPES, "p/net.py": forward + "def forward(self): h(Sparse(1).n)\n"}
    project = project_of({**files, "main.py": "import torch\nfrom p.net import Net\ntorch.jit.script(Net())\n"})
    assert project.context("p/types.py", "types", is_entry=False).around.compiled == SPARSE


def test_nothing_is_compiled_for_its_name_where_nobody_speaks_of_torchscript() -> None:
    types = TYPES.replace("@torch.jit.unused", "")
    files = {"p/__init__.py": "", "p/types.py": types, "net.py": FORWARD + "def forward(self, x: Sparse): pass"}
    project = project_of(files)
    assert not project.script.classes
    assert not project.context("p/types.py", "types", is_entry=False).around.compiled
