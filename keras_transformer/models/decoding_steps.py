"""The decoder's steps with a cache, with or without attention to a source: the logits of the next
token.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from keras import ops

from keras_transformer.layers import Decoder, Embeddings, VocabularyHead
from keras_transformer.layers.attention import KeysValues
from keras_transformer.layers.decoder.block import Cache
from keras_transformer.layers.masks import target_padding_mask
from keras_transformer.tensors import Tensor

Head = Callable[[Tensor], Tensor]


class Source(NamedTuple):
    """What a decoder attends to of a batch of sources."""

    keep_mask: Tensor  # bool [B, S], True at tokens
    keys_values: list[KeysValues]  # of each block: [B, H, S, K] and [B, H, S, value_dim]


class DecodingSteps:
    """What models with a decoder inherit beside `WritingModel`: it runs on some tokens at a time.

    Attributes:
        config: The config that the model was built from.
        compute_dtype: The type that the model computes in.
        decoder_stack: The decoder's blocks.
        head: Maps states to logits.
    """

    config: Any
    compute_dtype: str
    decoder_stack: Decoder
    head: VocabularyHead

    @property
    def output_matrix(self) -> Tensor:
        """The head as `(vocabulary, model_dim)`, in the compute dtype; biases are a last column.

        A cap of logits is that of their products with `prediction_states`.
        """
        return ops.cast(self.head.matrix, self.compute_dtype)

    def decode_step(
        self,
        token_ids: Tensor,
        step: Tensor,
        caches: list[Cache],
        source: Source | None = None,
        head: Head | None = None,
    ) -> tuple[Tensor, list[Cache]]:
        """Runs the decoder on one token of every hypothesis.

        Args:
            token_ids: int32 `(rows,)`, the token at position `step`; rows = batch * beams.
            step: int32 scalar, tokens already in the caches.
            caches: For each block what `empty_caches` returns.
            source: What to attend to; None for a decoder alone.
            head: Maps states `(rows, tokens, model_dim)` to logits, in place of the model's own.

        Returns:
            Logits `(rows, vocabulary)` float32 and the caches with this position written.
        """
        states, caches = self._step(token_ids, step, caches, source)
        return ops.cast((head or self.head)(states)[:, 0], "float32"), caches

    def read_prefix(
        self,
        token_ids: Tensor,
        step: Tensor,
        caches: list[Cache],
        source: Source | None = None,
        labels: Tensor | None = None,
        head: Head | None = None,
    ) -> tuple[Tensor | None, list[Cache]]:
        """Runs the decoder on several given tokens of every row at once.

        Args:
            token_ids: int32 `(batch, length)`, the tokens from position `step` on.
            step: As for `decode_step`.
            caches: As for `decode_step`, with room for `step` + `length` positions.
            source: As for `decode_step`.
            labels: int32 `(batch, scored)`, what follows the first `scored` tokens; None if no
                scores are wanted.
            head: As for `decode_step`; `labels` are places among its logits.

        Returns:
            The labels' log-probabilities float32 `(batch, scored)`, None without labels, and the
            caches with these positions written.
        """
        states, caches = self._step(token_ids, step, caches, source)
        if labels is None:
            return None, caches
        return self._log_probabilities(states[:, : ops.shape(labels)[1]], labels, head), caches

    def align(
        self, target_ids: Tensor, labels: Tensor, source: Source, head: Head | None = None
    ) -> tuple[Tensor, Tensor]:
        """Scores given translations and returns each token's attention to the source.

        Args:
            target_ids: int32 `(batch, target_length)`, from the start token, padded on the right.
            labels: int32 `(batch, target_length)`, the token that follows each of them.
            source: As for `decode_step`.
            head: As for `read_prefix`.

        Returns:
            The labels' log-probabilities float32 `(batch, target_length)`, and the attention to
            the source at each position, the mean over all blocks and heads, `(batch,
            target_length, source_length)`.
        """
        keep = target_padding_mask(target_ids, self.config.special_ids)
        states = self._decoder_embeddings()(target_ids, keep)
        states, attention = self.decoder_stack.align(states, keep, *source)
        return self._log_probabilities(states, labels, head), ops.cast(attention, "float32")

    def empty_caches(self, rows: Tensor, cache_length: Tensor) -> list[Cache]:
        """Returns zeros for each block's keys and values.

        Their shape is `(rows, key_value_heads, cache_length, width)`; of a recurrence there is one
        state `(rows, model_dim)` instead, of an LSTM `(rows, 2 * model_dim)`.
        """
        shape = (rows, self.config.key_value_heads, cache_length)
        widths = (self.config.key_dim, self.config.value_dim)
        return [
            (block.recurrence.empty_state(rows),)
            if block.recurs
            else tuple(ops.zeros((*shape, width), self.compute_dtype) for width in widths)
            for block in self.decoder_stack.blocks
        ]

    def _decoder_embeddings(self) -> Embeddings:
        """Returns what embeds the decoder's input: no property, which a model's file would list."""
        raise NotImplementedError

    def _step(
        self, token_ids: Tensor, step: Tensor, caches: list[Cache], source: Source | None
    ) -> tuple[Tensor, list[Cache]]:
        keep_mask = None if source is None else source.keep_mask
        cross = [None] * len(caches) if source is None else source.keys_values
        states = self._decoder_embeddings().step(token_ids, step)
        return self.decoder_stack.step(states, step, keep_mask, cross, caches)

    def _log_probabilities(
        self, states: Tensor, labels: Tensor, head: Head | None = None
    ) -> Tensor:
        logits = ops.cast((head or self.head)(states), "float32")
        chosen = ops.take_along_axis(logits, labels[:, :, None], axis=-1)[:, :, 0]
        largest = ops.max(logits, axis=-1, keepdims=True)
        total = ops.sum(ops.exp(logits - largest), axis=-1)
        return chosen - largest[:, :, 0] - ops.log(total)
