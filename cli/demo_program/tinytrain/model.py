"""A model of a few numbers."""

from __future__ import annotations

import math
import random
from abc import ABC, abstractmethod

from .data import Sample


class Model(ABC):
    """Weights, and how to go from inputs to a prediction and back to the gradient."""

    def __init__(self, weights: list[float]) -> None:
        self.weights = weights
        self.gradient = [0.0] * len(weights)

    @property
    def width(self) -> int:
        return len(self.weights)

    @staticmethod
    def dot(one: list[float], other: tuple[float, ...]) -> float:
        return sum(left * right for left, right in zip(one, other))

    @classmethod
    def random(cls, width: int) -> Model:
        source = random.Random(0)
        return cls([source.uniform(-0.1, 0.1) for _ in range(width)])

    @abstractmethod
    def predict(self, sample: Sample) -> float: ...

    @abstractmethod
    def slope(self, prediction: float) -> float: ...

    def forward(self, batch: list[Sample]) -> float:
        """The mean squared error of a batch."""
        total = 0.0
        for sample in batch:
            total += (self.predict(sample) - sample.target) ** 2
        return total / len(batch)

    def backward(self, batch: list[Sample]) -> None:
        self.gradient = [0.0] * self.width
        for sample in batch:
            prediction = self.predict(sample)
            push = 2 * (prediction - sample.target) * self.slope(prediction) / len(batch)
            for position, value in enumerate(sample.inputs):
                self.gradient[position] += push * value


class TanhRegression(Model):
    def predict(self, sample: Sample) -> float:
        return math.tanh(self.dot(self.weights, sample.inputs))

    def slope(self, prediction: float) -> float:
        return 1 - prediction**2


class Optimizer:
    """Gradient descent with a rate that falls with the epoch."""

    def __init__(self, model: Model, rate: float) -> None:
        self.model = model
        self.rate = rate
        self.epoch: int | None = None
        self.steps = 0

    def start(self, epoch: int) -> None:
        self.epoch = epoch

    def step(self) -> None:
        rate = self.rate / (1 + (self.epoch or 0))
        for position, value in enumerate(self.model.gradient):
            self.model.weights[position] -= rate * value
        self.steps += 1
