"""Words added to the vocabulary of a finished run, as a new run whose model gives the same logits
as before for all ids that there were.
"""

import dataclasses
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_transformer.models.families import AnyModel, build_model
from keras_transformer.runs.finished_run import load_run, write_finished_run
from keras_transformer.runs.run_directory import IMPORTED, SEARCH, TRAINING_TEXT, RunDirectory
from keras_transformer.text.added_pieces import new_words, with_words
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.whole_files import check_output

# The entry in `training.json` of a run that came about so.
UPDATED = "updated_vocabulary"
# Weights of the source side alone; all others that depend on a vocabulary are the target's.
_SOURCE = "source_embeddings/"


@dataclasses.dataclass(frozen=True)
class Growth:
    """The growth of a vocabulary.

    Attributes:
        before: The tokenizer as it was.
        after: The tokenizer with more ids.
        words: What the new ids stand for, in order.
    """

    before: Tokenizer
    after: Tokenizer
    words: Sequence[str]

    @classmethod
    def by(cls, before: Tokenizer, words: Sequence[str]) -> "Growth":
        """Adds those words to a tokenizer that are new; errors are those of `new_words`."""
        new = new_words(before, words) if words else ()
        return cls(before, with_words(before, new) if new else before, new)

    def widened(self, values: npt.NDArray[Any], axis: int) -> npt.NDArray[Any]:
        """Returns a weight with one more slice along an axis for each word.

        It is the mean of those of the tokens that stood for the word before.
        """
        rows = np.moveaxis(values, axis, 0)
        added = [rows[ids].mean(axis=0) for ids in self.before.encode(self.words)]
        return np.moveaxis(np.concatenate([rows, np.stack(added)]), 0, axis)


def update_vocabulary(
    run: str | os.PathLike[str],
    output: str | os.PathLike[str],
    words: Sequence[str],
    target_words: Sequence[str] = (),
) -> Path:
    """Writes a run whose vocabulary has more words, to be fine-tuned on texts that have them.

    Args:
        run: Directory of a finished run of any family.
        output: The run directory to write.
        words: Words to add, to the source's vocabulary if there are two. Those that are tokens
            already are left out.
        target_words: Words to add to the target's vocabulary, if there are two.

    Returns:
        `output`.

    Raises:
        FileExistsError: `output` holds something.
        FileNotFoundError: The run is missing or has not finished.
        ValueError: A word cannot be added, or none is new, or the run has one vocabulary and
            `target_words` are given, or the model has cutoffs.
    """
    place, begun = RunDirectory(Path(output)), RunDirectory(Path(run))
    check_output(place.path, is_directory=True)
    if place.path.exists() and any(place.path.iterdir()):
        raise FileExistsError(f"{place.path} is not empty: name another output.")
    model, source_tokenizer, target_tokenizer = load_run(run)
    is_joint = source_tokenizer is target_tokenizer
    if is_joint and target_words:
        raise ValueError(f"{begun.path} has one vocabulary: give all words as words.")
    if not words and not target_words:
        raise ValueError("there is no word to add: give at least one.")
    source = Growth.by(source_tokenizer, words)
    target = source if is_joint else Growth.by(target_tokenizer, target_words)
    new = {"words": list(source.words), "target_words": [] if is_joint else list(target.words)}
    added = sum(map(len, new.values()))
    known = len(words) + len(target_words) - added
    if not added:
        raise ValueError(f"there is nothing to add: all words ({known}) are tokens already.")
    grown = grow(model, source, target)
    record = begun.load_training() if begun.has_training else {}
    kept = {name: record[name] for name in (IMPORTED, SEARCH, TRAINING_TEXT) if name in record}
    record = {**kept, UPDATED: {"run": str(begun.path), **new}}
    write_finished_run(place, grown, (source.after, target.after), record)
    print(f"words added: {added}; tokens already: {known}")
    return place.path


def grow(model: AnyModel, source: Growth, target: Growth) -> AnyModel:
    """Returns a model with the weights of another one and room for more ids.

    Args:
        model: The model.
        source: How the source's vocabulary, or the only one, grows.
        target: How the target's grows; the same object if there is one.
    """
    config: Any = model.config
    if getattr(config, "cutoffs", ()):
        raise ValueError(
            f"the model divides its ids by frequency, at cutoffs {config.cutoffs}: words that are "
            "added, whose ids come last, need a model without cutoffs."
        )
    if getattr(config, "character_dim", None) is not None:
        raise ValueError("words cannot be added to a model with character_dim yet: train it anew.")
    sizes = {"vocab_size": source.after.vocab_size}
    if hasattr(config, "source_vocab_size"):
        sizes = {
            "source_vocab_size": source.after.vocab_size,
            "target_vocab_size": target.after.vocab_size,
        }
    grown = build_model(dataclasses.replace(config, **sizes))
    grown.set_weights(list(_weights(model, grown, source, target)))
    return grown


def _weights(
    model: AnyModel, grown: AnyModel, source: Growth, target: Growth
) -> Iterator[npt.NDArray[Any]]:
    for before, after in zip(model.weights, grown.weights, strict=True):
        values = np.asarray(before)
        if before.shape == after.shape:
            yield values
            continue
        [axis] = [
            axis
            for axis, sizes in enumerate(zip(before.shape, after.shape, strict=True))
            if sizes[0] != sizes[1]
        ]
        growth = source if before.path.startswith(_SOURCE) else target
        yield growth.widened(values, axis)
