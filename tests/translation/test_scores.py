"""Scores and attention from each engine: the search's own numbers, and, on a model made by hand
that copies, the right word in the place of an unknown one."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from keras_transformer.export import OnnxTranslator, export_onnx
from keras_transformer.search.options import Hypothesis
from keras_transformer.translation.by_sentence import SentenceTranslator
from keras_transformer.translation.translator import TextTranslator


def test_a_score_is_what_the_search_reported_for_its_own_output(
    exported: Any, translator: TextTranslator, texts: list[str]
) -> None:
    found = [few[0] for few in translator.translate_n_best(texts, max_length=45)]
    scored = translator.score(texts, [one.text for one in found])
    sources = exported.source_tokenizer.encode(texts)
    by_ids = translator.score_ids(sources, [one.ids for one in found])
    assert [one.ids for one in by_ids] == [one.ids for one in found]
    np.testing.assert_allclose(
        [one.score for one in by_ids], [one.score for one in found], atol=1e-4
    )
    # Other pieces may spell the same text.
    same = [pair for pair in zip(scored, found, strict=True) if pair[0].ids == pair[1].ids]
    assert same
    for ours, theirs in same:
        assert ours.log_probability == pytest.approx(theirs.log_probability, abs=1e-4)
        assert ours.score == pytest.approx(theirs.score, abs=1e-4)


def test_scores_refuse_what_does_not_fit(translator: TextTranslator) -> None:
    with pytest.raises(ValueError, match="got 1 targets for 2 sources"):
        translator.score(["a", "b"], ["a"])
    with pytest.raises(TypeError, match="targets must be a list of strings"):
        translator.score(["a"], "a")
    with pytest.raises(TypeError, match="sources must be a list of strings"):
        translator.score("a", ["a"])
    with pytest.raises(ValueError, match="target_ids must lie in 0 to 59, got 60 in row 0"):
        translator.score_ids([[5]], [[60]])
    with pytest.raises(TypeError, match="beams"):
        translator.score(["a"], ["a"], beams=2)
    assert translator.score([], []) == translator.score_ids([], []) == []


def test_attention_has_a_row_for_each_token_and_its_end(
    exported: Any, translator: TextTranslator, texts: list[str]
) -> None:
    lengths = [len(ids) + 1 for ids in exported.source_tokenizer.encode(texts)]
    searched = translator.translate_n_best(
        texts, return_attention=True, beam_size=2, num_hypotheses=2, max_length=15
    )
    scored = translator.score(texts, texts[::-1], return_attention=True)
    for length, found, target in zip(lengths, searched, scored, strict=True):
        for one in (*found, target):
            assert one.attention.shape == (len(one.ids) + 1, length)
            np.testing.assert_allclose(one.attention.sum(axis=1), 1, atol=1e-5)
    plain = translator.translate_n_best(texts, beam_size=2, num_hypotheses=2, max_length=15)
    assert plain == searched  # Attention does not count in comparisons.
    assert {one.attention is None for found in plain for one in found} == {True}


# A model made by hand that copies word by word: the newest token asks for its successor.
COPIED = ["▁you", "▁b", "u", "y", "▁the"]


@pytest.fixture(scope="module")
def copying_model(make_model: Callable[..., Any], tokenizer: Any) -> Any:
    """Copies "you buy the birds" and "you buy the Ω", whatever Ω is, which is unknown."""
    [row] = tokenizer.encode(["you buy the birds"])
    assert tokenizer.pieces(row) == [*COPIED, "▁birds"]
    [(*_, space, unknown)] = tokenizer.encode(["you buy the Ω"])
    chain = [2, *row, 3], [2, *row[:-1], space, unknown, 3]
    vocabulary = tokenizer.vocab_size
    model = make_model(model_dim=vocabulary, feed_forward_dim=2, num_heads=1, num_decoder_layers=1)
    weights = {weight.path: weight for weight in model.weights}
    for path, weight in weights.items():
        if not path.endswith("gamma"):
            weight.assign(np.zeros(weight.shape))
    follow = np.zeros((vocabulary, vocabulary))
    for ids in chain:
        follow[ids[1:], ids[:-1]] = 1
    weights["source_embeddings/tokens/matrix"].assign(10 * np.eye(vocabulary))
    attention = "decoder/block_0/cross_attention"
    weights[f"{attention}/query/kernel"].assign(4 * np.eye(vocabulary))
    weights[f"{attention}/key/kernel"].assign(follow)
    weights[f"{attention}/value/kernel"].assign(np.eye(vocabulary))
    weights[f"{attention}/output/kernel"].assign(10 * np.eye(vocabulary))
    return model


@pytest.fixture(
    scope="module", params=[pytest.param("keras", marks=pytest.mark.exhaustive), "onnxruntime"]
)
def copier(
    request: pytest.FixtureRequest,
    copying_model: Any,
    tokenizer: Any,
    tmp_path_factory: pytest.TempPathFactory,
) -> TextTranslator:
    """Either translator of the copying model."""
    from keras_transformer.decoding.translator import Translator

    if request.param == "keras":
        return Translator(copying_model, tokenizer)
    path = tmp_path_factory.mktemp("copier") / "artefact"
    return OnnxTranslator(export_onnx(copying_model, tokenizer, path), threads=1)


def test_attention_points_at_the_copied_word(copier: TextTranslator) -> None:
    [[found]] = copier.translate_n_best(["you buy the birds"], return_attention=True)
    assert found.text == "you buy the birds"
    np.testing.assert_allclose(found.attention, np.eye(7), atol=1e-2)
    assert copier.align_words("you buy the birds", found) == [(0, 0), (1, 1), (2, 2), (3, 3)]


def test_an_unknown_token_is_no_word(copier: TextTranslator) -> None:
    whole = {"letterless": "translate"}
    [[found]] = copier.translate_n_best(["you buy the Ω"], return_attention=True, **whole)
    assert isinstance(found, Hypothesis) and 1 in found.ids
    assert copier.align_words("you buy the Ω", found, **whole) == [(0, 0), (1, 1), (2, 2)]


def test_an_unknown_token_gives_way_to_the_word_it_looks_at(copier: TextTranslator) -> None:
    texts = ["you buy the Ω", "you buy the birds", "you buy the ΩΨ"]
    whole = {"letterless": "translate"}
    unknown = ["you buy the ", "you buy the birds", "you buy the "]
    assert copier.translate(texts, **whole) == unknown
    assert copier.translate(texts, replace_unk=True) == texts
    assert ["".join(copier.translate_stream(text, **whole)) for text in texts] == unknown
    assert copier.translate(texts, replace_unk=True, beam_size=2) == texts


def test_a_forced_unknown_token_gives_way_too(copier: TextTranslator) -> None:
    options = {"forced_tokens": [(5, 1), (6, 3)]}
    assert copier.translate(["you buy the birds"], **options) == ["you buy the"]
    found = copier.translate(["you buy the birds"], replace_unk=True, **options)
    assert found == ["you buy the birds"]


def test_without_scores_ids_are_the_same_and_babble_is_looked_for(
    translator: TextTranslator, texts: list[str]
) -> None:
    scored = translator.translate_n_best(texts, max_length=45)
    plain = translator.translate_n_best(texts, max_length=45, return_scores=False)
    assert [[one.ids for one in few] for few in plain] == [
        [one.ids for one in few] for few in scored
    ]
    unscored = [one for [one] in plain if np.isnan(one.log_probability)]
    assert all(isinstance(one.low_confidence, bool) for one in unscored)
    whole = SentenceTranslator(translator).translate_n_best(
        [" ".join(texts)], max_length=45, return_scores=False
    )
    assert len(whole) == 1 and np.isnan(whole[0][0].score) == bool(unscored)
