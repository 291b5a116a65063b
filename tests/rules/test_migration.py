"""Programs written for the tracer's first generations become correct ones of the newest by ``lint --fix``, and then
trace: every call that they make is in the trace, and they say what they said."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import ANY

import pytest

from tests.conftest import RunCli, WriteTree, run_for_real

OWN_RECORDS = {"dftracer", "POSIX", "STDIO"}
"""Categories of the tracer itself, and of the calls of the C library that it intercepts."""


@dataclass(frozen=True)
class Old:
    """A program in an old spelling: its files, what it prints, the calls that it makes, by category and name, and the
    codes that are left when all that can be is put right. ``arguments``: what the events of a name carry."""

    files: Mapping[str, str]
    says: str
    calls: Mapping[tuple[str, str], int]
    arguments: Mapping[tuple[str, str], Mapping[str, object]]
    left: tuple[str, ...] = ()


PREDECESSOR = Old(
    {
        "pyproject.toml": "",
        "shop/__init__.py": "",
        "shop/tracing.py": '''\
"""What the other files trace with; nothing happens where the tracer is not installed."""

try:
    from dlio_profiler.logger import dlio_logger as PerfTrace, fn_interceptor as Profile
except ImportError:

    class Profile:
        def __init__(self, *args, **kwargs): ...
        def log(self, function): return function
        def log_init(self, function): return function
        def log_static(self, function): return function
        def iter(self, things, *args): return things
        def __enter__(self): return self
        def __exit__(self, *args): ...
        def update(self, *args, **kwargs): return self

    class PerfTrace:
        @staticmethod
        def initialize_log(*args): return PerfTrace()
        @classmethod
        def get_instance(cls): return cls()
        def enter_event(self): ...
        def exit_event(self): ...
        def log_event(self, *args, **kwargs): ...
        def finalize(self): ...
''',
        "shop/stock.py": '''\
from shop.tracing import Profile

io = Profile("STOCK")


class Shelf:
    @io.log_init
    def __init__(self, items):
        self.items = list(items)
        self.step = None

    @io.log
    @property
    def size(self):
        return sum(self.items)

    @io.log
    def take(self, number, epoch=None):
        """An epoch that is None was text to the old tracer, and is an error to the new one."""
        self.items[number] -= 1
        return self.items[number]

    @io.log
    def refill(self, step=(1, 2)):
        self.items = [item + sum(step) for item in self.items]

    @io.log
    @staticmethod
    def price(number):
        return 3 * number

    @io.log
    @classmethod
    def empty(cls):
        return cls([])
''',
        "sell.py": """\
import os
import sys

from dlio_profiler.logger import dlio_logger, fn_interceptor
from shop.stock import Shelf

sales = fn_interceptor("SALES")


@sales.log
def serve(customer, shelf):
    with fn_interceptor(cat="SALES", name="count") as region:
        region.update(args={"customer": customer})
        return shelf.take(customer % 3) + shelf.price(customer)


def main():
    here = os.environ["OUT"]
    log = dlio_logger.initialize_log(os.path.join(here, "trace.pfw"), here, None)
    shelf = Shelf([3, 4, 5])
    total = 0
    for customer in fn_interceptor("SALES").iter(range(4), "customer"):
        total += serve(customer, shelf)
    shelf.refill()
    print(total, shelf.size, Shelf.empty().items)
    log.enter_event()
    log.log_event("closing", "TILL", 1000, 5, {"clerk": "Ada"})
    log.exit_event()
    return 0


if __name__ == "__main__":
    sys.exit(main())
""",
    },
    # takes: 2, 3, 4 and 1 of the first shelf again; prices 0, 3, 6, 9; (1 + 3 + 4) + 3 * 3 after the refill
    "28 17 []\n",
    {
        ("STOCK", "Shelf.__init__"): 2,
        ("STOCK", "Shelf.size"): 1,
        ("STOCK", "Shelf.take"): 4,
        ("STOCK", "Shelf.refill"): 1,
        ("STOCK", "Shelf.price"): 4,
        ("STOCK", "Shelf.empty"): 1,
        ("SALES", "serve"): 4,
        ("SALES", "count"): 4,
        ("SALES", "loop.iter"): 4,
        ("SALES", "loop.yield"): 4,
        ("TILL", "closing"): 1,
    },
    # the loop counts its items under the name that was the second argument of ``iter``
    {("TILL", "closing"): {"clerk": "Ada"}, ("SALES", "loop.iter"): {"customer": ANY}},
)

FIRST_RELEASES = Old(
    {
        "pyproject.toml": "",
        "probe.py": """\
import time

import dftracer.logger as dl

compute = dl.dft_fn("COMPUTE")
_dft_log = None


@compute.log("heat")
def warm_up(degrees):
    return degrees + 1


@dl.dft_fn("COMPUTE")
def cool_down(degrees):
    if _dft_log is not None:
        begin = time.time() * 1e6
        size = len(str(degrees))
        _dft_log.log_event(
            name="cooling", cat="COMPUTE", start_time=begin, duration=(time.time() * 1e6) - begin,
            int_args={"size": size}, string_args={"unit": "K"},
        )
    return degrees - 1


@compute.log_static
@staticmethod
def measure(degrees):
    return degrees


@compute.log
def readings(count):
    for number in range(count):
        yield number
""",
        "run.py": """\
from dftracer.logger import (
    dftracer,  # starts it
    dftracer_fn as Profile,
    DFTRACER_ENABLE,
)

import probe

main_category = Profile(category="MAIN")


@main_category.log
def climb(image_idx=None):
    degrees = 0
    for _ in range(5):
        degrees = probe.warm_up(degrees)
    with Profile("MAIN", name="down", comp="probe"):
        for reading in probe.readings(3):
            degrees = probe.cool_down(degrees)
    return degrees


if __name__ == "__main__":
    df_logger = dftracer.initialize_log(log_file=None, data_dir=None, process_id=None)
    print(climb())
    print(climb("x"))
    df_logger.finalize_log()
""",
        "launch.sh": "#!/bin/sh\nexport DFTRACER_ENABLE=true DFTRACER_INIT=HYBRID\npython run.py\n",
    },
    "2\n2\n",
    {
        ("COMPUTE", "heat"): 10,
        ("COMPUTE", "cool_down"): 6,
        ("COMPUTE", "cooling"): 6,
        # none of the generator: its event told of its creation alone, so that it is decorated no longer
        ("MAIN", "climb"): 2,
        ("MAIN", "down"): 2,
    },
    {("COMPUTE", "cooling"): {"size": 1, "unit": "K"}},
    ("DFT601", "DFT601"),
)

PROGRAMS = {"predecessor": PREDECESSOR, "first-releases": FIRST_RELEASES}


def run(folder: Path, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return run_for_real([sys.executable, script], folder, environ={"OUT": os.fspath(folder / "out"), **variables})


def events(folder: Path) -> list[dict[str, object]]:
    found = []
    for path in folder.rglob("*.pfw.gz"):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            found += [json.loads(line) for line in lines if line.startswith("{")]
    return [event for event in found if event["ph"] == 1 and event["cat"] not in OWN_RECORDS]


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_old_program_is_put_right_and_traces(name: str, write_tree: WriteTree, run_cli: RunCli) -> None:
    old = PROGRAMS[name]
    script = next(path for path in ("sell.py", "run.py") if path in old.files)
    folder = write_tree({**old.files, "out/": ""})

    fixed = run_cli("lint", "--fix", "--output-format", "json", folder)
    left = [(finding["code"], finding["path"], finding["message"]) for finding in json.loads(fixed.out)]
    assert sorted(code for code, _, _ in left) == sorted(old.left), left
    again = run_cli("lint", "--fix", "--output-format", "json", folder)
    assert again.out == fixed.out

    off = run(folder, script)
    assert (off.stdout, off.stderr) == (old.says, "")

    on = run(
        folder,
        script,
        DFTRACER_ENABLE="1",
        DFTRACER_INC_METADATA="1",
        DFTRACER_LOG_FILE=os.fspath(folder / "out" / "trace"),
        DFTRACER_DATA_DIR=os.fspath(folder / "out"),
    )
    assert (on.stdout, on.stderr, on.returncode) == (old.says, "", off.returncode)
    traced = events(folder)
    assert Counter((event["cat"], event["name"]) for event in traced) == old.calls
    for event in traced:
        wanted = old.arguments.get((str(event["cat"]), str(event["name"])), {})
        given = event["args"]
        assert isinstance(given, dict)
        assert wanted.items() <= given.items()
