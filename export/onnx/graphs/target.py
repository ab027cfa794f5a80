"""The interface of a target. `OnnxRuntime` and `Native` emit graphs from the model's layers; for
`Portable`, tf2onnx converts the model's own functions.
"""

from typing import Protocol

import onnx

from keras_transformer.export.inputs import AnyModel
from keras_transformer.export.onnx.graphs.specs import Listing


class Target(Protocol):
    """Makes the graphs of a model, each with the inputs and outputs of `specs.graph_specs`.

    Attributes:
        listing: Where steps read the weights of a shortlist's ids.
    """

    listing: Listing

    def graph(self, name: str, model: AnyModel, opset: int) -> onnx.ModelProto:
        """Returns a graph.

        Args:
            name: One of the graphs of the model's family, such as "decoder".
            model: A float32 model.
            opset: Version of the standard operators, 18 or newer.
        """
