"""The options of a model's blocks by one flat name each, as presets, flags and files have them."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from keras_transformer.config.checks import (
    check_choice,
    check_declared,
    check_size,
    make_numbers_plain,
)
from keras_transformer.config.positions.relative_bias import RelativeBiasConfig
from keras_transformer.config.positions.rotary import RotaryConfig, RotaryScalingConfig
from keras_transformer.config.stack import (
    AttentionConfig,
    BlockConfig,
    FeedForwardConfig,
    NormConfig,
    NormKind,
    NormPlacement,
    NormScope,
    Recurrence,
    RecurrenceConfig,
    SharingConfig,
    StackConfig,
)

# What the blocks of a pattern may differ in: nothing that caches, other layers or weights that are
# shared depend on.
VARYING = (
    "feed_forward_dim",
    "attention_dropout",
    "activation_dropout",
    "activation",
    "gated_feed_forward",
    "scale_attention",
    "attention_soft_cap",
    "query_key_norm",
    "rotary_base",
    "rotary_width",
    "rotary_scaling",
    "window",
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class BlockOptions:
    """Sizes and choices of blocks.

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
        activation: The feed-forward layer's: the name of a Keras activation, "gelu_tanh" (that of
            GPT-2) or "squared_relu" (So et al. 2021).
        norm: "post" as in the paper; or, with a final norm on each stack, "pre", "both", which also
            normalises what each sub-layer adds (Ding et al. 2021), or "output", which normalises
            that alone (OLMo 2).
        layer_norm_epsilon: Added to the variance in layer normalisation, or in RMSNorm to the mean
            of squares.
        norm_kind: "layer_norm" (Ba et al. 2016), or "rms_norm" without mean and bias (Zhang and
            Sennrich 2019).
        gated_feed_forward: Whether the feed-forward layer multiplies its activated features by a
            third linear layer's (Shazeer 2020): with "relu" ReGLU, with "sigmoid" GLU, with "silu"
            SwiGLU, with "gelu" GEGLU, with "linear" the bilinear layer.
        use_bias: Whether the linear layers of attention and feed-forward have biases.
        attention_bias: Whether those of attention have them where `use_bias` gives them to all.
        attention_output_bias: Whether, of these, the one behind the heads has one, too.
        feed_forward_bias: Whether those of feed-forward have them where `use_bias` gives them to
            all.
        scale_attention: Whether attention scores are divided by √key_dim.
        attention_soft_cap: What bounds these scores s, as attention_soft_cap · tanh(s /
            attention_soft_cap), before masks and biases (Gemma 2); None for no bound.
        additive_attention: Whether a score is vᵀ tanh(q + k), with a trained vector v of each head,
            in place of the product of query and key (Bahdanau et al. 2015), which alone
            `scale_attention` divides; not with `rotary_base` or `relative_sinusoids`.
        num_key_value_heads: Heads of keys and values, a divisor of `num_heads`, each shared by a
            group of queries' heads (Ainslie et al. 2023); None, which `num_heads` itself becomes,
            for as many as queries have.
        query_key_norm: Whether self-attention normalises each head's queries and its keys, by norms
            of `norm_kind` (Henry et al. 2020).
        query_key_norm_over: Whether these are norms of each "head" or of "all_heads" together
            (OLMo 2).
        rotary_base: The base of rotary positions (Su et al. 2021) in self-attention, beside what
            `positions` adds; 10,000 in the paper, None for none.
        rotary_width: Features of a head that these turn, an even number; None for all.
        rotary_scaling: How their angles are changed for texts longer than those of the training:
            the fields of a `RotaryScalingConfig` by name; None for not at all.
        window: Places that a query of self-attention reads, its own among them: keys that are as
            many away, or more, are hidden from it (Beltagy et al. 2020); None for all.
        relative_buckets: Buckets of distances, an even number, for each of which a stack adds a
            trained bias to the scores of its self-attention (Raffel et al. 2020); None for none.
        relative_per_block: Whether each block has such biases of its own (UMT5, Chung et al. 2023)
            instead of those that all share.
        relative_max_distance: Distances from here on share a bucket.
        relative_sinusoids: Whether the scores of self-attention read the distance of a key from its
            query as sinusoids, with a projection and two biases of their own in each block (Dai et
            al. 2019, Transformer-XL); not with `rotary_base`.
        farthest_distance: What these sinusoids read in place of larger distances; None for no
            bound.
        block_pattern: For each block of a pattern that the layers of a stack repeat, its own values
            of options among `VARYING`, by name; empty if all blocks are alike.
        block_groups: Groups of blocks, each of which serves an equal part of a stack's layers, one
            after the other, so that these share its weights (Lan et al. 2019, ALBERT, with 1);
            None if each layer has a block of its own.
        blocks_per_group: Blocks of such a group, which its layers apply in turn.

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
    attention_bias: bool = True
    attention_output_bias: bool = True
    feed_forward_bias: bool = True
    scale_attention: bool = True
    attention_soft_cap: float | None = None
    additive_attention: bool = False
    num_key_value_heads: int | None = None
    query_key_norm: bool = False
    query_key_norm_over: NormScope = "head"
    rotary_base: float | None = None
    rotary_width: int | None = None
    rotary_scaling: Mapping[str, Any] | None = dataclasses.field(
        default=None, hash=False, metadata={"flag": False}
    )
    window: int | None = None
    relative_buckets: int | None = None
    relative_per_block: bool = False
    relative_max_distance: int = 128
    relative_sinusoids: bool = False
    farthest_distance: int | None = None
    block_pattern: tuple[Mapping[str, Any], ...] = dataclasses.field(
        default=(), hash=False, metadata={"flag": False}
    )
    block_groups: int | None = None
    blocks_per_group: int = 1

    def __post_init__(self) -> None:
        make_numbers_plain(self)
        check_declared(self)
        for name in ("model_dim", "num_heads"):
            check_size(name, getattr(self, name))
        for name in ("key_dim", "value_dim"):
            if getattr(self, name) is None:
                object.__setattr__(self, name, self._default_head_width(name))
        if self.relative_per_block and self.relative_buckets is None:
            raise ValueError("relative_per_block needs relative_buckets, got None.")
        check_size("relative_max_distance", self.relative_max_distance)
        if not isinstance(self.activation, str) or not self.activation:
            raise TypeError(
                f"activation must be the name of a Keras activation, got {self.activation!r}."
            )
        if self.rotary_scaling is not None:
            # As files have it, so that configs are equal to what they are read as.
            object.__setattr__(self, "rotary_scaling", _scaling_of(self.rotary_scaling).to_dict())
        self._check_pattern("block_pattern")
        self._check_sharing()
        self.stack_of(1 if self.sharing is None else self.sharing.num_blocks)
        if self.key_value_heads == self.num_heads:
            # None, as in the configs of runs from before the field, so that both are equal.
            object.__setattr__(self, "num_key_value_heads", None)

    def to_dict(self) -> dict[str, Any]:
        """Returns the fields as plain JSON values."""
        pattern = [dict(own) for own in self.block_pattern]
        return {**dataclasses.asdict(self), "block_pattern": pattern}

    @property
    def key_value_heads(self) -> int:
        """Heads of keys and values."""
        return self.num_heads if self.num_key_value_heads is None else self.num_key_value_heads

    @property
    def sharing(self) -> SharingConfig | None:
        """Which layers of a stack share weights."""
        if self.block_groups is None:
            return None
        return SharingConfig(groups=self.block_groups, blocks_per_group=self.blocks_per_group)

    def stack_of(
        self,
        num_layers: int,
        *,
        attends_source: bool = False,
        recurrence: Recurrence | None = None,
        pattern: Sequence[Mapping[str, Any]] = (),
    ) -> StackConfig:
        """Returns a stack of such blocks.

        Args:
            num_layers: Its layers.
            attends_source: As for `block`.
            recurrence: Likewise.
            pattern: What its blocks have in place of `block_pattern`; empty for that.
        """
        parts: dict[str, Any] = {"attends_source": attends_source, "recurrence": recurrence}
        size: dict[str, Any] = {"num_layers": num_layers, "sharing": self.sharing}
        pattern = pattern or self.block_pattern
        if not pattern:
            return StackConfig(blocks=(self.block(**parts),), **size)
        names = [field.name for field in dataclasses.fields(BlockOptions)]
        common = {**{name: getattr(self, name) for name in names}, "block_pattern": ()}
        blocks = (BlockOptions(**{**common, **own}).block(**parts) for own in pattern)
        return StackConfig(blocks=tuple(blocks), **size)

    def block(
        self, *, attends_source: bool = False, recurrence: Recurrence | None = None
    ) -> BlockConfig:
        """Returns what a block is made of, but for what a pattern gives it.

        Args:
            attends_source: Whether it attends to an encoder's states.
            recurrence: What it has in place of self-attention, so that nothing is left that could
                read distances; None for self-attention.
        """
        norm = NormConfig(kind=self.norm_kind, place=self.norm, epsilon=self.layer_norm_epsilon)
        source = AttentionConfig(
            num_heads=self.num_heads,
            key_dim=self.key_dim,
            value_dim=self.value_dim,
            num_key_value_heads=self.key_value_heads,
            dropout=self.attention_dropout,
            use_bias=self.use_bias and self.attention_bias,
            output_bias=self.attention_output_bias,
            scale=self.scale_attention,
            soft_cap=self.attention_soft_cap,
            additive=self.additive_attention,
        )
        own = dataclasses.replace(
            source,
            query_key_norm=norm if self.query_key_norm else None,
            query_key_norm_over=self.query_key_norm_over,
            rotary=self._rotary(),
            window=self.window,
            relative_bias=self._relative_bias(),
            relative_sinusoids=self.relative_sinusoids,
            farthest_distance=self.farthest_distance,
        )
        return BlockConfig(
            own=RecurrenceConfig(kind=recurrence, use_bias=self.use_bias) if recurrence else own,
            source=source if attends_source else None,
            feed_forward=FeedForwardConfig(
                hidden_dim=self.feed_forward_dim,
                activation=self.activation,
                dropout=self.activation_dropout,
                gated=self.gated_feed_forward,
                use_bias=self.use_bias and self.feed_forward_bias,
            ),
            norm=norm,
            dropout=self.dropout,
        )

    def _check_pattern(self, field: str) -> None:
        given: Any = getattr(self, field)
        if not isinstance(given, list | tuple) or not all(
            isinstance(own, Mapping) for own in given
        ):
            raise TypeError(f"{field} must hold options by name for each block, got {given!r}.")
        for name in (name for own in given for name in own):
            check_choice(f"an option of {field}", name, VARYING)
        object.__setattr__(self, field, tuple(dict(own) for own in given))

    def _check_sharing(self) -> None:
        if self.sharing is None:
            if self.blocks_per_group != 1:
                raise ValueError(
                    f"blocks_per_group={self.blocks_per_group} needs block_groups, got None."
                )
            return
        for name in ("num_layers", "num_encoder_layers", "num_decoder_layers"):
            # Another number than an integer is refused with the field.
            if isinstance(given := getattr(self, name, None), int):
                self.sharing.check_layers(name, given)

    def _rotary(self) -> RotaryConfig | None:
        if self.rotary_base is None:
            return None
        given = self.rotary_scaling
        scaling = None if given is None else _scaling_of(given)
        return RotaryConfig(base=self.rotary_base, width=self.rotary_width, scaling=scaling)

    def _relative_bias(self) -> RelativeBiasConfig | None:
        if self.relative_buckets is None:
            return None
        return RelativeBiasConfig(
            buckets=self.relative_buckets,
            max_distance=self.relative_max_distance,
            per_block=self.relative_per_block,
        )

    def _default_head_width(self, name: str) -> int:
        if self.model_dim % self.num_heads:
            raise ValueError(
                f"model_dim ({self.model_dim}) is not a multiple of num_heads ({self.num_heads}): "
                f"change one of them, or give {name} (width per head) yourself."
            )
        return self.model_dim // self.num_heads


def _scaling_of(given: Any) -> RotaryScalingConfig:
    if not isinstance(given, Mapping):
        raise TypeError(f"rotary_scaling must hold values by name, got {given!r}.")
    known = [field.name for field in dataclasses.fields(RotaryScalingConfig)]
    for name in given:
        check_choice("a field of rotary_scaling", name, known)
    if "kind" not in given:
        raise ValueError(f"rotary_scaling needs a kind, got {dict(given)!r}.")
    return RotaryScalingConfig(**given)
