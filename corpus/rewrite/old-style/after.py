"""Code after the guard, a guard inside another, and text that must not move."""
import os, \
    time
import atexit
from dftracer.python import dftracer, dft_fn as DFTracerFn, DFTRACER_ENABLE

_dft = DFTracerFn("old-style")

USAGE = """\
if __name__ == "__main__":
    run()
"""

@_dft.log
def report(path):
    text = '''
  indented
    more
'''
    with open(path, "w") as stream: \
        stream.write(text)

if "__main__" == __name__ and \
   os.name == "posix":
    if DFTRACER_ENABLE and dftracer.get_instance().logger is None:
        _dft_log = dftracer.initialize_log(logfile=None, data_dir=None, process_id=-1)
        atexit.register(_dft_log.finalize)
    # start
    started = time.time()
    print("""
    as it is
""", started,
  end="")
if __name__ == "__main__":
    report("report.txt")

print("end")
