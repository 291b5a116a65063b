"""Every way a worker process comes to be, under every start method and mode of the tracer, traced for real.

Run by ``make workers``: minutes. The same tests as in ``test_worker_traces.py`` and ``test_audited_runs.py``, with
nothing left out.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

if __name__ == "__main__":
    os.environ["EVERY_WORKER_COMBINATION"] = "1"
    files = [str(Path(__file__).with_name(name)) for name in ("test_worker_traces.py", "test_audited_runs.py")]
    sys.exit(pytest.main([*files, "-v", *sys.argv[1:]]))
