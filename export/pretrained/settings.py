"""The settings of an export for another toolkit, checked without a model."""

from pathlib import Path
from typing import Literal, get_args

from keras_transformer.config.checks import check_choice
from keras_transformer.export.placement import check_place

PretrainedFormat = Literal["marian", "huggingface", "ctranslate2", "keras_hub"]
# A file that each format always has.
MARKS: dict[str, str] = {
    "marian": "model.npz",
    "huggingface": "config.json",
    "ctranslate2": "model.bin",
    "keras_hub": "model.weights.h5",
}


def check_settings(directory: Path, *, format: str, overwrite: bool) -> None:
    """Refuses settings that no model could be exported with; see `export_pretrained`.

    Raises:
        FileExistsError: The directory exists and `overwrite` is False, or it is no such model.
        OSError: The directory cannot be made.
        ValueError: The format is unknown.
    """
    check_choice("format", format, get_args(PretrainedFormat))
    check_place(directory, mark=MARKS[format], overwrite=overwrite)
