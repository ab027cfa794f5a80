"""The keys and values of decoded tokens: takes a buffer and new places and writes them."""

from typing import Any

from keras import ops

Tensor = Any


def write_cache(cache: Tensor, new: Tensor, step: Tensor) -> Tensor:
    """Writes places of a cache that follow each other.

    Args:
        cache: `(rows, heads, cache_length, width)`.
        new: `(rows, heads, places, width)`.
        step: int32 scalar, the first place to write; the last is less than cache_length.

    Returns:
        The cache with `new` from `step` on.
    """
    places = ops.arange(ops.shape(cache)[2], dtype="int32")
    if new.shape[2] == 1:
        here = ops.equal(places, step)
    else:
        last = ops.shape(new)[2] - 1
        from_here = places - step
        here = ops.logical_and(from_here >= 0, from_here <= last)
        new = ops.take(new, ops.clip(from_here, 0, last), axis=2)
    return ops.where(here[None, None, :, None], ops.cast(new, cache.dtype), cache)


def places_seen(cache: Tensor, step: Tensor, count: Tensor) -> Tensor:
    """Returns which places of a cache each of `count` new ones attends to, from `step` on.

    Returns:
        Boolean `(1, 1, count, cache_length)`: its own place and those before it.
    """
    places = ops.arange(ops.shape(cache)[2], dtype="int32")
    own = step + ops.arange(count, dtype="int32")
    return (places[None, :] <= own[:, None])[None, None]
