"""Edits of a text: apart, nested, and inserted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.files.segments import Copied, Edit, spliced


def test_edits_are_made_wherever_they_come_from() -> None:
    edits = [Edit(6, 9, ("night",)), Edit(0, 1, ("one",)), Edit(10, 10, ("!",))]
    assert spliced("a bad day ", edits) == "one bad night !"


def test_an_inner_edit_is_made_in_what_the_outer_one_copies() -> None:
    text = 'see <img alt="dog"> here'
    edits = [Edit(0, 24, ("siehe hier: ", Copied(4, 19))), Edit(14, 17, ("Hund",))]
    assert spliced(text, edits) == 'siehe hier: <img alt="Hund">'


@pytest.mark.parametrize("places", [(0, 0), (3, 3)])
def test_what_is_inserted_at_a_border_of_an_edit_stays(places: tuple[int, int]) -> None:
    found = spliced("abc", [Edit(0, 3, ("x",)), Edit(*places, ("+",))])
    assert found == ("+x" if places == (0, 0) else "x+")


@given(st.text(), st.data())
def test_edits_that_copy_change_nothing(text: str, data: st.DataObject) -> None:
    places = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    parts = [Copied(*pair) for pair in zip(places[::2], places[1::2], strict=False)]
    assert spliced(text, [Edit(*part, (part,)) for part in parts]) == text
