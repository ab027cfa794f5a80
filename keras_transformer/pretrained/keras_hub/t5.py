"""T5 and T5 1.1 of keras-hub."""

from collections.abc import Iterator
from typing import Any

from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.huggingface.fields import ACTIVATIONS
from keras_transformer.pretrained.keras_hub.family import (
    MATRIX,
    SAME,
    Config,
    Family,
    Form,
    Head,
    Vocabulary,
    Weight,
    layers,
    norm,
    numbered,
    table,
)
from keras_transformer.pretrained.values import FileValues

# What the layers of a block are in keras-hub's; decoders have the second one.
_SUB_LAYERS = (("self_attention", "SelfAttention"), ("cross_attention", "EncDecAttention"))
# "gated-gelu" of Hugging Face means the tanh form.
_ACTIVATIONS = {
    "relu": "relu",
    "silu": "silu",
    "gelu": "gelu_python",
    "gelu_approximate": "gelu_new",
}
_PROJECTIONS = ("query", "key", "value", "output")


def _block(attentions: int, gated: bool) -> dict[str, tuple[str, Form]]:
    found: dict[str, tuple[str, Form]] = {}
    for place, (name, theirs) in enumerate(_SUB_LAYERS[:attentions]):
        here = f"layer.{place}."
        found[f"{name}_layer_norm"] = (f"{here}layer_norm", SAME)
        for one in _PROJECTIONS:
            found[f"{name}/{one}_projector"] = (f"{here}{theirs}.{one[0]}", MATRIX)
    here = f"layer.{attentions}."
    dense = f"{here}DenseReluDense."
    found["layer_norm"] = (f"{here}layer_norm", SAME)
    found["input_projector"] = (f"{dense}{'wi_0' if gated else 'wi'}", MATRIX)
    if gated:
        found["gate_projector"] = (f"{dense}wi_1", MATRIX)
    found["output_projector"] = (f"{dense}wo", MATRIX)
    return found


def _weights(config: Config) -> Iterator[Weight]:
    yield from table("layers/reversible_embedding", "shared")
    yield Weight("layers/reversible_embedding/vars/1", "lm_head.weight", MATRIX)
    gated = config.get("use_gated_activation", True)
    for number, side in enumerate(("encoder", "decoder")):
        first = number * config["num_layers"]
        group, here = "t5_transformer_layer", f"{side}.block."
        yield from layers(config, group, here + "{}.", _block(number + 1, gated), first)
        relative = f"{here}0.layer.0.SelfAttention.relative_attention_bias"
        yield from table(f"{numbered(group, first)}/self_attention", relative)
        yield from norm(numbered("t5_layer_norm", number), f"{side}.final_layer_norm")


def _computed(config: FileValues) -> dict[str, Any]:
    width, heads = config.integer("hidden_dim"), config.integer("num_heads", least=1)
    gated = config.flag("use_gated_activation", True)
    named = config.get("activation", "relu")
    # Functions of keras-hub's own are saved with its name.
    named = str(named.get("config") if isinstance(named, dict) else named).rpartition(">")[2]
    if named not in _ACTIVATIONS:
        raise ImportRefusedError(
            f"{config.origin} has activation: {named!r}, and only {', '.join(_ACTIVATIONS)} are "
            "supported."
        )
    kind = _ACTIVATIONS[named]
    tied = config.flag("tie_embedding_weights", True)
    return {
        "d_kv": config.integer("key_value_dim", width // heads),
        "feed_forward_proj": f"gated-{kind}" if gated else kind,
        "tie_word_embeddings": tied,
        "scale_decoder_outputs": tied,
    }


def _written(theirs: Config) -> dict[str, Any]:
    kind = theirs["feed_forward_proj"]
    name = kind.removeprefix("gated-")
    ours = "gelu_tanh" if kind == "gated-gelu" else ACTIVATIONS[name]
    named: Any = next((one for one, two in _ACTIVATIONS.items() if ACTIVATIONS[two] == ours), None)
    if named is None:
        raise ValueError(
            f"keras-hub's T5 has one of the activations {', '.join(_ACTIVATIONS)}, got {name!r}."
        )
    if named == "gelu_approximate":
        named = {"module": "builtins", "class_name": "function", "registered_name": "function"}
        named["config"] = "keras_hub>gelu_approximate"
    return {
        "key_value_dim": theirs["d_kv"],
        "activation": named,
        "use_gated_activation": name != kind,
        "tie_embedding_weights": theirs["tie_word_embeddings"],
    }


FAMILIES = {
    "T5Backbone": Family(
        "t5",
        {
            "vocabulary_size": ("vocab_size",),
            "num_layers": ("num_layers", "num_decoder_layers"),
            "num_heads": ("num_heads",),
            "hidden_dim": ("d_model",),
            "intermediate_dim": ("d_ff",),
            "dropout": ("dropout_rate",),
            "layer_norm_epsilon": ("layer_norm_epsilon",),
        },
        {"relative_attention_num_buckets": 32, "relative_attention_max_distance": 128},
        _weights,
        Vocabulary(
            "spiece.model", {"eos_token_id": "</s>", "pad_token_id": "<pad>"}, {"extra_ids": 0}
        ),
        dict.fromkeys(("", "Seq2SeqLM"), Head("T5ForConditionalGeneration")),
        computed=_computed,
        written=_written,
        known=("key_value_dim", "activation", "use_gated_activation", "tie_embedding_weights"),
        optional=(".bias", "lm_head.weight"),
    )
}
