"""ModernBERT: which blocks a config means, as files old and new have it, and what is refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.huggingface.encoders.modernbert import MODERNBERTS
from keras_transformer.pretrained.huggingface.fields import Fields
from keras_transformer.pretrained.recognise import from_pretrained
from keras_transformer.pretrained.tensor_files import Tensors

STACKS = Path(__file__).parents[3] / "fixtures" / "stacks"
CONFIG = STACKS / "modernbert" / "config.json"
SLIDING, FULL = "sliding_attention", "full_attention"
# Of the first files.
OLD = {
    "layer_types": ...,
    "rope_parameters": ...,
    "global_attn_every_n_layers": 3,
    "global_rope_theta": 160_000.0,
    "local_rope_theta": 10_000.0,
}


def config_of(**changes: Any) -> Any:
    """The config of the fixture with other fields; those that are ... are missing."""
    values = json.loads(CONFIG.read_text(encoding="utf-8"))
    given = {name: one for name, one in {**values, **changes}.items() if one is not ...}
    special = SpecialIds(pad=0, eos=1, bos=2, unk=3, mask=4)
    model = MODERNBERTS["modernbert"]
    return model.config(Fields(CONFIG, given), special, Tensors({}, "weights"))


def test_windows_follow_each_layer_of_the_whole_text() -> None:
    config = config_of()
    full, near = {"rotary_base": 160_000.0}, {"rotary_base": 10_000.0, "window": 4}
    assert config.block_pattern == (full, near, near)
    assert [block.own.window for block in config.stack.layers] == [None, 4, 4, None]
    assert [block.first_norm for block in config.stack.layers] == [False, True, True, True]


def test_files_of_before_are_read_alike() -> None:
    assert config_of(**OLD) == config_of()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"layer_types": [FULL, SLIDING]}, "layer_types for each of the 4 layers"),
        ({"layer_types": [FULL, "chunked_attention"] * 2}, "layer_types for each of the 4"),
        ({"classifier_activation": "silu"}, "classifier_activation: 'silu', and only 'gelu'"),
        ({"local_attention": 1}, "local_attention must be at least 2"),
    ],
)
def test_another_form_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ImportRefusedError, match=message):
        config_of(**fields)


def test_a_head_for_tags_reads_each_token_as_that_for_classes_the_first(tmp_path: Path) -> None:
    """Both have the same weights, by the same names."""
    found = []
    for kind in ("SequenceClassification", "TokenClassification"):
        path = tmp_path / kind
        path.mkdir()
        for file in (STACKS / "modernbert_classes").iterdir():
            (path / file.name).write_bytes(file.read_bytes())
        values = json.loads((path / "config.json").read_text(encoding="utf-8"))
        values |= {"architectures": [f"ModernBertFor{kind}"], "classifier_pooling": "cls"}
        (path / "config.json").write_text(json.dumps(values), encoding="utf-8")
        model, tokenizer, _ = from_pretrained(path)
        special = tokenizer.special_ids
        ids = [special.bos, *tokenizer.encode(["Two dogs run."])[0], special.eos]
        found.append(np.asarray(model({"token_ids": np.array([ids])})))
    of_text, of_tokens = found
    assert of_tokens.shape[1] > 3
    np.testing.assert_allclose(of_tokens[:, 0], of_text, atol=1e-6)
