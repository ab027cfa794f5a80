"""The files of a preset that keras-hub saved: the configs of its parts, and its vocabulary."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.values import FileValues, read_json

CONFIG, TASK_FILE = "config.json", "task.json"
TOKENIZER_FILE, PREPROCESSOR = "tokenizer.json", "preprocessor.json"
MODEL_WEIGHTS, TASK_WEIGHTS = "model.weights.h5", "task.weights.h5"
ASSETS = Path("assets", "tokenizer")
WORDS, BYTES, MERGES, PIECES = (
    "vocabulary.txt",
    "vocabulary.json",
    "merges.txt",
    "vocabulary.spm",
)
# What Keras registers the classes under; the second is the name that the package had until 2024.
_PACKAGES = ("keras_hub>", "keras_nlp>")


def is_keras_hub(path: Path) -> bool:
    """Whether a directory is a preset: its config names a class of keras-hub."""
    try:
        values = read_json(path / CONFIG)
    except ImportRefusedError:
        return False
    name = values.get("registered_name") if isinstance(values, dict) else None
    return isinstance(name, str) and name.startswith(_PACKAGES)


@dataclass(frozen=True)
class Part:
    """A part of a preset.

    Attributes:
        kind: The name of its class.
        config: The fields of its config.
    """

    kind: str
    config: FileValues


@dataclass(frozen=True)
class Preset:
    """A directory that keras-hub's `save_to_preset` wrote.

    Attributes:
        path: The directory.
    """

    path: Path

    @cached_property
    def backbone(self) -> Part:
        """The model without a head."""
        return self._part(CONFIG)

    @property
    def task(self) -> Part | None:
        """The model with its head; None of a backbone alone."""
        return self._part(TASK_FILE) if (self.path / TASK_FILE).is_file() else None

    @property
    def tokenizer(self) -> Part:
        """The tokenizer."""
        if not (self.path / TOKENIZER_FILE).is_file():
            raise ImportRefusedError(
                f"{self.path} has no tokenizer: save it there by "
                f"tokenizer.save_to_preset({str(self.path)!r}), or save a task with a preprocessor."
            )
        return self._part(TOKENIZER_FILE)

    def layout(self, name: str, default: Any) -> Any:
        """Returns a field of what lays out the model's inputs, if the preset has that."""
        if not (self.path / PREPROCESSOR).is_file():
            return default
        return self._part(PREPROCESSOR).config.get(name, default)

    def asset(self, name: str) -> Path:
        """Returns a file of the tokenizer.

        Raises:
            ImportRefusedError: It is missing.
        """
        found = self.path / ASSETS / name
        if not found.is_file():
            raise ImportRefusedError(f"{found} is missing: the preset is not whole.")
        return found

    def _part(self, name: str) -> Part:
        file = self.path / name
        values = FileValues(file, read_json(file))
        return Part(values.text("class_name"), values.mapping("config"))
