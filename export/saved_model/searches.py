"""A model with the options of its search, as graph functions from rows of ids to hypotheses, scores
or encoder states. Each function is in the SavedModel once, whichever signatures call it.
"""

import dataclasses
from functools import partial
from typing import Any, NamedTuple

import tensorflow as tf

from keras_transformer.artefact.signatures import LOWEST
from keras_transformer.decoding.constraints import slots_in
from keras_transformer.decoding.hypotheses import Sentences, is_possible
from keras_transformer.decoding.parts import ROWS, SharedDecoder, SharedParts, SharedSteps, as_graph
from keras_transformer.decoding.scoring import align_ids
from keras_transformer.decoding.search import search
from keras_transformer.export.saved_model.id_rows import row_lengths, with_end
from keras_transformer.export.saved_model.texts.languages import RowLanguages
from keras_transformer.models.decoder_only import DecoderOnly
from keras_transformer.models.decoding_steps import Source
from keras_transformer.models.transformer import Transformer
from keras_transformer.search.distinct import as_many_as_kept
from keras_transformer.search.model_limits import ModelLimits
from keras_transformer.search.options import SearchOptions, length_penalty
from keras_transformer.tensors import Tensor


class Found(NamedTuple):
    """The N best hypotheses of each row, best first: all that the search keeps, if more than one is
    wanted, since some may have equal texts.

    A missing hypothesis has no tokens and the lowest finite number as its score. A source without a
    token has one hypothesis, which is empty and has score 0.
    """

    ids: Tensor  # int32 [B, N, max_length], without a prompt, bos and eos, padded
    scores: Tensor  # float32 [B, N]
    log_probabilities: Tensor  # float32 [B, N]

    def best(self, count: int) -> "Found":
        """Returns the first `count` of each row."""
        return Found(*(one[:, :count] for one in self))


class Searches:
    """The common functions of translators and of decoders alone, which have no source.

    All rows are int32 `(batch, length)`, without begin and end tokens and padded, as made by
    `id_rows.read_rows` or a tokenizer; the batch may be empty.

    Args:
        model: A model that computes in float32.
        parts: Its parts as functions of a graph.
        options: The search's options; no sampling.
        inputs: How many tensors of rows each function takes, of which the last has what a result
            begins with, or the results to be scored.
        longest: Most tokens of a result, its prompt included.

    Attributes:
        search: Takes rows; returns what is `Found`.
        search_with_options: As `search`, with a limit and a length penalty for each row behind the
            rows: int32 `(batch,)`, most tokens, eos included, brought into the range that the
            options allow; and float32 `(batch,)`, of which invalid values count as 0.
        score: Takes rows; returns score, log-probability and perplexity of each result, float32
            `(batch,)`.
    """

    def __init__(
        self,
        model: Transformer | DecoderOnly,
        parts: SharedDecoder,
        options: SearchOptions,
        *,
        inputs: int,
        longest: int,
    ) -> None:
        self.model = model
        self.options = options
        self.special_ids = model.config.special_ids
        self._kept = as_many_as_kept(options)
        self._longest = longest
        self._steps = SharedSteps(parts, self.special_ids)
        rows = [ROWS] * inputs
        numbers = (tf.TensorSpec((None,), dtype) for dtype in (tf.int32, tf.float32))
        self.search = as_graph(partial(self._search, self._kept), *rows)
        self.search_with_options = as_graph(self._search_with_options, *rows, *numbers)
        self.score = as_graph(self._score, *rows)

    def search_by(self, options: SearchOptions, *rows: Tensor) -> Found:
        """As `search`, which it calls if the options are its own."""
        return self.search(*rows) if options == self._kept else self._search(options, *rows)

    def _search_with_options(self, *inputs: Tensor) -> Found:
        *rows, max_length, exponent = inputs
        exponent = tf.where(tf.math.is_finite(exponent) & (exponent > 0), exponent, 0.0)
        return self._search(self._kept, *rows, max_length=max_length, exponent=exponent)

    def _search(
        self,
        options: SearchOptions,
        *rows: Tensor,
        max_length: Tensor | None = None,
        exponent: Tensor | None = None,
    ) -> Found:
        source, sentences = self._read(*rows, max_length=max_length)
        sentences = sentences._replace(length_penalties=exponent)
        options = dataclasses.replace(options, max_length=self._longest)
        advance = self._steps.advance(options, source, sentences)
        batch = tf.shape(rows[0])[0]
        found = search(self._steps.stepper(source), batch, options, sentences, advance)
        possible, missing = is_possible(found.scores), LOWEST
        tokens = possible[:, :, None] & (found.ids != self.special_ids.eos)
        ids = tf.where(tokens, found.ids, self.special_ids.pad)
        if sentences.skipped is not None:
            first = tf.range(options.num_hypotheses) == 0
            missing = tf.where(sentences.skipped[:, None] & first, 0.0, LOWEST)
        if sentences.prompt_lengths is not None:
            ids = self._new_ids(ids, sentences.prompt_lengths)
        return Found(
            ids=ids,
            scores=tf.where(possible, found.scores, missing),
            log_probabilities=tf.where(possible, found.log_probabilities, missing),
        )

    def _new_ids(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Returns what follows each prompt: int32 `(batch, N, max_length)`."""
        count = self.options.max_length
        wider = tf.pad(ids, [[0, 0], [0, 0], [0, count]], constant_values=self.special_ids.pad)
        return tf.gather(wider, lengths[:, None] + tf.range(count), axis=2, batch_dims=1)

    def _score(self, *inputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        *rows, results = inputs
        labels = with_end(results, self.special_ids)
        totals = self._log_probabilities(*rows, labels)
        lengths = tf.cast(row_lengths(labels, self.special_ids), tf.float32)
        score = totals / length_penalty(lengths, self.options, minimum=tf.minimum)
        return score, totals, tf.exp(-totals / lengths)

    def _read(
        self, *rows: Tensor, max_length: Tensor | None = None
    ) -> tuple[Source | None, Sentences]:
        """Returns the batch's sources, if there are any, and what differs from row to row."""
        raise NotImplementedError

    def _log_probabilities(self, *rows: Tensor) -> Tensor:
        """Returns that of each row of labels, the last of the rows: float32 `(batch,)`."""
        raise NotImplementedError


class Translation(Searches):
    """A translator's functions. Rows are the ids of sources, the marks before them, and the marks
    of translations, as made by `languages`, with what follows them.

    Args:
        model: A model that computes in float32.
        options: The search's options; no sampling.
        max_source_length: Most tokens of a source, marks and eos excluded.

    Attributes:
        languages: Makes the marks of rows.
        encoder_states: Takes the ids and marks of sources; returns states float32
            `(batch, length + 1, model_dim)` and their mask, eos included.
        max_target_length: Most tokens of a target that is scored, as of a source.
    """

    model: Transformer

    def __init__(self, model: Transformer, options: SearchOptions, max_source_length: int) -> None:
        self._parts = SharedParts(model)
        super().__init__(model, self._parts, options, inputs=3, longest=options.max_length)
        self.max_source_length = max_source_length
        self._limits = ModelLimits.of(model.config.to_dict(), model.config.special_ids)
        self.max_target_length = self._limits.longest_target(max_source_length)
        self.languages = RowLanguages(
            model.config.marks, options.source_language, options.target_language
        )
        self.encoder_states = as_graph(self._encoder_states, ROWS, ROWS)

    def _read(self, *rows: Tensor, max_length: Tensor | None = None) -> tuple[Source, Sentences]:
        source_ids, source_marks, begins = rows
        limits = prefixes = None
        if max_length is not None or self.options.max_length_ratio is not None:
            limits = self._most(source_ids)
        if max_length is not None:
            limits = tf.clip_by_value(max_length, self._limits.target_begins + 1, limits)
        if max_length is not None or self.languages.begins.target:
            kept = begins != self.special_ids.pad
            if limits is not None:  # Room for a token is left.
                kept &= tf.range(tf.shape(begins)[1]) < limits[:, None] - 1
            prefixes = _prefixes(begins, kept)
        empty = row_lengths(source_ids, self.special_ids) == 0
        source = self._parts.read_source(self._marked(source_ids, source_marks))
        slots = slots_in(source_ids, self.special_ids)
        return source, Sentences(limits=limits, prefixes=prefixes, skipped=empty, slots=slots)

    def _most(self, source_ids: Tensor) -> Tensor:
        """Returns the longest translation that the options allow each source, int32 `(batch,)`."""
        begins = self._limits.source_begins
        marked = range(begins + 1, begins + self.max_source_length + 2)
        table = [self._limits.longest_translation(self.options, length) for length in marked]
        return tf.gather(tf.constant(table, tf.int32), row_lengths(source_ids, self.special_ids))

    def _log_probabilities(self, *rows: Tensor) -> Tensor:
        *source, labels = rows
        return align_ids(self._parts, self._marked(*source), labels, self.special_ids)[0]

    def _encoder_states(self, *source: Tensor) -> tuple[Tensor, Tensor]:
        ids = self._marked(*source)
        mask = ids != self.special_ids.pad
        return tf.where(mask[:, :, None], self._parts.encoder_states(ids), 0.0), mask

    def _marked(self, source_ids: Tensor, source_marks: Tensor) -> Tensor:
        """Returns the rows as the encoder reads them; empty ones are nothing but their end."""
        if self.languages.begins.source:
            rows = tf.concat([source_marks, source_ids], axis=1)
            empty = row_lengths(source_ids, self.special_ids) == 0
            source_ids = tf.where(empty[:, None], self.special_ids.pad, rows)
        return with_end(source_ids, self.special_ids, self.model.config.source_ends)


class Generation(Searches):
    """A decoder's functions. Rows are prompts, or texts to be scored.

    Args:
        model: A model that computes in float32.
        options: The search's options; no sampling. Lengths count new tokens.
        max_prompt_length: Most tokens of a prompt.
        max_text_length: Most tokens of a text to be scored.
    """

    model: DecoderOnly

    def __init__(
        self,
        model: DecoderOnly,
        options: SearchOptions,
        max_prompt_length: int,
        max_text_length: int,
    ) -> None:
        longest = max_prompt_length + options.max_length
        longest = min(longest, model.config.max_positions or longest)
        super().__init__(model, SharedDecoder(model), options, inputs=1, longest=longest)
        self.max_prompt_length = max_prompt_length
        self.max_text_length = max_text_length

    def _read(self, *rows: Tensor, max_length: Tensor | None = None) -> tuple[None, Sentences]:
        [prompts] = rows
        starts = None
        if not self.model.config.starts_prompts:
            first, prompts = tf.pad(prompts, [[0, 0], [0, 1]])[:, 0], prompts[:, 1:]
            ids = self.special_ids
            starts = tf.where(row_lengths(rows[0], ids) > 0, first, ids.decoder_start)
        lengths, longest = row_lengths(prompts, self.special_ids), self.options.max_length
        new = longest if max_length is None else tf.clip_by_value(max_length, 1, longest)
        return None, Sentences(
            limits=tf.minimum(lengths + new, self._longest),
            prefixes=_prefixes(prompts, prompts != self.special_ids.pad),
            prompt_lengths=lengths,
            starts=starts,
        )

    def _log_probabilities(self, *rows: Tensor) -> Tensor:
        [labels] = rows
        start = tf.fill((tf.shape(labels)[0], 1), self.special_ids.decoder_start)
        token_ids = tf.concat([start, labels[:, :-1]], axis=1)
        logits = self.model({"token_ids": token_ids}, training=False)
        log_probs = tf.gather(tf.nn.log_softmax(logits), labels, axis=2, batch_dims=2)
        there = labels != self.special_ids.pad
        return tf.reduce_sum(tf.where(there, log_probs, 0.0), axis=1)


def _prefixes(ids: Tensor, kept: Tensor) -> Any:
    """Returns the ids that are kept, and -1 for others and in a column at the end, so that there is
    one even if no row has a prefix.
    """
    return tf.pad(tf.where(kept, ids, -1), [[0, 0], [0, 1]], constant_values=-1)
