"""What has no letter goes around the model, whatever the engine."""

import pytest

from keras_transformer.text.training_text import TrainingText
from keras_transformer.translation.by_sentence import SentenceTranslator
from keras_transformer.translation.translator import TextTranslator

TEXT = "Hello, how are you?"
AROUND = [("- ", ""), ("1) ", " 😀"), ("😀 ", ""), ("> > ", " :)"), ("\ufeff", "\u200e")]


def test_what_has_no_letter_is_copied(translator: TextTranslator) -> None:
    texts = ["31", "12:30", "- ", "😀", " 3.5 % ", "", " "]
    copies = ["31", "12:30", "- ", "😀", " 3.5 % ", "", ""]
    assert translator.translate(texts) == copies
    assert SentenceTranslator(translator).translate(texts)[:-1] == copies[:-1]
    found = translator.translate_n_best(texts, beam_size=2, num_hypotheses=2)
    assert [(one.text, one.score) for [one] in found] == [(text, 0.0) for text in copies]
    assert ["".join(translator.translate_stream(text)) for text in texts] == copies


@pytest.mark.parametrize(("before", "behind"), AROUND)
def test_what_stands_around_a_text_is_put_back(
    translator: TextTranslator, before: str, behind: str
) -> None:
    text = before + TEXT + behind
    options = {"beam_size": 2, "num_hypotheses": 2}
    [plain] = translator.translate_n_best([TEXT], **options)
    [found] = translator.translate_n_best([text], return_attention=True, **options)
    assert [one.text for one in found] == [before + one.text + behind for one in plain]
    assert [one.ids for one in found] == [one.ids for one in plain]
    [best] = translator.translate([text])
    assert best == before + translator.translate([TEXT])[0] + behind
    assert "".join(translator.translate_stream(text)) == best
    assert SentenceTranslator(translator).translate([text]) == [best]
    [scored] = translator.score([text], [found[0].text], length_penalty=0.0)
    [again] = translator.score([TEXT], [plain[0].text], length_penalty=0.0)
    assert scored.ids == again.ids and scored.score == again.score


def test_words_in_letters_that_the_vocabulary_lacks_go_around(translator: TextTranslator) -> None:
    alone = ["Πλάτων", "你好。", "Πλάτων 12!"]
    assert translator.translate(alone) == alone
    assert SentenceTranslator(translator).translate(alone) == alone
    for text, before, behind in (
        (f"Πλάτων, {TEXT}", "Πλάτων, ", ""),
        (TEXT.replace("are", "are (Πλάτων) 你好"), "", " (Πλάτων) 你好"),
        (f"- {TEXT.replace('?', ' Πλάτων? 😀')}", "- ", " Πλάτων 😀"),
    ):
        [plain], [found] = translator.translate_n_best([TEXT]), translator.translate_n_best([text])
        wanted = before + plain[0].text + behind
        assert (found[0].text, found[0].ids) == (wanted, plain[0].ids)
        assert translator.translate([text]) == [wanted]
        assert SentenceTranslator(translator).translate([text]) == [wanted]
        assert "".join(translator.translate_stream(text)) == wanted
        [scored] = translator.score([text], [wanted])
        assert scored.ids == translator.score([TEXT], [plain[0].text])[0].ids
        # What puts unknown words where they belong gets them, and who asks for all.
        for options in ({"replace_unk": True}, {"letterless": "translate"}):
            given = translator._ask([text], {}, **{"letterless": None, **options})
            assert given.passages[0].unknown_letters is None


def test_a_vocabulary_lacks_what_no_piece_has(translator: TextTranslator) -> None:
    source = translator._source
    assert source.unknown_letters("hello Πλ 你, 12 😀") == set("Πλ你")
    assert source.unknown_letters("HELLO") <= set("HELO")


def test_words_are_aligned_in_the_whole_text(translator: TextTranslator) -> None:
    [[plain]] = translator.translate_n_best([TEXT], return_attention=True)
    [[found]] = translator.translate_n_best([f"- {TEXT} 😀"], return_attention=True)
    pairs = translator.align_words(TEXT, plain)
    shifted = [(source + 1, target + 1) for source, target in pairs]
    assert translator.align_words(f"- {TEXT} 😀", found) == shifted
    [[found]] = translator.translate_n_best([f"Πλάτων {TEXT} 😀"], return_attention=True)
    assert translator.align_words(f"Πλάτων {TEXT} 😀", found) == shifted


def test_a_prefix_may_hold_what_is_put_back(translator: TextTranslator) -> None:
    [best] = translator.translate([TEXT])
    word = best.split()[0] if best.split() else "a"
    [plain] = translator.translate([TEXT], target_prefixes=[word])
    for prefix in (word, f"- {word}"):
        assert translator.translate([f"- {TEXT}"], target_prefixes=[prefix]) == [f"- {plain}"]


def test_formatting_characters_are_no_part_of_words(translator: TextTranslator) -> None:
    text = "Hel\u00adlo, how\u2060 are y\u200bou?"
    assert translator.translate([text]) == translator.translate([TEXT])
    assert translator.source_lengths([text]) == translator.source_lengths([TEXT])
    options = {"replace_unk": True}
    assert translator.translate([text], **options) == translator.translate([TEXT], **options)


def test_a_model_that_was_trained_on_numbers_translates_them(open_translator, translator) -> None:
    text = "31/12/2020"
    translated = translator.translate([text], letterless="translate")
    assert translated != [text]
    seen = {"longest_source": 20, "sentences": (100,)}
    knows = TrainingText(**seen, letterless={"numbers": 1})
    for known, found in (
        (knows, translated),
        (TrainingText(**seen, letterless={"numbers": 0}), [text]),
        (TrainingText(**seen), [text]),
        (None, [text]),
    ):
        own = _with_record(open_translator, known)
        assert own.translate([text]) == SentenceTranslator(own).translate([text]) == found
    assert _with_record(open_translator, knows, letterless="copy").translate([text]) == [text]


def _with_record(open_translator, known: TrainingText | None, **options) -> TextTranslator:
    own = open_translator(**options)
    own.training_text = known
    own.carried = own._carried(options.get("letterless", "auto"))
    return own
