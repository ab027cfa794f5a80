"""The classes that open the artefacts of each family."""

from pathlib import Path

from keras_transformer.artefact.manifest import Manifest
from keras_transformer.config.family import FAMILIES


def require_family(directory: Path, manifest: Manifest, wanted: str) -> None:
    """Raises `ValueError` if an artefact's model is of another family than `wanted`."""
    if manifest.family != wanted:
        raise ValueError(
            f"{directory} holds a model of the family {manifest.family!r}: open it with "
            f"{FAMILIES[manifest.family].name_of('opened')}."
        )
