"""The fields of `SearchOptions` as keyword arguments: their types, for editors and type checkers,
and the options that they make together with a model's own defaults.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from keras_transformer.search.options import EarlyStopping, LengthPenaltyType, SearchOptions

# A model's own count as soon as samples are wanted, which only a caller decides.
_OF_SAMPLES = ("temperature", "top_k", "top_p")
# Most calls give options that were checked before.
_known = functools.lru_cache(maxsize=64, typed=True)(SearchOptions)


class SearchKeywords(TypedDict, total=False):
    """Options of a search; `SearchOptions` says what each means."""

    beam_size: int
    length_penalty: float
    length_penalty_type: LengthPenaltyType
    num_hypotheses: int
    max_length: int
    max_length_ratio: float | None
    min_length: int
    early_stopping: EarlyStopping
    no_repeat_ngram_size: int
    repetition_penalty: float
    banned_sequences: Sequence[Sequence[int]]
    forced_tokens: Sequence[Sequence[int]]
    ban: str | Sequence[str]
    require: str | Sequence[str]
    stop: str | Sequence[str]
    stop_tokens: Sequence[int]
    json_schema: str | bool | Mapping[str, Any] | None
    regex: str | None
    choices: Sequence[str] | None
    sample: bool
    temperature: float
    top_k: int
    top_p: float
    seed: int | None
    source_language: str | None
    target_language: str | None
    first_place: int


class TranslateKeywords(SearchKeywords, total=False):
    """The keyword arguments of `TextTranslator.translate`."""

    target_prefixes: Sequence[str] | None
    replace_unk: bool


class NBestKeywords(SearchKeywords, total=False):
    """The keyword arguments of `TextTranslator.translate_n_best`."""

    target_prefixes: Sequence[str] | None
    return_attention: bool
    return_scores: bool
    replace_unk: bool


def with_defaults(own: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the fields of `SearchOptions` that the caller or the model sets.

    A default of the model is dropped if it contradicts a given option: its beams if samples are
    wanted, how it draws samples if none are, its shortest translation if a given limit is lower,
    and the reverse.

    Args:
        own: The model's own defaults; empty unless another toolkit gave it some.
        given: The caller's options.

    Example:
        >>> with_defaults({"beam_size": 4, "min_length": 10}, {"max_length": 8})
        {'beam_size': 4, 'max_length': 8}
    """
    if not own:
        return dict(given)
    unused = ("beam_size",) if given.get("sample") is True else _OF_SAMPLES
    kept = {name: value for name, value in own.items() if name not in (*given, *unused)}
    shortest, longest = ({**kept, **given}.get(name) for name in ("min_length", "max_length"))
    if isinstance(shortest, int) and isinstance(longest, int) and shortest > longest:
        kept = {name: kept[name] for name in kept if name not in ("min_length", "max_length")}
    return {**kept, **given}


def search_options(own: Mapping[str, Any], given: Mapping[str, Any]) -> SearchOptions:
    """Returns the options of `with_defaults`, checked.

    Raises:
        TypeError: An option is of the wrong type, or an option is unknown.
        ValueError: An option is out of range, or two of them do not match.
    """
    fields = with_defaults(own, given)
    try:
        return _known(**fields)
    except TypeError:  # A list, which no table of known options holds, or an error of its own.
        return SearchOptions(**fields)


def check_defaults(own: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a model's own defaults as a dict.

    Raises:
        ValueError: They are not fields of `SearchOptions`, or out of range.
    """
    try:
        for sample in (False, True):
            SearchOptions(**with_defaults(own, {"sample": sample}))
    except (TypeError, ValueError) as error:
        message = f"the search options of the imported model are not valid: {error}"
        raise ValueError(message) from error
    return dict(own)


def taken(own: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the model's defaults that are in effect, for commands and logs to show."""
    return {name: one for name, one in with_defaults(own, given).items() if name not in given}
