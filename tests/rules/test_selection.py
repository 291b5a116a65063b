"""Which functions and files deserve tracing: every table by a named case, and its near misses."""

from __future__ import annotations

import builtins
import importlib
import itertools
import sys
from textwrap import dedent, indent

import pytest

from dfannotate.facts import ModuleFacts, find_facts
from dfannotate.rules import selection
from dfannotate.rules.selection import call_cost, why_file_left_out, why_left_out
from dfannotate.source import read_source


def words(text: str) -> list[str]:
    return text.split()


def read_facts(source: str, path: str = "program.py") -> ModuleFacts:
    return find_facts(read_source(path, dedent(source).encode()))


def verdicts(source: str) -> dict[str, str | None]:
    module = read_facts(source)
    return {function.qualname: why_left_out(function, module) for function in module.functions}


def verdict_of_body(body: str, imports: str = "", parameters: str = "self, x") -> str | None:
    """The verdict of a method ``f`` with this body, in a module with these imports."""
    text = f"{imports}\nclass C:\n    def f({parameters}):\n{indent(dedent(body).strip(), '        ')}\n"
    return verdicts(text)["C.f"]


# --- one call in a method: (id, imports, body) -----------------------------------------------------------------------

IO = [
    ("builtin-open", "", "return open(x)"),
    ("builtin-input", "", "return input()"),
    ("os-remove", "import os", "os.remove(x)"),
    ("os-rename-imported", "from os import rename", "rename(x, self.to)"),
    ("os-aliased", "import os as o", "o.makedirs(x)"),
    ("os-path-asks-the-disk", "import os", "return os.path.exists(x)"),
    ("os-fsync", "import os", "os.fsync(self.fd)"),
    ("shutil", "import shutil", "shutil.copyfile(x, self.path)"),
    ("subprocess", "import subprocess", "subprocess.run(x)"),
    ("subprocess-from", "from subprocess import Popen", "self.child = Popen(x)"),
    ("socket", "import socket", "self.s = socket.create_connection(x)"),
    ("select", "import select", "return select.select([x], [], [])"),
    ("tempfile", "import tempfile", "return tempfile.mkdtemp()"),
    ("gzip", "import gzip", "return gzip.open(x)"),
    ("lzma", "import lzma", "return lzma.LZMAFile(x)"),
    ("zipfile", "import zipfile", "return zipfile.ZipFile(x)"),
    ("tarfile", "import tarfile", "return tarfile.open(x)"),
    ("mmap", "import mmap", "self.map = mmap.mmap(x, 0)"),
    ("sqlite3", "import sqlite3", "return sqlite3.connect(x)"),
    ("pickle-loads", "import pickle", "return pickle.loads(x)"),
    ("pickle-aliased", "import pickle as pkl", "pkl.dump(x, self.fh)"),
    ("json-load", "import json", "return json.load(x)"),
    ("csv", "import csv", "return csv.reader(x)"),
    ("urlopen", "from urllib.request import urlopen", "return urlopen(x)"),
    ("http", "import http.client", "return http.client.HTTPConnection(x)"),
    ("smtp", "import smtplib", "return smtplib.SMTP(x)"),
    ("sleep", "from time import sleep", "sleep(x)"),
    ("queue-get", "", "return self.queue.get()"),
    ("queue-get-by-word", "", "return self._task_queue.get(timeout=1)"),
    ("queue-put", "", "self.out.put(x)"),
    ("pipe-recv", "", "return self.pipe.recv()"),
    ("thread-join", "", "self.thread.join()"),
    ("event-wait", "", "self.ready.wait(x)"),
    ("lock-acquire", "", "self.lock.acquire()"),
    ("http-session-get", "", "return self.session.get(x)"),
    ("requests", "import requests", "return requests.get(x)"),
    ("boto3", "import boto3", "return boto3.client('s3')"),
    ("fsspec", "import fsspec", "return fsspec.open(x)"),
    ("redis-set", "", "self.redis.set('k', x)"),
    ("file-read", "", "return self.fh.read(x)"),
    ("read-of-open", "from pathlib import Path", "return Path(x).read_text()"),
    ("readline-of-parameter", "", "return x.readline()"),
    ("flush", "", "self.stream.flush()"),
    ("own-write", "", "self.write(x)"),
    ("cursor-execute", "", "self.cursor.execute(x)"),
    ("commit", "", "self.db.commit()"),
    ("path-unlink", "", "self.path.unlink()"),
    ("path-replace", "", "self.tmp_path.replace(x)"),
    ("path-is-file", "", "return x.is_file()"),
    ("file-system-remove", "", "self.fs.remove(x)"),
    ("super-close", "", "super().close()"),
    ("writerow", "", "self.csv.writerow(x)"),
    ("numpy-load", "import numpy as np", "return np.load(x)"),
    ("numpy-tofile", "", "x.tofile(self.path)"),
    ("torch-save", "import torch", "torch.save(x, self.path)"),
    ("torch-all-reduce", "import torch.distributed as dist", "dist.all_reduce(x)"),
    ("torch-barrier", "from torch import distributed", "distributed.barrier()"),
    ("tensor-to-device", "", "return x.to(self.device)"),
    ("tensor-cuda", "", "return x.cuda()"),
    ("h5py", "import h5py", "return h5py.File(x)"),
    ("zarr", "import zarr", "return zarr.open(x)"),
    ("netcdf", "from netCDF4 import Dataset", "return Dataset(x)"),
    ("pandas-read", "import pandas as pd", "return pd.read_csv(x)"),
    ("pandas-to-parquet", "", "self.frame.to_parquet(x)"),
    ("image-open", "from PIL import Image", "return Image.open(x)"),
    ("imread", "import cv2", "return cv2.imread(x)"),
    ("joblib", "import joblib", "return joblib.load(x)"),
    ("mpi-bcast", "", "return self.comm.bcast(x)"),
    ("mpi-world-send", "from mpi4py import MPI", "MPI.COMM_WORLD.Send(x, dest=1)"),
    ("yaml", "import yaml", "return yaml.safe_load(x)"),
    ("safetensors", "from safetensors.torch import load_file", "return load_file(x)"),
]

WORK = [
    ("project-function", "from .parse import parse", "return parse(x)"),
    ("project-module", "from . import registry", "return registry.get(x)"),
    ("project-package", "import mypackage.table as t", "return t.get(x)"),
    ("own-method", "", "return self._lookup(x)"),
    ("own-get", "", "return self.get(x)"),
    ("class-method", "", "return Registry.get(x)"),
    ("constructor", "", "return Node(x)"),
    ("model", "", "return self.model(x)"),
    ("backward", "", "x.backward()"),
    ("optimizer-step", "", "self.optimizer.step()"),
    ("torch-matmul", "import torch", "return torch.matmul(x, x)"),
    ("torch-add-is-no-set-add", "import torch", "return torch.add(x, 1)"),
    ("numpy-sort", "import numpy as np", "return np.sort(x)"),
    ("numpy-method", "", "return x.mean()"),
    ("pandas-groupby", "", "return self.frame.groupby(x)"),
    ("scipy", "from scipy import linalg", "return linalg.inv(x)"),
    ("next-moves-a-reader-on", "", "return next(self.batches)"),
    ("map-calls-what-it-is-given", "", "return list(map(self.decode, x))"),
    ("reduce", "import functools", "return functools.reduce(self.merge, x)"),
    ("exec", "", "exec(x)"),
    ("deepcopy", "import copy", "return copy.deepcopy(x)"),
    ("print", "", "print(x)"),
    ("json-dumps", "import json", "return json.dumps(x)"),
    ("tokenizer-encode", "", "return self.tokenizer.encode(x)"),
    ("call-of-a-parameter", "", "return x()"),
    ("log-that-is-mathematics", "import torch", "return torch.log(x)"),
    ("comprehension-over-work", "", "return [self.parse(line) for line in x]"),
]

CHEAP = [
    ("nothing", "", "return self._x"),
    ("store", "", "self.x = x"),
    ("len", "", "return len(self.items)"),
    ("isinstance", "", "return isinstance(x, (list, tuple))"),
    ("dict-get", "", "return self._items.get(x)"),
    ("dict-of-module-get", "REGISTRY = {}", "return REGISTRY.get(x)"),
    ("imported-dict-get", "from .registry import REGISTRY", "return REGISTRY.get(x)"),
    ("environment", "import os", "return os.environ.get('HOME', x)"),
    ("list-append", "", "self.items.append(x)"),
    ("list-remove", "", "self.items.remove(x)"),
    ("set-add", "", "self.seen.add(x)"),
    ("str-replace", "", "return x.replace('-', '_')"),
    ("str-replace-on-name", "", "return self.name.replace(x, '')"),
    ("str-join", "", "return ', '.join(x)"),
    ("str-join-on-name", "", "return self.separator.join(x)"),
    ("str-format", "", "return '{}'.format(x)"),
    ("str-encode", "", "return x.encode()"),
    ("super-init", "", "super().__init__(x)"),
    ("base-init", "", "Base.__init__(self, x)"),
    ("math", "import math", "return math.sqrt(x)"),
    ("math-from", "from math import floor", "return floor(x)"),
    ("datetime", "from datetime import datetime", "return datetime.now()"),
    ("clock", "import time", "return time.perf_counter()"),
    ("path-arithmetic", "import os.path as osp", "return osp.join(self.root, x)"),
    ("pathlib-arithmetic", "from pathlib import Path", "return Path(x).with_suffix('.txt')"),
    ("regular-expression", "import re", "return re.match('a', x)"),
    ("collections", "from collections import OrderedDict", "self.x = OrderedDict()"),
    ("small-constructors", "", "return dict(a=list(x), b=set())"),
    ("bytes-in-memory", "import io", "return io.BytesIO(x)"),
    ("type-cast", "from typing import cast", "return cast(int, x)"),
    ("raise", "", "raise KeyError(f'no {x}')"),
    ("raise-own-exception", "from .errors import BadFileError", "raise BadFileError(x)"),
    ("exception-of-an-io-module", "import subprocess", "raise subprocess.SubprocessError(x)"),
    ("warning", "import warnings", "warnings.warn(x)"),
    ("logging", "import logging", "logging.info(x)"),
    ("logger", "import logging\nlogger = logging.getLogger(__name__)", "logger.error('bad %s', x)"),
    ("imported-logger", "from .log import logger", "logger.info(x)"),
    ("own-logger", "", "self._log.debug(x)"),
    ("comprehension", "", "return [y.name for y in x]"),
    ("tensor-shape", "", "return x.size(0) + x.dim()"),
    ("rank", "import torch.distributed as dist", "return dist.get_rank()"),
    ("mpi-rank", "from mpi4py import MPI", "return MPI.COMM_WORLD.Get_rank()"),
    ("device", "import torch", "return torch.device(x)"),
    ("dtype", "import numpy as np", "return np.dtype(x)"),
    ("list-called-like-an-io-package", "", "requests.append(x)"),
    ("module-value", "import torch", "return torch.__version__.split('.')"),
    ("platform", "import sys", "return sys.platform.startswith(x)"),
    ("lock-constructor", "import threading", "self.lock = threading.Lock()"),
    ("gettempdir-in-an-io-module", "import tempfile", "return tempfile.gettempdir()"),
]


def named(cases: list[tuple[str, str, str]]) -> list[object]:
    return [pytest.param(imports, body, id=name) for name, imports, body in cases]


@pytest.mark.parametrize(("imports", "body"), named(IO))
def test_io_is_kept(imports: str, body: str) -> None:
    assert verdict_of_body(body, imports) is None


@pytest.mark.parametrize(("imports", "body"), named(WORK))
def test_work_is_kept(imports: str, body: str) -> None:
    assert verdict_of_body(body, imports) is None


@pytest.mark.parametrize(("imports", "body"), named(CHEAP))
def test_cheap_is_trivial(imports: str, body: str) -> None:
    assert verdict_of_body(body, imports) == "trivial"


@pytest.mark.parametrize(("imports", "body"), named(IO))
def test_io_calls_are_known_as_io(imports: str, body: str) -> None:
    """Kept is also what nothing is known of: here each case is found in the tables themselves."""
    (function,) = (module := read_facts(f"{imports}\ndef f(self, x):\n    {body}\n")).functions
    heads = {target.partition(".")[0] for _, target in module.imports}
    costs = {call_cost(call.name, call.name.partition(".")[0] in heads) for call in function.calls}
    assert "io" in costs


# --- the shape of a function -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("for y in x:\n    self.n += y", id="for"),
        pytest.param("while self.n:\n    self.n -= 1", id="while"),
        pytest.param("with self.lock:\n    self.n += 1", id="with"),
        pytest.param("\n".join(f"a{n} = x + {n}" for n in range(11)), id="eleven-statements"),
    ],
)
def test_shape_keeps(body: str) -> None:
    assert verdict_of_body(body) is None


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("\n".join(f"a{n} = x + {n}" for n in range(10)), id="ten-statements"),
        pytest.param('"""About f."""\nreturn x', id="docstring-and-return"),
        pytest.param("if x:\n    return 1\nelse:\n    return 2", id="branches"),
        pytest.param("try:\n    return self.items[x]\nexcept KeyError:\n    return None", id="try"),
        pytest.param("def g():\n    return open(x)\nreturn g", id="what-an-inner-function-does"),
    ],
)
def test_shape_is_trivial(body: str) -> None:
    assert verdict_of_body(body) == "trivial"


def test_init_may_store_any_number_of_arguments() -> None:
    names = [f"a{n}" for n in range(30)]
    stores = "\n".join(f"        self.{name} = {name}" for name in names)
    source = f"class C:\n    def __init__(self, {', '.join(names)}):\n{stores}\n"
    assert verdicts(source)["C.__init__"] == "trivial"
    assert verdicts(source.replace("self.a0 = a0", "self.a0 = open(a0)"))["C.__init__"] is None
    assert verdicts(source.replace("__init__", "store"))["C.store"] is None


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param("async def f(self):\n    return self.x\n", "trivial", id="awaits-nothing"),
        pytest.param("async def f(self):\n    return await self.items.get()\n", None, id="cheap-name-may-be-awaited"),
    ],
)
def test_async(source: str, expected: str | None) -> None:
    assert verdicts(source)["f"] == expected


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("def f(x, hash):\n    return hash(x)\n", id="parameter"),
        pytest.param("def f(x):\n    return hash(x)\ndef hash(x): ...\n", id="function-of-the-module"),
        pytest.param("class slice: ...\ndef f(x):\n    return slice(x)\n", id="class-of-the-module"),
        pytest.param("from .crypt import hash\ndef f(x):\n    return hash(x)\n", id="imported"),
    ],
)
def test_shadowed_builtin_is_a_function_of_the_program(source: str) -> None:
    assert verdicts(source)["f"] is None


def test_method_does_not_shadow_builtin() -> None:
    assert verdicts("class C:\n    def hash(self, x):\n        return hash(x)\n")["C.hash"] == "trivial"


# --- left out whatever it does ---------------------------------------------------------------------------------------


def test_overloads() -> None:
    source = """
        import typing
        from typing import overload
        from ._typing import overload as again

        @overload
        def f(x: int) -> int: ...
        @typing.overload
        def g(x: int) -> int:
            return open(x)
        @_typing.overload
        def h(x: int) -> int: ...
        @numba.extending.overload(len)
        def i(x):
            return open(x)
    """
    assert verdicts(source) == {"f": "overload", "g": "overload", "h": "overload", "i": None}


def test_abstract_and_stubs() -> None:
    source = """
        import abc

        class Store(abc.ABC):
            @abc.abstractmethod
            def read(self): ...
            @property
            @abc.abstractmethod
            def size(self):
                '''Its size.'''
            @abc.abstractmethod
            def save(self):
                self.fh.write(self.data)
            def write(self):
                raise NotImplementedError("write")
            def close(self):
                pass
            def __enter__(self): ...
            def read_back(self):
                raise NotImplementedError(self.fh.read())
    """
    assert verdicts(source) == {
        "Store.read": "abstract",
        "Store.size": "abstract",
        "Store.save": None,  # has code, which super() reaches
        "Store.write": "stub",
        "Store.close": "stub",
        "Store.__enter__": "stub",
        "Store.read_back": "stub",
    }


def test_nested() -> None:
    source = """
        def outer(path):
            def inner():
                return open(path)
            class Local:
                def load(self):
                    return open(path)
            return inner()
    """
    assert verdicts(source) == {
        "outer": None,
        "outer.<locals>.inner": "nested",
        "outer.<locals>.Local.load": "nested",
    }


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *((name, None) for name in ("__init__", "__call__", "__getitem__", "__next__", "__enter__", "__exit__")),
        *((name, "dunder") for name in ("__len__", "__iter__", "__del__", "__setitem__", "__aenter__", "__getattr__")),
        ("__read", None),
        ("____", None),
    ],
)
def test_dunders(name: str, expected: str | None) -> None:
    assert verdicts(f"class C:\n    def {name}(self):\n        return self.fh.read()\n")[f"C.{name}"] == expected


# --- lifecycle -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    words(
        """
        open close flush save load init finalize sync _open __close close_ mpi_init pool_finalize file_open db_close
        _buffer_flush model_save model_load disk_sync checkpoint checkpoint_model _checkpoint checkpoints
        """
    ),
)
def test_lifecycle_beats_trivial(name: str) -> None:
    assert verdicts(f"def {name}(self):\n    self.state = 1\n")[name] is None


@pytest.mark.parametrize(
    "name",
    words(
        """
        opened reopen opens closed saved init_weights open_files syncs is_open needs_sync _should_save has_init
        can_load uncheckpoint fileOpen Save payload overload
        """
    ),
)
def test_not_lifecycle(name: str) -> None:
    assert verdicts(f"def {name}(self):\n    self.state = 1\n")[name] == "trivial"


@pytest.mark.parametrize("decorator", ["property", "functools.cached_property", "auto_save.setter"])
def test_value_is_not_lifecycle(decorator: str) -> None:
    source = f"class C:\n    @{decorator}\n    def auto_save(self):\n        return self._auto_save\n"
    assert verdicts(source)["C.auto_save"] == "trivial"
    assert verdicts(source.replace(decorator, "staticmethod"))["C.auto_save"] is None


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        pytest.param("def save(self): ...\n", "stub", id="stub"),
        pytest.param("def f():\n    def save(x):\n        x.n = 1\n", "nested", id="nested"),
    ],
)
def test_lifecycle_does_not_beat(source: str, reason: str) -> None:
    assert list(verdicts(source).values())[-1] == reason


# --- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("tests/helpers.py", "test"),
        ("pkg/test/data.py", "test"),
        ("pkg/testing/fixtures.py", "test"),
        ("Tests/a.py", "test"),
        ("integration_tests/a.py", "test"),
        ("pkg/test_model.py", "test"),
        ("pkg/model_test.py", "test"),
        ("conftest.py", "test"),
        ("test.py", None),
        ("latest.py", None),
        ("contest/run.py", None),
        ("testbed/run.py", None),
        ("attest_tools.py", None),
        ("docs/conf.py", "docs"),
        ("pkg/doc/ufuncs.py", "docs"),
        ("examples/train.py", None),
        ("docstore/read.py", None),
        ("docs.py", None),
        ("setup.py", "build"),
        ("sub/setup.py", "build"),
        ("noxfile.py", "build"),
        ("fabfile.py", "build"),
        ("versioneer.py", "build"),
        ("pkg/_version.py", "build"),
        ("build/lib/pkg/a.py", "build"),
        ("dist/a.py", "build"),
        ("src/build/env.py", None),
        ("tasks.py", None),
        ("setup_data.py", None),
        ("distributed/run.py", None),
        ("build.py", None),
        ("api_pb2.py", "generated"),
        ("api_pb2_grpc.py", "generated"),
        ("schema.gen.py", "generated"),
        ("schema_generated.py", "generated"),
        ("data_gen.py", None),
        ("generated.py", None),
        ("train.py", None),
        ("pkg/io/reader.py", None),
    ],
)
def test_files(path: str, expected: str | None) -> None:
    assert why_file_left_out(path, read_facts("x = 1\n", path)) == expected


def test_generated_by_its_head() -> None:
    assert why_file_left_out("a.py", read_facts("# Generated by thing. DO NOT EDIT\nx = 1\n")) == "generated"
    assert why_file_left_out("a.py", read_facts("x = 1\n")) is None


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("from django.test import TestCase\nclass A(TestCase): pass\n", "test"),
        ("def test_sum(): assert 1 + 1 == 2\n", "test"),
        ("from . import Base\nclass A(Base):\n    def test_sum(self): pass\n", "test"),
        ("from .runtime import Undefined\ndef test_defined(value): return value is not Undefined\n", None),
        ("x = 1\n", None),
    ],
)
def test_tests_by_that_name(source: str, expected: str | None) -> None:
    assert why_file_left_out("app/tests.py", read_facts(source)) == expected


def test_tasks_of_a_build_tool() -> None:
    assert why_file_left_out("tasks.py", read_facts("from invoke import task\n")) == "build"
    assert why_file_left_out("tasks.py", read_facts("from celery import shared_task\n")) is None


# --- laws of the tables ----------------------------------------------------------------------------------------------

TABLES = {
    name: value
    for name, value in vars(selection).items()
    if name.isupper() and not name.startswith("_") and isinstance(value, (tuple, dict))
}
CALL_TABLES = {"IO_FUNCTIONS": selection.IO_FUNCTIONS, "CHEAP_FUNCTIONS": selection.CHEAP_FUNCTIONS}

OTHER_PLATFORMS = words("os.lchmod select.kqueue sys.getwindowsversion")
OTHER_VERSIONS = words(
    """
    copy.replace importlib.resources.contents math.cbrt math.exp2 os.path.splitroot os.process_cpu_count
    sys._getframemodulename sys.exception typing.assert_never typing.assert_type typing.reveal_type
    """
)
"""Since 3.11, 3.12 or 3.13, or not in all of them."""


@pytest.mark.parametrize("name", TABLES)
def test_tables_are_sorted_and_unique(name: str) -> None:
    table = TABLES[name]
    rows = [table, *table.values()] if isinstance(table, dict) else [table]
    for row in rows:
        if not isinstance(row, str):
            assert list(row) == sorted(set(row))


def test_tables_do_not_contradict() -> None:
    calls = {
        name: {f"{module}.{word}" for module, words in table.items() for word in words}
        for name, table in CALL_TABLES.items()
    }
    assert not calls["IO_FUNCTIONS"] & calls["CHEAP_FUNCTIONS"]
    assert not set(selection.IO_METHODS) & set(selection.CHEAP_METHODS)
    assert not set(selection.IO_METHODS) & set(selection.LOG_METHODS)
    assert set(selection.DEAR_OBJECTS) <= set(selection.CHEAP_METHODS)


def test_no_entry_says_what_another_says() -> None:
    modules = set(selection.IO_MODULES)
    inside = [
        name
        for name in itertools.chain(modules, selection.IO_FUNCTIONS)
        if any(
            name.startswith(module + ".") or (name == module and name in selection.IO_FUNCTIONS) for module in modules
        )
    ]
    assert not inside


@pytest.mark.parametrize("table", CALL_TABLES)
def test_names_of_the_standard_library_exist(table: str) -> None:
    """A misspelt entry would never match. Other packages need not be installed here."""
    missing = []
    for module, names in CALL_TABLES[table].items():
        owner = _standard_object(module)
        if owner is not None:
            missing += [f"{module}.{name}" for name in names if not hasattr(owner, name)]
    assert set(missing) <= {*OTHER_PLATFORMS, *OTHER_VERSIONS}


def _standard_object(name: str) -> object:
    """The module or class of the standard library that is called so, ``None`` for anything else."""
    if not name:
        return builtins
    if name.partition(".")[0] not in sys.stdlib_module_names or name.partition(".")[0] == "distutils":
        return None
    owner, _, last = name.rpartition(".")
    try:
        return importlib.import_module(name)
    except ImportError:
        return getattr(importlib.import_module(owner), last, None) if owner else None
