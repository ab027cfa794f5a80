"""Nomic-BERT (Nussbaum et al. 2024), a BERT with rotary positions, SwiGLU and no biases."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.pretrained.huggingface.bert_family import BERT, ENCODERS, head_table
from keras_transformer.pretrained.huggingface.decoders.rope import read_rope
from keras_transformer.pretrained.huggingface.encoders.heads import head_fields
from keras_transformer.pretrained.huggingface.fields import Fields
from keras_transformer.pretrained.tensor_files import Tensors
from keras_transformer.pretrained.weight_table import Entry, linear, norm

NOMIC_BERT = replace(
    BERT,
    body="nomic_bert.",
    masked=(
        "cls.predictions.transform.dense",
        "cls.predictions.transform.layer_norm",
        "cls.predictions.bias",
    ),
)
# Names of the first configs, which came with code of their own → today's.
_OLDER = {
    "n_embd": "hidden_size",
    "n_inner": "intermediate_size",
    "n_head": "num_attention_heads",
    "n_layer": "num_hidden_layers",
    "n_positions": "max_position_embeddings",
    "layer_norm_epsilon": "layer_norm_eps",
    "rotary_emb_base": "rope_theta",
    "resid_pdrop": "hidden_dropout_prob",
    "attn_pdrop": "attention_probs_dropout_prob",
}


def nomic_bert_config(fields: Fields, special_ids: SpecialIds, tensors: Tensors) -> EncoderConfig:
    """Returns the config of a Nomic-BERT."""
    fields.require(
        activation_function="swiglu",
        prenorm=False,
        use_rms_norm=False,
        parallel_block=False,
        qkv_proj_bias=False,
        mlp_fc1_bias=False,
        mlp_fc2_bias=False,
        rotary_emb_fraction=1.0,
        rotary_emb_interleaved=False,
        rotary_scaling_factor=None,
    )
    older = {new: fields.values[old] for old, new in _OLDER.items() if old in fields.values}
    fields = Fields(fields.path, {"rope_theta": 1000.0, **older, **fields.values})
    heads, width = fields.integer("num_attention_heads", least=1), fields.integer("hidden_size")
    head_dim = fields.integer("head_dim", width // heads)
    return EncoderConfig(
        vocab_size=fields.vocab_size(),
        model_dim=width,
        feed_forward_dim=fields.integer("intermediate_size"),
        num_heads=heads,
        key_dim=head_dim,
        value_dim=head_dim,
        num_layers=fields.integer("num_hidden_layers"),
        activation=fields.activation("hidden_act", "silu"),
        gated_feed_forward=True,
        use_bias=False,
        dropout=fields.number("hidden_dropout_prob", 0.0),
        attention_dropout=fields.number("attention_probs_dropout_prob", 0.0),
        layer_norm_epsilon=fields.number("layer_norm_eps", 1e-12),
        positions="none",
        max_positions=None,
        max_row_length=fields.integer("max_position_embeddings", 2048),
        **read_rope(fields, head_dim),
        num_token_types=fields.integer("type_vocab_size", 2),
        pooler="pooler.dense.weight" in tensors or "nomic_bert.pooler.dense.weight" in tensors,
        special_ids=special_ids,
        **head_fields(fields, tensors, "NomicBert"),
    )


def nomic_bert_table(model: Any, tensors: Tensors) -> Iterator[Entry]:
    """Yields the entries of a Nomic-BERT."""
    body = NOMIC_BERT.body if any(name.startswith(NOMIC_BERT.body) for name in tensors) else ""
    embeddings = model.embeddings
    yield Entry(embeddings.tokens.matrix, f"{body}embeddings.word_embeddings.weight")
    yield Entry(embeddings.token_types.matrix, f"{body}embeddings.token_type_embeddings.weight")
    yield from norm(embeddings.layer_norm, f"{body}emb_ln")
    for number, block in enumerate(model.encoder_stack.blocks):
        here = f"{body}encoder.layers.{number}."
        *parts, output = block.attention.linear_layers
        for part, layer in enumerate(parts):
            yield from linear(layer, f"{here}attn.Wqkv", part=part, parts=3)
        yield from linear(output, f"{here}attn.out_proj")
        # The second of their layers is activated.
        for layer, name in zip(block.feed_forward.linear_layers, ("12", "11", "2"), strict=True):
            yield from linear(layer, f"{here}mlp.fc{name}")
        yield from norm(block.attention_residual.layer_norm, f"{here}norm1")
        yield from norm(block.feed_forward_residual.layer_norm, f"{here}norm2")
    yield from head_table(model, tensors, NOMIC_BERT, body)


# By `model_type`.
NOMIC_BERTS = {
    "nomic_bert": replace(
        ENCODERS["bert"],
        config=nomic_bert_config,
        table=nomic_bert_table,
        unread=(*ENCODERS["bert"].unread, "inv_freq"),
    )
}
