"""What files of others say of a search: what is taken over, and what is told."""

from pathlib import Path
from typing import Any

import pytest

from keras_transformer.config import SpecialIds
from keras_transformer.pretrained.formats import marian_search
from keras_transformer.pretrained.huggingface import generation
from keras_transformer.pretrained.huggingface.fields import Fields
from keras_transformer.pretrained.values import FileValues

SPECIAL = SpecialIds(pad=0, unk=1, bos=2, eos=3)
HUGGINGFACE: list[tuple[dict[str, Any], dict[str, Any], tuple[str, ...]]] = [
    # The start and a forced end count there.
    ({"max_length": 10, "forced_eos_token_id": 3}, {"max_length": 8}, ()),
    ({"max_new_tokens": 9, "forced_eos_token_id": [3]}, {"max_length": 8}, ()),
    ({"forced_eos_token_id": 3}, {}, ()),
    (
        {"max_length": 10, "forced_eos_token_id": 7},
        {"max_length": 9},
        ("forced_eos_token_id=7",),
    ),
    ({"temperature": 0.6, "top_p": 0.9}, {"temperature": 0.6, "top_p": 0.9}, ()),
    ({"temperature": 0.0, "do_sample": False, "min_p": None}, {}, ()),
    ({"do_sample": True}, {"top_k": 50}, ("do_sample=True",)),
    ({"do_sample": True, "top_k": 7}, {"top_k": 7}, ("do_sample=True",)),
    ({"suppress_tokens": [5, 0]}, {"banned_sequences": [[5]]}, ()),
    ({"typical_p": 1.0, "num_beam_groups": 2}, {}, ("num_beam_groups=2",)),
]
MARIAN: list[tuple[dict[str, Any], dict[str, Any], tuple[str, ...]]] = [
    (
        {"beam-size": 6, "normalize": 1, "word-penalty": 0, "max-length-factor": 3},
        {
            "beam_size": 6,
            "length_penalty": 1.0,
            "length_penalty_type": "exponent",
            "max_length_ratio": 3.0,
        },
        (),
    ),
    # Beams of Marian compare plain sums unless it is told otherwise.
    (
        {"beam-size": 4, "word-penalty": 0.2},
        {"beam_size": 4, "length_penalty": 0.0, "length_penalty_type": "exponent"},
        ("word-penalty=0.2",),
    ),
    ({"vocabs": ["a", "b"]}, {}, ()),
]


def test_further_ends_of_a_decoder_are_stop_tokens() -> None:
    theirs = {"eos_token_id": [3, 7, 0, 9]}
    given = Path("nowhere"), Fields(Path("nowhere"), theirs), SPECIAL
    assert generation.read_decoder_search(*given) == {"stop_tokens": [7, 9]}


@pytest.mark.parametrize(("theirs", "ours", "told"), HUGGINGFACE)
def test_of_hugging_face(
    theirs: dict[str, Any], ours: dict[str, Any], told: tuple[str, ...]
) -> None:
    given = Path("nowhere"), Fields(Path("nowhere"), theirs), SPECIAL
    assert generation.read_search(*given) == ours
    assert generation.left_out(*given) == told


@pytest.mark.parametrize(("theirs", "ours", "told"), MARIAN)
def test_of_marian(theirs: dict[str, Any], ours: dict[str, Any], told: tuple[str, ...]) -> None:
    decoder = FileValues("decoder.yml", theirs)
    assert marian_search.read_search(decoder) == ours
    assert marian_search.left_out(decoder) == told
    written = marian_search.write_search(ours)
    assert marian_search.read_search(FileValues("decoder.yml", written)) == ours
    assert written.items() <= {"normalize": 0.0, **theirs}.items()
