"""The model's part of a translator's graph, from rows of source ids to hypotheses, scores or
encoder states. Each function is in the SavedModel once, whichever signatures call it.
"""

from functools import partial
from typing import NamedTuple

import tensorflow as tf

from keras_transformer.artefact.signatures import LOWEST
from keras_transformer.decoding.hypotheses import Sentences, is_possible
from keras_transformer.decoding.parts import ROWS, SharedParts, SharedSteps, as_graph
from keras_transformer.decoding.scoring import align_ids
from keras_transformer.decoding.search import search
from keras_transformer.export.saved_model.id_rows import row_lengths, with_end
from keras_transformer.export.saved_model.languages import RowLanguages
from keras_transformer.models.transformer import Transformer
from keras_transformer.search.distinct import as_many_as_kept
from keras_transformer.search.model_limits import ModelLimits
from keras_transformer.search.options import SearchOptions, length_penalty
from keras_transformer.tensors import Tensor


class Found(NamedTuple):
    """The N best hypotheses of each sentence, best first: all that the search keeps, if more than
    one is wanted, since some may have equal texts.

    A missing hypothesis has no tokens and the lowest finite number as its score. A source without a
    token has one hypothesis, which is empty and has score 0.
    """

    ids: Tensor  # int32 [B, N, max_length], without bos and eos, padded
    scores: Tensor  # float32 [B, N]
    log_probabilities: Tensor  # float32 [B, N]

    def best(self, count: int) -> "Found":
        """Returns the first `count` of each sentence."""
        return Found(*(one[:, :count] for one in self))


class Translation:
    """A model with the options of its search, as graph functions.

    All `source_ids` and `target_ids` are int32 `(batch, length)`, without begin and end tokens and
    padded, as made by `id_rows.read_rows` or a tokenizer; the batch may be empty. `source_marks`
    and `target_marks` are the ids before each row, as made by `languages`.

    Args:
        model: A model that computes in float32.
        options: The search's options; no sampling.
        max_source_length: Most tokens of a source, marks and eos excluded.

    Attributes:
        languages: Makes the marks of rows.
        max_target_length: Most tokens of a target that is scored, likewise.
    """

    def __init__(self, model: Transformer, options: SearchOptions, max_source_length: int) -> None:
        self.model = model
        self.options = options
        self._kept = as_many_as_kept(options)
        self.max_source_length = max_source_length
        self._limits = ModelLimits.of(model.config.to_dict(), model.config.special_ids)
        self.max_target_length = self._limits.longest_target(max_source_length)
        self.special_ids = model.config.special_ids
        self.languages = RowLanguages(
            model.config.marks, options.source_language, options.target_language
        )
        self._parts = SharedParts(model)
        self._steps = SharedSteps(self._parts, self.special_ids)
        numbers = (tf.TensorSpec((None,), dtype) for dtype in (tf.int32, tf.float32))
        marks = (ROWS, ROWS)
        self.search = as_graph(partial(self._search, self._kept), ROWS, *marks)
        self.search_with_options = as_graph(self._search_with_options, ROWS, *marks, *numbers, ROWS)
        self.score = as_graph(self._score, ROWS, *marks, ROWS)
        self.encoder_states = as_graph(self._encoder_states, ROWS, *marks)

    def search_by(self, options: SearchOptions, *rows: Tensor) -> Found:
        """As `search`, which it calls if the options are its own."""
        return self.search(*rows) if options == self._kept else self._search(options, *rows)

    def _search(
        self,
        options: SearchOptions,
        source_ids: Tensor,
        source_marks: Tensor,
        target_marks: Tensor,
    ) -> Found:
        """Searches with options that are the same for all sources."""
        limits = None
        if self.options.max_length_ratio is not None:
            limits = self._longest(source_ids)
        prefixes = None
        if self.languages.begins.target:
            prefixes = tf.pad(target_marks, [[0, 0], [0, 1]], constant_values=-1)
        sentences = Sentences(limits=limits, prefixes=prefixes)
        return self._find(options, source_ids, source_marks, sentences)

    def _search_with_options(
        self,
        source_ids: Tensor,
        source_marks: Tensor,
        target_marks: Tensor,
        max_length: Tensor,
        exponent: Tensor,
        prefixes: Tensor,
    ) -> Found:
        """Searches with a limit, length penalty and prefix for each sentence.

        Args:
            source_ids: int32 `(batch, length)`.
            source_marks: The ids before each source.
            target_marks: The ids before each target.
            max_length: int32 `(batch,)`, most tokens, eos included; brought into the range from
                one more than the marks to the options' `max_length`.
            exponent: float32 `(batch,)`, length penalty; invalid values count as 0.
            prefixes: int32 `(batch, prefix_length)`, padded; cut to leave room for a token.
        """
        least = self._limits.target_begins + 1
        limits = tf.clip_by_value(max_length, least, self._longest(source_ids))
        exponent = tf.where(tf.math.is_finite(exponent) & (exponent > 0), exponent, 0.0)
        prefixes = tf.concat([target_marks, prefixes], axis=1)
        places = tf.range(tf.shape(prefixes)[1])
        kept = (prefixes != self.special_ids.pad) & (places < limits[:, None] - 1)
        # A column of -1 at the end, so that there is one even if no sentence has a prefix.
        prefixes = tf.pad(tf.where(kept, prefixes, -1), [[0, 0], [0, 1]], constant_values=-1)
        sentences = Sentences(limits, exponent, prefixes=prefixes)
        return self._find(self._kept, source_ids, source_marks, sentences)

    def _score(
        self, source_ids: Tensor, source_marks: Tensor, target_marks: Tensor, target_ids: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Returns score and log-probability of each target, float32 `(batch,)`."""
        target_ids = tf.concat([target_marks, target_ids], axis=1)
        sources = self._marked(source_ids, source_marks)
        labels = with_end(target_ids, self.special_ids)
        totals, _ = align_ids(self._parts, sources, labels, self.special_ids)
        lengths = tf.cast(row_lengths(target_ids, self.special_ids) + 1, tf.float32)
        return totals / length_penalty(lengths, self.options, minimum=tf.minimum), totals

    def _encoder_states(
        self, source_ids: Tensor, source_marks: Tensor, target_marks: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Returns states float32 `(batch, length + 1, model_dim)` and their mask, eos included."""
        ids = self._marked(source_ids, source_marks)
        mask = ids != self.special_ids.pad
        states = self._parts.encoder_states(ids)
        return tf.where(mask[:, :, None], states, 0.0), mask

    def _longest(self, source_ids: Tensor) -> Tensor:
        """Returns the longest translation that the options allow each source, int32 `(batch,)`."""
        begins = self._limits.source_begins
        marked = range(begins + 1, begins + self.max_source_length + 2)
        table = [self._limits.longest_translation(self.options, length) for length in marked]
        return tf.gather(tf.constant(table, tf.int32), row_lengths(source_ids, self.special_ids))

    def _find(
        self,
        options: SearchOptions,
        source_ids: Tensor,
        source_marks: Tensor,
        sentences: Sentences,
    ) -> Found:
        empty = row_lengths(source_ids, self.special_ids) == 0
        ended = self._marked(source_ids, source_marks)
        source, batch = self._parts.read_source(ended), tf.shape(source_ids)[0]
        sentences = sentences._replace(skipped=empty)
        advance = self._steps.advance(options, source, sentences)
        found = search(self._steps.stepper(source), batch, options, sentences, advance)
        possible = is_possible(found.scores)
        first = tf.range(options.num_hypotheses) == 0
        missing = tf.where(empty[:, None] & first, 0.0, LOWEST)
        tokens = possible[:, :, None] & (found.ids != self.special_ids.eos)
        return Found(
            ids=tf.where(tokens, found.ids, self.special_ids.pad),
            scores=tf.where(possible, found.scores, missing),
            log_probabilities=tf.where(possible, found.log_probabilities, missing),
        )

    def _marked(self, source_ids: Tensor, source_marks: Tensor) -> Tensor:
        """Returns the rows as the encoder reads them; empty ones are nothing but their end."""
        if self.languages.begins.source:
            rows = tf.concat([source_marks, source_ids], axis=1)
            empty = row_lengths(source_ids, self.special_ids) == 0
            source_ids = tf.where(empty[:, None], self.special_ids.pad, rows)
        return with_end(source_ids, self.special_ids, self.model.config.source_ends)
