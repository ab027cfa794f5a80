"""Makes tiny random decoders as GGUF files by llama.cpp's own package, and writes beside them what
Hugging Face transformers computes of these files. Needs what `stacks` does, and gguf.

Names of tensors are those of the package's table, numbers those of llama.cpp's converters: pairs
of a Llama's rotary features side by side, and Gemma's norms with their 1.
"""

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import gguf
import numpy as np
import torch
import transformers

from tools.oracles.sizes import BYTE_FALLBACK
from tools.oracles.stacks import (
    BYTE_LEVEL,
    OF_LLAMA,
    TRAINING,
    references,
)
from tools.oracles.texts import hostile, pairs
from tools.oracles.translators import randomize
from tools.oracles.vocabularies import (
    GEMMA_PIECES,
    LLAMA_PIECES,
    llama3_bytes,
    qwen_bytes,
    train_pieces,
)

SIZES = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "head_dim": 16}
# Blocks of 256 weights need rows of as many.
WIDE = {"hidden_size": 256, "intermediate_size": 256, "num_hidden_layers": 1, "head_dim": 32}
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
)
PREFIXES = {"qwen2": "Qwen2", "qwen3": "Qwen3", "gemma": "Gemma", "gemma2": "Gemma2"}


class Kind(NamedTuple):
    """A model to make: its architecture there, fields, types of weights in turn, and vocabulary."""

    architecture: str
    types: tuple[str, ...]
    vocabulary: Any = None
    fields: dict[str, Any] = {}
    sizes: dict[str, Any] = SIZES


GEMMAS = {**LLAMA_PIECES, **GEMMA_PIECES}
KINDS = {
    "llama": Kind("llama", ("Q4_K", "Q5_K", "Q6_K"), LLAMA_PIECES, sizes=WIDE),
    "llama3": Kind("llama", ("F32",), llama3_bytes, OF_LLAMA["llama3"][1]),
    "qwen2": Kind("qwen2", ("Q8_0", "Q4_0"), qwen_bytes, {"tie_word_embeddings": True}),
    "qwen3": Kind("qwen3", ("Q4_1", "Q5_0", "Q5_1"), qwen_bytes),
    "gemma": Kind("gemma", ("F16",), GEMMAS),
    "gemma2": Kind("gemma2", ("BF16",), GEMMAS, OF_LLAMA["gemma2"][1]),
    "gemma3": Kind("gemma3", ("Q8_0",), GEMMAS, {"sliding_window": 3}),
}


def blocks(name: str, shape: tuple[int, ...], drawn: np.random.Generator) -> np.ndarray:
    """Returns random blocks of a kind that the package reads and does not write."""
    size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[name]][1]
    found = drawn.integers(0, 256, (shape[0], shape[1] // 256, size), np.uint8)
    scales = {"Q4_K": (5e-4, 4e-3), "Q5_K": (2.5e-4, 4e-3), "Q6_K": (7e-5,)}[name]
    place = size - 2 if name == "Q6_K" else 0
    for number, scale in enumerate(scales):
        held = np.array([scale], np.float16).view(np.uint8)
        found[:, :, place + 2 * number : place + 2 * number + 2] = held
    return found.reshape(len(found), -1)


def turned(weight: torch.Tensor, heads: int) -> torch.Tensor:
    """Returns a Llama's queries or keys in llama.cpp's order of features."""
    halves = weight.reshape(heads, 2, -1, *weight.shape[1:])
    return halves.swapaxes(1, 2).reshape(weight.shape)


def write_weights(writer: Any, model: Any, kind: Kind) -> None:
    """Adds the tensors of a model, norms and biases as float32."""
    config, drawn = model.config, np.random.default_rng(0)
    architecture = next(
        key for key, name in gguf.MODEL_ARCH_NAMES.items() if name == kind.architecture
    )
    names = gguf.get_tensor_name_map(architecture, config.num_hidden_layers)
    heads = {"q": config.num_attention_heads, "k": config.num_key_value_heads}
    types = [gguf.GGMLQuantizationType[name] for name in kind.types]
    for number, (name, weight) in enumerate(model.state_dict().items()):
        if name == "lm_head.weight" and config.tie_word_embeddings:
            continue
        layer, _, part = name.rpartition(".")
        short = layer.rpartition(".")[2]
        if kind.architecture == "llama" and short in ("q_proj", "k_proj"):
            weight = turned(weight, heads[short[0]])
        if kind.architecture.startswith("gemma") and layer.endswith("norm"):
            weight = weight + 1
        theirs, values = f"{names.get_name(layer)}.{part}", weight.numpy()
        if weight.ndim < 2:
            writer.add_tensor(theirs, values)
            continue
        type_ = types[number % len(types)]
        if type_.name.endswith("_K") and values.shape[1] % 256:
            type_ = gguf.GGMLQuantizationType.Q8_0
        if type_.name.endswith("_K"):
            stored = blocks(type_.name, values.shape, drawn)
        else:
            stored = gguf.quantize(values, type_)
        writer.add_tensor(theirs, stored, raw_dtype=type_)
    if "rope_parameters" in kind.fields:
        whole = config.rope_parameters["rope_theta"] ** -(
            torch.arange(0, config.head_dim, 2) / config.head_dim
        )
        scaled = model.model.rotary_emb.inv_freq
        writer.add_tensor("rope_freqs.weight", (whole / scaled).numpy())


def write_config(writer: Any, model: Any) -> None:
    """Adds the metadata of an architecture."""
    config = model.config
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_key_length(config.head_dim)
    writer.add_value_length(config.head_dim)
    rope = config.rope_parameters
    writer.add_rope_freq_base(rope.get("full_attention", rope)["rope_theta"])
    if config.model_type == "llama":
        writer.add_rope_dimension_count(config.head_dim)
    if config.model_type in ("gemma2", "gemma3_text"):
        writer.add_sliding_window(config.sliding_window)
    if config.model_type == "gemma2":
        writer.add_attn_logit_softcapping(config.attn_logit_softcapping)
        writer.add_final_logit_softcapping(config.final_logit_softcapping)


def write_pieces(writer: Any, pieces: Any, *, has_prefix: bool) -> None:
    """Adds a SentencePiece vocabulary."""
    places = range(len(pieces))
    asked = (pieces.is_unknown, pieces.is_control, pieces.is_unused, pieces.is_byte)
    of_kind = dict(zip(asked, (2, 3, 5, 6), strict=True))
    writer.add_tokenizer_model("llama")
    writer.add_token_list([pieces.id_to_piece(one) for one in places])
    writer.add_token_scores([pieces.get_score(one) for one in places])
    writer.add_token_types(
        [next((kind for ask, kind in of_kind.items() if ask(one)), 1) for one in places]
    )
    writer.add_bos_token_id(pieces.bos_id())
    writer.add_eos_token_id(pieces.eos_id())
    writer.add_unk_token_id(pieces.unk_id())
    if pieces.pad_id() >= 0:
        writer.add_pad_token_id(pieces.pad_id())
    writer.add_add_space_prefix(has_prefix)


def write_bytes(writer: Any, tokenizer: Any, rows: int, bos: int, pre: str) -> None:
    """Adds a byte-level vocabulary, of as many tokens as the model has rows."""
    model = json.loads(tokenizer.backend_tokenizer.to_str())
    added = {one["id"] for one in model["added_tokens"]}
    tokens = {token: name for name, token in tokenizer.get_vocab().items()}
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list([tokens.get(one, f"[PAD{one}]") for one in range(rows)])
    kinds = [3 if one in added else 1 if one in tokens else 5 for one in range(rows)]
    writer.add_token_types(kinds)
    writer.add_token_merges([" ".join(pair) for pair in model["model"]["merges"]])
    writer.add_bos_token_id(bos)
    writer.add_eos_token_id(tokenizer.eos_token_id)


def make(name: str, path: Path) -> tuple[Any, Callable[..., Any]]:
    """Writes a model's file; returns the model that transformers reads in it, and its tokenizer."""
    kind = KINDS[name]
    texts = pairs(TRAINING)[0]
    writer = gguf.GGUFWriter(path / "model.gguf", kind.architecture)
    if callable(kind.vocabulary):
        tokenizer = kind.vocabulary(texts, BYTE_LEVEL)
        rows, bos = len(tokenizer) + 5, len(tokenizer) - 3
        eos, pre = tokenizer.eos_token_id, "llama-bpe" if name == "llama3" else "qwen2"
        write_bytes(writer, tokenizer, rows, bos, pre)
        writer.add_eot_token_id(len(tokenizer) - 1)
    else:
        pieces = train_pieces(path / "pieces", texts, BYTE_FALLBACK, **kind.vocabulary)
        (path / "pieces").unlink()
        rows, bos, eos = len(pieces), pieces.bos_id(), pieces.eos_id()
        write_pieces(writer, pieces, has_prefix=kind.architecture == "llama")

        def tokenizer(text: str, **_: Any) -> dict[str, Any]:
            return {"input_ids": pieces.encode(text)}

    prefix = {"llama": "Llama", "gemma3": "Gemma3Text", **PREFIXES}[kind.architecture]
    fields = {"tie_word_embeddings": prefix.startswith("Gemma"), "pad_token_id": 0, **kind.fields}
    fields |= {"query_pre_attn_scalar": kind.sizes["head_dim"]}
    fields = {name: one for name, one in fields.items() if name not in kind.sizes}
    config = getattr(transformers, f"{prefix}Config")(
        **fields,
        **kind.sizes,
        vocab_size=rows,
        bos_token_id=bos,
        eos_token_id=eos,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=66,
    )
    model = getattr(transformers, f"{prefix.removesuffix('Text')}ForCausalLM")(config)
    randomize(model)
    if name == "qwen2":
        writer.add_chat_template(TEMPLATE)
    write_config(writer, model)
    write_weights(writer, model, kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    if name == "gemma":  # Which transformers does not read.
        for weight in model.parameters():
            weight.data = weight.data.half().float() if weight.ndim > 1 else weight.data
    elif name != "llama3":  # Of whose rates it reads nothing, as of some numbers of the others.
        model = transformers.AutoModelForCausalLM.from_pretrained(
            path, gguf_file="model.gguf", config=model.config, dtype=torch.float32
        )
    return model, tokenizer


def main() -> None:
    """Writes every folder into the one that the command line names."""
    torch.set_num_threads(1)
    for name in KINDS:
        path = Path(sys.argv[1], name)
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        torch.manual_seed(0)
        model, tokenizer = make(name, path)
        model.eval()
        model.config.bos_token_id = model.config.bos_token_id or 0
        found = references("llama", model, tokenizer, hostile(40))
        (path / "reference.json").write_text(json.dumps(found))
        size = sum(file.stat().st_size for file in path.iterdir())
        print(f"{path}: {size // 1024} kB")


if __name__ == "__main__":
    main()
