"""DFT105: a category that is given as ``category=``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from dfannotate import vocabulary
from dfannotate.rules import Case, Finding, Fix, Module, Rule
from dfannotate.rules.repairs import rename_keyword

_TAKING = ("function", f"log.{vocabulary.LOG_EVENT}")


class CategoryKeyword(Rule):
    """The argument is called ``cat`` in every release; ``category=`` raises ``TypeError``, with tracing off as well
    where a decorator or region is made."""

    CODE: ClassVar[str] = "DFT105"
    NAME: ClassVar[str] = "category-keyword"
    MESSAGE: ClassVar[str] = "`category=` is no argument of the tracer; it is called `cat`"
    FIXABLE: ClassVar[bool] = True

    def check(self, module: Module) -> Iterator[Finding]:
        for use in module.usage.calls(*_TAKING):
            place = 0 if use.role == "function" else vocabulary.EVENT_ORDER.index("cat")
            given = len(use.call.args) > place or any(keyword.arg == "cat" for keyword in use.call.keywords)
            for keyword in use.call.keywords:
                if keyword.arg == vocabulary.MISTAKEN_CATEGORY:
                    fix = None if given else Fix((rename_keyword(module, keyword, "cat"),))
                    yield self.finding(module, keyword, fix)

    VALID: ClassVar[tuple[Case, ...]] = (
        Case("cat", "from dftracer.python import dft_fn\nx = dft_fn(cat='IO')\n"),
        Case("other-function", "from dftracer.python import dft_fn\nx = dft_fn('IO')\nwarn('old', category=Warning)\n"),
        Case("other-library", "from tracing import dft_fn\nx = dft_fn(category='IO')\n"),
        Case(
            "own-wrapper",
            "from dftracer.python import dft_fn\n\ndef region(category):\n    return dft_fn(cat=category)\n\n"
            "with region(category='IO'):\n    pass\n",
        ),
    )
    INVALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "decorator-and-region",
            "from dftracer.python import dft_fn as Profile\nx = Profile(category='IO')\n"
            "with Profile(name='r', category = 'C'):\n    pass\n",
            ((2, 13), (3, 24)),
            "from dftracer.python import dft_fn as Profile\nx = Profile(cat='IO')\n"
            "with Profile(name='r', cat = 'C'):\n    pass\n",
        ),
        Case(
            "event",
            "import dftracer.python as dp\n"
            "dp.dftracer.get_instance().log_event('n', category='C', start_time=t, duration=d)\n",
            ((2, 43),),
            "import dftracer.python as dp\n"
            "dp.dftracer.get_instance().log_event('n', cat='C', start_time=t, duration=d)\n",
        ),
        Case("both", "from dftracer.python import dft_fn\nx = dft_fn('IO', category='C')\n", ((2, 18),)),
    )
