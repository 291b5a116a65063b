"""Checkpoints that are whole or not there."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any


def save_checkpoint(path: Path, state: dict[str, Any]) -> None:
    temporary = path.with_suffix(".tmp")
    with open(temporary, "wb") as stream:
        pickle.dump(state, stream)
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(temporary, path)


def load_checkpoint(path: Path) -> dict[str, Any]:
    with open(path, "rb") as stream:
        state = pickle.load(stream)
    if not isinstance(state, dict):
        raise ValueError(f"{path}: not a checkpoint")
    return state
