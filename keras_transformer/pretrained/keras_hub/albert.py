"""ALBERT of keras-hub, whose layers share blocks."""

from collections.abc import Iterator

from keras_transformer.pretrained.keras_hub.bert import SIZES, block, embeddings, masked_lm
from keras_transformer.pretrained.keras_hub.family import (
    TASK,
    Config,
    Family,
    Head,
    Vocabulary,
    Weight,
    dense,
    numbered,
)

_BLOCK = block(
    (
        *(f"attention.{name}" for name in ("query", "key", "value", "dense")),
        "attention.LayerNorm",
    ),
    ("ffn", "ffn_output", "full_layer_layer_norm"),
)


def _weights(config: Config) -> Iterator[Weight]:
    yield from embeddings()
    yield from dense("layers/dense", "encoder.embedding_hidden_mapping_in")
    repeated = config["num_inner_repetitions"]
    for number in range(config["num_groups"] * repeated):
        group, within = divmod(number, repeated)
        theirs = f"encoder.albert_layer_groups.{group}.albert_layers.{within}."
        for path, (name, form) in _BLOCK.items():
            yield from dense(
                f"{numbered('transformer_encoder', number)}/{path}", theirs + name, form
            )
    yield from dense("layers/dense_1", "pooler")


_MASKED = ("predictions.dense", "predictions.LayerNorm", "predictions.bias")
FAMILIES = {
    "AlbertBackbone": Family(
        "albert",
        SIZES
        | {
            "embedding_dim": ("embedding_size",),
            "num_groups": ("num_hidden_groups",),
            "num_inner_repetitions": ("inner_group_num",),
        },
        {"hidden_act": "gelu_new", "layer_norm_eps": 1e-12},
        _weights,
        # keras-hub gives texts to SentencePiece as they are.
        Vocabulary(
            "spiece.model",
            {"bos_token_id": "[CLS]", "eos_token_id": "[SEP]", "pad_token_id": "<pad>"},
            {"do_lower_case": False, "keep_accents": True},
            mask="[MASK]",
        ),
        {
            "": Head("AlbertModel"),
            "MaskedLM": Head("AlbertForMaskedLM", masked_lm(*_MASKED)),
            "TextClassifier": Head(
                "AlbertForSequenceClassification", (*dense(f"{TASK}layers/dense", "classifier"),)
            ),
        },
        body="albert.",
        pooler="pooler",
    )
}
