"""The model's part of an encoder's graph, from rows of ids to states, vectors and what the head
says. Each function is in the SavedModel once, whichever signatures call it.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from keras_transformer.artefact.signatures import LOWEST
from keras_transformer.config.encoder_only import NEXT_SENTENCE_LABELS
from keras_transformer.decoding.parts import ROWS, shared
from keras_transformer.export.saved_model.encoder.fillings import Fillings, fill_masks
from keras_transformer.export.saved_model.id_rows import row_lengths, with_end
from keras_transformer.layers.heads.text_vector import pooled_states, unit_vectors
from keras_transformer.layers.masks import padding_mask
from keras_transformer.models.encoder_only import EncoderOnly
from keras_transformer.tensors import Tensor


class Read(NamedTuple):
    """Rows as the model has read them."""

    token_ids: Tensor  # int32 [B, T], begin and end tokens included
    keep: Tensor  # bool [B, T]
    states: Tensor  # float32 [B, T, D]


class BestSpan(NamedTuple):
    """The best span of each row; 0 to -1, with score 0, in a text without a token."""

    first: Tensor  # int32 [B], its first token, counted in the second text
    last: Tensor  # int32 [B], its last token
    score: Tensor  # float32 [B], the sum of both logits


class EncoderAnswers:
    """An encoder with its head, as graph functions.

    All ids are int32 `(batch, length)`, without begin and end tokens and padded, as made by
    `id_rows.read_rows` or a tokenizer; the batch may be empty.

    Args:
        model: A model that computes in float32.
        num_hypotheses: Fillings of each text, if the head fills in masks.
        word_beginnings: Whether each id begins a word; read if the model has `crf`.
    """

    def __init__(
        self, model: EncoderOnly, num_hypotheses: int, word_beginnings: Sequence[bool] = ()
    ) -> None:
        self.model = model
        self.special_ids = model.config.special_ids
        self.num_hypotheses = num_hypotheses
        self.word_beginnings = list(word_beginnings)
        has_types = model.config.num_token_types > 1

        def states(token_ids: Tensor, token_type_ids: Tensor) -> Tensor:
            types = {"token_type_ids": token_type_ids} if has_types else {}
            return model.encoder({"token_ids": token_ids, **types}, training=False)

        self._states = shared(states, ROWS, ROWS)

    def read(self, ids: Tensor) -> Read:
        """Runs the encoder on one text a row."""
        row = self._begun(with_end(ids, self.special_ids, self.special_ids.row_ends))
        return self._read(row, tf.zeros_like(row))

    def read_pairs(self, first: Tensor, second: Tensor) -> tuple[Read, Tensor]:
        """Runs the encoder on two texts a row.

        Returns:
            The rows, and the place of each one's second text, int32 `(batch,)`.
        """
        pad, count = self.special_ids.pad, self.model.config.pair_separators
        between = [self.special_ids.eos] * count
        begun = with_end(self._begun(first), self.special_ids, between)
        texts = [begun, with_end(second, self.special_ids, self.special_ids.row_ends)]
        parts = [tf.ragged.boolean_mask(text, text != pad) for text in texts]
        row = tf.concat(parts, axis=1).to_tensor(pad)
        starts = row_lengths(texts[0], self.special_ids)
        behind = (tf.range(tf.shape(row)[1]) >= starts[:, None]) & (count == 1)
        return self._read(row, tf.cast(behind & (row != pad), tf.int32)), starts

    def vectors(self, read: Read) -> Tensor:
        """Returns one vector for each row, float32 `(batch, vector_dim)`."""
        config = self.model.config
        found = pooled_states(read.states, read.keep, config.pooling)
        if config.dense:
            found = self.model.head(found)
        return unit_vectors(found) if config.unit_vectors else found

    def pooled(self, read: Read) -> Tensor:
        """Returns what heads of whole texts read, float32 `(batch, model_dim)`."""
        return self.model.pooled(read.states, read.keep)

    def class_probabilities(self, read: Read) -> Tensor:
        """Returns the probability of each label, float32 `(batch, labels)`."""
        logits = self.model.head(self.pooled(read), training=False)
        return tf.sigmoid(logits) if self.model.config.multi_label else tf.nn.softmax(logits)

    def follows(self, read: Read) -> Tensor:
        """Returns the probability that the second text follows the first, float32 `(batch,)`."""
        head: Any = self.model.next_sentence
        logits = head(self.pooled(read), training=False)
        return tf.nn.softmax(logits)[:, NEXT_SENTENCE_LABELS.index("next")]

    def values(self, read: Read) -> Tensor:
        """Returns the number of a regression, float32 `(batch,)`."""
        return self.model.head(self.pooled(read), training=False)[:, 0]

    def best_tags(self, read: Read) -> tuple[Tensor, Tensor]:
        """Returns the number of each token's label, int32 `(batch, length)`, and its probability.

        The tokens are those of `read.token_ids`. With `crf` a word has the label of its first token
        throughout.
        """
        logits = self.model.head(read.states, training=False)
        if not self.model.config.crf:
            shares = tf.nn.softmax(logits)
            tags = tf.argmax(shares, axis=2, output_type=tf.int32)
        else:
            chain, begins = self.model.head.chain, self._begins_word(read.token_ids)
            tags, shares = chain(logits, begins), chain.marginals(logits, begins)
        return tags, tf.gather(shares, tags, batch_dims=2)

    def _begins_word(self, token_ids: Tensor) -> Tensor:
        """Returns which tokens of text are the first of a word: boolean `(batch, length)`."""
        special = self.special_ids.without_text
        is_text = tf.constant([token not in special for token in range(len(self.word_beginnings))])
        is_first = tf.range(tf.shape(token_ids)[1]) == int(self.special_ids.bos is not None)
        begins = tf.gather(tf.constant(self.word_beginnings), token_ids) | is_first
        return begins & tf.gather(is_text, token_ids)

    def best_span(self, read: Read, starts: Tensor) -> BestSpan:
        """Finds the best span of each row's second text, which begins at `starts`."""
        logits = self.model.head(read.states, training=False)
        lengths = row_lengths(read.token_ids, self.special_ids)
        places = tf.range(tf.shape(logits)[1])
        # Behind the text are end tokens.
        ends = lengths - len(self.special_ids.row_ends)
        inside = (places >= starts[:, None]) & (places < ends[:, None])
        allowed = (places[:, None] <= places) & inside[:, :, None] & inside[:, None, :]
        totals = tf.where(allowed, logits[:, :, None, 0] + logits[:, None, :, 1], LOWEST)
        batch, width = tf.shape(totals)[0], tf.shape(totals)[1]
        # A column at the end, so that there is one even in an empty batch.
        flat = tf.reshape(totals, (batch, width * width))
        flat = tf.pad(flat, [[0, 0], [0, 1]], constant_values=LOWEST)
        best = tf.argmax(flat, axis=1, output_type=tf.int32)
        there = tf.reduce_any(inside, axis=1)
        return BestSpan(
            first=tf.where(there, best // width - starts, 0),
            last=tf.where(there, best % width - starts, -1),
            score=tf.where(there, tf.reduce_max(flat, axis=1), 0.0),
        )

    def fillings(self, ids: Tensor) -> Fillings:
        """Fills in each row's masks; `fillings.fill_masks` says how."""
        read = self.read(ids)
        return fill_masks(
            self.model.head,
            read.token_ids,
            read.states,
            self.special_ids,
            num_hypotheses=self.num_hypotheses,
            vocab_size=self.model.config.vocab_size,
        )

    def _begun(self, ids: Tensor) -> Tensor:
        """Puts the begin token, if there is one, before each row."""
        if self.special_ids.bos is None:
            return ids
        return tf.pad(ids, [[0, 0], [1, 0]], constant_values=self.special_ids.bos)

    def _read(self, row: Tensor, types: Tensor) -> Read:
        if self.special_ids.cls is not None:
            types = tf.where(row == self.special_ids.cls, 2, types)
        return Read(row, padding_mask(row, self.special_ids.pad), self._states(row, types))
