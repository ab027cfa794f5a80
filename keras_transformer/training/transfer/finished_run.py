"""Writes a model that was not trained here as a finished run directory, which all commands take."""

from typing import Any

from keras_transformer.models.families import AnyModel
from keras_transformer.models.files.model_file import save_model
from keras_transformer.training.run.history import History
from keras_transformer.training.run.run_directory import RunDirectory
from keras_transformer.training.run.starting_point import Tokenizers


def write_finished_run(
    place: RunDirectory, model: AnyModel, tokenizers: Tokenizers, record: dict[str, Any]
) -> None:
    """Writes config, tokenizers, record and model, in place of those that the directory has.

    Args:
        place: The directory, created if missing.
        model: The model.
        tokenizers: Those of source and target; the same object if there is one vocabulary.
        record: What `training.json` holds.
    """
    place.path.mkdir(parents=True, exist_ok=True)
    # A run without its model is not finished, so that it is removed first and written last.
    place.model.unlink(missing_ok=True)
    place.save_config(model.config)
    place.save_tokenizers(*tokenizers)
    place.save_training(record, History(), finished=True)
    save_model(model, place.model)
