"""DFT204: ``__init__`` under the decorator for plain functions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from dfannotate import vocabulary
from dfannotate.rules import Case, Finding, Module, Rule
from dfannotate.rules.decorated import in_class, of_functions, spelled
from dfannotate.rules.repairs import with_method


class InitWithoutLogInit(Rule):
    """``@x.log`` looks at the attributes of ``self`` before it calls the function, and ``__init__`` has set none yet: a
    property called ``step`` that reads one raises when tracing is on. ``@x.log_init`` is made for ``__init__``: it
    looks at the arguments alone, and passes over one that is None."""

    CODE: ClassVar[str] = "DFT204"
    NAME: ClassVar[str] = "init-without-log-init"
    MESSAGE: ClassVar[str] = "`{decorator}` on `__init__` looks at an object that is not made yet; use `{instead}`"
    FIXABLE: ClassVar[bool] = True

    def check(self, module: Module) -> Iterator[Finding]:
        for decoration, function in of_functions(module):
            if function.name == "__init__" and decoration.method == vocabulary.LOG and in_class(decoration):
                name = spelled(module, decoration)
                instead = name.rpartition(".")[0] + "." + vocabulary.LOG_INIT
                fix = with_method(module, decoration, vocabulary.LOG_INIT)
                yield self.finding(module, decoration.node, fix, decorator=name, instead=instead)

    VALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "log-init",
            "from dftracer.python import dft_fn\nx = dft_fn('C')\nclass A:\n    @x.log_init\n"
            "    def __init__(self):\n        self.a = 1\n",
        ),
        Case(
            "log-static",
            "from dftracer.python import dft_fn\nx = dft_fn('C')\nclass A:\n    @x.log_static\n"
            "    def __init__(self, image_size):\n        self.a = image_size\n",
        ),
        Case(
            "no-method",
            "from dftracer.python import dft_fn\nx = dft_fn('C')\n@x.log\ndef __init__(module):\n    return 1\n",
        ),
        Case(
            "rebound",
            "from dftracer.python import dft_fn\nimport logging\nx = dft_fn('C')\nx = logging\nclass A:\n    @x.log\n"
            "    def __init__(self):\n        self.a = 1\n",
        ),
    )
    INVALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "plain",
            "from dftracer.python import dft_fn\nx = dft_fn('C')\nclass A:\n    @x.log\n"
            "    def __init__(self):\n        self.a = 1\n",
            ((4, 6),),
            "from dftracer.python import dft_fn\nx = dft_fn('C')\nclass A:\n    @x.log_init\n"
            "    def __init__(self):\n        self.a = 1\n",
        ),
        Case(
            "called-in-try",
            "try:\n    from dftracer.logger import dft_fn as Profile\nexcept ImportError:\n    Profile = None\n"
            "p = Profile('C')\ndef make():\n    class A:\n        @p.log(name='made')\n        def __init__(self):\n"
            "            self.a = 1\n    return A\n",
            ((8, 10),),
            "try:\n    from dftracer.logger import dft_fn as Profile\nexcept ImportError:\n    Profile = None\n"
            "p = Profile('C')\ndef make():\n    class A:\n        @p.log_init(name='made')\n"
            "        def __init__(self):\n            self.a = 1\n    return A\n",
        ),
    )
