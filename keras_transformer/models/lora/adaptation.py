"""Low-rank adaptation (Hu et al. 2021): trained weights stay as they are, beside each is trained
the product of two narrow matrices, and the products are merged in the end.
"""

import hashlib
import math
from collections.abc import Collection, Iterator
from typing import TypeVar

import keras
import numpy as np

from keras_transformer.config.checks import check_size

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
        TypeError: The rank is no integer, α no number, or `targets` no list.
        ValueError: The rank is less than 1 or larger than a side of a linear map, α is not
            positive, the model is adapted already, has no weight or linear map that is named, or
            none is left to adapt. In all cases the model is as before.
    """
    _check_is_plain(model)
    _check_numbers(rank, alpha)
    _check_known("fresh", fresh, [weight.path for weight in model.weights])
    layers = [layer for layer in _targeted(model, targets) if _kernel_of(layer).path not in fresh]
    if not layers:
        raise ValueError(
            f"target_layer_names={targets!r} leaves no linear layer to adapt: name some, or leave "
            "it out to adapt all."
        )
    for layer in layers:
        _check_is_low(rank, layer)
    total = model.count_params()
    for layer in layers:
        layer.enable_lora(rank, lora_alpha=alpha)
    for weight in model.weights:
        weight.trainable = weight.path in fresh or weight.name in FACTORS
    trained = sum(math.prod(weight.shape) for weight in model.trainable_weights)
    print(f"low-rank adaptation: {trained:,} parameters are trained; the model has {total:,}")


def adapted_layers(model: keras.Model) -> list[keras.layers.Dense]:
    """Returns the linear layers that have factors."""
    return [layer for layer in linear_layers(model) if layer.lora_enabled]


def check_is_kept_by_files(model: keras.Model) -> None:
    """Raises unless a file holds the model as it is.

    Keras's files of an adapted layer hold W + AB alone, and rounded again if W is quantized: what
    is loaded is then another model.

    Raises:
        ValueError: A layer is quantized and adapted.
    """
    for layer in adapted_layers(model):
        if layer.quantization_mode is not None:
            raise ValueError(
                f"{layer.path} is quantized to {layer.quantization_mode} and has LoRA, which its "
                "file would round away: use save_lora_weights, and save the model without LoRA."
            )


def check_can_be_adapted(model: keras.Model) -> None:
    """Raises unless what is trained beside the linear layers can be saved with them.

    Raises:
        ValueError: A linear layer is quantized.
    """
    for layer in linear_layers(model):
        if layer.quantization_mode is not None:
            raise ValueError(
                f"{layer.path} is quantized to {layer.quantization_mode}, and what LoRA trains "
                "beside it would be rounded away when the model is saved: train the model that is "
                "not quantized, save_lora_weights, and load_lora_weights into the quantized one; "
                "or quantize what merge_lora() returns."
            )


def merge_low_rank(model: keras.Model) -> None:
    """Adds each product AB to its W and sets B to 0: the model computes the same as before.

    Raises:
        ValueError: A W is quantized.
    """
    layers = adapted_layers(model)
    _check_can_be_merged(layers)
    for layer in layers:
        _kernel_of(layer).assign(_merged_kernel(layer))
        layer.lora_kernel_b.assign(np.zeros(layer.lora_kernel_b.shape, np.float32))


def without_low_rank(model: Model) -> Model:
    """Returns a plain model that computes the same as an adapted one, which stays as it is.

    Raises:
        ValueError: A W is quantized.
    """
    plain = model.from_config(model.get_config())
    for weight, value in zip(plain.weights, merged_weights(model), strict=True):
        weight.assign(value)
    return plain


def merged_weights(model: keras.Model) -> Iterator[np.ndarray]:
    """Yields the weights that a plain model would compute the same with, in its order.

    Raises:
        ValueError: A W is quantized.
    """
    layers = adapted_layers(model)
    _check_can_be_merged(layers)
    adapted = {_kernel_of(layer).path: layer for layer in layers}
    for weight in model.weights:
        if weight.path in adapted:
            yield _merged_kernel(adapted[weight.path])
        elif weight.name not in FACTORS:
            yield np.asarray(weight)


def base_digest(model: keras.Model) -> str | None:
    """Returns a name of the weights that factors stand beside, which training them never changes.

    It is the SHA-256 of each linear layer's path, shape and first row: another training changes all
    rows. None if a layer is quantized.
    """
    digest = hashlib.sha256()
    for layer in linear_layers(model):
        if layer.quantization_mode is not None:
            return None
        kernel = np.asarray(_kernel_of(layer), np.float32)
        digest.update(f"{layer.path} {kernel.shape}".encode())
        digest.update(kernel[0].astype("<f4").tobytes())
    return digest.hexdigest()


def linear_layers(model: keras.Model) -> Iterator[keras.layers.Dense]:
    """Yields the linear maps of attention and feed-forward layers."""
    for name in ("encoder_stack", "decoder_stack"):
        stack = getattr(model, name, None)
        # Layers may share a block.
        for block in dict.fromkeys(stack.blocks) if stack else ():
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


def _check_numbers(rank: int, alpha: float | None) -> None:
    check_size("the rank of LoRA", rank)
    if alpha is None:
        return
    if isinstance(alpha, bool) or not isinstance(alpha, int | float):
        raise TypeError(f"lora_alpha must be a number, or None for the rank, got {alpha!r}.")
    if not 0 < alpha < math.inf:
        raise ValueError(f"lora_alpha must be positive and finite, got {alpha}.")


def _check_is_low(rank: int, layer: keras.layers.Dense) -> None:
    kernel = _kernel_of(layer)
    if rank > min(kernel.shape):
        raise ValueError(
            f"lora_rank={rank} is no low rank for {kernel.path}, which is "
            f"{' x '.join(map(str, kernel.shape))}: give at most {min(kernel.shape)}."
        )


def _check_can_be_merged(layers: Collection[keras.layers.Dense]) -> None:
    for layer in layers:
        if layer.quantization_mode is not None:
            raise ValueError(
                f"{layer.path} is quantized to {layer.quantization_mode}, so nothing can be added "
                "to it: merge first and quantize the merged model."
            )


def _merged_kernel(layer: keras.layers.Dense) -> np.ndarray:
    """Returns W + α/rank AB in float32; `layer.kernel` has it in the compute dtype."""
    kernel, first, second = (
        np.asarray(weight, np.float32)
        for weight in (_kernel_of(layer), layer.lora_kernel_a, layer.lora_kernel_b)
    )
    return kernel + layer.lora_alpha / layer.lora_rank * first @ second


def _kernel_of(layer: keras.layers.Dense) -> keras.Variable:
    """Returns W itself; once adapted, `layer.kernel` is the sum W + AB."""
    [kernel] = [weight for weight in layer.weights if weight.name == "kernel"]
    return kernel
