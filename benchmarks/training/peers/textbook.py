"""The text-book Transformer in Keras, after TensorFlow's tutorial: `MultiHeadAttention` layers,
implicit masks, a masked loss and accuracy. Sizes, dropout, norms, first weights and the tied matrix
are ours.
"""

import keras
import numpy as np
from keras import layers, ops
from speed.serving import serve

from keras_transformer.config import TransformerConfig
from keras_transformer.layers.initializers import linear_initializer

from ..keras_trainer import KerasTrainer
from ..optimizer import optimizer
from ..trainer import OPTIONS

_MOST_POSITIONS = 2048


class TextbookTrainer(KerasTrainer):
    """The tutorial's model, trained with the tutorial's `fit`."""

    def make(self, config: TransformerConfig, precision: str, jit_compile: bool) -> keras.Model:
        """Builds and compiles the model."""
        keras.config.set_dtype_policy(precision)
        model = _transformer(config)
        model.compile(
            optimizer=optimizer(),
            loss=_masked_loss(config.target_vocab_size, OPTIONS.label_smoothing),
            metrics=[masked_accuracy],
            jit_compile=jit_compile,
        )
        return model


class PositionalEmbedding(layers.Embedding):
    """An embedding with sinusoids added; padding is masked implicitly."""

    def build(self, input_shape: object = None) -> None:
        """Makes the table of sinusoids too."""
        super().build(input_shape)
        rate = 10_000.0 ** (-2 * (np.arange(self.output_dim) // 2) / self.output_dim)
        angles = np.arange(_MOST_POSITIONS)[:, None] * rate
        waves = np.where(np.arange(self.output_dim) % 2, np.cos(angles), np.sin(angles))
        self.waves = ops.convert_to_tensor(waves, self.compute_dtype)

    def call(self, inputs: object) -> object:
        """Embeds ids `(batch, length)`."""
        scaled = super().call(inputs) * self.output_dim**0.5
        return scaled + self.waves[None, : ops.shape(inputs)[1]]


class TiedLinear(layers.Layer):
    """The final linear layer with an embedding's matrix; the implicit mask ends here."""

    def __init__(self, embedding: layers.Embedding) -> None:
        super().__init__()
        self.embedding = embedding
        self.supports_masking = True

    def compute_mask(self, inputs: object, mask: object = None) -> None:
        """Leaves masking to the loss, as the tutorial does."""

    def call(self, inputs: object) -> object:
        """Projects states onto the vocabulary."""
        return ops.matmul(inputs, ops.transpose(ops.cast(self.embedding.embeddings, inputs.dtype)))


def _transformer(config: TransformerConfig) -> keras.Model:
    embedding = PositionalEmbedding(
        config.target_vocab_size,
        config.model_dim,
        mask_zero=True,
        embeddings_initializer=keras.initializers.RandomNormal(stddev=config.model_dim**-0.5),
    )
    source_ids = keras.Input((None,), dtype="int32", name="source_ids")
    target_ids = keras.Input((None,), dtype="int32", name="target_ids")
    source = layers.Dropout(config.dropout)(embedding(source_ids))
    for _ in range(config.num_encoder_layers):
        source = _residual(source, _attention(config), config)
        source = _residual(source, _feed_forward(config), config)
    source = _final_norm(source, config)
    target = layers.Dropout(config.dropout)(embedding(target_ids))
    for _ in range(config.num_decoder_layers):
        target = _residual(target, _attention(config, use_causal_mask=True), config)
        target = _residual(target, _attention(config, source), config)
        target = _residual(target, _feed_forward(config), config)
    logits = TiedLinear(embedding)(_final_norm(target, config))
    return keras.Model({"source_ids": source_ids, "target_ids": target_ids}, logits)


def _residual(states: object, sublayer: object, config: TransformerConfig) -> object:
    norm = layers.LayerNormalization(epsilon=config.layer_norm_epsilon)
    inputs = norm(states) if config.norm == "pre" else states
    outputs = layers.Dropout(config.dropout)(sublayer(inputs))
    joined = layers.Add()([states, outputs])
    return joined if config.norm == "pre" else norm(joined)


def _final_norm(states: object, config: TransformerConfig) -> object:
    if config.norm == "post":
        return states
    return layers.LayerNormalization(epsilon=config.layer_norm_epsilon)(states)


def _attention(config: TransformerConfig, source: object = None, **arguments: bool) -> object:
    layer = layers.MultiHeadAttention(
        config.num_heads,
        config.key_dim,
        config.value_dim,
        dropout=config.attention_dropout,
        kernel_initializer=linear_initializer(),
    )

    def attend(states: object) -> object:
        read = states if source is None else source
        return layer(query=states, value=read, key=read, **arguments)

    return attend


def _feed_forward(config: TransformerConfig) -> object:
    hidden = layers.Dense(
        config.feed_forward_dim,
        activation=config.activation,
        kernel_initializer=linear_initializer(),
    )
    output = layers.Dense(config.model_dim, kernel_initializer=linear_initializer())
    return lambda states: output(hidden(states))


def _masked_loss(vocab_size: int, label_smoothing: float) -> object:
    def masked_loss(labels: object, logits: object) -> object:
        mask = ops.cast(ops.not_equal(labels, 0), "float32")
        one_hot = ops.one_hot(labels, vocab_size)
        smooth = one_hot * (1 - label_smoothing) + label_smoothing / vocab_size
        losses = ops.categorical_crossentropy(smooth, ops.cast(logits, "float32"), from_logits=True)
        return ops.sum(losses * mask) / ops.sum(mask)

    return masked_loss


def masked_accuracy(labels: object, logits: object) -> object:
    """Share of the labels that have the highest logit."""
    best = ops.cast(ops.argmax(logits, axis=-1), labels.dtype)
    mask = ops.cast(ops.not_equal(labels, 0), "float32")
    return ops.sum(ops.cast(ops.equal(best, labels), "float32") * mask) / ops.sum(mask)


if __name__ == "__main__":
    serve(TextbookTrainer())
