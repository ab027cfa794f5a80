"""The end of a decode step: logits come in, the most probable tokens of each row leave, so that no
row of the vocabulary's width has to. Standard ONNX operators only, for every target.
"""

import math

import tensorflow as tf

from keras_transformer.export.onnx.graphs.operators import onnx_operator

# Below this a plain TopK is as fast.
_SMALLEST_DIVIDED = 512


def best_continuations(
    logits: tf.Tensor, vocabulary: int, count: tf.Tensor, totals: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Selects the best continuations of each sentence, exactly.

    Of equal ones of a beam the lowest id comes first, of equal ones of several the lowest beam.

    Args:
        logits: float32 `(rows, vocabulary)`.
        vocabulary: Their width.
        count: int64 `(1,)`, how many; fewer leave where there are fewer.
        totals: float32 `(batch, beams)`, log-probability of each row so far, in nats.

    Returns:
        int32 ids, float32 values and int32 beams, all `(batch, count)`, best first: the value is
        the log-probability of the beam continued by the id.
    """
    ids = _best_tokens(logits, vocabulary, count)
    return _rank_beams(log_probabilities(logits, ids), ids, totals, count)


def log_probabilities(logits: tf.Tensor, ids: tf.Tensor) -> tf.Tensor:
    """Returns the log-probabilities of some tokens of each row: float32, shaped as `ids`."""
    # One operator: written out, it would take half as long again.
    [everyone] = onnx_operator("LogSoftmax", [logits], [(tf.float32, logits.shape)], axis=1)
    [chosen] = onnx_operator("GatherElements", [everyone, ids], [(tf.float32, ids.shape)], axis=1)
    return chosen


def best_token(logits: tf.Tensor, vocabulary: int) -> tf.Tensor:
    """Selects the id of the largest logit of each row, the lowest of equal ones: int32 `(rows,)`.

    Looks for it only in the block of the largest maximum, as ArgMax is slow over long rows.
    """
    width = block_width(vocabulary)
    if width == vocabulary:
        return tf.cast(arg_max(logits), tf.int32)
    blocks, maxima = _block_maxima(logits, vocabulary, width)
    best = arg_max(maxima, keepdims=1)
    [chosen] = onnx_operator(
        "GatherND", [blocks, best], [(tf.float32, (None, width))], batch_dims=1
    )
    first, last = best[:, 0] * width, (vocabulary // width - 1) * width
    if not vocabulary % width:
        return tf.cast(first + arg_max(chosen), tf.int32)
    # What the blocks leave over stands behind the chosen one, as if it were the last's end.
    place = arg_max(tf.concat([chosen, logits[:, last + width :]], axis=1))
    return tf.cast(place + tf.where(place < width, first, last), tf.int32)


def _best_tokens(logits: tf.Tensor, vocabulary: int, count: tf.Tensor) -> tf.Tensor:
    """Selects the ids of the largest logits of each row, largest first: int64 `(rows, count)`."""
    count = tf.minimum(count, vocabulary)
    width = block_width(vocabulary)
    if width == vocabulary:
        return top_k(logits, count)[1]
    return _top_k_by_blocks(logits, vocabulary, width, count)


def _rank_beams(
    log_probs: tf.Tensor, ids: tf.Tensor, totals: tf.Tensor, count: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Ranks the continuations of all beams of a sentence together."""
    flat = tf.stack([tf.shape(totals)[0], -1])
    extended = tf.reshape(log_probs + tf.reshape(totals, (-1, 1)), flat)
    in_sentence = tf.shape(extended, tf.int64)[1]
    values, places = top_k(extended, tf.minimum(count, in_sentence))
    [best] = onnx_operator(
        "GatherElements", [tf.reshape(ids, flat), places], [(tf.int64, (None, None))], axis=1
    )
    return (
        tf.cast(best, tf.int32),
        values,
        tf.cast(places // tf.shape(log_probs, tf.int64)[1], tf.int32),
    )


def block_width(vocabulary: int) -> int:
    """Returns the width of the blocks that a row is searched by; `vocabulary` where undivided.

    The nearest to the root among those that leave the smallest remainder.
    """
    if vocabulary < _SMALLEST_DIVIDED:
        return vocabulary
    root = math.isqrt(vocabulary)
    return min(
        range(root // 2, 2 * root), key=lambda width: (vocabulary % width, abs(width - root))
    )


def _top_k_by_blocks(logits: tf.Tensor, vocabulary: int, width: int, count: tf.Tensor) -> tf.Tensor:
    """Looks for the best only in the `count` blocks of largest maximum, which must hold them.

    The chosen blocks keep their order, so that ties are settled by id.
    """
    number = vocabulary // width
    blocks, maxima = _block_maxima(logits, vocabulary, width)
    taken = tf.minimum(count, number)
    _, best = top_k(maxima, taken)
    best, _ = onnx_operator(
        "TopK", [best, taken], [(tf.int64, (None, None)), (tf.int64, (None, None))], largest=0
    )
    [places] = onnx_operator(
        "Unsqueeze", [best, tf.constant([2], tf.int64)], [(tf.int64, (None, None, 1))]
    )
    [chosen] = onnx_operator(
        "GatherND", [blocks, places], [(tf.float32, (None, None, width))], batch_dims=1
    )
    chosen = _keep_rows(chosen)
    if vocabulary % width:
        chosen = tf.concat([chosen, logits[:, number * width :]], axis=1)
        tail = tf.fill(tf.stack([tf.shape(best)[0], 1]), tf.cast(number, tf.int64))
        best = tf.concat([best, tail], axis=1)
    _, places = top_k(chosen, count)
    [block] = onnx_operator(
        "GatherElements", [best, places // width], [(tf.int64, (None, None))], axis=1
    )
    return block * width + places % width


def _block_maxima(logits: tf.Tensor, vocabulary: int, width: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Divides rows into whole blocks `(rows, blocks, width)`; gives the maxima of these, too."""
    number = vocabulary // width
    whole = logits[:, : number * width] if vocabulary % width else logits
    blocks = tf.reshape(whole, (-1, number, width))
    [maxima] = onnx_operator(
        "ReduceMax",
        [blocks, tf.constant([2], tf.int64)],
        [(tf.float32, (None, number))],
        keepdims=0,
    )
    return blocks, maxima


def arg_max(values: tf.Tensor, keepdims: int = 0) -> tf.Tensor:
    """Returns the place of the largest value of each row, the first of equal ones, as int64."""
    shape = (None, 1) if keepdims else (None,)
    [places] = onnx_operator("ArgMax", [values], [(tf.int64, shape)], axis=1, keepdims=keepdims)
    return places


def _keep_rows(values: tf.Tensor) -> tf.Tensor:
    """Flattens all axes but the first; unlike tf.reshape, ONNX needs no other node for it."""
    shape = tf.constant([0, -1], tf.int64)
    [flat] = onnx_operator("Reshape", [values, shape], [(values.dtype, (None, None))])
    return flat


def top_k(values: tf.Tensor, count: tf.Tensor) -> list[tf.Tensor]:
    """Returns the largest values of each row, largest first, and their places as int64."""
    outputs = [(values.dtype, (None, None)), (tf.int64, (None, None))]
    return onnx_operator("TopK", [values, count], outputs)
