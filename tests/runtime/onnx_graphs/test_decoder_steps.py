"""DecoderSteps on real graphs: a hypothesis among others gets what it would get alone, candidates
are the best of the logits, and running a step twice changes nothing."""

from collections.abc import Callable

import numpy as np
import pytest

from keras_transformer.artefact.files import ArtefactFiles
from keras_transformer.export import Manifest
from keras_transformer.runtime.loop.top_k import log_softmax
from keras_transformer.runtime.onnx_graphs.cache import BLOCK_TOKENS, Memory
from keras_transformer.runtime.onnx_graphs.decoder_steps import DecoderSteps
from keras_transformer.runtime.onnx_graphs.graphs import pad_sources
from keras_transformer.runtime.onnx_graphs.sessions import open_session
from keras_transformer.runtime.onnx_graphs.step_graph import StepGraph

BOS = 2
SOURCES = [[5, 6, 7, 8, 9, 10, 11], [12, 13], [14, 15, 16, 17]]
VOCABULARY = 60

Start = Callable[..., DecoderSteps]


@pytest.fixture(
    scope="module",
    params=[
        "exported",
        "exported_native",
        pytest.param("exported_portable", marks=pytest.mark.exhaustive),
    ],
)
def start(request: pytest.FixtureRequest) -> Start:
    """`start(sources, graph="decoder", capacity=1, limit=100)` decodes with either target."""
    path = request.getfixturevalue(request.param).path
    manifest = Manifest.read(path)
    names = ("encoder", "decoder", "greedy", "greedy_scores")
    sessions = {
        name: open_session(manifest, ArtefactFiles(path), name, threads=1) for name in names
    }
    outputs = [spec.name for spec in manifest.graphs["encoder"].outputs if "cross" in spec.name]

    def begin(
        sources: list[list[int]], graph: str = "decoder", capacity: int = 1, limit: int = 100
    ) -> DecoderSteps:
        source_ids = pad_sources(sources, pad_id=0, ends=[3])
        cross = sessions["encoder"].run(outputs, {"source_ids": source_ids})
        return DecoderSteps(
            StepGraph(sessions[graph], manifest.graphs[graph]),
            lambda: sessions["greedy_scores" if graph == "greedy" else graph],
            len(source_ids),
            {
                "source_mask": (source_ids != 0).astype(np.int32),
                **dict(zip(outputs, cross, strict=True)),
            },
            capacity,
            limit,
            Memory(1 << 20),
        )

    return begin


def random_ids(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(4, VOCABULARY, shape, np.int32)


def last_logits(steps: DecoderSteps, tokens: list[int]) -> np.ndarray:
    """The logits `(1, vocabulary)` after these tokens of one sentence in one row."""
    *_, logits = [steps.logits(np.array([token], np.int32)) for token in tokens]
    return logits


@pytest.mark.parametrize("beams", [1, 3])
@pytest.mark.parametrize("widened_at", [0, 2])
def test_a_hypothesis_among_others_gets_what_it_gets_alone(
    start: Start, beams: int, widened_at: int
) -> None:
    random = np.random.default_rng(beams)
    steps, sentences = start(SOURCES), list(SOURCES)
    history = np.zeros((len(sentences), 1, 0), np.int32)
    ids = np.full((len(sentences), 1), BOS, np.int32)
    for step in range(BLOCK_TOKENS + 4):
        history = np.concatenate([history, ids[:, :, None]], axis=2)
        logits = steps.logits(ids.ravel()).reshape(*ids.shape, VOCABULARY)
        if step >= widened_at:
            parents = random.integers(0, ids.shape[1], (len(sentences), beams), np.int32)
            steps.follow(parents)
            history = np.take_along_axis(history, parents[:, :, None], axis=1)
        if step == 5:  # The second sentence leaves.
            kept = np.array([2, 0])
            steps.keep(kept)
            sentences, history = [sentences[place] for place in kept], history[kept]
        ids = random_ids(step, *history.shape[:2])
    # The tokens were drawn after the last logits, so these belong to the histories without them.
    history = np.concatenate([history, ids[:, :, None]], axis=2)
    logits = steps.logits(ids.ravel()).reshape(*ids.shape, VOCABULARY)
    for place, source in enumerate(sentences):
        for beam in range(ids.shape[1]):
            alone = last_logits(start([source], "greedy"), history[place, beam].tolist())
            np.testing.assert_allclose(logits[place, beam], alone[0], atol=2e-5)


def test_growing_changes_no_number(start: Start) -> None:
    ids = random_ids(0, 3 * BLOCK_TOKENS, len(SOURCES))
    small, large = start(SOURCES), start(SOURCES, capacity=100)
    for newest in ids:
        np.testing.assert_allclose(small.logits(newest), large.logits(newest), atol=2e-5)


@pytest.mark.parametrize("count", [1, 5, 59, 60, 100, 1000])
@pytest.mark.parametrize("beams", [1, 4])
def test_candidates_are_the_best_of_all_logits(start: Start, count: int, beams: int) -> None:
    steps = start(SOURCES)
    steps.logits(np.full(len(SOURCES), BOS, np.int32))
    steps.follow(np.zeros((len(SOURCES), beams), np.int32))
    ids = random_ids(1, len(SOURCES) * beams)
    totals = -np.random.default_rng(0).exponential(2, (len(SOURCES), beams)).astype(np.float32)
    best = steps.best(ids, count, totals)
    best = type(best)(*(part.copy() for part in best))
    log_probs = log_softmax(steps.logits_again(ids)).reshape(len(SOURCES), beams, VOCABULARY)
    extended = (log_probs + totals[:, :, None]).reshape(len(SOURCES), -1)
    expected = -np.sort(-extended, axis=1)[:, :count]
    assert best.ids.shape == (len(SOURCES), min(count, beams * VOCABULARY))
    np.testing.assert_allclose(best.values, expected, atol=1e-5)
    places = best.beams * VOCABULARY + best.ids
    np.testing.assert_allclose(best.values, np.take_along_axis(extended, places, 1), atol=1e-5)
    assert all(len(set(row)) == len(row) for row in places.tolist())


@pytest.mark.parametrize("graph", ["greedy", "greedy_scores"])
def test_the_first_token_is_that_of_the_largest_logit(start: Start, graph: str) -> None:
    steps = start(SOURCES, graph)
    ids = np.full(len(SOURCES), BOS, np.int32)
    for _ in range(BLOCK_TOKENS + 2):
        newest = ids
        ids, values = (part.copy() for part in steps.first(newest))
        logits = steps.logits_again(newest)
        np.testing.assert_array_equal(ids, logits.argmax(axis=1))
        expected = log_softmax(logits).max(axis=1) * (graph == "greedy_scores")
        np.testing.assert_allclose(values, expected, atol=1e-6)


def test_the_count_may_change_between_steps(start: Start) -> None:
    steps = start(SOURCES)
    totals = np.zeros((len(SOURCES), 1), np.float32)
    for step, count in enumerate((2, 9, 9, 1)):
        best = steps.best(random_ids(step, len(SOURCES)), count, totals)
        assert {part.shape for part in best} == {(len(SOURCES), count)}


def test_running_a_step_again_leaves_the_next_one_as_it_was(start: Start) -> None:
    once, twice = start(SOURCES), start(SOURCES)
    totals = np.zeros((len(SOURCES), 1), np.float32)
    for step in range(BLOCK_TOKENS + 2):
        ids = random_ids(step, len(SOURCES))
        first = once.best(ids, 4, totals)
        second = twice.best(ids, 4, totals)
        np.testing.assert_array_equal(first.ids, second.ids)
        np.testing.assert_allclose(first.values, second.values, atol=2e-5)
        twice.logits_again(ids)


def test_the_source_is_held_once_for_all_beams(start: Start) -> None:
    token = 2 * 2 * 4 * 8 * 4  # Keys and values of 2 layers, 4 heads 8 wide, 4 bytes.
    longest = max(map(len, SOURCES)) + 1
    for beams in (1, 4):
        steps = start(SOURCES)
        steps.follow(np.zeros((len(SOURCES), beams), np.int32))
        steps.logits(random_ids(0, len(SOURCES) * beams))
        held = len(SOURCES) * token * (longest + beams * BLOCK_TOKENS)
        assert steps.peak_bytes == held
    steps.keep(np.array([1]))
    assert steps.peak_bytes == held
