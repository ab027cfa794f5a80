"""Whether a directory may be trained into: a new run never overwrites one, a resumed run must be
the same run.
"""

import dataclasses
from typing import Any

from keras_transformer.config import SpecialIds, TransformerConfig
from keras_transformer.training.run.history import History
from keras_transformer.training.run.options import TrainOptions
from keras_transformer.training.run.run_directory import RunDirectory

# What decides how long to train, on what devices, in how much memory, and what to make of the
# checkpoints; not what they hold.
_MAY_CHANGE = {
    "epochs",
    "max_steps",
    "average_checkpoints",
    "patience",
    "final_model",
    "bleu_sentences",
    "strategy",
    "micro_batches",
    "recompute",
}


def _plain(default: Any) -> Any:
    """Returns a field's default as `training.json` holds it."""
    return default.to_dict() if isinstance(default, SpecialIds) else default


# A run of an earlier version, which had not all of the settings, was as their defaults have it.
_DEFAULTS = {
    part: {field.name: _plain(field.default) for field in dataclasses.fields(settings)}
    for part, settings in (("config", TransformerConfig), ("options", TrainOptions))
} | {"data": {}, "start": {}}


def refuse_to_overwrite(run: RunDirectory) -> None:
    """Raises `FileExistsError` where a run has begun already."""
    if run.model.exists() or run.has_checkpoints:
        raise FileExistsError(
            f"{run.path} holds a run already: continue it with resume (--resume), or choose "
            "another directory."
        )


def history_to_resume(run: RunDirectory, record: dict[str, Any]) -> History:
    """Returns the figures of the rounds so far, after checking that the settings are the same.

    Args:
        run: The run to go on with; one without checkpoints starts anew.
        record: Settings and data counts of now, as `training.json` holds them.

    Raises:
        ValueError: The run was started with other settings or on other data.
    """
    if not run.has_checkpoints:
        return History()
    saved = run.load_training()
    for part, defaults in _DEFAULTS.items():
        begun, going_on = saved.get(part, {}), record.get(part, {})
        for name in sorted(set(begun) | set(going_on)):
            before = begun.get(name, defaults.get(name))
            now = going_on.get(name)
            if before != now and name not in _MAY_CHANGE:
                raise ValueError(
                    f"{run.path} was started with {name}={before!r}, not {now!r}: resume with "
                    "the same settings, or train into another directory."
                )
    return History(saved["history"])
