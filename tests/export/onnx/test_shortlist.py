"""With a shortlist every target, in every precision, gives what Keras gives if all other ids are
impossible, and a text's translation does not depend on the others of its batch."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_transformer.artefact.shortlist import Shortlist
from keras_transformer.export import Manifest, OnnxTranslator, export_onnx
from keras_transformer.search.options import SearchOptions
from keras_transformer.text.tokenizer import Tokenizer

UNK, BOS, EOS = 1, 2, 3
ALWAYS = [UNK, EOS, 30]
SOURCES = [[10, 20, 11], [33], [12, 13, 14, 15]]
# Random weights, so that ids are far apart; biases, so that the head's weights are widened.
FIELDS = {"logit_bias": True, "final_logit_soft_cap": 8.0}
# What int8 may change of a log-probability a token.
ERRORS = {None: 1e-3, "int8": 0.35}


@pytest.fixture(scope="module")
def model(make_model: Callable[..., Any], randomize: Callable[..., Any]) -> Any:
    return randomize(make_model(**FIELDS), seed=3)


@pytest.fixture(scope="module")
def shortlist() -> Shortlist:
    random = np.random.default_rng(0)
    lists = [random.choice(np.arange(4, 60), 2, replace=False) for _ in range(60)]
    return Shortlist.of_lists(lists, ALWAYS, 60, "a test")


def allowed(shortlist: Shortlist, source: list[int], *required: int) -> list[int]:
    return sorted({*ALWAYS, *required, *(t for s in source for t in shortlist.candidates(s))})


def log_probs(model: Any, source: list[int], target: list[int], ids: list[int]) -> np.ndarray:
    """Those of each next token by the model's own call, all ids but `ids` made impossible."""
    inputs = {"source_ids": np.array([[*source, EOS]]), "target_ids": np.array([[BOS, *target]])}
    logits = np.asarray(model(inputs))[0].astype(np.float64)
    masked = np.full_like(logits, -np.inf)
    masked[:, ids] = logits[:, ids]
    return masked - np.log(np.exp(masked).sum(axis=1, keepdims=True))


def log_probability(model: Any, source: list[int], target: list[int], ids: list[int]) -> float:
    rows = log_probs(model, source, target, ids)
    return float(sum(row[token] for row, token in zip(rows, [*target, EOS], strict=True)))


def best_of_all(model: Any, source: list[int], ids: list[int]) -> tuple[list[int], float]:
    """The most probable translation of two tokens, the end included, found by trying all."""
    found = [([], log_probability(model, source, [], ids))]
    texts = [token for token in ids if token != EOS]
    for first in texts:
        rows = log_probs(model, source, [first], ids)
        found += [([first], rows[0][first] + rows[1][EOS])]
        found += [([first, second], rows[0][first] + rows[1][second]) for second in texts]
    return max(found, key=lambda one: one[1])


@pytest.fixture(scope="module")
def artefact(
    request: pytest.FixtureRequest,
    model: Any,
    shortlist: Shortlist,
    tokenizer: Tokenizer,
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Path, float]:
    """An artefact with graphs for both targets, and what its precision may change."""
    path = tmp_path_factory.mktemp("shortlist") / "artefact"
    export_onnx(model, tokenizer, path, quantize=request.param, shortlist=shortlist)
    return path, ERRORS[request.param]


@pytest.mark.parametrize(
    ("artefact", "target"),
    [
        (None, "onnxruntime"),
        *(
            pytest.param(*case, marks=pytest.mark.exhaustive)
            for case in ((None, "native"), ("int8", "onnxruntime"), ("int8", "native"))
        ),
    ],
    indirect=["artefact"],
)
def test_searches_find_what_keras_says_is_best_on_the_list(
    model: Any, shortlist: Shortlist, artefact: tuple[Path, float], target: str
) -> None:
    path, error = artefact
    found = Manifest.read(path).shortlist
    assert found is not None and (found.origin, found.always) == ("a test", 3)
    with OnnxTranslator(path, target=target) as translator:
        _check_greedy(translator, model, shortlist, error)
        _check_beams(translator, model, shortlist, error)
        _check_prefixes(translator, model, shortlist, error)
        _check_samples(translator, shortlist)


def _check_greedy(translator: Any, model: Any, shortlist: Shortlist, error: float) -> None:
    """Each token is the best on the list but for rounding, batch or not, scores or not."""
    together = translator.translate_ids(SOURCES, max_length=6)
    plain = translator.translate_ids(SOURCES, max_length=6, return_scores=False)
    for source, [found], [unscored] in zip(SOURCES, together, plain, strict=True):
        [[apart]] = translator.translate_ids([source], max_length=6)
        assert found.ids == apart.ids == unscored.ids
        assert found.log_probability == pytest.approx(apart.log_probability, abs=1e-4)
        ids = allowed(shortlist, source)
        rows = log_probs(model, source, found.ids, ids)
        rows[0, EOS] = -np.inf  # min_length is 1.
        ended = [*found.ids, EOS][:6]
        chosen = [row[token] for row, token in zip(rows, ended, strict=False)]
        best = [row.max() for row in rows[: len(ended)]]
        np.testing.assert_allclose(chosen, best, atol=2 * error)
        score = translator.score_ids([source], [found.ids])[0] if len(ended) < 6 else None
        assert score is None or score.log_probability == pytest.approx(sum(best), abs=6 * error)


def _check_beams(translator: Any, model: Any, shortlist: Shortlist, error: float) -> None:
    flags = {"beam_size": 12, "max_length": 2, "min_length": 0, "length_penalty": 0.0}
    flags["length_penalty_type"] = "exponent"
    for source, [found] in zip(SOURCES, translator.translate_ids(SOURCES, **flags), strict=True):
        ids, value = best_of_all(model, source, allowed(shortlist, source))
        assert found.log_probability == pytest.approx(value, abs=2 * error)
        assert error > 0.01 or found.ids == ids


def _check_prefixes(translator: Any, model: Any, shortlist: Shortlist, error: float) -> None:
    """Prefixes and forced tokens join the list of their own text."""
    prefixes = [[50, 51, 52], [53, 54], [55, 56]]
    options = SearchOptions(max_length=5, beam_size=2, forced_tokens=[(3, 57)])
    found = translator._engine.search(SOURCES, options, prefixes)
    for source, prefix, [best, *_] in zip(SOURCES, prefixes, found, strict=True):
        assert best.ids[: len(prefix)] == prefix and best.ids[3] == 57
        rows = log_probs(model, source, best.ids, allowed(shortlist, source, *prefix, 57))
        value = sum(row[token] for row, token in zip(rows, [*best.ids, EOS][:5], strict=False))
        assert best.log_probability == pytest.approx(value, abs=6 * error)


def _check_samples(translator: Any, shortlist: Shortlist) -> None:
    flags = {"sample": True, "seed": 1, "num_hypotheses": 5, "max_length": 6}
    for more in ({}, {"top_k": 4, "num_hypotheses": 1}, {"repetition_penalty": 1.5}):
        found = translator.translate_ids(SOURCES, **{**flags, **more})
        for source, samples in zip(SOURCES, found, strict=True):
            ids = set(allowed(shortlist, source))
            assert all(ids.issuperset(sample.ids) for sample in samples)


@pytest.mark.exhaustive
@pytest.mark.parametrize("quantize", [None, "float16"])
def test_portable_graphs_choose_as_the_others(
    model: Any, shortlist: Shortlist, tokenizer: Tokenizer, tmp_path: Path, quantize: str | None
) -> None:
    translated = []
    for target, precision in (("portable", quantize), ("native", None)):
        settings: dict[str, Any] = {"target": target, "quantize": precision}
        export_onnx(model, tokenizer, tmp_path / target, shortlist=shortlist, **settings)
        with OnnxTranslator(tmp_path / target) as translator:
            translated.append(
                [
                    [one.ids for row in translator.translate_ids(SOURCES, **flags) for one in row]
                    for flags in ({"max_length": 6}, {"max_length": 6, "beam_size": 3})
                ]
            )
    assert translated[0] == translated[1]


def test_a_list_of_all_ids_changes_nothing(
    learned_model: Any, tokenizer: Tokenizer, texts: list[str], tmp_path: Path, exported: Any
) -> None:
    every = Shortlist.of_lists([[] for _ in range(60)], range(60), 60)
    directory = export_onnx(learned_model, tokenizer, tmp_path / "artefact", shortlist=every)
    for beam_size, target in itertools.product((1, 4), ("onnxruntime", "native")):
        flags = {"beam_size": beam_size, "max_length": 30}
        with (
            OnnxTranslator(directory, target=target) as listed,
            OnnxTranslator(exported.path) as whole,
        ):
            found, expected = (one.translate_n_best(texts, **flags) for one in (listed, whole))
        for mine, theirs in zip(found, expected, strict=True):
            assert mine[0].ids == theirs[0].ids
            assert mine[0].score == pytest.approx(theirs[0].score, abs=1e-3)
