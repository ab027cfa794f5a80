"""The way of an epoch through the shards: which of them are open together, and for how many steps.

Plain numbers: nothing here reads a shard, so a run resumes anywhere at once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np

# Open at once: more mix better, fewer take less memory. The next ones are loaded meanwhile.
OPEN_SHARDS = 4


@dataclass(frozen=True)
class OpenShards:
    """Shards that are open together, so that their batches come mixed.

    Attributes:
        shards: numbers of the shards.
        seed: with the run's seed, decides the order of the batches; different every time.
        first: number of the first step with them that is wanted; those before it were done.
        steps: number of steps with them. Those beyond the shards' own batches only keep this
            worker in step with others that have more, and count nothing.
    """

    shards: tuple[int, ...]
    seed: int
    first: int
    steps: int


def open_shards(
    batches: Sequence[int], epoch_steps: int, seed: int, start_step: int
) -> Iterator[OpenShards]:
    """Yields endlessly what to open; an epoch opens every shard once, in an order drawn anew.

    Args:
        batches: number of batches of each shard, at least one of them above 0.
        epoch_steps: steps of an epoch, at least the sum of `batches`.
        seed: decides the orders, with the number of the epoch.
        start_step: number of steps to leave out.
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
