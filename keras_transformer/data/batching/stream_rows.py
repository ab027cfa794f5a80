"""Batches of a stream of texts: its rows stand side by side, and a batch holds the next segment of
each.
"""

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from keras_transformer.data.batching.assembly import PARALLEL_CALLS, in_order
from keras_transformer.data.batching.reading import ONE_WORKER, BatchReader, Place, reader_of
from keras_transformer.data.encoding.stream import EncodedStream


@reader_of.register(EncodedStream)
class StreamReader(BatchReader):
    """Reads `EncodedStream`.

    Args:
        stream: The stream.
    """

    def __init__(self, stream: EncodedStream) -> None:
        self.stream = stream

    def per_epoch(self, batch_tokens: int, workers: int) -> int:
        """As `batches_per_epoch`: the segments of a row."""
        return -(-self._row_length(batch_tokens) // self.stream.segment_length)

    def training(self, place: Place) -> tf.data.Dataset:
        """As `training_batches`, but in the order of the stream: nothing is drawn.

        Inputs have `goes_on`, int32 (B,): 0 in the first batch of an epoch, at which rows begin
        again, else 1.

        Raises:
            ValueError: Several workers read, which would each remember parts of rows.
        """
        if place.worker != ONE_WORKER:
            raise ValueError(
                "a stream is read by one worker, whose rows go on from batch to batch, got "
                f"{place.worker[1]} workers: train with one, or with packing='documents'."
            )
        numbers = tf.data.Dataset.range(place.step, np.iinfo(np.int64).max)
        endless = tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY)
        return self._batches(numbers, place.batch_tokens).apply(endless)

    def evaluation(self, batch_tokens: int) -> tf.data.Dataset:
        """As `evaluation_batches`, in the same order."""
        count = self.per_epoch(batch_tokens, 1)
        return self._batches(tf.data.Dataset.range(count), batch_tokens)

    def lines(self, place: Place) -> npt.NDArray[np.int64]:
        """As `batch_pairs`: the lines of the batch's tokens."""
        width, count = self._row_length(place.batch_tokens), len(self.stream.owners)
        first = place.step % self.per_epoch(place.batch_tokens, 1) * self.stream.segment_length
        within = np.arange(first, min(first + self.stream.segment_length, width))
        rows = np.arange(self.stream.rows(place.batch_tokens))
        places = (rows[:, None] * width + within).ravel()
        return np.unique(self.stream.owners[places[places < count]])

    def _row_length(self, batch_tokens: int) -> int:
        """Returns the tokens of a row: the last rows may have fewer."""
        return -(-len(self.stream.owners) // self.stream.rows(batch_tokens))

    def _batches(self, numbers: tf.data.Dataset, batch_tokens: int) -> tf.data.Dataset:
        """Maps the numbers of batches in the run to batches."""
        stream, rows = self.stream, self.stream.rows(batch_tokens)
        width, count = self._row_length(batch_tokens), self.per_epoch(batch_tokens, 1)
        length, pad = stream.segment_length, stream.special_ids.pad
        # Every row is read with the token after it: the next row's first is this one's last label.
        ends = rows * width + 1 - len(stream.token_ids)
        with tf.device("CPU:0"):
            ids = tf.constant(np.pad(stream.token_ids, (0, ends), constant_values=pad))
            begins = tf.range(rows, dtype=tf.int64) * width

        def batch(number: tf.Tensor) -> tuple:
            segment = number % count
            first = segment * length
            within = first + tf.range(length + 1, dtype=tf.int64)
            read = tf.gather(ids, begins[:, None] + tf.minimum(within, width)[None])
            # Beyond its end a row has neither tokens nor labels.
            labels = tf.where(within[None, 1:] <= width, read[:, 1:], pad)
            is_label = labels != pad
            inputs = {
                "token_ids": tf.where(is_label, read[:, :-1], pad),
                "goes_on": tf.fill([rows], tf.cast(segment > 0, tf.int32)),
            }
            return inputs, labels, tf.cast(is_label, tf.float32)

        return in_order(numbers.map(batch, num_parallel_calls=PARALLEL_CALLS))
