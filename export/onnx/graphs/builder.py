"""A builder of ONNX graphs, node by node."""

import hashlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx.numpy_helper import from_array, to_array

from keras_transformer.artefact.entries import GraphTensor

_PRODUCER = "keras-transformer"
# An operator's input: the name of a value, or an array, which is stored in the graph; None leaves
# out an optional input.
Operand = str | np.ndarray | np.generic | None


def integers(*values: int) -> np.ndarray:
    """Returns int64 `(len(values),)`, as operators take shapes and axes."""
    return np.array(values, np.int64)


def digest(values: np.ndarray) -> bytes:
    """Returns a digest of an array: equal for equal types, shapes and values."""
    found = hashlib.sha256(f"{values.dtype} {values.shape}".encode())
    found.update(np.ascontiguousarray(values).reshape(-1).view(np.uint8).data)
    return found.digest()


class GraphBuilder:
    """A graph under construction.

    Args:
        inputs: Its inputs in order; nodes may use their names as values.
        opset: Version of the standard operators, 18 or newer.

    Attributes:
        given: The names of its inputs.

    Example:
        >>> x, y = (GraphTensor(name=name, dtype="float32", shape=("rows", 2)) for name in "xy")
        >>> graph = GraphBuilder([x], opset=18)
        >>> graph.output("y", graph.op("Add", "x", np.ones(2, np.float32)))
        >>> [node.op_type for node in graph.finish([y]).graph.node]
        ['Add']
    """

    def __init__(self, inputs: Sequence[GraphTensor], opset: int) -> None:
        self.opset = opset
        self._model = onnx.ModelProto(producer_name=_PRODUCER)
        self._graph = self._model.graph
        self._graph.name = "graph"
        self._graph.input.extend(map(_declared, inputs))
        self.given = frozenset(one.name for one in inputs)
        self._stored: dict[bytes, str] = {}
        self._shared: dict[Hashable, Any] = {}
        self._outputs: dict[str, str] = {}

    def op(self, name: str, *inputs: Operand, domain: str = "", **attributes: Any) -> str:
        """Adds an operator with one output and returns the output's name."""
        return self.ops(name, *inputs, count=1, domain=domain, **attributes)[0]

    def ops(
        self, name: str, *inputs: Operand, count: int, domain: str = "", **attributes: Any
    ) -> list[str]:
        """Adds an operator with `count` outputs and returns their names.

        Args:
            name: The operator, such as "Gemm".
            *inputs: Its inputs in order.
            count: How many outputs it has.
            domain: Its operator domain; empty for standard ONNX.
            **attributes: Its attributes.
        """
        node_name = f"{name}_{len(self._graph.node)}"
        outputs = [f"{node_name}:{place}" for place in range(count)]
        self._graph.node.append(
            onnx.helper.make_node(
                name,
                [self.operand(value) for value in inputs],
                outputs,
                name=node_name,
                domain=domain,
                **attributes,
            )
        )
        return outputs

    def operand(self, value: Operand) -> str:
        """Returns the name of a value; arrays are stored, equal ones under one name."""
        if value is None or isinstance(value, str):
            return value or ""
        values = np.asarray(value)
        key = digest(values)
        if key not in self._stored:
            self._stored[key] = f"stored_{len(self._stored)}"
            self._graph.initializer.append(
                from_array(np.ascontiguousarray(values).reshape(values.shape), self._stored[key])
            )
        return self._stored[key]

    def shared(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Returns what `make` returned at the first call with this key."""
        if key not in self._shared:
            self._shared[key] = make()
        return self._shared[key]

    def cast(self, value: Operand, dtype: str) -> str:
        """Converts a value to a NumPy type, such as "int32"."""
        return self.op("Cast", value, to=_element_type(dtype))

    def reshape(self, value: Operand, *sizes: int) -> str:
        """Reshapes a value; one size may be -1."""
        return self.op("Reshape", value, integers(*sizes))

    def extended_shape(self, name: str, *sizes: int) -> str:
        """Returns the shape of a value followed by more sizes, made once for the graph."""
        shape = self.shared(("shape", name), lambda: self.op("Shape", name))
        if not sizes:
            return shape
        key = ("extended shape", name, sizes)
        return self.shared(key, lambda: self.op("Concat", shape, integers(*sizes), axis=0))

    def splice(self, graph: onnx.GraphProto, inputs: Mapping[str, str]) -> dict[str, str]:
        """Adds all nodes of another graph.

        Args:
            graph: The other graph.
            inputs: For each of its inputs, a value of this graph.

        Returns:
            For each of its outputs, the value in this graph.
        """
        prefix = f"spliced_{len(self._graph.node)}"
        names = {"": "", **inputs}
        for tensor in graph.initializer:
            names[tensor.name] = self.operand(to_array(tensor))
        for node in graph.node:
            names.update({name: f"{prefix}/{name}" for name in node.output if name})
        for node in graph.node:
            added = self._graph.node.add()
            added.CopyFrom(node)
            added.name = f"{prefix}/{node.name}"
            _rename(added, names)
        return {value.name: names[value.name] for value in graph.output}

    def output(self, name: str, value: str) -> None:
        """Makes a value one of the graph's outputs."""
        self._outputs[name] = value

    def outputs(self, names: Iterable[str], values: Iterable[str]) -> None:
        """Makes values outputs of the graph."""
        self._outputs.update(zip(names, values, strict=True))

    def drop_unread(self) -> None:
        """Removes nodes that no output so far depends on, and weights that only those nodes
        read.
        """
        read, kept = set(self._outputs.values()), list[onnx.NodeProto]()
        for node in reversed(self._graph.node):
            if read.intersection(node.output):
                kept.append(node)
                read.update(node.input)
        stored = [tensor for tensor in self._graph.initializer if tensor.name in read]
        for field, values in ((self._graph.node, kept[::-1]), (self._graph.initializer, stored)):
            copies = list(values)
            del field[:]
            field.extend(copies)

    def finish(self, outputs: Sequence[GraphTensor]) -> onnx.ModelProto:
        """Returns the graph with its outputs in order; nothing may be added afterwards.

        Raises:
            RuntimeError: The graph's outputs are not these.
        """
        if sorted(self._outputs) != sorted(spec.name for spec in outputs):
            raise RuntimeError(f"the graph has the outputs {', '.join(sorted(self._outputs))}.")
        names = {value: name for name, value in self._outputs.items()}
        for node in self._graph.node:
            _rename(node, names)
        self._graph.output.extend(map(_declared, outputs))
        domains = sorted({node.domain for node in self._graph.node} | {""})
        opsets = [onnx.helper.make_opsetid(one, 1 if one else self.opset) for one in domains]
        self._model.opset_import.extend(opsets)
        self._model.ir_version = onnx.helper.find_min_ir_version_for(opsets, True)
        return self._model


def names_read(graph: onnx.GraphProto) -> Iterator[str]:
    """Yields every name that a graph reads, in subgraphs too, and its outputs."""
    for node in graph.node:
        yield from node.input
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from names_read(attribute.g)
    for value in graph.output:
        yield value.name


def _declared(spec: GraphTensor) -> onnx.ValueInfoProto:
    return onnx.helper.make_tensor_value_info(
        spec.name, _element_type(spec.dtype), list(spec.shape)
    )


def _element_type(dtype: str) -> int:
    return onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


def _rename(node: onnx.NodeProto, names: Mapping[str, str]) -> None:
    """Renames values, in the subgraphs of a node as well."""
    for field in (node.input, node.output):
        field[:] = [names.get(name, name) for name in field]
    for attribute in node.attribute:
        for inner in attribute.g.node:
            _rename(inner, names)
        for value in attribute.g.output:
            value.name = names.get(value.name, value.name)
