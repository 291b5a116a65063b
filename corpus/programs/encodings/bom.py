import os; import sys

def remove(path): os.remove(path); return True

class Pair: left = 1; right = 2
class Reader:
  def __init__(self, path): self.path = path; self.file = open(path)
  def read_all(self):
      lines = []
      for line in self.file: lines.append(line.strip())
      self.file.close(); return lines
