"""Nomic-BERT: the first configs, which came with code of their own, are read as today's."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.recognise import read_pretrained

FOLDER = Path(__file__).parents[3] / "fixtures" / "stacks" / "nomic_bert"
# Some of the fields of nomic-embed-text-v1.
OLDER: dict[str, Any] = {
    "activation_function": "swiglu",
    "architectures": ["NomicBertForMaskedLM"],
    "layer_norm_epsilon": 1e-12,
    "mlp_fc1_bias": False,
    "model_type": "nomic_bert",
    "n_embd": 16,
    "n_head": 2,
    "n_inner": 24,
    "n_layer": 2,
    "n_positions": 66,
    "prenorm": False,
    "rotary_emb_base": 1000,
    "rotary_emb_fraction": 1.0,
    "type_vocab_size": 2,
    "vocab_size": 280,
    "resid_pdrop": 0.0,
    "attn_pdrop": 0.0,
}


def changed(path: Path, **fields: Any) -> Path:
    """The directory with a config of the first kind."""
    shutil.copytree(FOLDER, path)
    (path / "config.json").write_text(json.dumps({**OLDER, **fields}), encoding="utf-8")
    return path


def test_older_names_mean_the_same(tmp_path: Path) -> None:
    assert read_pretrained(changed(tmp_path / "old")).config == read_pretrained(FOLDER).config


@pytest.mark.parametrize("fields", [{"prenorm": True}, {"rotary_emb_fraction": 0.5}])
def test_another_form_is_refused(fields: dict[str, Any], tmp_path: Path) -> None:
    [name] = fields
    with pytest.raises(ImportRefusedError, match=f"{name}: .*, and only"):
        read_pretrained(changed(tmp_path / "other", **fields))
