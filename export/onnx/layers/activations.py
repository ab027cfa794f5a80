"""Activations and soft caps in a graph: an emitter each; tf2onnx converts those that have none."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np

from keras_transformer.artefact.entries import GraphTensor
from keras_transformer.export.onnx.graphs.builder import GraphBuilder
from keras_transformer.export.onnx.graphs.operators import MICROSOFT
from keras_transformer.export.onnx.graphs.tracing import converted
from keras_transformer.layers.variants.activations import gelu_tanh, squared_relu

activations = keras.activations


def _gelu(graph: GraphBuilder, value: str) -> str:
    """Adds x Φ(x), in the form that onnxruntime fuses into one operator."""
    erf = graph.op("Erf", graph.op("Div", value, np.float32(math.sqrt(2))))
    doubled = graph.op("Mul", value, graph.op("Add", erf, np.float32(1)))
    return graph.op("Mul", doubled, np.float32(0.5))


def _gelu_tanh(graph: GraphBuilder, value: str) -> str:
    # Within 1e-6 of Keras's; written out, it would be eight operators.
    return graph.op("FastGelu", value, domain=MICROSOFT)


def _squared_relu(graph: GraphBuilder, value: str) -> str:
    positive = graph.op("Relu", value)
    return graph.op("Mul", positive, positive)


def _silu(graph: GraphBuilder, value: str) -> str:
    return graph.op("Mul", value, graph.op("Sigmoid", value))


def _operator(name: str, **attributes: float) -> Callable[[GraphBuilder, str], str]:
    return lambda graph, value: graph.op(name, value, **attributes)


_EMITTERS: dict[Any, Callable[[GraphBuilder, str], str]] = {
    activations.linear: lambda _, value: value,
    activations.relu: _operator("Relu"),
    activations.leaky_relu: _operator("LeakyRelu", alpha=0.2),
    activations.elu: _operator("Elu"),
    activations.selu: _operator("Selu"),
    activations.softplus: _operator("Softplus"),
    activations.sigmoid: _operator("Sigmoid"),
    activations.tanh: _operator("Tanh"),
    activations.gelu: _gelu,
    gelu_tanh: _gelu_tanh,
    squared_relu: _squared_relu,
    activations.silu: _silu,
}


def soft_capped(graph: GraphBuilder, values: str, cap: float | None) -> str:
    """Returns cap · tanh(values / cap); the values if there is no cap."""
    if cap is None:
        return values
    bounded = graph.op("Tanh", graph.op("Div", values, np.float32(cap)))
    return graph.op("Mul", bounded, np.float32(cap))


@dataclass(frozen=True)
class Activation:
    """A Keras activation of float32 `(rows, width)` in a graph.

    An activation that is not listed above is converted by tf2onnx.
    """

    graph: GraphBuilder
    function: Any
    width: int

    def __call__(self, value: str) -> str:
        """Adds its nodes."""
        if self.function in _EMITTERS:
            return _EMITTERS[self.function](self.graph, value)
        x, y = (
            GraphTensor(name=name, dtype="float32", shape=("rows", self.width)) for name in "xy"
        )
        found = converted(lambda x: {"y": self.function(x)}, ([x], [y]), self.graph.opset)
        return self.graph.splice(found.graph, {"x": value})["y"]


@dataclass(frozen=True)
class Gate:
    """A gated linear unit's activation of one half of `(rows, 2 · units)` times the other half
    (Shazeer 2020).
    """

    graph: GraphBuilder
    activation: Activation

    def __call__(self, value: str) -> str:
        """Adds its nodes."""
        hidden, gate = self.graph.ops("Split", value, count=2, axis=1, num_outputs=2)
        return self.graph.op("Mul", self.activation(hidden), gate)
