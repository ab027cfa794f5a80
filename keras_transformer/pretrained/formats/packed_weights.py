"""Weights of a few bits in checkpoints of Hugging Face, as GPTQ (Frantar et al. 2022) and AWQ (Lin
et al. 2023) leave them: integers packed in 32 bits, with a scale and a zero point for each group.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.tensor_files import Array, Tensors
from keras_transformer.pretrained.values import FileValues

CONFIG = "quantization_config"
_WORD = 32
# The outputs that lie in the 4-bit parts of a word, the lowest part first.
_AWQ_ORDER = (0, 2, 4, 6, 1, 3, 5, 7)
# The kinds of either method that are laid out as here, under the names that files have for them.
_LAYOUTS = {"gptq": ("gptq", "gptq_v2"), "awq": ("gemm",)}
_BITS = {"gptq": (4, 8), "awq": (4,)}
_PARTS = ("qzeros", "scales", "g_idx")


def unpack_weights(tensors: Tensors, config: FileValues) -> tuple[Tensors, tuple[str, ...]]:
    """Returns a model's tensors with weights in place of packed ones.

    Args:
        tensors: Those of the file.
        config: Its `quantization_config`.

    Returns:
        Tensors in which `name.weight`, float32 `(outputs, inputs)`, stands for `name.qweight`,
        `name.qzeros`, `name.scales` and `name.g_idx`, and the names of biases of zeros, which some
        files have for layers without a bias.

    Raises:
        ImportRefusedError: The weights are of another method or packed in another way.
    """
    method = config.text("quant_method")
    if method not in _LAYOUTS:
        raise ImportRefusedError(
            f"{config.origin} has quant_method: {method!r}, and only weights of gptq and awq are "
            "supported: take the model in float16 or bfloat16."
        )
    bits = config.integer("bits", 4)
    layout = config.text(
        "checkpoint_format", config.text("format", config.text("version", _LAYOUTS[method][0]))
    ).lower()
    if bits not in _BITS[method] or layout not in _LAYOUTS[method]:
        raise ImportRefusedError(
            f"{config.origin} describes weights of {bits} bits in the form {layout!r}; of "
            f"{method}, only {' and '.join(map(str, _BITS[method]))} bits in the form "
            f"{' or '.join(_LAYOUTS[method])} are supported."
        )
    if config.get("dynamic", None):
        raise ImportRefusedError(
            f"{config.origin} has dynamic: {config['dynamic']!r}, and only layers of the same "
            "number of bits are supported."
        )
    read: Callable[..., Any] = (
        _of_awq if method == "awq" else partial(_of_gptq, bits, layout == "gptq")
    )
    readers: dict[str, Callable[[], Array]] = {}
    packed = {name.removesuffix("qweight") for name in tensors if name.endswith(".qweight")}
    for name in tensors:
        layer, _, part = name.rpartition(".")
        if f"{layer}." not in packed or part not in ("qweight", *_PARTS):
            readers[name] = partial(tensors.__getitem__, name)
        elif part == "qweight":
            readers[f"{layer}.weight"] = partial(_weight, tensors, layer, read)
    biases = (f"{layer}bias" for layer in sorted(packed))
    empty = tuple(name for name in biases if name in tensors and not tensors[name].any())
    return Tensors(readers, tensors.origin), empty


def _weight(tensors: Tensors, layer: str, read: Callable[..., Any]) -> Array:
    """Reads one weight, float32 `(outputs, inputs)`."""
    try:
        words = [tensors[f"{layer}.{name}"] for name in ("qweight", "qzeros")]
        scales = tensors[f"{layer}.scales"].astype(np.float32)
        groups = tensors.get(f"{layer}.g_idx")
        if any(one.dtype != np.int32 or one.ndim != 2 for one in words) or scales.ndim != 2:
            raise ValueError("packed integers are not int32 in rows and columns")
        values, zeros = read(*(one.view(np.uint32) for one in words))
        outputs, inputs = values.shape[1], values.shape[0]
        if not values.size or zeros.shape != scales.shape or scales.shape[1] != outputs:
            raise ValueError(f"{values.shape} integers have {scales.shape} scales")
        if groups is None and inputs % len(scales) == 0:
            groups = np.arange(inputs) // (inputs // len(scales))
        if groups is None or groups.shape != (inputs,) or groups.dtype.kind != "i":
            raise ValueError(f"there is no group for each of {inputs} inputs")
        if groups.min() < 0 or groups.max() >= len(scales):
            raise ValueError(f"groups are not in 0 to {len(scales) - 1}")
        steps = values.astype(np.float32) - zeros.astype(np.float32)[groups]
        return np.ascontiguousarray((steps * scales[groups]).T)
    except (KeyError, ValueError) as error:
        raise ImportRefusedError(
            f"{tensors.origin}: the packed weight {layer} cannot be read: {error}"
        ) from error


def _of_gptq(bits: int, is_first: bool, words: Array, zeros: Array) -> tuple[Array, Array]:
    """Returns integers `(inputs, outputs)` and zero points `(groups, outputs)`.

    Args:
        bits: Those of an integer.
        is_first: Whether zero points are stored less 1, as the first form has them.
        words: uint32 `(inputs / parts of a word, outputs)`.
        zeros: uint32 `(groups, outputs / parts of a word)`.
    """
    if is_first:  # Of whole words, as the 1 was taken off.
        zeros = zeros + np.uint32(sum(1 << shift for shift in range(0, _WORD, bits)))
    return _parts(words.T, bits).T, _parts(zeros, bits)


def _of_awq(words: Array, zeros: Array) -> tuple[Array, Array]:
    """As `_of_gptq`, of words whose parts are outputs in both."""
    return _parts(words, 4, _AWQ_ORDER), _parts(zeros, 4, _AWQ_ORDER)


def _parts(words: Array, bits: int, order: tuple[int, ...] | None = None) -> Array:
    """Returns the parts of words, one after another along the last axis."""
    shifts = np.arange(0, _WORD, bits, dtype=np.uint32)
    if order is not None:
        shifts = shifts[np.argsort(order)]
    found = words[..., None] >> shifts & np.uint32((1 << bits) - 1)
    return found.reshape(*words.shape[:-1], -1)
