"""Padded batches of encoded pairs: grouped by length, shuffled by seed, resumable at any step.

The pipeline's elements are `({"source_ids", "target_ids"}, labels, sample_weight)` for `model.fit`.
Each kind of pairs has a reader of its own: `in_memory.py` and, for pairs on disk,
`prepared/batches.py`.
"""

import numpy as np
import numpy.typing as npt
import tensorflow as tf

# The readers register themselves.
import keras_transformer.data.batching.sentence_pair_rows
import keras_transformer.data.batching.stream_rows
import keras_transformer.data.batching.text_rows  # noqa: F401
from keras_transformer.data.batching.in_memory import plan_pairs
from keras_transformer.data.batching.reading import ONE_WORKER, Place, reader_of
from keras_transformer.data.encoding.id_pairs import EncodedPairs

# The functions of a pipeline are plain TensorFlow: AutoGraph would only slow down making it.
_unconverted = tf.autograph.experimental.do_not_convert


def batches_per_epoch(pairs: object, batch_tokens: int, workers: int = 1) -> int:
    """Returns the number of steps in every epoch of `training_batches`, for each worker.

    Args:
        pairs: As in `training_batches`.
        batch_tokens: As in `training_batches`.
        workers: Number of workers that train together; has no effect for pairs in memory.
    """
    return reader_of(pairs).per_epoch(batch_tokens, workers)


def training_batches(
    pairs: object,
    batch_tokens: int,
    seed: int,
    start_step: int = 0,
    worker: tuple[int, int] = ONE_WORKER,
) -> tf.data.Dataset:
    """Returns endless batches that hold each pair exactly once per epoch.

    Args:
        pairs: `EncodedPairs`, or `ShardedPairs` of a prepared corpus.
        batch_tokens: The most padded tokens a batch may hold, counted as rows * the longer of
            the two padded lengths; all workers' shares together.
        seed: Decides, with the number of the epoch, all shuffling.
        start_step: Number of batches to skip; the stream continues exactly as it would after that
            many batches.
        worker: (index, count) of the worker that takes its share of every batch. If no rows are
            left for it, it gets rows of weight 0.

    Returns:
        A data set of `({"source_ids": (B, S), "target_ids": (B, T)}, labels (B, T),
        sample_weight (B, T))`, ids int32, weights float32: 1.0 for labels, 0.0 on padding.
        `source_ids` end with eos, `target_ids` begin with bos, `labels` are the target shifted by
        one step, ending with eos.

    Raises:
        ValueError: A pair is longer than `batch_tokens`, `start_step` is negative, `worker`
            names no worker, or a shard is damaged.
    """
    place = Place(batch_tokens, seed, start_step, worker)
    return _unconverted(reader_of(pairs).training)(place)


def evaluation_batches(pairs: object, batch_tokens: int) -> tf.data.Dataset:
    """Returns batches that hold each pair once, in a fixed order; the data set knows its length.

    Arguments, elements and errors are those of `training_batches`.
    """
    return _unconverted(reader_of(pairs).evaluation)(batch_tokens)


def batch_pairs(
    pairs: object,
    batch_tokens: int,
    seed: int,
    step: int,
    worker: tuple[int, int] = ONE_WORKER,
) -> npt.NDArray[np.int64]:
    """Returns the line numbers, from 0, of the pairs in a training batch, for error messages.

    Args:
        pairs: As in `training_batches`.
        batch_tokens: As in `training_batches`.
        seed: As in `training_batches`.
        step: Number of updates before that batch.
        worker: As in `training_batches`, for the lines of its share.

    Returns:
        int64 (rows of the batch,), positions in the text that the pairs come from.
    """
    return _unconverted(reader_of(pairs).lines)(Place(batch_tokens, seed, step, worker))


def padding_fraction(encoded: EncodedPairs, batch_tokens: int) -> float:
    """Returns the share of padding in `source_ids` and `target_ids` of an epoch's batches.

    It is computed for the evaluation order; in training it differs by less than a percentage point.
    """
    plan = plan_pairs(encoded, batch_tokens)
    positions = 0
    rows = np.diff(plan.starts)
    for lengths in (encoded.source_lengths, encoded.target_lengths):
        positions += int((rows * np.maximum.reduceat(lengths[plan.order], plan.starts[:-1])).sum())
    tokens = int(encoded.source_lengths.sum() + encoded.target_lengths.sum())
    return 1.0 - tokens / positions
