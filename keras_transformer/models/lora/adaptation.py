"""Low-rank adaptation (Hu et al. 2021): takes a model with trained weights, keeps them as they are
and trains the product of two narrow matrices beside each; merges the products in the end.
"""

import math
from collections.abc import Collection, Iterator
from typing import TypeVar

import keras
import numpy as np

FACTORS = ("lora_kernel_a", "lora_kernel_b")

Model = TypeVar("Model", bound=keras.Model)


def adapt_low_rank(
    model: keras.Model,
    rank: int,
    fresh: Collection[str] = (),
    *,
    alpha: float | None = None,
    targets: Collection[str] | None = None,
) -> None:
    """Makes W + α/rank AB of linear maps W of attention and feed-forward layers, trains A and B.

    B begins as 0, so the model computes what it did. Unlike in the paper, whose Transformers adapt
    the maps of attention only, feed-forward layers are adapted too unless `targets` says otherwise.

    Args:
        model: Of any family, with the weights to adapt.
        rank: Width of A and height of B.
        fresh: Paths of weights that nothing trained before, such as those of a new head: they are
            trained themselves, without factors.
        alpha: The paper's α; `rank` if None.
        targets: Names of the linear layers to adapt, such as "query", or their paths; all if None.

    Raises:
        ValueError: The rank is less than 1 or larger than a side of a linear map, the model is
            adapted already, or has no weight or linear map that is named.
    """
    _check_is_plain(model)
    _check_known("fresh", fresh, [weight.path for weight in model.weights])
    layers = [layer for layer in _targeted(model, targets) if _kernel_of(layer).path not in fresh]
    for layer in layers:
        _check_rank(rank, layer)
    total = model.count_params()
    for weight in model.weights:
        weight.trainable = weight.path in fresh
    for layer in layers:
        layer.enable_lora(rank, lora_alpha=alpha)
    trained = sum(math.prod(weight.shape) for weight in model.trainable_weights)
    print(f"low-rank adaptation: {trained:,} parameters are trained; the model has {total:,}")


def adapted_layers(model: keras.Model) -> list[keras.layers.Dense]:
    """Returns the linear layers that have factors."""
    return [layer for layer in linear_layers(model) if layer.lora_enabled]


def merge_low_rank(model: keras.Model) -> None:
    """Adds each product AB to its W and sets B to 0: the model computes the same as before.

    Raises:
        ValueError: A W is quantized.
    """
    layers = adapted_layers(model)
    for layer in layers:
        if layer.quantization_mode is not None:
            raise ValueError(
                f"{layer.path} is quantized to {layer.quantization_mode}, so nothing can be added "
                "to it: merge first and quantize the merged model."
            )
    for layer in layers:
        # In float32: `layer.kernel` is the sum in the compute dtype, which may be bfloat16.
        kernel, first, second = map(
            np.asarray, (_kernel_of(layer), layer.lora_kernel_a, layer.lora_kernel_b)
        )
        _kernel_of(layer).assign(kernel + layer.lora_alpha / layer.lora_rank * first @ second)
        layer.lora_kernel_b.assign(np.zeros_like(second))


def without_low_rank(model: Model) -> Model:
    """Merges an adapted model and returns a plain one that computes the same."""
    merge_low_rank(model)
    plain = model.from_config(model.get_config())
    found = {weight.path: weight for weight in model.weights if weight.name not in FACTORS}
    for weight in plain.weights:
        weight.assign(np.asarray(found[weight.path]))
    return plain


def linear_layers(model: keras.Model) -> Iterator[keras.layers.Dense]:
    """Yields the linear maps of attention and feed-forward layers."""
    for name in ("encoder_stack", "decoder_stack"):
        stack = getattr(model, name, None)
        for block in stack.blocks if stack else ():
            for sub_layer in block.sub_layers:
                yield from sub_layer.layer.linear_layers


def _targeted(model: keras.Model, targets: Collection[str] | None) -> list[keras.layers.Dense]:
    layers = list(linear_layers(model))
    if targets is None:
        return layers
    if isinstance(targets, str):
        raise TypeError(f"the layers to adapt must be a list of names, got {targets!r}.")
    names = [layer.name for layer in layers]
    _check_known("target_layer_names", targets, names, [layer.path for layer in layers])
    return [layer for layer in layers if not {layer.name, layer.path}.isdisjoint(targets)]


def _check_known(argument: str, given: Collection[str], *known: list[str]) -> None:
    unknown = sorted(set(given).difference(*known))
    if unknown:
        shown = ", ".join(dict.fromkeys(known[0]))
        raise ValueError(f"{argument} names {unknown[0]!r}, but the model has only {shown}.")


def _check_is_plain(model: keras.Model) -> None:
    for layer in adapted_layers(model):
        raise ValueError(
            f"the model has LoRA of rank {layer.lora_rank} already: go on with it, or adapt the "
            "model that its merge_lora() returns."
        )


def _check_rank(rank: int, layer: keras.layers.Dense) -> None:
    kernel = _kernel_of(layer)
    if rank < 1:
        raise ValueError(f"the rank of LoRA must be at least 1, got {rank}.")
    if rank > min(kernel.shape):
        raise ValueError(
            f"lora_rank={rank} is no low rank for {kernel.path}, which is "
            f"{' x '.join(map(str, kernel.shape))}: give at most {min(kernel.shape)}."
        )


def _kernel_of(layer: keras.layers.Dense) -> keras.Variable:
    """Returns W itself; once adapted, `layer.kernel` is the sum W + AB."""
    [kernel] = [weight for weight in layer.weights if weight.name == "kernel"]
    return kernel
