"""Spans are found by kind, and a text comes back from its spans and what is around them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.markup.profiles import PROFILES, Profile
from keras_transformer.markup.spans import around, find_spans
from keras_transformer.text.subwords.slots import SLOTS

# What markup is made of, and letters: most texts of these hold spans.
MARKUP = st.lists(
    st.sampled_from(
        [*"%<>{}&;:/\\\"'`[]()*_#$@.= aBn1", "%s", "<b>", "</b>", "&amp;", "{0}", "\\n"]
        + [SLOTS[0], "http://a.b", "\n", "ß"]
    )
).map("".join)


@given(st.one_of(MARKUP, st.text()), st.sampled_from(PROFILES))
def test_any_text_comes_back_whole(text: str, profile: Profile) -> None:
    spans = find_spans(text, profile)
    texts = [*(span.text for span in spans), ""]
    pairs = zip(around(text, spans), texts, strict=True)
    assert "".join(part for pair in pairs for part in pair) == text


def texts(text: str, profile: Profile = "auto") -> list[str]:
    return [span.text for span in find_spans(text, profile)]


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("%s: %5.2f of %1$*2$d %%", ["%s", "%5.2f", "%1$*2$d", "%%"]),
        ("Hello %(name)s, %n files", ["%(name)s", "%n"]),
        ("type %qT of %<foo%qE%> at %L", ["%qT", "%<foo%qE%>", "%L"]),
        ("100% of it, 70%ige", []),
        ("%1 of %L2", ["%1", "%L2"]),
        ("{} {0:>5} {user.name!r} {{x}} {see below}", ["{}", "{0:>5}", "{user.name!r}", "{{x}}"]),
        ("$HOME ${HOME} $(ARG1) %PATH% $5", ["$HOME", "${HOME}", "$(ARG1)", "%PATH%"]),
        ('<a href="x>y">one</a> <file>', ['<a href="x>y">', "</a>"]),
        ("a&nbsp;b &#8217; Q&A;", ["&nbsp;", "&#8217;"]),
        ("see (http://a.org/b_(c).html).", ["http://a.org/b_(c).html"]),
        ("write to me@example.org, please", ["me@example.org"]),
        ("in /etc/fstab and ~/.config/x, and/or", ["/etc/fstab", "~/.config/x"]),
        (r"one\n\ntwo\tthree", [r"\n\n\t"[:4], r"\t"]),
    ],
)
def test_kinds_that_are_found_without_a_profile(text: str, spans: list[str]) -> None:
    assert texts(text) == spans


@pytest.mark.parametrize(
    ("profile", "text", "spans"),
    [
        ("html", "<x-y>a <code>b <i></code> %s", ["<x-y>", "<code>b <i></code>"]),
        ("html", '<i translate="no">a</i> b', ['<i translate="no">a</i>']),
        ("html", '<p class="notranslate">x</p><p>', ['<p class="notranslate">x</p>', "<p>"]),
        ("xml", "<![CDATA[a<b]]><file/><code>", ["<![CDATA[a<b]]>", "<file/>", "<code>"]),
        ("markdown", "# A **b** `c*d`", ["# ", "**", "**", "`c*d`"]),
        ("markdown", "[e](http://f_g) h_i", ["[", "](http://f_g)"]),
        ("printf", r"<b>%s\n", ["%s", r"\n"]),
        ("plain", "<b>%s {0} http://a.org", []),
    ],
)
def test_a_profile_says_which_kinds_there_are(
    profile: Profile, text: str, spans: list[str]
) -> None:
    assert texts(text, profile) == spans


def test_own_patterns_come_first() -> None:
    found = find_spans("see BUG-17 %s", "auto", [r"BUG-\d+"])
    assert [(span.text, span.kind) for span in found] == [("BUG-17", "own"), ("%s", "printf")]


@pytest.mark.parametrize(
    ("own", "message"),
    [("(", "a regular expression, got '\\('"), ("a*", "match some text")],
)
def test_own_patterns_that_cannot_be_used_are_refused(own: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        find_spans("a", "auto", [own])


def test_an_unknown_profile_is_refused() -> None:
    with pytest.raises(ValueError, match="markup must be one of .*, got 'htlm'"):
        find_spans("a", "htlm")  # type: ignore[arg-type]
