"""Linear layers in an ONNX graph: nodes come in; for each product with a stored matrix leave where
its kernel lies and what is added to it, which is what quantisation works on.
"""

import math
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import onnx
from onnx.numpy_helper import to_array

_FLOAT = onnx.TensorProto.FLOAT


class StoredMatrix(NamedTuple):
    """A float32 matrix of the graph.

    Attributes:
        name: Its initializer.
        transposed: Whether the layer multiplies by its transpose, as a tied embedding's head does.
    """

    name: str
    transposed: bool


class LinearNode(NamedTuple):
    """One linear layer, inputs · kernel + added.

    Attributes:
        inputs: Value `(rows, inputs)`.
        matrix: Where its kernel is stored.
        bias: Initializer `(outputs,)`, or an empty name.
        residual: Value `(rows, outputs)` that is added, or an empty name.
        output: Value `(rows, outputs)`.
        nonnegative: Whether the inputs are known to be so, as they come from Relu.
        relu: Value that Relu makes of the output, where nothing else reads it, or an empty name.
    """

    inputs: str
    matrix: StoredMatrix
    bias: str
    residual: str
    output: str
    nonnegative: bool
    relu: str


class GraphIndex:
    """Finds initializers and producers by name; a graph must not change while it is used."""

    def __init__(self, graph: onnx.GraphProto) -> None:
        self._initializers = {tensor.name: tensor for tensor in graph.initializer}
        self._producers = {name: node for node in graph.node for name in node.output}
        self._times_read = Counter(names_read(graph))
        self._relus = {
            node.input[0]: node.output[0] for node in graph.node if node.op_type == "Relu"
        }

    def array(self, name: str) -> np.ndarray:
        """Returns an initializer's values."""
        return to_array(self._initializers[name])

    def is_float_matrix(self, name: str) -> bool:
        """Tells whether a name is a float32 initializer of two axes."""
        tensor = self._initializers.get(name)
        return tensor is not None and tensor.data_type == _FLOAT and len(tensor.dims) == 2

    def size(self, name: str) -> int:
        """Returns how many values an initializer holds."""
        return math.prod(self._initializers[name].dims)

    def is_lookup(self, node: onnx.NodeProto) -> bool:
        """Tells whether a node gathers rows of a float32 matrix."""
        flags = {entry.name: entry.i for entry in node.attribute}
        is_gather = node.op_type == "Gather" and flags.get("axis", 0) == 0
        return is_gather and self.is_float_matrix(node.input[0])

    def linear(self, node: onnx.NodeProto) -> LinearNode | None:
        """Returns the linear layer that a node is, or None where it is none."""
        if node.domain or node.op_type not in ("Gemm", "MatMul"):
            return None
        flags = {entry.name: onnx.helper.get_attribute_value(entry) for entry in node.attribute}
        added = node.input[2] if len(node.input) > 2 else ""
        scaled = flags.get("alpha", 1.0) != 1.0 or (added and flags.get("beta", 1.0) != 1.0)
        matrix = self._matrix(node.input[1], bool(flags.get("transB", 0)))
        if matrix is None or scaled or flags.get("transA", 0):
            return None
        stored = added in self._initializers
        if stored and len(self._initializers[added].dims) != 1:
            return None
        return LinearNode(
            inputs=node.input[0],
            matrix=matrix,
            bias=added if stored else "",
            residual="" if stored else added,
            output=node.output[0],
            nonnegative=self._comes_from_relu(node.input[0]),
            relu=self._only_relu(node.output[0]),
        )

    def _matrix(self, name: str, transposed: bool) -> StoredMatrix | None:
        if self.is_float_matrix(name):
            return StoredMatrix(name, transposed)
        producer = self._producers.get(name)
        if producer is not None and producer.op_type == "Transpose":
            if self.is_float_matrix(producer.input[0]):
                return StoredMatrix(producer.input[0], not transposed)
        return None

    def _only_relu(self, name: str) -> str:
        return self._relus.get(name, "") if self._times_read[name] == 1 else ""

    def _comes_from_relu(self, name: str) -> bool:
        producer = self._producers.get(name)
        while producer is not None and producer.op_type == "Reshape":
            producer = self._producers.get(producer.input[0])
        return producer is not None and producer.op_type == "Relu"


def names_read(graph: onnx.GraphProto) -> Iterator[str]:
    """Yields every name that a graph reads, in subgraphs too, and its outputs."""
    for node in graph.node:
        yield from node.input
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from names_read(attribute.g)
    for value in graph.output:
        yield value.name


def remove_unread(graph: onnx.GraphProto) -> None:
    """Removes initializers, and the transposes of initializers, that nothing reads any more."""
    read = set(names_read(graph))
    nodes = [n for n in graph.node if n.op_type != "Transpose" or n.output[0] in read]
    del graph.node[:]
    graph.node.extend(nodes)
    read = set(names_read(graph))
    for index in reversed(range(len(graph.initializer))):
        if graph.initializer[index].name not in read:
            del graph.initializer[index]
