"""Compiles functions of whole logits: takes one and returns one with the same results that reads
and writes its logits few times.
"""

import functools
from collections.abc import Callable
from typing import Any

from keras import ops

from keras_transformer.layers.products.product import is_tensorflow_on_a_processor

Tensor = Any

# With fewer logits a row they stay in a core's caches, and compiling takes longer than it saves.
_LARGE_VOCABULARY = 4096


def in_few_passes(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates a function of logits `(..., vocabulary)` that gets no gradient.

    TensorFlow's operators each pass over all logits, which takes as long as the products beside
    them; XLA makes loops that do the work of several. It compiles once for each number of tokens,
    a third of a second. Other backends compile whole steps, and where there is a GPU its own
    operators are used.

    Args:
        function: Takes logits and further arguments; Python's numbers among them are constants.
    """

    @functools.cache
    def compiled() -> Callable[..., Any]:
        import tensorflow as tf

        return tf.function(function, jit_compile=True, autograph=False)

    @functools.wraps(function)
    def call(logits: Tensor, *arguments: Any) -> Any:
        if logits.shape[-1] < _LARGE_VOCABULARY or not is_tensorflow_on_a_processor():
            return function(logits, *arguments)
        # Else TensorFlow would prepare a gradient.
        return compiled()(ops.stop_gradient(logits), *arguments)

    return call
