from typing import List, Optional

import torch
from torch import Tensor

from . import kinds
from .kinds import Bias, Mark, Mode, Note, OptAdj


def weighed(x, marks):
    # type: (Tensor, Optional[List[Mark]]) -> Tensor
    bias = Bias(3)
    return x + bias.value()


class Layer(torch.nn.Module):
    notes: List[Note]

    def __init__(self, width: int):
        super().__init__()
        self.width = width
        self.notes = []

    def forward(self, x: Tensor, adj: OptAdj = None, mode: Optional[Mode] = None) -> Tensor:
        window: Optional[kinds.Window] = None
        if window is not None:
            return x
        return weighed(x, None) * self.width
