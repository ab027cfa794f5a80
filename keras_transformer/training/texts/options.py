"""What is made of single texts: options beside those of every training run."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal

# The task of each option.
_OWNERS = {"masking": "masked-lm", "packing": "causal-lm", "next_sentence": "masked-lm"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class TextOptions:
    """How a model learns from plain text.

    Args:
        masking: What masked-lm hides as a whole: single "tokens", "whole-words", or "spans" of
            three tokens on average.
        packing: Whether causal-lm joins texts to rows of --max-length tokens: "none" for a row a
            text, "documents" for rows within a document, which an empty line ends, "stream" for
            rows across documents.
        next_sentence: Whether masked-lm also learns to tell if a sentence follows another one, as
            BERT does: a line is a sentence, and an empty line ends a document.
    """

    masking: Literal["tokens", "whole-words", "spans"] = "tokens"
    packing: Literal["none", "documents", "stream"] = "none"
    next_sentence: bool = False

    def check(self, task: str) -> None:
        """Raises `ValueError` if an option is of another task."""
        for name, owner in _OWNERS.items():
            value = getattr(self, name)
            if task != owner and value != getattr(TextOptions, name):
                raise ValueError(f"{name}={value!r} is for {owner}, not for {task}.")

    def check_texts(self, texts: Sequence[Any]) -> None:
        """Raises `ValueError` if texts lack what an option needs.

        Args:
            texts: Those to train on, and those to validate on.
        """
        for one in texts:
            if self.next_sentence and one.num_documents < 2:
                raise ValueError(
                    "next_sentence draws random sentences of other documents, and "
                    f"{one.origin} has one document only: separate documents by empty lines."
                )

    def to_dict(self) -> dict[str, Any]:
        """Returns the fields as plain JSON values."""
        return dataclasses.asdict(self)
