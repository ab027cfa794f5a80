"""The model to write for another toolkit, with its tokenizers and a search's options."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from keras_transformer.generation.chat_template import ChatTemplate
from keras_transformer.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class Outgoing:
    """A model to be exported.

    Attributes:
        model: In float32.
        source: The tokenizer of sources, or of single texts.
        target: The tokenizer of targets; the same object if there is one vocabulary.
        search: Options of a search that the model is meant to be used with, as a run records them.
        unused: Weights that no part of the model reads, as it was imported, by name.
        chat: The template of chats; None if there is none.
    """

    model: Any
    source: Tokenizer
    target: Tokenizer
    search: Mapping[str, Any] = field(default_factory=dict)
    unused: Mapping[str, Any] = field(default_factory=dict)
    chat: ChatTemplate | None = None

    def check_sentencepiece(self, name: str) -> None:
        """Raises a ValueError if a tokenizer is not one of SentencePiece.

        Args:
            name: The format that needs it.
        """
        for tokenizer in (self.source, self.target):
            if tokenizer.kind != "sentencepiece":
                raise ValueError(
                    f"--format {name} needs tokenizers of SentencePiece, got one that is a "
                    f"{tokenizer.kind}: export as ctranslate2, onnx or saved_model."
                )

    @property
    def config(self) -> Any:
        """The model's config."""
        return self.model.config
