"""Metrics, published while the training goes on."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path


def append_line(path: Path, record: dict[str, float]) -> None:
    with open(path, "a", encoding="utf-8") as stream:
        stream.write(json.dumps(record, sort_keys=True) + "\n")


async def publish(path: Path, epoch: int, losses: list[float]) -> None:
    for step, loss in enumerate(losses):
        append_line(path, {"epoch": epoch, "step": step, "loss": round(loss, 9)})
        await asyncio.sleep(0)


async def publish_all(folder: Path, epoch: int, losses: list[float]) -> None:
    """The losses and their running mean, side by side."""
    means = [sum(losses[: count + 1]) / (count + 1) for count in range(len(losses))]
    await asyncio.gather(
        publish(folder / "losses.jsonl", epoch, losses),
        publish(folder / "means.jsonl", epoch, means),
    )
