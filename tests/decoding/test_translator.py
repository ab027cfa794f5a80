"""The Keras-side translator: against the uncached model, and what it promises about its lists."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.decoding.translator import Translator
from keras_transformer.models import build_transformer
from keras_transformer.runs.finished_run import write_finished_run
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.text.tokenizer import Tokenizer, train_tokenizer
from keras_transformer.text.training_text import TrainingText

BOS_ID, EOS_ID, PAD_ID = SpecialIds.bos, SpecialIds.eos, SpecialIds.pad

TEXTS = ["a red house", "dog", "", "the small red dog sees a house", "  ", "a dog", "sees"]
# Tests share the graphs of these two searches.
OPTIONS = {"max_length": 16}
BEAM = {"beam_size": 4, "num_hypotheses": 4, **OPTIONS}


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
        # Each token follows from those before it, so that one pass over all is the loop.
        scores = log_probs_after(translator.model, source, found.ids)
        scores[:, [PAD_ID, BOS_ID]] = -np.inf
        assert [*found.ids, EOS_ID][:16] == scores.argmax(axis=-1).tolist()[:16]


@pytest.mark.parametrize("length_penalty", [pytest.param(0.0, marks=pytest.mark.exhaustive), 0.6])
def test_scores_are_those_of_a_full_pass(
    translator: Translator, tokenizer: Tokenizer, length_penalty: float
) -> None:
    text, model = TEXTS[3], translator.model
    [source] = tokenizer.encode([text])
    [found] = translator.translate_n_best([text], length_penalty=length_penalty, **BEAM)
    assert len({tuple(hypothesis.ids) for hypothesis in found}) == 4
    for hypothesis in found:
        table = log_probs_after(model, source, hypothesis.ids)
        tokens = [*hypothesis.ids, EOS_ID][:16]
        total = sum(table[step, token] for step, token in enumerate(tokens))
        assert hypothesis.log_probability == pytest.approx(total, abs=1e-4)
        penalty = ((5 + len(tokens)) / 6) ** length_penalty
        assert hypothesis.score == pytest.approx(total / penalty, abs=1e-4)


@pytest.mark.parametrize("options", [pytest.param(OPTIONS, marks=pytest.mark.exhaustive), BEAM])
def test_a_batch_equals_its_sentences_in_their_order(
    translator: Translator, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    together = translator.translate_n_best(TEXTS, **options)
    alone = [translator.translate_n_best([text], **options)[0] for text in TEXTS]
    monkeypatch.setattr(translator._engine, "_batch_tokens", 12 * options.get("beam_size", 1))
    for others in (alone, translator.translate_n_best(TEXTS, **options)):
        for found, expected in zip(together, others, strict=True):
            assert [best.ids for best in found] == [best.ids for best in expected]
            np.testing.assert_allclose(
                [best.score for best in found], [best.score for best in expected], atol=1e-5
            )
    assert [best[0].text for best in together] == translator.translate(TEXTS, **options)


def test_an_empty_sentence_has_an_empty_translation(translator: Translator) -> None:
    found = translator.translate_n_best(TEXTS, **BEAM)
    for place in (2, 4):
        [only] = found[place]
        assert (only.text, only.ids, only.score, only.log_probability) == ("", [], 0.0, 0.0)
    assert all(len(best) == 4 for place, best in enumerate(found) if place not in (2, 4))
    assert translator.translate([]) == []
    assert translator.translate([""], **OPTIONS) == [""]


def test_the_n_best_are_sorted_and_decoded(translator: Translator, tokenizer: Tokenizer) -> None:
    [found] = translator.translate_n_best(TEXTS[:1], **BEAM)
    scores = [best.score for best in found]
    assert len(scores) == 4
    assert scores == sorted(scores, reverse=True)
    assert [best.text for best in found] == tokenizer.decode([best.ids for best in found])
    for best in found:
        assert not {PAD_ID, BOS_ID, EOS_ID} & set(best.ids)


def starts_with(ids: list[int], prefix: list[int]) -> bool:
    return ids[: len(prefix)] == prefix


@pytest.mark.parametrize(
    "search",
    [
        pytest.param(OPTIONS, marks=pytest.mark.exhaustive),
        BEAM,
        pytest.param({"sample": True, "seed": 1, **OPTIONS}, marks=pytest.mark.exhaustive),
    ],
)
def test_every_translation_begins_with_its_prefix(
    translator: Translator, tokenizer: Tokenizer, search: dict[str, Any]
) -> None:
    prefixes = ["the red", "", "a", "the dog sees the", "cat", "a small", ""]
    found = translator.translate_n_best(TEXTS, target_prefixes=prefixes, **search)
    plain = translator.translate_n_best(TEXTS, **search)
    encoded = tokenizer.encode(prefixes)
    for place, ([best, *_], [without, *_]) in enumerate(zip(found, plain, strict=True)):
        if not TEXTS[place].strip():
            assert best.ids == []  # An empty sentence stays empty.
        elif prefixes[place]:
            assert starts_with(best.ids, encoded[place])
            assert best.text.startswith(prefixes[place])
        else:
            assert best.ids == without.ids
    assert not all(starts_with(best[0].ids, ids) for best, ids in zip(plain, encoded, strict=True))


@pytest.mark.exhaustive
def test_the_best_translation_is_found_again_from_its_beginning(translator: Translator) -> None:
    sources = translator.source_tokenizer.encode(TEXTS[:2])
    plain = translator.translate_ids(sources, **OPTIONS)
    prefixes = [ids[:3] for [(ids, _, _)] in plain]
    again = translator.translate_ids(sources, prefixes=prefixes, **OPTIONS)
    assert [row[0][0] for row in again] == [row[0][0] for row in plain]
    np.testing.assert_allclose(
        [row[0][1:] for row in again], [row[0][1:] for row in plain], rtol=1e-5
    )


def test_prefixes_that_do_not_fit_are_refused(translator: Translator) -> None:
    with pytest.raises(ValueError, match="got 1 prefixes for 2 sentences"):
        translator.translate(["a", "dog"], target_prefixes=["the"])
    with pytest.raises(ValueError, match="got 0 prefixes for 1 sentences"):
        translator.translate_ids([[4]], prefixes=[])
    with pytest.raises(TypeError, match="target_prefixes must be a list of strings, got one str"):
        translator.translate(["a"], target_prefixes="the")
    with pytest.raises(ValueError, match="prefix of sentence 0 has 3 tokens, but .* at most 2"):
        translator.translate_ids([[4, 5]], prefixes=[[4, 5, 6]], max_length_ratio=0.5)


def test_each_sentence_has_the_limit_of_its_own_length(translator: Translator) -> None:
    sources = translator.source_tokenizer.encode(TEXTS)
    found = translator.translate_ids(sources, max_length_ratio=0.5, min_length=20, max_length=20)
    for source, [(ids, _, _)] in zip(sources, found, strict=True):
        assert len(ids) == (len(source) + 2) // 2 * bool(source)


SAMPLES = {"sample": True, "num_hypotheses": 3, **OPTIONS}


def test_samples_do_not_depend_on_batches(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"seed": 11, **SAMPLES}
    together = translator.translate_n_best(TEXTS, **options)
    other = translator.translate_n_best(TEXTS, **{**options, "seed": 12})
    assert other != together
    monkeypatch.setattr(translator._engine, "_batch_tokens", 20)
    split = translator.translate_n_best(TEXTS, **options)
    for found, expected in zip(split, together, strict=True):
        assert [sample.ids for sample in found] == [sample.ids for sample in expected]


@pytest.mark.exhaustive
def test_more_samples_begin_with_the_same_ones(translator: Translator) -> None:
    options = {"seed": 11, **SAMPLES}
    together = translator.translate_n_best(TEXTS, **options)
    more = translator.translate_n_best(TEXTS, **{**options, "num_hypotheses": 5})
    for found, expected in zip(more, together, strict=True):
        assert [sample.ids for sample in found[:3]] == [sample.ids for sample in expected]
    assert len({tuple(sample.ids) for sample in more[3]}) > 1


def test_without_a_seed_samples_differ_from_call_to_call(translator: Translator) -> None:
    options = SAMPLES
    first, second = (translator.translate_n_best(["a dog"], **options) for _ in range(2))
    assert first != second


def test_a_new_seed_needs_no_new_graph(translator: Translator) -> None:
    translator.translate(["a dog"], seed=1, **SAMPLES)
    graphs = dict(translator._engine._searches)
    for seed in (2, None):
        translator.translate(["a dog"], seed=seed, **SAMPLES)
    assert translator._engine._searches == graphs
    assert {graph.experimental_get_tracing_count() for graph in graphs.values()} == {1}


def test_where_nothing_is_possible_the_translation_is_empty(translator: Translator) -> None:
    everything = [[token] for token in range(24)]
    [found, empty] = translator.translate_n_best(
        ["a dog", ""], banned_sequences=everything, **OPTIONS
    )
    assert [(best.ids, best.score, best.log_probability) for best in found] == [
        ([], -np.inf, -np.inf)
    ]
    assert empty[0].score == 0.0


def test_ids_of_options_are_checked_against_the_target_vocabulary(translator: Translator) -> None:
    with pytest.raises(ValueError, match="banned_sequences names token 24, .* 0 to 23"):
        translator.translate(TEXTS, banned_sequences=[[24]])
    with pytest.raises(ValueError, match="forced_tokens names token 0: padding"):
        translator.translate(TEXTS, forced_tokens=[[0, PAD_ID]])


@pytest.mark.parametrize("kind", [pytest.param("gnmt", marks=pytest.mark.exhaustive), "exponent"])
def test_what_a_search_finds_scores_the_same(
    translator: Translator, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Teacher forcing agrees with the cached search about hypotheses that ended."""
    penalty = {"length_penalty": 0.8, "length_penalty_type": kind}
    sources = translator.source_tokenizer.encode([text for text in TEXTS if text.strip()])
    # A random model hardly ever ends by itself.
    found = translator.translate_ids(
        sources,
        beam_size=3,
        num_hypotheses=3,
        forced_tokens=[[5, EOS_ID]],
        max_length=8,
        **penalty,
    )
    pairs = [
        (source, *hypothesis)
        for source, hypotheses in zip(sources, found, strict=True)
        for hypothesis in hypotheses
    ]
    assert 5 in {len(ids) for _, ids, _, _ in pairs}
    given = [source for source, *_ in pairs], [ids for _, ids, _, _ in pairs]
    for batch_tokens in (4096, 30):
        monkeypatch.setattr(translator._engine._teacher_forcing, "_batch_tokens", batch_tokens)
        scored = translator.score_ids(*given, **penalty)
        assert [ids for ids, _, _ in scored] == given[1]
        np.testing.assert_allclose(
            [numbers for _, *numbers in scored], [numbers for _, _, *numbers in pairs], atol=1e-4
        )


def test_texts_are_scored_as_their_ids(translator: Translator, tokenizer: Tokenizer) -> None:
    sources, targets = ["a dog", "", "the red house"], ["the dog", "a", ""]
    scored = translator.score(sources, targets, length_penalty=0)
    for source, target, found in zip(sources, targets, scored, strict=True):
        [source_ids], [target_ids] = tokenizer.encode([source]), tokenizer.encode([target])
        table = log_probs_after(translator.model, source_ids, target_ids)
        total = sum(table[range(len(target_ids) + 1), [*target_ids, EOS_ID]])
        assert (found.text, found.ids) == (target, target_ids)
        assert found.log_probability == pytest.approx(total, abs=1e-4)
        assert found.score == found.log_probability
    assert translator.score([], []) == []


def test_pairs_that_cannot_be_scored_are_refused(random_model, tokenizer: Tokenizer) -> None:
    translator = Translator(random_model(positions="learned", max_positions=9), tokenizer)
    with pytest.raises(ValueError, match="got 1 targets for 2 sources: give one for each"):
        translator.score(["a", "dog"], ["a"])
    with pytest.raises(TypeError, match="targets must be a list of strings"):
        translator.score(["a"], "a")
    with pytest.raises(
        ValueError, match=r"text 0 has \d+ target tokens with eos, more than .* \(9\): split"
    ):
        translator.score(["a"], [TEXTS[3] * 3])


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
    [graph] = translator._engine._searches.values()
    assert graph.experimental_get_tracing_count() == 1
    randomize(translator.model, seed=1)
    assert translator.translate_n_best(TEXTS, **OPTIONS) != before


def test_the_target_tokenizer_reads_the_output(random_model, tokenizer: Tokenizer) -> None:
    other = tokenizer_for(("la", "una", "mi"), ("casa", "foca", "vaca", "cama", "mona", "sopa"))
    translator = Translator(random_model(norm="pre"), tokenizer, other)
    [[best]] = translator.translate_n_best(["a red dog"], **OPTIONS)
    assert [best.text] == other.decode([best.ids])
    assert [best.text] != tokenizer.decode([best.ids])


@pytest.mark.exhaustive
def test_learned_positions_limit_both_sides(random_model, tokenizer: Tokenizer) -> None:
    translator = Translator(random_model(positions="learned", max_positions=9), tokenizer)
    [[best]] = translator.translate_n_best(["a dog"])
    assert len(best.ids) <= 9
    long = TEXTS[3] * 3
    with pytest.raises(ValueError, match=r"index 1 has \d+ tokens, more than the 8 .*: split"):
        translator.translate(["a dog", long])


@pytest.mark.exhaustive
def test_a_bfloat16_model_translates(random_model, tiny_config, tokenizer: Tokenizer) -> None:
    model = build_transformer(tiny_config(norm="pre"), "mixed_bfloat16")
    model.set_weights(random_model(norm="pre").get_weights())
    found = Translator(model, tokenizer).translate_n_best(TEXTS, beam_size=2, **OPTIONS)
    for best, text in zip(found, TEXTS, strict=True):
        assert np.isfinite(best[0].score)
        assert bool(best[0].ids) <= bool(text.strip())


def test_a_run_brings_what_it_records_unless_that_is_given(
    random_model, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    lines = TrainingText(longest_source=9, sentences=(10,), letterless={"numbers": 5})
    record = {"training_text": asdict(lines), "min_score": -2.5, "search": {"beam_size": 2}}
    write_finished_run(
        RunDirectory(tmp_path), random_model(norm="pre"), (tokenizer, tokenizer), record
    )
    opened = Translator.from_run(tmp_path)
    assert (opened.carried, opened.min_score) == ({"marks", "symbols"}, -2.5)
    assert opened.search == {"beam_size": 2}
    assert Translator.from_run(tmp_path, min_score=-1.0, search={}).search == {}
