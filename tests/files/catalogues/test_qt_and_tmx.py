"""Qt's catalogues and translation memories: forms, marks, and languages."""

import pytest

from keras_transformer.files.segments import Translation

TS = """<TS language="{}"><context><message numerus="yes">
  <source>%n file(s) &amp; more</source>
  <translation type="unfinished"><numerusform></numerusform></translation>
</message></context></TS>"""
TMX = """<tmx version="1.4"><header srclang="en"/><body><tu>
  <tuv xml:lang="EN-us"><seg>good <hi>day</hi></seg></tuv>
</tu></body></tmx>"""


@pytest.mark.parametrize(("language", "forms"), [("de", 2), ("ja_JP", 1), ("pl", 3)])
def test_qts_forms_are_those_of_the_language(language: str, forms: int, translated) -> None:
    text = translated("a.ts", TS.format(language), review="low").data.decode()
    assert text.count("<numerusform>%n FILE(S) &amp; MORE</numerusform>") == forms
    assert "unfinished" not in text


def test_qts_translations_are_unfinished_until_they_are_reviewed(translated) -> None:
    assert '<translation type="unfinished">' in translated("a.ts", TS.format("de")).data.decode()


def test_low_confidence_is_a_comment_of_qts_translator(translated) -> None:
    def doubtful(texts, profile):
        return [Translation(text, is_doubtful=True) for text in texts]

    text = translated("a.ts", TS.format("de"), doubtful).data.decode()
    assert "<translatorcomment>low confidence</translatorcomment>\n  <translation" in text


def test_a_variant_is_added_behind_that_of_the_source(translated) -> None:
    text = translated("a.tmx", TMX, language="de").data.decode()
    assert '</tuv>\n  <tuv xml:lang="de"><seg>GOOD <hi>DAY</hi></seg></tuv>\n</tu>' in text


def test_of_a_variant_nothing_but_its_text_is_replaced(translated) -> None:
    head = '<tuv xml:lang="de-DE" creationid="a"><prop type="b">c</prop>'
    source = TMX.replace("\n</tu>", f"\n  {head}<seg>alt</seg></tuv>\n</tu>")
    text = translated("a.tmx", source, language="de", update="all").data.decode()
    assert text == source.replace("alt", "GOOD <hi>DAY</hi>")


def test_a_memory_of_one_language_needs_the_name_of_another(translated) -> None:
    with pytest.raises(ValueError, match=r"a.tmx cannot be read as tmx: .* \(--to\)"):
        translated("a.tmx", TMX)
