"""Batches of single texts in memory: rows of nearly equal length together, then what their
objective makes of them.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.data.batching.assembly import PARALLEL_CALLS, in_order, worker_share
from keras_transformer.data.batching.in_memory import PlannedReader
from keras_transformer.data.batching.plan import Plan, cut_batches
from keras_transformer.data.batching.reading import ONE_WORKER, reader_of
from keras_transformer.data.encoding.encode import NO_WORD
from keras_transformer.data.encoding.single_texts import EncodedTexts
from keras_transformer.data.objectives.labels import NO_TAG
from keras_transformer.data.objectives.objective import Rows


@reader_of.register(EncodedTexts)
class TextReader(PlannedReader):
    """Reads `EncodedTexts`; a batch is drawn by the run's seed and its number in the run.

    Args:
        texts: The rows.
    """

    def __init__(self, texts: EncodedTexts) -> None:
        super().__init__(texts.line_numbers)
        self.texts = texts

    def plan(self, batch_tokens: int) -> Plan:
        """Plans the batches; raises `ValueError` if a row fits into none."""
        lengths = self.texts.lengths
        if lengths.max() > batch_tokens:
            row = int(lengths.argmax())
            raise ValueError(
                f"batch_tokens={batch_tokens} cannot hold text "
                f"{int(self.texts.line_numbers[row])}, which has {int(lengths[row])} tokens; raise "
                "batch_tokens or lower max_length"
            )
        return cut_batches(lengths, lengths, batch_tokens)

    def batches(
        self, numbered: tf.data.Dataset, seed: int, worker: tuple[int, int]
    ) -> tf.data.Dataset:
        """Maps (batch number, row numbers (B,)) to batches, in parallel and in order."""
        objective = self.texts.objective
        with tf.device("CPU:0"):
            read = self._reading()

        def batch(number: tf.Tensor, rows: tf.Tensor) -> tuple:
            drawn = tf.stack([tf.constant(seed, tf.int64), number])
            whole = objective(read(rows, drawn), drawn)
            return whole if worker == ONE_WORKER else _share(whole, tf.size(rows), worker)

        return in_order(numbered.map(batch, num_parallel_calls=PARALLEL_CALLS))

    def _reading(self) -> Callable[[tf.Tensor, tf.Tensor], Rows]:
        """Returns what takes row numbers (B,) and a seed and returns rows; makes its tables."""
        texts = self.texts
        ids = tf.RaggedTensor.from_row_splits(texts.rows.values, texts.rows.offsets, validate=False)
        second_starts = tf.constant(texts.second_starts)
        classes = tf.constant(texts.classes)
        tags = words = None
        if texts.token_classes is not None:
            tags = ids.with_flat_values(tf.constant(texts.token_classes))
        if texts.features:
            words = ids.with_flat_values(tf.constant(texts.token_words))

        def read(rows: tf.Tensor, seed: tf.Tensor) -> Rows:
            del seed
            token_tags = None
            if tags is not None:
                token_tags = tf.gather(tags, rows).to_tensor(default_value=NO_TAG)
            found = padded_rows(
                tf.gather(ids, rows),
                tf.gather(second_starts, rows),
                tf.gather(classes, rows),
                texts.special_ids,
                token_tags,
            )
            if words is None:
                return found
            numbers = tf.gather(words, rows).to_tensor(default_value=NO_WORD)
            read = (_features_of(table, numbers) for table in texts.features)
            return found._replace(features=tuple(read))

        return read


def _features_of(table: npt.NDArray[np.float16], words: tf.Tensor) -> tf.Tensor:
    """Returns the states of words `(B, L)` as float32 `(B, L, layers, width)`, from disk."""

    def read(words: npt.NDArray[np.int32]) -> npt.NDArray[np.float32]:
        states = table[np.maximum(words, 0)].astype(np.float32)
        return np.where((words != NO_WORD)[..., None, None], states, np.float32(0))

    states = tf.numpy_function(read, [words], tf.float32, stateful=False)
    return tf.ensure_shape(states, (None, None, *table.shape[1:]))


def padded_rows(
    ids: tf.RaggedTensor,
    second_starts: tf.Tensor,
    classes: tf.Tensor,
    special_ids: SpecialIds,
    token_classes: tf.Tensor | None = None,
) -> Rows:
    """Returns rows with their token types.

    Args:
        ids: Ragged int32 (B, L).
        second_starts: Where each row's second text begins: int64 (B,).
        classes: The number of each row's label: int32 (B,).
        special_ids: Those of the vocabulary.
        token_classes: The numbers of the tags, padded.
    """
    token_ids = ids.to_tensor(default_value=special_ids.pad)
    width = tf.shape(token_ids, tf.int64)[1]
    is_second = (tf.range(width) >= second_starts[:, None]) & (token_ids != special_ids.pad)
    types = tf.cast(is_second, tf.int32)
    if special_ids.cls is not None:
        types = tf.where(token_ids == special_ids.cls, 2, types)
    return Rows(token_ids, types, classes, token_classes)


def _share(whole: tuple, count: tf.Tensor, worker: tuple[int, int]) -> tuple:
    """Returns one worker's rows of a batch that was drawn as a whole."""
    share, weight = worker_share(tf.range(tf.cast(count, tf.int64)), worker)
    inputs, labels, weights = tf.nest.map_structure(lambda part: tf.gather(part, share), whole)
    return inputs, labels, weights * weight
