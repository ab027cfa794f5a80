"""Files as they were published, years before the library of today writes them: names that it
translates or leaves out when it loads them, and numbers of bfloat16.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from keras_transformer.pretrained.recognise import read_pretrained
from keras_transformer.pretrained.weight_table import NEVER

FIXTURES = Path(__file__).parents[2] / "fixtures"
Tensors = dict[str, np.ndarray]


def first_bert(tensors: Tensors) -> Tensors:
    """As bert-base-uncased calls the parts of norms."""
    old = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
    found = {}
    for name, tensor in tensors.items():
        for new, then in old.items():
            name = name.replace(new, then)
        found[name] = tensor
    assert any(name.endswith("gamma") for name in found)
    return {**found, "bert.embeddings.position_ids": np.arange(66)[None]}


def bare_bart(tensors: Tensors) -> Tensors:
    """As facebook/bart-base, which was saved as a `BartModel`."""
    found = {name.removeprefix("model."): tensor for name, tensor in tensors.items()}
    del found["final_logits_bias"]
    return found


def with_versions(tensors: Tensors) -> Tensors:
    """As facebook/bart-large and fairseq's converters leave it."""
    versions = ("model.encoder.version", "model.decoder.version")
    return {**tensors, **dict.fromkeys(versions, np.full(1, 3, np.float32))}


def with_unread_bias(tensors: Tensors) -> Tensors:
    """As t5-small, whose attention between the stacks has a relative bias that nothing reads."""
    own = "decoder.block.0.layer.{}.relative_attention_bias.weight"
    return {**tensors, own.format("1.EncDecAttention"): tensors[own.format("0.SelfAttention")] + 1}


def with_masks(tensors: Tensors) -> Tensors:
    """As gpt2: without the beginning of names, and with a mask in each block."""
    found = {name.removeprefix("transformer."): tensor for name, tensor in tensors.items()}
    masks = {f"h.{block}.attn.bias": np.tri(64)[None, None] for block in range(2)}
    return {**found, **masks, "h.0.attn.masked_bias": np.float32([-1e4])}


def without_architecture(tensors: Tensors) -> Tensors:
    """As google/bert_uncased_L-2_H-128_A-2, whose config names none."""
    return first_bert(tensors)


def same(tensors: Tensors) -> Tensors:
    return tensors


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("stacks/bert", first_bert),
        ("stacks/bert", without_architecture),
        ("stacks/bert_classes", first_bert),
        ("translators/bart", with_versions),
        ("translators/t5", with_unread_bias),
        ("stacks/gpt2", with_masks),
        ("stacks/gpt2", same),
    ],
)
def test_the_model_is_that_of_today_s_names(
    name: str, change: Callable[[Tensors], Tensors], tmp_path: Path
) -> None:
    expected = read_pretrained(FIXTURES / name)
    found = read_pretrained(changed(FIXTURES / name, tmp_path, change))
    assert found.config == expected.config
    weights = zip(found.build().get_weights(), expected.build().get_weights(), strict=True)
    for ours, theirs in weights:
        np.testing.assert_array_equal(ours, theirs)


def test_a_body_alone_translates_with_its_embeddings(tmp_path: Path) -> None:
    path = FIXTURES / "translators" / "bart"
    expected = read_pretrained(path).build()
    found = read_pretrained(changed(path, tmp_path, bare_bart)).build()
    assert not np.any(found.head.bias) and np.any(expected.head.bias)
    found.head.bias.assign(expected.head.bias)
    for ours, theirs in zip(found.get_weights(), expected.get_weights(), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("name", ["stacks/llama", "stacks/roberta", "translators/bart"])
@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float16])
def test_halves_are_read(name: str, dtype: type, tmp_path: Path) -> None:
    def halved(tensors: Tensors) -> Tensors:
        return {name: tensor.astype(dtype) for name, tensor in tensors.items()}

    path = FIXTURES / name
    found = read_pretrained(changed(path, tmp_path, halved)).build().get_weights()
    for ours, theirs in zip(found, read_pretrained(path).build().get_weights(), strict=True):
        # What keeps a padding of ours from being written is in no file.
        expected = np.where(theirs == NEVER, theirs, theirs.astype(dtype).astype(np.float32))
        np.testing.assert_array_equal(ours, expected)


def changed(path: Path, room: Path, change: Callable[[Tensors], Tensors]) -> Path:
    made = Path(shutil.copytree(path, room / path.name))
    file = made / "model.safetensors"
    save_file(change(load_file(file)), file)
    config = made / "config.json"
    values = json.loads(config.read_text(encoding="utf-8"))
    if change is bare_bart:
        values["architectures"] = ["BartModel"]
    if change is without_architecture:
        del values["architectures"]
    config.write_text(json.dumps(values), encoding="utf-8")
    return made
