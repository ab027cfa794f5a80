"""What has no letter and goes around a model: numbers, marks of lists, symbols, formatting."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.text.letterless import (
    KINDS,
    carried_kinds,
    carve,
    core_of,
    kinds_in,
    without_format,
    without_pictures,
    without_unknown,
)

FLAG = "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
FAMILY = "👨\u200d👩\u200d👧"


@pytest.mark.parametrize(
    "text",
    ["31", "3.5 %", "12:30", "1,000 €", "½", "①", "-", "1)", "* ", "😀", FAMILY, "***", "a)", "...",
     "2020-11-28", "+34 91 555 12 12", "00:00:01,000 --> 00:00:02,500", "┌──┐", "\ufeff31", "↑↑↓↓"],
)  # fmt: skip
def test_what_has_no_letter_is_copied(text: str) -> None:
    assert core_of(text) == (len(text), len(text))
    assert core_of(text, ()) == (0, len(text))


@pytest.mark.parametrize(
    ("before", "core", "behind"),
    [
        ("- ", "Hello.", ""),
        ("1) ", "Hello", ""),
        ("12. ", "Hello", ""),
        ("(a) ", "Hello", ""),
        ("iv) ", "Hello", ""),
        ("[3] ", "Hello", ""),
        ("• - [x] ", "Hello", ""),
        ("> > ", "Hello", ""),
        ("1、", "洗手", ""),
        ("2)", "Hello", ""),
        (">>", "Hello", ""),
        ("•", "Hello", ""),
        ("—", "Hello", ""),
        ("- **", "Hello", "**"),
        ("`", "Hello", "`"),
        ("① ", "Hello", ""),
        ("== ", "Hello", " =="),
        ("😀 ", "Hello!", " 😀😀"),
        ("", "Hello", " 😀!"),
        ("❤️\u200d🔥", "Hello", f" {FAMILY} 🇩🇪 {FLAG} 👍🏽 1️⃣ ©️"),
        ("♪ ", "Hello", " ♪"),
        ("→ ", "Hello", " →"),
        ("", "Hello", " :-)"),
        ("\ufeff", "Hello", "\u200e"),
        ("?! ", "Hello", ""),
    ],
)
def test_what_stands_around_a_sentence_is_found(before: str, core: str, behind: str) -> None:
    text = before + core + behind
    assert core_of(text) == (len(before), len(before + core))
    found = [piece for piece in ((before, False), (core, True), (behind, False)) if piece[0]]
    assert carve(text) == found


@pytest.mark.parametrize(
    "text",
    ["Hello!", "3 dogs run.", "It is 20°.", "I like C++", "He paid 5 €.", "¿Qué?", "«Hello»",
     "½ cup", "-5 degrees", "_a", "a * b", "1.5)x", "... and", "Windows®", "A. Smith", "I am",
     "(no)", "Wait —", "5 km", "漢\ufe00", "می\u200cخواهم", "क्\u200dष", "e\u0301",
     "#hashtag", "@home", "C#", "note: (sic)"],
)  # fmt: skip
def test_what_belongs_to_a_sentence_stays(text: str) -> None:
    assert core_of(text) == (0, len(text))
    assert without_pictures(text) == (text, "")
    assert kinds_in(text) == set()


def test_ordinal_numbers_are_the_language_s() -> None:
    assert core_of("3. Oktober", language="de") == (0, 10)
    assert core_of("3. October") == (3, 10)
    assert core_of("3. October", has_dots=False) == (0, 10)


@pytest.mark.parametrize(
    ("text", "clean", "moved"),
    [
        ("a red 😀 car.", "a red car.", " 😀"),
        ("a red😀car", "a red car", " 😀"),
        ("Hello 😀, you", "Hello, you", " 😀"),
        ("Hello!😀You", "Hello! You", " 😀"),
        ("so (😀 😀) it is", "so (😀 😀) it is", ""),
        ("so (😀) it is ❤️", "so it is", " (😀) ❤️"),
    ],
)
def test_pictures_inside_a_sentence_stand_behind_it(text: str, clean: str, moved: str) -> None:
    if moved:
        assert without_pictures(text) == (clean, moved)


def test_a_sentence_is_parted_at_signs_between_spaces_and_pictures_before_capitals() -> None:
    texts = ["File → Open", "Name | Age", "Thanks 😀 See you", "Hi :) Bye"]
    assert [len(carve(text)) for text in texts] == [3] * 4
    assert len(carve("thanks 😀 see you")) == len(carve("A 5 → 6 B")) - 2 == 1


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("trans\u00adlation", "translation"),
        ("a\u200bb", "ab"),
        ("\ufeffHi\u200e", "Hi"),
        ("wo\u2060rd", "word"),
        ("Auf\u200clage\ufe0f", "Auflage"),
        ("ភាសា\u200bខ្មែរ", "ភាសា\u200bខ្មែរ"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("क्\u200dष", "क्\u200dष"),
        (FAMILY, FAMILY),
        ("a\tb", "a\tb"),
    ],
)
def test_characters_that_only_format_are_left_out(text: str, clean: str) -> None:
    assert without_format(text) == clean


@pytest.mark.parametrize(
    ("line", "kinds"),
    [
        ("Hello.", set()),
        ("31/12/2020", {"numbers"}),
        ("1. Januar 2020", {"marks"}),
        ("- Hello 😀", {"marks", "symbols"}),
        ("a 😀 b", {"symbols"}),
        ("\ufeffHello", set()),
    ],
)
def test_kinds_of_training_lines_are_told(line: str, kinds: set[str]) -> None:
    assert kinds_in(line) == kinds


def test_a_model_gets_what_it_was_trained_on() -> None:
    def kinds(letterless: str, known: object, has_letters: bool = True) -> set[str]:
        return set(carried_kinds(letterless, known, lambda: has_letters))

    assert kinds("auto", None) == kinds("copy", {"numbers"}) == set(KINDS)
    assert kinds("auto", {"numbers"}) == {"marks", "symbols"}
    assert kinds("translate", set()) == kinds("auto", None, has_letters=False) == set()
    with pytest.raises(ValueError, match="letterless must be one of auto, copy, translate"):
        kinds("never", None)


def test_a_model_of_dates_gets_numbers_with_dots() -> None:
    known = {"marks", "symbols"}
    assert core_of("31/12/2020", known) == (0, 10)
    assert core_of("31. Dezember 2020", known) == (0, 17)


@given(st.text(st.sampled_from("aB 1.)-😀\ufe0f\u200d\u20e3→|:) \u00ad!#") | st.characters()))
def test_pieces_are_the_text(text: str) -> None:
    assert "".join(piece for piece, _ in carve(text)) == text if text else not carve(text)


@pytest.mark.parametrize("part", [" ", "-", "!", "😀", " -", "\u00ad", ":) ", "(", "1) ", "\ufe0f"])
def test_endless_runs_are_read_at_once(part: str) -> None:
    text = f"a{part * 50_000}b{part * 50_000}"
    carve(text), without_pictures(text), without_format(text), carve(part * 50_000)


GREEK = frozenset("Πλάτωνκιυρμθέαοςσ")


@pytest.mark.parametrize(
    ("text", "before", "core", "behind"),
    [
        ("a red car.", "", "a red car.", ""),
        ("", "", "", ""),
        ("12!", "", "12!", ""),
        ("Πλάτων", "", "", "Πλάτων"),
        ("Πλάτων, 12!", "", "", "Πλάτων, 12!"),
        ("a Πλάτων car.", "", "a car.", " Πλάτων"),
        ("a car of Πλάτων.", "", "a car of.", " Πλάτων"),
        ("Πλάτων και a car", "Πλάτων και ", "a car", ""),
        ("Πλάτων, a «Πλάτων» car", "Πλάτων, ", "a car", " «Πλάτων»"),
        ("a (Πλάτων) car (και)?", "", "a car?", " (Πλάτων) (και)"),
        # Words with one known letter, and what is no word, stay.
        ("a Πλάτωn car", "", "a Πλάτωn car", ""),
        ("12 Πλάτων 3 cars", "", "12 3 cars", " Πλάτων"),
    ],
)
def test_words_in_unknown_letters_alone_are_taken_out(
    text: str, before: str, core: str, behind: str
) -> None:
    assert without_unknown(text, GREEK) == (before, core, behind)
    assert without_unknown(text, frozenset()) == ("", text, "")


@given(st.lists(st.sampled_from(["a", "b.", "Πλ", "(λ)", "Π,", "1", "-", "😀"]), max_size=8))
def test_no_word_is_lost_or_written_twice(words: list[str]) -> None:
    parts = without_unknown(" ".join(words), GREEK)
    kept = sorted(one for one in "".join(parts) if not one.isspace())
    assert kept == sorted("".join(words))
    assert not GREEK & set(parts[1])
