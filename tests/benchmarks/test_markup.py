"""The measurement of markup: fragments with tags, judgements of translations."""

import pytest
from markup import judge
from tagged.fragments import Fragment, fragments, is_nested, places
from tagged.numbers import by_numbers

TAGGED = Fragment("the <b>dog</b>", {"<b>": "Hund"})


def test_fragments_have_tags_around_words_whose_place_is_known() -> None:
    found = list(fragments(["the dog", "x"], ["der Hund", "y"], [{(1, 1)}, set()], seed=0))
    assert [(one.html, one.phrases) for one in found] == [(TAGGED.html, TAGGED.phrases)]
    assert found[0].text == "the dog"


@pytest.mark.parametrize(
    ("said", "expected"),
    [("der <b>Hund</b>", [True]), ("<b>der</b> Hund", [False]), ("<b></b> Hund Hund", [])],
)
def test_a_tag_is_in_its_place_around_the_words_of_the_reference(
    said: str, expected: list[bool]
) -> None:
    assert [is_right for _, is_right in places(TAGGED, said)] == expected


@pytest.mark.parametrize(
    ("html", "expected"), [("<b>a<i>b</i></b>", True), ("<b>a<i>b</b></i>", False), ("<b>", False)]
)
def test_a_parser_says_whether_elements_nest(html: str, expected: bool) -> None:
    assert is_nested(html) is expected


def test_numbers_stand_for_tags() -> None:
    assert by_numbers([TAGGED.html], lambda texts: [texts[0].replace("the", "der")]) == [
        "der<b>dog</b>"
    ]


def test_shares_are_of_fragments_and_of_elements_that_are_there() -> None:
    way = judge([TAGGED, TAGGED], ["der <b>Hund</b>", "der Hund"], ["der Hund"] * 2)
    assert (way.kept, way.nested, way.placed, way.counted) == (0.5, 1.0, 0.5, 2)
