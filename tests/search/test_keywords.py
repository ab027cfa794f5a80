"""search/keywords.py: the typed keywords are the fields of `SearchOptions`."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, get_type_hints

import pytest

from keras_transformer.search.keywords import NBestKeywords, SearchKeywords, TranslateKeywords
from keras_transformer.search.options import SearchOptions, search_options

# Fields that take lists or objects, too, and keep tuples or strings.
ROWS = {
    "banned_sequences": Sequence[Sequence[int]],
    "forced_tokens": Sequence[Sequence[int]],
    "ban": str | Sequence[str],
    "require": str | Sequence[str],
    "stop": str | Sequence[str],
    "stop_tokens": Sequence[int],
    "json_schema": str | bool | Mapping[str, Any] | None,
    "choices": Sequence[str] | None,
}


def test_the_keywords_are_the_fields_in_their_order_and_of_their_types() -> None:
    fields = [field.name for field in dataclasses.fields(SearchOptions)]
    keywords, types = get_type_hints(SearchKeywords), get_type_hints(SearchOptions)
    assert list(keywords) == fields
    assert {name: keywords[name] for name in fields if name not in ROWS} == {
        name: types[name] for name in fields if name not in ROWS
    }
    assert {name: keywords[name] for name in ROWS} == ROWS
    assert not SearchKeywords.__required_keys__


@pytest.mark.parametrize("more", [TranslateKeywords, NBestKeywords])
def test_none_of_a_method_s_own_keywords_is_a_field(more: type) -> None:
    assert set(get_type_hints(more)) > set(get_type_hints(SearchKeywords))


@pytest.mark.parametrize("make", [SearchOptions, lambda **given: search_options({}, given)])
@pytest.mark.parametrize(
    ("name", "meant"),
    [("beam_sise", "beam_size"), ("beamsize", "beam_size"), ("Seed", "seed"), ("topk", "top_k")],
)
def test_a_misspelt_option_is_told_what_it_may_mean(make, name: str, meant: str) -> None:
    with pytest.raises(TypeError, match=f"no argument '{name}'; did you mean '{meant}'"):
        make(**{name: 4})


def test_an_option_like_no_other_gets_the_list() -> None:
    with pytest.raises(TypeError, match="no argument 'xyzzy'; it has beam_size, length_penalty, "):
        SearchOptions(xyzzy=1)
