"""The paper's learning rate: linear warm-up, then the inverse square root (equation 3), with an
optional linear cooldown to zero at the end of a run of known length.
"""

import math
from typing import Any

import keras
from keras import ops

from keras_transformer.tensors import Tensor


@keras.saving.register_keras_serializable("keras_transformer")
class WarmupSchedule(keras.optimizers.schedules.LearningRateSchedule):
    """peak · min(step / warmup_steps, √(warmup_steps / step)), steps counted from 1.

    Equation 3 is this schedule with `peak = (model_dim · warmup_steps) ** -0.5`, which
    `WarmupSchedule.paper` computes.

    Over the last `cooldown_steps` of `total_steps` updates the rate is multiplied by a factor that
    falls linearly from 1 to 0, which the paper does not have.

    Args:
        peak: Highest learning rate, reached at `warmup_steps`.
        warmup_steps: Number of updates over which the rate grows.
        total_steps: Total number of updates; needed for a cooldown.
        cooldown_steps: Number of updates over which the rate falls to 0; 0 for none.
    """

    def __init__(
        self, peak: float, warmup_steps: int, total_steps: int = 0, cooldown_steps: int = 0
    ) -> None:
        if not 0 < peak < math.inf:
            raise ValueError(f"peak learning rate must be positive, got {peak}.")
        if warmup_steps < 1:
            raise ValueError(f"warmup_steps must be at least 1, got {warmup_steps}.")
        if not 0 <= cooldown_steps <= total_steps:
            raise ValueError(
                f"cooldown_steps must lie in 0 to total_steps ({total_steps}), got "
                f"{cooldown_steps}."
            )
        self.peak = peak
        self.warmup_steps = warmup_steps
        self.total_steps = total_steps
        self.cooldown_steps = cooldown_steps

    @classmethod
    def paper(cls, model_dim: int, warmup_steps: int = 4000) -> "WarmupSchedule":
        """Returns the schedule of equation 3."""
        return cls((model_dim * warmup_steps) ** -0.5, warmup_steps)

    def __call__(self, step: Tensor) -> Tensor:
        """Returns the learning rate of the update after `step` updates."""
        step = ops.cast(step, "float32") + 1.0
        warmup = float(self.warmup_steps)
        rate = self.peak * ops.minimum(step / warmup, ops.sqrt(warmup / step))
        if not self.cooldown_steps:
            return rate
        left = (self.total_steps + 1.0 - step) / self.cooldown_steps
        return rate * ops.clip(left, 0.0, 1.0)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {
            "peak": self.peak,
            "warmup_steps": self.warmup_steps,
            "total_steps": self.total_steps,
            "cooldown_steps": self.cooldown_steps,
        }
