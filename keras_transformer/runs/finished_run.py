"""Finished runs: a model with its config, tokenizers and record, which all commands take."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from keras_transformer.generation.chat_template import ChatTemplate
from keras_transformer.models.families import AnyModel
from keras_transformer.models.files.model_file import load_model_file, save_model
from keras_transformer.runs.history import History
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.text.tokenizer_files import Tokenizers, check_vocabularies
from keras_transformer.whole_files import whole_file


def write_finished_run(
    place: RunDirectory,
    model: AnyModel,
    tokenizers: Tokenizers,
    record: dict[str, Any],
    unused: Mapping[str, Any] | None = None,
    chat: ChatTemplate | None = None,
) -> None:
    """Writes a model that was not trained here, in place of what the directory has of a run.

    Args:
        place: The directory, created if missing.
        model: The model.
        tokenizers: Those of source and target; the same object if there is one vocabulary.
        record: What `training.json` holds.
        unused: Weights that no part of the model reads, by their published names, for exports.
        chat: The template of its chats; None if it has none.
    """
    place.path.mkdir(parents=True, exist_ok=True)
    # A run without its model is not finished, so that it is removed first and written last.
    place.model.unlink(missing_ok=True)
    place.save_config(model.config)
    place.save_tokenizers(*tokenizers)
    place.save_training(record, History(), finished=True)
    place.save_chat_template(chat)
    place.unused.unlink(missing_ok=True)
    if unused:
        with whole_file(place.unused) as partial, open(partial, "wb") as stream:
            np.savez(stream, **unused)
    save_model(model, place.model)


def load_run(directory: str | os.PathLike[str]) -> tuple[Any, Tokenizer, Tokenizer]:
    """Loads a finished run: its model and both tokenizers (one object if they are shared).

    The model is a `Transformer`, or an `EncoderOnly` or `DecoderOnly`, which have one tokenizer.

    Raises:
        FileNotFoundError: A file is missing, or the run has not finished.
        ValueError: A file is damaged, or a tokenizer is not the model's.
    """
    run = RunDirectory(Path(directory))
    run.check_finished()
    model, tokenizers = load_model_file(run.model), run.load_tokenizers()
    try:
        check_vocabularies(model.config, *tokenizers)
    except ValueError as error:
        raise ValueError(f"{run.path}: {error}") from error
    return model, *tokenizers
