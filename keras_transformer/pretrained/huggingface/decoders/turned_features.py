"""The order of the features of heads of which rotary positions turn some: theirs are the first
ones, ours the first of either half, which pairs join.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from keras_transformer.pretrained.weight_table import Array, Entry


def turned(entries: Iterable[Entry], config: Any) -> Iterator[Entry]:
    """Yields entries of queries or keys in the order of features that a config needs."""
    for entry in entries:
        if config.rotary_width is None:
            yield entry
        else:
            order = features(config.rotary_width, config.key_dim)
            yield _Turned(**vars(entry), order=tuple(order.tolist()))


def features(turned: int, width: int) -> Array:
    """Returns the place that each of our features of a head has among theirs."""
    first, rest = np.split(np.arange(width), [turned])
    pairs = zip(np.split(first, 2), np.split(rest, 2), strict=True)
    return np.concatenate([one for pair in pairs for one in pair])


@dataclass(frozen=True, kw_only=True)
class _Turned(Entry):
    """A weight of queries or keys, of each of whose heads `order` names the features."""

    order: tuple[int, ...]

    def read(self, tensor: Array) -> Array:
        return self._ordered(super().read(tensor), list(self.order))

    def write(self, rows: int | None = None) -> Array:
        theirs = self._ordered(np.asarray(self.weight), np.argsort(self.order))
        return Entry.write(replace(self, weight=theirs), rows)

    def _ordered(self, array: Array, order: Any) -> Array:
        if array.shape[-1] % len(order):
            return array  # Of another shape than the weight, which is refused.
        heads = array.reshape(*array.shape[:-1], -1, len(order))
        return np.take(heads, order, axis=-1).reshape(array.shape)
