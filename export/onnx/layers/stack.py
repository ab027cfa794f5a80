"""A stack of blocks in a graph: its residual sub-layers one after another, each as two linear
layers with nodes between them, or as one linear layer with nodes after it.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import keras
import numpy as np

from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.config.stack import (
    BlockConfig,
    FeedForwardConfig,
    SharingConfig,
    StackConfig,
)
from keras_transformer.export.onnx.graphs.builder import GraphBuilder
from keras_transformer.export.onnx.layers.activations import Activation, Gate
from keras_transformer.export.onnx.layers.linear import Linear, side_by_side
from keras_transformer.export.onnx.layers.norms import normalized, with_normalized_heads
from keras_transformer.export.onnx.quantize.kernels import Kernels
from keras_transformer.layers.attention import MultiHeadAttention
from keras_transformer.layers.feed_forward import FeedForward
from keras_transformer.layers.recurrences.ssru import SSRU

HOLDS: dict[type, set[str]] = {
    FeedForwardConfig: {"hidden_dim", "activation", "dropout", "gated", "use_bias"},
    BlockConfig: {"feed_forward", "norm", "first_norm"},
    EncoderConfig: {"first_norm"},
    # The builder stores once what layers share.
    StackConfig: {"blocks", "num_layers", "sharing", "first_norm"},
    SharingConfig: {"groups", "blocks_per_group"},
}


# Adds the nodes of a norm, and of those of queries and keys.
Normalize = Callable[[GraphBuilder, str, Any], str]
NormalizeHeads = Callable[[GraphBuilder, MultiHeadAttention, str], str]


class Parts(NamedTuple):
    """The parts of a residual sub-layer in a graph.

    Attributes:
        projection: Its first linear layer.
        between: Adds the nodes from the projection's outputs to the second layer's inputs.
        output: Its second linear layer; None if `between` returns the sub-layer's outputs.
        pick: Selects rows of the added states as `between` does; None if it keeps all rows.
        norm: Normalises the sub-layer's outputs; None for as they are.
    """

    projection: Linear
    between: Callable[[str], str]
    output: Linear | None
    pick: Callable[[str], str] | None = None
    norm: Any = None

    @property
    def output_bias(self) -> np.ndarray | None:
        """What the second linear layer adds to the sub-layer's outputs; None if nothing."""
        return None if self.output is None or self.norm is not None else self.output.bias

    def change(
        self, graph: GraphBuilder, kernels: Kernels, inputs: str, normalize: Normalize = normalized
    ) -> str:
        """Emits the sub-layer and returns its outputs."""
        found = self.between(kernels.linear(graph, inputs, self.projection))
        if self.output is not None:
            found = kernels.linear(graph, found, self.output)
        return found if self.norm is None else normalize(graph, found, self.norm)

    def added(self, states: str) -> str:
        """Returns the states that the sub-layer's outputs are added to."""
        return states if self.pick is None else self.pick(states)

    def after(self, change: Callable[[str], str]) -> "Parts":
        """Returns a sub-layer that changes its projection's outputs first."""
        return self._replace(between=lambda value: self.between(change(value)))

    def of_rows(self, pick: Callable[[str], str]) -> "Parts":
        """Returns a sub-layer whose outputs are those of some rows."""
        return self._replace(between=lambda value: pick(self.between(value)), pick=pick)


# Takes an attention layer, or a recurrence, and the number of its block and returns its parts.
EmitAttention = Callable[[Any, int], Parts]


def feed_forward(graph: GraphBuilder, layer: FeedForward, kernels: Kernels) -> Parts:
    """Applies the position-wise feed-forward network of section 3.3, gated or not."""
    # Some kernels include the activation.
    is_relu = layer.gate is None and layer.activation is keras.activations.relu
    firsts = [Linear.of(layer.hidden, relu=is_relu)]
    if layer.gate is not None:
        firsts.append(Linear.of(layer.gate))
    output = Linear.of(layer.output_linear, nonnegative=is_relu)
    found = kernels.hidden_units(output)
    if found is not None:
        units, output = found
        firsts = [first.of_units(units) for first in firsts]
    if is_relu:
        return Parts(firsts[0], lambda value: value, output)
    activate = Activation(graph, layer.activation, firsts[0].units)
    if layer.gate is None:
        return Parts(firsts[0], activate, output)
    # One product makes both halves.
    return Parts(side_by_side(firsts), Gate(graph, activate), output)


def each_sub_layer(
    graph: GraphBuilder,
    kernels: Kernels,
    stack: Any,
    attend: dict[str, EmitAttention],
    normalize_heads: NormalizeHeads = with_normalized_heads,
) -> Iterator[tuple[Any, Parts]]:
    """Yields the `Residual` and the parts of each sub-layer of a stack, in order.

    Args:
        graph: The graph.
        kernels: How linear layers are multiplied.
        stack: The Keras stack.
        attend: The functions that emit attention, by what is attended to: "own" and "source";
            "recurrence" emits the recurrence that replaces self-attention.
        normalize_heads: Adds the norms of queries and keys to the outputs of `own_projection`.
    """
    for number, block in enumerate(stack.blocks):
        for sub_layer in block.sub_layers:
            layer, residual = sub_layer.layer, sub_layer.residual
            if isinstance(layer, FeedForward):
                parts = feed_forward(graph, layer, kernels)
            else:
                kind = "recurrence" if isinstance(layer, SSRU) else sub_layer.attends_to
                parts = attend[kind](layer, number)
                if getattr(layer, "query_norm", None) is not None:
                    parts = parts.after(partial(normalize_heads, graph, layer))
            yield residual, parts._replace(norm=residual.output_norm)


def first_bias(stack: Any) -> np.ndarray | None:
    """Returns the bias that must be added to the input states of `run_sub_layers`, or None."""
    if stack.final_norm is not None:
        return None
    first = stack.blocks[0].sub_layers[0].layer
    return None if isinstance(first, SSRU) else Linear.of(first.output_linear).bias


def run_sub_layers(
    graph: GraphBuilder, kernels: Kernels, stack: Any, states: str, attend: dict[str, EmitAttention]
) -> str:
    """Runs a stack of residual sub-layers: pre-norm if there is a final norm, else post-norm.

    Args:
        graph: The graph.
        kernels: How linear layers are multiplied.
        stack: The Keras stack.
        states: `(rows, model_dim)`, embedded tokens with their positions and `first_bias`.
        attend: As for `each_sub_layer`.

    Returns:
        `(rows, model_dim)`.
    """
    sub_layers = each_sub_layer(graph, kernels, stack, attend)
    if stack.final_norm is None:
        return _run_post_norm(graph, kernels, states, list(sub_layers))
    for residual, parts in sub_layers:
        norm = residual.layer_norm
        inputs = states if norm is None else normalized(graph, states, norm)
        # The bias is added with the product: int8 kernels take a bias, but no residual.
        states = graph.op("Add", parts.added(states), parts.change(graph, kernels, inputs))
    return normalized(graph, states, stack.final_norm)


def _run_post_norm(
    graph: GraphBuilder, kernels: Kernels, states: str, sub_layers: list[tuple[Any, Parts]]
) -> str:
    """Runs LayerNorm(x + Sublayer(x)) with every output bias folded away.

    The states already include the bias that the next sub-layer's output would add: the norm before
    it adds the bias to its beta, and the sub-layer's own projections subtract it in theirs.
    """
    biases = [parts.output_bias for _, parts in sub_layers]
    for (residual, parts), carried, following in zip(
        sub_layers, biases, [*biases[1:], None], strict=True
    ):
        projection = parts.projection
        if carried is not None and projection.bias is not None:
            less = projection.bias - carried @ projection.kernel
            projection = replace(projection, bias=less)
        parts = parts._replace(projection=projection)
        if parts.output is None or parts.norm is not None:
            joined = graph.op("Add", parts.added(states), parts.change(graph, kernels, states))
        else:
            hidden = parts.between(kernels.linear(graph, states, projection))
            output = replace(parts.output, bias=None)
            joined = kernels.linear(graph, hidden, output, parts.added(states))
        states = normalized(graph, joined, residual.layer_norm, following)
    return states
