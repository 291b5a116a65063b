"""What an annotation looks like: the text that is written, and the same shapes known again in a tree.

Writing and recognising stand side by side so that they cannot drift: the self-check of a rewritten file takes the
annotations out of its tree by ``strip`` and must be left with the old program, and ``revert`` finds by the same
functions what has to go from a file that was edited since.
"""

from __future__ import annotations

import ast
import itertools
import json
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass

from dfannotate import vocabulary, worker_shapes
from dfannotate.facts import ModuleFacts
from dfannotate.manifest import ManualEvent
from dfannotate.source import lines_with_unit


@dataclass(frozen=True)
class Names:
    """The local names of one file: those it had, or the ones chosen so that they meet no other."""

    logger: str = vocabulary.LOGGER
    function: str = vocabulary.FUNCTION_ALIAS
    enabled: str = vocabulary.ENABLED
    instance: str = vocabulary.INSTANCE_ALIAS
    log: str = vocabulary.LOG_ALIAS
    atexit: str = "atexit"
    instances: str = ""
    """The instances of further categories, by blanks."""
    event: str = vocabulary.EVENT_ALIAS
    event_value: str = vocabulary.EVENT_VALUE_ALIAS
    event_error: str = vocabulary.EVENT_ERROR_ALIAS
    worker: str = vocabulary.WORKER_ALIAS
    """What the names of all begin with that worker processes need."""
    interrupt: str = vocabulary.INTERRUPT_ALIAS
    module: str = vocabulary.MODULE
    """The module that the first three are imported from."""
    alone: str = ""
    """The one that they are imported from where the file is run by its path, if that makes a difference."""

    def every_instance(self) -> tuple[str, ...]:
        """All instances, that of the file's own category first."""
        return (self.instance, *self.instances.split())

    def instance_for(self, category: str, taken: Collection[str]) -> str:
        """A name for the instance of a further category, which meets neither ``taken`` nor another of ours."""
        name = f"{vocabulary.INSTANCE_ALIAS}_" + re.sub(r"\W", "_", category)
        used = {*taken, *vars(self).values(), *self.instances.split()}
        return next(name + "_" * n for n in itertools.count() if name + "_" * n not in used)


def _exported(module: str) -> dict[str, str]:
    """Field of ``Names`` -> what ``module`` calls it, in the order of the import line."""
    spelled = vocabulary.generation_of_module(module)
    return {"logger": spelled.logger, "function": spelled.function, "enabled": spelled.enabled}


def choose_names(facts: ModuleFacts, private: bool = False, module: str = vocabulary.MODULE) -> Names:
    """Names for a file that imports from ``module``: its own where it imports the tracer already, else the usual ones
    (``private``: as private ones, so that neither ``import *`` nor a list of the module's names carries them on), else
    a free variant."""
    own = facts.tracer

    def free(wanted: str) -> str:
        hidden = f"_{wanted.lstrip('_')}"
        numbered = (f"{hidden}_{n}" for n in itertools.count(2))
        first = [wanted, hidden]
        if private:
            # What lists a module's names passes over those that begin with an underscore, or those that hold two.
            first = [wanted if wanted.startswith("_") else f"{vocabulary.INSTANCE_ALIAS}__{wanted}"]
        return next(name for name in itertools.chain(first, numbered) if name not in facts.taken)

    def free_family(wanted: str) -> str:
        numbered = (f"{wanted}_{n}" for n in itertools.count(2))
        candidates = itertools.chain([wanted], numbered)
        return next(name for name in candidates if not any(taken.startswith(name) for taken in facts.taken))

    return Names(
        logger=own.logger or free(vocabulary.LOGGER),
        function=own.function or free(vocabulary.FUNCTION_ALIAS),
        enabled=own.enabled or free(vocabulary.ENABLED),
        instance=own.instance or free(vocabulary.INSTANCE_ALIAS),
        log=free(vocabulary.LOG_ALIAS),
        # Where the file imports atexit itself, it may do so late, in a function, or under a condition.
        atexit=free("atexit"),
        event=free(vocabulary.EVENT_ALIAS),
        event_value=free(vocabulary.EVENT_VALUE_ALIAS),
        event_error=free(vocabulary.EVENT_ERROR_ALIAS),
        worker=free_family(vocabulary.WORKER_ALIAS),
        interrupt=free(vocabulary.INTERRUPT_ALIAS),
        module=module,
    )


# --- writing ----------------------------------------------------------------------------------------------------------


def import_lines(names: Names, fields: Collection[str], indent: str) -> tuple[str, ...]:
    """The import of the named ``fields`` (``logger``, ``function``, ``enabled``). A file that is run by its path is in
    no package, whatever folder it lies in, and finds nothing of one."""
    line = _import_line(names, fields, names.module)
    if not names.alone:
        return (line,)
    return f"if {_IN_PACKAGE}:", indent + line, "else:", indent + _import_line(names, fields, names.alone)


def _import_line(names: Names, fields: Collection[str], module: str) -> str:
    parts = [
        exported if (local := getattr(names, field)) == exported else f"{exported} as {local}"
        for field, exported in _exported(module).items()
        if field in fields
    ]
    return f"from {module} import {', '.join(parts)}"


def atexit_line(names: Names) -> str:
    return "import atexit" if names.atexit == "atexit" else f"import atexit as {names.atexit}"


def instance_line(names: Names, instance: str, category: str, *, named: bool) -> str:
    """What decorators are taken from; they go by the function's name and not by its own. Without a name the tracer asks
    for the stack when the module is imported, tracing or not, and for the module of each frame in it among all that are
    loaded: far down the imports of a package that takes longer than all else."""
    name = f", name={_literal(category)}" if named else ""
    return f"{instance} = {names.function}({_literal(category)}{name})"


def decorator_line(instance: str, method: str) -> str:
    return f"@{instance}.{method}"


def region_line(names: Names, category: str, name: str) -> str:
    """A region around a body. The name is always given: without it the tracer looks at the stack at every pass."""
    return f"with {names.function}({_literal(category)}, name={_literal(name)}):"


def start_lines(names: Names, indent: str, *, interrupt: bool) -> tuple[str, ...]:
    """Tracing starts here; nothing happens with tracing off, where the tracer would still open a log file.

    ``interrupt``: Ctrl-C is given back to the program, by the function of ``interrupt_lines``."""
    start = f"{names.log} = {names.logger}.{vocabulary.INITIALIZE}({vocabulary.INITIALIZE_ARGUMENTS})"
    more = (f"{indent}{names.interrupt}()",) if interrupt else ()
    return f"if {names.enabled}:", f"{indent}{start}", *more


def start_once_lines(names: Names, indent: str, *, interrupt: bool) -> tuple[str, ...]:
    """Tracing starts at the first pass and is finalized when the process ends: for code that runs many times."""
    condition = f"{names.enabled} and {names.logger}.{vocabulary.GET_INSTANCE}().logger is None"
    _, *start = start_lines(names, indent, interrupt=interrupt)
    return f"if {condition}:", *start, f"{indent}{names.atexit}.register({names.log}.{vocabulary.FINALIZE})"


_INTERRUPT = '''\
def {interrupt}():
    """Give Ctrl-C back to the program, which expects its exception: the tracer would exit."""
    import signal
    import threading

    package = str(getattr(signal.getsignal(signal.SIGINT), "__module__", "")).partition(".")[0]
    in_main_thread = threading.current_thread() is threading.main_thread()
    if in_main_thread and package in {packages}:
        signal.signal(signal.SIGINT, signal.default_int_handler)
'''


def interrupt_lines(names: Names, unit: str) -> tuple[str, ...]:
    """The function by which an entry point lets the program be interrupted as it was."""
    packages = str(vocabulary.TRACER_PACKAGES).replace("'", '"')
    return lines_with_unit(_INTERRUPT.format(interrupt=names.interrupt, packages=packages), unit)


def finish_lines(names: Names, indent: str) -> tuple[str, ...]:
    return f"if {names.enabled}:", f"{indent}{names.log}.{vocabulary.FINALIZE}()"


def finish_now_line(names: Names) -> str:
    """Finalizes whatever was started, wherever: for the place before ``MPI.Finalize()``."""
    return f"{names.logger}.{vocabulary.GET_INSTANCE}().{vocabulary.FINALIZE}()"


_EVENT_CLASS = """\
class {event}:
    \"""Logs one event. An error in an expression is said once on stderr, and changes nothing.\"""

    said = set()

    def __init__(self, name, category, unit=None):
        self.name, self.category, self.unit = name, category, unit
        self.ints, self.floats, self.strings, self.json, self.room = {{}}, {{}}, {{}}, [], {room}
        self.tracer = {logger}.{singleton}()
        self.start, self.duration = None if unit else self.tracer.{get_time}(), None

    def __enter__(self):
        if self.unit is None and self.start and self.duration is None:
            now = self.tracer.{get_time}()
            self.duration = now - self.start if now > self.start else 0

    def __exit__(self, kind, error, trace):
        if kind is None or not issubclass(kind, Exception):
            return False
        place = f"{{trace.tb_frame.f_code.co_filename}}:{{trace.tb_lineno}}"
        if place not in self.said:
            self.said.add(place)
            try:
                import sys

                sys.stderr.write(f"{{place}}: event {{self.name}}: {{kind.__name__}}: {{error}}\\n")
            except Exception:
                pass
        return True

    def clock(self, start, duration):
        try:
            scale = {units}[self.tracer.{get_config}("{metric}")]
        except Exception:
            scale = {default}
        self.start, self.duration = self.ticks(start, scale), self.ticks(duration, scale)

    def ticks(self, value, scale):
        if hasattr(value, "__index__"):
            value = (2 * value.__index__() * scale + self.unit) // (2 * self.unit)
        else:
            value = int(float(value) * scale / self.unit + 0.5)
        return value if value > 0 else 0

{numbers}
    def add_string(self, key, value):
        value = str(value)
        lone = value.encode(errors="ignore").decode() != value
        if not self.add_text(key, value, lone):
            self.add_text(key, value[: self.room // 14], lone)
            raise ValueError(f"{{key}} is cut off: a line of the trace cannot hold {{len(value)}} characters")

    def add_text(self, key, value, as_json):
        import json

        text = json.dumps(json.dumps(value) if as_json else value)[1:-1]
        if len(text) > self.room:
            return False
        self.room -= len(text)
        self.strings[key] = {text}
        if as_json:
            self.json.append(key)
        return True

    def failed(self, error):
        with self:
            self.add_string("error", type(error).__name__)
            self.add_string("error", f"{{type(error).__name__}}: {{error}}".rstrip(": "))

    def log(self):
        with self:
            if self.duration is None:
                return
            if self.json:
                self.add_text("{json}", ",".join(self.json), False)
            self.tracer.{enter}()
            try:
                {logger}.{singleton}().{log_it}(
                    name=self.name,
                    cat=self.category,
                    start_time=self.start,
                    duration=self.duration,
{arguments}
                )
            finally:
                self.tracer.{exit}()
"""
"""What an event needs at run time."""

_TYPED_NUMBERS = """\
    def add_int(self, key, value):
        value = value.__index__()
        if {least} <= value <= {most}:
            self.ints[key] = ({tag}, value)
        else:
            self.add_text(key, value, True)

    def add_float(self, key, value):
        value = float(value)
        if -{largest} < value < {largest}:
            self.floats[key] = ({tag}, value)
        else:
            self.add_text(key, value, True)
"""

_UNTYPED_NUMBERS = """\
    def add_int(self, key, value):
        self.add_text(key, value.__index__(), True)

    def add_float(self, key, value):
        self.add_text(key, float(value), True)
"""


def event_class_lines(names: Names, unit: str, generation: vocabulary.Generation) -> tuple[str, ...]:
    """The class that logs events: one in a file, in front of everything that is the program's own."""
    typed = generation.typed_arguments
    arguments = ("int_args=self.ints", "float_args=self.floats") if typed else ()
    numbers = (_TYPED_NUMBERS if typed else _UNTYPED_NUMBERS).format(
        least=-(1 << (vocabulary.INT_BITS - 1)),
        most=(1 << (vocabulary.INT_BITS - 1)) - 1,
        largest=vocabulary.FLOAT_LIMIT,
        tag=vocabulary.KEY_TAG,
    )
    text = _EVENT_CLASS.format(
        event=names.event,
        logger=names.logger,
        room=vocabulary.STRING_ROOM,
        units=str(vocabulary.TRACE_UNITS).replace("'", '"'),
        default=vocabulary.TRACE_UNITS[vocabulary.DEFAULT_TRACE_UNIT],
        metric=vocabulary.ENV_TIME_METRIC,
        numbers=numbers,
        text=f"({vocabulary.KEY_TAG}, text)" if typed else "text",
        json=vocabulary.JSON_ARGUMENTS,
        arguments="\n".join(f"{' ' * 20}{argument}," for argument in (*arguments, "string_args=self.strings")),
        singleton=vocabulary.GET_INSTANCE,
        get_time=vocabulary.GET_TIME,
        get_config=vocabulary.GET_CONFIG,
        log_it=vocabulary.LOG_EVENT,
        enter=vocabulary.ENTER_EVENT,
        exit=vocabulary.EXIT_EVENT,
    )
    return lines_with_unit(text, unit)


def event_lines(names: Names, indent: str, event: ManualEvent) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What stands before and after the body of a function that is logged as ``event``, whose name and category are
    given. With tracing off, nothing of it is evaluated."""
    named = f"{names.event}({_literal(event.name)}, {_literal(event.category)}"
    when, value = f"if {names.enabled}:", names.event_value
    before: list[str] = []
    after: list[str] = []
    if event.outcome:
        before += [when, f"{indent}{value} = {named})"]
        after += [
            f"except BaseException as {names.event_error}:",
            f"{indent}{when}",
            f"{indent * 2}{value}.failed({names.event_error})",
            f"{indent}raise",
        ]
    before.append("try:")
    after += ["finally:", f"{indent}{when}"]
    calls: list[str] = []
    if not event.outcome:
        after.append(f"{indent * 2}{value} = {named}, {vocabulary.TIME_UNITS[event.unit]})")
        calls.append(f"clock({event.start}, {event.duration})")
    for kind, pairs in (("int", event.ints), ("float", event.floats), ("string", event.strings)):
        calls += [f"add_{kind}({_literal(key)}, {expression})" for key, expression in pairs]
    for call in calls:
        after += [f"{indent * 2}with {value}:", f"{indent * 3}{value}.{call}"]
    after.append(f"{indent * 2}{value}.log()")
    return tuple(before), tuple(after)


def _literal(text: str) -> str:
    """A string that reaches the trace as it is: escaped for the trace, and again for the source."""
    escaped = json.dumps(text, ensure_ascii=False)[1:-1]
    return f'"{escaped}"' if escaped.isascii() and "\\" not in escaped else ascii(escaped)


# --- recognising ------------------------------------------------------------------------------------------------------


def is_decorator(node: ast.expr, names: Names) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and node.attr in vocabulary.DECORATORS
        and isinstance(node.value, ast.Name)
        and node.value.id in names.every_instance()
    )


_IN_PACKAGE = "__package__"


def imported_names(node: ast.stmt, names: Names) -> tuple[str, ...]:
    """The local names that an import of ours binds, in either form; none where ``node`` is something else."""
    if is_import(node, names) and isinstance(node, (ast.Import, ast.ImportFrom)):
        return tuple(alias.asname or alias.name for alias in node.names)
    if is_import_by_place(node, names) and isinstance(node, ast.If):
        return imported_names(node.body[0], names)
    return ()


def is_import_by_place(node: ast.stmt, names: Names) -> bool:
    """The import that is one thing in a package and another outside."""
    return (
        bool(names.alone)
        and isinstance(node, ast.If)
        and is_name(node.test, _IN_PACKAGE)
        and len(node.body) == len(node.orelse) == 1
        and isinstance(node.body[0], ast.ImportFrom)
        and isinstance(node.orelse[0], ast.ImportFrom)
        and _imports_ours(node.body[0], names, names.module)
        and _imports_ours(node.orelse[0], names, names.alone)
    )


def _imports_ours(node: ast.ImportFrom, names: Names, module: str) -> bool:
    ours = {(exported, getattr(names, field)) for field, exported in _exported(module).items()}
    return node.module == module and all((a.name, a.asname or a.name) in ours for a in node.names)


def is_import(node: ast.stmt, names: Names) -> bool:
    """An import of the tracer that binds nothing but names of ours, or ours of ``atexit``."""
    if isinstance(node, ast.ImportFrom):
        return _imports_ours(node, names, names.module)
    if isinstance(node, ast.Import) and len(node.names) == 1:
        alias = node.names[0]
        return alias.name == "atexit" and (alias.asname or alias.name) == names.atexit
    return False


def is_instance(node: ast.stmt, names: Names) -> bool:
    return (
        isinstance(node, ast.Assign)
        and len(node.targets) == 1
        and isinstance(node.targets[0], ast.Name)
        and node.targets[0].id in names.every_instance()
        and isinstance(node.value, ast.Call)
        and is_name(node.value.func, names.function)
    )


def is_start(node: ast.stmt, names: Names) -> bool:
    """Either form of the start: ``start_lines`` or ``start_once_lines``."""
    if not (isinstance(node, ast.If) and not node.orelse and 1 <= len(node.body) <= 3):
        return False
    condition = node.test.values[0] if isinstance(node.test, ast.BoolOp) else node.test
    first, rest = node.body[0], node.body[1:]
    return (
        is_name(condition, names.enabled)
        and isinstance(first, ast.Assign)
        and is_name(first.targets[0], names.log)
        and isinstance(first.value, ast.Call)
        and isinstance(first.value.func, ast.Attribute)
        and first.value.func.attr == vocabulary.INITIALIZE
        and all(_registers_finalize(statement, names) or _lets_interrupt(statement, names) for statement in rest)
    )


def is_finish(node: ast.stmt, names: Names) -> bool:
    if not (isinstance(node, ast.If) and not node.orelse and len(node.body) == 1 and is_name(node.test, names.enabled)):
        return False
    call = node.body[0].value if isinstance(node.body[0], ast.Expr) else None
    return isinstance(call, ast.Call) and _is_finalize(call.func, names)


def is_finish_now(node: ast.stmt, names: Names) -> bool:
    if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        return False
    return ast.unparse(node.value) == finish_now_line(names)


def is_finishing_try(node: ast.stmt, names: Names) -> bool:
    """The ``try: … finally:`` around a program's body that does nothing but finalize."""
    return (
        isinstance(node, ast.Try)
        and not node.handlers
        and not node.orelse
        and len(node.finalbody) == 1
        and is_finish(node.finalbody[0], names)
    )


def is_region(node: ast.stmt, names: Names) -> bool:
    if not (isinstance(node, ast.With) and len(node.items) == 1 and node.items[0].optional_vars is None):
        return False
    call = node.items[0].context_expr
    return (
        isinstance(call, ast.Call)
        and is_name(call.func, names.function)
        and len(call.args) == 1
        and [keyword.arg for keyword in call.keywords] == ["name"]
    )


def is_interrupt(node: ast.stmt, names: Names) -> bool:
    return isinstance(node, ast.FunctionDef) and node.name == names.interrupt


def is_event_class(node: ast.stmt, names: Names) -> bool:
    return isinstance(node, ast.ClassDef) and node.name == names.event


def is_event_start(node: ast.stmt, names: Names) -> bool:
    """Where the clock of an event with an outcome starts, before its ``try``."""
    return (
        isinstance(node, ast.If)
        and not node.orelse
        and is_name(node.test, names.enabled)
        and len(node.body) == 1
        and _makes_event(node.body[0], names)
    )


def is_event_try(node: ast.stmt, names: Names) -> bool:
    """The ``try`` around the body of a function that is logged as an event; its handler is ours too."""
    if not (isinstance(node, ast.Try) and not node.orelse and len(node.finalbody) == 1 and len(node.handlers) <= 1):
        return False
    if any(handler.name != names.event_error for handler in node.handlers):
        return False
    end = node.finalbody[0]
    if not (isinstance(end, ast.If) and not end.orelse and is_name(end.test, names.enabled)):
        return False
    last = end.body[-1].value if isinstance(end.body[-1], ast.Expr) else None
    return (
        isinstance(last, ast.Call)
        and isinstance(last.func, ast.Attribute)
        and last.func.attr == "log"
        and is_name(last.func.value, names.event_value)
    )


def _makes_event(node: ast.stmt, names: Names) -> bool:
    return (
        isinstance(node, ast.Assign)
        and is_name(node.targets[0], names.event_value)
        and isinstance(node.value, ast.Call)
        and is_name(node.value.func, names.event)
    )


def is_wrapper(node: ast.stmt, names: Names) -> bool:
    """Whether a statement is ours, and the body in it the program's."""
    return is_finishing_try(node, names) or is_region(node, names) or is_event_try(node, names)


def is_inserted_statement(node: ast.stmt, names: Names) -> bool:
    """Whether a whole statement is an annotation."""
    return (
        worker_shapes.is_function(node, names.worker)
        or worker_shapes.is_start(node, names.worker)
        or worker_shapes.is_ready(node, names.worker)
        or is_interrupt(node, names)
        or is_event_class(node, names)
        or is_event_start(node, names)
        or is_import(node, names)
        or is_import_by_place(node, names)
        or is_instance(node, names)
        or is_start(node, names)
        or is_finish(node, names)
        or is_finish_now(node, names)
    )


def strip(tree: ast.Module, names: Names, on_line: Callable[[int], bool]) -> list[int]:
    """Take the annotations that begin on the given lines out of ``tree``, in place; the lines of every ``def`` there,
    in no particular order."""
    functions: list[int] = []
    if any(worker_shapes.is_function(node, names.worker) for node in tree.body):
        worker_shapes.strip_calls(tree, names.worker, on_line)
    stack: list[list[ast.stmt]] = [tree.body]
    while stack:
        body = stack.pop()
        kept: list[ast.stmt] = []
        pending = list(reversed(body))
        while pending:
            node = pending.pop()
            if on_line(node.lineno) and is_inserted_statement(node, names):
                continue
            if on_line(node.lineno) and is_wrapper(node, names):
                pending.extend(reversed(node.body))  # type: ignore[attr-defined]
                continue
            kept.append(node)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                functions.append(node.lineno)
            decorators: list[ast.expr] = getattr(node, "decorator_list", [])
            if decorators:
                decorators[:] = [d for d in decorators if not (on_line(d.lineno) and is_decorator(d, names))]
            for field in ("body", "orelse", "finalbody"):
                inner = getattr(node, field, None)
                if inner:
                    stack.append(inner)
            for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
                stack.append(part.body)
        body[:] = kept
    return functions


def is_name(node: ast.expr, name: str) -> bool:
    """Whether an expression is nothing but the given name."""
    return isinstance(node, ast.Name) and node.id == name


def _is_finalize(node: ast.expr, names: Names) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == vocabulary.FINALIZE and is_name(node.value, names.log)


def _lets_interrupt(node: ast.stmt, names: Names) -> bool:
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and is_name(call.func, names.interrupt)


def _registers_finalize(node: ast.stmt, names: Names) -> bool:
    call = node.value if isinstance(node, ast.Expr) else None
    return (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == "register"
        and is_name(call.func.value, names.atexit)
        and len(call.args) == 1
        and _is_finalize(call.args[0], names)
    )
