"""A stack of blocks as frozen, validated values: what each block is made of (paper, section 3.1 and
Table 3), with the variants that followed it.

Errors name an option as presets, flags and files do (`BlockOptions`).
"""

import dataclasses
from collections.abc import Iterable
from typing import Any, Literal, get_args

from keras_transformer.config.checks import (
    check_choice,
    check_declared,
    check_number,
    check_rate,
    check_size,
    check_soft_cap,
    make_numbers_plain,
)
from keras_transformer.config.positions.disentangled import DisentangledConfig
from keras_transformer.config.positions.relative_bias import RelativeBiasConfig
from keras_transformer.config.positions.rotary import RotaryConfig

NormPlacement = Literal["post", "pre", "both", "output"]
NormScope = Literal["head", "all_heads"]
NormKind = Literal["layer_norm", "rms_norm"]
Recurrence = Literal["ssru", "lstm"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class NormConfig:
    """A normalisation of vectors: that of residual connections, or of queries and keys.

    Args:
        kind: "layer_norm" (Ba et al. 2016), or "rms_norm" without mean and bias (Zhang and
            Sennrich 2019).
        place: Of residual connections: "post" as in the paper, of the sum; "pre", of a sub-layer's
            input; "both", of its input and, by a second norm, of its output (Ding et al. 2021); or
            "output", of that alone (Liu et al. 2021, Swin Transformer V2); "none" of the first
            sub-layer of a stack without a `first_norm`.
        epsilon: Added to the variance, or in RMSNorm to the mean of squares.
    """

    kind: NormKind = "layer_norm"
    place: NormPlacement | Literal["none"] = "post"
    epsilon: float = 1e-5

    def __post_init__(self) -> None:
        make_numbers_plain(self)
        check_number("layer_norm_epsilon", self.epsilon)
        if not 0 < self.epsilon < 1:
            raise ValueError(f"layer_norm_epsilon must lie between 0 and 1, got {self.epsilon}.")
        if self.place != "none":
            check_choice("norm", self.place, get_args(NormPlacement))
        check_declared(self, kind="norm_kind")

    @property
    def is_of_inputs(self) -> bool:
        """Whether sub-layers read or add what is normalised, so that a stack ends with a norm."""
        return self.place != "post"

    def parameter_count(self, model_dim: int) -> int:
        """Returns the number of trainable scalars."""
        return model_dim * (2 if self.kind == "layer_norm" else 1)


@dataclasses.dataclass(frozen=True, kw_only=True)
class AttentionConfig:
    """Multi-head attention (section 3.2).

    Args:
        num_heads: Heads h.
        key_dim: Width of queries and keys per head, d_k.
        value_dim: Width of values per head, d_v; `key_dim` if None.
        num_key_value_heads: Heads of keys and values, each shared by a group of queries' heads
            (Ainslie et al. 2023); `num_heads` if None.
        dropout: Probability of dropping an attention weight.
        use_bias: Whether the projections have biases.
        output_bias: Whether that of the outputs has one, too, if `use_bias`.
        scale: Whether scores are divided by √d_k.
        soft_cap: What bounds the scaled scores s, as soft_cap · tanh(s / soft_cap), before anything
            is added to them (Gemma 2); None for no bound.
        additive: Whether a score is vᵀ tanh(q + k), with a trained vector v of each head, in place
            of the product qᵀk (Bahdanau et al. 2015); `scale` is of products, and neither `rotary`
            nor `relative_sinusoids` go with it.
        query_key_norm: The norms of each head's queries and of its keys, before their places turn
            them (Henry et al. 2020); only of a text within itself, as are the next five.
        query_key_norm_over: Whether these are norms of each "head" or of "all_heads" together.
        rotary: How queries and keys are turned by their places.
        window: Places that a query reads, its own among them: keys that are as many away, or more,
            are hidden from it (Beltagy et al. 2020); None for all.
        relative_bias: What is added to scores for distances.
        relative_sinusoids: Whether scores read distances as sinusoids, with a projection and two
            biases of their own (Dai et al. 2019, Transformer-XL); not with `rotary`.
        relative_segments: Whether scores read if a key is of its query's segment, by two vectors
            and a bias of their own (Yang et al. 2019, XLNet).
        farthest_distance: What these sinusoids read in place of larger distances; None for no
            bound.
        disentangled: The vectors of distances that queries and keys of a whole text are compared
            with (He et al. 2021, DeBERTa); None for none.
    """

    num_heads: int
    key_dim: int
    # None only as an argument: `__post_init__` always sets an integer.
    value_dim: int = None  # type: ignore[assignment]
    num_key_value_heads: int = None  # type: ignore[assignment]
    dropout: float = 0.0
    use_bias: bool = True
    output_bias: bool = True
    scale: bool = True
    soft_cap: float | None = None
    additive: bool = False
    query_key_norm: NormConfig | None = None
    query_key_norm_over: NormScope = "head"
    rotary: RotaryConfig | None = None
    window: int | None = None
    relative_bias: RelativeBiasConfig | None = None
    relative_sinusoids: bool = False
    relative_segments: bool = False
    farthest_distance: int | None = None
    disentangled: DisentangledConfig | None = None

    def __post_init__(self) -> None:
        make_numbers_plain(self)
        for name, other in (("value_dim", "key_dim"), ("num_key_value_heads", "num_heads")):
            if getattr(self, name) is None:
                object.__setattr__(self, name, getattr(self, other))
        for name in ("num_heads", "key_dim", "value_dim", "num_key_value_heads"):
            check_size(name, getattr(self, name))
        if self.num_heads % self.num_key_value_heads:
            raise ValueError(
                f"num_heads ({self.num_heads}) must be a multiple of num_key_value_heads "
                f"({self.num_key_value_heads})."
            )
        check_rate("attention_dropout", self.dropout)
        check_declared(
            self,
            output_bias="attention_output_bias",
            scale="scale_attention",
            additive="additive_attention",
        )
        check_soft_cap("attention_soft_cap", self.soft_cap)
        if self.query_key_norm_over != "head" and self.query_key_norm is None:
            raise ValueError(
                f"query_key_norm_over={self.query_key_norm_over!r} needs query_key_norm=True."
            )
        if self.additive and (self.rotary is not None or self.relative_sinusoids):
            raise ValueError(
                "additive_attention has no products of queries and keys, which rotary_base and "
                "relative_sinusoids change: give one of the three; a relative_bias goes with it."
            )
        if self.window is not None:
            check_size("window", self.window)
        if self.farthest_distance is not None:
            check_size("farthest_distance", self.farthest_distance)
            if not self.relative_sinusoids:
                raise ValueError(
                    f"farthest_distance={self.farthest_distance} needs relative_sinusoids=True."
                )
        if self.rotary is not None:
            if self.relative_sinusoids:
                raise ValueError(
                    "relative_sinusoids stand in place of rotary positions: rotary_base must be "
                    f"None, got {self.rotary.base}."
                )
            self.rotary.check(self.key_dim)
        if self.disentangled is not None and self.num_key_value_heads != self.num_heads:
            raise ValueError(
                "disentangled_buckets need as many heads of keys as of queries, got "
                f"num_key_value_heads={self.num_key_value_heads} of {self.num_heads}."
            )

    def parameter_count(self, model_dim: int) -> int:
        """Returns the number of trainable scalars, but for biases of distances."""
        norm, counts = self.query_key_norm, (1, 1)
        if self.query_key_norm_over == "all_heads":
            counts = (self.num_heads, self.num_key_value_heads)
        norms = 0 if norm is None else norm.parameter_count(self.key_dim * sum(counts))
        queries, values = self.num_heads * self.key_dim, self.num_heads * self.value_dim
        heads = queries + self.num_key_value_heads * (self.key_dim + self.value_dim)
        biases = self.use_bias * (heads + self.output_bias * model_dim)
        distances = self.relative_sinusoids * (model_dim + 2) * queries
        segments = self.relative_segments * 3 * queries
        vectors = self.additive * queries
        further = distances + segments + norms + vectors
        if self.disentangled is not None:
            further += self.disentangled.parameter_count(queries)
        return model_dim * (heads + values) + biases + further


@dataclasses.dataclass(frozen=True, kw_only=True)
class RecurrenceConfig:
    """The recurrence that replaces self-attention.

    Args:
        kind: "ssru", the simpler simple recurrent unit (Kim et al. 2019), or "lstm", long
            short-term memory (Hochreiter and Schmidhuber 1997).
        use_bias: Whether its gates have biases.
    """

    kind: Recurrence = "ssru"
    use_bias: bool = True

    def __post_init__(self) -> None:
        check_declared(self, kind="recurrence")

    def parameter_count(self, model_dim: int) -> int:
        """Returns the number of trainable scalars."""
        if self.kind == "lstm":
            return 4 * (2 * model_dim + self.use_bias) * model_dim
        return 2 * model_dim * model_dim + self.use_bias * model_dim


@dataclasses.dataclass(frozen=True, kw_only=True)
class FeedForwardConfig:
    """The position-wise feed-forward layer (section 3.3).

    Args:
        hidden_dim: Its inner width, the paper's d_ff.
        activation: Any Keras activation, "gelu_tanh" or "squared_relu", by name or as a function.
        dropout: Probability of dropping an inner feature.
        gated: Whether the activated features are multiplied by a third linear layer's (Shazeer
            2020): with "relu" ReGLU, with "sigmoid" GLU, with "silu" SwiGLU, with "gelu" GEGLU,
            with "linear" the bilinear layer.
        use_bias: Whether the linear layers have biases.
    """

    hidden_dim: int
    activation: Any = "relu"
    dropout: float = 0.0
    gated: bool = False
    use_bias: bool = True

    def __post_init__(self) -> None:
        make_numbers_plain(self)
        check_size("feed_forward_dim", self.hidden_dim)
        check_rate("activation_dropout", self.dropout)
        check_declared(self, gated="gated_feed_forward")

    def parameter_count(self, model_dim: int) -> int:
        """Returns the number of trainable scalars."""
        hidden = (1 + self.gated) * self.hidden_dim
        return model_dim * (hidden + self.hidden_dim) + self.use_bias * (hidden + model_dim)


@dataclasses.dataclass(frozen=True, kw_only=True)
class BlockConfig:
    """A block: residual sub-layers, one after the other.

    Args:
        own: What reads the text itself.
        source: Attention to an encoder's states; None for none.
        feed_forward: The last sub-layer.
        norm: That of every sub-layer's residual connection.
        dropout: Probability of dropping a feature of a sub-layer's output (section 5.4).
        first_norm: Whether the norm of inputs is that of the first sub-layer's, too.
    """

    own: AttentionConfig | RecurrenceConfig
    source: AttentionConfig | None = None
    feed_forward: FeedForwardConfig
    norm: NormConfig = NormConfig()
    dropout: float = 0.1
    first_norm: bool = True

    def __post_init__(self) -> None:
        check_rate("dropout", self.dropout)
        check_choice("norm", self.norm.place, get_args(NormPlacement))
        check_declared(self)
        if not self.first_norm and self.norm.place != "pre":
            raise ValueError(f"first_norm=False needs norm='pre', got norm={self.norm.place!r}.")

    @property
    def relative_bias(self) -> RelativeBiasConfig | None:
        """What is added to the scores within the text; None if nothing is."""
        return self.own.relative_bias if isinstance(self.own, AttentionConfig) else None

    def parameter_count(self, model_dim: int) -> int:
        """Returns the number of trainable scalars, but for biases of distances."""
        layers = [layer for layer in (self.own, self.source, self.feed_forward) if layer]
        norms = (len(layers) - (not self.first_norm)) * self.norm.parameter_count(model_dim)
        norms *= 2 if self.norm.place == "both" else 1
        return sum(layer.parameter_count(model_dim) for layer in layers) + norms


@dataclasses.dataclass(frozen=True, kw_only=True)
class SharingConfig:
    """Layers that share weights across depth (Lan et al. 2019, ALBERT).

    Args:
        groups: Groups of blocks; each serves an equal part of the stack's layers.
        blocks_per_group: Blocks of a group, which its layers apply in turn.
    """

    groups: int = 1
    blocks_per_group: int = 1

    def __post_init__(self) -> None:
        make_numbers_plain(self)
        check_size("block_groups", self.groups)
        check_size("blocks_per_group", self.blocks_per_group)

    @property
    def num_blocks(self) -> int:
        """Blocks with weights of their own."""
        return self.groups * self.blocks_per_group

    def check_layers(self, name: str, value: int) -> None:
        """Raises a ValueError unless so many layers, which an option names, can be divided."""
        if value % self.num_blocks:
            raise ValueError(
                f"{name} ({value}) must be a multiple of block_groups ({self.groups}) x "
                f"blocks_per_group ({self.blocks_per_group})."
            )


@dataclasses.dataclass(frozen=True, kw_only=True)
class StackConfig:
    """A stack of blocks, as encoder or as decoder.

    Args:
        blocks: What the blocks are made of: the first ones, repeated for the others.
        num_layers: Number of layers N, each of which applies a block.
        sharing: Which layers apply the same block; None if each has its own.
        first_norm: Whether the first sub-layer of a pre-norm stack reads normalised states. Those
            of ModernBERT (Warner et al. 2024) come from embeddings with a norm as they are.

    Raises:
        ValueError: A value is out of range or two of them do not match; the message names them.
        TypeError: A size is not an integer or a rate is not a number.
    """

    blocks: tuple[BlockConfig, ...]
    num_layers: int
    sharing: SharingConfig | None = None
    first_norm: bool = True

    def __post_init__(self) -> None:
        make_numbers_plain(self)
        check_size("num_layers", self.num_layers)
        check_declared(self)
        if self.sharing is not None:
            if not self.first_norm:
                raise ValueError("first_norm=False needs own blocks: block_groups must be None.")
            self.sharing.check_layers("num_layers", self.num_layers)
        object.__setattr__(self, "blocks", tuple(self.blocks))
        if not self.blocks:
            raise ValueError("blocks must hold one block or more, got none.")
        alike: dict[str, list[Any]] = {
            "norm": [block.norm.place for block in self.blocks],
            "attention to a source": [block.source is None for block in self.blocks],
            "kind of own sub-layer": [type(block.own) for block in self.blocks],
            "shared relative bias": list(_biases_of(self.blocks, per_block=False).values()),
        }
        for name, values in alike.items():
            if any(value != values[0] for value in values):
                raise ValueError(f"the blocks of a stack must have the same {name}, got {values}.")

    @property
    def shared_bias(self) -> tuple[int, RelativeBiasConfig] | None:
        """The heads and biases of distances that blocks share; None without."""
        return next(iter(_biases_of(self.blocks, per_block=False).values()), None)

    @property
    def own_biases(self) -> dict[int, tuple[int, RelativeBiasConfig]]:
        """The heads and biases of distances of blocks with their own, by the block's number."""
        return _biases_of(self.own_blocks, per_block=True)

    @property
    def block_of_layer(self) -> tuple[int, ...]:
        """The number of the block that each of the N layers applies."""
        numbers = range(self.num_layers)
        if self.sharing is None:
            return tuple(numbers)
        size, layers = self.sharing.blocks_per_group, self.num_layers // self.sharing.groups
        return tuple(number // layers * size + number % size for number in numbers)

    @property
    def own_blocks(self) -> tuple[BlockConfig, ...]:
        """What each block with weights of its own is made of."""
        count = self.num_layers if self.sharing is None else self.sharing.num_blocks
        found = [self.blocks[number % len(self.blocks)] for number in range(count)]
        found[0] = dataclasses.replace(found[0], first_norm=self.first_norm)
        return tuple(found)

    @property
    def layers(self) -> tuple[BlockConfig, ...]:
        """What the block of each of the N layers is made of."""
        return tuple(self.own_blocks[number] for number in self.block_of_layer)

    @property
    def final_norm(self) -> NormConfig | None:
        """The norm behind the last block, whose sum none has normalised; None without."""
        norm = self.layers[-1].norm
        return norm if norm.is_of_inputs else None

    def parameter_count(self, model_dim: int) -> int:
        """Returns the number of trainable scalars, counted from the paper's equations."""
        count = sum(block.parameter_count(model_dim) for block in self.own_blocks)
        if self.final_norm is not None:
            count += self.final_norm.parameter_count(model_dim)
        biases = [*([self.shared_bias] if self.shared_bias else []), *self.own_biases.values()]
        return count + sum(heads * bias.buckets for heads, bias in biases)


def _biases_of(
    blocks: Iterable[BlockConfig], *, per_block: bool
) -> dict[int, tuple[int, RelativeBiasConfig]]:
    """Returns the heads and the biases of those of blocks that have their own, or that share it."""
    return {
        number: (block.own.num_heads, bias)
        for number, block in enumerate(blocks)
        if isinstance(block.own, AttentionConfig)
        and (bias := block.own.relative_bias) is not None
        and bias.per_block == per_block
    }
