"""The probabilities of tokens in the two forms that OpenAI's API has."""

from collections.abc import Sequence
from typing import Any

from keras_transformer.runtime.prompts import TokenScore, places

# What stands for the logarithm of 0, which JSON has no number for.
_LEAST = -9999.0
MOST_BEST = 20


def of_completion(scores: Sequence[TokenScore], begin: int) -> dict[str, list[Any]]:
    """Returns columns of tokens, as completions have them.

    Args:
        scores: The tokens.
        begin: The place of the first one's text.
    """
    return {
        "tokens": [_text(one.spelled) for one in scores],
        "token_logprobs": [_finite(one.log_probability) for one in scores],
        "top_logprobs": [_best_of(one) for one in scores],
        "text_offset": places(scores, begin)[:-1],
    }


def of_chat(scores: Sequence[TokenScore]) -> dict[str, Any]:
    """Returns rows of tokens, as chats have them."""
    return {
        "content": [
            {
                **_row(one.spelled, one.log_probability),
                "top_logprobs": [_row(spelled, value) for spelled, value in one.best],
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
    for spelled, value in (*one.best, (one.spelled, one.log_probability)):
        found.setdefault(_text(spelled), _finite(value))
    return found


def _row(spelled: bytes, value: float | None) -> dict[str, Any]:
    text = spelled.decode(errors="replace")
    return {"token": text, "logprob": _finite(value), "bytes": list(spelled)}


def _text(spelled: bytes) -> str:
    """Returns a token's text; of parts of a character the bytes, as OpenAI's completions do."""
    try:
        return spelled.decode()
    except UnicodeDecodeError:
        return "bytes:" + "".join(f"\\x{byte:02x}" for byte in spelled)


def _finite(value: float | None) -> float | None:
    return None if value is None else max(value, _LEAST)
