import numba
import numpy as np
import torch
from numba import njit
from dftracer.python import dft_fn as DFTracerFn

_dft = DFTracerFn("compiled-kernels")


@njit(parallel=True)
def add(a, b):
    for i in numba.prange(len(a)):
        a[i] += b[i]


@torch.jit.script
class Counter:
    def __init__(self, start: int):
        self.count = start

    def load(self, path: str):
        for _ in range(3):
            self.count += 1


def relu(x):
    for _ in range(2):
        x = torch.relu(x)
    return x


fast_relu = torch.compile(relu)


@torch.no_grad()
@_dft.log
def evaluate(model, batches):
    return [model(batch) for batch in batches]


@_dft.log
def load(path):
    return torch.from_numpy(np.load(path))
