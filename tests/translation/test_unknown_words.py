"""Alignment by attention: matrices written by hand, and words taken over letter by letter."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.text.subwords.interface import Subwords
from keras_transformer.text.tokenizer import Tokenizer, train_tokenizer
from keras_transformer.translation.unknown_words import (
    SourceWords,
    aligned_source,
    aligned_words,
    replace_unknown,
    words_in,
    words_of,
)

TEXTS = [
    "a small house stands by the river",
    "the red dog runs to the house",
    "don't go, ukasz (now) my friend",
]
UNK, EOS = 1, 3


def load(size: int, *, byte_fallback: bool) -> Subwords:
    return train_tokenizer(TEXTS, size, "bpe", byte_fallback=byte_fallback).subwords


@pytest.fixture(scope="module")
def subwords() -> Subwords:
    return load(60, byte_fallback=False)


@pytest.fixture(scope="module")
def byte_subwords() -> Subwords:
    return load(316, byte_fallback=True)


def attend(positions: list[int], source_length: int) -> np.ndarray:
    """Attention of 0.6 on one position of each row, the rest on eos."""
    attention = np.zeros((len(positions), source_length), np.float32)
    attention[:, -1] = 0.4
    attention[np.arange(len(positions)), positions] += 0.6
    return attention


def test_each_token_comes_from_its_most_attended_position() -> None:
    attention = np.array([[0.1, 0.7, 0.1, 0.1], [0.5, 0.2, 0.2, 0.1]], np.float32)
    found = aligned_source(attention, [7, 8], EOS)
    assert found.tolist() == [1, 0]
    assert found.dtype == np.int64


def test_eos_is_chosen_for_eos_only() -> None:
    attention = np.array([[0.1, 0.2, 0.7], [0.1, 0.2, 0.7]], np.float32)
    assert aligned_source(attention, [7, EOS], EOS).tolist() == [1, 2]
    assert attention[0, 2] == np.float32(0.7)
    assert aligned_source(np.ones((1, 1), np.float32), [EOS], EOS).tolist() == [0]


def test_of_equal_weights_the_first_counts() -> None:
    attention = np.array([[0.2, 0.3, 0.3, 0.2], [0, 0, 0, 1]], np.float32)
    assert aligned_source(attention, [7, 8], EOS).tolist() == [1, 0]


@pytest.mark.parametrize("shape", [(2,), (3, 4), (2, 0), (2, 4, 1)])
def test_attention_of_another_shape_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="with 2 target tokens, got the shape"):
        aligned_source(np.zeros(shape, np.float32), [7, 8], EOS)


def test_a_token_without_a_source_is_refused() -> None:
    with pytest.raises(ValueError, match="one source position, eos"):
        aligned_source(np.ones((2, 1), np.float32), [7, EOS], EOS)


@pytest.mark.parametrize(
    ("pieces", "words"),
    [
        (["▁the", "▁hou", "se", "."], [0, 1, 1, 1]),
        (["the", "▁", "Ł", "ukasz"], [0, 1, 1, 1]),
        (["▁", "▁", "家"], [0, 1, 1]),
        ([], []),
    ],
)
def test_a_space_begins_a_word(pieces: list[str], words: list[int]) -> None:
    assert words_of([piece.replace("▁", " ") for piece in pieces]) == words


@pytest.mark.parametrize(
    ("source", "target", "positions", "pairs"),
    [
        ("▁the ▁hou se", "▁la ▁casa", [0, 2], [(0, 0), (1, 1)]),
        ("▁the ▁hou se", "▁das ▁Ha us", [0, 1, 2], [(0, 0), (1, 1)]),
        ("▁red ▁house", "▁casa ▁roja ▁roja", [1, 0, 0], [(0, 1), (0, 2), (1, 0)]),
        ("▁a ▁b", "▁x y", [1, 0], [(0, 0), (1, 0)]),
        # Spaces in a row begin no words of their own, nor does a space at the end.
        ("▁a ▁b", "▁ ▁x ▁ ▁y ▁", [0, 0, 0, 1, 1], [(0, 0), (1, 1)]),
        ("▁a ▁b", "▁x <unk> ▁y", [0, 1, 1], [(0, 0), (1, 1)]),
        ("▁a", "", [], []),
        ("", "", [], []),
    ],
)
def test_words_come_from_the_words_that_their_pieces_attend_to(
    source: str, target: str, positions: list[int], pairs: list[tuple[int, int]]
) -> None:
    pieces = ["" if piece == "<unk>" else piece.replace("▁", " ") for piece in target.split()]
    attention = attend([*positions, -1], len(source.split()) + 1)
    ids = [UNK if piece == "" else 9 for piece in pieces]
    words = words_of([piece.replace("▁", " ") for piece in source.split()])
    found = aligned_words(attention, ids, EOS, source_words=words, target_pieces=pieces)
    assert found == pairs


# What SentencePiece makes a space of, alone or with an accent, and what it drops.
@pytest.mark.parametrize("odd", ["´", "\u200c", "\ufeff", "\ufffd", "¨", "\x0b", "\x1c", "\u3000"])
@pytest.mark.parametrize("kind", ["subwords", "byte_subwords"])
def test_words_are_numbered_as_spaces_separate_them_in_the_source(
    request: pytest.FixtureRequest, kind: str, odd: str
) -> None:
    text = f" don{odd}t  go "
    placed = request.getfixturevalue(kind).place(text)
    numbers = words_in(text, placed)
    [go] = {number for number, one in zip(numbers, placed, strict=True) if one.start >= 8}
    assert text.split()[go] == "go" and numbers == sorted(numbers)
    assert set(numbers) == set(range(len(text.split())))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("the  Łukasz runs ", ["the", "Łukasz", "runs"]),
        ("“don't”, (Żółw)", ["“", "don't", "”", ",", "(", "Żółw", ")"]),
        ("㍿ the ① e\u0301a", ["㍿", "the", "①", "e\u0301a"]),
        ("ﷺ\u200bdog", ["ﷺ", "dog"]),
        ("🕐🕐 家は赤い …", ["🕐🕐", "家は赤い", "…"]),
        ("?!", ["?!"]),
    ],
)
@pytest.mark.parametrize("kind", ["subwords", "byte_subwords"])
def test_words_stand_in_the_source_as_written(
    request: pytest.FixtureRequest, kind: str, text: str, words: list[str]
) -> None:
    found = SourceWords(text, request.getfixturevalue(kind))
    spans = [found.word(position) for position in range(len(found.pieces))]
    assert [text[start:end] for start, end in sorted(set(spans))] == words


@given(text=st.text(max_size=20))
def test_spans_lie_in_the_text_in_order(
    subwords: Subwords,
    byte_subwords: Subwords,
    text: str,
) -> None:
    for one in (subwords, byte_subwords):
        found = SourceWords(text, one)
        spans = [found.word(position) for position in range(len(found.pieces))]
        assert all(0 <= start <= end <= len(text) for start, end in spans)


class From(str):
    """An unknown target token that attends to the first source piece with this character."""


def translation(subwords: Subwords, text: str, target: list[str]) -> tuple[list[int], np.ndarray]:
    """Ids of the target's letters and unknown tokens, and the attention of each."""
    source, ids, positions = subwords.split(text), [], []
    for part in target:
        if isinstance(part, From):
            ids.append(UNK)
            positions.append([part in piece for piece in source].index(True))
        else:
            ids += [subwords.id_of(letter) or UNK for letter in part]
            positions += [0] * len(part)
    assert ids.count(UNK) == sum(isinstance(part, From) for part in target)
    return ids, attend(positions, len(source) + 1)


@pytest.mark.parametrize(
    ("text", "target", "expected"),
    [
        # Whole words, unknown characters, capitals and marks as they stand in the source.
        ("the ŻÓŁW runs", ["▁the▁", From("Ó"), "▁house"], "the ŻÓŁW house"),
        ("🕐 dog", ["▁", From("🕐"), "▁house"], "🕐 house"),
        ("the river", ["▁a▁", From("v")], "a river"),
        # Without the space that a trained model writes before an unknown word.
        ("the Żw runs", ["▁the", From("w"), "house"], "the Żw house"),
        ("Żw Öd", [From("w"), From("d")], "Żw Öd"),
        # Neighbours of one word give it once, spaces between them or not.
        ("the Żw", ["▁", From("Ż"), "▁", From("w"), "▁the"], "Żw the"),
        ("Żw", [From("w"), From("Ż"), From("w")], "Żw"),
        ("Żw Öd", [From("Ż"), From("Ö"), "▁", From("Ż")], "Żw Öd Żw"),
        ("Żw", ["▁", From("Ż"), ",▁", From("w")], "Żw, Żw"),
        # Punctuation of the source stays there, unless it is what the token stands for.
        ("the (Żw), go", ["▁", From("w"), ","], "Żw,"),
        ("the «Żw» go", ["▁the▁", From("»"), "go"], "the »go"),
        # A part of a word for a part of a word.
        ("Łukasz", ["▁", From("Ł"), "ukasz"], "Łukasz"),
        ("goŁ dog", ["▁a▁go", From("Ł"), "▁dog"], "a goŁ dog"),
        ("Łukasz", ["▁", From("Ł"), "▁u"], "Łukasz u"),
        ("Łukasz", ["▁go,", From("Ł")], "go,Łukasz"),
    ],
)
def test_unknown_tokens_become_source_words(
    subwords: Subwords, text: str, target: list[str], expected: str
) -> None:
    ids, attention = translation(subwords, text, target)
    assert replace_unknown(ids, attention, text, source=subwords, target=subwords) == expected
    ended = np.concatenate([attention, attend([-1], attention.shape[1])])
    found = replace_unknown([*ids, EOS], ended, text, source=subwords, target=subwords)
    assert found == expected


def test_a_text_without_unknown_tokens_is_decoded_as_ever(
    subwords: Subwords,
) -> None:
    ids = subwords.encode(["the small house, my friend"])[0]
    nothing = np.zeros((len(ids), 0), np.float32)  # Not looked at.
    found = replace_unknown(ids, nothing, "dog", source=subwords, target=subwords)
    assert found == "the small house, my friend"


def test_a_translation_of_unknown_tokens_only_is_the_source(
    subwords: Subwords,
) -> None:
    text = "  Ünïx ŻÓŁW\u3000🕐, “Öd”"
    length = len(subwords.encode([text])[0]) + 1
    attention = np.eye(length, dtype=np.float32)[:-1]
    found = replace_unknown([UNK] * (length - 1), attention, text, source=subwords, target=subwords)
    assert found == "Ünïx ŻÓŁW🕐,Öd”"


def test_a_source_spelled_in_bytes_gives_its_characters(
    subwords: Subwords,
    byte_subwords: Subwords,
) -> None:
    text = "the Żółw runs"
    pieces = byte_subwords.split(text)
    ids = [subwords.id_of("▁the"), subwords.id_of("▁"), UNK]
    for position in range(pieces.index("▁"), pieces.index("▁r")):
        attention = attend([0, 0, position], len(pieces) + 1)
        found = replace_unknown(ids, attention, text, source=byte_subwords, target=subwords)
        assert found == "the Żółw"


def test_bytes_before_an_unknown_token_come_before_it(
    byte_subwords: Subwords,
) -> None:
    ids = [byte_subwords.id_of("<0xE2>"), UNK, byte_subwords.id_of("<0xC3>")]
    length = len(byte_subwords.encode(["dog"])[0]) + 1
    found = replace_unknown(
        ids, attend([0, 0, 0], length), "dog", source=byte_subwords, target=byte_subwords
    )
    assert found == "\ufffddog\ufffd"


@given(data=st.data())
def test_any_attention_gives_a_text(subwords: Subwords, data: st.DataObject) -> None:
    text = data.draw(
        st.text(min_size=1, max_size=12).filter(lambda text: subwords.encode([text])[0])
    )
    ids = data.draw(st.lists(st.sampled_from([UNK, UNK, *range(subwords.size)]), max_size=8))
    length = len(subwords.encode([text])[0]) + 1
    attention = np.random.default_rng(0).random((len(ids), length), np.float32)
    found = replace_unknown(ids, attention, text, source=subwords, target=subwords)
    assert "⁇" in text or "⁇" not in found


def test_attention_of_another_text_is_refused(
    subwords: Subwords,
) -> None:
    attention = np.zeros((1, 5), np.float32)
    with pytest.raises(ValueError, match=r"2 source positions.*eos, got the shape \(1, 5\)"):
        replace_unknown([UNK], attention, "a", source=subwords, target=subwords)


@pytest.mark.parametrize("text", ["a man ☃☃, man", "a  man ☃☃ , man"])
def test_a_vocabulary_of_whole_words_gets_the_source_s_unknown_ones(
    tokenizer_jsons: dict[str, bytes], text: str
) -> None:
    tokenizer = Tokenizer(tokenizer_jsons["wordpiece"])
    unknown, subwords = tokenizer.special_ids.unk, tokenizer.subwords
    [source] = tokenizer.encode([text])
    assert unknown is not None and source[2] == unknown
    attention = attend([1, 2, 3, 0], len(source) + 1)
    [man, comma] = tokenizer.encode(["man ,"])[0]
    words = SourceWords(text, subwords)
    assert [text[slice(*words.word(place))] for place in range(3)] == ["a", "man", "☃☃"]
    found = replace_unknown(
        [man, unknown, comma, man], attention, text, source=subwords, target=subwords
    )
    assert found == "man ☃☃, man"


def test_bytes_know_every_word(tokenizer_jsons: dict[str, bytes]) -> None:
    tokenizer = Tokenizer(tokenizer_jsons["gpt2"])
    subwords, text = tokenizer.subwords, " A man  in 家, ☃"
    [ids] = tokenizer.encode([text])
    attention = attend(list(range(len(ids))), len(ids) + 1)
    assert replace_unknown(ids, attention, text, source=subwords, target=subwords) == text
    words = SourceWords(text, subwords)
    spelled = {text[slice(*words.word(place))] for place in range(len(ids))}
    assert spelled == {"A", "man", "in", "家", ",", "☃"}
    found = aligned_words(
        attention,
        ids,
        tokenizer.special_ids.eos,
        source_words=words_of(words.pieces),
        target_pieces=[subwords.spelling(token) for token in ids],
    )
    assert {source for source, _ in found} == {target for _, target in found} == set(range(5))
