"""Where the names come in, under which names, and what a file keeps that knows the tracer already."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

F = 'def f():\n    open("x")\n'
DECORATED = f"@_dft.log\n{F}"

PLACES = {
    # what stands before a function that is traced -> the same, with the names in it
    "imports": ("import os\nimport sys\n\n\n", "import os\nimport sys\n<import>\n\n<instance>\n\n\n"),
    "docstring": ('"""Docs."""\n\n', '"""Docs."""\n\n<import>\n\n<instance>\n\n'),
    "docstring-and-imports": ('"""Docs."""\nimport os\n', '"""Docs."""\nimport os\n<import>\n\n<instance>\n'),
    "docstring-of-many-lines": (
        '"""Docs.\n\nimport os\n"""\n\n\n',
        '"""Docs.\n\nimport os\n"""\n\n<import>\n\n<instance>\n\n\n',
    ),
    "docstring-concatenated": ('"a" \\\n"b"\n', '"a" \\\n"b"\n\n<import>\n\n<instance>\n'),
    "no-docstring-but-bytes": ('b"""Docs."""\n', '<import>\n\n<instance>\n\nb"""Docs."""\n'),
    "future": (
        "from __future__ import annotations\n",
        "from __future__ import annotations\n<import>\n\n<instance>\n",
    ),
    "future-after-docstring-and-comment": (
        '"""Docs."""\n# why\nfrom __future__ import annotations\nimport os\n',
        '"""Docs."""\n# why\nfrom __future__ import annotations\nimport os\n<import>\n\n<instance>\n',
    ),
    "shebang-and-cookie": (
        "#!/usr/bin/env python3\n# -*- coding: utf-8 -*-\n# Licence.\n\n",
        "#!/usr/bin/env python3\n# -*- coding: utf-8 -*-\n# Licence.\n\n<import>\n\n<instance>\n\n",
    ),
    "nothing": ("", "<import>\n\n<instance>\n\n"),
    "assignment-first": ("x = 1\n", "<import>\n\n<instance>\n\nx = 1\n"),
    "assignment-then-import": ("x = 1\nimport os\n", "x = 1\nimport os\n<import>\n\n<instance>\n"),
    "environment-between-imports": (
        'import os\nos.environ["A"] = "1"\nimport sys\nsys.path.insert(0, ".")\nimport json\n',
        'import os\nos.environ["A"] = "1"\nimport sys\nsys.path.insert(0, ".")\nimport json\n<import>\n\n<instance>\n',
    ),
    "mpi4py-told-how-to-start": (
        "import mpi4py\nmpi4py.rc.initialize = False\nfrom mpi4py import MPI\n",
        "import mpi4py\nmpi4py.rc.initialize = False\nfrom mpi4py import MPI\n<import>\n\n<instance>\n",
    ),
    "gevent-before-the-rest": (
        "from gevent import monkey; monkey.patch_all()\nimport ssl\n",
        "from gevent import monkey; monkey.patch_all()\nimport ssl\n<import>\n\n<instance>\n",
    ),
    "environment-after-the-last-import": (
        'import os\nos.environ["A"] = "1"\n',
        'import os\n<import>\n\n<instance>\nos.environ["A"] = "1"\n',
    ),
    "try-first": (
        "try:\n    import json\nexcept ImportError:\n    json = None\nimport os\n",
        "try:\n    import json\nexcept ImportError:\n    json = None\nimport os\n<import>\n\n<instance>\n",
    ),
    "try-between": (
        "import os\ntry:\n    import json\nexcept ImportError:\n    json = None\nimport sys\n",
        "import os\n<import>\n\n<instance>\ntry:\n    import json\nexcept ImportError:\n    json = None\nimport sys\n",
    ),
    "type-checking": (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import os\n",
        "from typing import TYPE_CHECKING\n<import>\n\n<instance>\nif TYPE_CHECKING:\n    import os\n",
    ),
    "imports-below-an-undecorated-function": (
        "def g(): pass\nimport os\n",
        "def g(): pass\nimport os\n<import>\n\n<instance>\n",
    ),
    "imports-below-a-decorated-function": (
        "def g(): open('x')\nimport os\n",
        "<import>\n\n<instance>\n\n@_dft.log\ndef g(): open('x')\nimport os\n",
    ),
    "imports-below-a-class-with-a-decorated-method": (
        "@decorator\nclass A:\n    def g(this): open('x')\nimport os\n",
        "<import>\n\n<instance>\n\n@decorator\nclass A:\n    @_dft.log\n    def g(this): open('x')\nimport os\n",
    ),
    "semicolons": ("import os; import sys\n", "import os; import sys\n<import>\n\n<instance>\n"),
    "semicolon-and-a-statement-of-two-lines": (
        "import os; x = [\n    1]; y = 2\n",
        "import os; x = [\n    1]; y = 2\n<import>\n\n<instance>\n",
    ),
    "docstring-semicolon-future": (
        '"Docs."; from __future__ import annotations; x = 1\n',
        '"Docs."; from __future__ import annotations; x = 1\n<import>\n\n<instance>\n',
    ),
    "backslashes": (
        "from os import path, \\\n    sep\nimport sys; \\\nimport json\n",
        "from os import path, \\\n    sep\nimport sys; \\\nimport json\n<import>\n\n<instance>\n",
    ),
    "parentheses": (
        "from os import (  # both\n    path,\n    sep,\n)  # end\n",
        "from os import (  # both\n    path,\n    sep,\n)  # end\n<import>\n\n<instance>\n",
    ),
    "form-feed": ("import os\n\x0c\n", "import os\n<import>\n\n<instance>\n\x0c\n"),
    "relative-imports": (
        "from . import a\nfrom .b import *\n",
        "from . import a\nfrom .b import *\n<import>\n\n<instance>\n",
    ),
}


@pytest.mark.parametrize(("before", "after"), PLACES.values(), ids=PLACES)
def test_place(before: str, after: str, rewrite: Callable[..., Any], expanded: Callable[[str], str]) -> None:
    assert rewrite(before + F).text == expanded(after + DECORATED)


SECTIONS = {
    # a file of which marks cut a part out -> the same, with the names in it
    "below-the-imports": (
        "import os\n###{core\n\nasync def f():\n    return 1\n###}\n",
        "import os\n###{core\n<import>\n\nasync def f():\n"
        '    with DFTracerFn("m", name="f"):\n        return 1\n###}\n',
    ),
    "with-imports-of-its-own": (
        "import os\nX = 1\n###{core\nimport re\nasync def f():\n    return 1\n###}\n",
        "import os\nX = 1\n###{core\n<import>\nimport re\nasync def f():\n"
        '    with DFTracerFn("m", name="f"):\n        return 1\n###}\n',
    ),
    "ends-above-the-first-definition": (
        "import os\n###{core\nX = 1\n###}\nasync def f():\n    return 1\n",
        "import os\n<import>\n###{core\nX = 1\n###}\nasync def f():\n"
        '    with DFTracerFn("m", name="f"):\n        return 1\n',
    ),
    "never-ends": (
        "import os\n###{core\nasync def f():\n    return 1\n",
        'import os\n<import>\n###{core\nasync def f():\n    with DFTracerFn("m", name="f"):\n        return 1\n',
    ),
    "in-a-string": (
        'import os\nX = """\n###{core\n"""\nasync def f():\n    return 1\n###}\n',
        'import os\n<import>\nX = """\n###{core\n"""\nasync def f():\n'
        '    with DFTracerFn("m", name="f"):\n        return 1\n###}\n',
    ),
}


@pytest.mark.parametrize(("before", "after"), SECTIONS.values(), ids=SECTIONS)
def test_part_that_marks_cut_out(
    before: str, after: str, rewrite: Callable[..., Any], expanded: Callable[[str], str]
) -> None:
    assert rewrite(before, every=True).text == expanded(after)


def test_part_that_is_cut_out_runs_by_itself(rewrite: Callable[..., Any], fake_tracer: Any) -> None:
    done = rewrite(
        "import os\n\n###{core\n\nclass A:\n    def f(self): return 6\n    @property\n    def g(self):\n"
        "        return self.f() + 1\nprint(A().g)\n###}\n\ndef rest(): return os.name\n",
        every=True,
    )
    part = done.text[done.text.index("###{") : done.text.index("###}")]
    assert fake_tracer.run(part)[0].output == "7\n"


def test_bom_and_latin_1_and_carriage_returns(rewrite: Callable[..., Any]) -> None:
    for data in (
        b"\xef\xbb\xbfimport os\ndef f():\n    open('\xc3\xa9')\n",
        b"\xef\xbb\xbf# coding: utf-8\r\nimport os\r\ndef f():\r\n    open('\xc3\xa9')\r\n",
        b"# -*- coding: latin-1 -*-\nimport os\ndef f():\n    open('\xe9')\n",
        b"#!/bin/sh\n# vim: set fileencoding=cp1252 :\nimport os\ndef f():\n    open('\x80')",
        b"import os\rdef f():\r    open('x')\r",
        b"import os\r\ndef f():\n    open('x')\r\n",
        b"import os\ndef f():\n    '''\xe2\x80\xa8 \x0b \x1c \xc2\x85'''\n    open('x')\n",
    ):
        done = rewrite(data)
        assert done.traced == ["f"]
        written = done.source.encode(done.text)
        assert written.startswith(data[: data.index(b"import")])


TAKEN = {
    "instance": ("_dft = 1\n", {"_dft_2"}),
    "instance-as-parameter": ("def g(_dft): pass\n", {"_dft_2"}),
    "instance-as-global-in-a-function": ("def g():\n    global _dft\n", {"_dft_2"}),
    "instance-twice": ("_dft = _dft_2 = 1\n", {"_dft_3"}),
    "instance-in-a-class": ("class A:\n    _dft = 1\n", {"_dft_2"}),
    "instance-deleted": ("del _dft\n", {"_dft_2"}),
    "instance-in-a-walrus": ("print(_dft := 1)\n", {"_dft_2"}),
    "instance-in-an-except": ("try: pass\nexcept OSError as _dft: pass\n", {"_dft_2"}),
    "instance-captured-by-a-pattern": ("match 1:\n    case [_dft]: pass\n", {"_dft_2"}),
    "instance-captured-by-a-star-pattern": ("match 1:\n    case [*_dft]: pass\n", {"_dft_2"}),
    "instance-captured-by-a-mapping-pattern": ("match 1:\n    case {1: 2, **_dft}: pass\n", {"_dft_2"}),
    "instance-in-other-letters": ("_ｄｆｔ = 1\n", {"_dft_2"}),
    "logger-module": ("import dftracer\n", {"_dftracer"}),
    "logger-submodule": ("import dftracer.dftracer\n", {"_dftracer"}),
    "function-alias": ("class DFTracerFn: pass\n", {"_DFTracerFn"}),
    "all": ("from a import dftracer, DFTracerFn, _dft\n", {"_dftracer", "_DFTracerFn", "_dft_2"}),
    # near misses: nothing of ours is met
    "attribute-only": ("x._dft = x.dftracer = x.DFTracerFn\n", set()),
    "keyword-only": ("print(_dft=1)\n", set()),
    "string-only": ("'_dft dftracer'\n", set()),
    "longer-names": ("_dft_x = dftracer_x = 1\n", set()),
}


@pytest.mark.parametrize(("line", "expected"), TAKEN.values(), ids=TAKEN)
def test_name_taken(line: str, expected: set[str], rewrite: Callable[..., Any]) -> None:
    done = rewrite(line + F)
    names = done.entry.names
    usual = {"instance": "_dft", "logger": "dftracer", "function": "DFTracerFn"}
    assert {names[key] for key in usual if names[key] != usual[key]} == expected
    assert f"@{names['instance']}.log\n" in done.text


OWN = {
    "all-its-own": (
        "from dftracer.python import dftracer as tracer, dft_fn as F\nio = F('IO')\n@io.log\ndef g():\n    open('y')\n",
        "from dftracer.python import dftracer as tracer, dft_fn as F\nio = F('IO')\n@io.log\ndef g():\n    open('y')\n"
        "@io.log\n",
        "IO",
    ),
    "category-by-keyword": (
        "from dftracer.python import dft_fn\nio = dft_fn(cat='IO')\n",
        "from dftracer.python import dft_fn\nio = dft_fn(cat='IO')\n@io.log\n",
        "IO",
    ),
    "instance-hides-the-class": (
        "from dftracer.python import dft_fn\ndft_fn = dft_fn('IO')\n",
        "from dftracer.python import dft_fn\ndft_fn = dft_fn('IO')\n@dft_fn.log\n",
        "IO",
    ),
    "instance-missing": (
        "from dftracer.python import dft_fn as F\n",
        'from dftracer.python import dft_fn as F\n\n_dft = F("m")\n@_dft.log\n',
        "m",
    ),
    "logger-only": (
        "from dftracer.python import dftracer\n",
        "from dftracer.python import dftracer\nfrom dftracer.python import dft_fn as DFTracerFn\n\n<instance>\n"
        "@_dft.log\n",
        "m",
    ),
    "import-below-a-statement": (
        "import os\nx = 1\nfrom dftracer.python import dft_fn as F\n",
        'import os\nx = 1\nfrom dftracer.python import dft_fn as F\n\n_dft = F("m")\n@_dft.log\n',
        "m",
    ),
    # what is called like an instance but is none where it is needed
    "instance-bound-again": (
        "from dftracer.python import dft_fn as F\nfn = F('IO')\nfor fn in []: pass\n",
        "from dftracer.python import dft_fn as F\n\n_dft = F(\"m\")\nfn = F('IO')\nfor fn in []: pass\n@_dft.log\n",
        "m",
    ),
    "two-instances-of-one-name": (
        "from dftracer.python import dft_fn as F\nfn = F('A')\nfn = F('B')\n",
        "from dftracer.python import dft_fn as F\n\n_dft = F(\"m\")\nfn = F('A')\nfn = F('B')\n@_dft.log\n",
        "m",
    ),
    "instance-private-to-classes": (
        "from dftracer.python import dft_fn as F\n__fn = F('IO')\n",
        "from dftracer.python import dft_fn as F\n\n_dft = F(\"m\")\n__fn = F('IO')\n@_dft.log\n",
        "m",
    ),
    "import-under-a-condition": (
        "try:\n    from dftracer.python import dft_fn\nexcept ImportError:\n    dft_fn = None\n",
        "<import>\n\n<instance>\n\n"
        "try:\n    from dftracer.python import dft_fn\nexcept ImportError:\n    dft_fn = None\n@_dft.log\n",
        "m",
    ),
    "earlier-generation": (
        "from dftracer.logger import dft_fn\n",
        "from dftracer.logger import dft_fn\n<import>\n\n<instance>\n@_dft.log\n",
        "m",
    ),
}


@pytest.mark.parametrize(("before", "after", "category"), OWN.values(), ids=OWN)
def test_file_that_knows_the_tracer(
    before: str, after: str, category: str, rewrite: Callable[..., Any], expanded: Callable[[str], str]
) -> None:
    done = rewrite(before + F)
    assert done.text == expanded(after + F)
    assert done.entry.category == category
    assert {site.category for site in done.entry.sites} == {category}


def test_functions_above_the_files_own_instance_are_left_alone(rewrite: Callable[..., Any]) -> None:
    done = rewrite(
        """
        def a():
            open("x")
        from dftracer.python import dft_fn
        def b():
            open("x")
        io = dft_fn("IO")
        def c():
            open("x")
        """
    )
    assert done.traced == ["c"]
    assert done.reasons == {"a": "before-tracer-import", "b": "before-tracer-import"}


@pytest.mark.parametrize(
    "decorator",
    ["x.log", "x.log_init", "x.log_static", "x.log(name='n')", "dft_fn('A').log"],
)
def test_function_that_is_annotated_already(decorator: str, rewrite: Callable[..., Any]) -> None:
    done = rewrite(f"from dftracer.python import dft_fn\nx = dft_fn('A')\n@{decorator}\n{F}")
    assert not done.changed
    assert done.reasons == {"f": "annotated"}


def test_log_of_something_else_is_no_annotation(rewrite: Callable[..., Any]) -> None:
    done = rewrite(f"import app\n@app.log\n{F}")
    assert done.forms == {"f": "region"}


def test_nothing_to_trace_brings_no_import(rewrite: Callable[..., Any]) -> None:
    assert not rewrite("import os\n\n\nclass A:\n    x = 1\n").changed
    assert not rewrite(b"").changed
    assert not rewrite(b"# -*- coding: latin-1 -*-\n# \xe9\n", entry=True).changed
