"""HTML: blocks, inline elements, attributes, and what nobody translates."""

import html
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.files.codes import between_codes
from keras_transformer.files.documents.html_pages import HtmlDocument
from keras_transformer.files.formats import read_document
from keras_transformer.files.segments import Reading, Translation

SOUP = st.lists(
    st.sampled_from(
        [
            "<p>",
            "</p>",
            "<b>",
            "</b>",
            "<i class='x'>",
            "</i>",
            "<br>",
            "<img alt='a word'>",
            "<ul>",
        ]
        + ["<li>", "<code>", "</code>", "<!-- c -->", "word ", "&amp;", " < ", "&nbsp;", "ü", "\n"]
        + ["<script>if (a<b) c()</script>", "<a href='x?a&b'>", "</a>", "<p translate=no>", "</li>"]
    )
).map("".join)


class Tags(HTMLParser):
    """What a page holds besides texts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs) -> None:
        self.found.append(f"{tag} {sorted(name for name, _ in attrs)}")

    def handle_endtag(self, tag) -> None:
        self.found.append(f"/{tag}")


def shouted(text: str) -> str:
    parts = between_codes(text)
    parts[::2] = [one.upper() for one in parts[::2]]
    return "".join(parts)


@given(SOUP)
def test_any_page_keeps_its_tags_and_changes_its_texts_alone(page: str) -> None:
    document = HtmlDocument(page.encode(), Reading())
    found = {
        place: [Translation(shouted(one.texts[0]))] for place, one in enumerate(document.segments)
    }
    assert Tags(document.written(found).decode()).found == Tags(page).found
    assert document.written({}).decode() == page


@pytest.mark.parametrize(
    ("page", "written"),
    [
        ("<p>a <b>c</b>\n  d</p>", "<p>A <b>C</b> D</p>"),
        ("<p> a<br>b &lt; &amp; </p>", "<p> A<br>B &lt; &amp; </p>"),
        ("<p translate=no>a <b>c</b><p>d", "<p translate=no>a <b>c</b><p>D"),
        ("<li translate=no>a<li>b<ul><li>c</ul>", "<li translate=no>a<li>B<ul><li>C</ul>"),
        ("<img translate=no alt='a'>", "<img translate=no alt='a'>"),
        ("<td>a</td><td>1</td>", "<td>A</td><td>1</td>"),
        ("run <code>ls</code> now", "RUN <code>ls</code> NOW"),
        ("<pre>a\n b</pre><p>c", "<pre>a\n b</pre><p>C"),
        ('<p translate="no">a</p>b', '<p translate="no">a</p>B'),
        ("<i class='x notranslate'>a <i>b</i></i> c", "<i class='x notranslate'>a <i>b</i></i> C"),
        ('<img src="a" alt="b &quot;c">', '<img src="a" alt="B &quot;C">'),
        ("<a title='b'>c</a>", "<a title='B'>C</a>"),
        ('<meta name="description" content="a">', '<meta name="description" content="A">'),
        ('<input type="submit" value="a">', '<input type="submit" value="A">'),
        ('<input value="a">', '<input value="a">'),
    ],
)
def test_texts_are_written_in_their_place(page: str, written: str, translated) -> None:
    assert translated("a.html", page).data.decode() == written


def test_an_inner_text_is_translated_in_the_outer_one(translated) -> None:
    page = '<p>see <img alt="a dog"> here</p>'
    assert translated("a.html", page).data.decode() == '<p>SEE <img alt="A DOG"> HERE</p>'


def test_the_language_of_the_page_is_named(translated) -> None:
    page = '<html lang="en"><p lang="fr">a</p></html>'
    assert (
        '<html lang="de"><p lang="fr">' in translated("a.html", page, language="de").data.decode()
    )


def test_another_encoding_has_references_for_what_it_lacks(translated) -> None:
    page = "<meta charset='iso-8859-1'><p>\xfc</p>".encode("latin-1")
    outcome = translated("a.html", page, lambda texts, profile: [Translation("ü Ł")])
    assert outcome.data.endswith(b"<p>\xfc &#321;</p>")


def test_texts_that_look_like_tags_are_escaped(translated) -> None:
    outcome = translated("a.html", "<p>a</p>", lambda texts, profile: [Translation("<x> & y")])
    assert html.unescape(outcome.data.decode()) == "<p><x> & y</p>"
    assert b"<x>" not in outcome.data


def test_a_long_name_in_a_tag_is_read_fast(translated) -> None:
    head = f"<p {'a' * 300_000} title='b'>"
    assert translated("a.html", head + "c").data.decode() == head.replace("b", "B") + "C"


def test_a_page_whose_tags_have_no_end_is_given_up(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text("<a " * 60_000)
    with pytest.raises(ValueError, match="it takes too long to read"):
        read_document(tmp_path / "a.html", Reading(most_seconds=0.05))


def test_tags_without_an_end_take_no_longer_than_their_length(translated) -> None:
    begun = time.process_time()
    translated("a.html", "<p>a</p>" + "<meta" * 20_000 + ">")
    # Where a character set were looked for behind each of them it were ten seconds.
    assert time.process_time() - begun < 3
