"""XLIFF 1.2 and 2: states, inline elements, notes, and the names of languages."""

import time

import pytest

from keras_transformer.files.segments import Translation

FIRST = """<xliff version="1.2"><file source-language="en"><body><trans-unit id="1">
  <source>see <g id="1">this</g><x id="2"/></source>
</trans-unit></body></file></xliff>"""
SECOND = """<xliff version="2.0" srcLang="en"><file id="f"><unit id="1">
  <segment><source>see <pc id="1">this</pc></source></segment>
</unit></file></xliff>"""


def doubtful(texts, profile):
    return [Translation(text, is_doubtful=True) for text in texts]


def test_a_target_is_added_behind_its_source(translated) -> None:
    text = translated("a.xlf", FIRST).data.decode()
    said = '</source>\n  <target state="needs-review-translation">SEE <g id="1">THIS</g><x id="2"/>'
    assert said in text


def test_the_second_version_says_that_nobody_reviewed_it(translated) -> None:
    text = translated("a.xlf", SECOND).data.decode()
    assert '<segment state="translated"><source>' in text
    assert '</source><target>SEE <pc id="1">THIS</pc></target></segment>' in text


@pytest.mark.parametrize(
    ("source", "mark"),
    [(FIRST, "</target>\n  <note>low confidence</note>"), (SECOND, "<notes><note>low confidence")],
)
def test_low_confidence_is_a_note(source: str, mark: str, translated) -> None:
    assert mark in translated("a.xlf", source, doubtful, review="low").data.decode()


@pytest.mark.parametrize(("source", "name"), [(FIRST, "target-language"), (SECOND, "trgLang")])
def test_the_language_is_named_where_the_file_does_not(source: str, name: str, translated) -> None:
    assert f' {name}="de"' in translated("a.xlf", source, language="de").data.decode()


@pytest.mark.parametrize(
    ("state", "update", "count"),
    [
        ("new", "untranslated", 1),
        ("needs-adaptation", "untranslated", 0),
        ("needs-adaptation", "fuzzy", 1),
        ("final", "fuzzy", 0),
        ("final", "all", 1),
    ],
)
def test_states_decide_what_is_translated(state: str, update: str, count: int, translated) -> None:
    target = f'</source>\n<target state="{state}">old</target>'
    outcome = translated("a.xlf", FIRST.replace("</source>", target), update=update)
    assert outcome.translated == count


def test_where_inline_elements_are_lost_the_texts_between_them_are_translated(translated) -> None:
    def without_codes(texts, profile):
        return [Translation(text.split("<")[0].upper()) for text in texts]

    outcome = translated("a.xlf", FIRST, without_codes)
    assert b'>SEE <g id="1">THIS</g><x id="2"/></target>' in outcome.data
    assert [one.line for one in outcome.doubts] == [2]


def test_another_encoding_has_references_for_what_it_lacks(translated) -> None:
    def lodz(texts, profile):
        return [Translation("Łódź") for _ in texts]

    source = '<?xml version="1.0" encoding="iso-8859-1"?>\n' + FIRST.replace("<g id", "\xfc<g id")
    source = source.replace('<g id="1">this</g><x id="2"/>', "")
    assert (
        b">&#321;\xf3d&#378;</target>" in translated("a.xlf", source.encode("latin-1"), lodz).data
    )


@pytest.mark.parametrize("source", [FIRST, SECOND])
def test_what_stands_in_a_group_that_nobody_translates_stays(source: str, translated) -> None:
    source = source.replace("<trans-unit", '<group translate="no"><trans-unit')
    source = source.replace("</trans-unit>", "</trans-unit></group>")
    source = source.replace("<file id", '<file translate="no" id')
    assert translated("a.xlf", source).translated == 0
    yes = source.replace('unit id="1"', 'unit id="1" translate="yes"')
    assert translated("a.xlf", yes).translated == 1


def test_units_far_behind_in_a_file_are_written_fast(translated) -> None:
    head, unit = FIRST.split("<trans-unit")
    unit, tail = unit.split("</body>")
    comment = f"<!--{'long ' * 1_000_000}-->"
    source = head + comment + f"<trans-unit{unit}" * 3000 + "</body>" + tail
    begun = time.process_time()
    assert translated("a.xlf", source).translated == 3000
    assert time.process_time() - begun < 3
