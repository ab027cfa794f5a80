"""ELECTRA: the discriminator is read as an encoder alone."""

import json
import shutil
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

from keras_transformer.pretrained.recognise import read_pretrained

STACKS = Path(__file__).parents[3] / "fixtures" / "stacks"


def test_a_discriminator_gives_its_states(tmp_path: Path) -> None:
    path = Path(shutil.copytree(STACKS / "electra_classes", tmp_path / "electra"))
    tensors = load_file(path / "model.safetensors")
    kept = {name: one for name, one in tensors.items() if not name.startswith("classifier.")}
    head = "discriminator_predictions.dense.weight"
    save_file({**kept, head: np.ones((16, 16), np.float32)}, path / "model.safetensors")
    values = json.loads((path / "config.json").read_text(encoding="utf-8"))
    values["architectures"] = ["ElectraForPreTraining"]
    (path / "config.json").write_text(json.dumps(values), encoding="utf-8")
    read = read_pretrained(path)
    model = read.build()
    assert (read.config.head, read.config.pooler) == (None, False)  # type: ignore[union-attr]
    assert read.names_unused(model) == [head]
