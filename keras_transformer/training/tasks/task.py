"""The interface between a run and its task; all else in `TrainingRun` is the same for all tasks."""

from collections.abc import Collection
from typing import Any, Protocol

from keras_transformer.config.families import ModelConfig
from keras_transformer.models.families import AnyModel
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.training.loop.progress import SampledValidation
from keras_transformer.training.loop.training_model import TrainingModel
from keras_transformer.training.run.options import TrainPlan
from keras_transformer.training.tasks.training_data import TrainingData


class Task(Protocol):
    """A task: every method is called once per run, in this order."""

    def check(self) -> None:
        """Raises an error, before any work, if data, options and starting point do not match."""

    def read(self, directory: RunDirectory) -> TrainingData:
        """Returns the data; saves tokenizers in the run directory or loads them from it."""

    def config(self, data: TrainingData) -> ModelConfig:
        """Returns the config of the model that the data is for."""

    def start(self) -> dict[str, Any]:
        """Returns the entry in `training.json` on the start; a resumed run must have the same."""

    def build(self, config: Any, data: TrainingData) -> AnyModel:
        """Builds the model with the weights that training starts from."""

    def fresh(self) -> Collection[str]:
        """Returns the paths of the model's weights that were not taken from a trained one."""

    def built(self) -> dict[str, Any]:
        """Returns what `training.json` should hold beside the rest on how the model was built."""

    def to_train(self, model: Any, data: TrainingData, plan: TrainPlan) -> TrainingModel:
        """Joins the model to its loss and its metrics, without compiling."""

    def validation(
        self, model: Any, data: TrainingData, plan: TrainPlan
    ) -> SampledValidation | None:
        """Returns the callback that judges the model after each round beside its loss, or None."""

    def calibrate(self, model: Any, data: TrainingData, plan: TrainPlan) -> float | None:
        """Returns the finished model's threshold of low confidence, or None if it has none."""
