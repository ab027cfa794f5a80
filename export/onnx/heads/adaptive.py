"""The adaptive softmax (Grave et al. 2017): log-probabilities of all ids, of which the rarer need
narrower products.
"""

import numpy as np

from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.export.onnx.graphs.builder import GraphBuilder, integers
from keras_transformer.export.onnx.layers.linear import Linear, weight_array
from keras_transformer.export.onnx.quantize.kernels import Kernels
from keras_transformer.layers.heads.adaptive_softmax import AdaptiveSoftmax, Softmax

HOLDS: dict[type, set[str]] = {DecoderConfig: {"cutoffs", "div_value"}}


def adaptive_log_probabilities(
    graph: GraphBuilder, kernels: Kernels, head: AdaptiveSoftmax, states: str
) -> str:
    """Returns float32 `(rows, vocabulary)`.

    Args:
        graph: The graph.
        kernels: How linear layers are stored and multiplied.
        head: The layer.
        states: float32 `(rows, model_dim)`.
    """
    first, *others = (_log_softmax(graph, kernels, one, states) for one in head.softmaxes)
    size = head.clusters[0].size
    ids, *choices = graph.ops(
        "Split", first, integers(size, *([1] * len(others))), count=1 + len(others), axis=1
    )
    found = (graph.op("Add", *pair) for pair in zip(choices, others, strict=True))
    return graph.op("Concat", ids, *found, axis=1)


def _log_softmax(graph: GraphBuilder, kernels: Kernels, softmax: Softmax, states: str) -> str:
    narrow = kernels.linear(graph, states, Linear(weight_array(softmax.projection)))
    bias = None if softmax.bias is None else weight_array(softmax.bias)
    kernel = np.ascontiguousarray(weight_array(softmax.matrix).T)
    return graph.op("LogSoftmax", kernels.linear(graph, narrow, Linear(kernel, bias)), axis=1)
