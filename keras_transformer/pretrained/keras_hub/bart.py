"""BART of keras-hub."""

from collections.abc import Iterator

from keras_transformer.pretrained.keras_hub.bert import BART_BYTES, block
from keras_transformer.pretrained.keras_hub.family import (
    SAME,
    Config,
    Family,
    Head,
    Weight,
    heads_in,
    heads_out,
    layers,
    norm,
    numbered,
    rows_behind,
    table,
)

_ENCODER = block(
    (
        *(f"self_attn.{name}_proj" for name in ("q", "k", "v", "out")),
        "self_attn_layer_norm",
    ),
    ("fc1", "fc2", "final_layer_norm"),
)
_CROSS = "_cross_attention_layer"
_DECODER = {
    **_ENCODER,
    **{
        f"{_CROSS}/{name}_dense": (f"encoder_attn.{name[0]}_proj", heads_out())
        for name in ("query", "key", "value")
    },
    f"{_CROSS}/output_dense": ("encoder_attn.out_proj", heads_in()),
    f"{_CROSS}_norm": ("encoder_attn_layer_norm", SAME),
}


def _weights(config: Config) -> Iterator[Weight]:
    yield from table("layers/reversible_embedding", "model.shared")
    for number, (side, layout) in enumerate((("encoder", _ENCODER), ("decoder", _DECODER))):
        here = f"model.{side}."
        positions = numbered("position_embedding", number)
        yield from table(positions, f"{here}embed_positions", rows_behind(2))
        yield from norm(numbered("layer_normalization", number), f"{here}layernorm_embedding")
        yield from layers(config, f"transformer_{side}", here + "layers.{}.", layout)


FAMILIES = {
    "BartBackbone": Family(
        "bart",
        {
            "vocabulary_size": ("vocab_size",),
            "num_layers": ("encoder_layers", "decoder_layers"),
            "num_heads": ("encoder_attention_heads", "decoder_attention_heads"),
            "hidden_dim": ("d_model",),
            "intermediate_dim": ("encoder_ffn_dim", "decoder_ffn_dim"),
            "dropout": ("dropout", "attention_dropout"),
            "max_sequence_length": ("max_position_embeddings",),
        },
        {"activation_function": "gelu", "scale_embedding": False},
        _weights,
        BART_BYTES,
        dict.fromkeys(("", "Seq2SeqLM"), Head("BartForConditionalGeneration")),
        zeros="final_logits_bias",
    )
}
