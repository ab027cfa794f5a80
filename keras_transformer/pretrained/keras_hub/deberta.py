"""DeBERTa v3 of keras-hub."""

from collections.abc import Iterator
from typing import Any

from keras_transformer.pretrained.keras_hub.bert import SIZES, block, masked_lm
from keras_transformer.pretrained.keras_hub.family import (
    MATRIX,
    TASK,
    Config,
    Family,
    Head,
    Vocabulary,
    Weight,
    dense,
    layers,
    norm,
    table,
)

_BLOCK = block(
    (
        *(f"attention.self.{name}_proj" for name in ("query", "key", "value")),
        "attention.output.dense",
        "attention.output.LayerNorm",
    ),
    ("intermediate.dense", "output.dense", "output.LayerNorm"),
    # Its layer has private names.
    "_self_attention_layer/_",
)
# Which reads heads side by side.
_BLOCK["_self_attention_layer/_output_dense"] = ("attention.output.dense", MATRIX)


def _weights(config: Config) -> Iterator[Weight]:
    yield from table("layers/reversible_embedding", "embeddings.word_embeddings")
    yield from norm("layers/layer_normalization", "embeddings.LayerNorm")
    yield from table("layers/relative_embedding", "encoder.rel_embeddings")
    yield from norm("layers/relative_embedding/layer_norm", "encoder.LayerNorm")
    yield from layers(config, "disentangled_attention_encoder", "encoder.layer.{}.", _BLOCK)


def _written(theirs: Config) -> dict[str, Any]:
    longest, most = theirs["max_position_embeddings"], theirs["max_relative_positions"]
    if longest != most:
        raise ValueError(
            f"keras-hub's DebertaV3 tells distances apart up to the longest text: "
            f"relative_max_distance must be {longest}, got {most}."
        )
    return {}


_MASKED = "cls.predictions.transform."
FAMILIES = {
    "DebertaV3Backbone": Family(
        "deberta-v2",
        {
            **{name: several for name, several in SIZES.items() if name != "num_segments"},
            "bucket_size": ("position_buckets",),
        },
        {
            "hidden_act": "gelu",
            "layer_norm_eps": 1e-7,
            "type_vocab_size": 0,
            "relative_attention": True,
            "pos_att_type": ["p2c", "c2p"],
            "position_biased_input": False,
        },
        _weights,
        Vocabulary(
            "spm.model",
            {"bos_token_id": "[CLS]", "eos_token_id": "[SEP]", "pad_token_id": "[PAD]"},
        ),
        {
            "": Head("DebertaV2Model"),
            "MaskedLM": Head(
                "DebertaV2ForMaskedLM",
                masked_lm(f"{_MASKED}dense", f"{_MASKED}LayerNorm", "cls.predictions.bias"),
            ),
            "TextClassifier": Head(
                "DebertaV2ForSequenceClassification",
                (
                    *dense(f"{TASK}layers/dense", "pooler.dense"),
                    *dense(f"{TASK}layers/dense_1", "classifier"),
                ),
            ),
        },
        body="deberta.",
        written=_written,
    )
}
