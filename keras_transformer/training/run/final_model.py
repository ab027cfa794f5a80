"""Gives a trained model its final weights: the mean of the newest checkpoints or the best one."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from keras_transformer.models.families import AnyModel
from keras_transformer.models.lora.adaptation import without_low_rank
from keras_transformer.models.lora.weights_file import save_mean_adapter, trained_values
from keras_transformer.runs.checkpoints import (
    average_checkpoints,
    checkpoint_path,
    checkpoint_step,
    load_checkpoint,
)
from keras_transformer.runs.history import History
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.training.loop.training_model import TrainingModel
from keras_transformer.training.run.options import TrainPlan
from keras_transformer.training.run.recovery import average_merged, average_newest, restore_best


def set_final_weights(
    model: TrainingModel,
    checkpoints: Path,
    history: History,
    plan: TrainPlan,
    score: Callable[[], float],
) -> dict[str, Any]:
    """Sets the weights that `plan.final_model` names; for "auto" the better of both.

    Args:
        model: The model, which `load_checkpoint` accepts the files for.
        checkpoints: Their directory.
        history: The rounds that ended with them, and by what they are compared.
        plan: How the model was trained.
        score: Returns the criterion's figure of the model as it is.

    Returns:
        What `training.json` says of the choice: what it is, after which updates, and its score.
    """
    if plan.final_model == "best":
        return _restore_best(model, checkpoints, history)
    average = average_merged if plan.lora_rank else average_checkpoints
    paths = average_newest(model, checkpoints, plan.average_checkpoints, average)
    found = {"is": "average", "of_steps": [checkpoint_step(path) for path in paths]}
    best, criterion = history.best_step, history.criterion
    if plan.final_model == "average" or best is None:
        return found
    of_mean, of_best = score(), history.scores()[best]
    is_mean = of_mean <= of_best if criterion.gain == "lower" else of_mean >= of_best
    several = len(paths) > 1
    mean = (
        f"the mean of the newest {len(paths)} checkpoints" if several else "the newest checkpoint"
    )
    scored = [(mean, of_mean), ("the best checkpoint", of_best)]
    (chosen, figure), (other, others) = scored if is_mean else scored[::-1]
    print(
        f"final model: {chosen}, with a {criterion.noun} of {figure:.4f}; {other} has {others:.4f}"
    )
    if is_mean:
        return {**found, criterion.figure: of_mean}
    return _restore_best(model, checkpoints, history)


def plain_model(model: TrainingModel, directory: RunDirectory, steps: Sequence[int]) -> AnyModel:
    """Returns an adapted model with its factors added to the weights, and writes the factors.

    Args:
        model: The model, with its final weights.
        directory: Its run, which the file of factors is written to.
        steps: The checkpoints that its weights are of.
    """
    plain, states = without_low_rank(model.transformer), []
    for step in steps:
        load_checkpoint(model, checkpoint_path(directory.checkpoints, step))
        states.append(trained_values(model.transformer))
    save_mean_adapter(model.transformer, states, directory.adapter)
    return plain


def _restore_best(model: TrainingModel, checkpoints: Path, history: History) -> dict[str, Any]:
    step = checkpoint_step(restore_best(model, checkpoints, history))
    return {"is": "best", "of_steps": [step], history.criterion.figure: history.scores()[step]}
