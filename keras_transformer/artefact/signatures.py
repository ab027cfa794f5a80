"""The signatures of a served model: what each function takes and returns. Our server describes them
to its clients, and a SavedModel's graph is traced from them. The batch is axis 0.
"""

import dataclasses
import functools
from typing import Literal

import numpy as np

Dtype = Literal["string", "int32", "float32", "bool"]
DEFAULT_SIGNATURE = "serving_default"
# The score of what is missing: JSON has no infinity.
LOWEST = float(np.finfo(np.float32).min)


@dataclasses.dataclass(frozen=True)
class TensorSpec:
    """One input or output.

    Args:
        name: Its name in requests and answers.
        dtype: "string" (an object array of bytes), "int32", "float32" or "bool".
        shape: Its sizes; None if a request decides.
        description: What it is, for readers of the documentation.
        least: The least number that the server takes; None for any.
        has_default: Whether our server has a value for it where a request leaves it out; a
            SavedModel has none.
        is_json: Whether its strings are JSON, whose objects a request in JSON may hold as they are.
    """

    name: str
    dtype: Dtype
    shape: tuple[int | None, ...]
    description: str = ""
    least: int | None = None
    has_default: bool = False
    is_json: bool = False


@dataclasses.dataclass(frozen=True)
class Signature:
    """One function of a served model.

    Args:
        name: What a request calls it by.
        inputs: What it takes, in the order of documentation.
        outputs: What it returns, in the order of documentation.
        description: What it does, for readers of the documentation.
        more: Inputs that only our server takes; a request may leave out each.
    """

    name: str
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    description: str = ""
    more: tuple[TensorSpec, ...] = ()

    @functools.cached_property
    def required(self) -> tuple[TensorSpec, ...]:
        """The inputs that every request to our server has."""
        return tuple(spec for spec in self.inputs if not spec.has_default)

    @functools.cached_property
    def optional(self) -> tuple[TensorSpec, ...]:
        """The inputs that a request to our server may leave out."""
        return (*(spec for spec in self.inputs if spec.has_default), *self.more)


def strings(name: str, description: str) -> TensorSpec:
    """Returns the spec of a string for each row."""
    return TensorSpec(name, "string", (None,), description)


def ids_input(name: str, description: str) -> TensorSpec:
    """Returns the spec of rows of ids."""
    return TensorSpec(name, "int32", (None, None), description)


def option(spec: TensorSpec) -> TensorSpec:
    """Returns the spec of an input for which our server has a value."""
    return dataclasses.replace(spec, has_default=True)


def states_of(model_dim: int | None) -> tuple[TensorSpec, ...]:
    """Returns the specs of an encoder's states."""
    shape = (None, None, model_dim)
    return (
        TensorSpec("encoder_states", "float32", shape, "The states, zeros at padding."),
        TensorSpec("mask", "bool", (None, None), "True at a token, the end token included."),
    )


def by_name(*signatures: Signature) -> dict[str, Signature]:
    """Returns signatures by their names."""
    return {signature.name: signature for signature in signatures}
