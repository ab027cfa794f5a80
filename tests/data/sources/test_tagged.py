"""Tagged texts: what is read, and what is refused by file and line."""

from pathlib import Path

import pytest

from keras_transformer.data.sources.tagged import TaggedCorpus, TaggedTexts, read_tagged


def test_the_last_slash_separates_the_tag(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a/DET and/or/CONJ\n\n1/2/NUM\n", encoding="utf-8")
    texts = read_tagged(tmp_path / "a.txt")
    assert texts.words == [("a", "and/or"), (), ("1/2",)]
    assert texts.tags == [("DET", "CONJ"), (), ("NUM",)]
    assert texts.classes == ("CONJ", "DET", "NUM")


@pytest.mark.parametrize("word", ["dog", "/NOUN", "dog/"])
def test_a_word_without_a_tag_is_named(tmp_path: Path, word: str) -> None:
    (tmp_path / "a.txt").write_text(f"a/DET b/X\na/DET {word}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=f"a.txt, line 2: expected word/TAG, got '{word}'"):
        read_tagged(tmp_path / "a.txt")


def test_corpora_that_cannot_be_learnt_are_refused() -> None:
    one = TaggedTexts([["a"]], [["X"]], "here")
    both = TaggedTexts([["a", "b"]], [["X", "Y"]], "here")
    with pytest.raises(ValueError, match="two or more tags, and here has only 'X'"):
        TaggedCorpus(one)
    with pytest.raises(ValueError, match="there: the tag 'Z' of text 1 is not in the training"):
        TaggedCorpus(both, TaggedTexts([["a"]], [["Z"]], "there"))
    with pytest.raises(ValueError, match="must have a tag for every word"):
        TaggedTexts([["a", "b"]], [["X"]], "here")
    with pytest.raises(ValueError, match="the corpus is empty"):
        TaggedTexts([], [], "here")
    with pytest.raises(ValueError, match="the corpus is empty: no word in here"):
        TaggedTexts([[], []], [[], []], "here")
