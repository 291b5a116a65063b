import os; import sys
from dftracer.python import dftracer, dft_fn as DFTracerFn, DFTRACER_ENABLE

_dft = DFTracerFn("one-liners")
class Empty: pass
class Point: x = 0; y = 0
@_dft.log
def read(path): return open(path).read()
@_dft.log
def size(path): return os.stat(path).st_size; """never"""
class File:
	@_dft.log_init
	def __init__(self, path): self.path = path; self.handle = open(path)
	@_dft.log
	def read(self): return self.handle.read()
	name = property(lambda self: os.path.basename(self.path))
if len(sys.argv) > 9: sync = None
else:
	@_dft.log
	def sync(): os.sync()
if __name__ == "__main__":
	if DFTRACER_ENABLE:
		_dft_log = dftracer.initialize_log(logfile=None, data_dir=None, process_id=-1)
	try:
		print(read(__file__)[:10]); sys.exit(size(__file__) and 0)  # done
	finally:
		if DFTRACER_ENABLE:
			_dft_log.finalize()
else: print("imported")
