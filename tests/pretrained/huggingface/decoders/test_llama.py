"""Models of Llama's form: which fields of their configs mean what, and what is refused by name."""

import json
from pathlib import Path
from typing import Any

import pytest

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.huggingface.decoders.granite import with_multipliers
from keras_transformer.pretrained.huggingface.decoders.llama import LLAMAS
from keras_transformer.pretrained.huggingface.decoders.smollm import SMOLLMS
from keras_transformer.pretrained.huggingface.fields import Fields
from keras_transformer.pretrained.tensor_files import Tensors
from keras_transformer.pretrained.weight_table import Entry

STACKS = Path(__file__).parents[3] / "fixtures" / "stacks"


def config_of(name: str, **changes: Any) -> Any:
    """The config of a fixture with other fields; those that are ... are missing."""
    file = STACKS / name / "config.json"
    values = json.loads(file.read_text(encoding="utf-8"))
    llama = {**LLAMAS, **SMOLLMS}[values["model_type"]]
    given = {name: one for name, one in {**values, **changes}.items() if one is not ...}
    fields = Fields(file, {**llama.defaults, **given})
    return llama.config(fields, SpecialIds(), Tensors({}, "weights"))


@pytest.mark.parametrize(
    ("attention", "feed_forward"), [(False, False), (True, False), (False, True), (True, True)]
)
def test_sub_layers_have_the_biases_of_the_file(attention: bool, feed_forward: bool) -> None:
    config = config_of("llama", attention_bias=attention, mlp_bias=feed_forward)
    block = config.block()
    assert (block.own.use_bias, block.feed_forward.use_bias) == (attention, feed_forward)
    assert block.own.output_bias


def test_a_qwen_2_has_biases_of_queries_keys_and_values_alone() -> None:
    block = config_of("qwen2", attention_bias=...).block()
    found = block.own.use_bias, block.own.output_bias, block.feed_forward.use_bias
    assert found == (True, False, False)


def test_a_qwen_2_with_windows_is_refused() -> None:
    with pytest.raises(ImportRefusedError, match=r"config\.json has use_sliding_window: True"):
        config_of("qwen2", use_sliding_window=True)


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [(..., [1, 1, 1, 0]), ([1, 0, 1, 0], [1, 0]), ([1] * 9, []), ([0, 1, 1, 1, 0], [0, 1, 1, 1])],
)
def test_a_smollm_3_has_blocks_without_positions(kinds: Any, expected: list[int]) -> None:
    config = config_of("smollm3", num_hidden_layers=4, no_rope_layers=kinds)
    assert [int("rotary_base" not in own) for own in config.block_pattern] == expected


@pytest.mark.parametrize("kinds", [[1, 0], [1, 2, 1], ["x"] * 3])
def test_blocks_of_no_kind_are_refused(kinds: list[Any]) -> None:
    with pytest.raises(ImportRefusedError, match=r"no_rope_layers for each of the 3 blocks"):
        config_of("smollm3", no_rope_layers=kinds)


@pytest.mark.parametrize(("head", "last"), [([], 1 / 24), (["lm_head.weight"], 1 / 8)])
def test_multipliers_of_a_granite_go_into_weights(head: list[str], last: float) -> None:
    values = {"embedding_multiplier": 3.0, "residual_multiplier": 0.5, "logits_scaling": 8.0}
    values |= {"attention_multiplier": 0.25, "hidden_size": 32, "num_attention_heads": 2}
    factors = {
        "model.embed_tokens.weight": 3.0,
        "model.layers.0.self_attn.q_proj.bias": 1.0,
        "model.layers.0.self_attn.k_proj.weight": 1.0,
        "model.layers.0.mlp.down_proj.weight": 0.5,
        "model.norm.weight": last,
        **dict.fromkeys(head, 1.0),
    }
    entries = [Entry(None, name) for name in factors]
    found = with_multipliers(Fields(Path("config.json"), values), entries)
    assert {entry.name: entry.factor for entry in found} == factors
