"""The encoder-decoder's decode step with a cache: the logits of the next token."""

from collections.abc import Callable

from keras import ops

from keras_transformer.layers import Decoder, Embeddings, VocabularyHead
from keras_transformer.layers.attention import KeysValues
from keras_transformer.layers.decoder.block import Cache
from keras_transformer.layers.masks import target_padding_mask
from keras_transformer.models.generating import TranslatingModel
from keras_transformer.tensors import Tensor

Head = Callable[[Tensor], Tensor]


class DecodingSteps(TranslatingModel):
    """The base of the encoder-decoder, whose parts it runs on some tokens at a time."""

    target_embeddings: Embeddings
    decoder_stack: Decoder
    head: VocabularyHead

    def source_keys_values(self, source_ids: Tensor) -> list[KeysValues]:
        """Runs the encoder and projects its states for every decoder block.

        Args:
            source_ids: int32 `(batch, source_length)`.

        Returns:
            For each block keys `(batch, heads, source_length, key_dim)` and values
            `(batch, heads, source_length, value_dim)`.
        """
        return self.decoder_stack.project(self._states_of_source(source_ids, training=False))

    def decode_step(
        self,
        target_ids: Tensor,
        step: Tensor,
        source_keep_mask: Tensor,
        cross: list[KeysValues],
        caches: list[Cache],
        head: Head | None = None,
    ) -> tuple[Tensor, list[Cache]]:
        """Runs the decoder on one token of every hypothesis.

        Args:
            target_ids: int32 `(rows,)`, the token at position `step`; rows = batch * beams.
            step: int32 scalar, tokens already in the caches.
            source_keep_mask: Boolean `(batch, source_length)`.
            cross: `source_keys_values`'s result.
            caches: For each block what `empty_caches` returns.
            head: Maps states `(rows, tokens, model_dim)` to logits, in place of the model's own.

        Returns:
            Logits `(rows, vocabulary)` float32 and the caches with this position written.
        """
        states = self.target_embeddings.step(target_ids, step)
        states, caches = self.decoder_stack.step(states, step, source_keep_mask, cross, caches)
        logits = (head or self.head)(states)[:, 0]
        return ops.cast(logits, "float32"), caches

    def read_prefix(
        self,
        target_ids: Tensor,
        labels: Tensor,
        step: Tensor,
        source_keep_mask: Tensor,
        cross: list[KeysValues],
        caches: list[Cache],
        head: Head | None = None,
    ) -> tuple[Tensor, list[Cache]]:
        """Runs the decoder on several given tokens of every sentence at once.

        Args:
            target_ids: int32 `(batch, length)`, the tokens from position `step` on.
            labels: int32 `(batch, scored)`, what follows the first `scored` of them.
            step: As for `decode_step`.
            source_keep_mask: Boolean `(batch, source_length)`.
            cross: As for `decode_step`.
            caches: As for `decode_step`, with room for `step` + `length` positions.
            head: As for `decode_step`; `labels` are places among its logits.

        Returns:
            The labels' log-probabilities float32 `(batch, scored)` and the caches with these
            positions written.
        """
        states = self.target_embeddings.step(target_ids, step)
        states, caches = self.decoder_stack.step(states, step, source_keep_mask, cross, caches)
        scored = states[:, : ops.shape(labels)[1]]
        return self._log_probabilities(scored, labels, head), caches

    def align(
        self,
        target_ids: Tensor,
        labels: Tensor,
        source_keep_mask: Tensor,
        cross: list[KeysValues],
        head: Head | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Scores given translations and returns each token's attention to the source.

        Args:
            target_ids: int32 `(batch, target_length)`, from the start token, padded on the right.
            labels: int32 `(batch, target_length)`, the token that follows each of them.
            source_keep_mask: Boolean `(batch, source_length)`.
            cross: `source_keys_values`'s result.
            head: As for `read_prefix`.

        Returns:
            The labels' log-probabilities float32 `(batch, target_length)`, and the attention to
            the source at each position, the mean over all blocks and heads, `(batch,
            target_length, source_length)`.
        """
        keep = target_padding_mask(target_ids, self.config.special_ids)
        states = self.target_embeddings(target_ids, keep)
        states, attention = self.decoder_stack.align(states, keep, source_keep_mask, cross)
        return self._log_probabilities(states, labels, head), ops.cast(attention, "float32")

    def empty_caches(self, rows: Tensor, cache_length: Tensor) -> list[Cache]:
        """Returns zeros for each block's keys and values.

        Their shape is `(rows, key_value_heads, cache_length, width)`; of a recurrence there is one
        state `(rows, model_dim)` instead.
        """
        if self.config.decoder_recurrence is not None:
            state = (rows, self.config.model_dim)
            return [
                (ops.zeros(state, block.ssru.state_dtype),) for block in self.decoder_stack.blocks
            ]
        shape = (rows, self.config.key_value_heads, cache_length)
        dtype = self.compute_dtype
        return [
            (
                ops.zeros((*shape, self.config.key_dim), dtype),
                ops.zeros((*shape, self.config.value_dim), dtype),
            )
            for _ in range(self.config.num_decoder_layers)
        ]

    def _log_probabilities(
        self, states: Tensor, labels: Tensor, head: Head | None = None
    ) -> Tensor:
        logits = ops.cast((head or self.head)(states), "float32")
        chosen = ops.take_along_axis(logits, labels[:, :, None], axis=-1)[:, :, 0]
        largest = ops.max(logits, axis=-1, keepdims=True)
        total = ops.sum(ops.exp(logits - largest), axis=-1)
        return chosen - largest[:, :, 0] - ops.log(total)

    def _states_of_source(self, source_ids: Tensor, training: bool | None = None) -> Tensor:
        """Returns the encoder's states of sources."""
        raise NotImplementedError
