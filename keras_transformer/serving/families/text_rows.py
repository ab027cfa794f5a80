"""Texts of a request as rows, and answers as arrays, for the families with one stack."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from keras_transformer.serving.errors import Code, ServingError
from keras_transformer.serving.models.outputs import filled, strings
from keras_transformer.serving.models.rows import Arrays


def texts_of(inputs: Arrays, name: str) -> list[str]:
    """Returns the texts of an input; bytes that are not UTF-8 become U+FFFD."""
    return [text.decode(errors="replace") for text in inputs[name].tolist()]


def check_lengths(name: str, lengths: Sequence[int], limit: int | None) -> None:
    """Refuses texts that are too long.

    Args:
        name: The input's name.
        lengths: How many tokens each text has.
        limit: Most tokens of a text; None if there is no limit.

    Raises:
        ServingError: A text is too long; the message names its row.
    """
    for number, length in enumerate(lengths):
        if limit is not None and length > limit:
            raise refusal(
                f"row {number} of {name} has {length} tokens, more than the limit of {limit}: "
                "split the text."
            )


def cuts_of(name: str, lengths: Sequence[int], limit: int | None) -> list[str]:
    """Returns the log's messages about texts that are cut; arguments are as for `check_lengths`."""
    return [
        f"row {number} of {name} was cut: it has {length} tokens, {limit} are read."
        for number, length in enumerate(lengths)
        if limit is not None and length > limit
    ]


def refusal(message: str) -> ServingError:
    """Returns the error for a request that cannot be answered."""
    return ServingError(Code.INVALID_ARGUMENT, message)


def grid(rows: Sequence[Sequence[str]], columns: int) -> npt.NDArray[np.object_]:
    """Returns rows of texts as an array of bytes `(rows, columns)`, filled up with empty ones."""
    flat = [text for row in rows for text in filled(row, columns, "")]
    return strings(flat).reshape(len(rows), columns)
