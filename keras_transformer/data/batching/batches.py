"""Encoded pairs become padded batches: grouped by length, shuffled by seed, resumable by step.

Comes in: pairs and a budget of tokens a batch. Leaves: a tf.data pipeline of
`({"source_ids", "target_ids"}, labels, sample_weight)` as `model.fit` takes it. Each kind of pairs
has a reader of its own: `in_memory.py` and, for pairs on disk, `prepared/batches.py`.
"""

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from keras_transformer.data.batching.in_memory import plan_pairs
from keras_transformer.data.batching.reading import ONE_WORKER, Place, reader_of
from keras_transformer.data.encoding.id_pairs import EncodedPairs


def batches_per_epoch(pairs: object, batch_tokens: int, workers: int = 1) -> int:
    """Number of steps in every epoch of `training_batches`, for each worker.

    Args:
        pairs: as in `training_batches`.
        batch_tokens: as in `training_batches`.
        workers: number of workers that train together; in memory it changes nothing.
    """
    return reader_of(pairs).per_epoch(batch_tokens, workers)


def training_batches(
    pairs: object,
    batch_tokens: int,
    seed: int,
    start_step: int = 0,
    worker: tuple[int, int] = ONE_WORKER,
) -> tf.data.Dataset:
    """Endless batches; epoch after epoch, each pair exactly once an epoch.

    Args:
        pairs: the pairs: `EncodedPairs`, or `ShardedPairs` of a prepared corpus.
        batch_tokens: the most padded tokens a batch may hold, counted as rows * the longer of
            the two padded lengths; all workers' shares together.
        seed: decides, with the number of the epoch, all shuffling.
        start_step: number of batches to leave out: the stream goes on exactly as the unbroken
            one does after that many.
        worker: (index, count) of the worker that takes its share of every batch. Where there is
            none left for it, it gets something of weight 0.

    Returns:
        A data set of `({"source_ids": (B, S), "target_ids": (B, T)}, labels (B, T),
        sample_weight (B, T))`, ids int32, weights float32: 1.0 where a label stands, 0.0 on
        padding. `source_ids` end with eos, `target_ids` begin with bos, `labels` are the target
        one step on, eos last.

    Raises:
        ValueError: a pair is longer than `batch_tokens`, `start_step` is negative, `worker`
            names no worker, or a shard is damaged.
    """
    return reader_of(pairs).training(Place(batch_tokens, seed, start_step, worker))


def evaluation_batches(pairs: object, batch_tokens: int) -> tf.data.Dataset:
    """Each pair once, in an order that is always the same; the data set knows its length.

    Arguments, elements and errors are those of `training_batches`.
    """
    return reader_of(pairs).evaluation(batch_tokens)


def batch_pairs(
    pairs: object,
    batch_tokens: int,
    seed: int,
    step: int,
    worker: tuple[int, int] = ONE_WORKER,
) -> npt.NDArray[np.int64]:
    """Line numbers, from 0, of the pairs in the batch of update `step`, for error messages.

    Args:
        pairs: as in `training_batches`.
        batch_tokens: as in `training_batches`.
        seed: as in `training_batches`.
        step: number of updates before that batch.
        worker: as in `training_batches`; the lines of its share.

    Returns:
        int64 (rows of the batch,), positions in the text that the pairs come from.
    """
    return reader_of(pairs).lines(Place(batch_tokens, seed, step, worker))


def padding_fraction(encoded: EncodedPairs, batch_tokens: int) -> float:
    """Share of padding in all positions of `source_ids` and `target_ids` of an epoch's batches.

    Computed for the evaluation order; training draws differ from it by less than a point.
    """
    plan = plan_pairs(encoded, batch_tokens)
    positions = 0
    rows = np.diff(plan.starts)
    for lengths in (encoded.source_lengths, encoded.target_lengths):
        positions += int((rows * np.maximum.reduceat(lengths[plan.order], plan.starts[:-1])).sum())
    tokens = int(encoded.source_lengths.sum() + encoded.target_lengths.sum())
    return 1.0 - tokens / positions
