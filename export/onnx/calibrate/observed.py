"""The float32 graphs of a model over texts: their answers, and the second moments of the inputs of
each linear layer.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnxruntime import InferenceSession, SessionOptions

from keras_transformer.artefact.manifest import WEIGHTS_FILE
from keras_transformer.export.inputs import AnyModel
from keras_transformer.export.onnx.calibrate.rows import Arrays
from keras_transformer.export.onnx.graphs.builder import GraphBuilder, digest
from keras_transformer.export.onnx.graphs.onnxruntime import OnnxRuntime
from keras_transformer.export.onnx.graphs.specs import graph_specs
from keras_transformer.export.onnx.layers.linear import Linear
from keras_transformer.export.onnx.quantize.int4 import lines_of, stays_float
from keras_transformer.export.onnx.quantize.kernels import Float32
from keras_transformer.export.onnx.weights_file import save_graphs
from keras_transformer.runtime.onnx_graphs.providers import CPU

# The graphs that read whole texts.
_OF_TEXTS = ("encoder", "head", "scorer")


# Rows of inputs that are multiplied at a time: many, as the sums are larger than a text's inputs.
_ROWS = 1 << 11


class ObservingKernels(Float32):
    """float32, with nodes that return the inputs of each layer; see `Kernels`.

    Attributes:
        inputs: For each layer's lines, by their digest, the values of its inputs.
    """

    def __init__(self) -> None:
        self.inputs: dict[bytes, list[str]] = {}

    def linear(self, graph: GraphBuilder, inputs: str, layer: Linear, residual: str = "") -> str:
        """Adds the layer and a copy of its inputs, which layers of the same inputs share."""
        if not stays_float(layer.units):
            seen = graph.shared(("seen", inputs), lambda: graph.op("Identity", inputs))
            self.inputs.setdefault(digest(lines_of(layer)), []).append(seen)
        return super().linear(graph, inputs, layer, residual)


class _Moments:
    """Sums of the products of every two of a row's numbers, float64 `(width, width)`."""

    def __init__(self, width: int) -> None:
        self._sums, self._waiting = np.zeros((width, width)), list[np.ndarray]()

    def add(self, rows: np.ndarray) -> None:
        self._waiting.append(rows)
        if sum(map(len, self._waiting)) >= _ROWS:
            self.sums()

    def sums(self) -> np.ndarray:
        if self._waiting:
            rows = np.concatenate(self._waiting)
            self._sums += rows.T @ rows
            self._waiting.clear()
        return self._sums


class ObservedGraphs:
    """A model's graphs in float32, as onnxruntime's operators run them: where these add an output's
    bias to the states before it (`run_sub_layers`), the inputs of layers there are seen with it.

    Args:
        model: A float32 model.
        opset: Version of the standard operators.
        directory: An empty directory, where graphs and weights are kept.
    """

    def __init__(self, model: AnyModel, opset: int, directory: Path) -> None:
        self._moments: dict[tuple[str, str], _Moments] = {}
        self._observed: dict[str, dict[bytes, list[str]]] = {}
        save_graphs(self._emit(model, opset), directory, WEIGHTS_FILE)
        options = SessionOptions()
        # Its threads would take the cores between texts.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._sessions = {
            name: InferenceSession(str(directory / f"{name}.onnx"), options, providers=[CPU])
            for name in self._observed
        }

    def _emit(self, model: AnyModel, opset: int) -> Iterator[tuple[str, onnx.ModelProto]]:
        for name in _OF_TEXTS:
            if name not in graph_specs(model.config):
                continue
            kernels = ObservingKernels()
            graph = OnnxRuntime(kernels).graph(name, model, opset)
            values = {value for one in kernels.inputs.values() for value in one}
            graph.graph.output.extend(onnx.ValueInfoProto(name=value) for value in sorted(values))
            self._observed[name] = kernels.inputs
            yield f"{name}.onnx", graph

    def run(self, name: str, inputs: Arrays) -> Arrays:
        """Runs a graph and adds to the moments; arrays that it does not take are ignored."""
        session: Any = self._sessions[name]
        outputs = [one.name for one in session.get_outputs()]
        given = {one.name: inputs[one.name] for one in session.get_inputs()}
        found = dict(zip(outputs, session.run(outputs, given), strict=True))
        for value in {value for values in self._observed[name].values() for value in values}:
            rows = found.pop(value)
            self._moments.setdefault((name, value), _Moments(rows.shape[1])).add(rows)
        return found

    def close(self) -> None:
        """Frees the graphs; the moments stay."""
        self._sessions.clear()

    def moments(self, lines: np.ndarray) -> np.ndarray | None:
        """Returns the sums of the products of every two inputs of a layer over all texts so far.

        Args:
            lines: The layer's weights `(outputs, inputs)`.

        Returns:
            float64 `(inputs, inputs)`; None if no text was read by such a layer.
        """
        key = digest(lines)
        found = [
            self._moments[name, value].sums()
            for name, observed in self._observed.items()
            for value in observed.get(key, ())
            if (name, value) in self._moments
        ]
        return sum(found[1:], found[0]) if found else None
