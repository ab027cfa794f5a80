"""The decoder (paper, section 3.1), over a whole sequence or some tokens at a time with a cache."""

from collections.abc import Sequence

import keras
from keras import ops

from keras_transformer.config.stack import RecurrenceConfig
from keras_transformer.layers.attention import KeysValues
from keras_transformer.layers.decoder.block import Cache, DecoderBlock, check_source
from keras_transformer.layers.decoder.memory import Memory
from keras_transformer.layers.distances.relative_bias import RelativeBias
from keras_transformer.layers.masks import attention_mask
from keras_transformer.layers.stack import Stack
from keras_transformer.tensors import Tensor


@keras.saving.register_keras_serializable("keras_transformer")
class Decoder(Stack):
    """The decoder's N blocks.

    Args:
        config: What the blocks are made of, and how many there are.
    """

    block_class = DecoderBlock
    attends_ahead = False

    def own_mask(self, keep_mask: Tensor) -> Tensor:
        """Returns what a block takes as `keep_mask`, from `(batch, target_length)`.

        A recurrence knows no later places; attention must be kept from them.
        """
        recurs = isinstance(self.config.blocks[0].own, RecurrenceConfig)
        return keep_mask if recurs else attention_mask(keep_mask, causal=True)

    def call(
        self,
        states: Tensor,
        encoder_states: Tensor | None = None,
        keep_mask: Tensor | None = None,
        source_keep_mask: Tensor | None = None,
        training: bool | None = None,
    ) -> Tensor:
        """Runs the blocks over whole sequences.

        Args:
            states: `(batch, target_length, model_dim)`.
            encoder_states: `(batch, source_length, model_dim)`; None without attention to a source.
            keep_mask: Boolean `(batch, target_length)`, True at real target tokens; all if None.
            source_keep_mask: Boolean `(batch, source_length)`, True at real source tokens; all if
                None.
            training: Whether to apply dropout.

        Returns:
            `(batch, target_length, model_dim)`.

        Raises:
            ValueError: The source that the blocks attend to is missing, or they attend to none.
        """
        check_source(self.config.blocks[0].source is not None, encoder_states, source_keep_mask)
        if keep_mask is None:
            keep_mask = ops.ones(ops.shape(states)[:2], dtype="bool")
        mask = self.own_mask(keep_mask)
        source_mask = None if source_keep_mask is None else attention_mask(source_keep_mask)
        biases = self.attention_biases(states)
        masks = {"keep_mask": mask, "source_keep_mask": source_mask}
        for block, bias in zip(self.blocks, biases, strict=True):
            inputs = {"states": states, "encoder_states": encoder_states, "bias": bias}
            states = self._run_block(block, inputs, masks, training)
        return self._finish(states)

    def read_on(
        self, states: Tensor, keep_mask: Tensor, memory: Memory, training: bool | None = None
    ) -> tuple[Tensor, Memory]:
        """Runs the blocks, which attend to no source, over the next segment of each text.

        Args:
            states: `(batch, length, model_dim)`.
            keep_mask: Boolean `(batch, length)`, True at real tokens.
            memory: What was read before.
            training: Whether to apply dropout.

        Returns:
            States `(batch, length, model_dim)`, and what to remember for the segment after.
        """
        masks = {"keep_mask": memory.mask(keep_mask), "source_keep_mask": None}
        biases = self._biases(lambda one: _bias_behind(one, memory.length, states))
        read = []
        for block, remembered, bias in zip(self.blocks, memory.states, biases, strict=True):
            read.append(states)
            inputs = {"states": states, "memory": remembered, "bias": bias}
            states = self._run_block(block, inputs, masks, training)
        return self._finish(states), memory.after(read, keep_mask)

    def project(self, encoder_states: Tensor) -> list[KeysValues]:
        """Projects the encoder's states once for each block's cross-attention.

        Returns:
            For each block keys `(batch, heads, source_length, key_dim)` and values
            `(batch, heads, source_length, value_dim)`.
        """
        return [block.cross_attention.project(encoder_states) for block in self.blocks]

    def align(
        self,
        states: Tensor,
        keep_mask: Tensor,
        source_keep_mask: Tensor,
        cross: list[KeysValues],
    ) -> tuple[Tensor, Tensor]:
        """Runs the blocks over whole sequences and returns their attention to the source.

        Args:
            states: `(batch, target_length, model_dim)`.
            keep_mask: Boolean `(batch, target_length)`, True at real target tokens.
            source_keep_mask: Boolean `(batch, source_length)`, True at real source tokens.
            cross: `project`'s result.

        Returns:
            States, and the mean of all blocks' and heads' cross-attention `(batch, target_length,
            source_length)`.
        """
        mask, source_mask = self.own_mask(keep_mask), attention_mask(source_keep_mask)
        biases = self.attention_biases(states)
        weights = []
        for block, keys_values, bias in zip(self.blocks, cross, biases, strict=True):
            states, attention = block.align(states, mask, source_mask, keys_values, bias)
            weights.append(ops.mean(attention, axis=1))
        return self._finish(states), sum(weights) / len(weights)

    def step(
        self,
        states: Tensor,
        step: Tensor,
        source_keep_mask: Tensor | None,
        cross: Sequence[KeysValues | None],
        caches: list[Cache],
    ) -> tuple[Tensor, list[Cache]]:
        """Runs the blocks on the tokens from position `step` on: one, or several at once.

        Args:
            states: `(rows, tokens, model_dim)`.
            step: int32 scalar, tokens already in the caches.
            source_keep_mask: Boolean `(batch, source_length)`; None without attention to a source.
            cross: `project`'s result; for each block None without attention to a source.
            caches: For each block what `DecoderBlock.step` takes.

        Returns:
            States `(rows, tokens, model_dim)` and the caches with these positions written.
        """
        mask = None if source_keep_mask is None else attention_mask(source_keep_mask)

        def biases_of(relative: RelativeBias) -> Tensor:
            keys = ops.arange(ops.shape(caches[0][0])[2], dtype="int32")
            return relative.between(_places(step, states), keys)

        biases = self._biases(biases_of)
        new_caches = []
        for block, keys_values, cache, bias in zip(self.blocks, cross, caches, biases, strict=True):
            states, new_cache = block.step(states, step, mask, keys_values, cache, bias)
            new_caches.append(new_cache)
        return self._finish(states), new_caches


def _places(first: Tensor | int, states: Tensor) -> Tensor:
    """Returns the places of a sequence's states, int32 `(length,)`."""
    return ops.cast(first, "int32") + ops.arange(ops.shape(states)[1], dtype="int32")


def _bias_behind(relative: RelativeBias, length: int, states: Tensor) -> Tensor:
    """Returns the biases of states behind a memory: `(1, heads, length, memory + length)`."""
    places = _places(length, states)
    return relative.between(places, ops.concatenate([ops.arange(length, dtype="int32"), places]))
