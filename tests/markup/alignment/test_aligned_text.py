"""Spans come back into translations of models without slots: each once and elements nested by any
alignment, and where the words around them went by a good one.
"""

import dataclasses
import re
from collections import Counter
from collections.abc import Sequence
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.markup.alignment.aligned_text import lift_aligned
from keras_transformer.text.subwords.slots import TokenAlignment

WORDS = ["one ", "two ", "Häuser ", "%s", "%1$d", "{name}", "&amp; ", "http://a.org/b. ", " "]
ALONE = ["<br>", "<img src='a b'/>", "<!-- x -->", "&nbsp;", "<code>a</code> ", "\\n", "<p>"]
TEXTS = st.lists(
    st.recursive(
        st.sampled_from(WORDS + ALONE),
        lambda inner: st.builds(
            lambda name, parts: f"<{name}>{''.join(parts)}</{name}>",
            st.sampled_from(["b", "i", "div", "a"]),
            st.lists(inner, max_size=4),
        ),
        max_leaves=12,
    ),
    max_size=4,
).map("".join)
SAID = ["eins", "zwei", "%s", "% 1 $ d", "{Name}", "&", '"', ".", "<br>", "a", "http://a.org/"]
TRANSLATIONS = st.lists(st.sampled_from(SAID), max_size=8).map(" ".join)


def aligned(
    read: str, said: str, links: Sequence[tuple[int, int]], tokens: str = r"\S+"
) -> TokenAlignment:
    """Aligns the tokens of a translation with those of its source: pairs of target and source."""
    sources, targets = ([one.span() for one in re.finditer(tokens, text)] for text in (read, said))
    weights = np.zeros((len(targets), len(sources)), np.float32)
    for target, source in links:
        weights[target, source] = 1.0
    return TokenAlignment(read, sources, said, targets, weights)


class Elements(HTMLParser):
    """Counts tags; a closing one must close the last element that was opened."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._open: list[str] = []
        self.seen: Counter[str] = Counter()
        self.feed(text)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen[tag] += 1
        if tag not in ("br", "img", "p"):
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        self.seen[tag] += 1

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag


@given(TEXTS, TRANSLATIONS, st.integers(0, 99))
def test_by_any_alignment_every_span_comes_back_once_and_a_parser_finds_the_elements(
    text: str, said: str, seed: int
) -> None:
    said = said if "<br>" in text else said.replace("<br>", "")
    lifted = lift_aligned(text, "auto")
    alignment = aligned(lifted.text, said, [], tokens=".")
    weights = np.random.default_rng(seed).random(alignment.weights.shape, np.float32)
    found = lifted.put_back(said, dataclasses.replace(alignment, weights=weights))
    for span in {one.text for one in lifted.spans}:
        assert found.count(span) == text.count(span)
    assert Elements(found).seen == Elements(text).seen


@given(TEXTS)
def test_a_text_is_its_own_translation(text: str) -> None:
    lifted = lift_aligned(text, "auto")
    each = [(place, place) for place in range(len(lifted.text))]
    alignment = aligned(lifted.text, lifted.text, each, tokens="(?s).")
    assert lifted.put_back(lifted.text, alignment).split() == text.split()
    assert lifted.is_kept(lifted.text, alignment)


@pytest.mark.parametrize(
    ("text", "said", "links", "expected"),
    [
        (
            "Click <b>the red button</b> now!",
            "Jetzt klick den roten Knopf!",
            "04 10 21 32 43",
            "Jetzt klick <b>den roten Knopf</b>!",
        ),
        (
            "A <i>black <b>dog</b></i> runs.",
            "Es rennt ein schwarzer Hund.",
            "00 13 20 31 42",
            "Es rennt ein <i>schwarzer <b>Hund</b></i>.",
        ),
        ("<p><b>All of it.</b></p>", "Das Ganze.", "", "<p><b>Das Ganze.</b></p>"),
        ("one<br>two <img> three", "drei zwei eins", "02 11 20", "<img> drei<br>zwei eins"),
        ("a <b> word </b> b", "b Wort a", "02 11 20", "b <b> Wort </b> a"),
        ("(<i>one</i>) two", "zwei (eins)", "01 10", "zwei (<i>eins</i>)"),
        ("<a>x</a><a>y</a>", "yx", "00", "<a>yx</a><a></a>"),
    ],
)
def test_elements_go_where_their_words_went(
    text: str, said: str, links: str, expected: str
) -> None:
    lifted = lift_aligned(text, "html")
    pairs = [(int(target), int(source)) for target, source in links.split()]
    assert lifted.put_back(said, aligned(lifted.text, said, pairs)) == expected


@pytest.mark.parametrize(
    ("text", "said", "links", "expected", "is_kept"),
    [
        ("Open %s now", "%s jetzt öffnen", "01 12 20", "%s jetzt öffnen", True),
        ("Open %1$s now", "% 1 $ S öffnen", "01 11 21 31 40", "%1$s öffnen", False),
        ("Open {file_name}", "{Dateiname} öffnen", "01 10", "{file_name} öffnen", False),
        ("Open %s", "Öffnen", "00", "Öffnen %s", False),
        ("Open %s now", "%s öffnen %s", "01 10 21", "%s öffnen", False),
        ("%s: %d files", "%d Dateien: %s", "01 12 20", "%s Dateien: %d", False),
        ("Tom &amp; Jo", "Tom & Jo", "00 11 22", "Tom &amp; Jo", True),
        ("Tom &amp; Jo", "Tom und Jo", "00 11 22", "Tom &amp; Jo", False),
        ("a&nbsp;b caf&eacute;", "a b Café", "00 11 22", "a&nbsp;b Café", True),
        (
            "Run <code>open</code>",
            "Öffnen ausführen",
            "01 10",
            "<code>open</code> ausführen",
            False,
        ),
    ],
)
def test_placeholders_are_found_mended_put_in_or_taken_out(
    text: str, said: str, links: str, expected: str, is_kept: bool
) -> None:
    lifted = lift_aligned(text, "html" if ";" in text or "<" in text else "auto")
    alignment = aligned(lifted.text, said, [(int(t), int(s)) for t, s in links.split()])
    assert lifted.put_back(said, alignment) == expected
    assert lifted.is_kept(said, alignment) is is_kept


def test_a_full_stop_that_attracts_most_attention_hides_no_word() -> None:
    lifted = lift_aligned("the <b>dog</b> .", "html")
    alignment = aligned("the dog .", "der Hund .", [])
    weights = np.array([[0.3, 0.1, 0.6], [0.1, 0.3, 0.6], [0.1, 0.1, 0.8]], np.float32)
    placed = dataclasses.replace(alignment, weights=weights)
    assert lifted.put_back("der Hund .", placed) == "der <b>Hund</b> ."


def test_what_went_around_the_model_is_put_in_by_nobody_else() -> None:
    lifted = lift_aligned("see {имя} <b>now</b>", "auto")
    alignment = aligned("see now", "jetzt sehen", [(0, 1), (1, 0)])
    assert lifted.put_back("jetzt sehen", alignment) == "<b>jetzt</b> sehen"


def test_very_deep_elements_come_back() -> None:
    text = "<b>" * 3000 + "word" + "</b>" * 3000
    lifted = lift_aligned(text, "html")
    assert lifted.put_back("Wort", aligned("word", "Wort", [(0, 0)])) == text.replace(
        "wo", "Wo"
    ).replace("d", "t")


@pytest.mark.parametrize(
    ("text", "profile", "read"),
    [
        ("a<br>b <b>c</b>d", "html", "a b cd"),
        ("<p>Hello</p><p>you</p>", "html", "Hello you"),
        ("**bold** and [here](http://a.org)", "markdown", "bold and here"),
        ('say \\"%s\\"\\nnow', "printf", 'say "%s" now'),
        ("<br>", "html", ""),
    ],
)
def test_models_read_texts_without_what_is_no_word(text: str, profile: str, read: str) -> None:
    assert lift_aligned(text, profile).text == read  # type: ignore[arg-type]
