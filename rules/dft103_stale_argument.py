"""DFT103: an argument that the tracer's function does not take, or no longer takes at that place."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import ClassVar

from dfannotate import vocabulary
from dfannotate.rules import Case, Finding, Fix, Module, Rule
from dfannotate.rules.arguments import placed_by_value, without_argument
from dfannotate.rules.repairs import insert_before, rename_keyword
from dfannotate.usage import CallUse

_INITIALIZE = f"logger.{vocabulary.INITIALIZE}", f"log.{vocabulary.INITIALIZE}"
_WRAPPED = {f"instance.{method}": new for method, new in vocabulary.WRAPPED_ARGUMENT.items()}
_ITER = f"instance.{vocabulary.ITER}"
_EVENT = f"log.{vocabulary.LOG_EVENT}"
_TIME = frozenset({f"logger.{vocabulary.GET_TIME}", f"log.{vocabulary.GET_TIME}"})
_ALSO_TAKEN = frozenset({("int_args", "float_args")})


class StaleArgument(Rule):
    """Arguments that no release takes (``comp=``, ``log_file=``), that are gone (``f_py=``, ``include_yield=``), or
    that mean something else at their place than they did in the release that the file is written for.

    An unknown one raises ``TypeError``, with tracing off as well. Of those that changed places, the second one of
    ``iter`` named the count of the items and names the loop, and the fifth of ``log_event`` held strings and holds
    integers, which raises when tracing is on."""

    CODE: ClassVar[str] = "DFT103"
    NAME: ClassVar[str] = "stale-argument"
    MESSAGE: ClassVar[str] = "`{argument}` {fault}"
    FIXABLE: ClassVar[bool] = True
    SINCE: ClassVar[tuple[int, int, int]] = (2, 0, 2)

    def check(self, module: Module) -> Iterator[Finding]:
        for use in module.usage.uses:
            if not isinstance(use, CallUse):
                continue
            if use.role == "function":
                yield from self._unknown(module, use, vocabulary.FUNCTION_ARGUMENTS)
            elif use.role in _INITIALIZE:
                yield from self._unknown(module, use, vocabulary.INITIALIZE_ORDER)
            elif use.role in _WRAPPED:
                yield from self._wrapped(module, use, _WRAPPED[use.role])
            elif use.role == _ITER:
                yield from self._loop(module, use)
            elif use.role == _EVENT:
                yield from self._event(module, use)
            elif use.role in _TIME and use.call.args:
                fault = f"is not taken by `{vocabulary.GET_TIME}`, which gives the time and is no region"
                yield self.finding(module, use.call.args[0], argument=module.segment(use.call.args[0]), fault=fault)

    def _unknown(self, module: Module, use: CallUse, known: tuple[str, ...]) -> Iterator[Finding]:
        given = {keyword.arg for keyword in use.call.keywords}
        for keyword in use.call.keywords:
            name = keyword.arg
            if name is None or name in known or name == vocabulary.MISTAKEN_CATEGORY:
                continue
            meant = vocabulary.MISTAKEN_ARGUMENTS.get(name, "")
            fix: Fix | None = None
            if meant in known and meant not in given and len(use.call.args) <= known.index(meant):
                fault, fix = f"is called `{meant}`", Fix((rename_keyword(module, keyword, meant),))
            elif name == vocabulary.INVENTED_ARGUMENT and use.role == "function":
                fault, fix = "is no argument of any release", without_argument(module, use, keyword)
            else:
                fault = "is no argument of any release"
            yield self.finding(module, keyword, fix, argument=f"{name}=", fault=fault)

    def _wrapped(self, module: Module, use: CallUse, new: str) -> Iterator[Finding]:
        for keyword in use.call.keywords:
            if keyword.arg == vocabulary.OLD_WRAPPED_ARGUMENT:
                fix = Fix((rename_keyword(module, keyword, new),))
                yield self.finding(module, keyword, fix, argument=f"{keyword.arg}=", fault=f"is called `{new}` now")

    def _loop(self, module: Module, use: CallUse) -> Iterator[Finding]:
        gone = [keyword for keyword in use.call.keywords if keyword.arg in vocabulary.GONE_ITER_ARGUMENTS]
        harmless = all(isinstance(keyword.value, ast.Constant) and keyword.value.value is True for keyword in gone)
        for keyword in gone:
            fix = without_argument(module, use, keyword) if harmless else None
            yield self.finding(module, keyword, fix, argument=f"{keyword.arg}=", fault="is gone")
        if _is_of_predecessor(module) and len(use.call.args) == 2 and not _is_starred(use.call):
            second = use.call.args[1]
            fix = Fix((insert_before(module, second, f"{vocabulary.ITER_NAME_ARGUMENT}="),))
            fault = "in the second place named the count of the items, and names the loop now"
            yield self.finding(module, second, fix, argument=module.segment(second), fault=fault)

    def _event(self, module: Module, use: CallUse) -> Iterator[Finding]:
        call = use.call
        given = {keyword.arg for keyword in call.keywords}
        if vocabulary.MISTAKEN_ARGUMENTS.keys() & given or _is_starred(call):
            return
        first = vocabulary.EVENT_ORDER.index("int_args")
        for position, value in enumerate(call.args[first:], first):
            wanted = placed_by_value(value)
            argument = vocabulary.EVENT_ORDER[position]
            if wanted and wanted != argument and (wanted, argument) not in _ALSO_TAKEN:
                later = call.args[position:]
                names = [placed_by_value(one) for one in later]
                fix = None
                if all(names) and len({*names, *given}) == len(names) + len(given):
                    pairs = zip(later, names, strict=True)
                    fix = Fix(tuple(insert_before(module, one, f"{name}=") for one, name in pairs))
                fault = (
                    f"in place {position + 1} of `{vocabulary.LOG_EVENT}` is taken as `{argument}`; write `{wanted}=`"
                )
                yield self.finding(module, value, fix, argument=_shortened(module.segment(value)), fault=fault)
                return

    VALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "all-arguments",
            "from dftracer.python import dft_fn\n"
            "x = dft_fn(cat='C', name='n', epoch=1, step=2, image_idx=3, image_size=4.0, enable=True)\n",
        ),
        Case("unpacked", "from dftracer.python import dft_fn\nx = dft_fn('C', **options)\n"),
        Case("own-function", "from dlio import Profile\nx = Profile('C', comp='io')\n"),
        Case("shadowed", "from dftracer.python import dft_fn\ndef g(dft_fn):\n    return dft_fn('C', comp='io')\n"),
        Case("loop-name", "from dftracer.python import dft_fn\nfor b in dft_fn('C').iter(loader, 'load'): ...\n"),
        Case(
            "integers-in-fifth-place",
            "from dftracer.python import dftracer\n"
            "dftracer.get_instance().log_event('n', 'C', t, d, {'k': (0, 5)}, {'x': (0, 1)}, {'s': (0, 'v')})\n",
        ),
        Case(
            "loop-of-ai",
            "from dftracer.python import ai\nfor b in ai.dataloader.fetch.iter(loader, include_iter=False): ...\n",
        ),
        Case(
            "old-release-wanted",
            "from dftracer.logger import dft_fn\nfor b in dft_fn('C').iter(it, include_yield=True): ...\n",
            target="1.0.11",
        ),
    )
    INVALID: ClassVar[tuple[Case, ...]] = (
        Case(
            "log-file",
            "from dftracer.python import dftracer as PerfTrace\n"
            "PerfTrace.initialize_log(log_file=None, data_dir=None, process_id=-1)\n",
            ((2, 26),),
            "from dftracer.python import dftracer as PerfTrace\n"
            "PerfTrace.initialize_log(logfile=None, data_dir=None, process_id=-1)\n",
        ),
        Case(
            "comp",
            "from dftracer.python import dft_fn\nx = dft_fn('C', comp='io', name='n')\ny = dft_fn(comp='io')\n"
            "with dft_fn(\n    cat='C', name='r',\n    comp=kind,  # which\n) as r:\n    pass\n",
            ((2, 17), (3, 12), (6, 5)),
            "from dftracer.python import dft_fn\nx = dft_fn('C', name='n')\ny = dft_fn(cat='io')\n"
            "with dft_fn(\n    cat='C', name='r',  # which\n) as r:\n    pass\n",
        ),
        Case(
            "wrapped",
            "from dftracer.python import dft_fn\nx = dft_fn('C')\nf = x.log(f_py=f)\n"
            "g = x.log_init(name='n', f_py=g)\n",
            ((3, 11), (4, 26)),
            "from dftracer.python import dft_fn\nx = dft_fn('C')\nf = x.log(func=f)\n"
            "g = x.log_init(name='n', init=g)\n",
        ),
        Case(
            "loop-with-both",
            "from dftracer.python import dft_fn\n"
            "for b in dft_fn('C').iter(it, include_yield=True, include_iter=True): ...\n"
            "for b in dft_fn('C').iter(it, include_yield=False): ...\n",
            ((2, 31), (2, 51), (3, 31)),
            "from dftracer.python import dft_fn\n"
            "for b in dft_fn('C').iter(it): ...\n"
            "for b in dft_fn('C').iter(it, include_yield=False): ...\n",
        ),
        Case(
            "loop-of-first-generation",
            "from dlio_profiler.logger import fn_interceptor as Profile\n"
            "for b in Profile('C').iter(it, 'batch'): ...\n",
            ((2, 32),),
            "from dlio_profiler.logger import fn_interceptor as Profile\n"
            "for b in Profile('C').iter(it, iter_name='batch'): ...\n",
        ),
        Case(
            "strings-in-fifth-place",
            "from dftracer.python import dftracer\nlog = dftracer.get_instance()\n"
            "log.log_event('n', 'C', t, d, {'path': 'a', 'mode': f'{m}'})\n"
            "log.log_event('n', 'C', t, d, {}, {'k': (0, 'v')})\n",
            ((3, 31), (4, 35)),
            "from dftracer.python import dftracer\nlog = dftracer.get_instance()\n"
            "log.log_event('n', 'C', t, d, string_args={'path': 'a', 'mode': f'{m}'})\n"
            "log.log_event('n', 'C', t, d, {}, string_args={'k': (0, 'v')})\n",
        ),
        Case(
            "time-as-region",
            "from dftracer.python import dftracer\nt = dftracer.get_instance().get_time('IO')\n",
            ((2, 38),),
        ),
    )


def _is_of_predecessor(module: Module) -> bool:
    return any(use.module.partition(".")[0] in vocabulary.PREDECESSORS for use in module.usage.imports)


def _is_starred(call: ast.Call) -> bool:
    return any(isinstance(argument, ast.Starred) for argument in call.args)


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 40 else line[:37] + "..."
