"""The Keras-side translator: against the uncached model, and what it promises about its lists."""

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.decoding.translator import Translator
from keras_transformer.models import build_transformer
from keras_transformer.special_ids import BOS_ID, EOS_ID, PAD_ID
from keras_transformer.text.tokenizer import Tokenizer, train_tokenizer

TEXTS = ["a red house", "dog", "", "the small red dog sees a house", "  ", "a dog", "sees"]
OPTIONS = {"max_length": 12}


def tokenizer_for(first: tuple[str, ...], second: tuple[str, ...]) -> Tokenizer:
    """As many pieces as the tiny models have ids."""
    return train_tokenizer([f"{a} {b}" for a in first for b in second], 24, "bpe")


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return tokenizer_for(("the", "a", "small", "red"), ("dog", "house", "cat", "sees"))


@pytest.fixture(scope="module")
def translator(random_model, tokenizer: Tokenizer) -> Translator:
    return Translator(random_model(norm="pre"), tokenizer)


def log_probs_after(model: Any, source: list[int], target: list[int]) -> np.ndarray:
    """Log-probabilities (len(target) + 1, vocabulary) from a full pass in float64."""
    ids = {
        "source_ids": tf.constant([[*source, EOS_ID]]),
        "target_ids": tf.constant([[BOS_ID, *target]]),
    }
    logits = np.asarray(model(ids), np.float64)[0]
    return logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))


def test_greedy_is_the_uncached_argmax_loop(translator: Translator, tokenizer: Tokenizer) -> None:
    texts = [text for text in TEXTS[:4] if text]
    for text, [found] in zip(texts, translator.translate_n_best(texts, **OPTIONS), strict=True):
        [source] = tokenizer.encode([text])
        ids: list[int] = []
        while len(ids) < 12:
            scores = log_probs_after(translator.model, source, ids)[-1]
            scores[[PAD_ID, BOS_ID]] = -np.inf
            if scores.argmax() == EOS_ID:
                break
            ids.append(int(scores.argmax()))
        assert found.ids == ids


@pytest.mark.parametrize("length_penalty", [0.0, 0.6])
def test_scores_are_those_of_a_full_pass(
    translator: Translator, tokenizer: Tokenizer, length_penalty: float
) -> None:
    text, model = TEXTS[3], translator.model
    [source] = tokenizer.encode([text])
    [found] = translator.translate_n_best(
        [text], beam_size=4, num_hypotheses=4, length_penalty=length_penalty, max_length=6
    )
    assert len({tuple(hypothesis.ids) for hypothesis in found}) == 4
    for hypothesis in found:
        table = log_probs_after(model, source, hypothesis.ids)
        tokens = [*hypothesis.ids, EOS_ID][:6]
        total = sum(table[step, token] for step, token in enumerate(tokens))
        assert hypothesis.log_probability == pytest.approx(total, abs=1e-4)
        penalty = ((5 + len(tokens)) / 6) ** length_penalty
        assert hypothesis.score == pytest.approx(total / penalty, abs=1e-4)


@pytest.mark.parametrize("beam_size", [1, 4])
def test_a_batch_equals_its_sentences_in_their_order(
    translator: Translator, tokenizer: Tokenizer, beam_size: int
) -> None:
    options = {**OPTIONS, "beam_size": beam_size}
    together = translator.translate_n_best(TEXTS, **options)
    alone = [translator.translate_n_best([text], **options)[0] for text in TEXTS]
    split = Translator(translator.model, tokenizer, batch_tokens=12 * beam_size)
    for others in (alone, split.translate_n_best(TEXTS, **options)):
        for found, expected in zip(together, others, strict=True):
            assert [best.ids for best in found] == [best.ids for best in expected]
            np.testing.assert_allclose(
                [best.score for best in found], [best.score for best in expected], atol=1e-5
            )
    assert [best[0].text for best in together] == translator.translate(TEXTS, **options)


def test_an_empty_sentence_has_an_empty_translation(translator: Translator) -> None:
    found = translator.translate_n_best(TEXTS, beam_size=3, num_hypotheses=2, **OPTIONS)
    for place in (2, 4):
        [only] = found[place]
        assert (only.text, only.ids, only.score, only.log_probability) == ("", [], 0.0, 0.0)
    assert all(len(best) == 2 for place, best in enumerate(found) if place not in (2, 4))
    assert translator.translate([]) == []
    assert translator.translate([""]) == [""]


def test_the_n_best_are_sorted_and_decoded(translator: Translator, tokenizer: Tokenizer) -> None:
    [found] = translator.translate_n_best(TEXTS[:1], beam_size=5, num_hypotheses=5, **OPTIONS)
    scores = [best.score for best in found]
    assert len(scores) == 5
    assert scores == sorted(scores, reverse=True)
    assert [best.text for best in found] == tokenizer.decode([best.ids for best in found])
    for best in found:
        assert not {PAD_ID, BOS_ID, EOS_ID} & set(best.ids)


@pytest.mark.parametrize("texts", ["a dog", b"a dog", [b"a dog"], ["a dog", None]])
def test_anything_but_a_list_of_strings_is_refused(translator: Translator, texts: Any) -> None:
    with pytest.raises(TypeError, match="texts must be"):
        translator.translate(texts)


def test_options_are_checked(translator: Translator) -> None:
    with pytest.raises(ValueError, match="beam_size must be at least 1, got 0"):
        translator.translate(TEXTS, beam_size=0)
    with pytest.raises(TypeError, match="beams"):
        translator.translate(TEXTS, beams=2)


def test_a_graph_is_made_once_for_all_lengths_and_sees_new_weights(
    tiny_config, tokenizer: Tokenizer, randomize
) -> None:
    translator = Translator(randomize(build_transformer(tiny_config())), tokenizer)
    before = translator.translate_n_best(TEXTS, **OPTIONS)
    translator.translate(["a"], **OPTIONS)
    [graph] = translator._searches.values()
    assert graph.experimental_get_tracing_count() == 1
    randomize(translator.model, seed=1)
    assert translator.translate_n_best(TEXTS, **OPTIONS) != before


def test_the_target_tokenizer_reads_the_output(random_model, tokenizer: Tokenizer) -> None:
    other = tokenizer_for(("la", "una", "mi"), ("casa", "foca", "vaca", "cama", "mona", "sopa"))
    translator = Translator(random_model(norm="pre"), tokenizer, other)
    [[best]] = translator.translate_n_best(["a red dog"], **OPTIONS)
    assert [best.text] == other.decode([best.ids])
    assert [best.text] != tokenizer.decode([best.ids])


def test_learned_positions_limit_both_sides(random_model, tokenizer: Tokenizer) -> None:
    translator = Translator(random_model(positions="learned", max_positions=9), tokenizer)
    [[best]] = translator.translate_n_best(["a dog"])
    assert len(best.ids) <= 9
    long = TEXTS[3] * 3
    with pytest.raises(ValueError, match=r"sentence 1 has \d+ tokens, more than .* \(9\): split"):
        translator.translate(["a dog", long])


def test_a_bfloat16_model_translates(random_model, tiny_config, tokenizer: Tokenizer) -> None:
    model = build_transformer(tiny_config(norm="pre"), "mixed_bfloat16")
    model.set_weights(random_model(norm="pre").get_weights())
    found = Translator(model, tokenizer).translate_n_best(TEXTS, beam_size=2, **OPTIONS)
    for best, text in zip(found, TEXTS, strict=True):
        assert np.isfinite(best[0].score)
        assert bool(best[0].ids) <= bool(text.strip())
