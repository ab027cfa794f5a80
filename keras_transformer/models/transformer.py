"""The encoder-decoder Transformer as a functional Keras model (paper, figure 1): source and target
ids come in, logits leave; beside it the two functions that decoding with a cache needs.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import keras
from keras import ops

from keras_transformer.config import TransformerConfig
from keras_transformer.layers import (
    Decoder,
    Encoder,
    LearnedPositions,
    SinusoidalPositions,
    TokenEmbedding,
)
from keras_transformer.layers.attention import KeysValues
from keras_transformer.layers.masks import padding_mask
from keras_transformer.models.traced_once import TracedOnce

Tensor = Any


def build_transformer(config: TransformerConfig, dtype_policy: str | None = None) -> "Transformer":
    """Builds the model that a config describes.

    Args:
        config: Sizes and choices.
        dtype_policy: Keras dtype policy, such as "mixed_bfloat16"; the global one where None.

    Returns:
        A functional `keras.Model` from `{"source_ids": (batch, source_length), "target_ids":
        (batch, target_length)}` (integers) to logits `(batch, target_length, vocabulary)`.

    Example:
        >>> model = build_transformer(TransformerConfig.preset("tiny", vocab_size=100))
        >>> source_ids, target_ids = ops.array([[5, 6, 3]]), ops.array([[2, 7]])
        >>> model({"source_ids": source_ids, "target_ids": target_ids}).shape
        TensorShape([1, 2, 100])
    """
    return Transformer(config, dtype_policy)


def probabilities(logits: Tensor) -> Tensor:
    """Softmax over the vocabulary, in float32: the paper's output probabilities."""
    return ops.softmax(ops.cast(logits, "float32"), axis=-1)


@keras.saving.register_keras_serializable("keras_transformer")
class Transformer(TracedOnce, keras.Model):
    """The functional model, with its parts and its decode step as attributes.

    Args:
        config: Sizes and choices.
        dtype_policy: Keras dtype policy; the global one where None.

    Attributes:
        config: The config it was built from.
        encoder: Functional model `source_ids` → states `(batch, source_length, model_dim)`.
        decoder: Functional model `target_ids`, `encoder_states`, `source_ids` → logits.
    """

    def __init__(
        self, config: TransformerConfig, dtype_policy: str | None = None, **kwargs: Any
    ) -> None:
        with _policy(dtype_policy):
            parts = _make_parts(config)
            source_ids = keras.Input((None,), dtype="int32", name="source_ids")
            target_ids = keras.Input((None,), dtype="int32", name="target_ids")
            encoder_states = _encode(parts, source_ids, None)
            states = _decode(parts, target_ids, encoder_states, source_ids)
            logits = _to_logits(parts, states)
            inputs = {"source_ids": source_ids, "target_ids": target_ids}
            super().__init__(inputs=inputs, outputs=logits, **kwargs)
        self.config = config
        self._parts = parts

    @property
    def encoder(self) -> keras.Model:
        """The encoder as a model of its own, sharing this model's weights."""
        source_ids = keras.Input((None,), dtype="int32", name="source_ids")
        states = _encode(self._parts, source_ids, None)
        return keras.Model({"source_ids": source_ids}, states, name="encoder")

    @property
    def decoder(self) -> keras.Model:
        """The decoder as a model of its own, sharing this model's weights."""
        inputs = {
            "source_ids": keras.Input((None,), dtype="int32", name="source_ids"),
            "encoder_states": keras.Input((None, self.config.model_dim), name="encoder_states"),
            "target_ids": keras.Input((None,), dtype="int32", name="target_ids"),
        }
        states = _decode(
            self._parts, inputs["target_ids"], inputs["encoder_states"], inputs["source_ids"]
        )
        return keras.Model(inputs, _to_logits(self._parts, states), name="decoder")

    @property
    def decoder_states(self) -> keras.Model:
        """The whole model but its final linear layer, sharing this model's weights.

        From the same inputs to states `(batch, target_length, model_dim)`.
        """
        inputs = {
            "source_ids": keras.Input((None,), dtype="int32", name="source_ids"),
            "target_ids": keras.Input((None,), dtype="int32", name="target_ids"),
        }
        encoder_states = _encode(self._parts, inputs["source_ids"], None)
        states = _decode(self._parts, inputs["target_ids"], encoder_states, inputs["source_ids"])
        return keras.Model(inputs, states, name="decoder_states")

    @property
    def output_matrix(self) -> Tensor:
        """The final linear layer as `(vocabulary, model_dim)`, in the compute dtype."""
        linear = self._parts["output_linear"]
        matrix = (
            self._parts["target_tokens"].matrix if linear is None else ops.transpose(linear.kernel)
        )
        return ops.cast(matrix, self.compute_dtype)

    def recompute_activations(self, recompute: bool = True) -> None:
        """Has training from now on keep the inputs of blocks alone and compute the rest again.

        It takes less memory and about a third more time. Functions compiled before stay as they
        are; the model is saved without it.
        """
        for stack in ("encoder", "decoder"):
            self._parts[stack].recompute = recompute

    def encode(self, source_ids: Tensor) -> list[KeysValues]:
        """Runs the encoder and projects its states for every decoder block.

        Args:
            source_ids: int32 `(batch, source_length)`.

        Returns:
            For each block keys `(batch, heads, source_length, key_dim)` and values
            `(batch, heads, source_length, value_dim)`.
        """
        states = _encode(self._parts, source_ids, False)
        return self._parts["decoder"].project(states)

    def decode_step(
        self,
        target_ids: Tensor,
        step: Tensor,
        source_keep_mask: Tensor,
        cross: list[KeysValues],
        caches: list[KeysValues],
    ) -> tuple[Tensor, list[KeysValues]]:
        """Runs the decoder on one token of every hypothesis.

        Args:
            target_ids: int32 `(rows,)`, the token at position `step`; rows = batch * beams.
            step: int32 scalar, tokens already in the caches.
            source_keep_mask: Boolean `(batch, source_length)`.
            cross: `encode`'s result.
            caches: For each block keys and values `(rows, heads, cache_length, width)`.

        Returns:
            Logits `(rows, vocabulary)` float32 and the caches with this position written.
        """
        position = self._parts["target_positions"].encode(step)
        states = self._parts["target_tokens"](target_ids[:, None]) + position
        states, caches = self._parts["decoder"].step(states, step, source_keep_mask, cross, caches)
        logits = _to_logits(self._parts, states)[:, 0]
        return ops.cast(logits, "float32"), caches

    def align(
        self,
        target_ids: Tensor,
        labels: Tensor,
        source_keep_mask: Tensor,
        cross: list[KeysValues],
    ) -> tuple[Tensor, Tensor]:
        """Scores given translations and tells where each of their tokens looks in the source.

        Args:
            target_ids: int32 `(batch, target_length)`, from the start token, padded on the right.
            labels: int32 `(batch, target_length)`, the token that follows each of them.
            source_keep_mask: Boolean `(batch, source_length)`.
            cross: `encode`'s result.

        Returns:
            The labels' log-probabilities float32 `(batch, target_length)`, and the attention to
            the source at each place, the mean of all blocks and heads, `(batch, target_length,
            source_length)`.
        """
        keep = padding_mask(target_ids)
        states = self._parts["target_tokens"](target_ids) + self._parts["target_positions"](keep)
        states, attention = self._parts["decoder"].align(states, keep, source_keep_mask, cross)
        logits = ops.cast(_to_logits(self._parts, states), "float32")
        chosen = ops.take_along_axis(logits, labels[:, :, None], axis=-1)[:, :, 0]
        largest = ops.max(logits, axis=-1, keepdims=True)
        total = ops.sum(ops.exp(logits - largest), axis=-1)
        return chosen - largest[:, :, 0] - ops.log(total), ops.cast(attention, "float32")

    def empty_caches(self, rows: Tensor, cache_length: Tensor) -> list[KeysValues]:
        """Returns zeros `(rows, heads, cache_length, width)` for keys and values of each block."""
        shape = (rows, self.config.num_heads, cache_length)
        dtype = self.compute_dtype
        return [
            (
                ops.zeros((*shape, self.config.key_dim), dtype),
                ops.zeros((*shape, self.config.value_dim), dtype),
            )
            for _ in range(self.config.num_decoder_layers)
        ]

    def get_config(self) -> dict[str, Any]:
        """Returns the config as plain values."""
        return {
            "config": self.config.to_dict(),
            "dtype_policy": self.dtype_policy.name,
            "name": self.name,
            "trainable": self.trainable,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> "Transformer":
        """Builds the model from `get_config`'s result, in the policy it was built in first."""
        settings = dict(config)
        return cls(TransformerConfig.from_dict(settings.pop("config")), **settings)


@contextmanager
def _policy(name: str | None) -> Iterator[None]:
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(name or before)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)


def _make_parts(config: TransformerConfig) -> dict[str, Any]:
    arguments = {
        "num_heads": config.num_heads,
        "key_dim": config.key_dim,
        "value_dim": config.value_dim,
        "feed_forward_dim": config.feed_forward_dim,
        "dropout": config.dropout,
        "attention_dropout": config.attention_dropout,
        "activation_dropout": config.activation_dropout,
        "activation": config.activation,
        "norm": config.norm,
        "epsilon": config.layer_norm_epsilon,
    }
    width = config.model_dim
    shared = config.share_embeddings == "all"
    target_tokens = TokenEmbedding(
        config.target_vocab_size, width, name="tokens" if shared else "target_tokens"
    )
    source_tokens = (
        target_tokens
        if shared
        else TokenEmbedding(config.source_vocab_size, width, name="source_tokens")
    )
    tied = config.share_embeddings != "none"
    return {
        "source_tokens": source_tokens,
        "target_tokens": target_tokens,
        "source_positions": _make_positions(config, "source_positions"),
        "target_positions": _make_positions(config, "target_positions"),
        "source_drop": keras.layers.Dropout(config.dropout, name="source_drop"),
        "target_drop": keras.layers.Dropout(config.dropout, name="target_drop"),
        "encoder": Encoder(config.num_encoder_layers, **arguments, name="encoder"),
        "decoder": Decoder(config.num_decoder_layers, **arguments, name="decoder"),
        "output_linear": None
        if tied
        else keras.layers.Dense(config.target_vocab_size, use_bias=False, name="output_linear"),
    }


def _make_positions(config: TransformerConfig, name: str) -> keras.layers.Layer:
    if config.max_positions is not None:
        return LearnedPositions(config.model_dim, config.max_positions, name=name)
    return SinusoidalPositions(config.model_dim, name=name)


def _encode(parts: dict[str, Any], source_ids: Tensor, training: bool | None) -> Tensor:
    keep = padding_mask(source_ids)
    states = parts["source_tokens"](source_ids) + parts["source_positions"](keep)
    states = parts["source_drop"](states, training=training)
    return parts["encoder"](states, keep, training=training)


def _decode(
    parts: dict[str, Any], target_ids: Tensor, encoder_states: Tensor, source_ids: Tensor
) -> Tensor:
    keep = padding_mask(target_ids)
    states = parts["target_drop"](
        parts["target_tokens"](target_ids) + parts["target_positions"](keep)
    )
    return parts["decoder"](
        states,
        encoder_states,
        keep_mask=keep,
        source_keep_mask=padding_mask(source_ids),
    )


def _to_logits(parts: dict[str, Any], states: Tensor) -> Tensor:
    if parts["output_linear"] is not None:
        return parts["output_linear"](states)
    return parts["target_tokens"](states, reverse=True)
