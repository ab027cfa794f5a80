"""The fields of a completion that choose its search, and those that change no answer."""

from typing import Any

from keras_transformer.serving.http.openai.fields import Fields

# Tell what a request is for, or how it is paid, cached and kept.
SILENT = (
    *("user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key"),
    *("prompt_cache_retention", "prompt_cache_options"),
)
# Not supported, with the values that ask for nothing.
SEARCH_NEUTRAL: dict[str, tuple[Any, ...]] = {
    "frequency_penalty": (0,),
    "presence_penalty": (0,),
    "logit_bias": ({},),
}
MOST_TEXTS, MOST_TOKENS = 128, 2**31
_INT64 = 2**63


def read_search(fields: Fields, most_tokens: int | None, count: int) -> dict[str, Any]:
    """Takes the fields of a search and returns those of `SearchOptions` that they set.

    Samples are drawn where a field of theirs is given, or several texts are wanted, unless the
    temperature is 0.

    Args:
        fields: The fields.
        most_tokens: Most tokens, as another field gives them; None for the server's.
        count: How many texts each prompt gets.
    """
    temperature = fields.number("temperature", least=0, most=2)
    drawn = {
        "top_p": fields.number("top_p", least=0, most=1, above=True),
        "top_k": fields.integer("top_k", least=0, most=_INT64),
        "seed": fields.integer("seed", least=-_INT64, most=_INT64 - 1),
    }
    drawn = {name: value for name, value in drawn.items() if value is not None}
    found: dict[str, Any] = {
        "stop": fields.strings("stop") or None,
        "min_length": fields.integer("min_tokens", least=0, most=_INT64),
        "repetition_penalty": fields.number("repetition_penalty", least=0, most=1e6, above=True),
        "max_length": most_tokens,
    }
    found = {name: value for name, value in found.items() if value is not None}
    if temperature == 0:
        return {**found, "sample": False}
    if temperature is None and not drawn and count == 1:
        return found
    if "seed" in drawn:
        drawn["seed"] %= 2 * _INT64
    if temperature is not None:
        drawn["temperature"] = temperature
    return {**found, **drawn, "sample": True}
