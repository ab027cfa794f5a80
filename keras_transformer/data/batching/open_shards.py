"""The order of shards in an epoch: which are open together, and for how many steps. No shard is
read for it, so a run resumes at any step immediately.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np

# Open at once: more mix better, fewer take less memory. The next ones are loaded in the meantime.
OPEN_SHARDS = 4


@dataclass(frozen=True)
class OpenShards:
    """Shards that are open together, so that their batches are mixed.

    Attributes:
        shards: Numbers of the shards.
        seed: With the run's seed, decides the order of the batches; different every time.
        first: Number of the first step to return; earlier ones are already done.
        steps: Number of steps. Those beyond the shards' own batches have weight 0 and only keep
            this worker in step with others that have more batches.
    """

    shards: tuple[int, ...]
    seed: int
    first: int
    steps: int


def open_shards(
    batches: Sequence[int], epoch_steps: int, seed: int, start_step: int
) -> Iterator[OpenShards]:
    """Yields the shards to open, without end; each epoch opens every shard once, in a new order.

    Args:
        batches: Number of batches of each shard, at least one of them above 0.
        epoch_steps: Steps of an epoch, at least the sum of `batches`.
        seed: Decides the orders, with the number of the epoch.
        start_step: Number of steps to skip.
    """
    first_epoch, done = divmod(start_step, epoch_steps)
    filled = [shard for shard, own in enumerate(batches) if own]
    idle = epoch_steps - sum(batches)
    per_epoch = -(-len(filled) // OPEN_SHARDS)
    for epoch in count(first_epoch):
        key = np.asarray([seed % 2**64, epoch], np.uint64)
        noise = np.random.Philox(key=key).random_raw(len(filled))
        order = [filled[place] for place in np.argsort(noise, kind="stable")]
        for number in range(per_epoch):
            shards = tuple(order[number * OPEN_SHARDS : (number + 1) * OPEN_SHARDS])
            steps = sum(batches[shard] for shard in shards)
            steps += idle if number == per_epoch - 1 else 0
            if done < steps:
                yield OpenShards(shards, epoch * per_epoch + number, done, steps)
            done = max(done - steps, 0)
