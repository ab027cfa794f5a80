"""The order of features in the residual stream: a model whose sinusoids are interleaved, rearranged
to have all sines before all cosines.

Whatever order the features have, a model computes the same, as long as all that reads or writes
them agrees: embeddings, norms, and one side of every linear layer.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

from keras_transformer.models.transformer import Transformer, build_transformer


def with_halves(model: Transformer) -> Transformer:
    """Returns a model with `sinusoid_layout="halves"` that computes what an interleaved one does.

    Args:
        model: With sinusoidal positions and an even `model_dim`.
    """
    config = dataclasses.replace(model.config, sinusoid_layout="halves")
    twin = build_transformer(config, "float32")
    twin.set_weights(model.get_weights())
    features = np.arange(config.model_dim)
    order = np.concatenate([features[0::2], features[1::2]])
    for weight, axis in _axes(twin).values():
        weight.assign(np.take(np.asarray(weight), order, axis))
    return twin


def _axes(model: Transformer) -> dict[int, tuple[Any, int]]:
    """Returns each weight that has an axis of features of the residual stream, and that axis."""
    return {id(weight): (weight, axis) for weight, axis in _weights(model)}


def _weights(model: Transformer) -> Iterator[tuple[Any, int]]:
    if model.head.linear is not None:
        yield model.head.linear.kernel, 0
    for embeddings in (model.source_embeddings, model.target_embeddings):
        yield embeddings.tokens.matrix, 1
        yield from _of_norm(embeddings.layer_norm)
    for stack in (model.encoder_stack, model.decoder_stack):
        yield from _of_norm(stack.final_norm)
        for part in (part for block in stack.blocks for part in block.sub_layers):
            yield from _of_norm(part.residual.layer_norm)
            *readers, writer = part.layer.linear_layers
            yield from ((linear.kernel, 0) for linear in readers)
            yield writer.kernel, 1
            if writer.use_bias:
                yield writer.bias, 0


def _of_norm(norm: Any) -> Iterator[tuple[Any, int]]:
    for name in ("gamma", "beta"):
        if hasattr(norm, name):
            yield getattr(norm, name), 0
