"""What is written as a model of another toolkit: ours, its tokenizers and a search's options."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from keras_transformer.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class Outgoing:
    """A model on its way out.

    Attributes:
        model: In float32.
        source: The tokenizer of sources, or of single texts.
        target: The tokenizer of targets; the same object if there is one vocabulary.
        search: Options of a search that the model is meant to be used with, as a run records them.
    """

    model: Any
    source: Tokenizer
    target: Tokenizer
    search: Mapping[str, Any] = field(default_factory=dict)

    @property
    def config(self) -> Any:
        """The model's config."""
        return self.model.config
