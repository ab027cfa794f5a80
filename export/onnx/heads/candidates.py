"""The end of a decode step: the most probable tokens of each row, instead of whole rows of logits.

In standard ONNX operators, for every target.
"""

import math

import numpy as np

from keras_transformer.export.onnx.graphs.builder import GraphBuilder, Operand, integers
from keras_transformer.export.onnx.graphs.specs import LOGITS

# Below this a plain TopK is as fast.
_SMALLEST_DIVIDED = 512


def output_scored(graph: GraphBuilder, logits: str, places: str, ids: str) -> None:
    """Ends a step of greedy search with scores.

    Args:
        graph: The graph.
        logits: float32 `(rows, width)`.
        places: Places of the largest logits, `(rows,)`.
        ids: int32, the ids at these places.
    """
    column = graph.op("Unsqueeze", places, integers(1))
    chosen = log_probabilities(graph, logits, column)
    graph.output("next_log_probabilities", graph.op("Squeeze", chosen, integers(1)))
    graph.output("next_ids", ids)
    graph.output(LOGITS, logits)


def best_continuations(
    graph: GraphBuilder, logits: str, vocabulary: int | None, count: str, totals: str
) -> tuple[str, str, str]:
    """Selects the best continuations of each sentence, exactly.

    Among equal values the lowest beam comes first, and within a beam the lowest id.

    Args:
        graph: The graph.
        logits: float32 `(rows, vocabulary)`.
        vocabulary: Their width; None if it is known only when the graph runs.
        count: int64 `(1,)`, how many to select; all of them if there are fewer.
        totals: float32 `(batch, beams)`, log-probability of each row so far, in nats.

    Returns:
        int32 ids, float32 values and int32 beams, all `(batch, count)`, best first; the value is
        the log-probability of the beam continued by the id.
    """
    width = graph.op("Shape", logits, start=1) if vocabulary is None else integers(vocabulary)
    ids = _best_tokens(graph, logits, vocabulary, graph.op("Min", count, width))
    log_probs = log_probabilities(graph, logits, ids)
    # Ranks the continuations of all beams of a sentence together.
    flat = graph.op("Concat", graph.op("Shape", totals, end=1), integers(-1), axis=0)
    extended = graph.op("Add", log_probs, graph.reshape(totals, -1, 1))
    extended = graph.op("Reshape", extended, flat)
    in_sentence = graph.op("Shape", extended, start=1)
    values, places = top_k(graph, extended, graph.op("Min", count, in_sentence))
    best = graph.op("GatherElements", graph.op("Reshape", ids, flat), places, axis=1)
    beams = graph.op("Div", places, graph.op("Shape", log_probs, start=1))
    return graph.cast(best, "int32"), values, graph.cast(beams, "int32")


def log_probabilities_of_labels(graph: GraphBuilder, logits: str, labels: str) -> str:
    """Returns the log-probabilities of one token of each row: float32, `(rows, 1)` as `labels`."""
    largest = graph.op("ReduceMax", logits, integers(1), keepdims=1)
    powers = graph.op("Exp", graph.op("Sub", logits, largest))
    total = graph.op("Log", graph.op("ReduceSum", powers, integers(1), keepdims=1))
    chosen = graph.op("GatherElements", logits, labels, axis=1)
    return graph.op("Sub", graph.op("Sub", chosen, largest), total)


def log_probabilities(graph: GraphBuilder, logits: str, ids: str) -> str:
    """Returns the log-probabilities of some tokens of each row: float32, shaped as `ids`."""
    # One operator: written out, it would take half as long again.
    everyone = graph.op("LogSoftmax", logits, axis=1)
    return graph.op("GatherElements", everyone, ids, axis=1)


def best_token(graph: GraphBuilder, logits: str, vocabulary: int | None) -> str:
    """Selects the id of each row's largest logit; the lowest id wins a tie: int32 `(rows,)`.

    Searches only the block with the largest maximum, as ArgMax is slow over long rows, unless the
    width is known only when the graph runs (None).
    """
    width = None if vocabulary is None else block_width(vocabulary)
    if vocabulary is None or width is None or width == vocabulary:
        return graph.cast(arg_max(graph, logits), "int32")
    blocks, maxima = _block_maxima(graph, logits, vocabulary, width)
    best = arg_max(graph, maxima, keepdims=1)
    chosen = graph.op("GatherND", blocks, best, batch_dims=1)
    number = graph.op("Squeeze", best, integers(1))
    first = graph.op("Mul", number, np.int64(width))
    if not vocabulary % width:
        return graph.cast(graph.op("Add", first, arg_max(graph, chosen)), "int32")
    # The logits that the blocks leave over are appended to the chosen block.
    last = (vocabulary // width - 1) * width
    rest = _columns(graph, logits, last + width, vocabulary)
    place = arg_max(graph, graph.op("Concat", chosen, rest, axis=1))
    in_block = graph.op("Less", place, np.int64(width))
    start = graph.op("Where", in_block, first, np.int64(last))
    return graph.cast(graph.op("Add", place, start), "int32")


def _best_tokens(graph: GraphBuilder, logits: str, vocabulary: int | None, count: str) -> str:
    """Selects the ids of the largest logits of each row, largest first: int64 `(rows, count)`."""
    width = None if vocabulary is None else block_width(vocabulary)
    if vocabulary is None or width is None or width == vocabulary:
        return top_k(graph, logits, count)[1]
    return _top_k_by_blocks(graph, logits, vocabulary, width, count)


def block_width(vocabulary: int) -> int:
    """Returns the width of the blocks that a row is searched by; `vocabulary` if undivided.

    It is the width nearest to the square root among those that leave the smallest remainder.
    """
    if vocabulary < _SMALLEST_DIVIDED:
        return vocabulary
    root = math.isqrt(vocabulary)
    return min(
        range(root // 2, 2 * root), key=lambda width: (vocabulary % width, abs(width - root))
    )


def _top_k_by_blocks(
    graph: GraphBuilder, logits: str, vocabulary: int, width: int, count: str
) -> str:
    """Searches only the `count` blocks with the largest maxima, which must hold the best.

    The chosen blocks keep their order, so that ties are settled by id.
    """
    number = vocabulary // width
    blocks, maxima = _block_maxima(graph, logits, vocabulary, width)
    taken = graph.op("Min", count, integers(number))
    _, best = top_k(graph, maxima, taken)
    best, _ = graph.ops("TopK", best, taken, count=2, largest=0)
    chosen = graph.op("GatherND", blocks, graph.op("Unsqueeze", best, integers(2)), batch_dims=1)
    chosen = graph.reshape(chosen, 0, -1)
    if vocabulary % width:
        rest = _columns(graph, logits, number * width, vocabulary)
        chosen = graph.op("Concat", chosen, rest, axis=1)
        # One more block, after those that were chosen.
        ends = integers(0, 0, 0, 1)
        best = graph.op("Pad", best, ends, np.int64(number))
    _, places = top_k(graph, chosen, count)
    wide = np.int64(width)
    block = graph.op("GatherElements", best, graph.op("Div", places, wide), axis=1)
    return graph.op("Add", graph.op("Mul", block, wide), graph.op("Mod", places, wide))


def _block_maxima(graph: GraphBuilder, logits: str, vocabulary: int, width: int) -> tuple[str, str]:
    """Divides rows into whole blocks `(rows, blocks, width)`; returns their maxima as well."""
    number = vocabulary // width
    whole = _columns(graph, logits, 0, number * width) if vocabulary % width else logits
    blocks = graph.reshape(whole, -1, number, width)
    return blocks, graph.op("ReduceMax", blocks, integers(2), keepdims=0)


def _columns(graph: GraphBuilder, values: str, start: int, end: int) -> str:
    return graph.op("Slice", values, integers(start), integers(end), integers(1))


def arg_max(graph: GraphBuilder, values: str, keepdims: int = 0) -> str:
    """Returns the int64 place of each row's largest value; the first place wins a tie."""
    return graph.op("ArgMax", values, axis=1, keepdims=keepdims)


def top_k(graph: GraphBuilder, values: str, count: Operand) -> list[str]:
    """Returns the largest values of each row, largest first, and their places as int64."""
    return graph.ops("TopK", values, count, count=2)
