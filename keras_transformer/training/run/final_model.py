"""Gives a trained model its final weights: the mean of the newest checkpoints or the best one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from keras_transformer.runs.checkpoints import average_checkpoints, checkpoint_step
from keras_transformer.runs.history import History
from keras_transformer.training.loop.training_model import TrainingModel
from keras_transformer.training.run.options import TrainPlan
from keras_transformer.training.run.recovery import average_merged, average_newest, restore_best


def set_final_weights(
    model: TrainingModel,
    checkpoints: Path,
    history: History,
    plan: TrainPlan,
    validation_loss: Callable[[], float],
) -> dict[str, Any]:
    """Sets the weights that `plan.final_model` names; for "auto" those of the lower loss.

    Args:
        model: The model, which `load_checkpoint` accepts the files for.
        checkpoints: Their directory.
        history: The rounds that ended with them.
        plan: How the model was trained.
        validation_loss: Returns that of the model as it is.

    Returns:
        What `training.json` says of the choice: what it is, after which updates, and its loss.
    """
    if plan.final_model == "best":
        return _restore_best(model, checkpoints, history)
    average = average_merged if plan.lora_rank else average_checkpoints
    paths = average_newest(model, checkpoints, plan.average_checkpoints, average)
    found = {"is": "average", "of_steps": [checkpoint_step(path) for path in paths]}
    losses = history.losses()
    if plan.final_model == "average" or not losses:
        return found
    loss, lowest = validation_loss(), min(losses.values())
    is_mean = loss <= lowest
    print(
        f"final model: the {'mean' if is_mean else 'best'}: the mean of the newest {len(paths)} "
        f"checkpoints has a validation loss of {loss:.4f}, the best checkpoint {lowest:.4f}"
    )
    return {**found, "val_loss": loss} if is_mean else _restore_best(model, checkpoints, history)


def _restore_best(model: TrainingModel, checkpoints: Path, history: History) -> dict[str, Any]:
    step = checkpoint_step(restore_best(model, checkpoints, history))
    return {"is": "best", "of_steps": [step], "val_loss": history.losses()[step]}
