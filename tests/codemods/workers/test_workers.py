"""Loaders: what is given to a worker is wrapped where it stands, and only where it is a loader's."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import pytest

from dfannotate.codemods.revert import structural_text
from dfannotate.source import read_source

Annotate = Callable[..., Any]

TORCH = "from torch.utils.data import DataLoader\n"

REWRITES = {
    "no initializer": (
        "DataLoader(data, num_workers=2)",
        "DataLoader(data, num_workers=2, worker_init_fn=_dft_worker())",
    ),
    "workers are a variable": (
        "DataLoader(data, num_workers=n)",
        "DataLoader(data, num_workers=n, worker_init_fn=_dft_worker())",
    ),
    "no workers in sight": ("DataLoader(data)", "DataLoader(data, worker_init_fn=_dft_worker())"),
    "no argument": ("DataLoader()", "DataLoader(worker_init_fn=_dft_worker())"),
    "top-level function": (
        "DataLoader(data, worker_init_fn=seed)",
        "DataLoader(data, worker_init_fn=_dft_worker(seed))",
    ),
    "bound method": (
        "DataLoader(data, worker_init_fn=self.seed)",
        "DataLoader(data, worker_init_fn=_dft_worker(self.seed))",
    ),
    "lambda": (
        "DataLoader(data, worker_init_fn=lambda n: seed(n))",
        "DataLoader(data, worker_init_fn=_dft_worker(lambda n: seed(n)))",
    ),
    "None": ("DataLoader(data, worker_init_fn=None)", "DataLoader(data, worker_init_fn=_dft_worker(None))"),
    "conditional": (
        "DataLoader(data, worker_init_fn=a if b else None)",
        "DataLoader(data, worker_init_fn=_dft_worker(a if b else None))",
    ),
    "in parentheses": (
        "DataLoader(data, worker_init_fn=(seed))",
        "DataLoader(data, worker_init_fn=(_dft_worker(seed)))",
    ),
    "by position": (
        "DataLoader(data, 4, False, None, None, 2, None, False, False, 0, seed)",
        "DataLoader(data, 4, False, None, None, 2, None, False, False, 0, _dft_worker(seed))",
    ),
    "keywords unpacked": (
        "DataLoader(data, **options)",
        '_dft_worker_call(DataLoader, "worker_init_fn", 10)(data, **options)',
    ),
    "arguments unpacked": (
        "DataLoader(*args, num_workers=2)",
        '_dft_worker_call(DataLoader, "worker_init_fn", 10)(*args, num_workers=2)',
    ),
    "keywords unpacked beside an initializer": (
        "DataLoader(data, worker_init_fn=seed, **options)",
        "DataLoader(data, worker_init_fn=_dft_worker(seed), **options)",
    ),
    "generator alone": ("DataLoader(x for x in y)", '_dft_worker_call(DataLoader, "worker_init_fn", 10)(x for x in y)'),
    "trailing comma and comments": (
        "DataLoader(\n    data,  # the data )\n    num_workers=(2),  # two\n)",
        "DataLoader(\n    data,  # the data )\n    num_workers=(2), worker_init_fn=_dft_worker(),  # two\n)",
    ),
    "argument in parentheses at the end": (
        "DataLoader((data\n    ))",
        "DataLoader((data\n    ), worker_init_fn=_dft_worker())",
    ),
    "loader in a loader": (
        "DataLoader(DataLoader(data, worker_init_fn=seed), worker_init_fn=lambda n: DataLoader(n))",
        "DataLoader(DataLoader(data, worker_init_fn=_dft_worker(seed)),"
        " worker_init_fn=_dft_worker(lambda n: DataLoader(n, worker_init_fn=_dft_worker())))",
    ),
    "loader of unpacked arguments in a loader": (
        "DataLoader(DataLoader(*a), worker_init_fn=DataLoader(**k))",
        'DataLoader(_dft_worker_call(DataLoader, "worker_init_fn", 10)(*a),'
        ' worker_init_fn=_dft_worker(_dft_worker_call(DataLoader, "worker_init_fn", 10)(**k)))',
    ),
    "letters outside ASCII before it": (
        'f("é", DataLoader(data))',
        'f("é", DataLoader(data, worker_init_fn=_dft_worker()))',
    ),
}


@pytest.mark.parametrize(("before", "after"), REWRITES.values(), ids=list(REWRITES))
@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_call_is_rewritten_in_place(annotated: Annotate, before: str, after: str, newline: str) -> None:
    done = annotated({"main.py": (TORCH + f"loader = {before}\n").replace("\n", newline)})
    assert done.body == (TORCH + f"loader = {after}\n").replace("\n", newline)
    assert {kind for kind, _, _ in done.sites} == {"dataloader"}
    assert all("_dft_worker" in line for _, _, line in done.sites)


WAYS = {
    "module": ("import torch.utils.data\n", "torch.utils.data.DataLoader(data)"),
    "module alias": ("import torch.utils.data as d\n", "d.DataLoader(data)"),
    "package": ("from torch.utils import data as d\n", "d.DataLoader(data)"),
    "class alias": ("from torch.utils.data import DataLoader as D\n", "D(data)"),
    "star import": ("from torch.utils.data import *\n", "DataLoader(data)"),
    "its own module": ("from torch.utils.data.dataloader import DataLoader\n", "DataLoader(data)"),
    "assigned": (TORCH + "Loader = DataLoader\n", "Loader(data)"),
    "either of two": (
        TORCH + "from torchdata.stateful_dataloader import StatefulDataLoader as S\nL = S if x else DataLoader\n",
        "L(data)",
    ),
    "whichever is there": (
        "import os\ntry:\n    from torchdata.stateful_dataloader import StatefulDataLoader as L\n"
        "except ImportError:\n    from torch.utils.data import DataLoader as L\n",
        "L(data)",
    ),
    "graph loader": ("from torch_geometric.loader import NeighborLoader\n", "NeighborLoader(data)"),
    "list loader": ("from torch_geometric.loader import DataListLoader\n", "DataListLoader(data)"),
    "stateful": ("from torchdata.stateful_dataloader import StatefulDataLoader\n", "StatefulDataLoader(data)"),
    "re-export": ("from package import Loader\n", "Loader(data)"),
    "re-exported alias": ("from package import Other\n", "Other(data)"),
    "subclass elsewhere": ("from package.loaders import Plain\n", "Plain(data)"),
    "subclass of a subclass elsewhere": ("import package.loaders as p\n", "p.Plainer(data)"),
    "subclass here": (TORCH + "class Mine(DataLoader[int]):\n    kind = 1\n", "Mine(data)"),
}
PACKAGE = {
    "package/__init__.py": "from .loaders import Loader\nOther = Loader\n",
    "package/loaders.py": (
        "from torch.utils.data import DataLoader as Loader\n"
        "class Plain(Loader):\n    pass\n"
        "class Plainer(Plain):\n    def more(self):\n        return 1\n"
        "class Own(Plain):\n    def __init__(self, data):\n        super().__init__(data, num_workers=2)\n"
    ),
}


@pytest.mark.parametrize(("imports", "call"), WAYS.values(), ids=list(WAYS))
def test_loader_is_found_by_whatever_name_it_comes(annotated: Annotate, imports: str, call: str) -> None:
    done = annotated({**PACKAGE, "main.py": f"{imports}loader = {call}\n"})
    assert done.body == f"{imports}loader = {call[:-1]}, worker_init_fn=_dft_worker())\n"


def test_attribute_of_a_class_and_of_its_objects(annotated: Annotate) -> None:
    text = (
        TORCH
        + "class Trainer:\n    loader_class = DataLoader\n    def __init__(self):\n        self.cls = DataLoader\n"
        "    def make(self):\n        return self.loader_class(1), self.cls(2)\n"
    )
    body = annotated({"main.py": text}).body
    assert "self.loader_class(1, worker_init_fn=_dft_worker()), self.cls(2, worker_init_fn=_dft_worker())" in body


def test_class_with_its_own_init_is_changed_where_it_calls_the_base(annotated: Annotate) -> None:
    done = annotated({**PACKAGE, "main.py": "x = 1\n"}, "package/loaders.py")
    assert "        super().__init__(data, num_workers=2, worker_init_fn=_dft_worker())\n" in done.text
    assert done.sites == (
        ("dataloader", "Own.__init__", "super().__init__(data, num_workers=2, worker_init_fn=_dft_worker())"),
    )
    user = annotated({**PACKAGE, "main.py": "from package.loaders import Own\nloader = Own(data)\n"})
    assert user.sites == ()


OWN_INIT = {
    "without arguments": (
        "super().__init__(data, **rest)",
        '_dft_worker_call(super().__init__, "worker_init_fn", 10)(data, **rest)',
    ),
    "with arguments": (
        "super(Mine, self).__init__(*rest)",
        '_dft_worker_call(super(Mine, self).__init__, "worker_init_fn", 10)(*rest)',
    ),
    "by name": ("DataLoader.__init__(self, data)", "DataLoader.__init__(self, data, worker_init_fn=_dft_worker())"),
    "by name, unpacked": (
        "DataLoader.__init__(self, *rest)",
        '_dft_worker_call(DataLoader.__init__, "worker_init_fn", 11)(self, *rest)',
    ),
    "an initializer of its own": (
        "super().__init__(data, worker_init_fn=self.seed)",
        "super().__init__(data, worker_init_fn=_dft_worker(self.seed))",
    ),
}


@pytest.mark.parametrize(("before", "after"), OWN_INIT.values(), ids=list(OWN_INIT))
def test_call_of_the_base_is_rewritten(annotated: Annotate, before: str, after: str) -> None:
    text = TORCH + "class Mine(DataLoader):\n    def __init__(self, data, *rest):\n        {}\n"
    assert annotated({"main.py": text.format(before)}).body == text.format(after)


def test_partial_leaves_what_is_given_later_to_be_wrapped_then(annotated: Annotate) -> None:
    text = (
        TORCH
        + "import functools\nmake = functools.partial({}, batch_size=2)\nloader = make(data, worker_init_fn=seed)\n"
    )
    body = annotated({"main.py": text.format("DataLoader")}).body
    assert body == text.format('_dft_worker_call(DataLoader, "worker_init_fn", 10)')


NOOP = {
    "a class of its own by that name": "class DataLoader:\n    pass\nloader = DataLoader(1)\n",
    "from another library": "from monai.data import DataLoader\nloader = DataLoader(1)\n",
    "from the project, and not torch's": "from package.other import DataLoader\nloader = DataLoader(1)\n",
    "bound nowhere": "loader = DataLoader(1)\n",
    "a parameter": TORCH + "def f(DataLoader):\n    return DataLoader(1)\n",
    "a local name": TORCH + "def f():\n    DataLoader = g()\n    return DataLoader(1)\n",
    "a loop's name": TORCH + "for DataLoader in x:\n    DataLoader(1)\n",
    "a comprehension's name": TORCH + "def f():\n    return [DataLoader(1) for DataLoader in x]\n",
    "a lambda's parameter": TORCH + "def f():\n    return (lambda DataLoader: DataLoader(1))(x)\n",
    "a handler's name": TORCH + "try:\n    pass\nexcept E as DataLoader:\n    DataLoader(1)\n",
    "a pattern's name": TORCH + "match x:\n    case [DataLoader]:\n        DataLoader(1)\n",
    "bound again globally": TORCH + "def f():\n    global DataLoader\n    DataLoader = 1\nloader = DataLoader(1)\n",
    "one of two is none": TORCH + "if x:\n    class DataLoader: pass\nloader = DataLoader(1)\n",
    "a class below by the name": TORCH + "def f():\n    class DataLoader: pass\n    return DataLoader(1)\n",
    "mentioned, not called": TORCH + "def f(x: DataLoader):\n    return isinstance(x, DataLoader)\n",
    "another of its package": "from torch.utils.data import Dataset\nx = Dataset(1)\n",
    "within a string": TORCH + 'x = f"{DataLoader(1)}"\n',
    "an unknown base before it": TORCH + "from x import Strange\nclass Mine(Strange, DataLoader):\n    pass\nMine(1)\n",
    "another's __init__": TORCH + "class Mine:\n    def __init__(self):\n        super().__init__(1)\n",
}


@pytest.mark.parametrize("text", NOOP.values(), ids=list(NOOP))
def test_what_is_no_loader_is_left_alone(annotated: Annotate, text: str) -> None:
    other = {"package/__init__.py": "", "package/other.py": "class DataLoader:\n    pass\n"}
    done = annotated({**other, "main.py": text})
    assert done.sites == ()
    assert "_dft_worker" not in done.text


def test_names_that_are_taken_are_not_used(annotated: Annotate) -> None:
    done = annotated({"main.py": TORCH + "_dft_worker_start = 1\nloader = DataLoader(data)\n"})
    assert "worker_init_fn=_dft_worker_2()" in done.text
    assert "def _dft_worker_2_start():" in done.text


def test_functions_stand_before_the_first_use_and_follow_the_indentation_of_the_file(annotated: Annotate) -> None:
    text = (
        '"""Doc."""\nfrom __future__ import annotations\n' + TORCH + "if x:\n\tloader = DataLoader(data)\nimport os\n"
    )
    done = annotated({"main.py": text})
    assert done.text.index("def _dft_worker(") < done.text.index("if x:")
    assert "\n\tif not DFTRACER_ENABLE or" in done.text
    assert "    if not DFTRACER_ENABLE" not in done.text
    compile(done.text, "main.py", "exec")


def test_calls_in_a_body_that_moves_are_changed_and_found_again(annotated: Annotate) -> None:
    text = (
        TORCH + "class A:\n    @property\n    def loader(self):\n        with open('x') as f:\n            f.read()\n"
        "        return DataLoader(\n            self.data,\n            num_workers=2,\n        )\n"
    )
    done = annotated({"main.py": text})
    assert '        with DFTracerFn("main", name="loader"):\n' in done.text
    assert "                num_workers=2, worker_init_fn=_dft_worker(),\n            )\n" in done.text
    assert done.sites == (("dataloader", "A.loader", "num_workers=2, worker_init_fn=_dft_worker(),"),)


REFORMATTED = {
    "argument on a line of its own": "loader = DataLoader(\n    data,\n    worker_init_fn=_dft_worker(),\n)\n",
    "argument first": "loader = DataLoader(worker_init_fn=_dft_worker(), dataset=data)\n",
    "value on lines of its own": (
        "loader = DataLoader(\n    data, worker_init_fn=_dft_worker(\n        seed\n    ),\n)\n"
    ),
    "call over several lines": 'loader = _dft_worker_call(\n    DataLoader, "worker_init_fn", 10\n)(data, **options)\n',
}
REVERTED = {
    "argument on a line of its own": "loader = DataLoader(data)",
    "argument first": "loader = DataLoader(dataset=data)",
    "value on lines of its own": "loader = DataLoader(data, worker_init_fn=seed)",
    "call over several lines": "loader = DataLoader(data, **options)",
}


@pytest.mark.parametrize("how", REFORMATTED)
def test_structural_revert_finds_what_was_reformatted(annotated: Annotate, how: str) -> None:
    done = annotated({"main.py": TORCH + "loader = DataLoader(*data)\n"})
    last = done.text.splitlines(keepends=True)[-1]
    text = done.text.removesuffix(last) + REFORMATTED[how]
    result = structural_text(read_source("main.py", text.encode()), done.entry)
    assert ast.unparse(ast.parse(result)) == TORCH + REVERTED[how]
    assert "_dft" not in result


HANDED_ON = {
    # (source, lines that hand a maker on)
    "table": (TORCH + "loaders = {'plain': DataLoader}\n", [2]),
    "default of a parameter": (TORCH + "def make(kind=DataLoader): return kind(data)\n", [2]),
    "returned": (TORCH + "def which():\n    return DataLoader\n", [3]),
    "argument": (TORCH + "make(DataLoader, data)\n", [2]),
    "stored on an object": (TORCH + "options.loader = DataLoader\n", [2]),
    "chosen beside something else": (TORCH + "kind = DataLoader if big else Other\nkind(data)\n", [2]),
    "process": ("import multiprocessing as mp\nrun(mp.Process)\n", [2]),
    "pool of a context": ("import multiprocessing\nuse(multiprocessing.get_context('spawn').Pool)\n", [2]),
    "executor": ("import concurrent.futures\nuse(concurrent.futures.ProcessPoolExecutor)\n", [2]),
    "subclass of the file": (TORCH + "class Mine(DataLoader): pass\nuse(DataLoader)\n", [3]),
    # What follows a name, or asks about a class, loses nothing.
    "called": (TORCH + "DataLoader(data)\n", []),
    "alias": (TORCH + "Loader = DataLoader\nLoader(data)\n", []),
    "attribute of the class": (TORCH + "class A:\n    kind = DataLoader\n    def f(self): self.kind(data)\n", []),
    "chosen among its like": (
        "import torch, torchdata.stateful_dataloader as s\n"
        "kind = s.StatefulDataLoader if big else torch.utils.data.DataLoader\nkind(data)\n",
        [],
    ),
    "partial": (TORCH + "import functools\nmake = functools.partial(DataLoader, data)\n", []),
    "asked for": (TORCH + "isinstance(x, DataLoader) or type(x) is DataLoader\n", []),
    "annotation": (TORCH + "def f(x: DataLoader | None) -> DataLoader: return x\ny: list[DataLoader] = []\n", []),
    "another class": ("from torch.utils.data import Dataset\nuse(Dataset)\n", []),
    "threads": ("from multiprocessing.pool import ThreadPool\nuse(ThreadPool)\n", []),
    "name of its own": (TORCH + "def f(DataLoader): use(DataLoader)\n", []),
}


@pytest.mark.parametrize(("source", "lines"), HANDED_ON.values(), ids=HANDED_ON)
def test_what_makes_workers_out_of_sight_is_told(source: str, lines: list[int], annotated: Annotate) -> None:
    notes = annotated({"main.py": source}).notes
    assert [note.partition(" ")[0] for note in notes] == [f"main.py:{line}:" for line in lines]
    assert all("is handed on" in note for note in notes)
