"""The names of the figures that training reports, in the terms of what the model returns: a
classifier has an accuracy of its texts, a language model one of tokens and a perplexity.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

Values = TypeVar("Values")


class FigureNames(NamedTuple):
    """The names of the metrics of a head.

    Attributes:
        accuracy: The share of right predictions.
        predicted: What one prediction is for.
        has_perplexity: Whether perplexity is meaningful for the head.
    """

    accuracy: str
    predicted: str
    has_perplexity: bool = False


_OF_TOKENS = FigureNames("token_accuracy", "token", has_perplexity=True)
_OF_HEADS = {
    "classification": FigureNames("accuracy", "text"),
    # The share of pairs whose score is on the right side of 0.5.
    "regression": FigureNames("accuracy", "pair"),
    "tagging": FigureNames("tag_accuracy", "word"),
    # The share of texts for which the other text of their pair is the most similar of the batch.
    "embedding": FigureNames("retrieval_accuracy", "pair"),
}


def figure_names(head: str | None) -> FigureNames:
    """Returns the names for a head of an encoder; those of tokens for all other models."""
    return _OF_HEADS.get(head or "", _OF_TOKENS)


def renamed_figures(head: str | None, figures: Mapping[str, Values]) -> dict[str, Values]:
    """Returns a run's figures by today's names.

    In version 0.1 the figures of all heads had the names of tokens'. A perplexity is left out where
    it says nothing.

    Example:
        >>> renamed_figures("classification", {"val_token_accuracy": 0.9, "perplexity": 1.2})
        {'val_accuracy': 0.9}
    """
    names, found = figure_names(head), dict(figures)
    for side in ("", "val_"):
        before = found.pop(side + _OF_TOKENS.accuracy, None)
        if before is not None:
            found.setdefault(side + names.accuracy, before)
        if not names.has_perplexity:
            found.pop(f"{side}perplexity", None)
    return found


def names_for(model: Any) -> FigureNames:
    """Returns the names for a model, by the head that its config names, if it names one."""
    return figure_names(getattr(getattr(model, "config", None), "head", None))
