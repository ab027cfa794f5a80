"""The fields of `SearchOptions` as typed keyword arguments, for editors and type checkers; a test
compares the two.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from keras_transformer.search.options import EarlyStopping, LengthPenaltyType


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
