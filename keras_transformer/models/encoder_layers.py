"""The layers of an encoder alone, connected from ids to states or to what a head makes of them."""

from dataclasses import dataclass
from typing import Any

import keras
from keras import ops

from keras_transformer.config.embedding import feature_input
from keras_transformer.config.encoder_only import NEXT_SENTENCE_LABELS, EncoderConfig
from keras_transformer.layers import ContextualFeatures, Embeddings, Encoder, VocabularyHead
from keras_transformer.layers.encoder.two_streams import QueryStart
from keras_transformer.layers.heads.classes import ChainHead, ClassHead
from keras_transformer.layers.heads.masked_tokens import MaskedTokenHead
from keras_transformer.layers.heads.pooler import Pooler, state_at
from keras_transformer.layers.heads.text_vector import VectorHead, pooled_states, unit_vectors
from keras_transformer.layers.masks import padding_mask
from keras_transformer.models.functional import ids_input, with_one
from keras_transformer.tensors import Tensor
from keras_transformer.understanding.tag_schemes import TagScheme

Inputs = dict[str, Tensor]


@dataclass(frozen=True)
class EncoderLayers:
    """The model's layers, and the functions of ids that they make."""

    config: EncoderConfig
    embeddings: Embeddings
    stack: Encoder
    pooler: Pooler | None
    head: Any  # MaskedTokenHead, ClassHead, VectorHead or None
    next_sentence: ClassHead | None = None
    features: ContextualFeatures | None = None
    query_start: Any = None  # QueryStart, or None

    @classmethod
    def make(cls, config: EncoderConfig) -> "EncoderLayers":
        """Makes the layers of a config."""
        embeddings = _make_embeddings(config)
        stack = Encoder(config.stack, name="encoder")
        pooler = None
        if config.has_pooler:
            pooler = Pooler(config.pooler_activation, config.read_place, name="pooler")
        if pooler is not None and not config.reads_pooler:
            # No function of ids builds it, and none trains it.
            pooler.build((None, None, config.model_dim))
            pooler.trainable = False
        second = None
        if config.head == "pretraining":
            second = ClassHead(len(NEXT_SENTENCE_LABELS), config.dropout, name="next_sentence")
        head, features = _make_head(config, embeddings), None
        if config.features:
            features = ContextualFeatures(config.model_dim, config.dropout, name="features")
        start = QueryStart(config.dropout, name="query_start") if config.query_stream else None
        return cls(config, embeddings, stack, pooler, head, second, features, start)

    def inputs(self) -> Inputs:
        """Returns new symbolic inputs."""
        names = ["token_ids", *(["token_type_ids"] if self.config.num_token_types > 1 else [])]
        inputs = {name: ids_input(name) for name in names}
        for number, one in enumerate(self.config.features):
            name = feature_input(number)
            inputs[name] = keras.Input((None, one.num_layers, one.width), name=name)
        return inputs

    def keep_mask(self, inputs: Inputs) -> Tensor:
        """Returns where there are tokens: boolean `(batch, length)`."""
        return padding_mask(inputs["token_ids"], self.config.special_ids.pad)

    def embed(self, inputs: Inputs) -> Tensor:
        """Returns what the first block reads: `(batch, length, model_dim)`."""
        keep = self.keep_mask(inputs)
        types = inputs.get("token_type_ids") if self.config.embedded_token_types else None
        states = self.embeddings(inputs["token_ids"], keep, types)
        if self.features is None:
            return states
        read = range(len(self.config.features))
        return self.features(states, [inputs[feature_input(number)] for number in read])

    def states(self, inputs: Inputs) -> Tensor:
        """Returns the last block's states: `(batch, length, model_dim)`."""
        segments = {"token_type_ids": self.segments(inputs)}
        return self.stack(self.embed(inputs), self.keep_mask(inputs), **segments)

    def hidden_states(self, inputs: Inputs) -> list[Tensor]:
        """Returns the embeddings' states and each block's."""
        keep = self.keep_mask(inputs)
        return self.stack.all_states(self.embed(inputs), keep, self.segments(inputs))

    def segments(self, inputs: Inputs) -> Tensor | None:
        """Returns the token types that attention reads; None if it reads none."""
        return inputs["token_type_ids"] if self.config.relative_segments else None

    def query_states(self, inputs: Inputs) -> Tensor:
        """Returns the states of the query stream, `(batch, predictions, model_dim)`.

        They are those of an input `places`, or of all. What is predicted are the places of masks,
        of which none reads another, or with an input `order` what that names
        (`layers.encoder.two_streams.content_mask`).
        """
        if (order := inputs.get("order")) is None:
            is_mask = ops.equal(inputs["token_ids"], self.config.special_ids.mask)
            order = ops.cast(is_mask, "int32")
        if (places := inputs.get("places")) is None:
            places = ops.cumsum(ops.ones_like(order), axis=1) - 1
        embedded = self.embed(inputs)
        return self.stack(
            embedded,
            self.keep_mask(inputs),
            token_type_ids=self.segments(inputs),
            queries=self.query_start(embedded, places),
            order=order,
            places=places,
        )

    def pooled(self, states: Tensor, keep: Tensor) -> Tensor:
        """Returns what heads of whole texts read: `(batch, model_dim)`."""
        if self.pooler is None:
            return state_at(self.config.read_place, states, keep)
        return self.pooler(states, keep)

    def vectors(self, states: Tensor, keep: Tensor) -> Tensor:
        """Returns each text's embedding: `(batch, vector_dim)`."""
        found = pooled_states(states, keep, self.config.pooling)
        if self.head is not None:
            found = self.head(found)
        return unit_vectors(found) if self.config.unit_vectors else found

    def outputs(self, inputs: Inputs) -> Any:
        """Returns the model's outputs; see `build_encoder`."""
        if self.query_start is not None:
            return self.head(self.query_states(inputs))
        return self.outputs_of(self.states(inputs), self.keep_mask(inputs))

    def outputs_of(self, states: Tensor, keep: Tensor) -> Any:
        """Returns the model's outputs, from the encoder's states."""
        kind = self.config.head
        if kind is None:
            if self.pooler is None:
                return states
            return {"states": states, "pooled": self.pooler(states, keep)}
        if kind == "embedding":
            return self.vectors(states, keep)
        if kind in ("classification", "regression"):
            return self.head(self.pooled(states, keep))
        if self.next_sentence is not None:
            second = self.next_sentence(self.pooled(states, keep))
            return {"logits": self.head(states), "next_sentence": second}
        return self.head(states)

    def check_chooses(self) -> None:
        """Raises `ValueError` unless the model's head gives logits to choose from."""
        kind = self.config.head
        if kind not in ("masked_lm", "pretraining", "classification", "tagging"):
            raise ValueError(f"head={kind!r} gives no logits to choose a label or a token from.")

    def prediction_states(self, inputs: Inputs) -> Tensor:
        """Returns the states of `EncoderOnly.prediction_states`, and adds its further input."""
        self.check_chooses()
        if self.query_start is not None:
            inputs["places"] = ids_input("places")
            return with_one(self.query_states(inputs))
        states, keep = self.states(inputs), self.keep_mask(inputs)
        kind, of_pair = self.config.head, []
        if self.next_sentence is not None:
            of_pair = [_Features(self.next_sentence)(self.pooled(states, keep)[:, None])]
        if kind in ("masked_lm", "pretraining"):
            inputs["places"] = ids_input("places")
            states = ops.take_along_axis(states, inputs["places"][:, :, None], axis=1)
        elif kind == "classification":
            states = self.pooled(states, keep)[:, None]
        found = [*of_pair, _Features(self.head)(states)]
        return with_one(ops.concatenate(found, axis=1) if of_pair else found[0])


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
        num_token_types=config.embedded_token_types,
        name="embeddings",
        **config.embedding_arguments(),
    )


def _make_head(config: EncoderConfig, embeddings: Embeddings) -> Any:
    if config.head == "embedding" and config.dense:
        return VectorHead(config.dense, name="head")
    if config.head in (None, "embedding"):
        return None
    if config.head in ("masked_lm", "pretraining"):
        head: VocabularyHead = MaskedTokenHead(
            config.vocab_size,
            config.masked_activation or config.activation,
            config.norm_kind,
            config.layer_norm_epsilon,
            name="head",
        )
        if config.query_stream:
            head = VocabularyHead(config.vocab_size, use_bias=True, name="head")
        head.tie(embeddings.tokens)
        return head
    if config.crf:
        scheme = TagScheme.of(config.labels)
        forbidden = scheme.forbidden if scheme else ()
        return ChainHead(
            len(config.labels), config.dropout, forbidden, **_transform(config), name="head"
        )
    sizes = {"regression": 1, "spans": 2}
    return ClassHead(
        sizes.get(config.head or "", len(config.labels)),
        config.dropout,
        config.value_activation,
        **_transform(config),
        name="head",
    )


def _transform(config: EncoderConfig) -> dict[str, Any]:
    """Returns the arguments of a `ClassHead` that say what it reads states through."""
    return {
        "transform": config.activation if config.head_transform else None,
        "norm_kind": config.norm_kind,
        "epsilon": config.layer_norm_epsilon,
    }
