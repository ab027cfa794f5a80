"""Noise in shares of pairs: drawn from the seed, around spans."""

from collections import Counter

import pytest

from keras_transformer.markup.spans import find_spans
from keras_transformer.noise.pairs import (
    DEFAULT,
    NAMES,
    TESTED,
    noisy_pairs,
    noisy_test_sets,
    read_shares,
    with_noise,
)

SOURCES = ["Delete <b>%(name)s</b> in {dir}\\n?", "Go to http://example.org/a now."] * 100
TARGETS = ["<b>%(name)s</b> in {dir} löschen\\n?", "Gehe zu http://example.org/a."] * 100
ALL = dict.fromkeys(NAMES, 0.5)


def test_shares_of_0_change_nothing() -> None:
    found = with_noise(SOURCES, TARGETS, dict.fromkeys(NAMES, 0.0), seed=1)
    assert found == (SOURCES, TARGETS)


def test_a_seed_draws_the_same_again_and_another_one_does_not() -> None:
    drawn = with_noise(SOURCES, TARGETS, ALL, seed=7)
    assert drawn == with_noise(SOURCES, TARGETS, ALL, seed=7)
    assert drawn != with_noise(SOURCES, TARGETS, ALL, seed=8)


@pytest.mark.parametrize("kind", NAMES)
def test_spans_are_never_changed(kind: str) -> None:
    noisy = with_noise(SOURCES, TARGETS, {kind: 1.0}, seed=3)
    for plain, other in zip((*SOURCES, *TARGETS), (*noisy[0], *noisy[1]), strict=True):
        spans, left = (Counter(span.text for span in find_spans(one)) for one in (plain, other))
        # A merged pair has those of two, and a line break is a span itself.
        assert spans and not spans - left


def test_a_share_of_the_pairs_has_noise() -> None:
    noisy, _ = with_noise(SOURCES, TARGETS, {"capitals": 0.2}, seed=0)
    assert 20 <= sum(one != other for one, other in zip(SOURCES, noisy, strict=True)) <= 60


def test_a_merged_pair_has_the_next_one_behind_it() -> None:
    assert with_noise(["a", "b"], ["x", "y"], {"merged": 1.0}, seed=0) == (
        ["a b", "b a"],
        ["x y", "y x"],
    )


def test_a_pair_with_an_empty_side_stays_as_it_is() -> None:
    pairs = [("a", "b"), ("", "x"), ("y", " ")]
    drawn = noisy_pairs(pairs, {"merged": 1.0, "emoji": 1.0}, seed=0)
    first, *others = drawn
    assert first != pairs[0] and not set("xy") & set("".join(first))
    assert others == pairs[1:]


def test_no_pairs_have_no_noise() -> None:
    assert list(noisy_pairs([], ALL, seed=0)) == []


def test_shares_are_read_in_one_order() -> None:
    assert read_shares(["default"]) == DEFAULT
    assert list(read_shares(["emoji=0.1", "default", "typos=0"])) == [
        "punctuation",
        "title",
        "capitals",
        "emoji",
    ]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("capital=0.1", "got 'capital=0.1'; did you mean 'capitals'"),
        ("emoji", r"shares in \[0, 1\], such as emoji=0.05, got 'emoji'"),
        ("emoji=nan", "got 'emoji=nan'"),
        ("emoji=2", "got 'emoji=2'"),
    ],
)
def test_other_noise_is_refused(value: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_shares([value])


def test_one_string_is_no_list_of_shares() -> None:
    with pytest.raises(TypeError, match="got 'default'"):
        read_shares("default")


def test_a_test_set_is_the_same_each_time() -> None:
    first = list(noisy_test_sets(SOURCES, TARGETS))
    assert first == list(noisy_test_sets(SOURCES, TARGETS))
    assert [kind for kind, _, _ in first] == list(TESTED)
