"""Search options: what they refuse, and that they need neither Keras nor TensorFlow."""

import subprocess
import sys

import numpy as np
import pytest

from keras_transformer.search.options import Hypothesis, SearchOptions, length_penalty


def test_the_default_is_greedy() -> None:
    options = SearchOptions()
    assert (options.beam_size, options.num_hypotheses) == (1, 1)
    assert (options.length_penalty, options.max_length) == (0.6, 256)
    assert options.min_length == 1


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"beam_size": 0}, "beam_size must be at least 1, got 0"),
        ({"num_hypotheses": -1}, "num_hypotheses must be at least 1, got -1"),
        ({"max_length": 0}, "max_length must be at least 1, got 0"),
        ({"min_length": -1}, "min_length must be at least 0, got -1"),
        ({"no_repeat_ngram_size": -2}, "no_repeat_ngram_size must be at least 0, got -2"),
        ({"sample": True, "top_k": -1}, "top_k must be at least 0, got -1"),
        ({"sample": True, "seed": -1}, "seed must be at least 0, got -1"),
        ({"num_hypotheses": 2}, r"num_hypotheses \(2\) is more than beam_size \(1\): raise"),
        ({"length_penalty": -0.1}, "length_penalty must be finite and at least 0, got -0.1"),
        ({"length_penalty": float("nan")}, "length_penalty must be finite .* got nan"),
        ({"length_penalty": float("inf")}, "length_penalty must be finite .* got inf"),
        ({"repetition_penalty": 0}, "repetition_penalty must be finite and above 0, got 0"),
        ({"max_length_ratio": 0.0}, "max_length_ratio must be finite and above 0, got 0.0"),
        ({"sample": True, "temperature": 0}, "above 0, got 0.0: leave it and sample=True out for"),
        (
            {"sample": True, "temperature": -1},
            r"temperature must be finite and above 0, got -1.0\.",
        ),
        ({"sample": True, "top_p": 0}, "top_p must be finite and above 0, got 0"),
        ({"sample": True, "top_p": 1.5}, r"top_p is a probability in \(0, 1\], got 1.5"),
        (
            {"length_penalty_type": "linear"},
            "length_penalty_type must be one of gnmt, exponent, got 'linear'",
        ),
        (
            {"early_stopping": True},
            "early_stopping must be one of first, likely, exact, got True",
        ),
        ({"max_length": 2**20 + 1}, "max_length must be at most 1048576, got 1048577"),
        ({"length_penalty": 10**400}, "length_penalty must be finite and at least 0, got inf"),
        (
            {"min_length": 6, "max_length": 5},
            r"min_length \(6\) is more than max_length \(5\)",
        ),
        (
            {"banned_sequences": [[4], []]},
            r"each of banned_sequences must hold one or more token ids, got \[\]",
        ),
        (
            {"banned_sequences": [[4, -1]]},
            r"each of banned_sequences must hold one or more token ids, got \[4, -1\]",
        ),
        (
            {"forced_tokens": [[0, 4, 5]]},
            r"each of forced_tokens must hold a position and a token id, got \[0, 4, 5\]",
        ),
        (
            {"forced_tokens": [[-1, 4]]},
            r"each of forced_tokens must hold a position and a token id, got \[-1, 4\]",
        ),
        (
            {"forced_tokens": [[1, 4], [1, 5]]},
            r"forced_tokens names a position twice: \[\(1, 4\), \(1, 5\)\]",
        ),
        ({"sample": True, "beam_size": 2}, "sample=True needs beam_size 1, got 2"),
        ({"temperature": 0.5}, "temperature is meant for sampling: give sample=True"),
        ({"top_k": 5}, "top_k is meant for sampling: give sample=True"),
        ({"top_p": 0.5}, "top_p is meant for sampling: give sample=True"),
        ({"seed": 0}, "seed is meant for sampling: give sample=True"),
    ],
)
def test_a_value_out_of_range_is_named(fields: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SearchOptions(**fields)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"beam_size": 2.0}, "beam_size must be an integer, got 2.0"),
        ({"beam_size": True}, "beam_size must be an integer, got True"),
        ({"max_length": None}, "max_length must be an integer, got None"),
        ({"seed": "1"}, "seed must be an integer, got '1'"),
        ({"length_penalty": "0.6"}, "length_penalty must be a number, got '0.6'"),
        ({"repetition_penalty": None}, "repetition_penalty must be a number, got None"),
        ({"max_length_ratio": True}, "max_length_ratio must be a number, got True"),
        ({"sample": 1}, "sample must be True or False, got 1"),
        (
            {"banned_sequences": [4, 5]},
            r"banned_sequences must be a list of lists of integers, got \[4, 5\]",
        ),
        (
            {"banned_sequences": [[5.9]]},
            r"banned_sequences must be a list of lists of integers, got \[\[5.9\]\]",
        ),
        (
            {"forced_tokens": [["first", 4]]},
            r"forced_tokens must be a list of lists of integers, got \[\['first', 4\]\]",
        ),
    ],
)
def test_a_value_of_the_wrong_type_is_named(fields: dict, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        SearchOptions(**fields)


@pytest.mark.parametrize(
    ("fields", "lengths", "limits"),
    [
        ({"max_length": 7}, (1, 5, 100), (7, 7, 7)),
        ({"max_length": 7, "max_length_ratio": 1.5}, (1, 2, 3, 5), (2, 3, 5, 7)),
        ({"max_length": 7, "max_length_ratio": 0.25}, (1, 4, 5, 100), (1, 1, 2, 7)),
    ],
)
def test_the_limit_of_a_sentence(fields: dict, lengths: tuple, limits: tuple) -> None:
    options = SearchOptions(**fields)
    assert tuple(options.limit(length) for length in lengths) == limits


def test_the_gnmt_penalty_is_equation_14() -> None:
    assert length_penalty(1, SearchOptions(length_penalty=0.6)) == pytest.approx(1.0)
    assert length_penalty(7, SearchOptions(length_penalty=0.6)) == pytest.approx(2**0.6)
    assert length_penalty(7, SearchOptions(length_penalty=0)) == 1.0


def test_the_exponent_penalty_is_a_power_of_the_length() -> None:
    options = SearchOptions(length_penalty=0.5, length_penalty_type="exponent")
    assert [length_penalty(length, options) for length in (1, 4, 9)] == [1, 2, 3]


@pytest.mark.parametrize("kind", ["gnmt", "exponent"])
def test_a_penalty_ends_where_float32_does(kind) -> None:
    options = SearchOptions(length_penalty=4e16, length_penalty_type=kind)
    assert length_penalty(7, options) == 1e30
    with np.errstate(over="ignore"):
        assert length_penalty(np.array([1.0, 7.0]), options, minimum=np.minimum)[1] == 1e30


def test_numbers_of_numpy_are_numbers() -> None:
    options = SearchOptions(beam_size=np.int64(3), length_penalty=np.float32(0.5))
    assert options == SearchOptions(beam_size=3, length_penalty=0.5)
    assert (type(options.beam_size), type(options.length_penalty)) == (int, float)


def test_token_lists_become_tuples_so_that_options_can_be_keys() -> None:
    options = SearchOptions(banned_sequences=[[4, 5], [6]], forced_tokens=[[0, 7]])
    assert options.banned_sequences == ((4, 5), (6,))
    assert options.forced_tokens == ((0, 7),)
    assert hash(options) == hash(
        SearchOptions(banned_sequences=((4, 5), (6,)), forced_tokens=((0, 7),))
    )


def test_an_unknown_option_is_an_error() -> None:
    with pytest.raises(TypeError, match="beams"):
        SearchOptions(beams=4)


@pytest.mark.parametrize(
    "name",
    [
        "search.options",
        "search.random_numbers",
        "search.model_limits",
        "translation.translator",
        "translation.by_sentence",
    ],
)
def test_what_both_sides_share_imports_no_keras(name: str) -> None:
    code = (
        f"import sys, keras_transformer.{name}\n"
        "assert not {'keras', 'tensorflow'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_options_with_equal_values_are_one_key() -> None:
    assert len({SearchOptions(beam_size=4), SearchOptions(beam_size=4)}) == 1


def test_a_hypothesis_holds_what_was_found() -> None:
    found = Hypothesis("hola", [7, 8], score=-0.5, log_probability=-0.6)
    assert (found.text, found.ids, found.score, found.log_probability) == (
        "hola",
        [7, 8],
        -0.5,
        -0.6,
    )
