"""A package that offers what its modules hold; it has no __all__, so all its names are its own."""

from .devices import Camera, Scanner
from .numbers import *


def describe(step: object = None) -> str:
    for part in (Camera, Scanner):
        step = f"{step} {part.__name__}"
    return f"""{step}
  done"""
