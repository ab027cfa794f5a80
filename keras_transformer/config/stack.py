"""The config of a stack of blocks, encoder or decoder, as one frozen, validated value (paper,
section 3.1 and Table 3).
"""

import dataclasses
from typing import Any, Literal, get_args

from keras_transformer.config.checks import (
    check_choice,
    check_flag,
    check_number,
    check_rate,
    check_size,
    make_numbers_plain,
)

NormPlacement = Literal["post", "pre"]
NormKind = Literal["layer_norm", "rms_norm"]


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
        layer_norm_epsilon: Added to the variance in layer normalisation, or in RMSNorm to the mean
            of squares.
        norm_kind: "layer_norm" (Ba et al. 2016), or "rms_norm" without mean and bias (Zhang and
            Sennrich 2019).
        gated_feed_forward: Whether the feed-forward layer multiplies its activated features by a
            third linear layer's (Shazeer 2020).
        use_bias: Whether the linear layers of attention and feed-forward have biases.
        scale_attention: Whether attention scores are divided by √key_dim.
        num_key_value_heads: Heads of keys and values, a divisor of `num_heads`, each shared by a
            group of queries' heads (Ainslie et al. 2023); None, which `num_heads` itself becomes,
            for as many as queries have.
        rotary_base: The base of rotary positions (Su et al. 2021) in self-attention, beside what
            `positions` adds; 10,000 in the paper, None for none.
        relative_buckets: Buckets of distances, an even number, for each of which a stack adds a
            trained bias to the scores of its self-attention (Raffel et al. 2020); None for none.
        relative_per_block: Whether each block has such biases of its own (UMT5, Chung et al. 2023)
            instead of those that all share.
        relative_max_distance: Distances from here on share a bucket.
        relative_sinusoids: Whether the scores of self-attention read the distance of a key from its
            query as sinusoids, with a projection and two biases of their own in each block (Dai et
            al. 2019, Transformer-XL); not with `rotary_base`.

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
    norm_kind: NormKind = "layer_norm"
    gated_feed_forward: bool = False
    use_bias: bool = True
    scale_attention: bool = True
    num_key_value_heads: int | None = None
    rotary_base: float | None = None
    relative_buckets: int | None = None
    relative_per_block: bool = False
    relative_max_distance: int = 128
    relative_sinusoids: bool = False

    def __post_init__(self) -> None:
        make_numbers_plain(self)
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
        check_choice("norm_kind", self.norm_kind, get_args(NormKind))
        for name in ("gated_feed_forward", "use_bias", "scale_attention"):
            check_flag(name, getattr(self, name))
        for name in ("relative_per_block", "relative_sinusoids"):
            check_flag(name, getattr(self, name))
        self._check_attention()
        self._check_relative_bias()
        if not isinstance(self.activation, str) or not self.activation:
            raise TypeError(
                f"activation must be the name of a Keras activation, got {self.activation!r}."
            )

    @property
    def key_value_heads(self) -> int:
        """Heads of keys and values."""
        return self.num_heads if self.num_key_value_heads is None else self.num_key_value_heads

    def _check_attention(self) -> None:
        check_size("num_key_value_heads", self.key_value_heads)
        if self.num_heads % self.key_value_heads:
            raise ValueError(
                f"num_heads ({self.num_heads}) must be a multiple of num_key_value_heads "
                f"({self.key_value_heads})."
            )
        if self.key_value_heads == self.num_heads:
            # None, as in the configs of runs from before the field, so that both are equal.
            object.__setattr__(self, "num_key_value_heads", None)
        if self.rotary_base is None:
            return
        if self.relative_sinusoids:
            raise ValueError(
                f"relative_sinusoids stand in place of rotary positions: rotary_base must be None, "
                f"got {self.rotary_base}."
            )
        check_number("rotary_base", self.rotary_base)
        if not 1 < self.rotary_base < float("inf"):
            raise ValueError(f"rotary_base must be above 1 and finite, got {self.rotary_base}.")
        if self.key_dim % 2:
            raise ValueError(f"rotary_base needs an even key_dim, got key_dim={self.key_dim}.")

    def _check_relative_bias(self) -> None:
        check_size("relative_max_distance", self.relative_max_distance)
        if self.relative_buckets is None:
            if self.relative_per_block:
                raise ValueError("relative_per_block needs relative_buckets, got None.")
            return
        check_size("relative_buckets", self.relative_buckets, least=4)
        if self.relative_buckets % 2:
            raise ValueError(f"relative_buckets must be even, got {self.relative_buckets}.")
        if self.relative_max_distance <= self.relative_buckets // 2:
            raise ValueError(
                "relative_max_distance must be more than half of relative_buckets "
                f"({self.relative_buckets}), got {self.relative_max_distance}."
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

    def parameter_count(self, *, attends_source: bool = False, recurs: bool = False) -> int:
        """Returns the number of trainable scalars, counted from the paper's equations.

        Args:
            attends_source: Whether each block also attends to an encoder.
            recurs: Whether each block has an SSRU in place of self-attention.
        """
        width = self.model_dim
        queries, heads_out = self.num_heads * self.key_dim, self.num_heads * self.value_dim
        heads_in = queries + self.key_value_heads * (self.key_dim + self.value_dim)
        hidden = (1 + self.gated_feed_forward) * self.feed_forward_dim
        attention = width * (heads_in + heads_out)
        feed_forward = width * (hidden + self.feed_forward_dim)
        if self.use_bias:
            attention += heads_in + width
            feed_forward += hidden + width
        norm = 2 * width if self.norm_kind == "layer_norm" else width
        own = 2 * width * width + self.use_bias * width if recurs else attention
        block = own + norm + attends_source * (attention + norm) + feed_forward + norm
        if self.relative_sinusoids:
            block += (width + 2) * queries
        relative = (self.relative_buckets or 0) * self.num_heads
        if self.relative_per_block:
            relative *= self.num_layers
        return self.num_layers * block + (norm if self.norm == "pre" else 0) + relative

    def layer_arguments(self) -> dict[str, Any]:
        """Returns the arguments of the `Encoder` and `Decoder` layers, which take their width from
        the states that they are built for.
        """
        arguments = dataclasses.asdict(self)
        del arguments["model_dim"]
        arguments["epsilon"] = arguments.pop("layer_norm_epsilon")
        return arguments
