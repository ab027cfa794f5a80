"""ICU's messages: branches are whole texts, and what is none stays one text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.files.icu import read_message
from keras_transformer.files.segments import Translation

PARTS = ["{", "}", "n, plural, ", "one ", "other ", "{n, select, a {b} other {c}}", "#", "x ", ","]


@pytest.mark.parametrize(
    ("text", "texts"),
    [
        ("plain {n} #", ["plain {n} #"]),
        ("{n, plural, one {# cat} other {# cats}}", ["{#} cat", "{#} cats"]),
        ("a {n,plural,=0{b}other{c {x}}} d", ["a b d", "a c {x} d"]),
        ("{n, plural, offset:1 one {a} other {b}}", ["a", "b"]),
        (
            "{g, select, f {she} other {they}} {n, plural, one {has #} other {have #}}",
            ["she has {#}", "she have {#}", "they has {#}", "they have {#}"],
        ),
        ("{n, plural, one {a", ["{n, plural, one {a"]),
        ("{n, plural, }", ["{n, plural, }"]),
        ("{n, number}", ["{n, number}"]),
    ],
)
def test_each_branch_is_a_text(text: str, texts: list[str]) -> None:
    assert read_message(text).texts == texts


def test_translations_are_written_in_their_branches(translated) -> None:
    source = '{"a": "I see {n, plural, one {# cat} other {# cats}}."}'
    written = '{"a": "{n, plural, one {I SEE # CAT.} other {I SEE # CATS.}}"}'
    assert translated("a.json", source).data.decode() == written


def test_a_choice_in_markdown_is_an_example(translated) -> None:
    source = "As `{n, plural, one {# cat} other {# cats}}` says\n"
    written = "AS `{n, plural, one {# cat} other {# cats}}` SAYS\n"
    assert translated("a.md", source).data.decode() == written


def test_a_text_whose_braces_do_not_fit_stays() -> None:
    message = read_message("{n, plural, one {a} other {b}}")
    joined = message.joined([Translation("x}"), Translation("y")])
    assert joined == Translation("{n, plural, one {a} other {y}}", is_doubtful=True)


@given(st.lists(st.sampled_from(PARTS)).map("".join))
def test_a_message_that_was_written_has_the_same_texts(text: str) -> None:
    message = read_message(text)
    again = message.joined([Translation(one) for one in message.texts]).text
    assert read_message(again).texts == message.texts


@pytest.mark.parametrize("branches", ["one {a} other {b}", "other {a}"])
def test_many_choices_in_a_row_are_one_text(branches: str) -> None:
    text = f"{{n, plural, {branches}}}" * 1000
    assert read_message(text).texts == [text]
