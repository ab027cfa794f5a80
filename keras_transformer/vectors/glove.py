"""GloVe (Pennington et al. 2014): vectors whose products are logarithms of co-occurrences."""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import keras
import numpy as np
from keras import ops

from keras_transformer.serializable import PACKAGE

# Equation 9, and the figures of section 4.2.
_LARGEST_COUNT = 100.0
_EXPONENT = 0.75
_LEARNING_RATE = 0.05
_PAIRS_OF_A_BATCH = 4096
# Words that are counted at once: 16 bytes for each and each distance.
_WORDS_OF_A_BLOCK = 500_000


@dataclass(frozen=True)
class CoOccurrences:
    """How often words stand near each other, the cells that are not 0.

    Attributes:
        pairs: Numbers of both words, (cells, 2); each pair is there in both orders.
        counts: A sum of 1 / distance for each, (cells,).
    """

    pairs: np.ndarray
    counts: np.ndarray

    @classmethod
    def count(
        cls, sentences: Iterable[list[str]], numbers: Mapping[str, int], window: int
    ) -> "CoOccurrences":
        """Counts within sentences, in one pass and without keeping the text.

        Args:
            sentences: Lists of words; those without a number are passed over, as if they were not
                there.
            numbers: From 0 on, for each word.
            window: The largest distance.
        """
        keys: np.ndarray = np.zeros(0, np.int64)
        counts: np.ndarray = np.zeros(0)
        for ids in _blocks(sentences, numbers, window):
            found = [(keys, counts)]
            for distance in range(1, window + 1):
                left, right = ids[:-distance], ids[distance:]
                both = (left >= 0) & (right >= 0)
                left, right = left[both], right[both]
                near = np.concatenate([left * len(numbers) + right, right * len(numbers) + left])
                found.append((near, np.full(len(near), 1 / distance)))
            all_keys, all_counts = map(np.concatenate, zip(*found, strict=True))
            keys, places = np.unique(all_keys, return_inverse=True)
            counts = np.bincount(places, all_counts, len(keys))
        pairs = np.stack(np.divmod(keys, max(len(numbers), 1)), axis=1)
        return cls(pairs.astype(np.int32), counts)


def _blocks(
    sentences: Iterable[list[str]], numbers: Mapping[str, int], window: int
) -> Iterator[np.ndarray]:
    """Yields numbers of the words of many sentences, with gaps of -1 that no window spans."""
    gap = [-1] * window
    ids: list[int] = []
    for words in sentences:
        ids += itertools.chain((numbers[word] for word in words if word in numbers), gap)
        if len(ids) >= _WORDS_OF_A_BLOCK:
            yield np.array(ids, np.int64)
            ids = []
    if ids:
        yield np.array(ids, np.int64)


@keras.saving.register_keras_serializable(PACKAGE)
class GloVe(keras.Model):
    """Vectors and biases of words and of their surroundings.

    Takes pairs of words, (batch, 2), and returns what equation 8 compares with the logarithm of
    their co-occurrences, (batch, 1).

    Args:
        size: Number of words.
        dim: Numbers of a vector.
        seed: Of the first ones.
        **kwargs: Passed on to `keras.Model`.
    """

    def __init__(self, size: int, dim: int, seed: int = 0, **kwargs: object) -> None:
        super().__init__(**kwargs)
        self.size, self.dim, self.seed = size, dim, seed

        def table(width: int, place: int) -> keras.layers.Embedding:
            first = keras.initializers.RandomUniform(-0.5 / dim, 0.5 / dim, seed=seed + place)
            return keras.layers.Embedding(size, width, embeddings_initializer=first)

        self.vectors, self.contexts = table(dim, 0), table(dim, 1)
        self.biases, self.context_biases = table(1, 2), table(1, 3)

    def call(self, pairs: keras.KerasTensor) -> keras.KerasTensor:
        """Returns w_i · w̃_j + b_i + b̃_j."""
        word, context = pairs[:, 0], pairs[:, 1]
        product = ops.sum(self.vectors(word) * self.contexts(context), axis=-1, keepdims=True)
        return product + self.biases(word) + self.context_biases(context)

    def get_config(self) -> dict[str, object]:
        """Returns the arguments."""
        return {**super().get_config(), "size": self.size, "dim": self.dim, "seed": self.seed}

    def learn(self, found: CoOccurrences, epochs: int) -> list[float]:
        """Fits the logarithms of the counts (equation 8) by AdaGrad; returns each epoch's loss.

        A cell weighs min(1, count / 100) ** 0.75.
        """
        self.compile(
            # An accumulator that begins at 1, as the authors' program has it.
            optimizer=keras.optimizers.Adagrad(_LEARNING_RATE, initial_accumulator_value=1.0),
            # Of the sum: the steps of a batch are those of its pairs one by one, but for what
            # they share.
            loss=keras.losses.MeanSquaredError(reduction="sum"),
        )
        keras.utils.set_random_seed(self.seed)
        logs = self.fit(
            found.pairs,
            np.log(found.counts).astype(np.float32)[:, None],
            sample_weight=weights(found.counts).astype(np.float32),
            # AdaGrad writes all rows at each step, so that more words need larger batches.
            batch_size=max(_PAIRS_OF_A_BATCH, self.size // 2),
            epochs=epochs,
            verbose=0,
        )
        return logs.history["loss"]

    def word_vectors(self) -> np.ndarray:
        """Returns w + w̃ of each word, (words, dim)."""
        return np.array(self.vectors.embeddings) + np.array(self.contexts.embeddings)


def weights(counts: np.ndarray) -> np.ndarray:
    """Returns how much a cell counts (equation 9)."""
    return np.minimum(1.0, counts / _LARGEST_COUNT) ** _EXPONENT
