"""Weights as other engines' converters read them."""

import json
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from generation.conversions.gguf_file import write_gguf
from generation.engine import start_id
from generation.sizes import SIZES
from peers.huggingface import write_hugging_face
from safetensors.numpy import load_file, save_file

from keras_transformer.models.decoder_only import build_decoder

LLAMA = {
    "model_type": "llama",
    "vocab_size": 7,
    "hidden_size": 8,
    "intermediate_size": 12,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 4,
    "rms_norm_eps": 1e-6,
    "rope_theta": 10_000.0,
}
GPT2 = {
    "model_type": "gpt2",
    "vocab_size": 7,
    "n_embd": 8,
    "n_inner": 12,
    "n_layer": 1,
    "n_head": 2,
    "n_positions": 16,
    "layer_norm_epsilon": 1e-5,
}


def written(directory: Path, config: dict[str, Any], **shapes: tuple[int, ...]) -> Any:
    """Returns the tensors given and, by name, what a GGUF file has of them."""
    tensors = {
        name: np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        for name, shape in shapes.items()
    }
    (directory / "config.json").write_text(json.dumps(config))
    save_file(tensors, directory / "model.safetensors")
    write_gguf(directory, directory / "model.gguf")
    reader = gguf.GGUFReader(directory / "model.gguf")
    return tensors, {tensor.name: np.array(tensor.data) for tensor in reader.tensors}


def test_rotary_pairs_of_llama_stand_beside_each_other(tmp_path: Path) -> None:
    query, value = (f"model.layers.0.self_attn.{name}_proj.weight" for name in "qv")
    given, found = written(tmp_path, LLAMA, **{query: (8, 8), value: (4, 8)})
    # Of each head of four: 0, 2, 1, 3.
    order = [0, 2, 1, 3, 4, 6, 5, 7]
    np.testing.assert_array_equal(found["blk.0.attn_q.weight"], given[query][order])
    np.testing.assert_array_equal(found["blk.0.attn_v.weight"], given[value])


def test_kernels_of_gpt2_are_turned(tmp_path: Path) -> None:
    kernel, table = "transformer.h.0.mlp.c_fc.weight", "transformer.wte.weight"
    given, found = written(tmp_path, GPT2, **{kernel: (8, 12), table: (7, 8)})
    np.testing.assert_array_equal(found["blk.0.ffn_up.weight"], given[kernel].T)
    np.testing.assert_array_equal(found["token_embd.weight"], given[table])


def test_another_architecture_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KeyError, match="mamba"):
        written(tmp_path, {"model_type": "mamba"}, x=(1,))


def test_a_decoder_is_written_without_a_vocabulary_that_theirs_cannot_have(tmp_path: Path) -> None:
    model: Any = build_decoder(SIZES["mini"].config)

    class SentencePiece:
        kind = "sentencepiece"

    write_hugging_face(model, SentencePiece(), tmp_path / "huggingface")
    assert start_id(str(tmp_path)) == model.config.special_ids.decoder_start
    assert sorted(path.name for path in (tmp_path / "huggingface").iterdir()) == [
        "config.json",
        "model.safetensors",
    ]
    tensors = load_file(tmp_path / "huggingface" / "model.safetensors")
    expected = np.asarray(model.embeddings.tokens.matrix)
    np.testing.assert_array_equal(tensors["transformer.wte.weight"], expected)
