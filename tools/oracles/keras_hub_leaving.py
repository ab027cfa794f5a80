"""Loads presets that were imported and written again with keras-hub, beside the originals: outputs
and ids must be equal.

    python -m tools.oracles.keras_hub_leaving tests/fixtures/keras_hub

Takes what `keras_hub_presets.py` wrote. Needs keras-hub, beside our own package.
"""

import json
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from keras_hub import models

from keras_transformer import to_keras_hub
from keras_transformer.training.transfer.import_run import import_run

LENGTH, FIRST, TOLERANCE = 9, 5, 1e-4


def main() -> None:
    """Prints a line for each preset and ends with status 1 if one differs."""
    differing = []
    for file in sorted(Path(sys.argv[1]).glob("*.zip")):
        with tempfile.TemporaryDirectory() as folder:
            before = Path(folder) / "before"
            zipfile.ZipFile(file).extractall(before)
            run = import_run(before, Path(folder) / "run")
            after = to_keras_hub(run, Path(folder) / "after")
            difference, ids = compare(before, after)
        print(f"{file.stem}: outputs differ by {difference:.1e}, ids of {ids} texts")
        if difference > TOLERANCE or ids:
            differing.append(file.stem)
    if differing:
        sys.exit(f"different: {', '.join(differing)}")


def compare(before: Path, after: Path) -> tuple[float, int]:
    """Returns by how much outputs of two presets differ, and of how many texts the ids do."""
    theirs, ours = (load(path, "task.json", "config.json") for path in (before, after))
    splits = [load(path, "tokenizer.json") for path in (before, after)]
    size = splits[0].vocabulary_size()
    given = inputs(theirs, np.random.default_rng(0).integers(FIRST, size, (2, LENGTH)))
    outputs = [states(model(given)) for model in (theirs, ours)]
    texts = json.loads((before / "reference.json").read_text(encoding="utf-8"))["hostile"]
    rows = [[np.asarray(split(text)).tolist() for text in texts] for split in splits]
    different = sum(one != other for one, other in zip(*rows, strict=True))
    return float(np.abs(outputs[0] - outputs[1]).max()), different


def load(path: Path, *files: str) -> Any:
    """Returns what the first file that is there describes."""
    file = next(path / name for name in files if (path / name).is_file())
    kind = json.loads(file.read_text(encoding="utf-8"))["class_name"]
    return getattr(models, kind).from_preset(str(path))


def inputs(model: Any, ids: Any) -> dict[str, Any]:
    """Returns rows of ids without padding as a model's inputs."""
    found = {}
    for name in model.input:
        found[name] = ids if name.endswith("token_ids") else np.ones_like(ids)
        if name in ("segment_ids", "mask_positions"):
            found[name] = np.tile(np.arange(LENGTH) % 2, (len(ids), 1))
    return found


def states(outputs: Any) -> Any:
    """Returns a model's outputs; of a backbone those of its tokens."""
    if isinstance(outputs, dict):
        outputs = outputs["sequence_output"]
    return np.asarray(outputs)


if __name__ == "__main__":
    main()
