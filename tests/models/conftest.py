"""Models of all three families, small, with random weights, each made once; and what any of them
takes and returns, so that one test holds for all.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.config import SpecialIds, TransformerConfig
from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.config.families import ModelConfig
from keras_transformer.models import build_transformer
from keras_transformer.models.decoder_only import build_decoder
from keras_transformer.models.encoder_only import build_encoder
from tools.covering import some

SIZES: dict[str, Any] = {"model_dim": 12, "feed_forward_dim": 20, "num_heads": 3}
MODERN: dict[str, Any] = {
    "norm": "pre",
    "norm_kind": "rms_norm",
    "gated_feed_forward": True,
    "activation": "silu",
    "use_bias": False,
    "num_heads": 6,
    "num_key_value_heads": 2,
    "key_dim": 4,
    "value_dim": 3,
    "query_key_norm": True,
    "rotary_base": 100.0,
}
NO_POSITIONS: dict[str, Any] = {"positions": "none", "max_positions": None}
SINUSOIDAL: dict[str, Any] = {"positions": "sinusoidal", "max_positions": None}
# Blocks in turn: a window with places, the whole text without.
IN_TURN: dict[str, Any] = {
    "window": 2,
    "block_pattern": ({"rotary_base": 100.0}, {"window": None, "gated_feed_forward": True}),
    "key_dim": 4,
}
XLNET: dict[str, Any] = {
    **NO_POSITIONS,
    "relative_sinusoids": True,
    "relative_segments": True,
    "attention_bias": False,
    "embedding_norm": False,
}
MODERN_BERT: dict[str, Any] = {
    **NO_POSITIONS,
    "norm": "pre",
    "first_norm": False,
    "num_token_types": 0,
    "gated_feed_forward": True,
    "use_bias": False,
    "key_dim": 4,
    "rotary_base": 100.0,
    "window": 2,
    "block_pattern": ({"window": None}, {"rotary_base": 10.0}),
    "head_transform": True,
    "pooler": False,
    "text_state": "mean",
}
CHOICES = ("yes", "no", "maybe")
# No target id is above 18: one variant has 19 of them.
TRANSFORMERS: list[dict[str, Any]] = [
    {},
    {"norm": "pre"},
    {"positions": "learned", "max_positions": 30, "share_embeddings": "target"},
    {"share_embeddings": "none", "target_vocab_size": 19, "key_dim": 5, "value_dim": 2},
    {"norm": "pre", "num_encoder_layers": 1, "num_decoder_layers": 3, "num_heads": 2},
    {"norm_kind": "rms_norm", "gated_feed_forward": True, "use_bias": False, "norm": "pre"},
    {"attention_output_bias": False, "feed_forward_bias": False},
    {"num_heads": 6, "num_key_value_heads": 2, "key_dim": 4, "scale_attention": False},
    {
        "num_heads": 6,
        "num_key_value_heads": 2,
        "key_dim": 4,
        "query_key_norm": True,
        "norm": "both",
        "attention_soft_cap": 0.5,
    },
    {"rotary_base": 100.0, "num_heads": 6, "key_dim": 4, "num_key_value_heads": 3},
    {"positions": "none", "relative_buckets": 8, "relative_max_distance": 5, "logit_bias": True},
    {"positions": "none", "relative_buckets": 6, "relative_per_block": True},
    {"additive_attention": True, "num_heads": 6, "num_key_value_heads": 2, "key_dim": 4},
    {"positions": "none", "relative_sinusoids": True, "num_heads": 6, "num_key_value_heads": 2},
    {"sinusoid_layout": "halves", "position_offset": 2, "scale_embeddings": False},
    {"sinusoid_layout": "tensor2tensor", "logit_bias": True},
    {"embedding_norm": True, "share_embeddings": "none", "logit_bias": True},
    IN_TURN,
    {"block_groups": 1, "num_encoder_layers": 3},
    {"decoder_recurrence": "ssru"},
    {
        "decoder_recurrence": "ssru",
        "norm": "pre",
        "norm_kind": "rms_norm",
        "use_bias": False,
        "positions": "none",
        "relative_buckets": 8,
    },
]
ENCODERS: list[dict[str, Any]] = [
    {},
    {"pooler": False, "norm": "pre"},
    {"head": "masked_lm"},
    {"head": "pretraining"},
    {"head": "classification", "labels": CHOICES},
    {"head": "classification", "labels": CHOICES, "pooler": False, "num_token_types": 0},
    {"head": "regression", "value_activation": "sigmoid"},
    {"head": "tagging", "labels": CHOICES, **SINUSOIDAL, "scale_embeddings": True},
    {"head": "tagging", "labels": ("B-X", "I-X", "O"), "crf": True},
    {"head": "spans", "embedding_norm": False},
    {"head": "embedding"},
    {"head": "embedding", "pooling": "first", "unit_vectors": True, "num_token_types": 1},
    {**NO_POSITIONS, "relative_buckets": 8, "relative_max_distance": 5},
    {**NO_POSITIONS, "relative_sinusoids": True, "norm": "both"},
    {"head": "masked_lm", **IN_TURN, "attention_soft_cap": 0.5},
    {"head": "masked_lm", "num_layers": 3, "block_groups": 1, "embedding_dim": 5},
    {"embedding_dim": 8, **SINUSOIDAL, "embedding_norm": False, "norm": "pre"},
    {**IN_TURN, "num_layers": 4, "block_groups": 1, "blocks_per_group": 2},
    {"head": "tagging", "labels": CHOICES, **XLNET, "pooler": False},
    {"head": "tagging", "labels": CHOICES, **MODERN_BERT},
    {"head": "regression", **MODERN_BERT},
    {"head": "tagging", "labels": CHOICES, **NO_POSITIONS, "disentangled_buckets": 4},
    {"head": "masked_lm", **XLNET, "query_stream": True, "special_ids": SpecialIds(mask=4)},
    {"head": "masked_lm", **MODERN, **NO_POSITIONS, "num_token_types": 0, "embedding_norm": False},
]
DECODERS: list[dict[str, Any]] = [
    {},
    {"norm": "post", "tied_head": False, **SINUSOIDAL, "scale_embeddings": True},
    {"key_dim": 5, "value_dim": 2, "activation": "relu", "scale_attention": False},
    {**NO_POSITIONS, "relative_buckets": 4, "relative_max_distance": 5, "logit_bias": True},
    {**NO_POSITIONS, "relative_sinusoids": True, "use_bias": False},
    {**NO_POSITIONS, "relative_sinusoids": True, "memory_length": 2, "norm": "post"},
    {
        **IN_TURN,
        **NO_POSITIONS,
        "norm": "both",
        "norm_kind": "rms_norm",
        "attention_soft_cap": 0.5,
        "final_logit_soft_cap": 2.0,
    },
    {
        **NO_POSITIONS,
        "relative_buckets": 4,
        "relative_per_block": True,
        "num_layers": 4,
        "block_groups": 2,
    },
    {**MODERN, **NO_POSITIONS, "layer_norm_epsilon": 1e-6},
    {"cutoffs": (5, 11), "div_value": 2, "logit_bias": True},
]


def transformer_config(fields: dict[str, Any]) -> TransformerConfig:
    layers = {"num_encoder_layers": 2, "num_decoder_layers": 2}
    return TransformerConfig(**{"source_vocab_size": 24, **layers, **SIZES, **fields})


def single_stack_config(kind: Any, fields: dict[str, Any]) -> Any:
    return kind(
        **{"vocab_size": 24, "num_layers": 2, "max_positions": 30, **SIZES, **MILD, **fields}
    )


# The papers' ε of 1e-12 is lost in half precision.
MILD: dict[str, Any] = {"layer_norm_epsilon": 1e-5}


@dataclass(frozen=True)
class Family:
    """A config, and what its model takes and returns.

    Attributes:
        config: Of any family.
        name: The family and the fields that are not those of its plainest model.
    """

    config: ModelConfig
    name: str

    def build(self, policy: str | None = None) -> Any:
        """Returns a new model."""
        if isinstance(self.config, EncoderConfig):
            return build_encoder(self.config, policy)
        if isinstance(self.config, DecoderConfig):
            return build_decoder(self.config, policy)
        return build_transformer(self.config, policy)

    def inputs(self, pairs: list[tuple[list[int], list[int]]], pads: Any = 0) -> dict[str, Any]:
        """Returns a batch for a model.

        A Transformer reads both texts of a pair, an encoder both in a row if it has token types, a
        decoder the second alone.

        Args:
            pairs: Ids of two texts a row.
            pads: The places to pad each text with: before and after the first, before and after
                the second. Rows are also padded at their ends to the longest.
        """
        a, b, c, d = pads or (0, 0, 0, 0)
        first, second = ([pair[side] for pair in pairs] for side in (0, 1))
        if isinstance(self.config, TransformerConfig):
            return {"source_ids": padded(first, a, b), "target_ids": padded(second, c, d)}
        if isinstance(self.config, DecoderConfig):
            return {"token_ids": padded(second, c, d)}
        inputs = {"token_ids": padded([[*x, *y] for x, y in pairs], c, d)}
        if self.config.num_token_types > 1:
            types = [[0] * len(x) + [1] * len(y) for x, y in pairs]
            inputs["token_type_ids"] = padded(types, c, d)
        return inputs

    def text(self, row: tuple[list[int], list[int]]) -> list[int]:
        """The ids of a row that outputs stand above."""
        return [*row[0], *row[1]] if isinstance(self.config, EncoderConfig) else row[1]

    @property
    def is_causal(self) -> bool:
        """Whether the model predicts what follows."""
        return not isinstance(self.config, EncoderConfig)


def padded(rows: list[list[int]], before: int, after: int) -> tf.Tensor:
    """Rows as int32, with a number of pads on either side of the longest."""
    longest = max(map(len, rows))
    full = [[0] * before + row + [0] * (longest - len(row) + after) for row in rows]
    return tf.constant(full, tf.int32)


def families(kind: Any, variants: list[dict[str, Any]]) -> list[Family]:
    if kind is TransformerConfig:
        return [Family(transformer_config(fields), f"transformer {fields}") for fields in variants]
    name = kind.family
    return [Family(single_stack_config(kind, fields), f"{name} {fields}") for fields in variants]


EVERY = [
    *families(TransformerConfig, TRANSFORMERS),
    *families(EncoderConfig, ENCODERS),
    *families(DecoderConfig, DECODERS),
]

PLAIN = [EVERY[0], EVERY[len(TRANSFORMERS)], EVERY[-len(DECODERS)]]
# For tests that take long: the plain ones, and those of today's blocks.
FEW = [*PLAIN, EVERY[5], EVERY[len(TRANSFORMERS) + len(ENCODERS) - 1], EVERY[-1]]
# Every second, in which nearly every option occurs.
TYPICAL = [EVERY[0], *EVERY[1 : len(TRANSFORMERS) : 2], *EVERY[len(TRANSFORMERS) :: 2], EVERY[-1]]
# Of these, half: for tests that trace a graph.
TRACED = TYPICAL[::2]
HEADS = [
    EVERY[0],
    *families(EncoderConfig, [f for f in ENCODERS if f.keys() <= {"head", "labels"}]),
    EVERY[-len(DECODERS)],
]
# One with logits of all tokens, one with two outputs.
TYPICAL_HEADS = [EVERY[0], EVERY[len(TRANSFORMERS) + ENCODERS.index({"head": "pretraining"})]]


@pytest.fixture(scope="session", params=some(TRANSFORMERS, *TRANSFORMERS[1::2]), ids=str)
def transformer_fields(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The fields of each variant of the Transformer in turn, for `random_model`."""
    return request.param


@pytest.fixture(scope="session", params=some(TRANSFORMERS, *TRANSFORMERS[1::4]), ids=str)
def traced_fields(request: pytest.FixtureRequest) -> dict[str, Any]:
    """As `transformer_fields`, fewer by default."""
    return request.param


@pytest.fixture(scope="session", params=some(EVERY, *TYPICAL), ids=lambda family: family.name)
def family(request: pytest.FixtureRequest) -> Family:
    """Each family in each of its variants, in turn."""
    return request.param


@pytest.fixture(scope="session", params=some(EVERY, *TRACED), ids=lambda family: family.name)
def traced_family(request: pytest.FixtureRequest) -> Family:
    """As `family`, fewer by default."""
    return request.param


@pytest.fixture(scope="session", params=PLAIN, ids=lambda family: family.name)
def plain_family(request: pytest.FixtureRequest) -> Family:
    """Each family in its plainest variant, in turn."""
    return request.param


@pytest.fixture(scope="session", params=FEW, ids=lambda family: family.name)
def one_of_few(request: pytest.FixtureRequest) -> Family:
    """Each family in its plainest and in its most modern variant, in turn."""
    return request.param


@pytest.fixture(scope="session", params=some(HEADS, *TYPICAL_HEADS), ids=lambda family: family.name)
def headed_family(request: pytest.FixtureRequest) -> Family:
    """Each family with each of its heads, in turn."""
    return request.param


@pytest.fixture(
    scope="session",
    params=some([f for f in EVERY if f.is_causal], *TRACED),
    ids=lambda family: family.name,
)
def causal_family(request: pytest.FixtureRequest) -> Family:
    """Each variant that predicts what follows, in turn."""
    return request.param


@pytest.fixture(scope="session")
def random_of(randomize: Callable[..., Any]) -> Callable[[Family], Any]:
    """`random_of(family)`: its model with random weights, made once."""
    return functools.cache(lambda family: randomize(family.build()))


@pytest.fixture(scope="session")
def outputs_of() -> Callable[..., dict[str, np.ndarray]]:
    """`outputs_of(model, inputs)`: its outputs by name, from one graph for any batch and length,
    which makes many small calls quick.
    """
    return _outputs_of


def _outputs_of(model: Any, inputs: dict[str, Any]) -> dict[str, np.ndarray]:
    outputs = _graph_of(model)({name: tf.constant(ids, tf.int32) for name, ids in inputs.items()})
    if not isinstance(outputs, dict):
        outputs = {"outputs": outputs}
    return {name: np.asarray(output) for name, output in outputs.items()}


@functools.cache
def _graph_of(model: Any) -> Any:
    ids = {name: tf.TensorSpec((None, None), tf.int32, name=name) for name in model.input}
    return tf.function(model.__call__, autograph=False, input_signature=[ids])


@pytest.fixture(scope="session")
def few_families() -> list[Family]:
    """The six of `one_of_few`."""
    return list(FEW)
