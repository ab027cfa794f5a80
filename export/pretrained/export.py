"""Export of a model or a run to another toolkit's format. The directory gets its name only when it
is complete.
"""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from keras_transformer.export.inputs import check_inputs, in_float32
from keras_transformer.export.placement import placed
from keras_transformer.export.pretrained import marian
from keras_transformer.export.pretrained.ctranslate2 import write as ctranslate2
from keras_transformer.export.pretrained.huggingface import write as huggingface
from keras_transformer.export.pretrained.keras_hub import write as keras_hub
from keras_transformer.export.pretrained.outgoing import Outgoing
from keras_transformer.export.pretrained.settings import MARKS, PretrainedFormat, check_settings
from keras_transformer.models.families import AnyModel
from keras_transformer.pretrained.tensor_files import open_npz
from keras_transformer.runs.finished_run import load_run
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.text.tokenizer import Tokenizer


class _Writer(Protocol):
    def check(self, outgoing: Outgoing) -> None: ...

    def write(self, outgoing: Outgoing, directory: Path) -> None: ...


_WRITERS: dict[str, _Writer] = {
    "marian": marian,
    "huggingface": huggingface,
    "ctranslate2": ctranslate2,
    "keras_hub": keras_hub,
}


def export_pretrained(
    model: AnyModel | str | os.PathLike[str],
    directory: str | os.PathLike[str],
    *,
    format: PretrainedFormat,
    tokenizer: Tokenizer | None = None,
    target_tokenizer: Tokenizer | None = None,
    overwrite: bool = False,
) -> Path:
    """Writes a model for Marian, Hugging Face transformers, CTranslate2 or keras-hub.

    Args:
        model: A model of this package, or the directory of a run.
        directory: The directory to write; it appears under its name only when it is complete.
        format: "marian", "huggingface", "ctranslate2" or "keras_hub".
        tokenizer: The tokenizer, or the source's if there are two vocabularies; only with a model,
            since a run has its own.
        target_tokenizer: The target's, if there are two vocabularies.
        overwrite: Replace the directory if it exists.

    Returns:
        The directory.

    Raises:
        FileExistsError: The directory exists and `overwrite` is False, or it is no such model.
        FileNotFoundError: A file of the run is missing.
        ImportError: The format needs a package that is not installed.
        TypeError: The model is not one of this package, or has no tokenizer.
        ValueError: The format cannot hold the model: the message names the field of its config.

    Example:
        `export_pretrained("runs/demo", "exported/demo", format="ctranslate2")`
    """
    final = Path(os.path.abspath(directory))
    check_settings(final, format=format, overwrite=overwrite)
    if isinstance(model, str | os.PathLike):
        if tokenizer is not None or target_tokenizer is not None:
            raise TypeError(
                "a run has tokenizers of its own: leave tokenizer and target_tokenizer."
            )
        outgoing = _of_run(Path(model))
    elif tokenizer is None:
        raise TypeError("a model needs a tokenizer: give the one it was trained with.")
    else:
        outgoing = _of_model(model, tokenizer, target_tokenizer or tokenizer)
    writer = _WRITERS[format]
    writer.check(outgoing)
    with placed(final, mark=MARKS[format], overwrite=overwrite) as temporary:
        writer.write(outgoing, temporary)
    return Path(directory)


def to_keras_hub(
    model: AnyModel | str | os.PathLike[str],
    directory: str | os.PathLike[str],
    *,
    tokenizer: Tokenizer | None = None,
    overwrite: bool = False,
) -> Path:
    """Writes a model as a preset of keras-hub, which need not be installed.

    Args:
        model: A model of this package, or the directory of a run.
        directory: The directory to write, for keras-hub's `from_preset`.
        tokenizer: The model's tokenizer; only with a model, since a run has its own.
        overwrite: Replace the directory if it exists.

    Returns:
        The directory.

    Raises:
        FileExistsError: The directory exists and `overwrite` is False, or it is no preset.
        TypeError: The model is not one of this package, or has no tokenizer.
        ValueError: keras-hub has no such model: the message names what it lacks.

    Example:
        `to_keras_hub(model, "preset", tokenizer=tokenizer)`
    """
    return export_pretrained(
        model, directory, format="keras_hub", tokenizer=tokenizer, overwrite=overwrite
    )


def _of_run(run: Path) -> Outgoing:
    model, source, target = load_run(run)
    place = RunDirectory(run)
    unused = dict(open_npz(place.unused)) if place.unused.exists() else {}
    outgoing = _of_model(model, source, target, place.load_search())
    return replace(outgoing, unused=unused, chat=place.load_chat_template())


def _of_model(
    model: Any, source: Tokenizer, target: Tokenizer, search: dict[str, Any] | None = None
) -> Outgoing:
    check_inputs(model, source, target)
    return Outgoing(in_float32(model), source, target, search or {})
