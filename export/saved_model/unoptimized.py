"""Keeps TensorFlow from optimizing graphs that a server will optimize anyway."""

from collections.abc import Iterator
from contextlib import contextmanager

import tensorflow as tf


@contextmanager
def unoptimized() -> Iterator[None]:
    """Keeps TensorFlow from optimizing functions that are traced or called inside.

    A call keeps this setting from when it is traced. A server that loads the SavedModel optimizes
    the functions together with the graph that calls them, and need not optimize each again at its
    first call.
    """
    options = tf.config.optimizer.get_experimental_options()
    before = options.get("disable_meta_optimizer", False)
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    try:
        yield
    finally:
        tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": before})
