"""The run directory: reads and writes the files of a training run, by which it can be resumed, and
its results.
"""

import dataclasses
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from keras_transformer.config import TransformerConfig
from keras_transformer.config.families import CONFIG, MODEL, ModelConfig, load_config
from keras_transformer.generation.chat_template import CHAT_TEMPLATE, ChatTemplate
from keras_transformer.path_kinds import describe_path, is_run
from keras_transformer.runs.checkpoints import list_to_resume
from keras_transformer.runs.history import History
from keras_transformer.search.confidence import check_min_score
from keras_transformer.search.keywords import check_defaults
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.text.tokenizer_files import load_tokenizers, save_tokenizers
from keras_transformer.text.training_text import TrainingText
from keras_transformer.whole_files import remove_partials, write_text

TRAINING = "training.json"
# The entry there of a model that another toolkit trained.
IMPORTED = "imported"
# The entry of how such a model is meant to search, which runs that start from it take over.
SEARCH = "search"
# The entry of what the training lines looked like.
TRAINING_TEXT = "training_text"
CHECKPOINTS = "checkpoints"
LOGS = "logs"
LOSSES = "losses.tsv"
REHEARSAL = "rehearsal.tsv"
BAD_BATCH = "bad_batch.txt"
UNUSED = "unused_weights.npz"
ADAPTER = "adapter.lora.npz"


@dataclasses.dataclass(frozen=True)
class RunDirectory:
    """Names and reads the parts of a run directory.

    Attributes:
        path: The directory.
        worker: Number of the worker that uses it. All workers read what worker 0, the chief,
            writes; the others write only logs, each to its own subdirectory.
    """

    path: Path
    worker: int = 0

    @property
    def is_chief(self) -> bool:
        """Whether this worker writes; on the others, the methods that save do nothing."""
        return self.worker == 0

    @property
    def _own(self) -> Path:
        if self.is_chief:
            return self.path
        own = self.path / f"worker_{self.worker}"
        own.mkdir(exist_ok=True)
        return own

    @property
    def checkpoints(self) -> Path:
        """Directory of the checkpoints."""
        return self.path / CHECKPOINTS

    @property
    def has_checkpoints(self) -> bool:
        """Whether there is something to resume from."""
        return bool(list_to_resume(self.checkpoints))

    @property
    def logs(self) -> Path:
        """Directory of the TensorBoard logs."""
        return self._own / LOGS

    @property
    def losses(self) -> Path:
        """File with the loss of every update."""
        return self._own / LOSSES

    @property
    def bad_batch(self) -> Path:
        """File with the line numbers of the batch that ended training."""
        return self._own / BAD_BATCH

    @property
    def rehearsal(self) -> Path:
        """File with the pairs that the run to start from made."""
        return self.path / REHEARSAL

    @property
    def model(self) -> Path:
        """File of the finished model."""
        return self.path / MODEL

    @property
    def adapter(self) -> Path:
        """File of the factors that low-rank adaptation trained."""
        return self.path / ADAPTER

    def save_config(self, config: ModelConfig) -> None:
        """Writes the model's config, and removes partial files that a killed run left."""
        remove_partials(self._own)
        if self.is_chief:
            write_text(self.path / CONFIG, config.to_json())

    def load_config(self) -> ModelConfig:
        """Reads the model's config."""
        return load_config(self._existing(CONFIG))

    def save_tokenizers(self, source: Tokenizer, target: Tokenizer) -> None:
        """Writes one tokenizer file if both sides share it, else two; deletes older ones."""
        if self.is_chief:
            save_tokenizers(self.path, source, target)

    def load_tokenizers(self) -> tuple[Tokenizer, Tokenizer]:
        """Reads source and target tokenizer; the same object if they share a vocabulary."""
        return load_tokenizers(self.path, self._existing)

    def save_training(self, record: dict[str, Any], history: History, *, finished: bool) -> None:
        """Writes settings, data counts, versions and the metrics of the rounds so far."""
        if not self.is_chief:
            return
        whole = {
            **record,
            "history": history.figures,
            "best": history.best_record(),
            "finished": finished,
        }
        write_text(self.path / TRAINING, json.dumps(whole, indent=2) + "\n")

    def check_finished(self) -> None:
        """Raises `FileNotFoundError` if this is no run, or if its finished model is missing."""
        if not is_run(self.path):
            if not self.path.exists():
                raise FileNotFoundError(f"there is no directory {self.path}: give a training run.")
            raise FileNotFoundError(
                f"{self.path} is not a run directory of `keras-transformer train`."
                + describe_path(self.path)
            )
        self.load_config()
        if not self.model.is_file():
            raise FileNotFoundError(
                f"{self.model} is missing: the run has not finished; continue it with --resume."
            )

    @property
    def has_training(self) -> bool:
        """Whether `save_training` wrote something."""
        return (self.path / TRAINING).is_file()

    @property
    def is_imported(self) -> bool:
        """Whether another toolkit trained the model."""
        return self.has_training and IMPORTED in self.load_training()

    @property
    def is_translation(self) -> bool:
        """Whether the model learnt to translate; other tasks of two stacks say which they are."""
        if not isinstance(self.load_config(), TransformerConfig):
            return False
        data = self.load_training().get("data", {}) if self.has_training else {}
        return not isinstance(data, dict) or "task" not in data

    def load_training(self) -> dict[str, Any]:
        """Reads what `save_training` wrote; raises `ValueError` if the file is damaged."""
        path = self._existing(TRAINING)
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
            if not isinstance(values, dict):
                raise ValueError(f"expected a JSON object, got {type(values).__name__}")
            return values
        except (ValueError, RecursionError) as error:
            raise self._damaged(error) from error

    def load_training_text(self) -> TrainingText | None:
        """Reads the description of the training lines; None if the run has none."""
        return self._training_entry(TRAINING_TEXT, TrainingText.from_dict)

    def load_min_score(self) -> float | None:
        """Reads the score per token below which confidence is low; None if the run has none."""
        return self._training_entry("min_score", _checked_min_score)

    @property
    def unused(self) -> Path:
        """Weights of an imported model that no part of it reads, by their published names."""
        return self.path / UNUSED

    def save_chat_template(self, chat: ChatTemplate | None) -> None:
        """Writes the template of chats, or deletes an older one if there is none."""
        path = self.path / CHAT_TEMPLATE
        if chat is None:
            path.unlink(missing_ok=True)
        elif self.is_chief:
            write_text(path, chat.to_json())

    def load_chat_template(self) -> ChatTemplate | None:
        """Reads the template of chats; None if the model has none.

        Raises:
            ValueError: The file is damaged.
        """
        path = self.path / CHAT_TEMPLATE
        if not path.is_file():
            return None
        try:
            return ChatTemplate.from_json(path.read_bytes())
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error

    def load_search(self) -> dict[str, Any]:
        """Reads the fields of `SearchOptions` that the model was imported with; {} for none."""
        return self._training_entry(SEARCH, check_defaults) or {}

    def _training_entry(self, name: str, read: Callable[[Any], Any]) -> Any:
        """Returns what `read` makes of an entry of `training.json`; None if the run has no such
        entry or file.
        """
        self._existing(CONFIG)
        entry = self.load_training().get(name) if self.has_training else None
        try:
            return None if entry is None else read(entry)
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
            raise self._damaged(f"{name}: {error}") from error

    def _damaged(self, why: object) -> ValueError:
        return ValueError(
            f"{self.path / TRAINING} is damaged ({why}): put a copy of it back, or train into "
            "another directory."
        )

    def _existing(self, name: str) -> Path:
        path = self.path / name
        if not path.is_file():
            raise FileNotFoundError(
                f"{path} is missing: {self.path} is not a run directory of `keras-transformer "
                "train`, or the run has not got that far."
            )
        return path


def _checked_min_score(value: float) -> float:
    check_min_score(value)
    return value


def load_training_text(directory: str | os.PathLike[str]) -> TrainingText | None:
    """Reads the description of a run's training lines, for `export_onnx` and `Translator`.

    Args:
        directory: Run directory.

    Returns:
        The description; None if an earlier version trained the run, or prepared its corpus.

    Raises:
        FileNotFoundError: The directory is no run.
    """
    return RunDirectory(Path(directory)).load_training_text()


def load_min_score(directory: str | os.PathLike[str]) -> float | None:
    """Reads the score per token below which a run's translations have low confidence.

    Args:
        directory: Run directory.

    Returns:
        The threshold; None if the run had no validation pairs or is from an earlier version.

    Raises:
        FileNotFoundError: The directory is no run.
    """
    return RunDirectory(Path(directory)).load_min_score()


def load_search(directory: str | os.PathLike[str]) -> dict[str, Any]:
    """Reads how a run's model is meant to search, for `export_onnx` and `Translator`.

    Args:
        directory: Run directory.

    Returns:
        Fields of `SearchOptions`; {} unless the model, or the one that it was fine-tuned from, was
        imported with some.

    Raises:
        FileNotFoundError: The directory is no run.
    """
    return RunDirectory(Path(directory)).load_search()
