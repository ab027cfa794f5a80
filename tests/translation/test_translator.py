"""TextTranslator over each engine: text in, text out; order, prefixes, samples, streams, and what
is refused."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_transformer.search import distinct
from keras_transformer.translation.text_ids import TextIds
from keras_transformer.translation.translator import TextTranslator


@settings(max_examples=15)
@given(data=st.data())
@pytest.mark.parametrize("beam_size", [1, 3])
def test_a_batch_equals_its_sentences_in_their_order(
    translator: TextTranslator, texts: list[str], beam_size: int, data: st.DataObject
) -> None:
    chosen = data.draw(st.lists(st.sampled_from([*texts, "", "  "]), min_size=1, max_size=6))
    options = {"beam_size": beam_size, "max_length": 15}
    together = translator.translate(chosen, **options)
    assert together == [translator.translate([text], **options)[0] for text in chosen]


def test_outputs_end_each_at_its_own_length(translator: TextTranslator, texts: list[str]) -> None:
    lengths = [len(found[0].ids) for found in translator.translate_n_best(texts, max_length=45)]
    assert len(set(lengths)) > 3
    assert max(lengths) < 45


def test_texts_without_tokens_have_empty_translations(translator: TextTranslator) -> None:
    [found] = translator.translate_n_best([" "], beam_size=3, num_hypotheses=3)
    assert [(one.text, one.ids, one.score) for one in found] == [("", [], 0.0)]
    assert translator.translate([]) == []
    assert translator.translate([" "], replace_unk=True) == [""]
    assert list(translator.translate_stream("")) == []


def test_the_n_best_are_sorted_and_distinct(translator: TextTranslator, texts: list[str]) -> None:
    for found in translator.translate_n_best(texts, beam_size=4, num_hypotheses=4, max_length=20):
        scores = [one.score for one in found]
        assert len(found) == 4
        assert scores == sorted(scores, reverse=True)
        assert len({tuple(one.ids) for one in found}) == 4


def test_texts_that_tokens_spell_alike_are_filled_up(
    translator: TextTranslator, texts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    decode = TextIds.decode
    monkeypatch.setattr(TextIds, "decode", lambda *given: [text[:9] for text in decode(*given)])
    options = {"beam_size": 3, "num_hypotheses": 3, "max_length": 8}
    found = translator.translate_n_best(texts, **options)
    assert all(len({one.text for one in own}) == len(own) for own in found)
    assert [own[0].text for own in found] == translator.translate(texts, beam_size=3, max_length=8)
    monkeypatch.setattr(distinct, "_WIDER", ())
    unfilled = translator.translate_n_best(texts, **options)
    assert sum(map(len, unfilled)) < sum(map(len, found)) <= 3 * len(texts)


def test_ids_give_what_their_texts_give(
    exported: Any, translator: TextTranslator, texts: list[str]
) -> None:
    options = {"beam_size": 2, "num_hypotheses": 2, "max_length": 20}
    wanted = translator.translate_n_best(texts, **options)
    sources = exported.source_tokenizer.encode(texts)
    found = translator.translate_ids(np.array(sources[0])[None], **options)
    found += translator.translate_ids(sources[1:], **options)
    for candidates, hypotheses in zip(found, wanted, strict=True):
        assert [one.ids for one in candidates] == [one.ids for one in hypotheses]
    unscored = translator.translate_ids(sources, return_scores=False, max_length=20)
    assert [one.ids for [one] in unscored] == [
        one.ids for [one] in translator.translate_n_best(texts, max_length=20)
    ]


@pytest.mark.parametrize("options", [{}, {"beam_size": 3}, {"sample": True, "seed": 1}], ids=str)
def test_translations_begin_with_their_prefixes(
    translator: TextTranslator, texts: list[str], options: dict[str, Any]
) -> None:
    prefixes = ["the river", "", "hello, you", "we", "", "birds"]
    options = {"max_length": 20, **options}
    found = translator.translate(texts, target_prefixes=prefixes, **options)
    assert all(text.startswith(prefix) for text, prefix in zip(found, prefixes, strict=True))
    free = translator.translate(texts, **options)
    assert [found[place] for place in (1, 4)] == [free[place] for place in (1, 4)]


def test_samples_depend_on_the_seed_and_the_place_only(
    open_translator: Callable[..., TextTranslator],
    translator: TextTranslator,
    texts: list[str],
) -> None:
    def sample(translator: TextTranslator, texts: list[str], seed: int | None) -> list[list[str]]:
        found = translator.translate_n_best(
            texts, sample=True, num_hypotheses=3, seed=seed, temperature=2.0, max_length=15
        )
        return [[one.text for one in samples] for samples in found]

    first = sample(translator, texts, 7)
    assert sample(translator, texts, 7) == first
    assert sample(translator, texts[:2], 7) == first[:2]
    assert sample(open_translator(batch_tokens=1), texts, 7) == first
    assert sample(translator, texts, 8) != first
    assert len({*map(str, [sample(translator, texts, None) for _ in range(3)])}) == 3
    assert len(set(first[0])) > 1


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"min_length": 30},
        {"sample": True, "seed": 5},
        {"max_length": 4},
        {"early_stopping": "exact"},
    ],
    ids=str,
)
@pytest.mark.parametrize("prefix", ["", "the river"])
def test_a_stream_s_pieces_joined_are_the_translation(
    translator: TextTranslator, texts: list[str], options: dict[str, Any], prefix: str
) -> None:
    for text in texts:
        chosen = {"max_length": 32, **options}
        pieces = list(translator.translate_stream(text, target_prefix=prefix, **chosen))
        [wanted] = translator.translate([text], target_prefixes=[prefix], **chosen)
        assert "".join(pieces) == wanted
        assert all(pieces)


@pytest.mark.parametrize(
    ("text", "options", "error", "message"),
    [
        ("hello", {"beam_size": 2}, ValueError, "beam_size 1 and num_hypotheses 1, got 2 and 1"),
        ("hello", {"sample": True, "num_hypotheses": 2}, ValueError, "got 1 and 2"),
        ("hello", {"max_length": 0}, ValueError, "max_length must be at least 1"),
        ("hello", {"target_prefix": "the river", "max_length": 2}, ValueError, "prefix"),
        (["hello"], {}, TypeError, "texts must be strings, got list"),
    ],
    ids=str,
)
def test_a_stream_refuses_at_once(
    translator: TextTranslator,
    text: Any,
    options: dict[str, Any],
    error: type[Exception],
    message: str,
) -> None:
    with pytest.raises(error, match=message):
        translator.translate_stream(text, **options)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"beam_size": 0}, ValueError, "beam_size must be at least 1, got 0"),
        ({"beam_size": 2.5}, TypeError, "beam_size must be an integer, got 2.5"),
        ({"beam_size": 2, "num_hypotheses": 3}, ValueError, "num_hypotheses \\(3\\) is more than"),
        ({"max_length": 0}, ValueError, "max_length must be at least 1, got 0"),
        ({"max_length_ratio": 0}, ValueError, "max_length_ratio must be finite and above 0"),
        ({"min_length": -1}, ValueError, "min_length must be at least 0, got -1"),
        ({"min_length": 9, "max_length": 8}, ValueError, "min_length \\(9\\) is more than"),
        ({"length_penalty": float("nan")}, ValueError, "length_penalty must be finite"),
        ({"length_penalty_type": "mean"}, ValueError, "length_penalty_type must be one of"),
        ({"early_stopping": True}, ValueError, "early_stopping must be one of"),
        ({"no_repeat_ngram_size": -1}, ValueError, "no_repeat_ngram_size must be at least 0"),
        ({"repetition_penalty": 0}, ValueError, "repetition_penalty must be finite and above 0"),
        ({"banned_sequences": [[]]}, ValueError, "banned_sequences must hold one or more"),
        ({"banned_sequences": [[60]]}, ValueError, "banned_sequences names token 60"),
        ({"forced_tokens": [(0, 60)]}, ValueError, "forced_tokens names token 60"),
        ({"forced_tokens": [(0, 2)]}, ValueError, "forced_tokens names token 2"),
        ({"forced_tokens": [(0, 5), (0, 6)]}, ValueError, "names a position twice"),
        ({"sample": True, "beam_size": 2}, ValueError, "sample=True needs beam_size 1"),
        ({"temperature": 0.5}, ValueError, "temperature is meant for sampling"),
        ({"sample": True, "temperature": 0}, ValueError, "temperature must be finite and above 0"),
        ({"sample": True, "top_k": -1}, ValueError, "top_k must be at least 0"),
        ({"sample": True, "top_p": 1.5}, ValueError, "top_p is a probability"),
        ({"sample": True, "seed": -1}, ValueError, "seed must be at least 0"),
        ({"beams": 4}, TypeError, "beams"),
        ({"target_prefixes": ["a", "b"]}, ValueError, "got 2 prefixes for 1 sentences"),
        ({"target_prefixes": "a"}, TypeError, "target_prefixes must be a list of strings"),
        ({"target_prefixes": ["a a a"], "max_length": 3}, ValueError, "prefix of sentence 0 has"),
    ],
    ids=str,
)
@pytest.mark.parametrize("method", ["translate", "translate_n_best"])
def test_wrong_options_are_named(
    translator: TextTranslator,
    method: str,
    options: dict[str, Any],
    error: type[Exception],
    message: str,
) -> None:
    with pytest.raises(error, match=message):
        getattr(translator, method)(["hello"], **options)


def test_one_string_instead_of_a_list_is_refused(translator: TextTranslator) -> None:
    with pytest.raises(TypeError, match="write \\[text\\]"):
        translator.translate("hello")


def test_text_that_is_no_unicode_is_refused(translator: TextTranslator) -> None:
    with pytest.raises(ValueError, match="texts must be valid Unicode.* index 1"):
        translator.translate(["hello", "hel\ud800lo"])
