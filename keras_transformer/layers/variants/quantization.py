"""Records how Keras quantized the layers of a model or layer, and quantizes them again."""

from collections.abc import Iterator, Mapping
from typing import Any

import keras
from keras import ops

from keras_transformer.garbage import quick_collections
from keras_transformer.tensors import Tensor

# By path below the whole: the mode, and Keras's quantization config as plain values.
Quantized = dict[str, dict[str, Any]]


def quantized_parts(whole: keras.layers.Layer) -> Quantized:
    """Returns how the quantized layers inside a built layer or model are quantized."""
    return {
        path: {
            "mode": layer.quantization_mode,
            "config": keras.saving.serialize_keras_object(layer.quantization_config),
        }
        for path, layer in parts_of(whole)
        if layer.quantization_mode is not None
    }


def quantize_parts(whole: keras.layers.Layer, quantized: Mapping[str, Mapping[str, Any]]) -> None:
    """Quantizes layers inside a built layer or model as `quantized_parts` says."""
    if not quantized:
        return
    parts = dict(parts_of(whole))
    # Keras collects garbage after each weight that it replaces.
    with quick_collections():
        for path, saved in quantized.items():
            config = keras.saving.deserialize_keras_object(saved["config"])
            parts[path].quantize(saved["mode"], config=config)


def float_kernel(linear: keras.layers.Dense) -> Tensor:
    """Returns the matrix that a linear layer multiplies by, `(inputs, outputs)`, in floats.

    Raises:
        ValueError: The layer is quantized otherwise than to int8.
    """
    if linear.quantization_mode in (None, "float8"):
        return linear.kernel
    if linear.quantization_mode != "int8":
        raise ValueError(
            f"{linear.path} is quantized to {linear.quantization_mode}, of which only int8 can be "
            "read as floats: quantize the model to int8, or leave this layer out with `filters`."
        )
    return ops.cast(linear.kernel, "float32") / ops.cast(linear.kernel_scale, "float32")


def parts_of(whole: keras.layers.Layer) -> Iterator[tuple[str, keras.layers.Layer]]:
    """Yields the layers inside a layer or a model, with their paths below it."""
    above = f"{whole.path}/" if whole.path else ""
    for layer in whole._flatten_layers(include_self=False):
        if layer.path:
            yield layer.path.removeprefix(above), layer
