"""Attributes of HTML that people read: found in tags, written back into them."""

import html
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from keras_transformer.text.subwords.attributes import attributes_of, with_values, without_values


@pytest.mark.parametrize(
    ("tag", "values"),
    [
        ('<img alt="a b" src="c" title=\'d\'>', ["a b", "d"]),
        ('<input PLACEHOLDER="a" aria-label="b"/>', ["a", "b"]),
        ('<a data-x=" alt=\'no\'" title="yes">', ["yes"]),
        ("<img alt=word title='1 %'>", []),
        ('<a alt="Tom &amp; Jerry">', ["Tom & Jerry"]),
        ("<b>", []),
        ('](a.html "b &amp; c")', ["b & c"]),
        ('](title="a" "1 %")', []),
        ("](a.html 'it (was)')", ["it (was)"]),
        ("](<a b.html> (one)  )", ["one"]),
        (r'](a "say \"no\" \a")', [r'say "no" \a']),
        ("](a.html)", []),
    ],
)
def test_values_that_people_read_are_found(tag: str, values: list[str]) -> None:
    assert [one.value for one in attributes_of(tag, 0)] == values


@pytest.mark.parametrize("quote", ['"', "'"])
@given(value=st.text(st.characters(codec="utf-8", exclude_characters="\r\0")))
def test_whatever_is_written_is_read_by_a_parser(quote: str, value: str) -> None:
    tag = f"<img src={quote}x{quote} alt={quote}old{quote}>"
    parser = HTMLParser()
    found: list[dict[str, str]] = []
    parser.handle_starttag = lambda name, attributes: found.append(dict(attributes))  # type: ignore
    parser.feed(with_values(tag, attributes_of(tag, 0), [value]))
    assert found == [{"src": "x", "alt": html.unescape(html.escape(value, quote=False))}]


@pytest.mark.parametrize("title", ['"old"', "'old'", "(old)"])
@given(value=st.text(st.characters(codec="utf-8", exclude_characters="\r\n\0"), min_size=1))
def test_whatever_is_written_as_a_title_is_read_by_a_parser(title: str, value: str) -> None:
    end = f"](<a b> {title})"
    text = with_values(f"[c{end} d", attributes_of(end, 2), [value])
    [inline] = MarkdownIt().parse(text)[1:2]
    link, *rest = inline.children or []
    assert link.attrs == {"href": "a%20b", "title": value}
    assert [one.content for one in rest] == ["c", "", " d"]


def test_tags_keep_their_place_and_all_else() -> None:
    one, other = '<a title="x" id=x>', '<img alt="x" title="y">'
    attributes = [*attributes_of(one, 0), *attributes_of(other, 30)]
    text = f"{other} b {one} {one}"
    wanted = '<img alt="B" title="C"> b <a title="A" id=x> <a title="A" id=x>'
    assert with_values(text, attributes, ["A", "B", "C"]) == wanted
    assert without_values(other) == '<img alt="" title="">'
    assert without_values('](a "b")') == '](a "")'
