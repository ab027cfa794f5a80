"""Batches of single texts in shards on disk: rows read as pairs are, then what their objective
makes of them.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

import tensorflow as tf

from keras_transformer.data.batching.assembly import PARALLEL_CALLS, in_order
from keras_transformer.data.batching.in_memory import VALIDATION_SEED
from keras_transformer.data.batching.reading import Place, reader_of
from keras_transformer.data.encoding.id_pairs import TextReport
from keras_transformer.data.objectives.objective import Objective, Rows
from keras_transformer.data.prepared.batches import ShardedPairs, ShardReader
from keras_transformer.data.prepared.shards import ShardTable


@dataclass(frozen=True)
class ShardedTexts(ShardedPairs):
    """Texts on disk, which batching takes like `EncodedTexts`.

    Attributes:
        begin: The id before each text; None for none.
        objective: Makes batches of the rows.
    """

    # The id before each text, which shards do not hold.
    added: ClassVar[int] = 1

    begin: int | None
    objective: Objective

    @property
    def report(self) -> TextReport:
        """The report of the texts dropped when the corpus was prepared."""
        return TextReport(**dataclasses.asdict(self.split.report))


@reader_of.register(ShardedTexts)
class ShardedTextReader(ShardReader):
    """Reads `ShardedTexts`.

    Args:
        pairs: The texts.
    """

    pairs: ShardedTexts

    def training(self, place: Place) -> tf.data.Dataset:
        """As `training_batches`; a batch is drawn by the run's seed and its number in the run."""
        index, count = place.worker
        numbered = super().training(place).enumerate(place.step)
        return in_order(
            numbered.map(
                lambda number, rows: self._batch(rows, place.seed, number * count + index),
                num_parallel_calls=PARALLEL_CALLS,
            )
        )

    def evaluation(self, batch_tokens: int) -> tf.data.Dataset:
        """As `evaluation_batches`; every call draws the same."""
        numbered = super().evaluation(batch_tokens).enumerate()
        return in_order(
            numbered.map(lambda number, rows: self._batch(rows, VALIDATION_SEED, number))
        )

    def element(self, table: ShardTable, rows: tf.Tensor, weight: tf.Tensor) -> Any:
        """Returns padded rows and their weight."""
        ids = tf.gather(table.source, rows).to_tensor(default_value=self.pairs.pad)
        if self.pairs.begin is not None:
            ids = tf.pad(ids, [[0, 0], [1, 0]], constant_values=self.pairs.begin)
        return ids, weight

    def _batch(self, rows: tuple[tf.Tensor, tf.Tensor], seed: int, number: tf.Tensor) -> Any:
        token_ids, weight = rows
        none = tf.zeros_like(token_ids)
        drawn = tf.stack([tf.constant(seed, tf.int64), number])
        inputs, labels, weights = self.pairs.objective(Rows(token_ids, none, none[:, 0]), drawn)
        return inputs, labels, weights * weight
