"""Lines that were wrapped by hand become paragraphs again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.text.joined_lines import join_lines, joined_lines


@pytest.mark.parametrize(
    ("wrapped", "joined"),
    [
        ("A man is\nwalking.\n", "A man is walking.\n"),
        ("A man is\nwalking.\n\n\nTwo\nmen.\n", "A man is walking.\n\n\nTwo men.\n"),
        ("A man \r\nis.\r\n\r\nB\r\n", "A man is.\r\n\r\nB\r\n"),
        ("- One\n  goes on\n- Two\n1) A\ngoes on\n", "- One goes on\n- Two\n1) A goes on\n"),
        ("> A man\n> is.\n> \n> B\n>> C\n>> D\n", "> A man is.\n> \n> B\n>> C D\n"),
        ("He wrote:\n> A man\n> is.\nYes\nindeed.\n", "He wrote:\n> A man is.\nYes indeed.\n"),
        ("    Once\nupon a time.\n    Then\nagain.\n", "    Once upon a time.\n    Then again.\n"),
        ("# Title\nText\ngoes on\n", "# Title\nText goes on\n"),
        ("Title\n=====\nText\n-- \nAda\n", "Title\n=====\nText\n-- \nAda\n"),
        ("1\n00:00:01,000 --> 00:00:02,000\nA man\nis.\n",
         "1\n00:00:01,000 --> 00:00:02,000\nA man is.\n"),
        ("a trans-\nlation", "a translation"),
        ("a trans\u00ad\nlation", "a translation"),
        ("pre-\nand post-war", "pre- and post-war"),
        ("Baden-\nWürttemberg", "Baden-Württemberg"),
        ("from 1990-\n1995 it", "from 1990-1995 it"),
        ("He came in\n1995.\nShe, too.", "He came in 1995. She, too."),
        ("These are numbers:\n31\n32\n", "These are numbers:\n31\n32\n"),
        ("he left -\nfinally", "he left - finally"),
        ("so it is\n—he said— and\n**bold**", "so it is —he said— and **bold**"),
        ("A\n1、一\n2、二", "A\n1、一\n2、二"),
        ("今天天气\n很好。", "今天天气很好。"),
        ("오늘은\n좋다", "오늘은 좋다"),
        ("", ""),
        ("\n\n", "\n\n"),
        ("| a | b |\n| c | d |\n", "| a | b |\n| c | d |\n"),
    ],
)  # fmt: skip
def test_paragraphs_are_joined(wrapped: str, joined: str) -> None:
    assert join_lines(wrapped) == joined


def test_lines_before_an_error_are_told() -> None:
    def lines():
        yield from ["A man", "is."]
        raise ValueError("line 3")

    found = joined_lines(lines())
    assert next(found) == "A man is."
    with pytest.raises(ValueError, match="line 3"):
        next(found)
    assert list(joined_lines([])) == []


def test_an_endless_paragraph_is_joined_at_once() -> None:
    assert join_lines("a man\n" * 50_000).count("a man") == 50_000


@given(st.text(st.sampled_from("aB>-*1). \t\n\r\u00ad今é")))
def test_nothing_but_space_and_marks_at_joints_is_lost(text: str) -> None:
    def letters(text: str) -> str:
        return "".join(filter(str.isalnum, text))

    joined = join_lines(text)
    assert letters(joined) == letters(text)
    assert joined.count("\n") <= text.count("\n")
