"""Inputs of an export: checks that a model and its tokenizers fit each other, and converts the
model to float32.
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
    """Checks that a model can be exported with these tokenizers; a model of one stack has only one.

    Raises:
        TypeError: The model is not one of this package.
        ValueError: Keras runs on another backend than TensorFlow, the model is quantized or has
            features, or a tokenizer's size or special ids differ from the model's.
    """
    require_tensorflow_backend("the export")
    if not isinstance(model, AnyModel):
        raise TypeError(
            "model must come from build_transformer, build_encoder or build_decoder, got "
            f"{type(model).__name__}: if it was loaded from a file, import "
            "keras_transformer.models before keras.saving.load_model."
        )
    if getattr(model.config, "features", ()):
        raise ValueError(
            "a model with features reads words with other models, each with a vocabulary of its "
            "own, which no export holds: answer with the run itself (features)."
        )
    if quantized_parts(model):
        raise ValueError(
            "the model was quantized with Keras, but exports need float weights: export the "
            "original model, with --quantize int8 for int8 weights in ONNX."
        )
    if source is not target and not isinstance(model, Transformer):
        raise ValueError(
            "a model with one stack has one tokenizer, got a target_tokenizer as well: leave it "
            "out."
        )
    check_vocabularies(model.config, source, target)
    found, expected = shared_special_ids(source, target), model.config.special_ids
    if found != dataclasses.replace(expected, decoder_start=found.decoder_start):
        raise ValueError(
            f"the special ids of the tokenizer are {found}, but those of the model are "
            f"{expected}: give the tokenizer that the model was trained with."
        )


def check_shortlist(model: AnyModel, shortlist: Shortlist | None) -> None:
    """Checks that a shortlist, if any, fits a translation model.

    Raises:
        ValueError: The model does not translate, the shortlist was made for other vocabularies, or
            it lacks the id of an end or of a mark of a language.
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
                f"the shortlist has {found} {side} ids, but the model {expected}: make the "
                "shortlist with the tokenizers of this model."
            )
    missing = sorted(ids_of_every_text(config) - set(shortlist.always.tolist()))
    if missing:
        raise ValueError(
            f"the shortlist must offer the special ids for every text, but {missing} are missing: "
            "make it again with `train_shortlist`."
        )


def ids_of_every_text(config: TransformerConfig) -> set[int]:
    """Returns the ids that any translation may need: eos, unk, slots, and marks of languages."""
    special = config.special_ids
    found = {special.eos, special.unk} | config.marks.ids - special.never_generated
    return {token for token in found if token is not None} | {*special.slots}


def in_float32(model: Model) -> Model:
    """Returns the model itself, or a float32 copy of it if layers compute in another type.

    In the copy, LoRA's matrices are merged into the weights.
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
