"""The interface of a target: takes a model and returns its graphs. `OnnxRuntime` and `Native` emit
them from the model's layers; for `Portable`, tf2onnx converts the model's own functions.
"""

from typing import Protocol

import onnx

from keras_transformer.models.transformer import Transformer


class Target(Protocol):
    """Makes the graphs of a model, each with the inputs and outputs of `specs.SPECS`."""

    def graph(self, name: str, model: Transformer, opset: int) -> onnx.ModelProto:
        """Returns a graph.

        Args:
            name: "encoder", "decoder", "greedy", "greedy_scores" or "scorer".
            model: A float32 model.
            opset: Version of the standard operators, 18 or newer.
        """
