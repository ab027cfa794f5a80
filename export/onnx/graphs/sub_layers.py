"""Residual sub-layers one after another, as every target runs them: what lies between a sub-layer's
linear layers comes in, nodes leave.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import keras
import numpy as np

from keras_transformer.export.onnx.graphs.activations import emit_activation
from keras_transformer.export.onnx.graphs.builder import GraphBuilder
from keras_transformer.export.onnx.graphs.linear import Linear, weight_array
from keras_transformer.export.onnx.quantize.kernels import Kernels
from keras_transformer.layers.feed_forward import FeedForward
from keras_transformer.layers.stack import SubLayer


class Parts(NamedTuple):
    """What a sub-layer is made of in a graph.

    Attributes:
        projection: Its first linear layer.
        between: Adds the nodes from the projection's outputs to the second layer's inputs.
        output: Its second linear layer.
        relu: Whether ReLU follows the projection at once, which some kernels take in.
    """

    projection: Linear
    between: Callable[[str], str]
    output: Linear
    relu: bool = False


# Makes the parts of the attention of the block of a number.
EmitAttention = Callable[[Any, int], Parts]


class Stack(Protocol):
    """A Keras stack of blocks."""

    blocks: Sequence[Any]
    final_norm: Any


def feed_forward(graph: GraphBuilder, layer: FeedForward) -> Parts:
    """Applies the position-wise feed-forward network of section 3.3."""
    relu = layer.activation is keras.activations.relu
    return Parts(
        Linear.of(layer.hidden),
        lambda hidden: (
            hidden if relu else emit_activation(graph, layer.activation, hidden, layer.hidden_dim)
        ),
        Linear.of(layer.output_linear),
        relu,
    )


def each_sub_layer(
    graph: GraphBuilder, stack: Stack, attend: dict[str, EmitAttention]
) -> Iterator[tuple[SubLayer, Parts]]:
    """Yields the sub-layers of a stack in order, each with its parts.

    Args:
        graph: The graph.
        stack: The stack.
        attend: The emitter of attention, by what is attended to: "own" and "source".
    """
    for number, block in enumerate(stack.blocks):
        for sub_layer in block.sub_layers:
            if isinstance(sub_layer.layer, FeedForward):
                yield sub_layer, feed_forward(graph, sub_layer.layer)
            else:
                yield sub_layer, attend[sub_layer.attends_to](sub_layer.layer, number)


def first_bias(stack: Stack) -> np.ndarray | None:
    """Returns what must be added to the states that `run_sub_layers` is given, or None."""
    if stack.final_norm is not None:
        return None
    return weight_array(stack.blocks[0].sub_layers[0].layer.output_linear.bias)


def run_sub_layers(
    graph: GraphBuilder,
    kernels: Kernels,
    stack: Stack,
    states: str,
    attend: dict[str, EmitAttention],
) -> str:
    """Runs a stack of residual sub-layers, post-norm or, where there is a final norm, pre-norm.

    Args:
        graph: The graph.
        kernels: How linear layers are multiplied.
        stack: The stack.
        states: `(rows, model_dim)`, embedded tokens with their positions and `first_bias`.
        attend: As for `each_sub_layer`.

    Returns:
        `(rows, model_dim)`.
    """
    sub_layers = each_sub_layer(graph, stack, attend)
    if stack.final_norm is None:
        return _run_post_norm(graph, kernels, states, list(sub_layers))
    for sub_layer, parts in sub_layers:
        inputs = layer_norm(graph, states, sub_layer.residual.layer_norm)
        hidden = parts.between(kernels.linear(graph, inputs, parts.projection, relu=parts.relu))
        # The bias with the product: int8 kernels take one, but no residual.
        change = kernels.linear(graph, hidden, parts.output, nonnegative=parts.relu)
        states = graph.op("Add", states, change)
    return layer_norm(graph, states, stack.final_norm)


def _run_post_norm(
    graph: GraphBuilder, kernels: Kernels, states: str, sub_layers: list[tuple[SubLayer, Parts]]
) -> str:
    """Runs LayerNorm(x + Sublayer(x)) with every output bias folded away.

    The states carry the bias that the next sub-layer's output would add to them: the norm before
    adds it to its beta, and the sub-layer's own projections take it out of their bias.
    """
    biases = [parts.output.bias for _, parts in sub_layers]
    for (sub_layer, parts), carried, following in zip(
        sub_layers, biases, [*biases[1:], None], strict=True
    ):
        kernel, bias = parts.projection
        projection = Linear(kernel, bias - carried @ kernel)
        hidden = parts.between(kernels.linear(graph, states, projection, relu=parts.relu))
        joined = kernels.linear(
            graph,
            hidden,
            Linear(parts.output.kernel, None),
            residual=states,
            nonnegative=parts.relu,
        )
        states = layer_norm(graph, joined, sub_layer.residual.layer_norm, following)
    return states


def layer_norm(graph: GraphBuilder, states: str, norm: Any, more: np.ndarray | None = None) -> str:
    """Applies a Keras layer normalisation over the last axis and adds `more` to its beta."""
    gamma, beta = weight_array(norm.gamma), weight_array(norm.beta)
    beta = beta if more is None else beta + more
    epsilon = float(norm.epsilon)
    return graph.op("LayerNormalization", states, gamma, beta, axis=-1, epsilon=epsilon)
