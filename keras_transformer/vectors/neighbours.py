"""Words that are near each other: neighbours, analogies, and a plane that shows them."""

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from keras_transformer.config.checks import check_choice, check_size
from keras_transformer.suggestions import did_you_mean
from keras_transformer.vectors.files import VectorFile

Distance: TypeAlias = Literal["cosine", "poincare"]


class WordVectors:
    """Vectors of words that can be compared.

    Args:
        file: Where they stand.
        distance: "cosine", or that of vectors trained by "poincare" (Nickel and Kiela 2017,
            equation 1).
    """

    def __init__(self, file: VectorFile, distance: Distance = "cosine") -> None:
        check_choice("distance", distance, get_args(Distance))
        self._vectors: Any = file.load()
        self._distance = distance
        # Behind them a model of fastText may have other rows.
        self._rows = self._vectors.vectors[: len(self._vectors.index_to_key)]
        self._squares = _squares(self._rows)
        if distance == "poincare" and (self._squares >= 1).any():
            raise ValueError(
                f"{file.path} has vectors of length 1 or more, which Poincaré embeddings never "
                "have: leave distance out."
            )

    @property
    def words(self) -> list[str]:
        """All words, as the file orders them: most trainers write frequent ones first."""
        return list(self._vectors.index_to_key)

    def __getitem__(self, word: str) -> np.ndarray:
        """Returns a word's vector, (dim,); in a model of fastText also that of an unknown word.

        Raises:
            ValueError: There is none.
        """
        if word not in self._vectors:
            hint = did_you_mean(word, self._vectors.key_to_index) or "."
            raise ValueError(f"there is no vector of {word!r}{hint}")
        return np.asarray(self._vectors[word], np.float64)

    def neighbours(self, word: str, count: int = 10) -> list[tuple[str, float]]:
        """Returns the nearest other words, nearest first, each with its similarity or distance."""
        return self._nearest(self[word], count, without=[word])

    def analogy(self, a: str, b: str, c: str, count: int = 10) -> list[tuple[str, float]]:
        """Returns what is to c as b is to a, best first (Mikolov et al. 2013; Levy and Goldberg
        2014, equation 3: of vectors of length 1).

        Raises:
            ValueError: A word has no vector, or the distance is not the cosine.
        """
        if self._distance != "cosine":
            raise ValueError("analogies need the cosine: leave distance out.")
        first, second, third = (_unit(self[word]) for word in (a, b, c))
        return self._nearest(second - first + third, count, without=[a, b, c])

    def plane(self, words: Sequence[str]) -> np.ndarray:
        """Returns the two principal components of words' vectors, (words, 2).

        Vectors of two numbers are returned as they are.
        """
        vectors = np.stack([self[word] for word in words])
        if vectors.shape[1] == 2:
            return vectors
        if self._distance == "cosine":
            vectors = np.stack([_unit(vector) for vector in vectors])
        centred = vectors - vectors.mean(axis=0)
        left, lengths, _ = np.linalg.svd(centred, full_matrices=False)
        points = np.zeros((len(words), 2))
        points[:, : len(lengths)] = (left * lengths)[:, :2]
        return points

    def _nearest(
        self, vector: np.ndarray, count: int, without: Sequence[str]
    ) -> list[tuple[str, float]]:
        check_size("count", count)
        rows, squares = self._rows, self._squares
        if self._distance == "cosine":
            lengths = np.sqrt(squares) * np.linalg.norm(vector)
            values = rows @ vector / np.maximum(lengths, np.finfo(np.float32).tiny)
            order = np.argsort(-values, kind="stable")
        else:
            between = 2 * _squares(rows - vector) / ((1 - squares) * (1 - vector @ vector))
            values = np.arccosh(1 + between)
            order = np.argsort(values, kind="stable")
        found = ((self._vectors.index_to_key[place], float(values[place])) for place in order)
        return [one for one, _ in zip(_other(found, without), range(count), strict=False)]


def _other(found: Any, without: Sequence[str]) -> Any:
    return (one for one in found if one[0] not in without)


def _squares(rows: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", rows, rows, dtype=np.float64)


def _unit(vector: np.ndarray) -> np.ndarray:
    return vector / max(float(np.linalg.norm(vector)), np.finfo(np.float32).tiny)
