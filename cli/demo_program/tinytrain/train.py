"""The training loop."""

from __future__ import annotations

import asyncio
from pathlib import Path

from .checkpoint import load_checkpoint, save_checkpoint
from .data import Sample, ShardDataset, batches
from .loader import PrefetchingLoader
from .metrics import publish_all
from .model import Model, Optimizer


class Trainer:
    def __init__(self, model: Model, dataset: ShardDataset, folder: Path, workers: int) -> None:
        self.model = model
        self.dataset = dataset
        self.folder = folder
        self.optimizer = Optimizer(model, rate=0.5)
        self.loader = PrefetchingLoader(dataset, workers)
        self.epoch: int | None = None

    @property
    def checkpoint_path(self) -> Path:
        return self.folder / "checkpoint.pickle"

    def train_epoch(self, epoch: int) -> float:
        """One pass over the data; the mean loss of its batches."""
        self.epoch = epoch
        self.optimizer.start(epoch)
        losses = []
        for samples in self.loader:
            for batch in batches(samples, size=50):
                losses.append(train_batch(self.model, self.optimizer, batch))
        asyncio.run(publish_all(self.folder, epoch, losses))
        save_checkpoint(self.checkpoint_path, {"epoch": epoch, "weights": self.model.weights})
        return sum(losses) / len(losses)

    def restore_and_evaluate(self) -> float:
        state = load_checkpoint(self.checkpoint_path)
        self.epoch = state["epoch"]
        self.model.weights = state["weights"]
        return evaluate(self.model, self.dataset)


def train_batch(model: Model, optimizer: Optimizer, batch: list[Sample]) -> float:
    loss = model.forward(batch)
    model.backward(batch)
    optimizer.step()
    return loss


def evaluate(model: Model, dataset: ShardDataset) -> float:
    """The mean absolute error over all shards, read again."""
    total = 0.0
    count = 0
    for number in range(len(dataset)):
        for sample in dataset[number]:
            total += abs(model.predict(sample) - sample.target)
            count += 1
    return total / count
