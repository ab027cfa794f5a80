"""The settings of a SavedModel export, checked without the model or TensorFlow."""

from pathlib import Path
from typing import Literal, get_args

from keras_transformer.artefact.manifest import MANIFEST_FILE
from keras_transformer.config.checks import check_choice
from keras_transformer.export.placement import check_place
from keras_transformer.markup.casing import Casing

SignatureKind = Literal["text", "ids"]

DESCRIPTION_FILE = "assets.extra/export.json"


def check_settings(
    base: Path,
    *,
    version: int,
    signatures: str,
    max_source_length: int,
    casing: str,
    overwrite: bool,
) -> None:
    """Raises an error for settings with which no model can be exported.

    Args:
        base: The base directory of all versions.
        version: Number of the version, at least 1.
        signatures: Kind of signatures, "text" or "ids".
        max_source_length: Most tokens of a source.
        casing: How texts in capitals are treated: "auto", "keep" or "recase".
        overwrite: Whether the version may be replaced.

    Raises:
        FileExistsError: The version exists and `overwrite` is False, or it is not an export.
        OSError: The directory cannot be made.
        TypeError: A number is not an integer.
        ValueError: A setting is unknown or out of range, or the directory is an ONNX artefact.
    """
    for name, value in (("version", version), ("max_source_length", max_source_length)):
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"{name} must be an integer, got {value!r}.")
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}.")
    check_choice("signatures", signatures, get_args(SignatureKind))
    check_choice("casing", casing, get_args(Casing))
    if (base / MANIFEST_FILE).exists():
        raise ValueError(f"{base} is an ONNX artefact: choose another directory for SavedModels.")
    check_place(base / str(version), mark=DESCRIPTION_FILE, overwrite=overwrite)
