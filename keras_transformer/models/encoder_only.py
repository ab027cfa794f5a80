"""An encoder alone as a functional Keras model, as BERT is (Devlin et al. 2018), with or without a
head.
"""

from functools import cached_property
from typing import Any

import keras
from keras import ops

from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.layers import ContextualFeatures, Embeddings, Encoder
from keras_transformer.layers.encoder.two_streams import QueryStart
from keras_transformer.layers.heads.classes import ClassHead
from keras_transformer.layers.heads.pooler import Pooler
from keras_transformer.models.encoder_layers import EncoderLayers
from keras_transformer.models.family_model import FamilyModel
from keras_transformer.models.functional import ids_input, policy
from keras_transformer.tensors import Tensor


def build_encoder(config: EncoderConfig, dtype_policy: str | None = None) -> "EncoderOnly":
    """Builds the encoder that a config describes, with its head.

    Args:
        config: Sizes and choices.
        dtype_policy: Keras dtype policy, such as "mixed_bfloat16"; the global one if None.

    Returns:
        A functional `keras.Model` from `{"token_ids": (batch, length)}` (integers) and, if the
        config has more than one token type, `"token_type_ids"` of the same shape, and
        `"features_0"` and so on, `(batch, length, layers, width)`, if it has features, to what
        `config.head` says: None for states `(batch, length, model_dim)`, with a pooler for
        `{"states", "pooled": (batch, model_dim)}`; "masked_lm" logits `(batch, length,
        vocab_size)`; "pretraining" `{"logits"`, the same, `"next_sentence": (batch, 2)}`;
        "classification" logits `(batch, labels)`; "tagging" logits `(batch, length,
        labels)`; "regression" `(batch, 1)`; "spans" logits `(batch, length, 2)`, first and last
        token; "embedding" `(batch, vector_dim)`.

    Example:
        >>> model = build_encoder(EncoderConfig.preset("bert-tiny", vocab_size=100))
        >>> ids = ops.array([[2, 7, 9, 3]])
        >>> model({"token_ids": ids, "token_type_ids": ops.zeros_like(ids)})["states"].shape
        TensorShape([1, 4, 128])
    """
    return EncoderOnly(config, dtype_policy)


@keras.saving.register_keras_serializable("keras_transformer")
class EncoderOnly(FamilyModel):
    """The functional model, with its parts as attributes.

    Args:
        config: Sizes and choices.
        dtype_policy: Keras dtype policy; the global one if None.
        layers: Layers to share instead of making new ones.

    Attributes:
        config: The config it was built from.
        embeddings: Embeds ids.
        encoder_stack: The encoder's blocks.
        pooler: The `Pooler`; None without.
        head: The head's layer; None for heads without weights.
        next_sentence: The second head of "pretraining"; None with any other.
        query_start: What the query stream begins as; None without one.
        features: What adds the states of other models to the embeddings; None without.
    """

    config_class = EncoderConfig
    embeddings: Embeddings
    encoder_stack: Encoder
    pooler: Pooler | None
    head: Any  # MaskedTokenHead, ClassHead, VectorHead or None
    next_sentence: ClassHead | None
    features: ContextualFeatures | None
    query_start: QueryStart | None

    def __init__(
        self,
        config: EncoderConfig,
        dtype_policy: str | None = None,
        *,
        layers: EncoderLayers | None = None,
        **kwargs: Any,
    ) -> None:
        with policy(dtype_policy):
            made = layers or EncoderLayers.make(config)
            inputs = made.inputs()
            super().__init__(inputs=inputs, outputs=made.outputs(inputs), **kwargs)
        self.config = config
        self.embeddings = made.embeddings
        self.encoder_stack = made.stack
        self.pooler = made.pooler
        self.head = made.head
        self.next_sentence = made.next_sentence
        self.features = made.features
        self.query_start = made.query_start

    @property
    def _parts(self) -> EncoderLayers:
        return EncoderLayers(
            self.config,
            self.embeddings,
            self.encoder_stack,
            self.pooler,
            self.head,
            self.next_sentence,
            self.features,
            self.query_start,
        )

    # No property: Keras reads those of a model that it saves.
    def single_heads(self) -> "dict[str, EncoderOnly]":
        """Makes the models of `config.single_heads`, which share this model's weights."""
        if self.next_sentence is None:
            return {"head": self}
        own, found = self._parts, {}
        for name, config in self.config.single_heads.items():
            head = self.head if name == "head" else self.next_sentence
            pooler = self.pooler if config.has_pooler else None
            layers = EncoderLayers(config, own.embeddings, own.stack, pooler, head)
            found[name] = EncoderOnly(config, self.dtype_policy.name, layers=layers, name=name)
        return found

    def outputs_of(self, states: Tensor, keep_mask: Tensor) -> Any:
        """Returns the model's outputs from states of its `encoder`; see `build_encoder`.

        Args:
            states: `(batch, length, model_dim)`.
            keep_mask: Boolean `(batch, length)`, True at real tokens.
        """
        return self._parts.outputs_of(states, keep_mask)

    def pooled(self, states: Tensor, keep_mask: Tensor) -> Tensor:
        """Returns what heads of whole texts read, `(batch, model_dim)`, as for `outputs_of`."""
        return self._parts.pooled(states, keep_mask)

    @cached_property
    def encoder(self) -> keras.Model:
        """The model without pooler and head: from the same inputs to states.

        It shares this model's weights, as the next two do.
        """
        inputs = self._parts.inputs()
        return keras.Model(inputs, self._parts.states(inputs), name="encoder")

    @cached_property
    def hidden_states(self) -> keras.Model:
        """From the same inputs to a list of states: the embeddings', then each block's.

        The last are those of `encoder`, after the final norm if there is one.
        """
        inputs = self._parts.inputs()
        return keras.Model(inputs, self._parts.hidden_states(inputs), name="hidden_states")

    def states_of_layers(self, token_ids: Tensor) -> list[Tensor]:
        """Returns what `hidden_states` gives for texts alone.

        Args:
            token_ids: int32 `(batch, length)`.
        """
        inputs = {"token_ids": token_ids}
        if self.config.num_token_types > 1:
            inputs["token_type_ids"] = self.types_of_texts(token_ids)
        return self._parts.hidden_states(inputs)

    def types_of_texts(self, token_ids: Tensor) -> Tensor:
        """Returns the token types of texts alone, as `encoder_row` gives them: 0, and 2 of a cls.

        Args:
            token_ids: int32 `(batch, length)`.
        """
        cls = self.config.special_ids.cls
        if cls is None:
            return ops.zeros_like(token_ids)
        return 2 * ops.cast(ops.equal(token_ids, cls), token_ids.dtype)

    @cached_property
    def prediction_states(self) -> keras.Model:
        """From the inputs to the states whose products with `output_matrix` are the head's logits.

        Their last feature is 1, for the bias. The head "masked_lm" has a further input, `places`
        `(batch, predictions)`, int32, and the states of these places only; so has "pretraining",
        with the state of the next sentence before them.

        Raises:
            ValueError: The head gives no logits to choose from.
        """
        inputs = self._parts.inputs()
        outputs = self._parts.prediction_states(inputs)
        return keras.Model(inputs, outputs, name="prediction_states")

    def training_states(self) -> keras.Model:
        """Returns `prediction_states`, or with a query stream the same with a further input.

        It is `order`, int32 `(batch, length)`: 0 for what all tokens read, then the rank of each
        that is predicted.
        """
        if self.query_start is None:
            return self.prediction_states
        inputs = {**self._parts.inputs(), "order": ids_input("order")}
        outputs = self._parts.prediction_states(inputs)
        return keras.Model(inputs, outputs, name="training_states")

    @property
    def output_matrix(self) -> Tensor:
        """The head as `(choices, model_dim + 1)`, bias last, in the compute dtype.

        Raises:
            ValueError: The head gives no logits to choose from.
        """
        self._parts.check_chooses()
        return ops.cast(self.head.matrix, self.compute_dtype)

    def recompute_activations(self, recompute: bool = True) -> None:
        """Makes training keep only the inputs of blocks from now on and compute the rest again."""
        self.encoder_stack.recompute = recompute
