"""Converts a model with tf2onnx in stages, and equal blocks of a stack only once. tf2onnx takes
seconds for a few hundred nodes. Its results are therefore kept without weights and reused in other
graphs of an artefact and for other blocks, each with its own weights.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import keras
import onnx
import tensorflow as tf

from keras_transformer.artefact.entries import GraphTensor
from keras_transformer.export.onnx.graphs.builder import GraphBuilder
from keras_transformer.export.onnx.graphs.specs import Specs
from keras_transformer.export.onnx.graphs.tracing import with_weights, without_weights
from keras_transformer.layers import Encoder, EncoderBlock
from keras_transformer.layers.masks import padding_mask
from keras_transformer.models.encoder_only import EncoderOnly
from keras_transformer.models.transformer import Transformer

Tensors = dict[str, tf.Tensor]

ENCODED = "states"
_AFTER = "states_after"
_BIAS = "bias"
_MASK = GraphTensor(name="keep_mask", dtype="bool", shape=("batch", 1, 1, "length"))
_DIFFERS = GraphTensor(name="differs", dtype="bool", shape=("batch", 1, "length", "length"))


@dataclass(frozen=True)
class Stage:
    """A function of tensors.

    Attributes:
        key: Identifies the function; functions with equal keys differ in their weights only.
        function: Takes its inputs by name and returns its outputs by name.
        specs: Its inputs and outputs, without a common name.
        weights: The variables that it reads.
    """

    key: Hashable
    function: Callable[[Tensors], Tensors]
    specs: Specs
    weights: Sequence[keras.Variable]


class Stages:
    """The stages converted so far for the graphs of an artefact."""

    def __init__(self) -> None:
        self._converted: dict[Hashable, onnx.ModelProto] = {}

    def add(self, graph: GraphBuilder, stage: Stage, values: Mapping[str, str]) -> dict[str, str]:
        """Adds the nodes of a stage to a graph.

        Args:
            graph: The graph.
            stage: The stage to add; it is converted unless one with its key and opset already was.
            values: The graph's value for each of the stage's inputs, and for other names.

        Returns:
            The graph's value for each of the stage's outputs.
        """
        names = [spec.name for spec in stage.specs[0]]
        weights = tuple((one.name, one.shape, one.dtype) for one in stage.weights)
        key = (stage.key, graph.opset, weights)
        if key not in self._converted:
            self._converted[key] = without_weights(
                lambda *tensors: stage.function(dict(zip(names, tensors, strict=True))),
                stage.specs,
                graph.opset,
                stage.weights,
            )
        proto = with_weights(self._converted[key], stage.weights)
        return graph.splice(proto.graph, {name: values[name] for name in names})

    def add_encoder(self, graph: GraphBuilder, encoder: "StagedEncoder") -> str:
        """Adds the stages of an encoder; returns the value of its states."""
        values = {spec.name: spec.name for spec in encoder.ids}
        values |= self.add(graph, encoder.entry(), values)
        for number, bias in enumerate(encoder.biases):
            values[_BIAS] = values.get(bias, "")
            [values[ENCODED]] = self.add(graph, encoder.block(number), values).values()
        if encoder.stack.final_norm is not None:
            [values[ENCODED]] = self.add(graph, encoder.final_norm(), values).values()
        return values[ENCODED]


@dataclass(frozen=True)
class StagedEncoder:
    """The stages of an encoder.

    Attributes:
        model: The model that it is part of.
        ids: Its inputs: token ids, and token types if it has some.
    """

    model: EncoderOnly | Transformer
    ids: Sequence[GraphTensor]

    @property
    def stack(self) -> Encoder:
        """Its blocks."""
        return self.model.encoder_stack

    @property
    def states(self) -> GraphTensor:
        """Its states."""
        shape = ("batch", "length", self.model.config.model_dim)
        return GraphTensor(name=ENCODED, dtype="float32", shape=shape)

    def weights_outside(self) -> list[keras.Variable]:
        """Returns the model's weights outside the blocks."""
        own = {id(weight) for block in self.stack.blocks for weight in block.weights}
        return [weight for weight in self.model.weights if id(weight) not in own]

    def entry(self) -> Stage:
        """The stage from ids to the states that the blocks read."""
        alone = isinstance(self.model, EncoderOnly)
        embeddings = self.model.embeddings if alone else self.model.source_embeddings

        def enter(given: Tensors) -> Tensors:
            ids, *types = (given[spec.name] for spec in self.ids)
            keep = padding_mask(ids, self.model.config.special_ids.pad)
            segments = types if self.masks[1:] else []
            states = embeddings(ids, keep, *types[len(segments) :], training=False)
            masks = self.stack.masks(keep, *segments)
            biases = zip(self.biases, self.stack.attention_biases(states), strict=True)
            added = {name: bias for name, bias in biases if name}
            return {ENCODED: states, **{one.name: masks[one.name] for one in self.masks}, **added}

        outputs = [self.states, *self.masks, *map(_bias, sorted({*self.biases} - {""}))]
        relative = [one for one in (self.stack.relative, *self.stack.relatives) if one is not None]
        weights = [weight for layer in (embeddings, *relative) for weight in layer.weights]
        return Stage(("entry", self.stack), enter, (self.ids, outputs), weights)

    def block(self, number: int) -> Stage:
        """The stage of a block; blocks with equal configs differ in their weights only."""
        block: EncoderBlock = self.stack.blocks[number]
        has_bias = bool(self.biases[number])

        def run(given: Tensors) -> Tensors:
            masks = {one.name: given[one.name] for one in self.masks}
            states = block(given[ENCODED], **masks, bias=given.get(_BIAS), training=False)
            return {_AFTER: states}

        inputs = [self.states, *self.masks, *([_bias(_BIAS)] if has_bias else [])]
        return Stage(
            ("block", block.config),
            run,
            (inputs, [replace(self.states, name=_AFTER)]),
            block.weights,
        )

    def final_norm(self) -> Stage:
        """The norm after the last block, of pre-norm encoders."""
        norm: Any = self.stack.final_norm

        def run(given: Tensors) -> Tensors:
            return {_AFTER: norm(given[ENCODED])}

        specs = [self.states], [replace(self.states, name=_AFTER)]
        return Stage(("final norm", self.stack), run, specs, norm.weights)

    @property
    def masks(self) -> list[GraphTensor]:
        """What blocks read of the batch, by the names of their arguments."""
        segments = getattr(self.model.config, "relative_segments", False)
        return [_MASK, *([_DIFFERS] if segments else [])]

    @property
    def biases(self) -> list[str]:
        """Names of the biases that a block adds to attention scores; none if it adds nothing."""
        shared, numbers = self.stack.relative, range(len(self.stack.blocks))
        relatives = map(self.stack.relative_of, numbers)
        return [
            "" if one is None else f"{_BIAS}_shared" if one is shared else f"{_BIAS}_{number}"
            for number, one in zip(numbers, relatives, strict=True)
        ]


def _bias(name: str) -> GraphTensor:
    shape = (1, "heads", "length", "length")
    return GraphTensor(name=name, dtype="float32", shape=shape)
