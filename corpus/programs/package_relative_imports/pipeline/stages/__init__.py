from __future__ import annotations

from typing import TYPE_CHECKING

from .base import Stage
from .numbers import Double, Total

if TYPE_CHECKING:
    from ..storage import Store

STAGES: list[Stage] = [Double("double"), Total("total")]


def run_stages(store: Store, stages: list[Stage]) -> list[str]:
    lines = []
    for stage in stages:
        lines.append(stage(store))
    return lines
