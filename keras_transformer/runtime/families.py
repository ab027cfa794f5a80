"""The classes that open the artefacts of each family."""

from pathlib import Path

from keras_transformer.artefact.manifest import Manifest

_CLASSES = {
    "encoder-decoder": "OnnxTranslator",
    "encoder": "OnnxEncoder",
    "decoder": "OnnxGenerator",
}


def require_family(directory: Path, manifest: Manifest, wanted: str) -> None:
    """Raises `ValueError` if an artefact's model is of another family than `wanted`."""
    if manifest.family != wanted:
        raise ValueError(
            f"{directory} holds a model of the family {manifest.family!r}: open it with "
            f"{_CLASSES[manifest.family]}."
        )
