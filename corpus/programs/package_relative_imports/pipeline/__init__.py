"""A pipeline of stages over records on disk."""

from .stages import STAGES, run_stages
from .storage import Store

__all__ = ["STAGES", "Store", "run_stages"]
