"""A text in capitals is translated as a sentence, whatever the engine."""

from collections.abc import Callable

from keras_transformer.translation.by_sentence import SentenceTranslator
from keras_transformer.translation.translator import TextTranslator

TEXT, CAPITALS = "Hello, how are you?", "HELLO, HOW ARE YOU?"


def test_its_translation_is_in_capitals(translator: TextTranslator) -> None:
    [wanted] = translator.translate_n_best([TEXT], beam_size=2, num_hypotheses=2)
    [found] = translator.translate_n_best([CAPITALS], beam_size=2, num_hypotheses=2)
    assert [one.text for one in found] == [one.text.upper() for one in wanted]
    assert [(one.ids, one.score) for one in found] == [(one.ids, one.score) for one in wanted]
    [best] = translator.translate([CAPITALS])
    assert "".join(translator.translate_stream(CAPITALS)) == best
    several = SentenceTranslator(translator).translate([f"- {CAPITALS} {TEXT} "])
    assert several == [f"- {best} {translator.translate([TEXT])[0]} "]
    scores = translator.score([CAPITALS, TEXT], [best, best.capitalize()])
    assert scores[0].ids == scores[1].ids


def test_it_is_read_as_it_is_on_demand(open_translator: Callable[..., TextTranslator]) -> None:
    with_capitals = open_translator(casing="keep").translate([CAPITALS])
    assert with_capitals != open_translator().translate([CAPITALS])
