"""Low-rank adaptation (Hu et al. 2021): takes a model with trained weights, keeps them as they are
and trains the product of two narrow matrices beside each; merges the products in the end.
"""

import math
from collections.abc import Collection, Iterator

import keras
import numpy as np

from keras_transformer.models.families import AnyModel, build_model

_FACTORS = ("lora_kernel_a", "lora_kernel_b")


def adapt_low_rank(model: AnyModel, rank: int, fresh: Collection[str] = ()) -> None:
    """Makes W + AB of each linear map W of attention and feed-forward layers, and trains A and B.

    B begins as 0, so the model computes what it did. Unlike in the paper, whose Transformers adapt
    the maps of attention only, feed-forward layers are adapted too; the paper's α is the rank.

    Args:
        model: Of any family, with the weights to adapt.
        rank: Width of A and height of B.
        fresh: Paths of weights that nothing trained before, such as those of a new head: they are
            trained themselves, without factors.

    Raises:
        ValueError: The rank is larger than a side of a linear map.
    """
    linear_layers = [
        layer for layer in _linear_layers(model) if _kernel_of(layer).path not in set(fresh)
    ]
    for layer in linear_layers:
        kernel = _kernel_of(layer)
        if rank > min(kernel.shape):
            raise ValueError(
                f"lora_rank={rank} is no low rank for {kernel.path}, which is "
                f"{' x '.join(map(str, kernel.shape))}: give at most {min(kernel.shape)}."
            )
    total = model.count_params()
    for weight in model.weights:
        weight.trainable = weight.path in fresh
    for layer in linear_layers:
        layer.enable_lora(rank)
    trained = sum(math.prod(weight.shape) for weight in model.trainable_weights)
    print(f"low-rank adaptation: {trained:,} parameters are trained; the model has {total:,}")


def merge_low_rank(model: AnyModel) -> None:
    """Adds each product AB to its W and sets B to 0: the model computes the same as before."""
    for layer in _linear_layers(model):
        if layer.lora_enabled:
            # In float32: `layer.kernel` is the sum in the compute dtype, which may be bfloat16.
            kernel, first, second = map(
                np.asarray, (_kernel_of(layer), layer.lora_kernel_a, layer.lora_kernel_b)
            )
            _kernel_of(layer).assign(kernel + layer.lora_alpha / layer.lora_rank * first @ second)
            layer.lora_kernel_b.assign(np.zeros_like(second))


def without_low_rank(model: AnyModel) -> AnyModel:
    """Merges an adapted model and returns a plain one that computes the same."""
    merge_low_rank(model)
    plain = build_model(model.config, model.dtype_policy.name)
    found = {weight.path: weight for weight in model.weights if weight.name not in _FACTORS}
    for weight in plain.weights:
        weight.assign(np.asarray(found[weight.path]))
    return plain


def _linear_layers(model: AnyModel) -> Iterator[keras.layers.Dense]:
    for name in ("encoder_stack", "decoder_stack"):
        stack = getattr(model, name, None)
        for block in stack.blocks if stack else ():
            for sub_layer in block.sub_layers:
                yield from sub_layer.layer.linear_layers


def _kernel_of(layer: keras.layers.Dense) -> keras.Variable:
    """Returns W itself; once adapted, `layer.kernel` is the sum W + AB."""
    [kernel] = [weight for weight in layer.weights if weight.name == "kernel"]
    return kernel
