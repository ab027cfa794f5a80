"""The probabilities of tokens in the two forms that OpenAI's API has."""

from collections.abc import Sequence
from typing import Any

from keras_transformer.runtime.prompts import TokenScore

# What stands for the logarithm of 0, which JSON has no number for.
_LEAST = -9999.0
MOST_BEST = 20


def of_completion(scores: Sequence[TokenScore], begin: int) -> dict[str, list[Any]]:
    """Returns columns of tokens, as completions have them.

    Args:
        scores: The tokens.
        begin: The place of the first one's text.
    """
    offsets = [begin]
    for one in scores:
        offsets.append(offsets[-1] + len(one.text))
    return {
        "tokens": [one.text for one in scores],
        "token_logprobs": [_finite(one.log_probability) for one in scores],
        "top_logprobs": [_best_of(one) for one in scores],
        "text_offset": offsets[:-1],
    }


def of_chat(scores: Sequence[TokenScore]) -> dict[str, Any]:
    """Returns rows of tokens, as chats have them."""
    return {
        "content": [
            {
                **_row(one.text, one.log_probability),
                "top_logprobs": [_row(text, value) for text, value in one.best],
            }
            for one in scores
        ],
        "refusal": None,
    }


def _best_of(one: TokenScore) -> dict[str, float | None] | None:
    """Returns the most probable tokens by their texts, and the token itself."""
    if one.log_probability is None or not one.best:
        return None
    found: dict[str, float | None] = {}
    for text, value in (*one.best, (one.text, one.log_probability)):
        found.setdefault(text, _finite(value))
    return found


def _row(text: str, value: float | None) -> dict[str, Any]:
    # Bytes of a character that the token holds a part of are not known.
    known = None if "\N{REPLACEMENT CHARACTER}" in text else list(text.encode())
    return {"token": text, "logprob": _finite(value), "bytes": known}


def _finite(value: float | None) -> float | None:
    return None if value is None else max(value, _LEAST)
