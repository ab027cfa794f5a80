"""Compiled functions of large tensors, which read and write them fewer times, with the same
results.
"""

import functools
from collections.abc import Callable
from typing import Any

from keras import ops

from keras_transformer.layers.products.product import is_tensorflow_on_a_processor
from keras_transformer.tensors import Tensor

# With fewer logits a row they stay in a core's caches, and compiling takes longer than it saves.
_LARGE_VOCABULARY = 4096
# Likewise with narrower features.
_WIDE = 256


def in_few_passes(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates a function of logits `(..., vocabulary)` that gets no gradient.

    TensorFlow's operators each pass over all logits, which takes as long as the products beside
    them; XLA makes loops that do the work of several. It compiles once for each number of tokens,
    a third of a second. Other backends compile whole steps, and where there is a GPU its own
    operators are used.

    Args:
        function: Takes logits and further arguments; Python's numbers among them are constants.
    """
    return _compiled_from(lambda: _LARGE_VOCABULARY, function, _without_gradient)


def with_gradient_in_few_passes(
    value: Callable[[Tensor], Tensor], slope: Callable[[Tensor], Tensor]
) -> Callable[[Tensor], Tensor]:
    """Returns a function of each feature alone, compiled likewise together with its gradient.

    It computes in float32, keeps nothing but its input for the gradient, and returns the input's
    type.

    Args:
        value: The function.
        slope: Its derivative.
    """

    def forward(x: Tensor) -> Tensor:
        return ops.cast(value(ops.cast(x, "float32")), x.dtype)

    def backward(x: Tensor, given: Tensor) -> Tensor:
        along = ops.cast(given, "float32") * slope(ops.cast(x, "float32"))
        return ops.cast(along, x.dtype)

    forward = _compiled_from(lambda: _WIDE, forward, _without_gradient)
    backward = _compiled_from(lambda: _WIDE, backward, _with_plain_gradient)

    @ops.custom_gradient
    def of_features(x: Tensor) -> tuple[Tensor, Any]:
        def gradient(*arguments: Tensor, upstream: Tensor | None = None) -> Tensor:
            return backward(x, arguments[0] if upstream is None else upstream)

        return forward(x), gradient

    differentiable: Callable[[Tensor], Tensor] = of_features
    return differentiable


def _compiled_from(
    least: Callable[[], int],
    function: Callable[..., Any],
    compiled: Callable[[Callable[..., Any]], Callable[..., Any]],
) -> Callable[..., Any]:
    """Returns a function that is compiled for tensors whose last axis has at least so many."""
    once = functools.cache(lambda: compiled(function))

    @functools.wraps(function)
    def call(first: Tensor, *arguments: Any) -> Any:
        if first.shape[-1] < least() or not is_tensorflow_on_a_processor():
            return function(first, *arguments)
        return once()(first, *arguments)

    return call


def _without_gradient(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compiles a function that is not differentiated."""
    import tensorflow as tf

    compiled = tf.function(function, jit_compile=True, autograph=False)
    # Else TensorFlow would prepare a gradient.
    return lambda first, *arguments: compiled(tf.stop_gradient(first), *arguments)


def _with_plain_gradient(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compiles a function of tensors, whose gradient comes from its operators uncompiled.

    Only second derivatives need one: nothing is prepared for them.
    """
    import tensorflow as tf

    compiled = tf.function(function, jit_compile=True, autograph=False)

    @tf.custom_gradient
    def call(*tensors: Tensor) -> tuple[Tensor, Any]:
        def gradient(upstream: Tensor) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(tensors)
                result = function(*tensors)
            return tape.gradient(result, tensors, upstream)

        return compiled(*map(tf.stop_gradient, tensors)), gradient

    differentiable: Callable[..., Tensor] = call
    return differentiable
