# Count the words of all files named; run as a script, named with --entry.

import collections, sys
import atexit
from dftracer.python import dftracer, dft_fn as DFTracerFn, DFTRACER_ENABLE

_dft = DFTracerFn("script-without-guard")
if DFTRACER_ENABLE and dftracer.get_instance().logger is None:
    _dft_log = dftracer.initialize_log(logfile=None, data_dir=None, process_id=-1)
    atexit.register(_dft_log.finalize)
counts = collections.Counter()
@_dft.log
def count(path):
    with open(path) as stream:
        counts.update(stream.read().split())
for path in sys.argv[1:]: count(path)
print(counts.most_common(3))
