"""The SSRU of a decoder's blocks, for one new token of each row and for whole sequences.

A cache holds two states of each row: a step reads that of the token before and writes its own
beside it, in turn. A step that is run twice thus finds the same, and a row may continue any other.
"""

import numpy as np
import onnx
from onnx import helper

from keras_transformer.config.stack import RecurrenceConfig
from keras_transformer.config.transformer import TransformerConfig
from keras_transformer.export.onnx.graphs.builder import GraphBuilder, integers
from keras_transformer.export.onnx.layers.linear import Linear
from keras_transformer.export.onnx.layers.stack import Parts
from keras_transformer.layers.recurrences.ssru import SSRU

HOLDS: dict[type, set[str]] = {
    RecurrenceConfig: {"kind", "use_bias"},
    TransformerConfig: {"decoder_recurrence"},
}
# The states of a row that a cache holds.
STATES = 2


def state_name(prefix: str, number: int) -> str:
    """Returns the name of a block's states among a graph's inputs and outputs."""
    return f"{prefix}_state_{number}"


def recurrent_step(
    graph: GraphBuilder, layer: SSRU, number: int, ids: str, beams: tuple[str, ...]
) -> Parts:
    """Reads one new token of each row.

    Args:
        graph: The graph.
        layer: The layer.
        number: Number of its block, whose cache is written in place.
        ids: The input of new tokens `(rows,)`.
        beams: The inputs beam_size and cache_beams, which name the row that holds the token before;
            empty if a sentence has one row.
    """
    cache, projection = state_name("cache", number), recurrent_projection(layer)

    def between(projected: str) -> str:
        candidate, forget = _split(graph, projected)
        here = graph.shared("place of states", lambda: _is_place(graph, "step"))
        before = graph.shared("states before", lambda: _states_before(graph, ids, beams))
        states = graph.reshape(cache, -1, projection.units // 2)
        past = graph.op("Gather", states, before, axis=0)
        change = graph.op("Mul", forget, graph.op("Sub", past, candidate))
        state = graph.op("Add", candidate, change)
        graph.output(state_name("new_cache", number), _written(graph, state, cache, here))
        return graph.op("Relu", state)

    return Parts(projection, between, None)


def recurrent_sequence(
    graph: GraphBuilder, layer: SSRU, number: int, ids: str, *, fills_cache: bool = False
) -> Parts:
    """Reads whole sequences from their first place on.

    Args:
        graph: The graph.
        layer: The layer.
        number: Number of its block.
        ids: A value `(batch, length)`.
        fills_cache: Whether the state after the last place is written to the block's cache.
    """
    projection = recurrent_projection(layer)
    width = projection.units // 2

    def between(projected: str) -> str:
        candidate, forget = _split(graph, projected)
        added = graph.op("Sub", candidate, graph.op("Mul", forget, candidate))
        shape = graph.extended_shape(ids, width)
        parts = [graph.op("Reshape", part, shape) for part in (forget, added)]
        batch = graph.shared("batch", lambda: graph.op("Shape", ids, end=1))
        first = graph.op("Concat", batch, integers(width), axis=0)
        last, states = graph.ops(
            "Scan",
            graph.op("ConstantOfShape", first),
            *parts,
            count=2,
            body=_one_place(width),
            num_scan_inputs=len(parts),
            scan_input_axes=[1] * len(parts),
            scan_output_axes=[1],
        )
        if fills_cache:
            here = graph.shared("place of states", lambda: _is_last_place(graph, ids))
            name, cache = (state_name(one, number) for one in ("new_cache", "cache"))
            graph.output(name, _written(graph, last, cache, here))
        return graph.reshape(graph.op("Relu", states), -1, width)

    return Parts(projection, between, None)


def recurrent_projection(layer: SSRU) -> Linear:
    """Returns one layer for candidates and forget gates."""
    candidate, forget = map(Linear.of, layer.linear_layers)
    kernel = np.concatenate([candidate.kernel, forget.kernel], axis=1)
    if forget.bias is None:
        return Linear(kernel)
    return Linear(kernel, np.concatenate([np.zeros_like(forget.bias), forget.bias]))


def _split(graph: GraphBuilder, projected: str) -> tuple[str, str]:
    """Returns candidates and forget gates, each `(rows, model_dim)`."""
    candidate, forget = graph.ops("Split", projected, count=2, axis=1, num_outputs=2)
    return candidate, graph.op("Sigmoid", forget)


def _is_place(graph: GraphBuilder, step: str) -> str:
    """Returns where the state of a step is written: boolean `(2, 1)`."""
    place = graph.op("Mod", step, np.int32(STATES))
    return graph.op("Equal", np.arange(STATES, dtype=np.int32)[:, None], place)


def _is_last_place(graph: GraphBuilder, ids: str) -> str:
    """Returns where the state of the last token of sequences is written."""
    length = graph.cast(graph.op("Shape", ids, start=1), "int32")
    return _is_place(graph, graph.op("Sub", length, np.int32(1)))


def _states_before(graph: GraphBuilder, ids: str, beams: tuple[str, ...]) -> str:
    """Returns which of all states of a cache each row continues: int64 `(rows,)`."""
    rows = _rows_before(graph, *beams) if beams else _range(graph, ids)
    step = graph.cast("step", "int64")
    other = graph.op("Sub", np.int64(1), graph.op("Mod", step, np.int64(STATES)))
    return graph.op("Add", graph.op("Mul", rows, np.int64(STATES)), other)


def _rows_before(graph: GraphBuilder, beam_size: str, cache_beams: str) -> str:
    """Returns the cache row of the token before each row's newest: int64 `(rows,)`."""
    before = graph.op("Max", graph.op("Sub", "step", np.int32(1)), np.int32(0))
    beam = graph.op("Squeeze", graph.op("Gather", cache_beams, before, axis=2), integers(2))
    first = graph.op("Mul", _range(graph, cache_beams), graph.cast(beam_size, "int64"))
    rows = graph.op("Add", graph.cast(beam, "int64"), graph.op("Unsqueeze", first, integers(1)))
    return graph.reshape(rows, -1)


def _range(graph: GraphBuilder, value: str) -> str:
    """Returns the numbers of a value's rows: int64 `(rows,)`."""
    count = graph.op("Squeeze", graph.op("Shape", value, end=1))
    return graph.op("Range", np.int64(0), count, np.int64(1))


def _written(graph: GraphBuilder, state: str, cache: str, here: str) -> str:
    """Returns a cache `(rows, 1, 2, model_dim)` with a state `(rows, model_dim)` in one place."""
    return graph.op("Where", here, graph.op("Unsqueeze", state, integers(1, 2)), cache)


def _one_place(width: int) -> onnx.GraphProto:
    """Returns the body of a scan: the state before, its factor and a summand make the state."""
    rows: list[str | int | None] = ["ssru_rows", width]
    declared = {
        name: helper.make_tensor_value_info(f"ssru_{name}", onnx.TensorProto.FLOAT, rows)
        for name in ("before", "forget", "added", "state", "kept")
    }
    nodes = [
        helper.make_node("Mul", ["ssru_forget", "ssru_before"], ["ssru_rest"]),
        helper.make_node("Add", ["ssru_rest", "ssru_added"], ["ssru_state"]),
        helper.make_node("Identity", ["ssru_state"], ["ssru_kept"]),
    ]
    inputs, outputs = ("before", "forget", "added"), ("state", "kept")
    return helper.make_graph(
        nodes, "ssru", [declared[name] for name in inputs], [declared[name] for name in outputs]
    )
