"""A block of the decoder (paper, section 3.1), over a whole sequence or some tokens at a time with
a cache. Both run the same code, on newly projected or on cached keys and values.
"""

from typing import Any

import keras
from keras import ops

from keras_transformer.config.stack import RecurrenceConfig
from keras_transformer.layers.attention import KeysValues
from keras_transformer.layers.masks import places_seen
from keras_transformer.layers.recurrences.lstm import LSTM
from keras_transformer.layers.recurrences.ssru import SSRU
from keras_transformer.layers.stack import Block, SubLayer
from keras_transformer.tensors import Tensor

# What a block remembers of earlier tokens: keys and values of self-attention, or the one state of a
# recurrence.
Cache = tuple[Tensor, ...]


def write_cache(cache: Tensor, new: Tensor, step: Tensor) -> Tensor:
    """Writes places of a cache that follow each other.

    Args:
        cache: `(rows, heads, cache_length, width)`.
        new: `(rows, heads, places, width)`.
        step: int32 scalar, the first place to write; the last is less than cache_length.

    Returns:
        The cache with `new` from `step` on.
    """
    places = ops.arange(ops.shape(cache)[2], dtype="int32")
    if new.shape[2] == 1:
        here = ops.equal(places, step)
    else:
        last = ops.shape(new)[2] - 1
        from_here = places - step
        here = ops.logical_and(from_here >= 0, from_here <= last)
        new = ops.take(new, ops.clip(from_here, 0, last), axis=2)
    return ops.where(here[None, None, :, None], ops.cast(new, cache.dtype), cache)


def check_source(
    attends_source: bool, encoder_states: Tensor | None, source_keep_mask: Tensor | None
) -> None:
    """Raises `ValueError` unless a call has the source that a layer attends to, and no other."""
    if attends_source and encoder_states is None:
        raise ValueError(
            "encoder_states are needed, got None: give those of the source, or make the layer of "
            "blocks with source=None."
        )
    given = {"encoder_states": encoder_states, "source_keep_mask": source_keep_mask}
    names = [name for name, tensor in given.items() if tensor is not None]
    if names and not attends_source:
        raise ValueError(
            f"blocks with source=None would not read {' and '.join(names)}: leave them out, or "
            "make the layer of blocks that attend to a source."
        )


_RECURRENCES: dict[str, type[SSRU | LSTM]] = {"ssru": SSRU, "lstm": LSTM}


@keras.saving.register_keras_serializable("keras_transformer")
class DecoderBlock(Block):
    """Masked self-attention, attention to the encoder, feed-forward, each in a residual.

    Args:
        config: What the block is made of; with attention to no source it is that of a decoder-only
            model.
    """

    attends_source = True

    @property
    def recurs(self) -> bool:
        """Whether a recurrence stands in place of self-attention."""
        return isinstance(self.config.own, RecurrenceConfig)

    @property
    def recurrence(self) -> Any:
        """The recurrence, an `SSRU` or an `LSTM`, of a block that has one."""
        return getattr(self, self._kind)

    @property
    def recurrence_residual(self) -> Any:
        """The residual around it."""
        return getattr(self, f"{self._kind}_residual")

    @property
    def _kind(self) -> str:
        own = self.config.own
        return own.kind if isinstance(own, RecurrenceConfig) else ""

    def build(self, states_shape: Any) -> None:
        """Creates the sub-layers for the states' width (the encoder's is the same)."""
        own, source = self.config.own, self.config.source
        if isinstance(own, RecurrenceConfig):
            # Named for its kind, as in the files of models.
            kind, layer_class = own.kind, _RECURRENCES[own.kind]
            setattr(self, kind, layer_class(own, dtype=self.dtype_policy, name=kind))
            setattr(self, f"{kind}_residual", self._residual(kind, is_first=True))
        else:
            self.self_attention = self._attention(own, "self_attention")
            self.self_attention_residual = self._residual("self_attention", is_first=True)
        if source is not None:
            self.cross_attention = self._attention(source, "cross_attention")
            self.cross_attention_residual = self._residual("cross_attention")
        self.feed_forward = self._feed_forward()
        self.feed_forward_residual = self._residual("feed_forward")
        self._build_sub_layers(states_shape)

    @property
    def sub_layers(self) -> tuple[SubLayer, ...]:
        """Self-attention or what stands in its place, attention to the source if there is one, and
        feed-forward.
        """
        if self.recurs:
            own = SubLayer(self.recurrence, self.recurrence_residual, "own")
        else:
            own = SubLayer(self.self_attention, self.self_attention_residual, "own")
        cross: tuple[SubLayer, ...] = ()
        if self.config.source is not None:
            cross = (SubLayer(self.cross_attention, self.cross_attention_residual, "source"),)
        return own, *cross, SubLayer(self.feed_forward, self.feed_forward_residual, None)

    def call(
        self,
        states: Tensor,
        encoder_states: Tensor | None = None,
        keep_mask: Tensor | None = None,
        source_keep_mask: Tensor | None = None,
        training: bool | None = None,
        bias: Tensor | None = None,
        memory: Tensor | None = None,
    ) -> Tensor:
        """Runs the block over whole sequences.

        Args:
            states: `(batch, target_length, model_dim)`.
            encoder_states: `(batch, source_length, model_dim)`; None without attention to a source.
            keep_mask: Boolean, broadcasts to `(batch, heads, target_length, target_length)`, keys
                of the memory before the others; for a recurrence `(batch, target_length)`.
            source_keep_mask: Boolean, broadcasts to
                `(batch, heads, target_length, source_length)`.
            training: Whether to apply dropout.
            bias: Added to the scores of self-attention; broadcasts to `(batch, heads,
                target_length, target_length)`, or as `keep_mask` does.
            memory: What the block read before, `(batch, memory_length, model_dim)`, to which
                self-attention attends, too; None for nothing.

        Returns:
            `(batch, target_length, model_dim)`.

        Raises:
            ValueError: The source that the block attends to is missing, or it attends to none.
        """
        attends_source = self.config.source is not None
        check_source(attends_source, encoder_states, source_keep_mask)
        states = self._read_own(states, keep_mask, training, bias, memory)
        cross = self.cross_attention.project(encoder_states) if attends_source else None
        return self._finish(states, cross, source_keep_mask, training)[0]

    def align(
        self,
        states: Tensor,
        keep_mask: Tensor,
        source_keep_mask: Tensor,
        cross: KeysValues,
        bias: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Runs the block over whole sequences and returns their attention to the source.

        Args:
            states: `(batch, target_length, model_dim)`.
            keep_mask: As for the call.
            source_keep_mask: As for the call.
            cross: Projected encoder keys and values `(batch, heads, source_length, width)`.
            bias: As for the call.

        Returns:
            States, and the cross-attention's weights `(batch, heads, target_length,
            source_length)`.
        """
        states = self._read_own(states, keep_mask, False, bias)
        return self._finish(states, cross, source_keep_mask, False)

    def step(
        self,
        states: Tensor,
        step: Tensor,
        source_keep_mask: Tensor | None,
        cross: KeysValues | None,
        cache: Cache,
        bias: Tensor | None = None,
    ) -> tuple[Tensor, Cache]:
        """Runs the block on the tokens from position `step` on: one, or several at once.

        Args:
            states: `(rows, tokens, model_dim)`, rows a multiple of the batch: the hypotheses of one
                sentence are adjacent.
            step: int32 scalar, tokens already in the cache.
            source_keep_mask: Boolean `(batch, 1, 1, source_length)`.
            cross: Projected encoder keys and values `(batch, heads, source_length, width)`.
            cache: Keys and values `(rows, heads, cache_length, width)`, or a recurrence's state
                `(rows, model_dim)`.
            bias: Added to the scores of self-attention: `(1, heads, tokens, cache_length)`.

        Returns:
            States `(rows, tokens, model_dim)` and the cache with these positions written.
        """
        if self.recurs:
            residual = self.recurrence_residual
            outputs, state = self.recurrence.step(residual.enter(states), *cache)
            states, cache = residual(states, outputs, training=False), (state,)
        else:
            states, cache = self._attend_cache(states, step, cache, bias)
        return self._finish(states, cross, source_keep_mask, False)[0], cache

    def _read_own(
        self,
        states: Tensor,
        keep_mask: Tensor | None,
        training: bool | None,
        bias: Tensor | None,
        memory: Tensor | None = None,
    ) -> Tensor:
        """Returns the states after self-attention or the recurrence."""
        if self.recurs:
            outputs = self.recurrence(self.recurrence_residual.enter(states), keep_mask)
            return self.recurrence_residual(states, outputs, training=training)
        inputs = self.self_attention_residual.enter(states)
        read, begin = inputs, 0
        if memory is not None:
            remembered = self.self_attention_residual.enter(memory)
            read, begin = ops.concatenate([remembered, inputs], axis=1), memory.shape[1]
        own = self.self_attention.project(read)
        attended = self.self_attention.attend(
            inputs, own, keep_mask, training=training, first_place=begin, bias=bias
        )
        return self.self_attention_residual(states, attended, training=training)

    def _attend_cache(
        self, states: Tensor, step: Tensor, cache: Cache, bias: Tensor | None
    ) -> tuple[Tensor, Cache]:
        """Returns the states after self-attention, and the cache with their keys and values."""
        inputs = self.self_attention_residual.enter(states)
        keys, values = self.self_attention.project(inputs, first_place=step)
        cache = (write_cache(cache[0], keys, step), write_cache(cache[1], values, step))
        mask = places_seen(cache[0], step, ops.shape(states)[1])
        attended = self.self_attention.attend(
            inputs, cache, mask, training=False, first_place=step, bias=bias
        )
        return self.self_attention_residual(states, attended, training=False), cache

    def _finish(
        self,
        states: Tensor,
        cross: KeysValues | None,
        source_keep_mask: Tensor | None,
        training: bool | None,
    ) -> tuple[Tensor, Tensor | None]:
        """Returns the states after the other sub-layers, and the attention to the source."""
        weights = None
        if cross is not None:
            attended, weights = self._attend_source(
                self.cross_attention_residual.enter(states), cross, source_keep_mask, training
            )
            states = self.cross_attention_residual(states, attended, training=training)
        transformed = self.feed_forward(self.feed_forward_residual.enter(states), training=training)
        states = self.feed_forward_residual(states, transformed, training=training)
        return states, weights

    def _attend_source(
        self,
        states: Tensor,
        cross: KeysValues,
        source_keep_mask: Tensor | None,
        training: bool | None,
    ) -> tuple[Tensor, Tensor]:
        # The beams of a sentence become queries in one row, so that its keys are not copied.
        width = states.shape[-1]
        queries = ops.reshape(states, (ops.shape(cross[0])[0], -1, width))
        attended, weights = self.cross_attention.attend(
            queries, cross, source_keep_mask, return_weights=True, training=training
        )
        return ops.reshape(attended, (-1, ops.shape(states)[1], width)), weights
