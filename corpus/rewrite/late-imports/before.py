# -*- coding: utf-8 -*-
"Functions come first here, and names are taken."
_dft = {"α": 1}


@staticmethod
def helper(): return open("helper").read()


def load(path, dftracer=None):
    return open(path).read()


try:
    import json
except ImportError:
    json = None

import atexit


def main():
    """Run."""; atexit.register(print, "bye")
    print(load(__file__))
