"""Spans lifted out of a text come back into its translation: each once, tags nested."""

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.markup.lifting import lift, lifter_of
from keras_transformer.markup.spans import find_spans
from keras_transformer.text.subwords.slots import SLOTS
from keras_transformer.text.training_text import TrainingText

TAGS = st.recursive(
    st.sampled_from(["word", "%s", "<br>", "a &amp; b", "\\n", " "]),
    lambda inner: st.builds(
        lambda name, parts: f"<{name}>{''.join(parts)}</{name}>",
        st.sampled_from(["b", "i", "p"]),
        st.lists(inner, max_size=3),
    ),
    max_leaves=8,
)


def with_slots(translation: str) -> str:
    """Returns a translation with slots in place of #0, #1, …"""
    return re.sub(r"#(\d)", lambda found: SLOTS[int(found[1])], translation)


def translated(text: str, translation: str) -> str:
    """Puts spans back into a translation in which #0, #1, … stand for slots."""
    return lift(text).put_back(with_slots(translation))


@given(st.lists(TAGS, max_size=2).map("".join))
def test_a_text_is_its_own_translation(text: str) -> None:
    lifted = lift(text)
    assert lifted.put_back(lifted.text) == text
    assert lifted.is_kept(lifted.text)


@given(st.lists(TAGS, min_size=1, max_size=2).map("".join), st.randoms())
def test_in_any_order_every_span_comes_back_once_and_tags_nest(text: str, random: object) -> None:
    lifted = lift(text)
    assume(not lifted.more)  # What has no slot has no order.
    slots = list(SLOTS[: len(lifted.spans)])
    random.shuffle(slots)  # type: ignore[attr-defined]
    found = [span.text for span in find_spans(lifted.put_back(" ".join(slots)))]
    # Line breaks that have become neighbours are one span.
    assert sorted("".join(found)) == sorted("".join(span.text for span in lifted.spans))
    waiting: list[str] = []
    for tag in re.findall(r"</?[bip]>", "".join(found)):
        if tag.startswith("</"):
            assert waiting.pop() == tag.replace("/", "")
        else:
            waiting.append(tag)
    assert not waiting


@pytest.mark.parametrize(
    ("text", "translation", "expected"),
    [
        ("Delete %s?", "#0 %s löschen?", "%s löschen?"),
        ("Delete %s?", "#0 löschen</b> %d?", "%s löschen?"),
        ("help", "<b>Hilfe zu {name}", "Hilfe zu"),
        ("help", "100 % der Hilfe: A < B, und/oder", "100 % der Hilfe: A < B, und/oder"),
    ],
)
def test_tags_and_placeholders_that_a_model_makes_up_are_taken_out(
    text: str, translation: str, expected: str
) -> None:
    slots = with_slots(translation)
    assert lift(text).put_back(slots) == expected
    assert lift(text).is_kept(slots) is (slots == expected)


def test_what_the_text_has_beyond_its_slots_may_be_written() -> None:
    lifted = lift("%s " * 30)
    assert lifted.is_kept(lifted.text)
    assert not lifted.is_kept(f"{lifted.text}%s")


@pytest.mark.parametrize(
    ("text", "translation", "expected"),
    [
        ("Delete <b>%s</b>?", "#0 #1 #2 löschen?", "<b>%s</b> löschen?"),
        ("a <b>b</b> c", "x#1y#0 z", "x<b>y</b> z"),
        ("one\\n  two", "eins #0 zwei", "eins\\n  zwei"),
        ("%s files", "Dateien: #0", "Dateien: %s"),
        ("%s: %d <b>x</b>", "#2y#3: #1 #0", "<b>y</b>: %s %d"),
        ("%1$s: %2$d", "#1: #0", "%2$d: %1$s"),
    ],
)
def test_tags_nest_and_spaces_are_those_of_the_text(
    text: str, translation: str, expected: str
) -> None:
    assert translated(text, translation) == expected


@pytest.mark.parametrize(
    ("translation", "is_kept"),
    [("#0a#1 #2", True), ("#2 #0a#1", True), ("#1a#0 #2", False), ("#0a#1", False)],
)
def test_what_is_lost_or_does_not_nest_is_told(translation: str, is_kept: bool) -> None:
    slots = with_slots(translation)
    assert lift("<b>a</b> %s").is_kept(slots) is is_kept


@pytest.mark.parametrize(
    ("text", "begin", "expected"),
    [
        ("a %s %s", "%s: %s %s", "#0: #1 %s"),
        ("%1$s <b>x</b> %1", "%1<b>%1$s", "#3#1#0"),
        ("a %s", "b", "b"),
        ("a", "%s", "%s"),
    ],
)
def test_a_given_beginning_is_read_with_the_slots_of_its_spans(
    text: str, begin: str, expected: str
) -> None:
    slots = re.sub(r"#(\d)", lambda found: SLOTS[int(found[1])], expected)
    assert lift(text).taken_out(begin) == slots


def test_spans_beyond_the_slots_stay_in_the_text() -> None:
    text = " ".join(f"%{number}$s" for number in range(1, 31))
    lifted = lift(text)
    assert lifted.text.endswith("%29$s %30$s")
    assert lifted.is_kept(lifted.text) and not lifted.is_kept(lifted.text.replace("%30$s", ""))


SEEN = TrainingText(longest_source=5, sentences=(1,), markup="html", span_patterns=("X+",))


def test_a_model_with_slots_lifts_by_its_own_profile_unless_another_is_given() -> None:
    own, other = (lifter_of(SpecialIds(slots=(4,)), SEEN, one) for one in (None, "printf"))
    assert own and len(own("<b> %s X").places) == 2
    assert other and len(other("<b> %s X").places) == 2
    assert lifter_of(SpecialIds(slots=(4,)), SEEN, "plain") is None


def test_a_model_without_slots_reads_texts_without_tags_if_a_profile_is_given() -> None:
    assert lifter_of(SpecialIds(), None) is None and lifter_of(SpecialIds(), None, "plain") is None
    lift_tags = lifter_of(SpecialIds(), None, "html")
    assert lift_tags is not None and lift_tags("a <b>word</b>").text == "a word"
    with pytest.raises(ValueError, match="markup must be one of .*, got 'tags'"):
        lifter_of(SpecialIds(), None, "tags")  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["plural", "selectordinal", "select"])
def test_branches_of_icu_are_text_whose_loss_is_told(kind: str) -> None:
    text = f"{{name}} has {{count, {kind}, one {{# file}} other {{# files}}}}."
    lifted = lift(text, "icu")
    assert [one.text for one in lifted.spans] == ["{name}"]
    translation = lifted.text.replace("has", "hat").replace("file", "Datei")
    assert lifted.is_kept(translation)
    assert not lifted.is_kept(translation.replace("count", "Anzahl"))


@pytest.mark.parametrize("address", ["a.b@c.org", "https://c.org/d"])
def test_an_address_is_no_part_of_a_word(address: str) -> None:
    lifted = lift(f"mail {address} now")
    [slot] = lifted.text.split()[1:2]
    assert lifted.put_back(f"an{slot}jetzt") == f"an {address} jetzt"
    assert lifted.put_back(f"({slot})") == f"({address})"
    assert lifted.put_back(f"到{slot}。") == f"到{address}。"


def test_an_address_that_is_part_of_a_word_stays_so() -> None:
    text = "seehttps://c.org/d now"
    lifted = lift(text)
    assert [one.kind for one in lifted.spans] == ["url"]
    assert lifted.put_back(lifted.text) == text
