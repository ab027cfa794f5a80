"""Prepares the inputs of an export: checks a model and its tokenizers against each other, and
returns the model in float32, the type of its weights.
"""

import dataclasses
from typing import TypeVar

import keras

from keras_transformer.artefact.shortlist import Shortlist
from keras_transformer.config import TransformerConfig
from keras_transformer.keras_backend import require_tensorflow_backend
from keras_transformer.layers.variants.quantization import quantized_parts
from keras_transformer.models.decoder_only import DecoderOnly
from keras_transformer.models.encoder_only import EncoderOnly
from keras_transformer.models.lora.adaptation import merged_weights
from keras_transformer.models.transformer import Transformer
from keras_transformer.text.tokenizer import Tokenizer, shared_special_ids
from keras_transformer.text.tokenizer_files import check_vocabularies

AnyModel = Transformer | EncoderOnly | DecoderOnly
Model = TypeVar("Model", Transformer, EncoderOnly, DecoderOnly)


def check_inputs(model: AnyModel, source: Tokenizer, target: Tokenizer) -> None:
    """Checks that a model can be exported with these tokenizers; of one stack they are the same.

    Raises:
        TypeError: The model is none of this package.
        ValueError: Keras runs on another backend than TensorFlow, the model is quantized, or a
            tokenizer's size or special ids differ from the model's.
    """
    require_tensorflow_backend("the export")
    if not isinstance(model, AnyModel):
        raise TypeError(
            "model must come from build_transformer, build_encoder or build_decoder, got "
            f"{type(model).__name__}: load it with keras.saving.load_model after importing "
            "keras_transformer.models."
        )
    if quantized_parts(model):
        raise ValueError(
            "the model is quantized by Keras, and exports take float weights: export the model "
            "that it was made of, with --quantize int8 for integers in ONNX."
        )
    if source is not target and not isinstance(model, Transformer):
        raise ValueError("a model with one stack has one tokenizer, got a target_tokenizer.")
    check_vocabularies(model.config, source, target)
    found, expected = shared_special_ids(source, target), model.config.special_ids
    if found != dataclasses.replace(expected, decoder_start=found.decoder_start):
        raise ValueError(
            f"the tokenizer has the {found}, but the model's are {expected}: give the tokenizer "
            "it was trained with."
        )


def check_shortlist(model: AnyModel, shortlist: Shortlist | None) -> None:
    """Checks that a model's translations can be made of a shortlist's ids; None is no shortlist.

    Raises:
        ValueError: The model translates nothing, the shortlist is that of other vocabularies, or
            an id that ends or marks a text is no candidate.
    """
    if shortlist is None:
        return
    if not isinstance(model, Transformer):
        raise ValueError(
            f"a shortlist is for translation models, got a {type(model).__name__}: leave it out."
        )
    config = model.config
    for side, found, expected in (
        ("source", shortlist.source_vocab_size, config.source_vocab_size),
        ("target", shortlist.target_vocab_size, config.target_vocab_size),
    ):
        if found != expected:
            raise ValueError(
                f"the shortlist has {found} {side} ids, but the model {expected}: make it with the "
                "model's own tokenizers."
            )
    missing = sorted(ids_of_every_text(config) - set(shortlist.always.tolist()))
    if missing:
        raise ValueError(
            f"the shortlist must have the special ids as candidates of every text, but "
            f"{missing} are missing."
        )


def ids_of_every_text(config: TransformerConfig) -> set[int]:
    """Returns the ids that any translation may need: eos, unk, and marks of languages."""
    special = config.special_ids
    found = {special.eos, special.unk} | config.marks.ids - special.never_generated
    return {token for token in found if token is not None}


def in_float32(model: Model) -> Model:
    """Returns the model itself, or a float32 copy of it if layers compute in another type.

    LoRA's products are added in the copy.
    """
    if all(layer.compute_dtype == "float32" for layer in model.layers):
        return model
    policy = keras.config.dtype_policy()
    keras.config.set_dtype_policy("float32")
    try:
        twin = type(model)(model.config)
    finally:
        keras.config.set_dtype_policy(policy)
    twin.set_weights([value.astype("float32") for value in merged_weights(model)])
    return twin
