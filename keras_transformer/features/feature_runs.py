"""The finished runs whose states are features of a model: named in training, their states kept
beside the new run, and copied into it, so that it reads texts by itself.
"""

import hashlib
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from keras_transformer.config.embedding import FeatureConfig
from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.features.sizes import FeatureLayers, feature_config
from keras_transformer.features.stored import Words, stored_states
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.whole_files import whole_file

if TYPE_CHECKING:
    from keras_transformer.features.word_states import WordStates

# The directory, within a run, of the states and the models of its features.
FEATURES = "features"


@dataclass(frozen=True)
class FeatureRun:
    """A finished run as features of words; its model is loaded when a word is to be read.

    Attributes:
        run: The run's directory.
        layers: "all" for the states of the embeddings and of each block, "last" for the last.
    """

    run: RunDirectory
    layers: FeatureLayers

    @property
    def config(self) -> FeatureConfig:
        """How many layers and features a word's states have.

        Raises:
            FileNotFoundError: The directory holds no finished run.
            ValueError: The run's model itself reads features of others.
        """
        self.run.check_finished()
        try:
            return feature_config(self.run.load_config(), self.layers)
        except ValueError as error:
            raise ValueError(f"{self.run.path}: {error}") from error

    @cached_property
    def states(self) -> "WordStates":
        """Reads words."""
        from keras_transformer.features.word_states import WordStates
        from keras_transformer.runs.finished_run import load_run

        model, tokenizer, _ = load_run(self.run.path)
        return WordStates(model, tokenizer, self.layers)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all that decides the states of words, in hexadecimal digits."""
        found = hashlib.sha256(self.layers.encode())
        for content in (self.run.model.read_bytes(), self.run.load_tokenizers()[0].model):
            found.update(hashlib.sha256(content).digest())
        return found.hexdigest()

    def stored(self, texts: Words, directory: Path) -> npt.NDArray[np.float16]:
        """Returns the states of all words, `(words, layers, width)`, which are kept on disk.

        Args:
            texts: The words of each text.
            directory: The run that reads them as features.

        Raises:
            OSError: A file cannot be written.
            ValueError: A file is damaged.
        """
        words = "\n".join(map(" ".join, texts)).encode()
        key = hashlib.sha256(self.digest.encode() + words).hexdigest()
        path = directory / FEATURES / f"{key[:32]}.states"
        return stored_states(path, texts, self.config, lambda some: self.states.read(some))

    def copy_to(self, directory: Path, number: int) -> None:
        """Copies what reads words into the run of which these are the features of a number."""
        place = RunDirectory(directory / FEATURES / str(number))
        place.path.mkdir(parents=True, exist_ok=True)
        place.save_config(self.run.load_config())
        place.save_tokenizers(*self.run.load_tokenizers())
        with whole_file(place.model, self.run.model.stat().st_size) as partial:
            shutil.copyfile(self.run.model, partial)


class RunFeatures:
    """Reads the words of texts with the models that a run has as features.

    Args:
        directory: The run.

    Raises:
        FileNotFoundError: A model's copy is missing.
        ValueError: The run's model reads no features.

    Example:
        `TextEncoder.from_run("runs/elmo", features=RunFeatures("runs/elmo"))`
    """

    def __init__(self, directory: str | Path) -> None:
        config = RunDirectory(Path(directory)).load_config()
        if not isinstance(config, EncoderConfig) or not config.features:
            raise ValueError(f"the model of {directory} reads no features of other runs.")
        self._runs = [
            FeatureRun(
                RunDirectory(Path(directory) / FEATURES / str(number)),
                "all" if one.num_layers > 1 else "last",
            )
            for number, one in enumerate(config.features)
        ]
        for run, wanted in zip(self._runs, config.features, strict=True):
            if run.config != wanted:
                raise ValueError(
                    f"{run.run.path} gives {run.config}, where the model of {directory} reads "
                    f"{wanted}: put back the run that it was trained with."
                )

    def read(self, texts: Sequence[Sequence[str]]) -> list[tuple[npt.NDArray[np.float32], ...]]:
        """Returns the states of the words of each text, `(words, layers, width)` for each run."""
        of_runs = [run.states.read(texts) for run in self._runs]
        return [tuple(one.astype(np.float32) for one in row) for row in zip(*of_runs, strict=True)]
