"""Tags of a text: a box for each span and line, and the scores of a chain."""

import numpy as np
import pytest

from keras_transformer.layers import LinearChainCRF
from keras_transformer.plotting.tags import tagged_text
from keras_transformer.understanding.results import WordTag

LABELS = ("B-LOC", "B-PER", "I-LOC", "I-PER", "O")


def words(*tags: str, word: str = "word") -> list[WordTag]:
    return [WordTag(word, tag, 0.9) for tag in tags]


def shown(axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def test_each_span_has_a_box_and_its_kind() -> None:
    [axes] = tagged_text(words("O", "B-PER", "I-PER", "B-LOC", ""), LABELS).axes
    assert shown(axes) == ["word"] * 5 + ["PER", "LOC"]
    assert [box.get_width() for box in axes.patches] == pytest.approx([9.6, 4.6])


def test_a_span_over_two_lines_has_a_box_on_each() -> None:
    [axes] = tagged_text(words("B-PER", "I-PER", word="x" * 60), LABELS).axes
    assert sorted(round(box.get_y()) for box in axes.patches) == [0, 1]


def test_tags_without_a_scheme_are_spans_of_a_word() -> None:
    [axes] = tagged_text(words("DET", "NOUN", "NOUN"), ("DET", "NOUN")).axes
    assert shown(axes)[3:] == ["DET", "NOUN", "NOUN"]


def test_a_chain_adds_its_scores_without_what_it_forbids() -> None:
    chain = LinearChainCRF(5, forbidden=[(4, 3), (5, 3)])
    chain.build((None, None, 5))
    chain.transitions.assign(np.arange(25.0).reshape(5, 5))
    scores = tagged_text(words("O"), LABELS, chain).axes[1].images[0].get_array()
    assert np.argwhere(np.ma.getmaskarray(scores)).tolist() == [[4, 3]]
    assert scores[1, 2] == 7
