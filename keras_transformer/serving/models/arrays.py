"""A request's arrays: names, dtypes and shapes are checked against the signature, the lengths of
texts against the model's limit.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_transformer.artefact.signatures import Signature, TensorSpec
from keras_transformer.serving.errors import refusal
from keras_transformer.serving.models.rows import Arrays

_KINDS = {"string": "O", "int32": "i", "float32": "f", "bool": "b"}


def check_inputs(signature: Signature, inputs: Arrays) -> int:
    """Checks a request's arrays against a signature and returns the number of rows.

    Raises:
        ServingError: One is missing, unknown, of another dtype or shape, or holds a number out of
            range; the message names it.
    """
    names = [spec.name for spec in signature.required]
    more = [spec.name for spec in signature.optional]
    if not set(names) <= set(inputs) <= {*names, *more}:
        others = f" and may take {', '.join(more)}" if more else ""
        raise refusal(
            f"{signature.name} takes the inputs {', '.join(names)}{others}, got "
            f"{', '.join(sorted(inputs)) or 'none'}."
        )
    given = [spec for spec in (*signature.required, *signature.optional) if spec.name in inputs]
    for spec in given:
        array = inputs[spec.name]
        if array.dtype.kind != _KINDS[spec.dtype]:
            raise refusal(f"{spec.name} must be {spec.dtype}, got {array.dtype}.")
        if array.ndim != len(spec.shape):
            raise refusal(
                f"{spec.name} must have the shape {_shape_text(spec)}, got {list(array.shape)}."
            )
        _check_range(spec, array)
    sizes = {spec.name: len(inputs[spec.name]) for spec in given}
    if len(set(sizes.values())) > 1:
        found = ", ".join(f"{size} of {name}" for name, size in sizes.items())
        raise refusal(f"all inputs must have the same number of rows, got {found}.")
    return next(iter(sizes.values()))


def _check_range(spec: TensorSpec, array: npt.NDArray[Any]) -> None:
    """Refuses numbers that are not finite, or less than an input's least."""
    if spec.dtype not in ("int32", "float32"):
        return
    is_wrong = ~np.isfinite(array)
    if spec.least is not None:
        is_wrong |= array < spec.least
    if is_wrong.any():
        row = int(is_wrong.reshape(len(array), -1).any(1).argmax())
        value = array[row] if array.ndim == 1 else array[row][is_wrong[row]].ravel()[0]
        expected = "a finite number" if spec.dtype == "float32" else "an integer"
        least = "" if spec.least is None else f", at least {spec.least}"
        raise refusal(f"row {row} of {spec.name} must be {expected}{least}, got {value}.")


def _shape_text(spec: TensorSpec) -> str:
    return "[" + ", ".join("?" if size is None else str(size) for size in spec.shape) + "]"


def texts_of(inputs: Arrays, name: str) -> list[str]:
    """Returns the texts of an input; bytes that are not UTF-8 become U+FFFD."""
    return [text.decode(errors="replace") for text in inputs[name].tolist()]


def check_lengths(
    name: str, lengths: Iterable[int], limit: int | None, owners: Iterable[int] | None = None
) -> None:
    """Refuses texts that are too long.

    Args:
        name: The input's name.
        lengths: How many tokens each text, or each part of one, has.
        limit: Most tokens of a text or part; None if there is no limit.
        owners: The row of the input that each part belongs to; a row is one part if None.

    Raises:
        ServingError: A text is too long; the message names its row.
    """
    rows = enumerate(lengths) if owners is None else zip(owners, lengths, strict=True)
    for number, length in rows:
        if limit is not None and length > limit:
            raise refusal(
                f"row {number} of {name} has {length} tokens, more than the limit of {limit}: "
                "split the text."
            )
