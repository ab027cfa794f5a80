"""keras-hub's `TransformerEncoder` and `TransformerDecoder`, stacked into the same models.

The lean loss and the first weights are ours, and no padding mask hides the targets' padding, which
causality does.
"""

from collections.abc import Callable
from typing import Any

import keras
import keras_hub
from keras import layers, ops
from speed.serving import serve

from keras_transformer.config import TransformerConfig
from keras_transformer.config.block_options import BlockOptions
from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.config.families import ModelConfig
from keras_transformer.config.single_stack import SingleStackConfig
from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.layers.initializers import linear_initializer
from keras_transformer.layers.variants.activations import activation_named
from keras_transformer.training.loss.label_smoothing import SmoothedCrossEntropy

from ..batches import Batch
from ..keras_trainer import KerasTrainer
from ..optimizer import optimizer
from ..trainer import OPTIONS

PAD_ID = SpecialIds.pad


class KerasHubTrainer(KerasTrainer):
    """keras-hub's layers, trained with `fit`."""

    def make(self, config: ModelConfig, precision: str, jit_compile: bool) -> keras.Model:
        """Builds and compiles the model."""
        keras.config.set_dtype_policy(precision)
        model = _MAKERS[type(config)](config)
        model.compile(
            optimizer=optimizer(),
            loss=SmoothedCrossEntropy(OPTIONS.label_smoothing),
            weighted_metrics=[keras.metrics.SparseCategoricalAccuracy()],
            jit_compile=jit_compile,
        )
        return model

    def element(self, batch: Batch) -> object:
        """Adds the weights."""
        return (*super().element(batch), batch.sample_weight)


def transformer(config: TransformerConfig) -> keras.Model:
    """Stacks the encoder-decoder."""
    embedding, shape = _embedding(config.target_vocab_size, config.model_dim), _shape(config)

    def embed(ids: object) -> object:
        states = embedding(ids) * config.model_dim**0.5
        return layers.Dropout(config.dropout)(
            states + keras_hub.layers.SinePositionEncoding()(states)
        )

    source_ids = keras.Input((None,), dtype="int32", name="source_ids")
    target_ids = keras.Input((None,), dtype="int32", name="target_ids")
    keep = ops.not_equal(source_ids, PAD_ID)
    source = embed(source_ids)
    for _ in range(config.num_encoder_layers):
        block = keras_hub.layers.TransformerEncoder(**shape)
        block.build(source.shape)
        _set_attention_dropout(block, config.attention_dropout)
        source = block(source, padding_mask=keep)
    source = _final_norm(source, config)
    target = embed(target_ids)
    for _ in range(config.num_decoder_layers):
        block = keras_hub.layers.TransformerDecoder(**shape)
        block.build(target.shape, source.shape)
        _set_attention_dropout(block, config.attention_dropout)
        target = block(target, source, encoder_padding_mask=keep)
    logits = embedding(_final_norm(target, config), reverse=True)
    return keras.Model({"source_ids": source_ids, "target_ids": target_ids}, logits)


def bert(config: EncoderConfig) -> keras.Model:
    """Stacks the encoder alone, with its head for hidden tokens."""
    names = ("token_ids", "token_type_ids", "places")
    token_ids, types, places = (keras.Input((None,), dtype="int32", name=name) for name in names)
    keep = ops.not_equal(token_ids, PAD_ID)
    embedding = _embedding(config.vocab_size, config.model_dim)
    deviation = keras.initializers.RandomNormal(stddev=config.model_dim**-0.5)
    typed = layers.Embedding(config.num_token_types, config.model_dim, deviation)(types)
    states = _with_positions(embedding(token_ids), config) + typed
    states = layers.LayerNormalization(epsilon=config.layer_norm_epsilon)(states)
    states = layers.Dropout(config.dropout)(states)
    for _ in range(config.num_layers):
        block = keras_hub.layers.TransformerEncoder(**_shape(config))
        block.build(states.shape)
        _set_attention_dropout(block, config.attention_dropout)
        states = block(states, padding_mask=keep)
    head = keras_hub.layers.MaskedLMHead(
        token_embedding=embedding,
        intermediate_activation=activation_named(config.activation),
        layer_norm_epsilon=config.layer_norm_epsilon,
        kernel_initializer=linear_initializer(),
    )
    inputs = dict(zip(names, (token_ids, types, places), strict=True))
    return keras.Model(inputs, head(states, mask_positions=places))


def gpt(config: DecoderConfig) -> keras.Model:
    """Stacks the decoder alone."""
    token_ids = keras.Input((None,), dtype="int32", name="token_ids")
    embedding = _embedding(config.vocab_size, config.model_dim)
    states = layers.Dropout(config.dropout)(_with_positions(embedding(token_ids), config))
    for _ in range(config.num_layers):
        block = keras_hub.layers.TransformerDecoder(**_shape(config))
        block.build(states.shape)
        _set_attention_dropout(block, config.attention_dropout)
        states = block(states)
    logits = embedding(_final_norm(states, config), reverse=True)
    return keras.Model({"token_ids": token_ids}, logits)


_MAKERS: dict[type, Callable[[Any], keras.Model]] = {
    TransformerConfig: transformer,
    EncoderConfig: bert,
    DecoderConfig: gpt,
}


def _embedding(vocab_size: int, width: int) -> keras.layers.Layer:
    return keras_hub.layers.ReversibleEmbedding(
        vocab_size,
        width,
        embeddings_initializer=keras.initializers.RandomNormal(stddev=width**-0.5),
    )


def _with_positions(states: object, config: SingleStackConfig) -> object:
    deviation = keras.initializers.RandomNormal(stddev=0.02)
    return states + keras_hub.layers.PositionEmbedding(config.max_positions, deviation)(states)


def _shape(config: BlockOptions) -> dict[str, object]:
    return {
        "intermediate_dim": config.feed_forward_dim,
        "num_heads": config.num_heads,
        "dropout": config.dropout,
        "activation": activation_named(config.activation),
        "layer_norm_epsilon": config.layer_norm_epsilon,
        "normalize_first": config.norm == "pre",
        "kernel_initializer": linear_initializer(),
    }


def _set_attention_dropout(block: keras.layers.Layer, rate: float) -> None:
    """keras-hub drops attention weights as often as features; our model sets the two apart."""
    for name in ("_self_attention_layer", "_cross_attention_layer"):
        attention = getattr(block, name, None)
        if attention is not None:
            attention._dropout = rate
            attention._dropout_layer.rate = rate


def _final_norm(states: object, config: BlockOptions) -> object:
    if config.norm == "post":
        return states
    return layers.LayerNormalization(epsilon=config.layer_norm_epsilon)(states)


if __name__ == "__main__":
    serve(KerasHubTrainer())
