"""An encoder alone as a functional Keras model, as BERT is (Devlin et al. 2018): takes ids and
returns states, or what a head makes of them.
"""

from functools import cached_property
from typing import Any

import keras
from keras import ops

from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.layers import Embeddings, Encoder
from keras_transformer.layers.heads.classes import ClassHead
from keras_transformer.layers.heads.masked_tokens import MaskedTokenHead
from keras_transformer.layers.heads.pooler import Pooler, first_state, mean_state
from keras_transformer.layers.masks import padding_mask
from keras_transformer.models.functional import ids_input, policy, with_one
from keras_transformer.models.traced_once import TracedOnce

Tensor = Any
Inputs = dict[str, Tensor]


def build_encoder(config: EncoderConfig, dtype_policy: str | None = None) -> "EncoderOnly":
    """Builds the encoder that a config describes, with its head.

    Args:
        config: Sizes and choices.
        dtype_policy: Keras dtype policy, such as "mixed_bfloat16"; the global one if None.

    Returns:
        A functional `keras.Model` from `{"token_ids": (batch, length)}` (integers) and, if the
        config has more than one token type, `"token_type_ids"` of the same shape, to what
        `config.head` says: None for states `(batch, length, model_dim)`, with a pooler for
        `{"states", "pooled": (batch, model_dim)}`; "masked_lm" logits `(batch, length,
        vocab_size)`; "classification" logits `(batch, labels)`; "tagging" logits `(batch, length,
        labels)`; "regression" `(batch, 1)`; "spans" logits `(batch, length, 2)`, first and last
        token; "embedding" `(batch, model_dim)`.

    Example:
        >>> model = build_encoder(EncoderConfig.preset("bert-tiny", vocab_size=100))
        >>> ids = ops.array([[2, 7, 9, 3]])
        >>> model({"token_ids": ids, "token_type_ids": ops.zeros_like(ids)})["states"].shape
        TensorShape([1, 4, 128])
    """
    return EncoderOnly(config, dtype_policy)


@keras.saving.register_keras_serializable("keras_transformer")
class EncoderOnly(TracedOnce, keras.Model):
    """The functional model, with its parts as attributes.

    Args:
        config: Sizes and choices.
        dtype_policy: Keras dtype policy; the global one if None.

    Attributes:
        config: The config it was built from.
        embeddings: Embeds ids.
        encoder_stack: The encoder's blocks.
        pooler: The `Pooler`; None without.
        head: The head's layer; None for heads without weights.
    """

    embeddings: Embeddings
    encoder_stack: Encoder
    pooler: Pooler | None
    head: Any  # MaskedTokenHead, ClassHead or None

    def __init__(
        self, config: EncoderConfig, dtype_policy: str | None = None, **kwargs: Any
    ) -> None:
        with policy(dtype_policy):
            embeddings = _make_embeddings(config)
            stack = Encoder(**config.stack.layer_arguments(), name="encoder")
            pooler = Pooler(name="pooler") if config.has_pooler else None
            head = _make_head(config, embeddings)
            parts = _Parts(config, embeddings, stack, pooler, head)
            inputs = parts.inputs()
            super().__init__(inputs=inputs, outputs=parts.outputs(inputs), **kwargs)
        self.config = config
        self.embeddings = embeddings
        self.encoder_stack = stack
        self.pooler = pooler
        self.head = head

    @property
    def _parts(self) -> "_Parts":
        return _Parts(self.config, self.embeddings, self.encoder_stack, self.pooler, self.head)

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

    @cached_property
    def prediction_states(self) -> keras.Model:
        """From the inputs to the states whose products with `output_matrix` are the head's logits.

        Their last feature is 1, for the bias. The head "masked_lm" has a further input, `places`
        `(batch, predictions)`, int32, and the states of these places only.

        Raises:
            ValueError: The head gives no logits to choose from.
        """
        inputs = self._parts.inputs()
        outputs = self._parts.prediction_states(inputs)
        return keras.Model(inputs, outputs, name="prediction_states")

    @property
    def output_matrix(self) -> Tensor:
        """The head as `(choices, model_dim + 1)`, bias last, in the compute dtype."""
        return ops.cast(self.head.matrix, self.compute_dtype)

    def recompute_activations(self, recompute: bool = True) -> None:
        """Makes training keep only the inputs of blocks from now on and compute the rest again."""
        self.encoder_stack.recompute = recompute

    def get_config(self) -> dict[str, Any]:
        """Returns the config as plain values."""
        return {
            "config": self.config.to_dict(),
            "dtype_policy": self.dtype_policy.name,
            "name": self.name,
            "trainable": self.trainable,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> "EncoderOnly":
        """Builds the model from `get_config`'s result, with its original dtype policy."""
        settings = dict(config)
        return cls(EncoderConfig.from_dict(settings.pop("config")), **settings)


class _Parts:
    """The model's layers, and the functions of ids that they make."""

    def __init__(
        self,
        config: EncoderConfig,
        embeddings: Embeddings,
        stack: Encoder,
        pooler: Pooler | None,
        head: Any,
    ) -> None:
        self.config = config
        self.embeddings = embeddings
        self.stack = stack
        self.pooler = pooler
        self.head = head

    def inputs(self) -> Inputs:
        names = ["token_ids", *(["token_type_ids"] if self.config.num_token_types > 1 else [])]
        return {name: ids_input(name) for name in names}

    def keep_mask(self, inputs: Inputs) -> Tensor:
        return padding_mask(inputs["token_ids"], self.config.special_ids.pad)

    def embed(self, inputs: Inputs) -> Tensor:
        keep = self.keep_mask(inputs)
        return self.embeddings(inputs["token_ids"], keep, inputs.get("token_type_ids"))

    def states(self, inputs: Inputs) -> Tensor:
        return self.stack(self.embed(inputs), self.keep_mask(inputs))

    def hidden_states(self, inputs: Inputs) -> list[Tensor]:
        return self.stack.all_states(self.embed(inputs), self.keep_mask(inputs))

    def pooled(self, states: Tensor, keep: Tensor) -> Tensor:
        """Returns what heads of whole texts read: `(batch, model_dim)`."""
        return first_state(states, keep) if self.pooler is None else self.pooler(states, keep)

    def outputs(self, inputs: Inputs) -> Any:
        states, keep = self.states(inputs), self.keep_mask(inputs)
        kind = self.config.head
        if kind is None:
            if self.pooler is None:
                return states
            return {"states": states, "pooled": self.pooler(states, keep)}
        if kind == "embedding":
            return (mean_state if self.config.pooling == "mean" else first_state)(states, keep)
        if kind in ("classification", "regression"):
            return self.head(self.pooled(states, keep))
        return self.head(states)

    def prediction_states(self, inputs: Inputs) -> Tensor:
        states, keep = self.states(inputs), self.keep_mask(inputs)
        kind = self.config.head
        if kind == "masked_lm":
            inputs["places"] = ids_input("places")
            states = ops.take_along_axis(states, inputs["places"][:, :, None], axis=1)
        elif kind == "classification":
            states = self.pooled(states, keep)[:, None]
        elif kind != "tagging":
            raise ValueError(f"head={kind!r} gives no logits to choose a label or a token from.")
        return with_one(_Features(self.head)(states))


class _Features(keras.layers.Layer):
    """A head without its matrix."""

    def __init__(self, head: Any, **kwargs: Any) -> None:
        super().__init__(dtype=head.dtype_policy, **kwargs)
        self.head = head

    def call(self, states: Tensor, training: bool | None = None) -> Tensor:
        """Returns the head's features."""
        return self.head.features(states, training=training)

    def compute_output_shape(self, states_shape: Any) -> Any:
        """Returns the states' shape."""
        return states_shape


def _make_embeddings(config: EncoderConfig) -> Embeddings:
    return Embeddings(
        config.vocab_size,
        num_token_types=config.num_token_types,
        name="embeddings",
        **config.embedding_arguments(),
    )


def _make_head(config: EncoderConfig, embeddings: Embeddings) -> Any:
    if config.head in (None, "embedding"):
        return None
    if config.head == "masked_lm":
        head = MaskedTokenHead(
            config.vocab_size,
            config.activation,
            config.norm_kind,
            config.layer_norm_epsilon,
            name="head",
        )
        head.tie(embeddings.tokens)
        return head
    sizes = {"regression": 1, "spans": 2}
    return ClassHead(sizes.get(config.head or "", len(config.labels)), config.dropout, name="head")
