"""Checks whether to train into a directory: a new run never overwrites another, and a resumed run
must have the same settings and data. Returns the history to resume.
"""

import dataclasses
import json
from typing import Any

from keras_transformer.config.families import CONFIG, MODEL, config_class, config_from_dict
from keras_transformer.data.sources.digest import TEXT_SHA256
from keras_transformer.runs.figure_names import renamed_figures
from keras_transformer.runs.history import History
from keras_transformer.runs.run_directory import (
    BAD_BATCH,
    CHECKPOINTS,
    LOGS,
    LOSSES,
    REHEARSAL,
    TRAINING,
    RunDirectory,
)
from keras_transformer.text.tokenizer_files import SHARED, SOURCE, TARGET, tokenizer_paths
from keras_transformer.training.run.options import TrainOptions, TrainPlan

# These decide how long to train, on which devices, with how much memory, and how to use the
# checkpoints; not what the checkpoints hold.
_MAY_CHANGE = {
    "epochs",
    "max_steps",
    "average_checkpoints",
    "patience",
    "early_stopping",
    "final_model",
    "bleu_sentences",
    "strategy",
    "micro_batches",
    "recompute",
}
# What a run writes beside its tokenizers, and `distill` into a student's.
_WRITTEN = {
    *(CONFIG, MODEL, TRAINING, CHECKPOINTS, LOGS, LOSSES, REHEARSAL, BAD_BATCH),
    *("distillation", "distillation.json"),
}
# Of files that were being written, of other workers' directories and of hidden files.
_BEGINNINGS = ("partial.", "worker_", ".")


def refuse_to_overwrite(run: RunDirectory, *, resume: bool = False) -> None:
    """Raises `FileExistsError` if the directory holds a run that training would replace, or a model
    of others. What a run left that was killed before its first checkpoint is replaced.

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
    other = _of_others(run)
    if other is not None:
        raise FileExistsError(
            f"{run.path} holds files of another model, such as {other}, and training would replace "
            "some: train into another directory (--output)."
        )


def as_begun(run: RunDirectory, options: TrainOptions, *, resume: bool) -> TrainOptions:
    """Returns options that leave nothing open which a run to resume has decided for its length.

    Args:
        run: The directory to train into.
        options: What is asked for.
        resume: Whether to continue its run.
    """
    if not (resume and run.has_checkpoints):
        return options
    begun = _filled(run.load_training())["options"]
    # Whether a run can rehearse depends on what it starts from, which is compared later.
    left_open = {*_MAY_CHANGE, "rehearsal"}
    return options.filled({name: begun[name] for name in begun if name not in left_open})


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
    head = record.get("config", {}).get("head")
    return History(renamed_figures(head, check_settings(run, record)["history"]))


def check_settings(run: RunDirectory, record: dict[str, Any]) -> dict[str, Any]:
    """Checks that a run with checkpoints has the same settings, and the same data if given.

    Args:
        run: The run to resume.
        record: The current settings and data counts, as far as they are known yet.

    Returns:
        What `training.json` holds.

    Raises:
        ValueError: The run was started with other settings or on other data.
    """
    saved, record = _filled(run.load_training()), json.loads(json.dumps(record))
    if "data" in record:
        before, now = saved.setdefault("data", {}), record["data"]
        tasks = [data.get("task", "translation") for data in (before, now)]
        if tasks[0] != tasks[1]:
            raise ValueError(_difference(run, "task", *tasks))
        _drop_incomparable(before, now)
    for part in ("config", "options", "data", "start"):
        if part not in record:
            continue
        begun, going_on = saved.get(part, {}), record[part]
        for name in sorted(set(begun) | set(going_on)):
            values = begun.get(name), going_on.get(name)
            if values[0] != values[1] and name not in _MAY_CHANGE:
                raise ValueError(_difference(run, name, *values))
    return saved


def _drop_incomparable(before: dict[str, Any], now: dict[str, Any]) -> None:
    """Drops what two records of data may differ in though the data are the same."""
    # An earlier version did not record which lines it had read, nor for single texts the kind of
    # the vocabulary.
    for name in (TEXT_SHA256, "tokenizer_type"):
        if name not in before:
            now.pop(name, None)
    if TEXT_SHA256 in before and TEXT_SHA256 in now:
        # The same text may lie elsewhere, and an earlier version did not count all blank lines.
        for record in (before, now):
            record.pop("origin", None)
            for split in ("train", "valid"):
                for name in ("total", "empty"):
                    (record.get(split) or {}).pop(name, None)


def _of_others(run: RunDirectory) -> str | None:
    """Returns a file of another model than a run, beside which training would replace files.

    None if there is none: a file that stays, such as a log, may lie in the directory.
    """
    paths = run.path.iterdir() if run.path.is_dir() else ()
    names = {path.name for path in paths if not path.name.startswith(_BEGINNINGS)}
    stems = (SHARED, SOURCE, TARGET)
    tokenizers = {path.name for stem in stems for path in tokenizer_paths(run.path, stem)}
    if CONFIG in names:
        return None if _has_own_config(run) else CONFIG
    return min(names - _WRITTEN - tokenizers, default=None) if names & tokenizers else None


def _has_own_config(run: RunDirectory) -> bool:
    """Returns whether the config is of a model of ours; other toolkits give theirs this name."""
    try:
        run.load_config()
    except (OSError, ValueError, TypeError, AttributeError):
        return False
    return True


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
    defaults = {field.name: field.default for field in dataclasses.fields(TrainPlan)}
    return json.loads(json.dumps({**saved, "config": config or {}, "options": defaults | options}))
