"""Encoded pairs become padded batches: grouped by length, shuffled by seed, resumable by step.

Comes in: `EncodedPairs` and a budget of tokens a batch. Leaves: a tf.data pipeline of
`({"source_ids", "target_ids"}, labels, sample_weight)` as `model.fit` takes it.

How batches are cut: pairs stand in order of their longer side, and within it of the difference
of the sides; runs of that order are the batches. The cuts depend on lengths alone, so every
epoch has the same number of batches, while each epoch draws anew which of the pairs of nearly
equal lengths share a batch and in which order the batches come.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from keras_transformer.data.encoding import EncodedPairs, RaggedIds
from keras_transformer.special_ids import BOS_ID, EOS_ID, PAD_ID

# Pairs whose sides differ by the same number of tokens, up to this step, are drawn together:
# wider mixes more, narrower pads less.
_DIFFERENCE_STEP = 3


@dataclass(frozen=True)
class _Plan:
    """The order and the cuts of one epoch.

    `order` int64 (pairs,) sorts the pairs; `groups` int64 (pairs,) numbers, in that order, the
    pairs that may trade places; batch b holds `order[starts[b]:starts[b + 1]]`.
    """

    order: npt.NDArray[np.int64]
    groups: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]

    @property
    def num_batches(self) -> int:
        return len(self.starts) - 1


def batches_per_epoch(encoded: EncodedPairs, batch_tokens: int) -> int:
    """Number of batches in every epoch of `training_batches` and in `evaluation_batches`."""
    return _plan(encoded, batch_tokens).num_batches


def training_batches(
    encoded: EncodedPairs, batch_tokens: int, seed: int, start_step: int = 0
) -> tf.data.Dataset:
    """Endless batches; epoch after epoch, each pair exactly once an epoch.

    Args:
        encoded: the pairs.
        batch_tokens: the most padded tokens a batch may hold, counted as rows * the longer of
            the two padded lengths.
        seed: decides, with the number of the epoch, all shuffling.
        start_step: number of batches to leave out: the stream goes on exactly as the unbroken
            one does after that many.

    Returns:
        A data set of `({"source_ids": (B, S), "target_ids": (B, T)}, labels (B, T),
        sample_weight (B, T))`, ids int32, weights float32: 1.0 where a label stands, 0.0 on
        padding. `source_ids` end with eos, `target_ids` begin with bos, `labels` are the target
        one step on, eos last.

    Raises:
        ValueError: a pair is longer than `batch_tokens`, or `start_step` is negative.
    """
    if start_step < 0:
        raise ValueError(f"start_step must be at least 0, got {start_step}")
    plan = _plan(encoded, batch_tokens)
    first_epoch, skipped = divmod(start_step, plan.num_batches)
    with tf.device("CPU:0"):
        order, groups, starts = (tf.constant(part) for part in _parts(plan))

    def epoch_rows(epoch: tf.Tensor) -> tf.data.Dataset:
        within, across = _epoch_seeds(seed, epoch)
        shuffled = _shuffle_within_groups(order, groups, within)
        batches = _random_order(plan.num_batches, across)
        batches = batches[tf.where(epoch == first_epoch, skipped, 0) :]
        return tf.data.Dataset.from_tensor_slices(batches).map(
            lambda batch: shuffled[starts[batch] : starts[batch + 1]]
        )

    rows = tf.data.Dataset.range(first_epoch, np.iinfo(np.int64).max).flat_map(epoch_rows)
    rows = rows.apply(tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY))
    return _gather_batches(rows, encoded)


def evaluation_batches(encoded: EncodedPairs, batch_tokens: int) -> tf.data.Dataset:
    """Each pair once, in an order that is always the same; the data set knows its length.

    Arguments, elements and errors are those of `training_batches`.
    """
    plan = _plan(encoded, batch_tokens)
    with tf.device("CPU:0"):
        order, _, starts = (tf.constant(part) for part in _parts(plan))
    rows = tf.data.Dataset.range(plan.num_batches).map(
        lambda batch: order[starts[batch] : starts[batch + 1]]
    )
    return _gather_batches(rows, encoded)


def padding_fraction(encoded: EncodedPairs, batch_tokens: int) -> float:
    """Share of padding in all positions of `source_ids` and `target_ids` of an epoch's batches.

    Computed for the evaluation order; training draws differ from it by less than a point.
    """
    plan = _plan(encoded, batch_tokens)
    positions = 0
    rows = np.diff(plan.starts)
    for lengths in (encoded.source_lengths, encoded.target_lengths):
        positions += int((rows * np.maximum.reduceat(lengths[plan.order], plan.starts[:-1])).sum())
    tokens = int(encoded.source_lengths.sum() + encoded.target_lengths.sum())
    return 1.0 - tokens / positions


def _plan(encoded: EncodedPairs, batch_tokens: int) -> _Plan:
    longest = np.maximum(encoded.source_lengths, encoded.target_lengths)
    if longest.max() > batch_tokens:
        pair = int(longest.argmax())
        raise ValueError(
            f"batch_tokens={batch_tokens} cannot hold pair {int(encoded.pair_numbers[pair])}, "
            f"which has {int(longest[pair])} tokens; raise batch_tokens or lower max_length"
        )
    difference = (encoded.source_lengths - encoded.target_lengths) // _DIFFERENCE_STEP
    # Up and down in turn: a batch that spans two lengths then joins neighbours in difference.
    difference = np.where(longest % 2 == 0, difference, -difference)
    order = np.lexsort((difference, longest))
    changed = (np.diff(longest[order]) != 0) | (np.diff(difference[order]) != 0)
    groups = np.concatenate([np.zeros(1, np.int64), np.cumsum(changed, dtype=np.int64)])
    return _Plan(order.astype(np.int64), groups, _cuts(longest[order], batch_tokens))


def _cuts(longest: npt.NDArray[np.int64], batch_tokens: int) -> npt.NDArray[np.int64]:
    """Starts of the batches over ascending lengths, with the number of pairs appended."""
    starts = [0]
    while starts[-1] < len(longest):
        start = starts[-1]
        # Lengths ascend, so rows * longest ascends too: the budget ends at the first excess.
        window = longest[start : start + batch_tokens // int(longest[start])]
        fits = window * np.arange(1, len(window) + 1) <= batch_tokens
        starts.append(start + int(fits.sum()))
    return np.asarray(starts, np.int64)


def _parts(plan: _Plan) -> tuple[npt.NDArray[np.int64], ...]:
    return plan.order, plan.groups, plan.starts


def _epoch_seeds(seed: int, epoch: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    seeds = tf.random.split(tf.stack([tf.cast(seed, tf.int64), epoch]), 2, alg="philox")
    return seeds[0], seeds[1]


def _shuffle_within_groups(order: tf.Tensor, groups: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    noise = tf.random.stateless_uniform(
        tf.shape(order), seed, minval=0, maxval=1 << 31, dtype=tf.int64, alg="philox"
    )
    return tf.gather(order, tf.argsort(groups * (1 << 31) + noise, stable=True))


def _random_order(count: int, seed: tf.Tensor) -> tf.Tensor:
    noise = tf.random.stateless_uniform(
        (count,), seed, minval=None, maxval=None, dtype=tf.int64, alg="philox"
    )
    return tf.argsort(noise, stable=True)


def _gather_batches(rows: tf.data.Dataset, encoded: EncodedPairs) -> tf.data.Dataset:
    """Row numbers (B,) to padded batches, in parallel and in order."""
    with tf.device("CPU:0"):
        source = _ragged(_surround(encoded.source, ends=(EOS_ID,)))
        target = _ragged(_surround(encoded.target, begins=(BOS_ID,), ends=(EOS_ID,)))

    def batch(
        numbers: tf.Tensor,
    ) -> tuple[dict[str, tf.Tensor], tf.Tensor, tf.Tensor]:
        source_ids = tf.gather(source, numbers).to_tensor(default_value=PAD_ID)  # [B, S]
        both = tf.gather(target, numbers).to_tensor(default_value=PAD_ID)  # [B, T + 1]
        labels = both[:, 1:]
        is_label = labels != PAD_ID
        # Where no label follows, the eos of a shorter row stands: the decoder never reads it.
        target_ids = tf.where(is_label, both[:, :-1], PAD_ID)
        inputs = {"source_ids": source_ids, "target_ids": target_ids}
        return inputs, labels, tf.cast(is_label, tf.float32)

    options = tf.data.Options()
    options.deterministic = True
    dataset = rows.map(batch, num_parallel_calls=tf.data.AUTOTUNE)
    return dataset.with_options(options).prefetch(tf.data.AUTOTUNE)


def _surround(
    ids: RaggedIds, begins: tuple[int, ...] = (), ends: tuple[int, ...] = ()
) -> RaggedIds:
    """The rows with fixed ids before and after each."""
    offsets = ids.offsets + np.arange(len(ids.offsets)) * (len(begins) + len(ends))
    values = np.empty(int(offsets[-1]), np.int32)
    inner = np.ones(len(values), np.bool_)
    for place, token in enumerate(begins):
        values[offsets[:-1] + place] = token
        inner[offsets[:-1] + place] = False
    for place, token in enumerate(reversed(ends)):
        values[offsets[1:] - 1 - place] = token
        inner[offsets[1:] - 1 - place] = False
    values[inner] = ids.values
    return RaggedIds(values, offsets)


def _ragged(ids: RaggedIds) -> tf.RaggedTensor:
    return tf.RaggedTensor.from_row_splits(ids.values, ids.offsets, validate=False)
