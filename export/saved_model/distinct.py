"""Keeps of several hypotheses of one source those whose texts differ, in a graph, as
`search.distinct` does outside.
"""

import tensorflow as tf

from keras_transformer.artefact.signatures import LOWEST
from keras_transformer.tensors import Tensor

from .translation import Found


def distinct(texts: Tensor, found: Found, count: int) -> tuple[Tensor, Found]:
    """Returns the best hypotheses whose texts differ, and behind them missing ones.

    Args:
        texts: string `(batch, N)`, the text of each hypothesis, best first.
        found: The hypotheses.
        count: How many to return, at most N.

    Returns:
        The texts `(batch, count)`, "" for missing ones, and the hypotheses.
    """
    same = texts[:, :, None] == texts[:, None, :]
    is_before = tf.range(texts.shape[1])[None, :] < tf.range(texts.shape[1])[:, None]
    repeats = tf.reduce_any(same & is_before, axis=2)
    order = tf.argsort(tf.cast(repeats, tf.int32), axis=1, stable=True)[:, :count]
    ids, scores, totals, texts, repeats = (
        tf.gather(one, order, axis=1, batch_dims=1) for one in (*found, texts, repeats)
    )
    return tf.where(repeats, "", texts), Found(
        ids, tf.where(repeats, LOWEST, scores), tf.where(repeats, LOWEST, totals)
    )
