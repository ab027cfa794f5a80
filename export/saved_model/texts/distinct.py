"""Keeps of several hypotheses of one source those whose texts differ, and fills up with those of
wider searches, in a graph, as `search.distinct` does outside.
"""

from collections.abc import Callable
from functools import partial
from typing import Protocol

import tensorflow as tf

from keras_transformer.artefact.signatures import LOWEST
from keras_transformer.export.saved_model.searches import Found
from keras_transformer.search.distinct import as_many_as_kept, wider_searches
from keras_transformer.search.options import SearchOptions
from keras_transformer.tensors import Tensor

# The texts of hypotheses, string `(rows, N)`, best first, and "" for missing ones; and the rest.
TextsFound = tuple[Tensor, Found]


class SearchAgain(Protocol):
    """Takes places of sources int32 `(rows,)`; returns the hypotheses of each."""

    def __call__(self, places: Tensor, options: SearchOptions) -> TextsFound:
        """Searches with these options."""
        ...


def distinct(texts: Tensor, found: Found, count: int) -> TextsFound:
    """Returns the best hypotheses whose texts differ, and behind them missing ones.

    Args:
        texts: string `(batch, N)`, the text of each hypothesis; of equal ones the first stays.
        found: The hypotheses.
        count: How many to return, at most N.

    Returns:
        The texts `(batch, count)`, "" for missing ones, and the hypotheses.
    """
    there, places = found.scores > LOWEST, tf.range(texts.shape[1])
    same = (texts[:, :, None] == texts[:, None, :]) & there[:, None, :]
    is_before = places[None, :] < places[:, None]
    kept = there & ~tf.reduce_any(same & is_before, axis=2)
    scores = tf.where(kept, found.scores, LOWEST)
    order = tf.argsort(scores, axis=1, direction="DESCENDING", stable=True)[:, :count]
    totals = tf.where(kept, found.log_probabilities, LOWEST)
    ids, scores, totals, texts, kept = (
        tf.gather(one, order, axis=1, batch_dims=1)
        for one in (found.ids, scores, totals, texts, kept)
    )
    return tf.where(kept, texts, ""), Found(ids, scores, totals)


def filled_up(search: SearchAgain, batch: Tensor, options: SearchOptions) -> TextsFound:
    """Searches, keeps of each source `num_hypotheses` whose texts differ, and where texts repeat
    fills up with those of wider searches.

    Args:
        search: Searches; at first with `as_many_as_kept`.
        batch: Number of sources.
        options: The options of the search.

    Returns:
        The texts and hypotheses of each source. There is no bound by memory.
    """
    texts, found = search(tf.range(batch), as_many_as_kept(options))
    # Where fewer were found than kept, there are no more.
    all_kept = tf.reduce_all(found.scores > LOWEST, axis=1)
    chosen = distinct(texts, found, options.num_hypotheses)
    for wider in wider_searches(options):
        is_short = all_kept & (chosen[1].scores[:, -1] <= LOWEST)
        chosen = _with_more(chosen, is_short, partial(search, options=wider))
    return chosen


def _with_more(
    chosen: TextsFound, is_short: Tensor, search: Callable[[Tensor], TextsFound]
) -> TextsFound:
    """Returns the hypotheses, with those that a wider search adds for some sources, bool
    `(batch,)`.
    """

    def filled() -> TextsFound:
        short = tf.cast(tf.where(is_short)[:, 0], tf.int32)
        texts, (ids, scores, totals) = tf.nest.map_structure(
            lambda one: tf.gather(one, short), chosen
        )
        more_texts, more = search(short)
        # The best stays, as it is the answer of every signature.
        added = tf.where(more.scores <= scores[:, :1], more.scores, LOWEST)
        pairs = (ids, more.ids), (scores, added), (totals, more.log_probabilities)
        joined = Found(*(tf.concat(pair, axis=1) for pair in pairs))
        merged = distinct(tf.concat([texts, more_texts], axis=1), joined, texts.shape[1])
        return tf.nest.map_structure(
            lambda old, new: tf.tensor_scatter_nd_update(old, short[:, None], new), chosen, merged
        )

    return tf.cond(tf.reduce_any(is_short), filled, lambda: chosen)
