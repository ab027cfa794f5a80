"""Greedy search's next token, exactly, without a float32 product with the whole vocabulary.

The vocabulary's matrix is the largest of a decode step. Bytes find candidates, float32 decides
among them, and a bound proves that no other token has a larger logit: with x the states of a row,
w the weights of a token and x̂ and ŵ both in bytes,

    |x·w - x̂·ŵ| = |x·(w - ŵ) + (x - x̂)·ŵ| ≤ ‖x‖ ‖w - ŵ‖ + ‖x - x̂‖ ‖ŵ‖       (Cauchy-Schwarz)

Rows for which the proof fails are multiplied by the whole matrix, as without screening.
"""

from typing import NamedTuple

import numpy as np

from keras_transformer.export.onnx.graphs.builder import GraphBuilder, integers
from keras_transformer.export.onnx.heads.candidates import arg_max, top_k
from keras_transformer.export.onnx.quantize.int8_matrices import LARGEST, largest_sums, row_blocks

# Smaller matrices are multiplied about as fast in float32.
_LEAST_WEIGHTS = 1 << 20
# The wider the model, the wider the bound relative to the logits' spread, and the more tokens are
# within it.
_STATES_PER_CANDIDATE = 8
# Tokens with the largest weights: a step large enough for them would widen the bound of the others.
_LOUD = 16


class Screen(NamedTuple):
    """A vocabulary's matrix in bytes. Tokens that are not loud are "quiet".

    Attributes:
        values: int8 `(model_dim, vocabulary)`, zeros for loud tokens.
        step: The factor that the values are multiplied by.
        loud: Ids of the tokens with the largest weights, which are always candidates.
        error: Largest ‖w - ŵ‖ of a quiet token, with a margin for rounding in float32 products.
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
        loud, is_quiet = order[-_LOUD:], np.ones(len(matrix), bool)
        is_quiet[loud] = False
        step = float(largest[is_quiet].max(initial=0)) / LARGEST or 1.0
        values = np.empty(matrix.shape[::-1], np.int8)
        error = norm = np.float32(0)
        for rows in row_blocks(matrix):
            quiet = is_quiet[rows]
            rounded = np.rint(matrix[rows] / step) * quiet[:, None]
            values[:, rows] = rounded.T
            rounded *= step
            errors = np.linalg.norm(matrix[rows] - rounded, axis=1)
            error = np.maximum(error, errors[quiet].max(initial=0))
            norm = np.maximum(norm, np.linalg.norm(rounded, axis=1).max(initial=0))
        rounding = 4 * matrix.shape[1] * np.finfo(np.float32).eps * norm
        return cls(values, step, loud, float(error + rounding), float(norm))


def is_worth_screening(vocabulary: int, model_dim: int) -> bool:
    """Tells whether `screened_best_token` is faster than all logits of a matrix of this size."""
    return vocabulary * model_dim >= _LEAST_WEIGHTS


def screened_best_token(graph: GraphBuilder, states: str, matrix: np.ndarray) -> str:
    """Selects the id of each row's largest logit; the lowest id wins a tie: int32 `(rows,)`.

    Args:
        graph: The graph.
        states: float32 `(rows, model_dim)`.
        matrix: float32 `(vocabulary, model_dim)`; logits are the products with its rows.
    """
    ids, others = find_candidates(graph, states, Screen.of(matrix))
    logits = _logits_of(graph, states, matrix, ids)
    best = graph.op("ReduceMax", logits, integers(1), keepdims=1)
    none = integers(len(matrix))
    equal = graph.op("Where", graph.op("Equal", logits, best), ids, none)
    first = graph.op("ReduceMin", equal, integers(1), keepdims=0)
    is_open = graph.reshape(graph.op("GreaterOrEqual", others, best), -1)
    return graph.cast(_decide(graph, first, is_open, states, matrix), "int32")


def find_candidates(graph: GraphBuilder, states: str, screen: Screen) -> tuple[str, str]:
    """Finds the tokens of each row that may have the largest logit.

    Returns:
        Their ids, int64 `(rows, candidates)`, and a float32 bound `(rows, 1)` that no logit of
        another token exceeds.
    """
    width, vocabulary = screen.values.shape
    quantized, step, zero_point = graph.ops("DynamicQuantizeLinear", states, count=3)
    sums = graph.op("MatMulInteger", quantized, screen.values, zero_point)
    count = min(max(1, width // _STATES_PER_CANDIDATE), vocabulary)
    sums, ids = top_k(graph, sums, integers(count))
    # The last candidate's sum is the largest that another token can have.
    last = graph.op("Slice", sums, integers(count - 1), integers(count), integers(1))
    scale = graph.op("Mul", step, np.float32(screen.step))
    largest = graph.op("Mul", graph.cast(last, "float32"), scale)
    rounded = graph.op("DequantizeLinear", quantized, step, zero_point)
    moved = graph.op("Mul", _norm(graph, states), np.float32(screen.error))
    lost = _norm(graph, graph.op("Sub", states, rounded))
    error = graph.op("Add", moved, graph.op("Mul", lost, np.float32(screen.norm)))
    loud = np.int64(np.pad(screen.loud, (count, 0)))
    padded = graph.op("Pad", ids, integers(0, 0, 0, len(screen.loud)))
    return graph.op("Add", padded, loud), graph.op("Add", largest, error)


def _norm(graph: GraphBuilder, states: str) -> str:
    return graph.op("ReduceL2", states, integers(1), keepdims=1)


def _logits_of(graph: GraphBuilder, states: str, matrix: np.ndarray, ids: str) -> str:
    """Returns the logits of some tokens of each row: float32, shaped as `ids`."""
    weights = graph.op("Gather", matrix, ids, axis=0)
    columns = graph.op("Unsqueeze", states, integers(2))
    return graph.op("Squeeze", graph.op("MatMul", weights, columns), integers(2))


def _decide(graph: GraphBuilder, found: str, is_open: str, states: str, matrix: np.ndarray) -> str:
    """Replaces the ids of open rows by those of the largest of all their logits.

    Nearly always there are no open rows, and operators on empty tensors cost next to nothing.
    """
    left = graph.op("Compress", states, is_open, axis=0)
    logits = graph.op("Gemm", left, matrix, transB=1)
    rows = graph.op("Transpose", graph.op("NonZero", is_open), perm=[1, 0])
    return graph.op("ScatterND", found, rows, arg_max(graph, logits))
