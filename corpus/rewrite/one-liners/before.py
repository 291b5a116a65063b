import os; import sys
class Empty: pass
class Point: x = 0; y = 0
def read(path): return open(path).read()
def size(path): return os.stat(path).st_size; """never"""
class File:
	def __init__(self, path): self.path = path; self.handle = open(path)
	def read(self): return self.handle.read()
	name = property(lambda self: os.path.basename(self.path))
if len(sys.argv) > 9: sync = None
else:
	def sync(): os.sync()
if __name__ == "__main__": print(read(__file__)[:10]); sys.exit(size(__file__) and 0)  # done
else: print("imported")
