"""Support for Keras's `export`, and checks for models that it cannot write."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import keras
import numpy as np

from keras_transformer.layers.variants.quantization import quantized_parts


@contextmanager
def exporting(model: keras.Model, format: str) -> Iterator[None]:
    """Makes `keras.Model.export` ready for a model of ours.

    Args:
        model: Of any family.
        format: As for `export`.

    Raises:
        ValueError: The format cannot hold the model.
    """
    if format == "litert" and quantized_parts(model):
        raise ValueError(
            "LiteRT cannot multiply the integers of a model that Keras quantized: export the model "
            "before `quantize`, with optimizations=[tf.lite.Optimize.DEFAULT] for weights of 8 "
            "bits."
        )
    with warnings.catch_warnings():
        if format == "onnx" and keras.backend.backend() == "tensorflow":
            # tf2onnx reads names of numpy that are deprecated.
            warnings.simplefilter("ignore")
            teach_erfc()
            # Keras refuses a model that was not called.
            model({one.name: keras.ops.zeros((1, 1), "int32") for one in model.inputs})
        yield


def teach_erfc() -> None:
    """Makes tf2onnx convert erfc(x), which exact gelu contains and ONNX lacks, to 1 - erf(x)."""
    from tf2onnx.handler import tf_op

    @tf_op("Erfc")
    class Erfc:
        """The name of the method is the first operator set that has Erf."""

        @classmethod
        def version_9(cls, context: Any, node: Any, **options: Any) -> None:
            """Replaces a node."""
            name, output, [values] = node.name, node.output[0], node.input
            kind = {"shapes": [context.get_shape(output)], "dtypes": [context.get_dtype(output)]}
            context.remove_node(name)
            one = context.make_const(f"{name}/one", np.ones((), np.float32)).output[0]
            erf = context.make_node("Erf", [values], name=f"{name}/erf", **kind).output[0]
            context.make_node("Sub", [one, erf], name=name, outputs=[output], **kind)
