"""How to train, apart from the model's shape: one value, written to the run directory."""

import dataclasses
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
    """

    epochs: int = 30
    max_steps: int | None = None
    batch_tokens: int = 2048
    learning_rate: float = 0.002
    warmup_steps: int = 500
    label_smoothing: float = 0.1
    beta_2: float = 0.98
    epsilon: float = 1e-9
    clip_norm: float | None = None
    average_checkpoints: int = 5
    checkpoint_steps: int | None = None
    max_length: int = 256
    dtype_policy: str = "float32"
    jit_compile: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        positive = (
            "epochs",
            "max_steps",
            "batch_tokens",
            "learning_rate",
            "warmup_steps",
            "clip_norm",
            "average_checkpoints",
            "checkpoint_steps",
            "max_length",
        )
        optional = ("max_steps", "clip_norm", "checkpoint_steps")
        for name in positive:
            value = getattr(self, name)
            if value is None and name in optional:
                continue
            if not value > 0:
                raise ValueError(f"{name} must be positive, got {value}.")
        if not 0 <= self.label_smoothing < 1:
            raise ValueError(f"label_smoothing must lie in [0, 1), got {self.label_smoothing}.")
        if self.dtype_policy not in ("float32", "mixed_bfloat16", "mixed_float16"):
            raise ValueError(
                "dtype_policy must be 'float32', 'mixed_bfloat16' or 'mixed_float16', got "
                f"{self.dtype_policy!r}."
            )

    def to_dict(self) -> dict[str, Any]:
        """Returns the fields as plain JSON values."""
        return dataclasses.asdict(self)
