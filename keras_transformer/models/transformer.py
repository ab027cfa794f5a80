"""The encoder-decoder Transformer as a functional Keras model (paper, figure 1), from source and
target ids to logits.
"""

from functools import cached_property
from typing import Any, Literal, Self

import keras
from keras import ops

from keras_transformer.config import SpecialIds, TransformerConfig
from keras_transformer.layers import Decoder, Embeddings, Encoder, VocabularyHead
from keras_transformer.layers.attention import KeysValues
from keras_transformer.layers.masks import padding_mask, target_padding_mask
from keras_transformer.models.decoding_steps import DecodingSteps, Source
from keras_transformer.models.functional import ids_input, policy, with_one
from keras_transformer.models.generating import TranslatingModel
from keras_transformer.tensors import Tensor


def build_transformer(config: TransformerConfig, dtype_policy: str | None = None) -> "Transformer":
    """Builds the model that a config describes.

    Args:
        config: Sizes and choices.
        dtype_policy: Keras dtype policy, such as "mixed_bfloat16"; the global one if None.

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


# The layout of weights in a `.keras` file: version 0.1 had the parts of embeddings and head beside
# the stacks.
SavedLayout = Literal["0.1", "0.2"]


@keras.saving.register_keras_serializable("keras_transformer")
class Transformer(DecodingSteps, TranslatingModel):
    """The functional model, with its parts as attributes and the steps of decoding as methods.

    Args:
        config: Sizes and choices.
        dtype_policy: Keras dtype policy; the global one if None.
        saved_layout: The version that laid out the weights in the model's file; a model keeps the
            layout that it was loaded with.

    Attributes:
        config: The config it was built from.
        source_embeddings: Embeds the encoder stack's input: tokens, positions, dropout.
        target_embeddings: Embeds the decoder stack's input.
        encoder_stack: The encoder's blocks.
        decoder_stack: The decoder's blocks.
        head: Maps states to logits.
    """

    config_class = TransformerConfig
    source_embeddings: Embeddings
    target_embeddings: Embeddings
    encoder_stack: Encoder
    decoder_stack: Decoder
    head: VocabularyHead
    saved_layout: SavedLayout = "0.2"

    def __init__(
        self,
        config: TransformerConfig,
        dtype_policy: str | None = None,
        saved_layout: SavedLayout = "0.2",
        **kwargs: Any,
    ) -> None:
        with policy(dtype_policy):
            source_embeddings, target_embeddings = _make_embeddings(config)
            encoder_stack = Encoder(config.encoder, name="encoder")
            decoder_stack = Decoder(config.decoder, name="decoder")
            head = VocabularyHead(
                config.target_vocab_size,
                config.logit_bias,
                soft_cap=config.final_logit_soft_cap,
                name="head",
            )
            if config.share_embeddings != "none":
                head.tie(target_embeddings.tokens)
            inputs = {name: ids_input(name) for name in ("source_ids", "target_ids")}
            special_ids = config.special_ids
            encoder_states = _encoder_states(
                source_embeddings, encoder_stack, special_ids, inputs["source_ids"]
            )
            states = _decoder_states(
                target_embeddings,
                decoder_stack,
                special_ids,
                **inputs,
                encoder_states=encoder_states,
            )
            super().__init__(inputs=inputs, outputs=head(states), **kwargs)
        self.config = config
        self.source_embeddings = source_embeddings
        self.target_embeddings = target_embeddings
        self.encoder_stack = encoder_stack
        self.decoder_stack = decoder_stack
        self.head = head
        # Last: from now on `layers` may list the parts.
        self.saved_layout = saved_layout

    @property
    def layers(self) -> list[keras.layers.Layer]:
        """The model's layers in order; the order names a layer in the model's file."""
        if self.saved_layout == "0.1":
            return _layers_of_version_0_1(self)
        return super().layers

    @cached_property
    def encoder(self) -> keras.Model:
        """The encoder as a model `source_ids` → states `(batch, source_length, model_dim)`.

        It shares this model's weights, as the next two do.
        """
        source_ids = ids_input("source_ids")
        states = self._states_of_source(source_ids)
        return keras.Model({"source_ids": source_ids}, states, name="encoder")

    @cached_property
    def decoder(self) -> keras.Model:
        """The decoder as a model `target_ids`, `encoder_states`, `source_ids` → logits."""
        inputs = {
            "source_ids": ids_input("source_ids"),
            "encoder_states": keras.Input((None, self.config.model_dim), name="encoder_states"),
            "target_ids": ids_input("target_ids"),
        }
        states = self._states_of_target(**inputs)
        return keras.Model(inputs, self.head(states), name="decoder")

    @cached_property
    def prediction_states(self) -> keras.Model:
        """The model without its head: from the same inputs to states.

        The states are `(batch, target_length, model_dim)`. With biases of the logits, they have
        one feature more, 1.
        """
        inputs = {name: ids_input(name) for name in ("source_ids", "target_ids")}
        encoder_states = self._states_of_source(inputs["source_ids"])
        states = self._states_of_target(**inputs, encoder_states=encoder_states)
        if self.config.logit_bias:
            states = with_one(states)
        return keras.Model(inputs, states, name="prediction_states")

    def read_source(self, source_ids: Tensor) -> Source:
        """Runs the encoder: returns what the decoder attends to of sources.

        Args:
            source_ids: int32 `(batch, source_length)`.
        """
        keep = padding_mask(source_ids, self.config.special_ids.pad)
        return Source(keep, self.source_keys_values(source_ids))

    def source_keys_values(self, source_ids: Tensor) -> list[KeysValues]:
        """Runs the encoder and projects its states for every decoder block.

        Args:
            source_ids: int32 `(batch, source_length)`.

        Returns:
            For each block keys `(batch, heads, source_length, key_dim)` and values
            `(batch, heads, source_length, value_dim)`.
        """
        return self.decoder_stack.project(self._states_of_source(source_ids, training=False))

    def states_of_layers(self, source_ids: Tensor) -> list[Tensor]:
        """Returns the states of the source's embeddings and of each of the encoder's blocks, the
        last ones after the final norm.

        Args:
            source_ids: int32 `(batch, source_length)`.

        Returns:
            As many tensors `(batch, source_length, model_dim)` as there are blocks, and one.
        """
        keep = padding_mask(source_ids, self.config.special_ids.pad)
        return self.encoder_stack.all_states(self.source_embeddings(source_ids, keep), keep)

    def recompute_activations(self, recompute: bool = True) -> None:
        """Makes training keep only the inputs of blocks from now on and compute the rest again.

        It takes less memory and about a third more time. Functions that are already compiled do not
        change; the setting is not saved with the model.
        """
        for stack in (self.encoder_stack, self.decoder_stack):
            stack.recompute = recompute

    def _decoder_embeddings(self) -> Embeddings:
        return self.target_embeddings

    def _states_of_source(self, source_ids: Tensor, training: bool | None = None) -> Tensor:
        parts = (self.source_embeddings, self.encoder_stack, self.config.special_ids)
        return _encoder_states(*parts, source_ids, training)

    def _states_of_target(
        self, source_ids: Tensor, encoder_states: Tensor, target_ids: Tensor
    ) -> Tensor:
        parts = (self.target_embeddings, self.decoder_stack, self.config.special_ids)
        return _decoder_states(*parts, source_ids, encoder_states, target_ids)

    def get_config(self) -> dict[str, Any]:
        """Returns the config as plain values."""
        return {**super().get_config(), "saved_layout": self.saved_layout}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Self:
        """Builds the model from `get_config`'s result, with its original dtype policies."""
        return super().from_config({"saved_layout": "0.1", **config}, custom_objects)


def _make_embeddings(config: TransformerConfig) -> tuple[Embeddings, Embeddings]:
    vocab_sizes = {"source": config.source_vocab_size, "target": config.target_vocab_size}
    source, target = (
        Embeddings(vocab_size, name=f"{side}_embeddings", **config.embedding_arguments())
        for side, vocab_size in vocab_sizes.items()
    )
    if config.share_embeddings == "all":
        target.share_tokens(source)
    return source, target


def _encoder_states(
    embeddings: Embeddings,
    stack: Encoder,
    special_ids: SpecialIds,
    source_ids: Tensor,
    training: bool | None = None,
) -> Tensor:
    keep = padding_mask(source_ids, special_ids.pad)
    return stack(embeddings(source_ids, keep, training=training), keep, training=training)


def _decoder_states(
    embeddings: Embeddings,
    stack: Decoder,
    special_ids: SpecialIds,
    source_ids: Tensor,
    encoder_states: Tensor,
    target_ids: Tensor,
) -> Tensor:
    keep = target_padding_mask(target_ids, special_ids)
    return stack(
        embeddings(target_ids, keep),
        encoder_states,
        keep_mask=keep,
        source_keep_mask=padding_mask(source_ids, special_ids.pad),
    )


def _layers_of_version_0_1(model: Transformer) -> list[keras.layers.Layer]:
    """Returns the layers as version 0.1 had them, for the names in its files."""
    sides = (model.source_embeddings, model.target_embeddings)
    parts = [layer for side in sides for layer in (side.tokens, side.positions)]
    parts += [side.drop for side in sides]
    parts += [model.encoder_stack, model.decoder_stack]
    if model.head.linear is not None:
        parts.append(model.head.linear)
    return list(dict.fromkeys(parts))
