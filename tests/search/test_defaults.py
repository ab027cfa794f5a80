"""What a search is done with: the caller's options, the model's own, or the defaults."""

import dataclasses

import pytest

from keras_transformer.search.defaults import (
    check_defaults,
    search_options,
    taken,
    with_defaults,
)
from keras_transformer.search.options import SearchOptions

OWN = {"beam_size": 4, "length_penalty": 1.0, "min_length": 10, "max_length": 60}


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
