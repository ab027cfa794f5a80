"""Texts taken apart for translation: nothing is lost, and the layout comes back."""

import gzip
import random
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.data.sources.demo import demo_corpus
from keras_transformer.markup.lifting import lift
from keras_transformer.markup.spans import find_spans
from keras_transformer.markup.terms import Glossary, Term
from keras_transformer.text.letterless import KINDS, Kind, has_letter, without_format
from keras_transformer.text.passage import Passage
from keras_transformer.text.sentences import TooManyPartsError, split_passage, split_sentences

MULTI30K = Path(__file__).resolve().parents[3] / "shared/data/multi30k_en_de"


def words(texts: Sequence[str]) -> list[int]:
    return [len(text.split()) for text in texts]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("", [""]),
        ("  ", ["  "]),
        ("Hello! Good morning.", ["Hello! ", "Good morning."]),
        ("Dr. Smith left at 5 p.m. on Monday. She stayed.", 2),
        ("1. Open the door. 2. Close it.", ["1. Open the door. ", "2. Close it."]),
        ("one line\nthe next", ["one line\n", "the next"]),
        ("今天天气很好。我们去公园。", ["今天天气很好。", "我们去公园。"]),
        ("¿Qué tal? ¡Bien!", ["¿Qué tal? ", "¡Bien!"]),
        ("Yes. ...", ["Yes. ..."]),
        ("***", ["***"]),
    ],
)
def test_sentences_are_found(text: str, sentences: list[str] | int) -> None:
    found = split_sentences(text)
    assert "".join(found) == text
    assert (len(found) if isinstance(sentences, int) else found) == sentences


def test_abbreviations_are_the_language_s() -> None:
    text = "Am 3. Mai kam er. Sie ging."
    assert split_sentences(text, "de") == ["Am 3. Mai kam er. ", "Sie ging."]
    assert len(split_sentences(text, "no such language")) > 1


def test_parts_have_their_places_and_the_layout_stays() -> None:
    text = "  Hello!  Good morning.\n\n\tBye. \r\n"
    passage = split_passage(text, words)
    assert passage.parts == ("Hello!", "Good morning.", "Bye.")
    assert passage.gaps == ("  ", "  ", "\n\n\t", " \r\n")
    assert passage.starts == [text.index(part) for part in passage.parts]
    assert passage.join(["¡Hola!", "Buenos días.", "Adiós."]) == (
        "  ¡Hola!  Buenos días.\n\n\tAdiós. \r\n"
    )
    with pytest.raises(ValueError, match="got 2 translations for 3 parts"):
        passage.join(["a", "b"])


def test_sentences_without_space_between_them_get_one_where_the_translation_needs_it() -> None:
    passage = split_passage("你好。早上好。", words)
    assert passage.join(["Hello.", "Good morning."]) == "Hello. Good morning."
    assert passage.join(["今日は。", "お早う。"]) == "今日は。お早う。"


@pytest.mark.parametrize(("most", "parts"), [(1, 4), (2, 2), (3, 2), (9, 1)])
def test_as_many_sentences_stay_together_as_a_model_knows(most: int, parts: int) -> None:
    text = "One is here. Two are here. Three are here. Four are here."
    assert len(split_passage(text, words, most_sentences=most).parts) == parts


def test_sentences_stay_together_only_as_long_as_a_model_knows() -> None:
    text = "One is here. Two are here. Three are here. Four are here."
    assert len(split_passage(text, words, most_sentences=9, most_tokens=8).parts) == 2


def test_a_line_break_parts_sentences_that_a_model_would_know_together() -> None:
    assert len(split_passage("One is.\nTwo are.", words, most_sentences=9).parts) == 2


def test_a_long_sentence_is_halved_behind_a_clause_or_a_word() -> None:
    text = "the dog saw three cats, and then the cat saw it"
    assert split_passage(text, words, most_tokens=8).parts == (
        "the dog saw three cats,",
        "and then the cat saw it",
    )
    assert split_passage("a b c d", words, most_tokens=2).parts == ("a b", "c d")
    letters = split_passage("abcdefg", lambda texts: [len(text) for text in texts], most_tokens=2)
    assert "".join(letters.parts) == "abcdefg" and max(map(len, letters.parts)) == 2


def test_a_line_of_many_thousand_words_comes_apart() -> None:
    passage = split_passage("word " * 20_000, words, most_tokens=100)
    assert sum(words(passage.parts)) == 20_000
    assert max(words(passage.parts)) <= 100


@pytest.mark.parametrize(
    ("text", "parts", "kind"),
    [
        ("One. " * 9 + "Ten.", 10, "sentences"),
        (" \n" * 20 + "a b " * 8, 8, "parts of at most 2 tokens"),
    ],
)
def test_too_many_parts_are_refused(text: str, parts: int, kind: str) -> None:
    assert len(split_passage(text, words, most_tokens=2, most_parts=parts).parts) == parts
    with pytest.raises(TooManyPartsError, match=f"more than {parts - 1} {kind}"):
        split_passage(text, words, most_tokens=2, most_parts=parts - 1)


def test_a_long_line_is_tokenized_a_few_times_only() -> None:
    tokenized = 0

    def counting(texts: list[str]) -> list[int]:
        nonlocal tokenized
        tokenized += sum(map(len, texts))
        return words(texts)

    line = "word, " * 20_000
    split_passage(line, counting, most_tokens=20)
    assert tokenized < 4 * len(line)


@given(
    st.text(
        st.sampled_from("aB 1.?!,\n\r\t\u2028。é…\"'-") | st.characters(exclude_categories=["Cs"])
    ),
    st.integers(1, 5),
    st.integers(1, 3),
    st.sets(st.sampled_from(KINDS)),
)
def test_sources_and_gaps_are_the_text(
    text: str, most_tokens: int, most_sentences: int, carried: set[Kind]
) -> None:
    passage = split_passage(
        text,
        words,
        most_tokens=most_tokens,
        most_sentences=most_sentences,
        language="en",
        carried=carried,
    )
    assert all(part.strip() == part for part in passage.parts)
    assert not carried or not any(map(has_letter, passage.gaps)) or ")" in text
    assert carried or not any(map(str.strip, passage.gaps))
    pieces = [gap + part for gap, part in zip(passage.gaps, (*passage.sources, ""), strict=True)]
    assert "".join(pieces) == text
    for source, start in zip(passage.sources, passage.starts, strict=True):
        assert text[start : start + len(source)] == source
    numbers = list(map(len, passage.word_numbers()))
    assert numbers == [len(without_format(part).split()) for part in passage.parts]


@pytest.mark.parametrize(
    ("text", "parts", "shouted"),
    [
        ("Hello! 😀 How are you?", ["Hello!", "How are you?"], "HELLO! 😀 HOW ARE YOU?"),
        ("How old? 31. And he?", ["How old?", "And he?"], "HOW OLD? 31. AND HE?"),
        ("She is old. 31.", ["She is old."], "SHE IS OLD. 31."),
        ("What? 31! Really.", ["What?", "Really."], "WHAT? 31! REALLY."),
        ("1. Open it. 2. Close it.", ["Open it.", "Close it."], "1. OPEN IT. 2. CLOSE IT."),
        ("On 3. 4. 1990 he came.", ["On 3.", "4. 1990 he came."], "ON 3. 4. 1990 HE CAME."),
        ("- Hi.\n31\n\n* One\n", ["Hi.", "One"], "- HI.\n31\n\n* ONE\n"),
        ("Thanks 😀 Good 😀 bye.", ["Thanks", "Good bye."], "THANKS 😀 GOOD BYE. 😀"),
        ("Bye.😀Hi.", ["Bye.", "Hi."], "BYE.😀HI."),
        ("Yes. ... No. ***", ["Yes.", "No."], "YES. ... NO. ***"),
        ("31\n", [""], "31\n"),
        ("A | B", ["A", "B"], "A | B"),
    ],
)
def test_what_has_no_letter_goes_around_the_model(
    text: str, parts: list[str], shouted: str
) -> None:
    passage = split_passage(text, words, most_sentences=3, carried=KINDS)
    assert passage.join([part.upper() for part in passage.parts]) == shouted
    alone = split_passage(text, words, carried=KINDS)
    assert list(alone.parts) == parts and alone.join([one.upper() for one in parts]) == shouted


def test_a_word_has_the_number_that_it_has_in_the_source() -> None:
    passage = split_passage("one 😀 two three😀four \u200b five", words, carried=KINDS)
    assert passage.parts == ("one two three four \u200b five",)
    assert passage.word_numbers() == [[0, 2, 3, 3, 5]]


def test_a_text_that_is_taken_whole_is_bare_of_what_goes_around_the_model() -> None:
    passage = Passage.whole("- a 😀 b :)", KINDS)
    assert (passage.parts, passage.layout) == (("a b",), ("- ", " 😀 :)"))
    assert passage.bare(passage.join(["A B"])) == "A B" == passage.bare("A B")
    assert Passage.whole("- a").layout == ("", "")


@pytest.mark.parametrize(
    "take", [partial(Passage.whole, lift=lift), partial(split_passage, lift=lift, lengths_of=words)]
)
def test_an_accelerator_goes_around_the_model(take) -> None:
    passage = take("_Delete <b>$MY_FILE</b>")
    assert passage.sources == ("Delete <b>$MY_FILE</b>",)
    [part] = passage.parts
    assert passage.join([part.replace("Delete", "Weg mit d")]) == "Weg mit _d <b>$MY_FILE</b>"


def test_no_sentence_of_a_thousand_paragraphs_is_dropped() -> None:
    draw = random.Random(0)
    known = demo_corpus().train.source
    for _ in range(1000):
        sentences = draw.choices(known, k=draw.randint(1, 8))
        gaps = draw.choices([" ", "  ", "\n", "\n\n", " \n\t"], k=len(sentences) - 1)
        text = sentences[0] + "".join(map("".join, zip(gaps, sentences[1:], strict=True)))
        passage = split_passage(text, words)
        assert list(passage.parts) == sentences
        assert list(passage.gaps) == ["", *gaps, ""]
        assert passage.join(passage.parts) == text


def test_sentences_of_the_demo_stay_whole() -> None:
    corpus = demo_corpus()
    for pairs in (corpus.train, corpus.valid, corpus.test):
        assert all(split_passage(line, words).parts == (line,) for line in pairs.source)


@pytest.mark.skipif(not MULTI30K.is_dir(), reason="needs the Multi30k data")
@pytest.mark.parametrize("split", ["val", "test_2016_flickr"])
def test_sentences_of_multi30k_stay_whole(split: str) -> None:
    lines = gzip.open(MULTI30K / f"{split}.en.gz", "rt", encoding="utf-8").read().splitlines()
    assert all(split_passage(line, words).parts == (line.strip(),) for line in lines)


def test_a_text_of_one_part_is_lifted_once() -> None:
    read: list[str] = []
    passage = split_passage(
        "Delete %s?", words, lift=lambda text: (read.append(text), lift(text))[1]
    )
    assert passage.parts != ("Delete %s?",) and read == ["Delete %s?"]


@pytest.mark.parametrize("most", [1, 9])
def test_a_sentence_of_more_spans_than_slots_comes_apart(most: int) -> None:
    text = "Take <b>%s</b>, or {this}, " * 20 + "now. Then " + "%d " * 30 + "wait."
    passage = split_passage(text, words, most_sentences=most, lift=lift)
    assert not any(lift(part).lacks_slots for part in passage.sources)
    assert "".join(map("".join, zip(passage.gaps, (*passage.sources, ""), strict=True))) == text
    assert len(passage.parts) < 9
    assert passage.join(passage.parts) == text


def test_terms_have_slots_beside_spans() -> None:
    terms = Glossary([Term("file", "Datei")])
    text = "a file of %s and " * 20
    assert lift(text, glossary=terms).lacks_slots and len(find_spans(text)) < 24
    passage = split_passage(text, words, lift=partial(lift, glossary=terms))
    assert passage.join(passage.parts).count("Datei") == 20
