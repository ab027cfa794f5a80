"""keras-hub's `TransformerEncoder` and `TransformerDecoder`, stacked into the same model.

The lean loss and the first weights are ours, and no padding mask hides the targets' padding, which
causality does.
"""

import keras
import keras_hub
from keras import layers, ops
from speed.serving import serve

from keras_transformer.config import TransformerConfig
from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.layers.initializers import linear_initializer
from keras_transformer.training.loss.label_smoothing import SmoothedCrossEntropy

from ..batches import Batch
from ..keras_trainer import KerasTrainer, optimizer
from ..trainer import OPTIONS

PAD_ID = SpecialIds.pad


class KerasHubTrainer(KerasTrainer):
    """keras-hub's layers, trained with `fit`."""

    def make(self, config: TransformerConfig, precision: str, jit_compile: bool) -> keras.Model:
        """Builds and compiles the model."""
        keras.config.set_dtype_policy(precision)
        model = _transformer(config)
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


def _transformer(config: TransformerConfig) -> keras.Model:
    embedding = keras_hub.layers.ReversibleEmbedding(
        config.target_vocab_size,
        config.model_dim,
        embeddings_initializer=keras.initializers.RandomNormal(stddev=config.model_dim**-0.5),
    )
    shape = {
        "intermediate_dim": config.feed_forward_dim,
        "num_heads": config.num_heads,
        "dropout": config.dropout,
        "activation": config.activation,
        "layer_norm_epsilon": config.layer_norm_epsilon,
        "normalize_first": config.norm == "pre",
        "kernel_initializer": linear_initializer(),
    }

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


def _set_attention_dropout(block: keras.layers.Layer, rate: float) -> None:
    """keras-hub drops attention weights as often as features; our model sets the two apart."""
    for name in ("_self_attention_layer", "_cross_attention_layer"):
        attention = getattr(block, name, None)
        if attention is not None:
            attention._dropout = rate
            attention._dropout_layer.rate = rate


def _final_norm(states: object, config: TransformerConfig) -> object:
    if config.norm == "post":
        return states
    return layers.LayerNormalization(epsilon=config.layer_norm_epsilon)(states)


if __name__ == "__main__":
    serve(KerasHubTrainer())
