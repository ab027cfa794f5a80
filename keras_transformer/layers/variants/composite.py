"""Layers made of layers: which parts are quantized or frozen is saved with the whole, and so they
are when it is loaded.
"""

from typing import Any

import keras

from keras_transformer.layers.variants.freezing import freeze_parts, frozen_parts
from keras_transformer.layers.variants.quantization import parts_of, quantize_parts, quantized_parts

# What a file may say of the parts of a layer or model.
PARTS = QUANTIZED, FROZEN = ("quantized", "frozen")


class Composite(keras.layers.Layer):
    """A layer that builds others, which may be quantized or frozen when it is saved.

    Keras saves the dtype policy and the `trainable` of the whole only. Without those of its parts,
    a reloaded layer has float weights where the file has integers and their scales, and trains what
    was frozen.
    """

    def get_build_config(self) -> dict[str, Any]:
        """Returns what Keras saves to build the layer, and what is particular to its parts."""
        config = super().get_build_config() or {}
        return {**config, **saved_parts(self)}

    def build_from_config(self, config: dict[str, Any]) -> None:
        """Builds the layer as it was saved."""
        super().build_from_config(config)
        restore_parts(self, config)

    def _post_build(self) -> None:
        """Freezes what `build` made, if the layer was frozen before."""
        super()._post_build()
        if not self.trainable:
            # Not by its own `trainable`: to set what is set already does nothing on TensorFlow.
            freeze_parts(self, [path for path, _ in parts_of(self)])


def saved_parts(whole: keras.layers.Layer) -> dict[str, Any]:
    """Returns, as plain values, how parts of a built layer or model are quantized and frozen."""
    found = {QUANTIZED: quantized_parts(whole) or None, FROZEN: frozen_parts(whole)}
    return {key: value for key, value in found.items() if value is not None}


def restore_parts(whole: keras.layers.Layer, saved: dict[str, Any]) -> None:
    """Quantizes and freezes parts of a built layer or model as `saved_parts` says."""
    quantize_parts(whole, saved.get(QUANTIZED, {}))
    freeze_parts(whole, saved.get(FROZEN))
