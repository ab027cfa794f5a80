"""Prepares the inputs of an export: checks a model and its tokenizers against each other, and
returns the model in float32, the type of its weights.
"""

import dataclasses

import keras

from keras_transformer.models.transformer import Transformer
from keras_transformer.text.tokenizer import Tokenizer, shared_special_ids


def check_inputs(model: Transformer, source: Tokenizer, target: Tokenizer) -> None:
    """Checks that a model can be exported with these tokenizers.

    Raises:
        TypeError: The model is no `Transformer`.
        ValueError: Keras runs on another backend than TensorFlow, or a tokenizer's size or special
            ids differ from the model's.
    """
    if keras.backend.backend() != "tensorflow":
        raise ValueError(
            f"the export needs Keras on TensorFlow, got the backend {keras.backend.backend()!r}: "
            "set KERAS_BACKEND=tensorflow."
        )
    if not isinstance(model, Transformer):
        raise TypeError(
            f"model must come from build_transformer, got {type(model).__name__}: load it with "
            "keras.saving.load_model after importing keras_transformer.models.transformer."
        )
    for side, tokenizer in (("source", source), ("target", target)):
        size = getattr(model.config, f"{side}_vocab_size")
        if tokenizer.vocab_size != size:
            raise ValueError(
                f"the {side} tokenizer has {tokenizer.vocab_size} ids, but the model's "
                f"{side}_vocab_size is {size}: give the tokenizer it was trained with."
            )
    found, expected = shared_special_ids(source, target), model.config.special_ids
    if found != dataclasses.replace(expected, decoder_start=found.decoder_start):
        raise ValueError(
            f"the tokenizer has the {found}, but the model's are {expected}: give the tokenizer "
            "it was trained with."
        )


def in_float32(model: Transformer) -> Transformer:
    """Returns the model itself, or a float32 copy of it if layers compute in another type."""
    if all(layer.compute_dtype == "float32" for layer in model.layers):
        return model
    policy = keras.config.dtype_policy()
    keras.config.set_dtype_policy("float32")
    try:
        twin = Transformer(model.config)
    finally:
        keras.config.set_dtype_policy(policy)
    twin.set_weights([keras.ops.convert_to_numpy(w).astype("float32") for w in model.weights])
    return twin
