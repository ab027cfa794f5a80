"""What is made of single texts: options beside those of every training run."""

import dataclasses
from typing import Any, Literal


@dataclasses.dataclass(frozen=True, kw_only=True)
class TextOptions:
    """How a model learns from plain text.

    Args:
        masking: What masked-lm hides as a whole: single "tokens", "whole-words", or "spans" of
            three tokens on average.
        packing: Whether causal-lm joins texts to rows of --max-length tokens: "none" for a row a
            text, "documents" for rows within a document, which an empty line ends, "stream" for
            rows across documents.
    """

    masking: Literal["tokens", "whole-words", "spans"] = "tokens"
    packing: Literal["none", "documents", "stream"] = "none"

    def check(self, task: str) -> None:
        """Raises `ValueError` if an option is of another task."""
        for name, owner in (("masking", "masked-lm"), ("packing", "causal-lm")):
            value = getattr(self, name)
            if task != owner and value != getattr(TextOptions, name):
                raise ValueError(f"{name}={value!r} is for {owner}, not for {task}.")

    def to_dict(self) -> dict[str, Any]:
        """Returns the fields as plain JSON values."""
        return dataclasses.asdict(self)
