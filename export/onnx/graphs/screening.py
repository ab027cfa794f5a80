"""Greedy search's next token without a float32 product with the whole vocabulary: the decoder's
states come in, the id of each row's largest logit leaves, the same as of all logits.

The vocabulary's matrix is the largest of a decode step. Here bytes find candidates, float32 decides
among them, and a bound proves that no other token can be the one: with x the states of a row, w the
weights of a token and x̂ and ŵ both in bytes,

    |x·w - x̂·ŵ| = |x·(w - ŵ) + (x - x̂)·ŵ| ≤ ‖x‖ ‖w - ŵ‖ + ‖x - x̂‖ ‖ŵ‖       (Cauchy-Schwarz)

Rows without a proof are multiplied by the whole matrix, as if there were no screening.
"""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from keras_transformer.export.onnx.graphs.candidates import arg_max, top_k
from keras_transformer.export.onnx.graphs.fused_layers import product
from keras_transformer.export.onnx.graphs.operators import onnx_operator, weight
from keras_transformer.export.onnx.quantize.int8_matrices import LARGEST, largest_sums

# Smaller matrices take about as long in float32.
_LEAST_WEIGHTS = 1 << 20
# The wider the model, the wider the bound in units of the logits' spread, and the more tokens are
# within it.
_STATES_PER_CANDIDATE = 8
# Tokens of the largest weights: a step wide enough for them would widen the bound of all others.
_LOUD = 16


class Screen(NamedTuple):
    """A vocabulary's matrix in bytes. "Quiet" are all tokens but the loud ones.

    Attributes:
        values: int8 `(model_dim, vocabulary)`, zeros for loud tokens.
        step: What they are multiplied by.
        loud: Ids of the tokens that always are candidates.
        error: Largest ‖w - ŵ‖ of a quiet token, and more than float32 rounds products with it.
        norm: Largest ‖ŵ‖ of a quiet token.
    """

    values: np.ndarray
    step: float
    loud: np.ndarray
    error: float
    norm: float

    @classmethod
    def of(cls, matrix: np.ndarray) -> "Screen":
        """Rounds a float32 matrix `(vocabulary, model_dim)`."""
        largest = largest_sums(matrix)
        order = np.argsort(largest, kind="stable")
        quiet, loud = order[:-_LOUD], order[-_LOUD:]
        step = float(largest[quiet].max(initial=0)) / LARGEST or 1.0
        values = np.rint(matrix / step)
        values[loud] = 0
        rounded = step * values[quiet]
        error = np.linalg.norm(matrix[quiet] - rounded, axis=1).max(initial=0)
        norm = np.linalg.norm(rounded, axis=1).max(initial=0)
        rounding = 4 * matrix.shape[1] * np.finfo(np.float32).eps * norm
        return cls(values.T.astype(np.int8), step, loud, float(error + rounding), float(norm))


def is_worth_screening(vocabulary: int, model_dim: int) -> bool:
    """Tells whether `screened_best_token` is faster than all logits of a matrix of this size."""
    return vocabulary * model_dim >= _LEAST_WEIGHTS


def screened_best_token(states: tf.Tensor, matrix: np.ndarray) -> tf.Tensor:
    """Selects the id of the largest logit of each row, the lowest of equal ones: int32 `(rows,)`.

    Args:
        states: float32 `(rows, model_dim)`.
        matrix: float32 `(vocabulary, model_dim)`; logits are the products with its rows.
    """
    screen = Screen.of(matrix)
    ids, others = _candidates(states, screen)
    logits = _logits_of(states, matrix, ids)
    [best] = onnx_operator("ReduceMax", [logits, _axis(1)], [(tf.float32, (None, 1))], keepdims=1)
    none = tf.constant([len(matrix)], tf.int64)
    [equal] = onnx_operator(
        "Where", [tf.equal(logits, best), ids, none], [(tf.int64, (None, ids.shape[1]))]
    )
    [first] = onnx_operator("ReduceMin", [equal, _axis(1)], [(tf.int64, (None,))], keepdims=0)
    is_open = tf.reshape(tf.greater_equal(others, best), (-1,))
    return tf.cast(_decide(first, is_open, states, matrix), tf.int32)


def _candidates(states: tf.Tensor, screen: Screen) -> tuple[tf.Tensor, tf.Tensor]:
    """Finds the tokens of each row that may have the largest logit.

    Returns:
        Their ids, int64 `(rows, candidates)`, and float32 `(rows, 1)`, which no logit of another
        token exceeds.
    """
    width, vocabulary = screen.values.shape
    quantized, step, zero_point = onnx_operator(
        "DynamicQuantizeLinear",
        [states],
        [(tf.uint8, states.shape), (tf.float32, ()), (tf.uint8, ())],
    )
    operands = [quantized, weight(screen.values), zero_point]
    [sums] = onnx_operator("MatMulInteger", operands, [(tf.int32, (None, vocabulary))])
    count = min(max(1, width // _STATES_PER_CANDIDATE), vocabulary)
    sums, ids = top_k(sums, tf.constant([count], tf.int64))
    # The last candidate's sum is the largest that another token can have.
    largest = tf.cast(sums[:, count - 1 :], tf.float32) * (step * screen.step)
    [rounded] = onnx_operator(
        "DequantizeLinear", [quantized, step, zero_point], [(tf.float32, states.shape)]
    )
    error = _norm(states) * screen.error + _norm(states - rounded) * screen.norm
    loud = len(screen.loud)
    [padded] = onnx_operator(
        "Pad", [ids, tf.constant([0, 0, 0, loud], tf.int64)], [(tf.int64, (None, count + loud))]
    )
    return padded + np.pad(screen.loud, (count, 0)), largest + error


def _norm(states: tf.Tensor) -> tf.Tensor:
    [norm] = onnx_operator("ReduceL2", [states, _axis(1)], [(tf.float32, (None, 1))], keepdims=1)
    return norm


def _logits_of(states: tf.Tensor, matrix: np.ndarray, ids: tf.Tensor) -> tf.Tensor:
    """Returns the logits of some tokens of each row: float32, shaped as `ids`."""
    width, count = matrix.shape[1], ids.shape[1]
    shape = (None, count, width)
    [weights] = onnx_operator("Gather", [weight(matrix), ids], [(tf.float32, shape)], axis=0)
    columns = tf.reshape(states, (-1, width, 1))
    [logits] = onnx_operator("MatMul", [weights, columns], [(tf.float32, (None, count, 1))])
    return tf.reshape(logits, (-1, count))


def _decide(
    found: tf.Tensor, is_open: tf.Tensor, states: tf.Tensor, matrix: np.ndarray
) -> tf.Tensor:
    """Replaces the ids of open rows by those of the largest of all their logits.

    Where there are none, which is nearly always, operators on empty tensors cost next to nothing.
    """
    [left] = onnx_operator("Compress", [states, is_open], [(tf.float32, states.shape)], axis=0)
    logits = product(left, matrix, transposed=True)
    [rows] = onnx_operator("NonZero", [is_open], [(tf.int64, (1, None))])
    updates = [found, tf.transpose(rows), arg_max(logits)]
    [decided] = onnx_operator("ScatterND", updates, [(tf.int64, (None,))])
    return decided


def _axis(number: int) -> tf.Tensor:
    return tf.constant([number], tf.int64)
