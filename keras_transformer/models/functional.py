"""Helpers to build functional models: inputs of ids, and a dtype policy during the build."""

from collections.abc import Iterator
from contextlib import contextmanager

import keras
from keras import ops

from keras_transformer.tensors import Tensor


@contextmanager
def policy(name: str | None) -> Iterator[None]:
    """Makes a dtype policy the global one for a while; None changes nothing."""
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(name or before)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)


def ids_input(name: str) -> keras.KerasTensor:
    """Returns an int32 input `(batch, length)`."""
    return keras.Input((None,), dtype="int32", name=name)


def with_one(states: Tensor) -> Tensor:
    """Appends a feature of 1, which a bias in the matrix's last column multiplies."""
    return ops.concatenate([states, ops.ones_like(states[..., :1])], axis=-1)
