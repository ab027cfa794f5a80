"""The parts of a decoder as graph functions, each traced once."""

import tensorflow as tf

from keras_transformer.decoding.parts import ROWS, cache_specs, of_known_length, shared
from keras_transformer.layers.attention import KeysValues
from keras_transformer.models.decoder_only import DecoderOnly
from keras_transformer.tensors import Tensor


class SharedDecoder:
    """The parts of a model that generation uses.

    Args:
        model: A trained model; changed weights take effect at once.

    Attributes:
        empty_caches: As `DecoderOnly.empty_caches`.
    """

    def __init__(self, model: DecoderOnly) -> None:
        self.empty_caches = model.empty_caches
        config = model.config
        caches = [cache_specs(config, model.compute_dtype)] * config.num_layers
        self._decode_step = shared(
            model.decode_step, tf.TensorSpec((None,), tf.int32), tf.TensorSpec((), tf.int32), caches
        )
        self._read_prompt = shared(model.read_prompt, ROWS, tf.TensorSpec((), tf.int32), caches)

    def decode_step(
        self, token_ids: Tensor, step: Tensor, caches: list[KeysValues]
    ) -> tuple[Tensor, list[KeysValues]]:
        """As `DecoderOnly.decode_step`."""
        logits, written = self._decode_step(token_ids, step, caches)
        return logits, of_known_length(written, caches)

    def read_prompt(
        self, token_ids: Tensor, step: Tensor, caches: list[KeysValues]
    ) -> list[KeysValues]:
        """As `DecoderOnly.read_prompt`."""
        return of_known_length(self._read_prompt(token_ids, step, caches), caches)
