"""How to train, apart from the model's shape: one value, written to the run directory."""

import dataclasses
import math
from typing import Any


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainOptions:
    """Settings of a training run; `docs/results.md` gives the measurements behind the defaults.

    Args:
        epochs: Passes over the training pairs.
        max_steps: Most updates, or None for as many as `epochs` make.
        batch_tokens: Most padded tokens of one side in a batch.
        learning_rate: Peak of the warm-up schedule.
        warmup_steps: Updates until the peak.
        label_smoothing: Probability spread evenly over the vocabulary.
        beta_2: Adam's decay of squared gradients.
        epsilon: Adam's ε.
        clip_norm: Largest global norm of a gradient, or None for no clipping.
        average_checkpoints: Checkpoints averaged into the final model.
        checkpoint_steps: Updates between checkpoints and validations, or None for an epoch or
            1,000, whichever is less.
        max_length: Longest sentence in tokens; longer pairs are left out.
        dtype_policy: Keras dtype policy, "float32" or "mixed_bfloat16".
        jit_compile: Whether to compile the step with XLA.
        seed: Decides the initial weights, dropout and the order of the data.

    Raises:
        ValueError: A value is out of range; the message names it.
        TypeError: A count is no integer or a rate no number.
    """

    epochs: int = 30
    max_steps: int | None = None
    batch_tokens: int = 1024
    learning_rate: float = 0.004
    warmup_steps: int = 500
    label_smoothing: float = 0.1
    beta_2: float = 0.98
    epsilon: float = 1e-9
    clip_norm: float | None = 1.0
    average_checkpoints: int = 5
    checkpoint_steps: int | None = None
    max_length: int = 256
    dtype_policy: str = "float32"
    jit_compile: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        self._check_types()
        for name in (
            "epochs",
            "max_steps",
            "batch_tokens",
            "learning_rate",
            "warmup_steps",
            "epsilon",
            "clip_norm",
            "average_checkpoints",
            "checkpoint_steps",
            "max_length",
        ):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise ValueError(f"{name} must be positive, got {value}.")
        if not 0 <= self.beta_2 < 1:
            raise ValueError(f"beta_2 must lie in [0, 1), got {self.beta_2}.")
        if not 0 <= self.label_smoothing < 1:
            raise ValueError(f"label_smoothing must lie in [0, 1), got {self.label_smoothing}.")
        # Not mixed_float16: its loss scaling skips updates, so steps and batches would part.
        if self.dtype_policy not in ("float32", "mixed_bfloat16"):
            raise ValueError(
                f"dtype_policy must be 'float32' or 'mixed_bfloat16', got {self.dtype_policy!r}."
            )

    def _check_types(self) -> None:
        for field in dataclasses.fields(self):
            value, kind = getattr(self, field.name), str(field.type)
            if value is None and "None" in kind:
                continue
            if "int" in kind and (isinstance(value, bool) or not isinstance(value, int)):
                raise TypeError(f"{field.name} must be an integer, got {value!r}.")
            if "float" in kind and (isinstance(value, bool) or not isinstance(value, int | float)):
                raise TypeError(f"{field.name} must be a number, got {value!r}.")

    def to_dict(self) -> dict[str, Any]:
        """Returns the fields as plain JSON values."""
        return dataclasses.asdict(self)
