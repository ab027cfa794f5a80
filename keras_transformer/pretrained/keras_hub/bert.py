"""BERT of keras-hub, and the encoders that share its blocks: RoBERTa, XLM-RoBERTa, DistilBERT and
ELECTRA.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from keras_transformer.pretrained.huggingface.bert_family import MASKED_ACTIVATION
from keras_transformer.pretrained.keras_hub.family import (
    MATRIX,
    SAME,
    TASK,
    Config,
    Family,
    Form,
    Head,
    Vocabulary,
    Weight,
    dense,
    heads_in,
    heads_out,
    layers,
    norm,
    rows_behind,
    table,
)
from keras_transformer.pretrained.values import FileValues

SIZES: dict[str, tuple[str, ...]] = {
    "vocabulary_size": ("vocab_size",),
    "num_layers": ("num_hidden_layers",),
    "num_heads": ("num_attention_heads",),
    "hidden_dim": ("hidden_size",),
    "intermediate_dim": ("intermediate_size",),
    "dropout": ("hidden_dropout_prob", "attention_probs_dropout_prob"),
    "max_sequence_length": ("max_position_embeddings",),
    "num_segments": ("type_vocab_size",),
}
WORDS = Vocabulary(
    "words", {"bos_token_id": "[CLS]", "eos_token_id": "[SEP]", "pad_token_id": "[PAD]"}
)

_ATTENTION = "_self_attention_layer/"


def block(
    attention: tuple[str, ...], feed_forward: tuple[str, str, str], layer: str = _ATTENTION
) -> dict[str, tuple[str, Form]]:
    """Returns the layers of keras-hub's `TransformerEncoder`.

    Args:
        attention: Hugging Face's names of query, key, value, output and the norm behind them.
        feed_forward: Those of both linear layers and the norm behind them.
        layer: The beginning of the attention's paths.
    """
    query, key, value, output, attention_norm = attention
    hidden, out, last_norm = feed_forward
    return {
        f"{layer}query_dense": (query, heads_out()),
        f"{layer}key_dense": (key, heads_out()),
        f"{layer}value_dense": (value, heads_out()),
        f"{layer}output_dense": (output, heads_in()),
        "_self_attention_layer_norm": (attention_norm, SAME),
        "_feedforward_intermediate_dense": (hidden, MATRIX),
        "_feedforward_output_dense": (out, MATRIX),
        "_feedforward_layer_norm": (last_norm, SAME),
    }


BLOCK = block(
    (
        *(f"attention.self.{name}" for name in ("query", "key", "value")),
        "attention.output.dense",
        "attention.output.LayerNorm",
    ),
    ("intermediate.dense", "output.dense", "output.LayerNorm"),
)


def masked_lm(transform: str, layer_norm: str, bias: str) -> tuple[Weight, ...]:
    """Returns the weights of keras-hub's `MaskedLMHead`."""
    head = f"{TASK}layers/masked_lm_head"
    return (
        *dense(f"{head}/_intermediate_dense", transform),
        *norm(f"{head}/_intermediate_layer_norm", layer_norm),
        Weight(f"{head}/vars/0", bias),
    )


def embeddings() -> Iterator[Weight]:
    """Yields the embeddings of tokens, positions and types, and the norm behind them."""
    yield from table("layers/reversible_embedding", "embeddings.word_embeddings")
    yield from table("layers/position_embedding", "embeddings.position_embeddings")
    yield from table("layers/embedding", "embeddings.token_type_embeddings")
    yield from norm("layers/layer_normalization", "embeddings.LayerNorm")


def _bert_weights(config: Config) -> Iterator[Weight]:
    yield from embeddings()
    yield from layers(config, "transformer_encoder", "encoder.layer.{}.", BLOCK)
    yield from dense("layers/dense", "pooler.dense")


BERT = Family(
    "bert",
    SIZES,
    {"hidden_act": "gelu_new", "layer_norm_eps": 1e-12},
    _bert_weights,
    WORDS,
    {
        "": Head("BertModel"),
        "MaskedLM": Head(
            "BertForMaskedLM",
            masked_lm(
                "cls.predictions.transform.dense",
                "cls.predictions.transform.LayerNorm",
                "cls.predictions.bias",
            ),
            {MASKED_ACTIVATION: "gelu"},
        ),
        "TextClassifier": Head(
            "BertForSequenceClassification", (*dense(f"{TASK}layers/dense", "classifier"),)
        ),
    },
    body="bert.",
    pooler="pooler.dense",
)


BART_BYTES = Vocabulary(
    "bytes", {"bos_token_id": "<s>", "eos_token_id": "</s>", "pad_token_id": "<pad>"}
)
# Later encoders have tokens and positions in one layer.
_EMBEDDINGS = "layers/token_and_position_embedding"


def _roberta_weights(config: Config) -> Iterator[Weight]:
    yield from table(f"{_EMBEDDINGS}/token_embedding", "embeddings.word_embeddings")
    positions = f"{_EMBEDDINGS}/position_embedding"
    # RoBERTa counts from behind its padding's id.
    yield from table(positions, "embeddings.position_embeddings", rows_behind(2))
    yield from norm("layers/layer_normalization", "embeddings.LayerNorm")
    yield from layers(config, "transformer_encoder", "encoder.layer.{}.", BLOCK)


def _roberta(config: FileValues) -> dict[str, Any]:
    longest = config.integer("max_sequence_length", 512)
    return {"max_position_embeddings": longest + 2, "type_vocab_size": 0}


def _roberta_heads(name: str) -> dict[str, Head]:
    layer = f"{TASK}layers/dense"
    return {
        "": Head(f"{name}Model"),
        "MaskedLM": Head(
            f"{name}ForMaskedLM",
            masked_lm("lm_head.dense", "lm_head.layer_norm", "lm_head.bias"),
        ),
        "TextClassifier": Head(
            f"{name}ForSequenceClassification",
            (*dense(layer, "classifier.dense"), *dense(f"{layer}_1", "classifier.out_proj")),
        ),
    }


_WITHOUT = {
    name: SIZES[name] for name in SIZES if name not in ("max_sequence_length", "num_segments")
}
ROBERTA = Family(
    "roberta",
    _WITHOUT,
    {"hidden_act": "gelu", "layer_norm_eps": 1e-5},
    _roberta_weights,
    BART_BYTES,
    _roberta_heads("Roberta"),
    body="roberta.",
    computed=_roberta,
    written=lambda theirs: {"max_sequence_length": theirs["max_position_embeddings"] - 2},
    known=("max_sequence_length",),
    added=("embeddings.token_type_embeddings.weight", "embeddings.position_embeddings.weight"),
)
_DISTILBERT_BLOCK = block(
    (
        *(f"attention.{name}_lin" for name in ("q", "k", "v", "out")),
        "sa_layer_norm",
    ),
    ("ffn.lin1", "ffn.lin2", "output_layer_norm"),
)


def _distilbert_weights(config: Config) -> Iterator[Weight]:
    yield from table(f"{_EMBEDDINGS}/token_embedding", "embeddings.word_embeddings")
    yield from table(f"{_EMBEDDINGS}/position_embedding", "embeddings.position_embeddings")
    yield from norm("layers/layer_normalization", "embeddings.LayerNorm")
    yield from layers(config, "transformer_encoder", "transformer.layer.{}.", _DISTILBERT_BLOCK)


DISTILBERT = Family(
    "distilbert",
    {
        "vocabulary_size": ("vocab_size",),
        "num_layers": ("n_layers",),
        "num_heads": ("n_heads",),
        "hidden_dim": ("dim",),
        "intermediate_dim": ("hidden_dim",),
        "dropout": ("dropout", "attention_dropout"),
        "max_sequence_length": ("max_position_embeddings",),
    },
    {"activation": "gelu"},
    _distilbert_weights,
    WORDS,
    {
        "": Head("DistilBertModel"),
        "MaskedLM": Head(
            "DistilBertForMaskedLM",
            masked_lm("vocab_transform", "vocab_layer_norm", "vocab_projector.bias"),
        ),
        "TextClassifier": Head(
            "DistilBertForSequenceClassification",
            (
                *dense(f"{TASK}layers/dense", "pre_classifier"),
                *dense(f"{TASK}layers/dense_1", "classifier"),
            ),
        ),
    },
    body="distilbert.",
)
# Its backbone has another name for the size of the vocabulary.
_NARROW = {
    "vocab_size": ("vocab_size",),
    "embedding_dim": ("embedding_size",),
    **{name: theirs for name, theirs in SIZES.items() if name != "vocabulary_size"},
}


# Which no ELECTRA was trained with.
_ELECTRA_POOLER = "discriminator_predictions.pooled"


def _electra_weights(config: Config) -> Iterator[Weight]:
    yield from embeddings()
    pooler = "layers/dense"
    if config["embedding_dim"] != config["hidden_dim"]:
        yield from dense(pooler, "embeddings_project")
        pooler = "layers/dense_1"
    yield from layers(config, "transformer_encoder", "encoder.layer.{}.", BLOCK)
    yield from dense(pooler, _ELECTRA_POOLER)


ELECTRA = Family(
    "electra",
    _NARROW,
    {"hidden_act": "gelu_new", "layer_norm_eps": 1e-12},
    _electra_weights,
    WORDS,
    {"": Head("ElectraModel")},
    body="electra.",
    pooler=_ELECTRA_POOLER,
)
FAMILIES = {
    "BertBackbone": BERT,
    "RobertaBackbone": ROBERTA,
    "XLMRobertaBackbone": replace(
        ROBERTA,
        model_type="xlm-roberta",
        vocabulary=Vocabulary("sentencepiece.bpe.model", {}),
        heads=_roberta_heads("XLMRoberta"),
    ),
    "DistilBertBackbone": DISTILBERT,
    "ElectraBackbone": ELECTRA,
}
