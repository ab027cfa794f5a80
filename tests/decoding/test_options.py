"""Search options: what they refuse; and that they need neither Keras nor TensorFlow."""

import subprocess
import sys

import pytest

from keras_transformer.decoding.options import Hypothesis, SearchOptions


def test_the_default_is_greedy() -> None:
    options = SearchOptions()
    assert (options.beam_size, options.num_hypotheses) == (1, 1)
    assert (options.length_penalty, options.max_length) == (0.6, 256)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"beam_size": 0}, "beam_size must be at least 1, got 0"),
        ({"num_hypotheses": -1}, "num_hypotheses must be at least 1, got -1"),
        ({"max_length": 0}, "max_length must be at least 1, got 0"),
        ({"num_hypotheses": 2}, r"num_hypotheses \(2\) is more than beam_size \(1\): raise"),
        ({"length_penalty": -0.1}, "length_penalty must be finite and at least 0, got -0.1"),
        ({"length_penalty": float("nan")}, "length_penalty must be finite .* got nan"),
        ({"length_penalty": float("inf")}, "length_penalty must be finite .* got inf"),
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
        ({"length_penalty": "0.6"}, "length_penalty must be a number, got '0.6'"),
    ],
)
def test_a_value_of_the_wrong_type_is_named(fields: dict, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        SearchOptions(**fields)


def test_an_unknown_option_is_an_error() -> None:
    with pytest.raises(TypeError, match="beams"):
        SearchOptions(beams=4)


def test_importing_the_options_imports_no_keras() -> None:
    code = (
        "import sys, keras_transformer.decoding.options\n"
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
