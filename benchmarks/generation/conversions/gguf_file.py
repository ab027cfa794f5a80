"""Writes the weights of GPT-2, Llama and Qwen2 in float32 as GGUF, without a vocabulary: the engine
is given ids.
"""

import json
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from safetensors.numpy import load_file

_ARCHITECTURES = {
    "gpt2": gguf.MODEL_ARCH.GPT2,
    "llama": gguf.MODEL_ARCH.LLAMA,
    "qwen2": gguf.MODEL_ARCH.QWEN2,
}
# GPT-2's files have these kernels as `(inputs, outputs)`.
_TRANSPOSED = ("c_attn.weight", "c_proj.weight", "c_fc.weight")


def write_gguf(source: Path, path: Path) -> None:
    """Writes a GGUF file.

    Args:
        source: The directory of `config.json` and `model.safetensors`.
        path: The file.

    Raises:
        KeyError: The architecture is another one.
    """
    config = json.loads((source / "config.json").read_text(encoding="utf-8"))
    architecture = _ARCHITECTURES[config["model_type"]]
    writer = gguf.GGUFWriter(path, gguf.MODEL_ARCH_NAMES[architecture])
    writer.add_tokenizer_model("none")
    writer.add_vocab_size(config["vocab_size"])
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    layers = (_add_gpt2 if architecture is gguf.MODEL_ARCH.GPT2 else _add_llama)(writer, config)
    names = gguf.get_tensor_name_map(architecture, layers)
    for name, weights in load_file(source / "model.safetensors").items():
        theirs = names.get_name(name, try_suffixes=(".weight", ".bias"))
        writer.add_tensor(theirs, _arranged(name, weights, config))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_gpt2(writer: gguf.GGUFWriter, config: dict[str, Any]) -> int:
    writer.add_context_length(config["n_positions"])
    writer.add_embedding_length(config["n_embd"])
    writer.add_feed_forward_length(config["n_inner"])
    writer.add_block_count(config["n_layer"])
    writer.add_head_count(config["n_head"])
    writer.add_layer_norm_eps(config["layer_norm_epsilon"])
    return config["n_layer"]


def _add_llama(writer: gguf.GGUFWriter, config: dict[str, Any]) -> int:
    writer.add_context_length(config.get("max_position_embeddings", 2048))
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(config["rope_theta"])
    writer.add_rope_dimension_count(config["head_dim"])
    return config["num_hidden_layers"]


def _arranged(name: str, weights: np.ndarray, config: dict[str, Any]) -> np.ndarray:
    """Returns weights as the engine reads them: Llama's rotary pairs stand beside each other."""
    if config["model_type"] == "gpt2" and name.endswith(_TRANSPOSED):
        return np.ascontiguousarray(weights.T)
    heads = {"q_proj.weight": "num_attention_heads", "k_proj.weight": "num_key_value_heads"}
    count = heads.get(".".join(name.rsplit(".", 2)[-2:]))
    if config["model_type"] != "llama" or count is None:
        return weights
    halves = weights.reshape(config[count], 2, -1, weights.shape[1])
    return np.ascontiguousarray(halves.swapaxes(1, 2)).reshape(weights.shape)
