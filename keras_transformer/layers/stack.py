"""Base classes of encoder and decoder: a block as a list of residual sub-layers, and a stack of
blocks (paper, section 3.1).
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import keras

from keras_transformer.config.block_options import BlockOptions
from keras_transformer.config.positions.relative_bias import RelativeBiasConfig
from keras_transformer.config.stack import BlockConfig, StackConfig
from keras_transformer.layers.attention import MultiHeadAttention
from keras_transformer.layers.distances.relative_bias import RelativeBias
from keras_transformer.layers.feed_forward import FeedForward
from keras_transformer.layers.recomputation import recomputed
from keras_transformer.layers.residual import Residual
from keras_transformer.layers.variants.configured import Configured
from keras_transformer.layers.variants.rms_norm import make_norm
from keras_transformer.tensors import Tensor


@dataclass(frozen=True)
class SubLayer:
    """One residual sub-layer of a block.

    Attributes:
        layer: A `MultiHeadAttention` or a `FeedForward`.
        residual: The connection around it.
        attends_to: The origin of its keys and values: the block's "own" states, or the encoder's
            states of the "source"; None for a feed-forward layer.
    """

    layer: keras.layers.Layer
    residual: Residual
    attends_to: Literal["own", "source"] | None


class Block(Configured):
    """The base of encoder and decoder blocks.

    Args:
        config: What the block is made of.
    """

    config: BlockConfig
    config_class = BlockConfig
    # Whether the blocks of files before 0.2 attend to an encoder unless they say so.
    attends_source = False

    @property
    def sub_layers(self) -> tuple[SubLayer, ...]:
        """The block's sub-layers in the order in which states pass through them."""
        raise NotImplementedError

    def _build_sub_layers(self, states_shape: Any) -> None:
        for sub_layer in self.sub_layers:
            sub_layer.layer.build(states_shape)
            sub_layer.residual.build(states_shape)

    def _attention(self, config: Any, name: str) -> MultiHeadAttention:
        return MultiHeadAttention(config, dtype=self.dtype_policy, name=name)

    def _feed_forward(self) -> FeedForward:
        return FeedForward(self.config.feed_forward, dtype=self.dtype_policy, name="feed_forward")

    def _residual(self, name: str, *, is_first: bool = False) -> Residual:
        norm, dropout = self.config.norm, self.config.dropout
        if is_first and not self.config.first_norm:
            norm = replace(norm, place="none")
        return Residual(norm, dropout, dtype=self.dtype_policy, name=f"{name}_residual")

    @classmethod
    def arguments_of_flat(cls, flat: dict[str, Any]) -> dict[str, Any]:
        """Reads a block's options, which stood beside each other."""
        return {"config": block_of_flat(flat, attends_source=cls.attends_source)}

    def compute_output_shape(self, states_shape: Any) -> Any:
        """Returns the states' shape."""
        return states_shape


class Stack(Configured):
    """The base of encoder and decoder: blocks and, for pre-norm, a final norm.

    Args:
        config: What the blocks are made of, and how many there are.

    Attributes:
        blocks: The block of each layer; layers that share weights have the same one.
        relative: The `RelativeBias` that blocks share; None without.
        relatives: Each block's own; empty without.
        recompute: Whether training keeps only a block's inputs and computes the rest again for the
            gradients: less memory for about a third more time. Not saved with the model.
    """

    config: StackConfig
    config_class = StackConfig
    block_class: type[Block]
    attends_ahead: bool
    recompute = False

    def __init__(self, config: StackConfig, **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        self.relative: RelativeBias | None = None
        if config.shared_bias is not None:
            self.relative = self._relative_bias(*config.shared_bias, "relative")
        own = config.own_biases
        self.relatives = [
            self._relative_bias(*one, f"relative_{number}") for number, one in own.items()
        ]
        self._numbers = list(own)

    def _relative_bias(self, num_heads: int, bias: RelativeBiasConfig, name: str) -> RelativeBias:
        sizes = (num_heads, bias.buckets, bias.max_distance)
        return RelativeBias(*sizes, self.attends_ahead, dtype=self.dtype_policy, name=name)

    def build(self, states_shape: Any) -> None:
        """Creates the blocks for the states' width, and the relative biases."""
        for relative in (self.relative, *self.relatives):
            if relative is not None:
                relative.build()
        own = [
            self.block_class(config, dtype=self.dtype_policy, name=f"block_{index}")
            for index, config in enumerate(self.config.own_blocks)
        ]
        for block in own:
            block.build(states_shape)
        self.blocks = [own[number] for number in self.config.block_of_layer]
        self.final_norm = None
        if self.config.final_norm is not None:
            self.final_norm = make_norm(self.config.final_norm, self.dtype_policy, "final_norm")
            self.final_norm.build(states_shape)

    def relative_of(self, number: int) -> RelativeBias | None:
        """Returns the relative bias of a layer's block, its own or that of all; None without."""
        block = self.config.block_of_layer[number]
        bias = self.config.own_blocks[block].relative_bias
        if bias is None:
            return None
        return self.relatives[self._numbers.index(block)] if bias.per_block else self.relative

    def attention_biases(self, states: Tensor) -> list[Tensor | None]:
        """Returns what each block adds to its scores: `(1, heads, length, length)`; None if nothing
        is added.

        Args:
            states: `(batch, length, model_dim)`.
        """
        return self._biases(lambda relative: relative(states))

    def _biases(self, biases_of: Callable[[RelativeBias], Tensor]) -> list[Tensor | None]:
        """Returns the biases for each block, computed once if the blocks share them."""
        shared = None if self.relative is None else biases_of(self.relative)
        relatives = map(self.relative_of, range(self.config.num_layers))
        return [
            shared if one is self.relative else None if one is None else biases_of(one)
            for one in relatives
        ]

    @abstractmethod
    def own_mask(self, keep_mask: Tensor) -> Tensor:
        """Returns what a block takes as `keep_mask`, from `(batch, length)`."""

    def masks(
        self, keep_mask: Tensor, token_type_ids: Tensor | None = None
    ) -> dict[str, Tensor | None]:
        """Returns what a block takes as masks, by name, from two of `(batch, length)`."""
        del token_type_ids
        return {"keep_mask": self.own_mask(keep_mask)}

    def all_states(
        self, states: Tensor, keep_mask: Tensor, token_type_ids: Tensor | None = None
    ) -> list[Tensor]:
        """Returns the given states and those after each block, the last ones as the call does.

        Args:
            states: `(batch, length, model_dim)`.
            keep_mask: Boolean `(batch, length)`, True at real tokens.
            token_type_ids: Integer `(batch, length)`, the segments that an encoder's blocks may
                read; None for one.

        Raises:
            ValueError: The blocks attend to a source.
        """
        masks, biases = self.masks(keep_mask, token_type_ids), self.attention_biases(states)
        found = [states]
        for block, bias in zip(self.blocks, biases, strict=True):
            found.append(block(found[-1], **masks, bias=bias))
        return [*found[:-1], self._finish(found[-1])]

    def _run_block(
        self,
        block: Block,
        inputs: dict[str, Tensor | None],
        masks: dict[str, Tensor | None],
        training: bool | None,
    ) -> Tensor:
        if training and self.recompute:
            return recomputed(block, inputs, masks, training)
        return block(**inputs, **masks, training=training)

    def _finish(self, states: Tensor) -> Tensor:
        return self.final_norm(states) if self.final_norm is not None else states

    @classmethod
    def arguments_of_flat(cls, flat: dict[str, Any]) -> dict[str, Any]:
        """Reads the blocks' options, which stood beside their number."""
        num_layers = flat.pop("num_layers")
        block = block_of_flat(flat, attends_source=cls.block_class.attends_source)
        return {"config": StackConfig(blocks=(block,), num_layers=num_layers)}

    def compute_output_shape(self, states_shape: Any) -> Any:
        """Returns the states' shape."""
        return states_shape


def block_of_flat(flat: dict[str, Any], *, attends_source: bool) -> BlockConfig:
    """Returns what a block is made of from the options that files before 0.2 name.

    Args:
        flat: The options; an activation may be one that `keras.saving` describes.
        attends_source: Whether the block attends to an encoder if `flat` does not say so.
    """
    options = dict(flat)
    parts = {
        "attends_source": options.pop("attends_source", attends_source),
        "recurrence": options.pop("recurrence", None),
    }
    if "epsilon" in options:
        options["layer_norm_epsilon"] = options.pop("epsilon")
    activation = options.pop("activation", "relu")
    block = BlockOptions(**options).block(**parts)
    return replace(block, feed_forward=replace(block.feed_forward, activation=activation))
