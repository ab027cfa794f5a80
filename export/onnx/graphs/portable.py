"""The encoder, the decode step and the scorer in TensorFlow operators that standard ONNX has: the
Keras model's own code, traced. For runtimes without onnxruntime's fused operators.
"""

import tensorflow as tf

from keras_transformer.export.onnx.graphs.candidates import best_continuations, best_token
from keras_transformer.layers.attention import KeysValues
from keras_transformer.models.transformer import Transformer

__all__ = ["DOMAINS", "align", "best_continuations", "best_token", "decode_step", "encode"]

# Operator domains beside standard ONNX.
DOMAINS: tuple[str, ...] = ()


def encode(model: Transformer, source_ids: tf.Tensor) -> tuple[tf.Tensor, list[KeysValues]]:
    """Returns the encoder's states and every decoder block's cross-attention keys and values."""
    states = model.encoder({"source_ids": source_ids}, training=False)
    return states, model.decoder_stack.project(states)


def decode_step(
    model: Transformer,
    target_ids: tf.Tensor,
    step: tf.Tensor,
    source_mask: tf.Tensor,
    cross: list[KeysValues],
    caches: list[KeysValues],
    beams: tuple[tf.Tensor, tf.Tensor] | None,
) -> tuple[tf.Tensor, list[KeysValues]]:
    """Returns the logits of one decoder step and the caches; `specs.decoder_specs` has the shapes.

    The caches that leave are those that came, with this step's keys and values in each row's own
    place: the rows that `beams`, the graph's beam_size and cache_beams, name are gathered for the
    attention only. With one row a sentence `beams` is None.
    """
    seen = caches
    if beams is not None:
        rows = _row_of_each_token(*beams)
        seen = [tuple(_gather_tokens(buffer, rows) for buffer in pair) for pair in caches]
    keep_mask = tf.cast(source_mask, tf.bool)
    logits, written = model.decode_step(target_ids, step, keep_mask, cross, seen)
    here = tf.equal(tf.range(tf.shape(caches[0][0])[2]), step)[None, None, :, None]
    new_caches = [
        tuple(tf.where(here, new, old) for new, old in zip(new_pair, pair, strict=True))
        for new_pair, pair in zip(written, caches, strict=True)
    ]
    return logits, new_caches


def align(
    model: Transformer,
    target_ids: tf.Tensor,
    labels: tf.Tensor,
    source_mask: tf.Tensor,
    cross: list[KeysValues],
) -> tuple[tf.Tensor, tf.Tensor]:
    """Scores given translations; see `Transformer.align`."""
    return model.align(target_ids, labels, tf.cast(source_mask, tf.bool), cross)


def _row_of_each_token(beam_size: tf.Tensor, cache_beams: tf.Tensor) -> tf.Tensor:
    """Returns the cache row of each row's earlier tokens: int32 `(rows, cache_length)`."""
    shape = tf.shape(cache_beams)
    first_rows = tf.range(shape[0])[:, None, None] * beam_size
    return tf.reshape(cache_beams + first_rows, (-1, shape[2]))


def _gather_tokens(buffer: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
    """Takes token t of row r from row `rows[r, t]` of a cache `(rows, heads, length, width)`."""
    heads, width = buffer.shape[1], buffer.shape[3]
    length = tf.shape(rows)[1]
    tokens = tf.reshape(tf.transpose(buffer, (0, 2, 1, 3)), (-1, heads * width))
    places = rows * length + tf.range(length)
    gathered = tf.reshape(tf.gather(tokens, places), (-1, length, heads, width))
    return tf.transpose(gathered, (0, 2, 1, 3))
