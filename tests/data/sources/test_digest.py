"""The digest of a corpus tells any two texts apart, and does not depend on where they came from."""

from typing import Any

import pytest

from keras_transformer.data.sources import digest
from keras_transformer.data.sources.corpus import Pairs
from keras_transformer.data.sources.digest import text_sha256
from keras_transformer.data.sources.tagged import TaggedTexts
from keras_transformer.data.sources.texts import LabelledTexts, Texts

LINES = ["a dog", "a cat", "a man"]


def test_only_the_lines_count() -> None:
    assert text_sha256(Texts(LINES, "a.txt")) == text_sha256(Texts(tuple(LINES), "b.txt"))
    assert text_sha256(Texts(["\ud800"], "half a pair"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([Texts(LINES, "")], [Texts(LINES[::-1], "")]),
        ([Pairs(["a"], ["b"], "")], [Pairs(["a"], ["c"], "")]),
        ([Pairs(["a"], ["b"], "")], [Pairs(["b"], ["a"], "")]),
        ([Pairs(["a"], ["b"], "")], [Pairs(["a"], ["b"], ""), Pairs(["a"], ["b"], "")]),
        ([Texts(["a"], ""), Texts(["b"], "")], [Texts(["a", "b"], "")]),
        ([LabelledTexts("xy", "ab", None, "")], [LabelledTexts("yx", "ab", None, "")]),
        ([LabelledTexts("xy", "ab", "cd", "")], [LabelledTexts("xy", "ab", "ce", "")]),
        ([TaggedTexts(["ab"], ["XY"], "")], [TaggedTexts(["ab"], ["YX"], "")]),
    ],
    ids=str,
)
def test_other_texts_labels_and_tags_have_another_digest(one: list, other: list) -> None:
    assert text_sha256(*one) != text_sha256(*other)


def test_blank_lines_of_labelled_and_tagged_texts_do_not_count() -> None:
    labelled = LabelledTexts(["x", "y"], ["a", "b"], None, "")
    with_blank: Any = LabelledTexts(["x", "", "y"], ["a", "", "b"], None, "")
    assert text_sha256(labelled) == text_sha256(with_blank)
    tagged = TaggedTexts([["a"], ["b"]], [["X"], ["Y"]], "")
    with_blank = TaggedTexts([["a"], [], ["b"]], [["X"], [], ["Y"]], "")
    assert text_sha256(tagged) == text_sha256(with_blank)


def test_lines_are_read_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[Any] = [Texts(LINES, ""), None, Pairs(LINES, LINES, "")]
    whole = text_sha256(*texts)
    monkeypatch.setattr(digest, "_LINES_AT_ONCE", 2)
    assert text_sha256(*texts) == whole
