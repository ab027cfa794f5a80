"""Adapters of `peft`: the model with one is the model whose tensors have it merged in."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.peft import import_adapter
from keras_transformer.pretrained.recognise import from_pretrained

safetensors = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed")

STACKS = Path(__file__).resolve().parents[1] / "fixtures" / "stacks"
ADAPTERS = STACKS.parent / "adapters"
RANK, ALPHA = 2, 6
# Granite's weights are multiplied, StableLM's turned and Phi-3's packed.
MODELS = {
    "qwen2": ("self_attn.q_proj", "self_attn.v_proj", "mlp.down_proj"),
    "granite": ("self_attn.q_proj", "self_attn.o_proj", "mlp.down_proj"),
    "stablelm": ("self_attn.q_proj", "self_attn.k_proj", "mlp.gate_proj"),
    "phi3": ("self_attn.qkv_proj", "mlp.gate_up_proj"),
}


def write_adapter(base: Path, folder: Path, modules: tuple[str, ...], **config: Any) -> Path:
    """Writes an adapter of random factors; returns a directory of the model with it merged in."""
    random, merged = np.random.default_rng(5), folder / "merged"
    shutil.copytree(base, merged)
    tensors = safetensors.load_file(merged / "model.safetensors")
    adapter: dict[str, Any] = {}
    for name in [name for name in tensors if name.removesuffix(".weight").endswith(modules)]:
        weight = tensors[name]
        down = random.normal(0, 0.3, (RANK, weight.shape[1])).astype(np.float32)
        up = random.normal(0, 0.3, (len(weight), RANK)).astype(np.float32)
        tensors[name] = (weight + ALPHA / RANK * up @ down).astype(weight.dtype)
        own = f"base_model.model.{name.removesuffix('.weight')}"
        adapter |= {f"{own}.lora_A.weight": down, f"{own}.lora_B.weight": up}
    safetensors.save_file(tensors, merged / "model.safetensors")
    safetensors.save_file(adapter, folder / "adapter_model.safetensors")
    own = {"peft_type": "LORA", "r": RANK, "lora_alpha": ALPHA, "bias": "none", **config}
    (folder / "adapter_config.json").write_text(json.dumps(own), "utf-8")
    return merged


@pytest.mark.parametrize("model", MODELS)
def test_the_adapted_model_is_the_merged_one(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = {"base_model_name_or_path": "some/model"}
    merged = write_adapter(STACKS / model, tmp_path, MODELS[model], **base)
    file = import_adapter(tmp_path, STACKS / model, tmp_path / "one.lora.npz")
    # Whether it is the directory's nobody can tell but by its name.
    assert "names the model that it belongs to: some/model\n" in capsys.readouterr().out
    ours, *_ = from_pretrained(STACKS / model)
    ours.load_lora_weights(file)
    wanted, *_ = from_pretrained(merged)
    ids = {"token_ids": np.array([[5, 9, 30, 7, 12]])}
    plain, *_ = from_pretrained(STACKS / model)
    found = np.asarray(ours(ids))
    np.testing.assert_allclose(found, np.asarray(wanted(ids)), atol=1e-4)
    assert np.abs(found - np.asarray(plain(ids))).max() > 1e-2


@pytest.mark.parametrize("model", ["llama", "gpt2", "bert"])
def test_what_peft_wrote_computes_what_it_merges(model: str, tmp_path: Path) -> None:
    file = import_adapter(ADAPTERS / model, STACKS / model, tmp_path / "one.lora.npz")
    ours, *_ = from_pretrained(STACKS / model)
    ours.load_lora_weights(file)
    with np.load(ADAPTERS / model / "merged.npz") as file:
        ids, wanted = file["ids"], file["logits"]
    inputs = {one.name: np.zeros_like(ids) for one in ours.inputs} | {"token_ids": ids}
    # Ours has ids that the file lacks.
    found = np.asarray(ours(inputs))[..., : wanted.shape[-1]]
    np.testing.assert_allclose(found, wanted, atol=1e-4)


@pytest.mark.parametrize(
    ("config", "modules", "message"),
    [
        ({"peft_type": "IA3"}, ("q_proj",), "peft_type='IA3', and plain LoRA alone is read"),
        ({"use_dora": True}, ("q_proj",), "use_dora=True"),
        ({"init_lora_weights": "pissa"}, ("q_proj",), "init_lora_weights='pissa'"),
        ({"r": None}, ("q_proj",), "the value of r must be given"),
        ({"alora_invocation_tokens": [7]}, ("q_proj",), "alora_invocation_tokens"),
        ({}, ("q_proj", "embed_tokens"), "of no linear layer that can be adapted"),
    ],
)
def test_what_is_no_plain_adapter_is_refused(
    config: dict[str, Any], modules: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    write_adapter(STACKS / "qwen2", tmp_path, modules, **config)
    with pytest.raises(ImportRefusedError, match=message):
        import_adapter(tmp_path, STACKS / "qwen2", tmp_path / "one.lora.npz")
