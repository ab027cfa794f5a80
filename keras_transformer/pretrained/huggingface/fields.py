"""Reads the fields of a `config.json` of Hugging Face: checks what must hold and names what not."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keras_transformer.pretrained.errors import ImportRefusedError

# Hugging Face's names of activations → Keras's.
ACTIVATIONS = {
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "tanh": "tanh",
}


class Fields:
    """The fields of a config.

    Args:
        path: The file, for messages.
        values: Its content.

    Attributes:
        path: As given.
        values: As given.
    """

    def __init__(self, path: Path, values: Mapping[str, Any]) -> None:
        self.path = path
        self.values = values

    def __getitem__(self, name: str) -> Any:
        if name not in self.values:
            raise ImportRefusedError(f"{self.path} lacks the field {name}.")
        return self.values[name]

    def get(self, name: str, default: Any) -> Any:
        """Returns a field, or what the library takes for it if it is missing or null."""
        value = self.values.get(name)
        return default if value is None else value

    def activation(self, name: str, default: str | None = None) -> str:
        """Returns our name of an activation."""
        theirs = self[name] if default is None else self.get(name, default)
        if theirs not in ACTIVATIONS:
            raise ImportRefusedError(
                f"{self.path} has {name}: {theirs!r}, and only {', '.join(ACTIVATIONS)} are "
                "supported."
            )
        return ACTIVATIONS[theirs]

    def require(self, **expected: Any) -> None:
        """Raises `ImportRefusedError` unless fields are missing or have the given values."""
        for name, value in expected.items():
            if self.get(name, value) != value:
                raise ImportRefusedError(
                    f"{self.path} has {name}: {self.values[name]!r}, and only {value!r} is "
                    "supported."
                )

    def require_equal(self, *pairs: tuple[str, str]) -> None:
        """Raises `ImportRefusedError` unless encoder and decoder have the same sizes."""
        for one, other in pairs:
            if self[one] != self[other]:
                raise ImportRefusedError(
                    f"{self.path} has {one}: {self[one]!r} and {other}: {self[other]!r}; both "
                    "stacks must have the same blocks."
                )
