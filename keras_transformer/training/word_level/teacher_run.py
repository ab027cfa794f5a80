"""The run whose distributions a student learns from, checked to read the same ids."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from keras_transformer.config import TransformerConfig
from keras_transformer.models.files.model_file import load_model_file
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.text.tokenizer_files import Tokenizers
from keras_transformer.training.run.options import TrainOptions
from keras_transformer.training.run.starting_point import run_digest
from keras_transformer.training.word_level.training_model import Teacher

# What decides the ids that a model reads and the distributions that it gives.
_IDS = ("source_vocab_size", "target_vocab_size", "special_ids", "marks")


@dataclass(frozen=True)
class WordLevel:
    """Word-level distillation.

    Attributes:
        run: The teacher's finished run.
        share: Share of the loss that the teacher's distributions have.
    """

    run: RunDirectory
    share: float

    @classmethod
    def open(cls, run: str | os.PathLike[str], share: float) -> "WordLevel":
        """Checks the teacher.

        Args:
            run: Directory of a finished run of translation.
            share: In (0, 1].

        Raises:
            FileNotFoundError: The directory holds no finished run.
            ValueError: It is of another task, or the share is out of range.
        """
        if not 0 < share <= 1:
            raise ValueError(f"word_level must lie in (0, 1], got {share}.")
        place = RunDirectory(Path(run))
        place.check_finished()
        if not isinstance(place.load_config(), TransformerConfig):
            raise ValueError(f"the teacher must be a run of translation, and {run} is not.")
        return cls(place, share)

    def check(
        self, config: TransformerConfig, tokenizers: Tokenizers | None, options: TrainOptions
    ) -> None:
        """Raises `ValueError` if a student cannot learn from the teacher.

        Args:
            config: The student's.
            tokenizers: Those that it starts from.
            options: How it is trained.
        """
        theirs: Any = self.run.load_config()
        different = [name for name in _IDS if getattr(config, name) != getattr(theirs, name)]
        own = None if tokenizers is None else [one.model for one in tokenizers]
        if different or own != [one.model for one in self.run.load_tokenizers()]:
            reason = f" ({', '.join(different)} differ)" if different else ""
            raise ValueError(
                "word_level compares distributions over the same ids, but the student has another "
                f"vocabulary than {self.run.path}{reason}: start from the teacher's tokenizers, or "
                "leave word_level out."
            )
        options.check_word_level()

    def record(self) -> dict[str, Any]:
        """Returns the entry in `training.json` on the start; a resumed run must have the same."""
        return {"teacher_sha256": run_digest(self.run), "word_level": self.share}

    def teacher(self) -> Teacher:
        """Loads the teacher's model."""
        return Teacher(load_model_file(self.run.model, compile=False), self.share)
