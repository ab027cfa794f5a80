"""Reads the fields of a `config.json` of Hugging Face: checks what must hold and names what not."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.values import FileValues
from keras_transformer.text.subwords.interface import MOST_IDS

# Hugging Face's names of activations → Keras's.
ACTIVATIONS = {
    "relu": "relu",
    "relu2": "squared_relu",
    "silu": "silu",
    "swish": "silu",
    "gelu": "gelu",
    "gelu_python": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "tanh": "tanh",
}


class Fields(FileValues):
    """The fields of a config.

    Args:
        path: The file, for messages.
        values: Its content.

    Attributes:
        path: The file, for messages.
        values: Its content.
    """

    def __init__(self, path: Path, values: Mapping[str, Any]) -> None:
        super().__init__(path, values)
        self.path = path

    def token_id(self, name: str) -> int | None:
        """Returns the id of a token; None if there is none, which some write as -1."""
        found = self.integer(name, -1, least=-1, most=MOST_IDS)
        return None if found == -1 else int(found)

    def first_text(self, name: str, default: str) -> str:
        """Returns the first string of a list; the default of an empty one, too."""
        listed = self.sequence(name, [default]) or [default]
        return str(FileValues(self.origin, {name: listed[0]}).text(name))

    def activation(self, name: str, default: str | None = None) -> str:
        """Returns our name of an activation."""
        theirs = self.text(name) if default is None else self.text(name, default)
        if theirs not in ACTIVATIONS:
            raise ImportRefusedError(
                f"{self.path} has {name}: {theirs!r}, and only {', '.join(ACTIVATIONS)} are "
                "supported."
            )
        return ACTIVATIONS[theirs]

    def require_equal(self, *pairs: tuple[str, str]) -> None:
        """Raises `ImportRefusedError` unless encoder and decoder have the same sizes."""
        for one, other in pairs:
            if self[one] != self[other]:
                raise ImportRefusedError(
                    f"{self.path} has {one}: {self[one]!r} and {other}: {self[other]!r}; both "
                    "stacks must have the same blocks."
                )
