"""The fields of a completion that choose its search, and those that change no answer."""

from typing import Any

from keras_transformer.search.grammars import GRAMMARS
from keras_transformer.serving.errors import refusal
from keras_transformer.serving.http.openai.fields import Fields, wrong

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
_FORMATS = ("text", "json_object", "json_schema")
_ANY_OBJECT = {"type": "object"}
# vLLM's names of ours.
_STRUCTURED = {"json": "json_schema", "regex": "regex", "choice": "choices"}


def read_search(fields: Fields, most_tokens: int | None, count: int) -> dict[str, Any]:
    """Takes the fields of a search and returns those of `SearchOptions` that they set.

    Samples are drawn if a field for samples is given or several texts are wanted, unless the
    temperature is 0.

    Args:
        fields: The fields.
        most_tokens: Most tokens, as another field gives them; None for the server's.
        count: Number of texts for each prompt.
    """
    temperature = fields.number("temperature", least=0, most=2)
    drawn = {
        "top_p": fields.number("top_p", least=0, most=1, above=True),
        "top_k": fields.integer("top_k", least=0, most=_INT64),
        "seed": fields.integer("seed", least=-_INT64, most=_INT64 - 1),
    }
    drawn = {name: value for name, value in drawn.items() if value is not None}
    found: dict[str, Any] = {
        **_read_grammar(fields),
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


def _read_grammar(fields: Fields) -> dict[str, Any]:
    """Takes what the whole text must follow, in OpenAI's words, vLLM's and our own, and returns the
    field of `SearchOptions` that it sets, if any.

    Raises:
        ServingError: A field is not valid, or there are several.
    """
    found = {name: fields.take(name) for name in GRAMMARS if name in fields}
    formats = (_read_format(fields), _read_structured(fields))
    if len(found) + sum(map(len, formats)) > 1:
        raise refusal(
            f"response_format, structured_outputs, {', '.join(GRAMMARS)} exclude each other: give "
            "one of them."
        )
    for one in formats:
        found |= one
    return found


def _read_format(fields: Fields) -> dict[str, Any]:
    name = "response_format"
    if name not in fields:
        return {}
    within = _object(fields, name)
    match within.choice("type", _FORMATS, ""):
        case "json_object":
            found = {"json_schema": _ANY_OBJECT}
        case "json_schema":
            schema = _object(within, "json_schema")
            found = {"json_schema": schema.required("schema")}
            if not isinstance(found["json_schema"], dict):
                raise wrong("schema", "an object", found["json_schema"])
            # Every answer fulfils the schema, strict or not.
            schema.finish(("name", "description", "strict"), {})
        case _:
            found = {}
    within.finish((), {})
    return found


def _read_structured(fields: Fields) -> dict[str, Any]:
    name = "structured_outputs"
    if name not in fields:
        return {}
    within = _object(fields, name)
    found = {own: within.take(theirs) for theirs, own in _STRUCTURED.items() if theirs in within}
    if within.flag("json_object"):
        if found:
            raise refusal("json_object and others exclude each other: give one of them.", name)
        found = {"json_schema": _ANY_OBJECT}
    within.finish((), {})
    return found


def _object(fields: Fields, name: str) -> Fields:
    value = fields.required(name)
    if not isinstance(value, dict):
        raise wrong(name, "an object", value)
    return Fields(value)
