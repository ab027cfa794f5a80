"""Spans are found by kind, and a text comes back from its spans and what is around them."""

import time

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
        ("%<PRIuMAX> of %-5<PRIx32>", ["%<PRIuMAX>", "%-5<PRIx32>"]),
        ("100% of it, 70%ige", []),
        ("%1 of %L2", ["%1", "%L2"]),
        ("{} {0:>5} {user.name!r} {{x}} {see below}", ["{}", "{0:>5}", "{user.name!r}", "{{x}}"]),
        ("$HOME ${HOME} $(ARG1) %PATH% $5", ["$HOME", "${HOME}", "$(ARG1)", "%PATH%"]),
        ('<a href="x>y">one</a> <file>', ['<a href="x>y">', "</a>"]),
        ("a&nbsp;b &#8217; Q&A;", ["&nbsp;", "&#8217;"]),
        ("see (http://a.org/b_(c).html).", ["http://a.org/b_(c).html"]),
        ("write to me@example.org, please", ["me@example.org"]),
        ("in /etc/fstab and ~/.config/x, and/or", ["/etc/fstab", "~/.config/x"]),
        ('run --dry-run, --config=FILE -- now--or "--help"', ["--dry-run", "--config", "--help"]),
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
        ("markdown", "[e][f g] h[^1] [i]", ["[", "][f g]", "[^1]"]),
        ("printf", r"<b>%s\n", ["%s", r"\n"]),
        ("units", "5 km/h, 20% or 3,5\u00a0GB: -2 °C", ["5 km/h", "20%", "3,5\u00a0GB", "-2 °C"]),
        ("units", "$ 9.99 for <b>10 µm²</b>", ["$ 9.99", "<b>", "10 µm²", "</b>"]),
        ("units", "2 in 3 cases, 100 %d, v1.2.3, 5 kmh, x2 m, 3 A", ["%d"]),
        ("auto", "5 km at 20 %", []),
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
    [
        ("(", "a regular expression, got '\\('"),
        ("a*", "match some text"),
        ("(?P<name>a)", "neither name a group"),
        (r"(a|b)\1", "nor refer to one by its number"),
        ("(?i)bug", "global flags not at the start"),
    ],
)
def test_own_patterns_that_cannot_be_used_are_refused(own: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        find_spans("a", "auto", [own])


@pytest.mark.parametrize("own", [r"\b", "(?=a)", r"(bug|fix)-[0-9]+", r"\\1"])
def test_own_patterns_with_empty_matches_or_groups_leave_the_others_as_they_are(own: str) -> None:
    assert [span.text for span in find_spans("a %s <b>", "auto", [own])] == ["%s", "<b>"]


# Beginnings without an end, of everything that is looked for to its end, and words without one.
ENDLESS = [*"a%`{[*_&<\\/漢", "<!--", "<![CDATA[", "<?", "<code>", '<i translate="no">', "%<"]
ENDLESS += ["a@", "a@a.", "http://", "www.", "](", "][", "<a b ", "<a b='", "/a", "%d", "{{", "${"]


@pytest.mark.parametrize("part", [*ENDLESS, "%0"])
def test_a_long_text_takes_no_longer_than_its_length(part: str) -> None:
    text = part[:1] + (part[1:] or part) * 3000 if part == "%0" else part * 3000
    begun = time.perf_counter()
    for profile in PROFILES:
        find_spans(text, profile)
    # Where each beginning were followed to the end of the text it were a minute.
    assert time.perf_counter() - begun < 3


def test_what_is_not_to_be_translated_may_hold_elements_of_its_own_name() -> None:
    text = '<div translate="no">a <div>b</div> c</div> <div>d</div>'
    assert texts(text, "html") == [text[:42], "<div>", "</div>"]


def test_an_unknown_profile_is_refused() -> None:
    with pytest.raises(ValueError, match="markup must be one of .*, got 'htlm'"):
        find_spans("a", "htlm")  # type: ignore[arg-type]
