"""What an engine does in its measuring process: loads batches, warms up, trains when it is asked.

Nothing here needs TensorFlow: PyTorch's engine runs without it.
"""

import abc
import ctypes
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from keras_transformer.config.families import ModelConfig
from keras_transformer.training.run.options import TrainPlan

from .batches import Batch, read_batches
from .models import MODELS

# How all train: at this rate a few updates show whether a model learns.
OPTIONS = TrainPlan(learning_rate=0.001, warmup_steps=10, cooldown=0.0)

_WIDTH = 512


class Trainer(abc.ABC):
    """A model that can be trained; subclasses wrap one library each."""

    def load(self, size: str, precision: str, compiled: bool, batches: str) -> dict[str, Any]:
        """Builds the model and trains on each batch once and again.

        Args:
            size: Name of the model size.
            precision: "float32" or "mixed_bfloat16".
            compiled: Whether the library's compiler is used: XLA, `torch.compile`.
            batches: From `make_batches`.

        Returns:
            "parameters"; "first_loss" before any update, on the first batch; "compile_seconds",
            what the first update and the first pass over the batches took longer than the second.
        """
        self._batches = read_batches(batches)
        parameters = self.build(MODELS[size], precision, compiled, self._batches)
        start = time.perf_counter()
        first_loss = self.train_on_first()
        self.measure()
        cold, warm = time.perf_counter() - start, self.measure()
        updates = 1 + 1 / len(self._batches)
        return {
            "parameters": parameters,
            "first_loss": first_loss,
            "compile_seconds": max(0.0, cold - updates * warm),
        }

    def measure(self) -> float:
        """Returns the seconds of one pass over all batches."""
        start = time.perf_counter()
        self.train()
        seconds = time.perf_counter() - start
        # Other processes are idle while one runs: memory that they freed must really be free.
        ctypes.CDLL(None).malloc_trim(0)
        return seconds

    def peak_memory(self) -> int:
        """Returns the most bytes that this process has held."""
        # `getrusage` counts what the parent held as well, from between fork and exec.
        status = Path("/proc/self/status").read_text(encoding="ascii")
        [line] = [line for line in status.splitlines() if line.startswith("VmHWM")]
        return int(line.split()[1]) * 1024

    @abc.abstractmethod
    def build(
        self, config: ModelConfig, precision: str, compiled: bool, batches: list[Batch]
    ) -> int:
        """Makes the model, ready to train on the batches; returns its number of parameters."""

    @abc.abstractmethod
    def train(self) -> None:
        """Makes an update for each batch, in order; done when it returns."""

    @abc.abstractmethod
    def train_on_first(self) -> float:
        """Makes an update for the first batch; returns the loss before it, in nats a token."""


def product_error(multiply: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> float:
    """Returns the error of a float32 product: some 1e-6 of the largest entry, with TF32 1e-4.

    Args:
        multiply: Multiplies two matrices on the device.
    """
    left, right = np.random.default_rng(0).standard_normal((2, _WIDTH, _WIDTH), np.float32)
    exact = left.astype(np.float64) @ right
    return float(np.abs(multiply(left, right) - exact).max() / np.abs(exact).max())
