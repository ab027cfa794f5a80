"""The texts of the tf.Examples in a Classify or Regress request."""

from typing import Any

import numpy as np
import numpy.typing as npt

from keras_transformer.serving.errors import refusal

_FEATURE = "text"


def example_texts(given: Any) -> npt.NDArray[Any]:
    """Returns the texts of an `Input`: objects of bytes `(examples,)`.

    Args:
        given: A list of examples, with or without a context, whose features each of them has.

    Raises:
        ServingError: An example has no text, or other features.
    """
    with_context = given.example_list_with_context
    has_context = given.WhichOneof("kind") == "example_list_with_context"
    examples = with_context.examples if has_context else given.example_list.examples
    shared = dict(with_context.context.features.feature) if has_context else {}
    texts = [_text(number, shared, example) for number, example in enumerate(examples)]
    return np.array(texts, object)


def _text(number: int, shared: dict[str, Any], example: Any) -> bytes:
    features = {**shared, **example.features.feature}
    if set(features) != {_FEATURE}:
        found = ", ".join(sorted(features)) or "none"
        raise refusal(f"example {number} must have the feature {_FEATURE!r} alone, got {found}.")
    values = features[_FEATURE].bytes_list.value
    if len(values) != 1:
        raise refusal(
            f"{_FEATURE} of example {number} must be one string, got {len(values)} strings."
        )
    return values[0]
