"""The model's part of a generator's graph, from rows of ids to continuations or scores. Each
function is in the SavedModel once, whichever signatures call it.
"""

import dataclasses
from functools import partial

import tensorflow as tf

from keras_transformer.artefact.signatures import LOWEST
from keras_transformer.decoding.hypotheses import Sentences, is_possible
from keras_transformer.decoding.parts import ROWS, SharedDecoder, SharedSteps, as_graph
from keras_transformer.decoding.search import search
from keras_transformer.export.saved_model.id_rows import row_lengths, with_end
from keras_transformer.export.saved_model.translation import Found
from keras_transformer.models.decoder_only import DecoderOnly
from keras_transformer.search.distinct import as_many_as_kept
from keras_transformer.search.options import SearchOptions, length_penalty
from keras_transformer.tensors import Tensor


class Generation:
    """A decoder with the options of its search, as graph functions.

    All ids are int32 `(batch, length)`, without begin and end tokens and padded, as made by
    `id_rows.read_rows` or a tokenizer; the batch may be empty. What is found are the new tokens
    alone, and scores are theirs.

    Args:
        model: A model that computes in float32.
        options: The search's options; no sampling. Lengths count new tokens.
        max_prompt_length: Most tokens of a prompt.
        max_text_length: Most tokens of a text to be scored.
    """

    def __init__(
        self,
        model: DecoderOnly,
        options: SearchOptions,
        max_prompt_length: int,
        max_text_length: int,
    ) -> None:
        self.model = model
        self.options = options
        self._kept = as_many_as_kept(options)
        self.max_prompt_length = max_prompt_length
        self.max_text_length = max_text_length
        self.special_ids = model.config.special_ids
        self._steps = SharedSteps(SharedDecoder(model), self.special_ids)
        numbers = (tf.TensorSpec((None,), dtype) for dtype in (tf.int32, tf.float32))
        self.search = as_graph(partial(self._search, self._kept), ROWS)
        self.search_with_options = as_graph(self._search_with_options, ROWS, *numbers)
        self.score = as_graph(self._score, ROWS)

    def search_by(self, options: SearchOptions, prompts: Tensor) -> Found:
        """As `search`, which it calls if the options are its own."""
        return self.search(prompts) if options == self._kept else self._search(options, prompts)

    def _search(self, options: SearchOptions, prompts: Tensor) -> Found:
        """Searches with options that are the same for all prompts."""
        longest = tf.fill(tf.shape(prompts)[:1], self.options.max_length)
        return self._find(options, prompts, longest, None)

    def _search_with_options(self, prompts: Tensor, max_length: Tensor, exponent: Tensor) -> Found:
        """Searches with a limit and a length penalty for each prompt.

        Args:
            prompts: int32 `(batch, length)`, padded at the end.
            max_length: int32 `(batch,)`, most new tokens, eos included; brought into the range
                from 1 to the options' `max_length`.
            exponent: float32 `(batch,)`, length penalty; invalid values count as 0.
        """
        longest = tf.clip_by_value(max_length, 1, self.options.max_length)
        exponent = tf.where(tf.math.is_finite(exponent) & (exponent > 0), exponent, 0.0)
        return self._find(self._kept, prompts, longest, exponent)

    def _score(self, token_ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Returns score, log-probability and perplexity of each text, float32 `(batch,)`."""
        labels = with_end(token_ids, self.special_ids)
        start = tf.fill((tf.shape(labels)[0], 1), self.special_ids.decoder_start)
        rows = tf.concat([start, labels[:, :-1]], axis=1)
        logits = self.model({"token_ids": rows}, training=False)
        log_probs = tf.gather(tf.nn.log_softmax(logits), labels, axis=2, batch_dims=2)
        there = labels != self.special_ids.pad
        totals = tf.reduce_sum(tf.where(there, log_probs, 0.0), axis=1)
        lengths = tf.cast(row_lengths(labels, self.special_ids), tf.float32)
        score = totals / length_penalty(lengths, self.options, minimum=tf.minimum)
        return score, totals, tf.exp(-totals / lengths)

    def _find(
        self, options: SearchOptions, prompts: Tensor, longest: Tensor, exponent: Tensor | None
    ) -> Found:
        lengths = row_lengths(prompts, self.special_ids)
        positions = self.model.config.max_positions
        most = self.max_prompt_length + self.options.max_length
        limits = lengths + longest
        if positions is not None:
            most, limits = min(most, positions), tf.minimum(limits, positions)
        prefixes = tf.where(prompts == self.special_ids.pad, -1, prompts)
        sentences = Sentences(
            limits=limits,
            length_penalties=exponent,
            # A column of -1 at the end, so that there is one even if every prompt is empty.
            prefixes=tf.pad(prefixes, [[0, 0], [0, 1]], constant_values=-1),
            prompt_lengths=lengths,
        )
        options = dataclasses.replace(options, max_length=most)
        steps, advance = self._steps.stepper(), self._steps.advance(options, None, sentences)
        found = search(steps, tf.shape(prompts)[0], options, sentences, advance)
        possible = is_possible(found.scores)
        ids = self._new_ids(found.ids, lengths)
        tokens = possible[:, :, None] & (ids != self.special_ids.eos)
        return Found(
            ids=tf.where(tokens, ids, self.special_ids.pad),
            scores=tf.where(possible, found.scores, LOWEST),
            log_probabilities=tf.where(possible, found.log_probabilities, LOWEST),
        )

    def _new_ids(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Returns what follows each prompt: int32 `(batch, N, max_length)`."""
        count = self.options.max_length
        wider = tf.pad(ids, [[0, 0], [0, 0], [0, count]], constant_values=self.special_ids.pad)
        return tf.gather(wider, lengths[:, None] + tf.range(count), axis=2, batch_dims=1)
