#!/usr/bin/env python3
"""Train a small model on records from disk.

Usage:
  train.py DATA CHECKPOINT
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy reads it

import argparse
import json

import numpy as np
from dftracer.python import dftracer, dft_fn as DFTracerFn, DFTRACER_ENABLE

_dft = DFTracerFn("training-loop")


class Dataset:
    @_dft.log_init
    def __init__(self, folder: str) -> None:
        self.paths = sorted(os.scandir(folder), key=lambda entry: entry.name)

    def __len__(self) -> int:
        return len(self.paths)

    @_dft.log
    def __getitem__(self, index: int) -> np.ndarray:
        return np.load(self.paths[index].path)

    @property
    def size(self) -> int:
        with DFTracerFn("training-loop", name="size"):
            return sum(os.path.getsize(entry.path) for entry in self.paths)


@_dft.log
def loss(batch: np.ndarray) -> float:
    return float(batch.mean())


@_dft.log_static
def train(data: Dataset, epoch: int) -> float:
    # ``epoch`` is a name that the tracer would look at
    total = 0.0
    for index in range(len(data)):
        total += loss(data[index])
    return total


@_dft.log
def save_checkpoint(path: str, state: dict[str, float]) -> None:
    with open(path + ".tmp", "w") as stream:
        json.dump(state, stream)
    os.replace(path + ".tmp", path)  # all or nothing


if __name__ == "__main__":
    if DFTRACER_ENABLE:
        _dft_log = dftracer.initialize_log(logfile=None, data_dir=None, process_id=-1)
    try:
        # the command line
        parser = argparse.ArgumentParser(description=__doc__)
        parser.add_argument("data")
        parser.add_argument("checkpoint")
        options = parser.parse_args()

        data = Dataset(options.data)
        for epoch in range(2):
            save_checkpoint(options.checkpoint, {"loss": train(data, epoch)})
    finally:
        if DFTRACER_ENABLE:
            _dft_log.finalize()
