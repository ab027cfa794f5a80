"""Keywords of a search: their types are those of `SearchOptions`; and which options count: the
caller's, the model's own, or the defaults."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, get_type_hints

import pytest

from keras_transformer.search.keywords import (
    NBestKeywords,
    SearchKeywords,
    TranslateKeywords,
    check_defaults,
    search_options,
    taken,
    with_defaults,
)
from keras_transformer.search.options import SearchOptions

OWN = {"beam_size": 4, "length_penalty": 1.0, "min_length": 10, "max_length": 60}
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


@pytest.mark.parametrize(
    ("given", "merged"),
    [
        ({}, OWN),
        ({"beam_size": 1}, {**OWN, "beam_size": 1}),
        # As the server's options are: all of them.
        (dataclasses.asdict(SearchOptions()), dataclasses.asdict(SearchOptions())),
        ({"sample": True}, {"sample": True, "length_penalty": 1.0, **dict([*OWN.items()][2:])}),
        ({"max_length": 8}, {"beam_size": 4, "length_penalty": 1.0, "max_length": 8}),
        ({"min_length": 70}, {"beam_size": 4, "length_penalty": 1.0, "min_length": 70}),
    ],
    ids=["nothing", "one", "all", "samples", "shorter", "longer"],
)
def test_what_is_given_wins_and_defaults_give_way(given: dict, merged: dict) -> None:
    assert with_defaults(OWN, given) == merged
    assert search_options(OWN, given) == SearchOptions(**merged)
    shown = {name: one for name, one in merged.items() if name not in given}
    assert taken(OWN, given) == shown


def test_how_samples_are_drawn_counts_if_they_are_wanted() -> None:
    own = check_defaults({"beam_size": 4, "temperature": 0.6, "top_k": 50, "top_p": 0.9})
    assert search_options(own, {}) == SearchOptions(beam_size=4)
    drawn = {"sample": True, "temperature": 0.6, "top_k": 50, "top_p": 0.9}
    assert search_options(own, {"sample": True}) == SearchOptions(**drawn)
    assert search_options(own, {"sample": True, "top_k": 3}).top_k == 3
    with pytest.raises(ValueError, match="meant for sampling"):
        search_options(own, {"top_p": 0.5})


def test_a_model_without_defaults_has_ours() -> None:
    assert search_options({}, {}) == SearchOptions()


@pytest.mark.parametrize(
    "own", [{"beams": 4}, {"beam_size": 0}, {"beam_size": "4"}, {"top_p": 2.0}], ids=str
)
def test_damaged_defaults_are_refused(own: dict) -> None:
    with pytest.raises(
        ValueError, match="the search options of the imported model are not valid: "
    ):
        check_defaults(own)
