# -*- coding: utf-8 -*-
"Functions come first here, and names are taken."

import atexit as _atexit
from dftracer.python import dftracer as _dftracer, dft_fn as DFTracerFn, DFTRACER_ENABLE

_dft_2 = DFTracerFn("late-imports")
_dft = {"α": 1}


@staticmethod
def helper():
    with DFTracerFn("late-imports", name="helper"):
        return open("helper").read()


@_dft_2.log
def load(path, dftracer=None):
    return open(path).read()


try:
    import json
except ImportError:
    json = None

import atexit


def main():
    """Run."""
    if DFTRACER_ENABLE and _dftracer.get_instance().logger is None:
        _dft_log = _dftracer.initialize_log(logfile=None, data_dir=None, process_id=-1)
        _atexit.register(_dft_log.finalize)
    atexit.register(print, "bye")
    print(load(__file__))
