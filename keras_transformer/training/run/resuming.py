"""Checks whether to train into a directory: a new run never overwrites another, and a resumed run
must have the same settings and data. Returns the history to resume.
"""

import dataclasses
import json
from typing import Any

from keras_transformer.config.families import config_class, config_from_dict
from keras_transformer.data.sources.digest import TEXT_SHA256
from keras_transformer.training.run.history import History
from keras_transformer.training.run.options import TrainOptions
from keras_transformer.training.run.run_directory import RunDirectory

# These decide how long to train, on which devices, with how much memory, and how to use the
# checkpoints; not what the checkpoints hold.
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


def refuse_to_overwrite(run: RunDirectory, *, resume: bool = False) -> None:
    """Raises `FileExistsError` if training would replace a run that the directory holds.

    Args:
        run: The directory to train into.
        resume: Whether to continue its run, which takes a checkpoint: a finished model alone, such
            as an imported one, has no optimizer's state to go on with.
    """
    if resume and run.has_checkpoints:
        return
    if resume and run.model.exists():
        raise FileExistsError(
            f"{run.path} holds a finished model but no checkpoint to resume from: to train it "
            f"further, start from it with init (--init {run.path}) and write into another "
            "directory (--output)."
        )
    if run.model.exists() or run.has_checkpoints:
        raise FileExistsError(
            f"{run.path} holds a run already: continue it with resume (--resume), or choose "
            "another directory."
        )


def history_to_resume(run: RunDirectory, record: dict[str, Any]) -> History:
    """Returns the metrics of the rounds so far, after checking that the settings are the same.

    Args:
        run: The run to resume; one without checkpoints starts anew.
        record: The current settings and data counts, as `training.json` holds them.

    Raises:
        ValueError: The run was started with other settings or on other data.
    """
    if not run.has_checkpoints:
        return History()
    saved, record = _filled(run.load_training()), json.loads(json.dumps(record))
    if TEXT_SHA256 not in saved.get("data", {}):
        # A run of an earlier version does not say which lines it has read.
        record.get("data", {}).pop(TEXT_SHA256, None)
    for part in ("config", "options", "data", "start"):
        begun, going_on = saved.get(part, {}), record.get(part, {})
        for name in sorted(set(begun) | set(going_on)):
            before, now = begun.get(name), going_on.get(name)
            if before != now and name not in _MAY_CHANGE:
                raise ValueError(_difference(run, name, before, now))
    return History(saved["history"])


def _difference(run: RunDirectory, name: str, before: Any, now: Any) -> str:
    if name == TEXT_SHA256:
        return (
            f"{run.path} was started on other text: resume on the same, or train into another "
            "directory."
        )
    return (
        f"{run.path} was started with {name}={before!r}, not {now!r}: resume with the same "
        "settings, or train into another directory."
    )


def _filled(saved: dict[str, Any]) -> dict[str, Any]:
    """Returns a record with a value of each setting.

    A run of an earlier version, which lacks newer settings, was trained as by their defaults.
    """
    config, options = saved.get("config"), saved.get("options", {})
    if config:
        fields = {field.name for field in dataclasses.fields(config_class(config))}
        known = {name: value for name, value in config.items() if name in {*fields, "family"}}
        config = {**config_from_dict(known).to_dict(), **config}
    defaults = {field.name: field.default for field in dataclasses.fields(TrainOptions)}
    return json.loads(json.dumps({**saved, "config": config or {}, "options": defaults | options}))
