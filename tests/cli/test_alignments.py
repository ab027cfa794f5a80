"""Word alignments of lines of several parts: a stand-in aligns the words of each part in order."""

from collections.abc import Sequence
from typing import Any

import pytest

from keras_transformer.cli.alignments import AligningTranslator
from keras_transformer.config.sentence_marks import SentenceMarks
from keras_transformer.search.options import Hypothesis, SearchOptions
from keras_transformer.text.letterless import KINDS
from keras_transformer.translation.by_sentence import SentenceTranslator


class WordByWord:
    """Translates whole sentences from a list."""

    max_source_length = None
    training_text = min_score = lift = None
    carried = frozenset(KINDS)
    unknown_letters = None
    marks = SentenceMarks()

    def __init__(self, translations: dict[str, str]) -> None:
        self._translations = translations

    def source_lengths(self, texts: Sequence[str]) -> list[int]:
        return [len(text) for text in texts]

    def translate_n_best(self, texts: Sequence[str], **_: Any) -> list[list[Hypothesis]]:
        return [[Hypothesis(self._translations[text], [], 0.0, 0.0)] for text in texts]

    def align_words(self, text: str, hypothesis: Hypothesis, **_: Any) -> list[tuple[int, int]]:
        words = min(len(text.split()), len(hypothesis.text.split()))
        return [(word, word) for word in range(words)]


@pytest.mark.parametrize(
    ("line", "translations", "text", "alignment"),
    [
        ("你好。谢谢。", ["こんにちは。", "ありがとう。"], "こんにちは。ありがとう。", "0-0"),
        ("你好。 谢谢。", ["こんにちは。", "ありがとう。"], "こんにちは。 ありがとう。", "0-0 1-1"),
        ("你好。谢谢。", ["Good day.", "Thank you."], "Good day. Thank you.", "0-0 0-2"),
        ("你好。谢谢。再见。", ["こ。", "", "さ。"], "こ。さ。", "0-0"),
        ("Hi. Bye now.", ["Ja.", "Nein nun."], "Ja. Nein nun.", "0-0 1-1 2-2"),
        (" Hi.\t\tBye now. ", ["Ja.", "Nein nun."], " Ja.\t\tNein nun. ", "0-0 1-1 2-2"),
        (
            "- Hi. 😀😀 Bye. 31",
            ["Ja.", "Nein nun."],
            "- Ja. 😀😀 Nein nun. 31",
            "0-0 1-1 2-2 3-3 4-5",
        ),
        ("😀Hi. 31", ["Ja gut."], "😀Ja gut. 31", "0-0 1-2"),
        ("Hi 😀 you. ☃ 7", ["Na du."], "Na du. 😀 ☃ 7", "0-0 1-2 2-1 3-3 4-4"),
        ("Hi 😀 😀. 7", ["Na."], "Na. 😀 😀. 7", "0-0 1-1 2-2 3-3"),
        ("7 7", [""], "7 7", "0-0 1-1"),
    ],
)
def test_parts_without_a_space_between_them_share_a_word(
    line: str, translations: list[str], text: str, alignment: str
) -> None:
    language = "en" if line.isascii() else "zh"
    sentences = SentenceTranslator(WordByWord({}), language=language)
    parts = sentences._split(line).parts
    translator = WordByWord(dict(zip(parts, translations, strict=True)))
    aligning = AligningTranslator(SentenceTranslator(translator, language=language))
    [[(hypothesis, found)]] = aligning.translate([line], SearchOptions())
    assert (hypothesis.text, found) == (text, alignment)
