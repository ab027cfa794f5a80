"""The interface of an engine for encoders, from rows of ids to states or to what the head makes of
them. What reads texts knows nothing else of models, graphs and batches.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from keras_transformer.config.encoder_only import EncoderConfig

Array = npt.NDArray[np.float32]


class Row(NamedTuple):
    """One text, or a pair of texts, as an encoder reads it.

    Attributes:
        token_ids: Ids, special ones included.
        token_type_ids: Type of each token.
        features: Of each model whose states are features float32 `(length, layers, width)`.
    """

    token_ids: Sequence[int]
    token_type_ids: Sequence[int]
    features: tuple[Array, ...] = ()


class WordFeatures(Protocol):
    """Reads words with other models, whose states are features."""

    def read(self, texts: Sequence[Sequence[str]]) -> list[tuple[Array, ...]]:
        """Returns the states of the words of each text, `(words, layers, width)` for each model.

        Args:
            texts: The words of each text.
        """
        ...


class TagPath(NamedTuple):
    """The tags of a text's words.

    Attributes:
        tags: int32 `(words,)`, their numbers.
        probabilities: float32 `(words, labels)`, of every tag of each word.
    """

    tags: npt.NDArray[np.int32]
    probabilities: Array

    def cut(self, words: int) -> "TagPath":
        """Returns the tags of the first words."""
        return TagPath(self.tags[:words], self.probabilities[:words])


def padded_states(rows: Sequence[Array]) -> Array:
    """Returns rows `(length, ...)`, such as logits or states, as one array, zeros behind each."""
    padded = np.zeros((len(rows), max(map(len, rows)), *rows[0].shape[1:]), np.float32)
    for line, row in zip(padded, rows, strict=True):
        line[: len(row)] = row
    return padded


class EncoderEngine(Protocol):
    """Runs an encoder on rows, in any number and order."""

    @property
    def config(self) -> EncoderConfig:
        """The model's config."""
        ...

    def states(self, rows: Sequence[Row]) -> list[Array]:
        """Returns the encoder's states of each row: float32 `(length, model_dim)`.

        Raises:
            ValueError: A row does not fit the model.
        """
        ...

    def head(self, rows: Sequence[Row], places: Sequence[Sequence[int]] | None = None) -> list:
        """Returns what the model's head makes of each row.

        Args:
            rows: The rows.
            places: For heads that fill in masks the places of each row that logits are wanted of.

        Returns:
            float32, by the head: "masked_lm" and "pretraining" logits `(places, vocab_size)`;
            "classification" logits `(labels,)`; "tagging" logits `(length, labels)`; "spans"
            logits `(length, 2)`; "regression" `(1,)`; "embedding" `(vector_dim,)`; None, with a
            pooler, its vector `(model_dim,)`.

        Raises:
            ValueError: A row does not fit the model.
        """
        ...

    def tag_paths(self, logits: Sequence[Array]) -> list[TagPath]:
        """Returns the best tags of texts by a model with `crf`, found together.

        Args:
            logits: The head's, of the first token of each word of a text: float32
                `(words, labels)`, with one word or more.
        """
        ...

    def next_sentence(self, rows: Sequence[Row]) -> list[Array]:
        """Returns logits over `NEXT_SENTENCE_LABELS` of each pair: float32 `(2,)`.

        Raises:
            ValueError: A row does not fit the model, or its head is not "pretraining".
        """
        ...
