"""Residual sub-layers as one operator each: a graph with linear layers in bytes comes in; what lies
between a sub-layer's projection and its LayerNorm is one of this package's operators afterwards.
"""

from collections import Counter

import onnx

from keras_transformer.export.onnx.graphs.operators import NATIVE
from keras_transformer.export.onnx.quantize.linear_nodes import names_read

# What lies between the two linear layers, and the operator for all of them. What it reads beside
# the projection follows the sub-layer's own inputs; what it makes beside the result, its outputs.
_BETWEEN = {
    "SelfAttention": "SelfAttentionSubLayer",
    "CrossAttention": "CrossAttentionSubLayer",
}


def merge_sub_layers(graph: onnx.GraphProto) -> None:
    """Replaces projection, attention or ReLU, output and AddNorm by one node, where rows pass
    through all of them without another reader.
    """
    producers = {name: node for node in graph.node for name in node.output}
    times_read = Counter(names_read(graph))

    def only(name: str, *kinds: str) -> onnx.NodeProto | None:
        """Returns the node that makes a value which one node reads."""
        node = producers.get(name)
        is_kind = node is not None and node.domain == NATIVE and node.op_type in kinds
        return node if is_kind and times_read[name] == 1 else None

    merged: dict[int, onnx.NodeProto] = {}
    gone: set[int] = set()
    for norm in graph.node:
        if norm.domain != NATIVE or norm.op_type != "AddNorm":
            continue
        residual, change, *gamma_beta = norm.input
        last = only(change, "BytesLinear")
        if last is None or _flag(last, "relu"):
            continue
        between = only(last.input[0], *_BETWEEN)
        first = only(between.input[0] if between else last.input[0], "BytesLinear")
        if first is None or _flag(first, "relu") == bool(between):
            continue
        node = onnx.helper.make_node(
            _BETWEEN[between.op_type] if between else "FeedForwardSubLayer",
            [first.input[0], residual, *first.input[1:], *last.input[1:], *gamma_beta],
            list(norm.output),
            name=f"{norm.name}/sub_layer",
            domain=NATIVE,
            epsilon=_flag(norm, "epsilon"),
        )
        if between:
            node.input.extend(between.input[1:])
            node.output.extend(between.output[1:])
        else:
            node.attribute.append(onnx.helper.make_attribute("units", _flag(first, "units")))
        # Where the first of them stood, not all of what the others read is there yet.
        merged[id(norm)] = node
        gone.update(id(part) for part in (first, between, last) if part)
    kept = [merged.get(id(node), node) for node in graph.node if id(node) not in gone]
    del graph.node[:]
    graph.node.extend(kept)


def _flag(node: onnx.NodeProto, name: str) -> float | int:
    return next(onnx.helper.get_attribute_value(a) for a in node.attribute if a.name == name)
