"""The functions of a served model as TensorFlow Serving describes them: names, dtypes and shapes of
what each takes and gives. The batch is axis 0 everywhere.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal, Protocol

from keras_transformer.search.options import SearchOptions
from keras_transformer.serving.errors import Code, ServingError

Dtype = Literal["string", "int32", "float32", "bool"]
DEFAULT_SIGNATURE = "serving_default"


@dataclasses.dataclass(frozen=True)
class TensorSpec:
    """One input or output.

    Args:
        name: Its name in requests and answers.
        dtype: "string" (an object array of bytes), "int32", "float32" or "bool".
        shape: Its sizes; None where a request decides.
    """

    name: str
    dtype: Dtype
    shape: tuple[int | None, ...]


@dataclasses.dataclass(frozen=True)
class Signature:
    """One function of a served model.

    Args:
        name: What a request calls it by.
        inputs: What it takes, in the order of documentation.
        outputs: What it gives, in the order of documentation.
    """

    name: str
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]


class Described(Protocol):
    """What the signatures depend on."""

    @property
    def config(self) -> Mapping[str, Any]:
        """The model's configuration as plain values."""
        ...

    @property
    def min_score(self) -> float | None:
        """The threshold of low confidence, if one is known."""
        ...

    @property
    def search(self) -> SearchOptions:
        """The search that is fixed at the start, its `max_length` one that the model allows."""
        ...


def signatures_of(model: Described) -> dict[str, Signature]:
    """Returns a model's signatures by name; `low_confidence` only where a threshold is known."""
    best = model.search.num_hypotheses
    length = model.search.max_length
    width = int(model.config["model_dim"])
    text = _strings("text")

    def hypotheses(columns: int | None) -> tuple[TensorSpec, ...]:
        shape = (None, columns)
        flag = TensorSpec("low_confidence", "bool", shape)
        return (
            TensorSpec("translations", "string", shape),
            TensorSpec("scores", "float32", shape),
            TensorSpec("log_probabilities", "float32", shape),
            *([] if model.min_score is None else [flag]),
        )

    translation = (_strings("translation"), _floats("score"))
    found = (
        Signature(DEFAULT_SIGNATURE, (text,), translation),
        Signature("translate_n_best", (text,), hypotheses(best)),
        Signature(
            "translate_sentences",
            (text,),
            (
                TensorSpec("count", "int32", (None,)),
                TensorSpec("sources", "string", (None, None)),
                TensorSpec("starts", "int32", (None, None)),
                *hypotheses(None),
                TensorSpec("ids", "int32", (None, None, None)),
            ),
        ),
        Signature(
            "score",
            (_strings("source"), _strings("target")),
            (_floats("score"), _floats("log_probability")),
        ),
        Signature(
            "encode",
            (text,),
            (
                TensorSpec("encoder_states", "float32", (None, None, width)),
                TensorSpec("mask", "bool", (None, None)),
            ),
        ),
        Signature(
            "translate_ids",
            (TensorSpec("source_ids", "int32", (None, None)),),
            (
                TensorSpec("ids", "int32", (None, length)),
                _floats("score"),
                _floats("log_probability"),
            ),
        ),
        Signature(
            "translate_with_options",
            (
                text,
                TensorSpec("max_length", "int32", (None,)),
                _floats("length_penalty"),
                _strings("target_prefix"),
            ),
            translation,
        ),
    )
    return {signature.name: signature for signature in found}


def signature_of(signatures: Mapping[str, Signature], name: str) -> Signature:
    """Returns a signature by name, the default one where the name is "".

    Raises:
        ServingError: There is none of that name.
    """
    try:
        return signatures[name or DEFAULT_SIGNATURE]
    except KeyError:
        raise ServingError(
            Code.INVALID_ARGUMENT,
            f'Serving signature name: "{name}" not found in signature def; there are '
            f"{', '.join(signatures)}.",
        ) from None


def _strings(name: str) -> TensorSpec:
    return TensorSpec(name, "string", (None,))


def _floats(name: str) -> TensorSpec:
    return TensorSpec(name, "float32", (None,))
