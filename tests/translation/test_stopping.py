"""Stops of translators: each text ends by itself, before its stop, and says what ended it."""

from typing import Any

import pytest

from keras_transformer.translation.by_sentence import SentenceTranslator
from keras_transformer.translation.translator import TextTranslator

SEARCHES = [{}, {"beam_size": 3, "num_hypotheses": 2}, {"sample": True, "seed": 2}]


@pytest.mark.parametrize("search", SEARCHES, ids=str)
def test_texts_end_before_their_stops(
    translator: TextTranslator, texts: list[str], search: dict[str, Any]
) -> None:
    options = {"max_length": 20, **search}
    plain = translator.translate_n_best(texts, **options)
    [first, *_] = plain[0]
    assert {one.stop_reason for row in plain for one in row} <= {"eos", "length"}
    # From the middle of a word to the middle of the next one.
    stop = first.text[4:8]
    found = translator.translate_n_best(texts, stop=stop, **options)
    assert found[0][0].stop_reason == "stop"
    for row, wanted in zip(found, plain, strict=True):
        for one, whole in zip(row, wanted, strict=True):
            assert stop not in one.text
            if search.get("beam_size", 1) == 1:
                assert one.text == whole.text.partition(stop)[0]
                assert len(one.ids) <= len(whole.ids)
                assert one.stop_reason == ("stop" if stop in whole.text else whole.stop_reason)
    assert translator.translate(texts, stop=stop, **options) == [row[0].text for row in found]
    if len(found[0]) == 1:
        streamed = translator.translate_stream(texts[0], stop=stop, **options)
        assert ("".join(streamed) == found[0][0].text) or search


def test_a_stop_token_ends_a_translation(translator: TextTranslator, texts: list[str]) -> None:
    [[whole]] = translator.translate_n_best(texts[:1], max_length=20)
    token = whole.ids[3]
    [[found]] = translator.translate_n_best(texts[:1], max_length=20, stop_tokens=[token])
    ended = whole.ids[: whole.ids.index(token) + 1]
    assert (found.ids, found.stop_reason) == (ended, "stop")
    assert found.text == translator._target.decode([ended[:-1]])[0]
    assert translator.translate_ids(
        translator._source.encode(texts[:1]), max_length=20, stop_tokens=[token]
    )[0][0].ids == ended  # fmt: skip


def test_a_stop_in_the_prefix_means_nothing(translator: TextTranslator, texts: list[str]) -> None:
    [whole] = translator.translate(texts[:1], max_length=20)
    prefix = whole.split()[0]
    options = {"max_length": 20, "stop": prefix}
    [found] = translator.translate(texts[:1], target_prefixes=[prefix], **options)
    assert found.startswith(prefix)
    said = translator.translate_stream(texts[0], target_prefix=prefix, **options)
    assert "".join(said) == found


def test_what_cannot_have_stops_says_so(translator: TextTranslator) -> None:
    with pytest.raises(ValueError, match="replace_unk reads whole translations"):
        translator.translate(["hello"], stop="x", replace_unk=True)
    with pytest.raises(ValueError, match="stop would end one part of a text and go on"):
        SentenceTranslator(translator).translate(["hello"], stop="x")
