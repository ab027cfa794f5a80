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


def test_lines_with_words_without_tags_are_named_together(tmp_path: Path) -> None:
    one, other = tmp_path / "a.txt", tmp_path / "b.txt"
    one.write_text("a/DET dog\na/DET\nno tags\n", encoding="utf-8")
    other.write_text("/X\n" * 9, encoding="utf-8")
    with pytest.raises(ValueError, match="cannot be read") as refused:
        read_tagged([one, other])
    assert str(refused.value).split("; ") == [
        f"11 lines cannot be read: {one}, line 1: expected word/TAG, got 'dog'",
        "line 3: expected word/TAG, got 'no'",
        f"{other}, line 1: expected word/TAG, got '/X'",
        *(f"line {number}: expected word/TAG, got '/X'" for number in range(2, 9)),
        "and 1 more",
    ]


def test_corpora_that_cannot_be_learnt_are_refused() -> None:
    one = TaggedTexts([["a"]], [["X"]], "here")
    both = TaggedTexts([["a", "b"]], [["X", "Y"]], "here")
    with pytest.raises(ValueError, match="two or more tags, and here has only 'X'"):
        TaggedCorpus(one)
    with pytest.raises(ValueError, match="tag is not among .*: 'Z' .there, text 1"):
        TaggedCorpus(both, TaggedTexts([["a"]], [["Z"]], "there"))
    with pytest.raises(ValueError, match="must have a tag for every word"):
        TaggedTexts([["a", "b"]], [["X"]], "here")
    with pytest.raises(ValueError, match="the corpus is empty"):
        TaggedTexts([], [], "here")
    with pytest.raises(ValueError, match="the corpus is empty: no word in here"):
        TaggedTexts([[], []], [[], []], "here")


def test_tags_that_break_their_scheme_are_told_with_file_and_line(tmp_path: Path) -> None:
    one, two = tmp_path / "a.txt", tmp_path / "b.txt"
    one.write_text("a/O b/I-X c/B-X\n\nd/I-X e/B-X f/I-X\n", encoding="utf-8")
    two.write_text("c/O\na/O b/I-X\n\nd/I-X\n", encoding="utf-8")
    assert read_tagged([one, two]).notes == (
        f"{one}, {two}: the tags follow BIO, but for 4 of 10: {one}, line 1, b/I-X behind a/O; "
        f"{one}, line 3, d/I-X behind nothing; {two}, line 2, b/I-X behind a/O; 1 more",
    )


def test_a_span_that_does_not_end_is_told() -> None:
    texts = TaggedTexts([["a", "b"], ["c", "d"]], [["S-X", "B-X"], ["B-X", "E-X"]], "here")
    expected = "here: the tags follow BIOES, but for 1 of 4: text 1, the end behind b/B-X"
    assert texts.notes == (expected,)


def test_of_tags_without_a_scheme_nothing_is_told() -> None:
    assert TaggedTexts([["a", "b"]], [["DET", "NOUN"]], "here").notes == ()
