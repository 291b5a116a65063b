"""``dfannotate doctor``: what of the tracer is installed here, and whether tracing really works.

The answer is not read off version numbers: a ten-line program is traced in a process of its own, in a temporary
folder and without any tracer variable of this environment, and its trace is read back.
"""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

from dfannotate.cli.environment import environment_problems, tracer_variables, without_tracer_variables
from dfannotate.cli.traced import traced_environment
from dfannotate.vocabulary import (
    BROKEN_PAIRS,
    DISTRIBUTION_NATIVE,
    DISTRIBUTION_OLD,
    DISTRIBUTION_PYTHON,
    FINALIZE,
    FUNCTION,
    INITIALIZE,
    INITIALIZE_ARGUMENTS,
    INSTALL_HINT,
    LOG,
    LOGGER,
    MODULE,
    TARGETS,
    TRACER_PACKAGE,
)

CALLS = 10
CATEGORY = "doctor"
EVENT = "work"

_PROGRAM = f"""\
import json, sys, time
started = time.perf_counter()
from {MODULE} import {LOGGER}, {FUNCTION}
print(json.dumps({{"import_seconds": time.perf_counter() - started, "torch": "torch" in sys.modules}}), flush=True)
_dft_log = {LOGGER}.{INITIALIZE}({INITIALIZE_ARGUMENTS})
@{FUNCTION}("{CATEGORY}").{LOG}
def {EVENT}(number): return number * number
for number in range({CALLS}): {EVENT}(number)
_dft_log.{FINALIZE}()
"""


@dataclass(frozen=True)
class Packages:
    """Versions of what is installed, ``None`` where it is not."""

    native: str | None
    python: str | None
    old: str | None
    torch: str | None


@dataclass(frozen=True)
class Probe:
    """How the traced program went. ``recorded`` of ``expected`` events were found in its trace; ``import_seconds``
    is what importing the tracer cost it, ``torch`` whether that import brought torch in."""

    ok: bool
    expected: int
    recorded: int
    message: str
    import_seconds: float | None = None
    torch: bool = False


def doctor(*, output: Literal["text", "json"], quiet: bool) -> int:
    """Say what is installed and whether tracing works. Returns 0 when it does, 1 when it does not."""
    packages = installed()
    problems = package_problems(packages)
    variables = tracer_variables(os.environ)
    wrong = environment_problems(os.environ)
    probe: Probe | None = None
    if packages.python is not None or packages.native is not None:
        probe = trace_probe()
        missing = re.search(r"No module named '([\w.]+)'", probe.message)
        if missing is not None and not missing[1].startswith(TRACER_PACKAGE):
            problems.append(f"the tracer imports {missing[1]} without depending on it: pip install {missing[1]}")
        elif not probe.ok and not problems:
            problems.append(
                f"{DISTRIBUTION_NATIVE} {packages.native} and {DISTRIBUTION_PYTHON} {packages.python} are not known to "
                f"be at odds; to install both anew: pip install --force-reinstall {DISTRIBUTION_NATIVE} "
                f"{DISTRIBUTION_PYTHON}"
            )
    ok = probe is not None and probe.ok

    if output == "json":
        document = {
            "ok": ok,
            "python": {"version": platform.python_version(), "executable": sys.executable},
            "packages": {
                DISTRIBUTION_NATIVE: packages.native,
                DISTRIBUTION_PYTHON: packages.python,
                DISTRIBUTION_OLD: packages.old,
                "torch": packages.torch,
            },
            "problems": problems,
            "environment": {
                "variables": variables,
                "problems": [asdict(problem) for problem in wrong],
            },
            "probe": asdict(probe) if probe is not None else None,
        }
        print(json.dumps(document, indent=1))
        return 0 if ok else 1

    if not quiet:
        print(f"python      {platform.python_version()}  {sys.executable}")
        for name, version in (
            (DISTRIBUTION_NATIVE, packages.native),
            (DISTRIBUTION_PYTHON, packages.python),
            (DISTRIBUTION_OLD, packages.old),
            ("torch", packages.torch),
        ):
            if version is not None or name in (DISTRIBUTION_NATIVE, DISTRIBUTION_PYTHON):
                print(f"{name:<11} {version or 'not installed'}")
        for name, value in variables.items():
            print(f"{name}={value}")
        if probe is not None and probe.import_seconds is not None:
            torch = ", torch included: the tracer imports it where it is installed" if probe.torch else ""
            print(f"import      {probe.import_seconds:.2f} s for {MODULE}{torch}")
    for environment_problem in wrong:
        print(f"problem     {environment_problem.name}={environment_problem.value}: {environment_problem.message}")
    for problem in problems:
        print(f"problem     {problem}")
    if probe is not None:
        print(f"tracing     {'works' if probe.ok else 'does not work'}: {probe.message}")
    else:
        print("tracing     does not work: no tracer is installed")
    return 0 if ok else 1


def installed() -> Packages:
    """The versions in this environment, from the installed metadata; nothing is imported."""
    return Packages(
        _version(DISTRIBUTION_NATIVE), _version(DISTRIBUTION_PYTHON), _version(DISTRIBUTION_OLD), _version("torch")
    )


def package_problems(packages: Packages) -> list[str]:
    """What is known to be wrong with these versions, each with its remedy."""
    native, python = packages.native, packages.python
    problems = []
    if native is None and python is None:
        if packages.old is not None:
            problems.append(
                f"{DISTRIBUTION_OLD} {packages.old} is the predecessor, which annotated programs do not import; "
                f"to trace: {INSTALL_HINT}"
            )
        else:
            problems.append(f"no tracer is installed; to trace programs with this Python: {INSTALL_HINT}")
    elif python is None:
        problems.append(
            f"{DISTRIBUTION_NATIVE} {native} without {DISTRIBUTION_PYTHON}: {MODULE} is missing; {INSTALL_HINT}"
        )
    elif release(python) < release(TARGETS[0]):
        problems.append(
            f"{DISTRIBUTION_PYTHON} {python} is of an earlier generation, without {MODULE}; annotations are written "
            f"for {DISTRIBUTION_NATIVE} {TARGETS[0]} and later: {INSTALL_HINT}"
        )
    elif native is None:
        problems.append(
            f"{DISTRIBUTION_PYTHON} {python} without {DISTRIBUTION_NATIVE}: programs run, without a message and "
            f"without a trace; {INSTALL_HINT}"
        )
    else:
        for pair in BROKEN_PAIRS:
            native_fits = release(pair.native_since) <= release(native) < release(pair.native_before)
            python_fits = release(pair.python_since) <= release(python) and (
                not pair.python_before or release(python) < release(pair.python_before)
            )
            if native_fits and python_fits:
                problems.append(
                    f"{DISTRIBUTION_NATIVE} {native} cannot work with {DISTRIBUTION_PYTHON} {python}: {pair.effect}; "
                    f"{pair.remedy}"
                )
    return problems


def release(version: str) -> tuple[int, ...]:
    """The numbers of a version, for comparison: ``2.1.0.post21`` is above ``2.1.0`` and below ``2.1.1``."""
    numbers = [int(number) for number in re.findall(r"\d+", version.split("+")[0])]
    return tuple(numbers)


def trace_probe() -> Probe:
    """Trace the ten-line program with this interpreter and count what its trace holds."""
    with tempfile.TemporaryDirectory(prefix="dfannotate-doctor-") as name:
        work = Path(name)
        traces = work / "traces"
        traces.mkdir()
        program = work / "probe.py"
        program.write_text(_PROGRAM, encoding="ascii")
        environ = traced_environment(traces, without_tracer_variables(os.environ))
        try:
            run = subprocess.run(
                [sys.executable, str(program)],
                cwd=work,
                env=environ,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=300,
            )
        except subprocess.TimeoutExpired:
            return Probe(False, CALLS, 0, "the traced program did not end within five minutes")
        seconds, torch = _import_cost(run.stdout)
        recorded = _count_events(traces)
        if run.returncode:
            lines = run.stderr.strip().splitlines() or [f"exit code {run.returncode}"]
            message = f"the traced program failed: {lines[-1]}"
        else:
            message = f"{recorded} of {CALLS} events recorded"
        return Probe(run.returncode == 0 and recorded == CALLS, CALLS, recorded, message, seconds, torch)


def _import_cost(stdout: str) -> tuple[float | None, bool]:
    try:
        answer = json.loads(stdout.splitlines()[0])
        return round(float(answer["import_seconds"]), 3), bool(answer["torch"])
    except (IndexError, KeyError, ValueError):
        return None, False


def _count_events(traces: Path) -> int:
    from dfannotate.analysis.reader import open_traces
    from dfannotate.analysis.traces import TraceError

    try:
        totals = open_traces(traces).totals()
    except TraceError:
        return 0
    return sum(total.count for total in totals if (total.category, total.name) == (CATEGORY, EVENT))


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None
