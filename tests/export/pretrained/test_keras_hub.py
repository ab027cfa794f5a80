"""Presets of keras-hub that were imported leave as the same: weights bit by bit, config and ids."""

import json
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pytest

from keras_transformer import from_pretrained
from keras_transformer.export import export_pretrained

FOLDER = Path(__file__).parents[2] / "fixtures" / "keras_hub"


def arrays(path: Path) -> dict[str, np.ndarray]:
    found: dict[str, np.ndarray] = {}
    with h5py.File(path) as file:
        file.visititems(
            lambda name, item: (
                found.update({name: item[()]}) if isinstance(item, h5py.Dataset) else None
            )
        )
    return {name: array for name, array in found.items() if not name.startswith("optimizer")}


@pytest.mark.parametrize("name", ["bert_classes", "gpt2", "llama3", "bart"])
def test_a_preset_leaves_as_it_came(name: str, tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    zipfile.ZipFile(FOLDER / f"{name}.zip").extractall(before)
    model, tokenizer, _ = from_pretrained(before)
    export_pretrained(model, after, format="keras_hub", tokenizer=tokenizer)
    for file in before.glob("*.weights.h5"):
        theirs, ours = arrays(file), arrays(after / file.name)
        assert theirs.keys() == ours.keys()
        assert all(np.array_equal(theirs[one], ours[one]) for one in theirs)
    configs = [json.loads((path / "config.json").read_text()) for path in (before, after)]
    assert configs[0]["registered_name"] == configs[1]["registered_name"]
    shared = configs[0]["config"].keys() & configs[1]["config"].keys()
    assert all(configs[0]["config"][one] == configs[1]["config"][one] for one in shared)
    hostile = json.loads((before / "reference.json").read_text())["hostile"]
    assert from_pretrained(after)[1].encode(hostile) == tokenizer.encode(hostile)


def test_what_keras_hub_has_not_is_named(tmp_path: Path) -> None:
    zipfile.ZipFile(FOLDER / "electra.zip").extractall(tmp_path / "before")
    model, tokenizer, _ = from_pretrained(tmp_path / "before")
    with pytest.raises(ValueError, match=r"keras-hub has no electra .* bart, bert, .* written"):
        export_pretrained(model, tmp_path / "after", format="keras_hub", tokenizer=tokenizer)
