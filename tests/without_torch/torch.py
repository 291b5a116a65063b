"""In front of the real torch on PYTHONPATH, for programs that have no use for it.

The tracer imports torch wherever it finds it, which costs each traced process seconds and the programs nothing.
"""

raise ModuleNotFoundError("torch is left out of this run", name="torch")
