"""Transformer-XL of Hugging Face: what is refused by name, and texts in segments as theirs."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_transformer import from_pretrained
from keras_transformer.pretrained.errors import ImportRefusedError
from tools.covering import some

STACKS = Path(__file__).parents[3] / "fixtures" / "stacks"
FIXTURE = STACKS / "transfo_xl"


def changed(directory: Path, **fields: Any) -> Path:
    """A copy whose config has other values."""
    path = Path(shutil.copytree(FIXTURE, directory / "changed"))
    file = path / "config.json"
    file.write_text(json.dumps({**json.loads(file.read_text(encoding="utf-8")), **fields}))
    return path


@pytest.mark.parametrize("name", some(["transfo_xl", "transfo_xl_adaptive"], "transfo_xl_adaptive"))
def test_three_segments_have_their_log_probabilities(name: str) -> None:
    model, _, _ = from_pretrained(STACKS / name)
    reference = json.loads((STACKS / name / "reference.json").read_text(encoding="utf-8"))
    for ids, expected in zip(reference["ids"], reference["log_probabilities"], strict=True):
        row, memory, total = np.array([[0, *ids, 0]], np.int32), model.empty_memory(1), 0.0
        for inputs, labels in zip(
            np.array_split(row[:, :-1], 3, axis=1), np.array_split(row[0, 1:], 3), strict=True
        ):
            states, memory = model.read_on(inputs, memory)
            logits = np.asarray(model.head(states[..., : model.config.model_dim]), np.float64)[0]
            total += logits[np.arange(len(labels)), labels].sum()
            total -= np.log(np.exp(logits).sum(axis=-1)).sum()
        assert total == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"cutoffs": [10, 20]}, r"has cutoffs: \[10, 20\] with div_val: 1, and only a larger"),
        ({"d_embed": 8}, "has d_embed: 8, and only 16 is supported"),
        ({"pre_lnorm": True}, "has pre_lnorm: True, and only False is supported"),
        ({"untie_r": False}, "has untie_r: False, and only True is supported"),
    ],
)
def test_what_is_not_supported_is_named(fields: dict, message: str, tmp_path: Path) -> None:
    with pytest.raises(ImportRefusedError, match=message):
        from_pretrained(changed(tmp_path, **fields))


def test_without_same_length_tokens_read_on_within_their_segment(tmp_path: Path) -> None:
    config = from_pretrained(changed(tmp_path, same_length=False))[0].config
    assert (config.memory_length, config.window) == (6, 12)
