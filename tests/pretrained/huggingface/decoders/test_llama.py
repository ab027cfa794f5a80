"""Models of Llama's form: which fields of their configs mean what, and what is refused by name."""

import json
from pathlib import Path
from typing import Any

import pytest

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.huggingface.decoders.llama import LLAMAS
from keras_transformer.pretrained.huggingface.fields import Fields
from keras_transformer.pretrained.tensor_files import Tensors

STACKS = Path(__file__).parents[3] / "fixtures" / "stacks"


def config_of(name: str, **changes: Any) -> Any:
    """The config of a fixture with other fields; those that are ... are missing."""
    file = STACKS / name / "config.json"
    values = json.loads(file.read_text(encoding="utf-8"))
    llama = LLAMAS[values["model_type"]]
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
