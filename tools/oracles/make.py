"""Makes the oracles: tiny random models of Hugging Face transformers, their weights and what they
compute, one `.npz` file each. Needs PyTorch and transformers, which `make oracles` installs apart.

A file holds `config` (the values of our config, as JSON), `input/…` and `output/…` by our names,
and `weight/…` by theirs. Rows are padded on the right with id 0; outputs at padding mean nothing.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

LABELS = ["yes", "no", "maybe"]
WIDTH, HIDDEN, HEADS, LAYERS, VOCABULARY, POSITIONS = 16, 24, 2, 2, 40, 12
SIZES = {
    "vocab_size": VOCABULARY,
    "model_dim": WIDTH,
    "feed_forward_dim": HIDDEN,
    "num_heads": HEADS,
    "num_layers": LAYERS,
}
TOKEN_IDS = [
    [2, 7, 31, 5, 3, 9, 39, 3],
    [2, 6, 3, 0, 0, 0, 0, 0],
    [2, 4, 11, 12, 13, 3, 0, 0],
]
TOKEN_TYPE_IDS = [
    [0, 0, 0, 0, 0, 1, 1, 1],
    [0, 0, 0, 0, 0, 0, 0, 0],
    [0, 0, 0, 1, 1, 1, 0, 0],
]
BERT = {
    "vocab_size": VOCABULARY,
    "hidden_size": WIDTH,
    "intermediate_size": HIDDEN,
    "num_attention_heads": HEADS,
    "num_hidden_layers": LAYERS,
    "max_position_embeddings": POSITIONS,
    "num_labels": len(LABELS),
}
GPT2 = {
    "vocab_size": VOCABULARY,
    "n_embd": WIDTH,
    "n_inner": HIDDEN,
    "n_head": HEADS,
    "n_layer": LAYERS,
    "n_positions": POSITIONS,
}
LLAMA = {
    "vocab_size": VOCABULARY,
    "hidden_size": WIDTH,
    "intermediate_size": HIDDEN,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "num_hidden_layers": LAYERS,
    "max_position_embeddings": POSITIONS,
    "rms_norm_eps": 1e-6,
    "tie_word_embeddings": False,
}
T5 = {
    "vocab_size": VOCABULARY,
    "d_model": WIDTH,
    "d_kv": 8,
    "d_ff": HIDDEN,
    "num_layers": LAYERS,
    "num_heads": HEADS,
    "relative_attention_num_buckets": 8,
    "relative_attention_max_distance": 6,
}
T5_SOURCE_IDS = [[7, 31, 5, 9, 39, 6, 8, 1], [6, 1, 0, 0, 0, 0, 0, 0], [4, 11, 12, 1, 0, 0, 0, 0]]
T5_TARGET_IDS = [[0, 8, 21, 6], [0, 17, 0, 0], [0, 9, 9, 0]]


def encoder(**fields: Any) -> dict[str, Any]:
    """Returns the values of the `EncoderConfig` that is as `BERT` is."""
    return {"family": "encoder", **SIZES, "max_positions": POSITIONS, **fields}


def decoder(**fields: Any) -> dict[str, Any]:
    """Returns the values of a `DecoderConfig`."""
    return {"family": "decoder", **SIZES, **fields}


def t5() -> dict[str, Any]:
    """Returns the values of the `TransformerConfig` that is as `T5` is."""
    sizes = {"num_encoder_layers": LAYERS, "num_decoder_layers": LAYERS, "num_heads": HEADS}
    return {
        "source_vocab_size": VOCABULARY,
        "model_dim": WIDTH,
        "feed_forward_dim": HIDDEN,
        **sizes,
        "positions": "none",
        "scale_embeddings": False,
        "relative_buckets": T5["relative_attention_num_buckets"],
        "relative_max_distance": T5["relative_attention_max_distance"],
        "norm": "pre",
        "norm_kind": "rms_norm",
        "layer_norm_epsilon": 1e-6,
        "use_bias": False,
        "scale_attention": False,
        "special_ids": {"pad": 0, "eos": 1, "unk": 2, "bos": None, "decoder_start": 0},
    }


def states_of(results: Any) -> dict[str, Any]:
    """Returns the states after the embeddings and each block, and the pooler's."""
    hidden = {f"hidden_{place}": states for place, states in enumerate(results.hidden_states)}
    return {"states": results.last_hidden_state, "pooled": results.pooler_output, **hidden}


def logits_of(results: Any) -> dict[str, Any]:
    """Returns a head's logits."""
    return {"outputs": results.logits}


def spans_of(results: Any) -> dict[str, Any]:
    """Returns the logits of first and last tokens, side by side."""
    return {"outputs": torch.stack([results.start_logits, results.end_logits], dim=-1)}


# A file's name: a model, the config of ours that is the same, and its outputs by our names.
Oracle = tuple[Callable[[], Any], dict[str, Any], Callable[[Any], dict[str, Any]]]
ORACLES: dict[str, Oracle] = {
    "bert": (
        lambda: transformers.BertModel(transformers.BertConfig(**BERT)),
        encoder(),
        states_of,
    ),
    "bert_masked_lm": (
        lambda: transformers.BertForMaskedLM(transformers.BertConfig(**BERT)),
        encoder(head="masked_lm"),
        logits_of,
    ),
    "bert_classification": (
        lambda: transformers.BertForSequenceClassification(transformers.BertConfig(**BERT)),
        encoder(head="classification", labels=LABELS),
        logits_of,
    ),
    "bert_regression": (
        lambda: transformers.BertForSequenceClassification(
            transformers.BertConfig(**{**BERT, "num_labels": 1})
        ),
        encoder(head="regression"),
        logits_of,
    ),
    "bert_tagging": (
        lambda: transformers.BertForTokenClassification(transformers.BertConfig(**BERT)),
        encoder(head="tagging", labels=LABELS),
        logits_of,
    ),
    "bert_spans": (
        lambda: transformers.BertForQuestionAnswering(
            transformers.BertConfig(**{**BERT, "num_labels": 2})
        ),
        encoder(head="spans"),
        spans_of,
    ),
    "gpt2": (
        lambda: transformers.GPT2LMHeadModel(transformers.GPT2Config(**GPT2)),
        decoder(max_positions=POSITIONS),
        logits_of,
    ),
    "llama": (
        lambda: transformers.LlamaForCausalLM(transformers.LlamaConfig(**LLAMA)),
        decoder(
            num_heads=4,
            num_key_value_heads=2,
            positions="none",
            max_positions=None,
            rotary_base=10_000.0,
            norm_kind="rms_norm",
            layer_norm_epsilon=1e-6,
            gated_feed_forward=True,
            activation="silu",
            use_bias=False,
            tied_head=False,
        ),
        logits_of,
    ),
    "t5": (
        lambda: transformers.T5ForConditionalGeneration(transformers.T5Config(**T5)),
        t5(),
        logits_of,
    ),
}


def randomize(model: Any, seed: int) -> None:
    """Draws every weight anew, so that biases and norms count, too."""
    generator = torch.Generator().manual_seed(seed)
    for name, weight in model.named_parameters():
        is_scale = "norm" in name.lower() or ".ln_" in name
        centre = 1.0 if is_scale and name.endswith("weight") else 0.0
        drawn = torch.randn(weight.shape, generator=generator)
        weight.data = centre + 0.3 * drawn


def inputs_for(config: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns a batch by our names, and the same by theirs."""
    if "family" not in config:
        source_ids, target_ids = torch.tensor(T5_SOURCE_IDS), torch.tensor(T5_TARGET_IDS)
        real = (target_ids != 0).long()
        real[:, 0] = 1  # The start is the padding's id.
        theirs = {
            "input_ids": source_ids,
            "attention_mask": (source_ids != 0).long(),
            "decoder_input_ids": target_ids,
            "decoder_attention_mask": real,
        }
        return {"source_ids": source_ids, "target_ids": target_ids}, theirs
    inputs = {"token_ids": torch.tensor(TOKEN_IDS)}
    theirs = {"input_ids": inputs["token_ids"], "attention_mask": (inputs["token_ids"] != 0).long()}
    if config["family"] == "encoder":
        inputs["token_type_ids"] = theirs["token_type_ids"] = torch.tensor(TOKEN_TYPE_IDS)
    return inputs, theirs


def make(name: str) -> dict[str, Any]:
    """Returns what an oracle's file holds."""
    build, config, outputs_of = ORACLES[name]
    model = build().eval()
    randomize(model, seed=list(ORACLES).index(name))
    inputs, theirs = inputs_for(config)
    with torch.no_grad():
        outputs = outputs_of(model(**theirs, output_hidden_states=True))
    # Shared matrices stand in the file once.
    weights = {f"weight/{name}": weight for name, weight in model.named_parameters()}
    return {
        "config": np.array(json.dumps(config)),
        **{f"input/{name}": ids.numpy().astype(np.int32) for name, ids in inputs.items()},
        **{f"output/{name}": values.numpy() for name, values in outputs.items()},
        **{name: weight.detach().numpy() for name, weight in weights.items()},
    }


def main() -> None:
    """Writes every oracle into the folder that the command line names."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in ORACLES:
        arrays = make(name)
        path = folder / f"{name}.npz"
        np.savez_compressed(path, **arrays)
        print(f"{path}: {path.stat().st_size // 1024} kB")


if __name__ == "__main__":
    main()
