"""GPT-2 of keras-hub."""

from collections.abc import Iterator

from keras_transformer.pretrained.keras_hub.family import (
    SAME,
    Config,
    Family,
    Head,
    Vocabulary,
    Weight,
    dense,
    heads_in,
    heads_out,
    norm,
    numbered,
    table,
)


def _weights(config: Config) -> Iterator[Weight]:
    yield from table("layers/reversible_embedding", "wte")
    yield from table("layers/position_embedding", "wpe")
    for number in range(config["num_layers"]):
        here, theirs = numbered("transformer_decoder", number), f"h.{number}."
        attention = f"{here}/_self_attention_layer"
        for part, name in enumerate(("query", "key", "value")):
            form = heads_out(transposed=False)
            yield from dense(f"{attention}/{name}_dense", f"{theirs}attn.c_attn", form, part, 3)
        form = heads_in(transposed=False)
        yield from dense(f"{attention}/output_dense", f"{theirs}attn.c_proj", form)
        yield from norm(f"{here}/_self_attention_layer_norm", f"{theirs}ln_1")
        yield from dense(f"{here}/_feedforward_intermediate_dense", f"{theirs}mlp.c_fc", SAME)
        yield from dense(f"{here}/_feedforward_output_dense", f"{theirs}mlp.c_proj", SAME)
        yield from norm(f"{here}/_feedforward_layer_norm", f"{theirs}ln_2")
    yield from norm("layers/layer_normalization", "ln_f")


_END = "<|endoftext|>"
GPT2 = Family(
    "gpt2",
    {
        "vocabulary_size": ("vocab_size",),
        "num_layers": ("n_layer",),
        "num_heads": ("n_head",),
        "hidden_dim": ("n_embd",),
        "intermediate_dim": ("n_inner",),
        "dropout": ("resid_pdrop", "attn_pdrop", "embd_pdrop"),
        "max_sequence_length": ("n_positions",),
    },
    {"activation_function": "gelu_new", "layer_norm_epsilon": 1e-5},
    _weights,
    Vocabulary("bytes", {"bos_token_id": _END, "eos_token_id": _END}),
    dict.fromkeys(("", "CausalLM"), Head("GPT2LMHeadModel")),
    body="transformer.",
)
FAMILIES = {"GPT2Backbone": GPT2}
