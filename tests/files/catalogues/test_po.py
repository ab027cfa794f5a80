"""Gettext's catalogues: what is translated, how it is written, and that all else stays."""

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.files.catalogues.po import PoDocument
from keras_transformer.files.job import Outcome
from keras_transformer.files.segments import Reading, Translation

CATALOGUE = r"""# A comment of the team.
msgid ""
msgstr ""
"Project-Id-Version: x 1.0\n"
"PO-Revision-Date: 2026-11-01 10:00+0100\n"
"Last-Translator: A <a@b.org>\n"
"Language-Team: German\n"
"Language: de\n"
"MIME-Version: 1.0\n"
"Content-Type: text/plain; charset=UTF-8\n"
"Content-Transfer-Encoding: 8bit\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\n"

#. for translators
#: a.c:1
#, c-format
msgid   "delete %s?"
msgstr ""

#, c-format, no-wrap
msgid "%d \"file\"\n"
msgid_plural "%d \"files\"\n"
msgstr[0] ""
msgstr[1] ""

msgctxt "menu"
msgid "open"
msgstr "Öffnen"

#, fuzzy
#| msgid "old"
msgid ""
"new "
"word\n"
msgstr "altes Wort\n"

#~ msgid "gone"
#~ msgstr "weg"
"""
PARTS = [
    "# c\n",
    "#, fuzzy\n",
    '#~ msgid "x"\n',
    "\n",
    "\n\n",
    "\t\n",
    '\n\nmsgid "a"\nmsgstr ""\n',
]


def only_form(text: str) -> str:
    return CATALOGUE.replace("nplurals=2; plural=(n != 1)", text)


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_what_nothing_is_translated_in_is_the_same(mark: str, end: str, translated) -> None:
    data = (mark + CATALOGUE.replace("\n", end)).encode()
    assert PoDocument(data, Reading()).written({}) == data
    assert translated("a.po", data).data != data


@given(st.lists(st.sampled_from(PARTS)).map("".join))
def test_any_catalogue_comes_back(text: str) -> None:
    data = ('msgid "b"\nmsgstr "c"\n' + text).encode()
    assert PoDocument(data, Reading()).written({}) == data


def test_only_what_is_untranslated_is_translated_and_marked(translated) -> None:
    outcome: Outcome = translated("a.po", CATALOGUE)
    changed = CATALOGUE.replace(
        '#, c-format\nmsgid   "delete %s?"\nmsgstr ""',
        '#, fuzzy, c-format\nmsgid   "delete %s?"\nmsgstr "DELETE %s?"',
    )
    changed = changed.replace("#, c-format, no-wrap", "#, fuzzy, c-format, no-wrap")
    changed = changed.replace('msgstr[0] ""', r'msgstr[0] "%d \"FILE\"\n"')
    changed = changed.replace('msgstr[1] ""', r'msgstr[1] "%d \"FILES\"\n"')
    assert outcome.data.decode() == changed
    assert (outcome.translated, outcome.left) == (2, 2)


@pytest.mark.parametrize(("update", "count"), [("untranslated", 2), ("fuzzy", 3), ("all", 4)])
def test_more_is_translated_if_that_is_asked_for(update: str, count: int, translated) -> None:
    assert translated("a.po", CATALOGUE, update=update).translated == count


def test_with_review_of_low_confidence_the_others_lose_their_mark(translated) -> None:
    text = translated("a.po", CATALOGUE, update="all", review="low").data.decode()
    assert "fuzzy" not in text
    assert '#| msgid "old"\nmsgid ""\n"new "\n"word\\n"\nmsgstr "NEW WORD\\n"' in text


def test_low_confidence_is_said_and_marked(translated) -> None:
    def doubtful(texts, profile):
        return [Translation("x", is_doubtful=True) for _ in texts]

    outcome = translated("a.po", CATALOGUE, doubtful, review="low")
    assert "# low confidence\n#. for translators\n#: a.c:1\n#, fuzzy, c-format\n" in (
        outcome.data.decode()
    )
    assert {one.line for one in outcome.doubts} == {17, 21}


@pytest.mark.parametrize(
    ("forms", "written"),
    [
        ("nplurals=1; plural=0", ["FILES"]),
        # The last semicolon is often left out.
        (r'nplurals=2; plural=(n != 1)\n"' + '\n"X: y', ["FILE", "FILES"]),
        # The first form is for 21, too: it needs the number.
        ("nplurals=3; plural=n%10==1 ? 0 : n%10<5 ? 1 : 2", ["FILES", "FILES", "FILES"]),
        ("nplurals=3; plural=n==0 ? 0 : n==1 ? 1 : 2", ["FILES", "FILE", "FILES"]),
    ],
)
def test_plural_forms_are_those_of_the_language(forms: str, written: list[str], translated) -> None:
    text = translated("a.po", only_form(forms)).data.decode()
    lines = [line for line in text.splitlines() if line.startswith("msgstr[")]
    said = [rf'msgstr[{form}] "%d \"{word}\"\n"' for form, word in enumerate(written)]
    assert lines == said


def test_a_template_becomes_a_catalogue(translated) -> None:
    template = (
        'msgid ""\nmsgstr ""\n"Language: \\n"\n'
        '"Content-Type: text/plain; charset=CHARSET\\n"\n'
        '"Plural-Forms: nplurals=INTEGER; plural=EXPRESSION;\\n"\n\n'
        'msgid "a"\nmsgid_plural "b"\nmsgstr[0] ""\nmsgstr[1] ""\n'
    )
    text = translated("a.pot", template, language="pl").data.decode()
    assert '"Language: pl\\n"' in text and "charset=UTF-8" in text and "nplurals=3;" in text
    assert 'msgstr[0] "A"\nmsgstr[1] "B"\nmsgstr[2] "B"\n' in text


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ('say "a"', r'"say \"a\""'),
        (r"a\tb \d \\", r'"a\tb \\d \\"'),
        ("a\nb", '""\n"a\\n"\n"b"'),
        ("word " * 20, '""\n"' + "word " * 15 + '"\n"' + "word " * 5 + '"'),
    ],
)
def test_texts_are_escaped_and_wrapped(text: str, written: str) -> None:
    document = PoDocument(b'msgid "b"\nmsgstr ""\n', Reading(review="low"))
    data = document.written({0: [Translation(text)]})
    assert data.decode() == f'msgid "b"\nmsgstr {written}\n'


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"{}", "line 1 is no line of a catalogue: '{}'"),
        (b"", "it has no entry"),
        (b'msgid "a"\n', "the entry in line 1 has no msgstr"),
        (b'msgid "a"\nmsgid "b"\n', "line 2 is no line of a catalogue"),
        (b'msgid "a"\nmsgstr "\xff"\n', "it is not in utf-8: line 2"),
        (b'msgid ""\nmsgstr "Plural-Forms: nplurals=2; plural=n+;"', "has no rule of forms: n\\+"),
        (b'msgid ""\nmsgstr "Plural-Forms: nplurals=2; plural=n%0;"', "has no rule of forms: n%0"),
        (b'msgid ""\nmsgstr "Plural-Forms: nplurals=1; plural=n>1;"', "has 1 forms, and a rule"),
        (b'msgid ""\nmsgstr "Plural-Forms: nplurals=1000000000; plural=0;"', "has 1000000000 f"),
        (b'msgid ""\nmsgstr "charset=x-no\\n"\n', "its encoding is x-no, which is unknown"),
        (b'msgid ""\nmsgstr "charset=punycode\\n"\n', "is punycode, which is unknown"),
    ],
)
def test_what_is_no_catalogue_is_refused(data: bytes, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        PoDocument(data, Reading())


def test_a_character_that_the_encoding_lacks_is_refused() -> None:
    header = b'msgid ""\nmsgstr "charset=ISO-8859-1\\n"\n\nmsgid "b"\nmsgstr ""\n'
    document = PoDocument(header, Reading())
    assert b'"\xfc"' in document.written({0: [Translation("ü")]})
    with pytest.raises(ValueError, match="ISO-8859-1, the encoding of the file, has no 'Ł'"):
        document.written({0: [Translation("Ł")]})


def test_msgfmt_finds_no_error(translated: Callable[..., Outcome], tmp_path: Path) -> None:
    if shutil.which("msgfmt") is None:
        pytest.skip("no msgfmt on this machine")
    outcome = translated("a.po", CATALOGUE, update="all", review="low")
    (tmp_path / "b.po").write_bytes(outcome.data)
    checked = subprocess.run(
        ["msgfmt", "--check", "-o", "/dev/null", tmp_path / "b.po"], capture_output=True, text=True
    )
    assert (checked.returncode, checked.stderr) == (0, "")


def test_a_message_that_is_defined_twice_is_told_as_msgfmt_does(tmp_path: Path) -> None:
    more = 'msgctxt "menu"\nmsgid "x"\nmsgstr ""\n\nmsgid "x"\nmsgstr ""\n\n'
    more += 'msgid ""\n"x"\nmsgid_plural "xs"\nmsgstr[0] ""\nmsgstr[1] ""\n\n'
    data = CATALOGUE + "\n" + more + 'msgctxt "menu"\nmsgid "open"\nmsgstr ""\n'
    warnings = PoDocument(data.encode(), Reading()).warnings
    places = [tuple(map(int, re.findall(r"line (\d+)", one))) for one in warnings]
    assert "duplicate message definition" in warnings[0] and len(places) == 2
    lines = data.split("\n")
    assert [lines[place - 1] for one in places for place in one] == [
        'msgid ""',
        'msgid "x"',
        'msgid "open"',
        'msgid "open"',
    ]
    if shutil.which("msgfmt") is None:
        pytest.skip("no msgfmt on this machine")
    (tmp_path / "a.po").write_text(data)
    checked = subprocess.run(
        ["msgfmt", "-o", "/dev/null", tmp_path / "a.po"], capture_output=True, text=True
    )
    assert checked.stderr.count("duplicate message definition") == len(places)


def test_the_flags_of_an_obsolete_entry_are_not_those_of_the_next_one(translated) -> None:
    gone = '#, fuzzy\n#~ msgid "gone"\n#~ msgstr "weg"\n\n'
    text = translated("a.po", gone + 'msgid "a"\nmsgstr ""\n').data.decode()
    assert text == gone + '#, fuzzy\nmsgid "a"\nmsgstr "A"\n'
