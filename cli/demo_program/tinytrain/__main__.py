"""Make a data set, train on it, leave a checkpoint and the metrics in the folder given."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .data import ShardDataset, write_dataset
from .model import TanhRegression
from .train import Trainer


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tinytrain")
    parser.add_argument("folder", type=Path, help="where the data, the checkpoint and the metrics go")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--workers", type=int, default=2)
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    options = parse_arguments(arguments)
    data = options.folder / "data"
    write_dataset(data, options.shards, options.rows)
    dataset = ShardDataset(data)
    print(f"{len(dataset)} shards, {options.rows} rows each")

    trainer = Trainer(TanhRegression.random(width=4), dataset, options.folder, workers=options.workers)
    for epoch in range(options.epochs):
        loss = trainer.train_epoch(epoch)
        print(f"epoch {epoch}: loss {loss:.6f} after {trainer.optimizer.steps} steps")
    error = trainer.restore_and_evaluate()
    print(f"restored epoch {trainer.epoch}: mean absolute error {error:.6f}")
    return 0 if error < 0.2 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
