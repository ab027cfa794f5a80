"""Takes the directory of a training run and writes its ONNX artefact, with all that the run knows
of its model.
"""

import os
from pathlib import Path
from typing import Any

# Imported first: it says what to install if TensorFlow is missing.
from .export import export_onnx

from keras_transformer.training.run.train import load_run  # isort: skip
from keras_transformer.training.run.run_directory import RunDirectory  # isort: skip


def export_run(
    run: str | os.PathLike[str], directory: str | os.PathLike[str], **options: Any
) -> Path:
    """Exports a run's model of any family with its tokenizers and all that the run says of it.

    Args:
        run: The run's directory.
        directory: Name of the artefact.
        **options: As for `export_onnx`; they take precedence over the run's own.

    Returns:
        The artefact's path.

    Raises:
        FileExistsError: As for `export_onnx`.
        FileNotFoundError: A file of the run is missing.
        ImportError: As for `export_onnx`.
        ValueError: As for `export_onnx`.

    Example:
        `export_run("runs/demo", "exported/demo", quantize="int8")`
    """
    model, source, target = load_run(run)
    record = RunDirectory(Path(run))
    own = {
        "target_tokenizer": None if target is source else target,
        "min_score": record.load_min_score(),
        "training_text": record.load_training_text(),
        "search": record.load_search(),
    }
    return export_onnx(model, source, directory, **{**own, **options})
