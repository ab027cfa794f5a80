"""Takes a Keras normalisation of either kind and adds its nodes to a graph."""

from typing import Any

import numpy as np

from keras_transformer.config.stack import NormConfig
from keras_transformer.export.onnx.graphs.builder import GraphBuilder, integers
from keras_transformer.export.onnx.layers.linear import weight_array
from keras_transformer.layers.variants.rms_norm import RMSNorm

HOLDS: dict[type, set[str]] = {NormConfig: {"kind", "place", "epsilon"}}


def normalized(graph: GraphBuilder, states: str, norm: Any, more: np.ndarray | None = None) -> str:
    """Applies LayerNorm or RMSNorm over the last axis and adds `more` to the result."""
    gamma, epsilon = weight_array(norm.gamma), float(norm.epsilon)
    if isinstance(norm, RMSNorm):
        found = _rms_norm(graph, states, gamma, epsilon)
        return found if more is None else graph.op("Add", found, more)
    beta = weight_array(norm.beta)
    beta = beta if more is None else beta + more
    return graph.op("LayerNormalization", states, gamma, beta, axis=-1, epsilon=epsilon)


def _rms_norm(graph: GraphBuilder, states: str, gamma: np.ndarray, epsilon: float) -> str:
    """Adds x / √(mean(x²) + ε) · γ, in the form that onnxruntime fuses into one operator."""
    square = graph.op("Pow", states, np.float32(2))
    mean = graph.op("ReduceMean", square, integers(-1), keepdims=1)
    root = graph.op("Sqrt", graph.op("Add", mean, np.float32(epsilon)))
    return graph.op("Mul", graph.op("Div", states, root), gamma)
