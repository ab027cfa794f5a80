"""Half precision for GPU providers: a graph of standard operators with weights, caches and products
in float16.

What float16 cannot hold stays float32, connected by casts: positions, the statistics of layer
norms, sums of exponentials, and all values between the last products and the outputs that stay
float32. onnxruntime's own converter would cast every value between two such operators to float16.
Tables of embeddings are float16 even where norms follow: only the rows found are cast.

It takes the portable graph, as the fused graph's operators keep their caches in other layouts on a
GPU, and have no float16 on a CPU, where the result is checked.
"""

from collections.abc import Collection, Iterable

import numpy as np
import onnx
from onnx.numpy_helper import from_array, to_array

from keras_transformer.export.onnx.graphs.builder import names_read

_FLOAT: int = onnx.TensorProto.FLOAT
_FLOAT16: int = onnx.TensorProto.FLOAT16
_LIMIT = 65504.0
# Mask values are clipped to this: exp gives 0, and a score added to it stays finite.
_MASK_LIMIT = 1e4
# Operators that sum in float32 themselves: their inputs need not be float32.
_BOUNDARIES = {"MatMul", "Gemm", "Softmax", "LayerNormalization"}
# Computed from integers, or sums and roots beyond the range of float16; subgraphs are not changed.
_SINGLE = {"Sqrt", "Reciprocal", "Exp", "Log", "Sin", "Cos", "Pow", "Range", "CumSum", "TopK"}
_SINGLE |= {"ReduceMean", "ReduceLogSumExp", "If", "Loop", "Scan"}
# Operators that only choose rows of a table: what they return is cast, not the table.
_LOOK_UPS = {"Gather", "GatherElements", "GatherND", "Slice"}


def to_float16(model: onnx.ModelProto, *, keep_float32: Collection[str]) -> onnx.ModelProto:
    """Returns a copy that computes in float16, with float16 inputs and outputs.

    Args:
        model: A float32 graph with standard operators only; it is not changed.
        keep_float32: Inputs and outputs that stay float32, such as logits and scores; names that
            the graph does not have are ignored.

    Raises:
        ValueError: The graph holds operators of another domain, or a matrix holds a value that
            float16 cannot hold; the message names it.
    """
    foreign = sorted({f"{node.domain}.{node.op_type}" for node in model.graph.node if node.domain})
    if foreign:
        raise ValueError(
            f"float16 is made from portable graphs, but this one contains {', '.join(foreign)}: "
            "export with target='portable'."
        )
    # Only types are inferred: they decide where casts belong.
    halved = onnx.shape_inference.infer_shapes(model)
    _HalfGraph(halved.graph, keep_float32).convert()
    del halved.graph.value_info[:]
    return halved


class _HalfGraph:
    """Converts a graph in place."""

    def __init__(self, graph: onnx.GraphProto, keep_float32: Collection[str]) -> None:
        self._graph = graph
        self._keep_float32 = keep_float32
        self._weights = {t.name: t for t in graph.initializer if t.data_type == _FLOAT}
        values = [*graph.input, *graph.output, *graph.value_info]
        typed = {value.name: value.type.tensor_type.elem_type for value in values}
        self._floats = {name for name, kind in typed.items() if kind == _FLOAT}
        self._producers = {name: node for node in graph.node for name in node.output}
        self._computed = self._floats & set(self._producers)
        self._single = self._single_nodes()
        self._made: dict[tuple[str, int], str] = {}
        self._new_nodes: list[onnx.NodeProto] = []

    def convert(self) -> None:
        """Converts inputs, nodes, weights and outputs."""
        types: dict[str, int] = {}
        for value in self._graph.input:
            if value.name in self._floats:
                types[value.name] = _FLOAT if value.name in self._keep_float32 else _FLOAT16
                value.type.tensor_type.elem_type = types[value.name]
        for node in self._graph.node:
            wanted = _FLOAT if self._is_single(node) else _FLOAT16
            self._give_inputs(node, wanted, types)
            if wanted == _FLOAT16:
                _halve_attributes(node)
            self._new_nodes.append(node)
            types.update({name: wanted for name in node.output if name in self._floats})
        self._give_outputs(types)
        del self._graph.node[:]
        self._graph.node.extend(self._new_nodes)
        _remove_unread(self._graph)

    def _single_nodes(self) -> set[str]:
        """Returns the first outputs of the nodes that stay float32."""
        single = {node.output[0] for node in self._graph.node if node.op_type in _SINGLE}
        waiting = [name for name in self._keep_float32 if name in self._computed]
        for node in self._graph.node:
            if node.op_type == "ReduceMean":
                single.update(self._square(node.input[0]))
            elif node.op_type in _SINGLE:
                waiting.extend(self._computed & _reads(node))
        while waiting:
            node = self._producers[waiting.pop()]
            if node.output[0] in single or self._needs_no_float32(node):
                continue
            single.add(node.output[0])
            waiting.extend(self._computed & _reads(node))
        return single

    def _needs_no_float32(self, node: onnx.NodeProto) -> bool:
        """Returns whether a node that float32 is computed from may itself be float16."""
        table = self._weights.get(node.input[0]) if node.op_type in _LOOK_UPS else None
        return node.op_type in _BOUNDARIES or (table is not None and len(table.dims) > 1)

    def _square(self, name: str) -> list[str]:
        """Returns the value's name if it is a square: squares that are averaged may be large."""
        node = self._producers.get(name)
        is_square = node is not None and node.op_type == "Mul" and len(set(node.input)) == 1
        return [name] if is_square else []

    def _is_single(self, node: onnx.NodeProto) -> bool:
        return node.output[0] in self._single

    def _give_inputs(self, node: onnx.NodeProto, wanted: int, types: dict[str, int]) -> None:
        for place, name in enumerate(node.input):
            node.input[place] = self._as_type(name, wanted, types)
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                outer = {
                    name: self._as_type(name, wanted, types) for name in _captured(attribute.g)
                }
                _rename(attribute.g, outer)

    def _as_type(self, name: str, wanted: int, types: dict[str, int]) -> str:
        """Returns the name under which a value has a type; adds a cast or a copy where needed."""
        if name in self._weights:
            return name if wanted == _FLOAT else self._half_weight(name)
        if types.get(name, wanted) == wanted:
            return name
        if (name, wanted) not in self._made:
            self._made[name, wanted] = cast = f"{name}/{'single' if wanted == _FLOAT else 'half'}"
            self._new_nodes.append(onnx.helper.make_node("Cast", [name], [cast], cast, to=wanted))
        return self._made[name, wanted]

    def _half_weight(self, name: str) -> str:
        if (name, _FLOAT16) not in self._made:
            self._made[name, _FLOAT16] = f"{name}/half"
            half = from_array(_half(to_array(self._weights[name]), name), f"{name}/half")
            self._graph.initializer.append(half)
        return self._made[name, _FLOAT16]

    def _give_outputs(self, types: dict[str, int]) -> None:
        for value in self._graph.output:
            if value.name not in self._floats:
                continue
            wanted = _FLOAT if value.name in self._keep_float32 else _FLOAT16
            value.type.tensor_type.elem_type = wanted
            if types[value.name] != wanted:
                inner = f"{value.name}/inner"
                for node in self._new_nodes:
                    _rename_in(node.input, {value.name: inner})
                    _rename_in(node.output, {value.name: inner})
                cast = onnx.helper.make_node("Cast", [inner], [value.name], to=wanted)
                self._new_nodes.append(cast)


def _reads(node: onnx.NodeProto) -> set[str]:
    """Returns the names that a node reads, in its subgraphs too."""
    names = set(node.input)
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            names |= _captured(attribute.g)
    return names


def _captured(graph: onnx.GraphProto) -> set[str]:
    """Returns the names that a subgraph takes from the graphs around it."""
    own = {name for node in graph.node for name in node.output}
    own |= {tensor.name for tensor in graph.initializer} | {value.name for value in graph.input}
    return set(names_read(graph)) - own - {""}


def _rename(graph: onnx.GraphProto, names: dict[str, str]) -> None:
    for node in graph.node:
        _rename_in(node.input, names)
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                _rename(attribute.g, names)


def _rename_in(fields: Iterable[str], names: dict[str, str]) -> None:
    for place, name in enumerate(fields):
        fields[place] = names.get(name, name)  # type: ignore[index]


def _halve_attributes(node: onnx.NodeProto) -> None:
    """Changes a node's attributes that ask for float32 to float16."""
    for attribute in node.attribute:
        if attribute.name == "to" and attribute.i == _FLOAT:
            attribute.i = _FLOAT16
        elif attribute.type == onnx.AttributeProto.TENSOR and attribute.t.data_type == _FLOAT:
            attribute.t.CopyFrom(from_array(_half(to_array(attribute.t), node.name)))


def _half(values: np.ndarray, name: str) -> np.ndarray:
    """Returns float16 values; constants beyond ±10,000 belong to masks and are clipped to that."""
    if values.size and values.ndim > 1 and not np.abs(values).max() <= _LIMIT:
        raise ValueError(
            f"the matrix {name!r} holds {np.abs(values).max():g}, more than float16's limit of "
            f"{_LIMIT:g}: export in another precision."
        )
    finite = np.isfinite(values)
    return np.where(finite, np.clip(values, -_MASK_LIMIT, _MASK_LIMIT), values).astype(np.float16)


def _remove_unread(graph: onnx.GraphProto) -> None:
    """Removes initializers that nothing reads any more."""
    read = set(names_read(graph))
    for index in reversed(range(len(graph.initializer))):
        if graph.initializer[index].name not in read:
            del graph.initializer[index]
