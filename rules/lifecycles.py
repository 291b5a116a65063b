"""Where a module starts tracing and where it ends it, and what lies between: the ground of the rules on lifecycles."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dfannotate import vocabulary
from dfannotate.names import dotted, is_main_guard
from dfannotate.rules import Module
from dfannotate.usage import CallUse, Function, Use, is_tracer_module

INITIALIZES = (f"logger.{vocabulary.INITIALIZE}", f"log.{vocabulary.INITIALIZE}")
FINALIZES = (f"log.{vocabulary.FINALIZE}", f"logger.{vocabulary.FINALIZE}")

_LEAVES = (ast.Return, ast.Raise, ast.Break, ast.Continue)


def initializes(module: Module) -> tuple[CallUse, ...]:
    """The calls that start tracing, in the order of the source."""
    return module.usage.calls(*INITIALIZES)


def finalizes(module: Module) -> tuple[CallUse, ...]:
    """The calls that end it."""
    return module.usage.calls(*FINALIZES)


def guards(module: Module) -> list[ast.If]:
    """The top-level ``if __name__ == "__main__":`` statements."""
    return [node for node in module.tree.body if isinstance(node, ast.If) and is_main_guard(node.test)]


def top_calls(module: Module) -> set[str]:
    """The plain names that are called while the module is run or imported, outside of any function."""
    found: set[str] = set()
    stack: list[ast.AST] = [*module.tree.body]
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            continue
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found.add(node.func.id)
        stack.extend(ast.iter_child_nodes(node))
    return found


def functions(module: Module) -> dict[str, Function]:
    """The top-level functions by name, those apart that are defined twice."""
    found: dict[str, Function] = {}
    twice: set[str] = set()
    for node in module.tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            twice |= {node.name} & found.keys()
            found[node.name] = node
    return {name: node for name, node in found.items() if name not in twice}


def called_names(body: Sequence[ast.stmt]) -> set[str]:
    """The plain names that statements call, those in definitions left out."""
    return {node.func.id for node in walk(body) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}


def walk(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """All nodes that run where ``body`` does: nothing within functions and classes that it defines."""
    stack: list[ast.AST] = list(reversed(body))
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            stack.extend(reversed(list(ast.iter_child_nodes(node))))


def starters(module: Module) -> set[str]:
    """Names of top-level functions in which tracing starts, or in what they call by name."""
    known = functions(module)
    names = {use.function.name for use in initializes(module) if use.function is not None}
    found = {name for name in names if name in known and any(u.function is known[name] for u in initializes(module))}
    grown = bool(found)
    while grown:
        grown = False
        for name, node in known.items():
            if name not in found and not found.isdisjoint(called_names(node.body)):
                found.add(name)
                grown = True
    return found


@dataclass(frozen=True)
class Start:
    """A call that starts tracing: ``statement`` is what it stands in, ``block`` the statements that one is among,
    ``name`` the variable that keeps the object, empty where none does or something else is done with it."""

    use: CallUse
    statement: ast.stmt
    block: Sequence[ast.stmt]
    name: str

    @property
    def after(self) -> Sequence[ast.stmt]:
        """The statements behind it in its block."""
        return self.block[list(self.block).index(self.statement) + 1 :]


def blocks_of(node: ast.AST) -> list[list[ast.stmt]]:
    """The blocks that a statement holds."""
    blocks = [getattr(node, name, None) for name in ("body", "orelse", "finalbody")]
    return [block for block in blocks if isinstance(block, list) and block and isinstance(block[0], ast.stmt)]


def statement_of(use: Use) -> tuple[ast.stmt, list[ast.stmt]] | None:
    """The innermost statement around an expression, and the block that it is in."""
    path = (*use.ancestors, use.node)
    for depth in range(len(path) - 1, 0, -1):
        node = path[depth]
        if isinstance(node, ast.stmt):
            return next(((node, block) for block in blocks_of(path[depth - 1]) if node in block), None)
    return None


def start_of(use: CallUse) -> Start | None:
    """What is done with the object that a start gives; None where it goes anywhere but into a variable, or nowhere:
    whoever gets it may finalize it."""
    place = statement_of(use)
    if place is None:
        return None
    statement, block = place
    if isinstance(statement, ast.Expr) and statement.value is use.node:
        return Start(use, statement, block, "")
    if isinstance(statement, ast.Assign) and statement.value is use.node and len(statement.targets) == 1:
        target = statement.targets[0]
        if isinstance(target, ast.Name):
            return Start(use, statement, block, target.id)
    return None


def handed_over(module: Module) -> bool:
    """Whether ``finalize`` is given to somebody who will call it (``atexit.register(log.finalize)``)."""
    called = {id(use.call.func) for use in finalizes(module)}
    return any(
        use.role in FINALIZES and not isinstance(use, CallUse) and id(use.node) not in called
        for use in module.usage.uses
    )


def speaks_of_finalize(module: Module) -> bool:
    """Whether anything in the file is called ``finalize``, be it whose it may, or begins so."""
    if vocabulary.FINALIZE not in module.text:
        return False
    for node in ast.walk(module.tree):
        name = getattr(node, "attr", None) or getattr(node, "id", None) or getattr(node, "value", None)
        is_name = isinstance(node, (ast.Attribute, ast.Name, ast.Constant)) and isinstance(name, str)
        if is_name and str(name).startswith(vocabulary.FINALIZE):
            return True
    return False


def may_be_ended_elsewhere(module: Module) -> bool:
    """Whether a module of the project that the file imports has the tracer's class or its object, and so may finalize
    what is started here."""
    for node in ast.walk(module.tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            names = [base, *(base + ("" if base.endswith(".") else ".") + alias.name for alias in node.names)]
        for name in names:
            if not is_tracer_module(name) and not vocabulary.is_shim(name):
                roles = set(module.project.exports(module.path, name).values())
                if not roles.isdisjoint({"logger", "log", "->log", "->logger"}):
                    return True
    return False


def runs_as_program(module: Module, use: Use) -> bool:
    """Whether a statement surely runs where the file is the program: in its guard, in a function that is called from
    there by name, or at the top level of a file that does more there than define."""
    function = use.function
    if function is None:
        if any(isinstance(node, ast.ClassDef) for node in use.ancestors):
            return False
        if any(node in use.ancestors for node in guards(module)):
            return True
        return not guards(module) and is_script(module)
    known = functions(module)
    reached = {name for name in top_calls(module) if name in known}
    pending = list(reached)
    while pending:
        new = {name for name in called_names(known[pending.pop()].body) if name in known} - reached
        reached |= new
        pending += new
    return function.name in reached and known[function.name] is function


def is_script(module: Module) -> bool:
    """Whether a file without a guard works at its top level: it loops, or calls what it defines itself."""
    if any(isinstance(node, (ast.For, ast.While, ast.With)) for node in module.tree.body):
        return True
    return not functions(module).keys().isdisjoint(top_calls(module))


def leaves(block: Sequence[ast.stmt]) -> bool:
    """Whether a block ends by leaving what it stands in."""
    return bool(block) and isinstance(block[-1], _LEAVES)


def is_exit(node: ast.AST) -> str:
    """What a call is called that ends the process; empty for anything else."""
    name = dotted(node.func) if isinstance(node, ast.Call) else ""
    return name if name in ("sys.exit", "os._exit", "exit", "quit", "os.abort") else ""


def escapes(module: Module, name: str) -> bool:
    """Whether a variable's value goes anywhere but into calls of its own methods."""
    owned = {
        id(node.value)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }
    return any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load) and id(node) not in owned
        for node in ast.walk(module.tree)
    )
