"""A decoder alone as a functional Keras model, as GPT-2 is (Radford et al. 2019), and its decode
step with a cache.
"""

from functools import cached_property
from typing import Any

import keras

from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.layers import AdaptiveSoftmax, Decoder, Embeddings, VocabularyHead
from keras_transformer.layers.decoder.memory import Memory
from keras_transformer.layers.masks import padding_mask, target_padding_mask
from keras_transformer.models.decoding_steps import DecodingSteps
from keras_transformer.models.functional import ids_input, policy, with_one
from keras_transformer.models.generating import ContinuesPrompts
from keras_transformer.tensors import Tensor


def build_decoder(config: DecoderConfig, dtype_policy: str | None = None) -> "DecoderOnly":
    """Builds the decoder that a config describes.

    Args:
        config: Sizes and choices.
        dtype_policy: Keras dtype policy, such as "mixed_bfloat16"; the global one if None.

    Returns:
        A functional `keras.Model` from `{"token_ids": (batch, length)}` (integers) to logits
        `(batch, length, vocab_size)`.

    Example:
        >>> model = build_decoder(DecoderConfig.preset("gpt2-tiny", vocab_size=100))
        >>> model({"token_ids": keras.ops.array([[2, 7, 9]])}).shape
        TensorShape([1, 3, 100])
    """
    return DecoderOnly(config, dtype_policy)


@keras.saving.register_keras_serializable("keras_transformer")
class DecoderOnly(DecodingSteps, ContinuesPrompts):
    """The functional model, with its parts and its decode step as attributes.

    Args:
        config: Sizes and choices.
        dtype_policy: Keras dtype policy; the global one if None.

    Attributes:
        config: The config it was built from.
        embeddings: Embeds ids.
        decoder_stack: The decoder's blocks, without attention to a source.
        head: Maps states to logits.
    """

    config_class = DecoderConfig
    embeddings: Embeddings
    decoder_stack: Decoder
    head: VocabularyHead | AdaptiveSoftmax

    def __init__(
        self, config: DecoderConfig, dtype_policy: str | None = None, **kwargs: Any
    ) -> None:
        with policy(dtype_policy):
            embeddings = Embeddings(
                config.vocab_size, name="embeddings", **config.embedding_arguments()
            )
            stack = Decoder(config.stack, name="decoder")
            head = _head(config)
            if config.tied_head:
                head.tie(embeddings.tokens)
            inputs = {"token_ids": ids_input("token_ids")}
            states = _states(config, embeddings, stack, **inputs)
            super().__init__(inputs=inputs, outputs=head(states), **kwargs)
        self.config = config
        self.embeddings = embeddings
        self.decoder_stack = stack
        self.head = head

    @cached_property
    def prediction_states(self) -> keras.Model:
        """The model without its head: from the same inputs to states `(batch, length, model_dim)`.

        It shares this model's weights. With biases of the logits, the states have one feature
        more, 1, unless there are cutoffs.
        """
        inputs = {"token_ids": ids_input("token_ids")}
        states = _states(self.config, self.embeddings, self.decoder_stack, **inputs)
        if self._has_one:
            states = with_one(states)
        return keras.Model(inputs, states, name="prediction_states")

    @property
    def output_matrix(self) -> Any:
        """As `DecodingSteps.output_matrix`; with cutoffs the head's softmaxes."""
        return self.head.softmaxes if self.config.cutoffs else super().output_matrix

    def empty_memory(self, rows: Tensor | int) -> Memory:
        """Returns the memory of nothing, for the first segments of a batch's texts.

        Args:
            rows: Texts of the batch.

        Raises:
            ValueError: The model has no memory.
        """
        length, width = self.config.check_memory(), self.config.model_dim
        return Memory.empty(self.config.num_layers, rows, length, width, self.compute_dtype)

    def read_on(
        self, token_ids: Tensor, memory: Memory, training: bool | None = None
    ) -> tuple[Tensor, Memory]:
        """Runs the model on the next segment of each text (Dai et al. 2019).

        Args:
            token_ids: int32 `(batch, length)`, padded on the right.
            memory: What it remembers of the segments before.
            training: Whether to apply dropout.

        Returns:
            States as `prediction_states` returns them, and what to remember for the segment after.

        Example:
            >>> config = DecoderConfig.preset("transformer-xl-tiny", vocab_size=100)
            >>> model, ids = build_decoder(config), keras.ops.array([[2, 7, 9]])
            >>> states, memory = model.read_on(ids, model.empty_memory(rows=1))
            >>> states.shape
            TensorShape([1, 3, 128])
        """
        keep = padding_mask(token_ids, self.config.special_ids.pad)
        states = self.embeddings(token_ids, keep, training=training)
        states, memory = self.decoder_stack.read_on(states, keep, memory, training)
        return with_one(states) if self._has_one else states, memory

    def states_of_layers(self, token_ids: Tensor) -> list[Tensor]:
        """Returns the states of the embeddings and of each block, the last ones after the final
        norm.

        Args:
            token_ids: int32 `(batch, length)`.

        Returns:
            As many tensors `(batch, length, model_dim)` as there are blocks, and one.
        """
        keep = target_padding_mask(token_ids, self.config.special_ids)
        return self.decoder_stack.all_states(self.embeddings(token_ids, keep), keep)

    def recompute_activations(self, recompute: bool = True) -> None:
        """Makes training keep only the inputs of blocks from now on and compute the rest again."""
        self.decoder_stack.recompute = recompute

    @property
    def _has_one(self) -> bool:
        """Whether states have a feature more, for biases that are a column of the head's matrix."""
        return self.config.logit_bias and not self.config.cutoffs

    def _decoder_embeddings(self) -> Embeddings:
        return self.embeddings


def _head(config: DecoderConfig) -> Any:
    size, bias = config.vocab_size, config.logit_bias
    if config.cutoffs:
        return AdaptiveSoftmax(size, config.cutoffs, config.div_value, bias, name="head")
    return VocabularyHead(size, bias, soft_cap=config.final_logit_soft_cap, name="head")


def _states(
    config: DecoderConfig, embeddings: Embeddings, stack: Decoder, token_ids: Tensor
) -> Tensor:
    keep = target_padding_mask(token_ids, config.special_ids)
    return stack(embeddings(token_ids, keep), keep_mask=keep)
