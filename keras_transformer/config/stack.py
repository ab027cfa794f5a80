"""The config of a stack of blocks, encoder or decoder, as one frozen, validated value (paper,
section 3.1 and Table 3).
"""

import dataclasses
from typing import Any, Literal, get_args

from keras_transformer.config.checks import check_choice, check_number, check_rate, check_size

NormPlacement = Literal["post", "pre"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class BlockConfig:
    """Sizes and choices of a block, the same in every block of a model.

    Args:
        model_dim: Width of every layer's output, the paper's d_model.
        feed_forward_dim: Inner width of the feed-forward layer, the paper's d_ff.
        num_heads: Attention heads h.
        key_dim: Width of queries and keys per head, d_k; `model_dim / num_heads` if None.
        value_dim: Width of values per head, d_v; `model_dim / num_heads` if None.
        dropout: Probability of dropping a feature of each sub-layer's output and of
            embedding + position (section 5.4).
        attention_dropout: Probability of dropping an attention weight.
        activation_dropout: Probability of dropping a feature within the feed-forward layer.
        activation: Any Keras activation name for the feed-forward layer.
        norm: "post" as in the paper, or "pre" with a final norm on each stack.
        layer_norm_epsilon: Added to the variance in layer normalization.

    Raises:
        ValueError: A value is out of range or two of them do not match; the message names them.
        TypeError: A size is not an integer or a rate is not a number.
    """

    model_dim: int = 512
    feed_forward_dim: int = 2048
    num_heads: int = 8
    # None only as an argument: `__post_init__` always sets an integer.
    key_dim: int = None  # type: ignore[assignment]
    value_dim: int = None  # type: ignore[assignment]
    dropout: float = 0.1
    attention_dropout: float = 0.0
    activation_dropout: float = 0.0
    activation: str = "relu"
    norm: NormPlacement = "post"
    layer_norm_epsilon: float = 1e-5

    def __post_init__(self) -> None:
        for name in ("model_dim", "feed_forward_dim", "num_heads"):
            check_size(name, getattr(self, name))
        for name in ("key_dim", "value_dim"):
            if getattr(self, name) is None:
                object.__setattr__(self, name, self._default_head_width(name))
            check_size(name, getattr(self, name))
        for name in ("dropout", "attention_dropout", "activation_dropout"):
            check_rate(name, getattr(self, name))
        check_number("layer_norm_epsilon", self.layer_norm_epsilon)
        if not 0 < self.layer_norm_epsilon < 1:
            raise ValueError(
                f"layer_norm_epsilon must lie between 0 and 1, got {self.layer_norm_epsilon}."
            )
        check_choice("norm", self.norm, get_args(NormPlacement))
        if not isinstance(self.activation, str) or not self.activation:
            raise TypeError(
                f"activation must be the name of a Keras activation, got {self.activation!r}."
            )

    def _default_head_width(self, name: str) -> int:
        if self.model_dim % self.num_heads:
            raise ValueError(
                f"model_dim ({self.model_dim}) is not a multiple of num_heads ({self.num_heads}): "
                f"change one of them, or give {name} (width per head) yourself."
            )
        return self.model_dim // self.num_heads


@dataclasses.dataclass(frozen=True, kw_only=True)
class StackConfig(BlockConfig):
    """A stack of equal blocks, as encoder or as decoder.

    Args:
        num_layers: Number of blocks N.

    Raises:
        ValueError: As for `BlockConfig`.
        TypeError: As for `BlockConfig`.
    """

    num_layers: int = 6

    def __post_init__(self) -> None:
        super().__post_init__()
        check_size("num_layers", self.num_layers)

    def parameter_count(self, *, attends_source: bool = False) -> int:
        """Returns the number of trainable scalars, counted from the paper's equations.

        Args:
            attends_source: Whether each block also attends to an encoder.
        """
        width = self.model_dim
        heads_in = self.num_heads * (2 * self.key_dim + self.value_dim)
        heads_out = self.num_heads * self.value_dim
        attention = width * heads_in + heads_in + heads_out * width + width
        feed_forward = 2 * width * self.feed_forward_dim + self.feed_forward_dim + width
        norm = 2 * width
        block = (1 + attends_source) * (attention + norm) + feed_forward + norm
        return self.num_layers * block + (norm if self.norm == "pre" else 0)

    def layer_arguments(self) -> dict[str, Any]:
        """Returns the arguments of the `Encoder` and `Decoder` layers, which take their width from
        the states that they are built for.
        """
        arguments = dataclasses.asdict(self)
        del arguments["model_dim"]
        arguments["epsilon"] = arguments.pop("layer_norm_epsilon")
        return arguments
