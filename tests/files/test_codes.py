"""Inline codes stand in texts as tags, and come back in place of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.files.codes import Code, CodedText, between_codes, has_codes_of

ITEMS = st.lists(
    st.one_of(
        st.sampled_from(["word ", " ", "</span>", "<span x>", "é"]),
        st.builds(
            Code,
            st.sampled_from(["[1]", "[2]", "[3]"]),
            st.sampled_from(["opens", "closes", "alone", "mark"]),
            st.sampled_from(["b", "i"]),
        ),
    )
)


@given(ITEMS)
def test_any_text_comes_back_with_its_codes(items: list) -> None:
    coded = CodedText(items)
    whole = "".join(one if isinstance(one, str) else one.part for one in items)
    assert has_codes_of(coded.text, coded.text)
    assert "".join(map(str, coded.parts(coded.text))) == whole


@pytest.mark.parametrize(
    ("items", "text"),
    [
        (["a ", Code("<b>", "opens"), "c", Code("</b>", "closes")], "a <span 2>c</span 2>"),
        ([Code("<b>", "opens"), "c", Code("</b>", "closes"), " "], "c"),
        ([Code("<x/>", "mark"), "c ", Code("<y/>")], "c <br 2>"),
        (["a", Code("<b>", "opens"), "c"], "a<br 2>c"),
    ],
)
def test_codes_at_borders_are_no_part_of_the_text(items: list, text: str) -> None:
    assert CodedText(items).text.replace(" data-code=", " ").replace('"', "") == text


CODED = CodedText(["a ", Code("1", "opens"), "b", Code("2", "closes"), Code("3"), "c"]).text


@pytest.mark.parametrize("change", [lambda parts: parts, lambda parts: parts[4:] + parts[:4]])
def test_codes_may_move(change) -> None:
    assert has_codes_of(CODED, "".join(change(between_codes(CODED))))


@pytest.mark.parametrize(
    "change",
    [lambda parts: parts[:-2], lambda parts: parts + parts[1:2], lambda parts: parts[::-1]],
)
def test_codes_are_neither_lost_nor_doubled_nor_turned(change) -> None:
    assert not has_codes_of(CODED, "".join(change(between_codes(CODED))))
