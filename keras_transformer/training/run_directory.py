"""A run directory: where a training run keeps what it needs to go on and what it leaves behind."""

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

from keras_transformer.config import TransformerConfig
from keras_transformer.text.tokenizer import Tokenizer

CONFIG = "config.json"
MODEL = "model.keras"
TRAINING = "training.json"
CHECKPOINTS = "checkpoints"
LOGS = "logs"
TOKENIZER = "tokenizer.model"
SOURCE_TOKENIZER = "source_tokenizer.model"
TARGET_TOKENIZER = "target_tokenizer.model"


def write_atomically(path: Path, text: str) -> None:
    """Writes a text file that is there whole or not at all."""
    partial = path.with_name(path.name + ".partial")
    with partial.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, path)


@dataclasses.dataclass(frozen=True)
class RunDirectory:
    """Names and reads the parts of a run directory.

    Attributes:
        path: The directory.
    """

    path: Path

    @property
    def checkpoints(self) -> Path:
        """Where the checkpoints are."""
        return self.path / CHECKPOINTS

    @property
    def logs(self) -> Path:
        """Where TensorBoard reads."""
        return self.path / LOGS

    @property
    def model(self) -> Path:
        """The finished model."""
        return self.path / MODEL

    def save_config(self, config: TransformerConfig) -> None:
        """Writes the model's config."""
        write_atomically(self.path / CONFIG, config.to_json())

    def load_config(self) -> TransformerConfig:
        """Reads the model's config."""
        return TransformerConfig.load(self._existing(CONFIG))

    def save_tokenizers(self, source: Tokenizer, target: Tokenizer) -> None:
        """Writes one tokenizer file where both sides share it, else two; older ones go."""
        for name in (TOKENIZER, SOURCE_TOKENIZER, TARGET_TOKENIZER):
            (self.path / name).unlink(missing_ok=True)
        if source is target:
            source.save(self.path / TOKENIZER)
        else:
            source.save(self.path / SOURCE_TOKENIZER)
            target.save(self.path / TARGET_TOKENIZER)

    def load_tokenizers(self) -> tuple[Tokenizer, Tokenizer]:
        """Reads source and target tokenizer; the same object where they share a vocabulary."""
        if (self.path / SOURCE_TOKENIZER).exists():
            source = Tokenizer.load(self.path / SOURCE_TOKENIZER)
            return source, Tokenizer.load(self._existing(TARGET_TOKENIZER))
        shared = Tokenizer.load(self._existing(TOKENIZER))
        return shared, shared

    def save_training(self, record: dict[str, Any]) -> None:
        """Writes settings, data counts, versions and scores."""
        write_atomically(self.path / TRAINING, json.dumps(record, indent=2) + "\n")

    def load_training(self) -> dict[str, Any]:
        """Reads what `save_training` wrote."""
        return json.loads(self._existing(TRAINING).read_text(encoding="utf-8"))

    def _existing(self, name: str) -> Path:
        path = self.path / name
        if not path.is_file():
            raise FileNotFoundError(
                f"{path} is missing: {self.path} is no run directory of `keras-transformer "
                "train`, or the run has not come that far."
            )
        return path
