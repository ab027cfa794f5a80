"""The record of a prepared corpus: what its shards hold and what they were made from, as JSON.

It is written last, so a directory with a record is complete.
"""

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from keras_transformer.data.batching.plan import count_batches
from keras_transformer.data.encoding.id_pairs import FilterReport
from keras_transformer.text.training_text import TrainingText
from keras_transformer.whole_files import write_text

RECORD = "manifest.json"
_FORMAT = 1
# What `made_from` of single texts holds.
SINGLE = "single_texts"


@dataclass(frozen=True)
class Shard:
    """The description of a shard.

    Attributes:
        file: Its name in the directory.
        bytes: Its size.
        sha256: Of the file.
        pairs: Number of pairs.
        source_tokens: Ids on the source side, eos counted.
        target_tokens: Ids on the target side, bos counted and eos not.
        longest: The distinct lengths in tokens of the pairs' longer sides, ascending.
        counts: Number of pairs of each of these lengths.
        longest_source: Number of ids of the longest source side, eos counted; None if an earlier
            version wrote the shard.
    """

    file: str
    bytes: int
    sha256: str
    pairs: int
    source_tokens: int
    target_tokens: int
    longest: tuple[int, ...]
    counts: tuple[int, ...]
    longest_source: int | None = None

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "Shard":
        """Builds a shard from the result of `dataclasses.asdict`, read from JSON."""
        lists = {name: tuple(content[name]) for name in ("longest", "counts")}
        return cls(**{**content, **lists})

    def num_batches(self, batch_tokens: int, added: int = 0) -> int:
        """Returns the number of batches that the shard is cut into.

        Args:
            batch_tokens: As in `cut_batches`.
            added: Ids that each row gets when it is read.
        """
        longest = np.asarray(self.longest) + added
        return count_batches(longest, np.asarray(self.counts), batch_tokens)


@dataclass(frozen=True)
class Split:
    """The shards of the training or the validation pairs, and what was dropped."""

    report: FilterReport
    shards: tuple[Shard, ...]


@dataclass(frozen=True)
class CorpusRecord:
    """All of a prepared corpus except its ids.

    Attributes:
        made_from: Settings and hashes of the text; equal ones give equal shards.
        tokenizers: Name and SHA-256 of the model files: one if both sides share it, or source and
            target.
        train: The training pairs.
        valid: The validation pairs, or None.
        training_text: Describes the training lines; None if an earlier version prepared them.
    """

    made_from: dict[str, Any]
    tokenizers: dict[str, str]
    train: Split
    valid: Split | None
    training_text: TrainingText | None = None

    @property
    def is_single(self) -> bool:
        """Whether the corpus holds single texts instead of pairs."""
        return SINGLE in self.made_from

    def save(self, directory: Path) -> None:
        """Writes the file that makes the directory complete."""
        text = json.dumps({"format": _FORMAT, **dataclasses.asdict(self)}, indent=1) + "\n"
        write_text(directory / RECORD, text)

    @classmethod
    def load(cls, directory: Path) -> "CorpusRecord":
        """Reads the record of a directory.

        Raises:
            FileNotFoundError: There is no record: no preparation was started or finished there.
            ValueError: The file is not a record, or has a format that this version cannot read.
        """
        path = directory / RECORD
        if not path.is_file():
            raise FileNotFoundError(
                f"{path} is missing: {directory} is not a prepared corpus, or `keras-transformer "
                "prepare` has not finished; run it again."
            )
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            found = content.pop("format")
            if found != _FORMAT:
                raise ValueError(f"format {found}, expected {_FORMAT}")
            train, valid = (_split(content.pop(name)) for name in ("train", "valid"))
            text = content.pop("training_text", None)
            content["training_text"] = text and TrainingText.from_dict(text)
            return cls(**content, train=train, valid=valid)  # type: ignore[arg-type]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                f"{path} cannot be read ({error}): prepare the corpus again."
            ) from error


def _split(content: dict[str, Any] | None) -> Split | None:
    if content is None:
        return None
    return Split(FilterReport(**content["report"]), tuple(map(Shard.from_dict, content["shards"])))
