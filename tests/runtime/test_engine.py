"""Engine: ids in, candidates out, whatever the batches; streams and alignments agree with
the search, and a closed engine says so."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from keras_transformer.artefact.files import ArtefactFiles
from keras_transformer.export import Manifest
from keras_transformer.runtime.onnx_graphs import graphs
from keras_transformer.runtime.onnx_graphs.decoder_steps import DecoderSteps
from keras_transformer.runtime.onnx_graphs.sessions import open_session
from keras_transformer.runtime.translation_engine import Engine
from keras_transformer.search.options import SearchOptions


@pytest.fixture(scope="module")
def sources(exported: Any, texts: list[str]) -> list[list[int]]:
    return exported.source_tokenizer.encode([*texts, "", "hello you"])


@pytest.fixture(scope="module")
def manifest(exported: Any) -> Manifest:
    return Manifest.read(exported.path)


@pytest.fixture(scope="module")
def engine(exported: Any, manifest: Manifest) -> Engine:
    return Engine(manifest, ArtefactFiles(exported.path), 1, 8192, None)


OPTIONS: dict[str, dict[str, Any]] = {
    "greedy": {},
    "beam": {"beam_size": 3, "num_hypotheses": 3},
    "constrained beam": {"beam_size": 2, "no_repeat_ngram_size": 2, "min_length": 4},
    "samples": {"sample": True, "num_hypotheses": 3, "seed": 5, "top_k": 10},
}
EVERY_OPTION = pytest.mark.parametrize("options", OPTIONS.values(), ids=list(OPTIONS))


def ids_of(found: list[Any]) -> list[Any]:
    return [[candidate.ids for candidate in candidates] for candidates in found]


@EVERY_OPTION
@pytest.mark.parametrize("batch_tokens", [1, 40])
def test_results_do_not_depend_on_the_batches(
    exported: Any,
    manifest: Manifest,
    engine: Engine,
    sources: list[list[int]],
    options: dict[str, Any],
    batch_tokens: int,
) -> None:
    chosen = SearchOptions(max_length=40, **options)
    other = Engine(manifest, ArtefactFiles(exported.path), 1, batch_tokens, None)
    wanted, found = engine.search(sources, chosen), other.search(sources, chosen)
    assert ids_of(found) == ids_of(wanted)
    for ours, theirs in zip(found, wanted, strict=True):
        numbers = [[one[1:] for one in candidates] for candidates in (ours, theirs)]
        np.testing.assert_allclose(*numbers, atol=1e-4)


@EVERY_OPTION
def test_results_do_not_depend_on_batches_side_by_side(
    exported: Any,
    manifest: Manifest,
    engine: Engine,
    sources: list[list[int]],
    options: dict[str, Any],
) -> None:
    chosen = SearchOptions(max_length=40, **options)
    many = [source for source in sources for _ in range(6)]
    together = Engine(manifest, ArtefactFiles(exported.path), 3, 8192, None)
    division = together._workers.divide(len(many), 1)
    assert len(together._plan(together._checked(many, chosen, None), division)) >= 3
    assert ids_of(together.search(many, chosen)) == ids_of(engine.search(many, chosen))
    with pytest.raises(ValueError, match="got 60 in row 48"):
        together.search([*many, [60]], chosen)
    together.close()
    with pytest.raises(RuntimeError, match="closed"):
        together.search(many, chosen)


def test_without_scores_greedy_search_takes_the_same_tokens(
    engine: Engine, sources: list[list[int]]
) -> None:
    wanted = engine.search(sources, SearchOptions())
    found = engine.search(sources, SearchOptions(), with_scores=False)
    assert ids_of(found) == ids_of(wanted)
    scores = [one.score for [one], source in zip(found, sources, strict=True) if source]
    assert np.isnan(scores).all()


def test_a_source_without_tokens_has_one_empty_candidate(engine: Engine) -> None:
    assert engine.search([], SearchOptions()) == []
    assert engine.search([[], []], SearchOptions(beam_size=2)) == [[([], 0.0, 0.0)]] * 2
    assert list(engine.stream([], SearchOptions())) == []


def test_a_prefix_begins_each_candidate(engine: Engine, sources: list[list[int]]) -> None:
    prefixes = [[20 + place] * (place % 3) for place in range(len(sources))]
    found = engine.search(sources, SearchOptions(beam_size=2, num_hypotheses=2), prefixes)
    for source, prefix, candidates in zip(sources, prefixes, found, strict=True):
        assert len(candidates) == (2 if source else 1)
        assert not source or all(one.ids[: len(prefix)] == prefix for one in candidates)


def test_what_cannot_go_on_is_one_empty_candidate_without_hope(engine: Engine) -> None:
    # Four tokens and no fifth: only four words are allowed, each once, and no end before the tenth.
    banned = [[word] for word in range(60) if word not in (3, 10, 11, 12, 13)]
    options = {"banned_sequences": banned, "no_repeat_ngram_size": 1, "min_length": 10}
    for more in ({}, {"beam_size": 3}, {"sample": True, "num_hypotheses": 2}):
        [found] = engine.search([[5, 6]], SearchOptions(**options, **more))
        assert found == [([], -np.inf, -np.inf)]
    assert sorted(engine.stream([5, 6], SearchOptions(**options))) == [10, 11, 12, 13]


# Streams.


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"min_length": 20},
        {"no_repeat_ngram_size": 2},
        {"sample": True, "seed": 3},
        {"sample": True, "seed": 3, "top_k": 5, "top_p": 0.9},
        {"max_length": 4},
    ],
    ids=str,
)
@pytest.mark.parametrize("prefix", [[], [20, 21]], ids=str)
def test_a_stream_s_tokens_are_the_search_s(
    engine: Engine, sources: list[list[int]], options: dict[str, Any], prefix: list[int]
) -> None:
    chosen = SearchOptions(**{"max_length": 50, **options})
    for source in sources[:3]:
        [[found]] = engine.search([source], chosen, [prefix])
        assert list(engine.stream(source, chosen, prefix)) == found.ids


def test_a_stream_yields_each_token_after_its_step(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = []
    first = DecoderSteps.first

    def count(self: DecoderSteps, *arguments: Any) -> Any:
        steps.append(arguments)
        return first(self, *arguments)

    monkeypatch.setattr(DecoderSteps, "first", count)
    stream = engine.stream([5, 6, 7], SearchOptions(min_length=9))
    for number, _ in enumerate(itertools.islice(stream, 8)):
        assert len(steps) == number + 1


def test_a_stream_refuses_at_once(engine: Engine) -> None:
    with pytest.raises(ValueError, match="source_ids must lie in 0 to 59, got 60"):
        engine.stream([60], SearchOptions())
    with pytest.raises(ValueError, match="prefix of sentence 0 holds token 3"):
        engine.stream([5], SearchOptions(), [3])


# Alignments.


def test_a_greedy_search_reports_what_its_alignment_sums_to(
    engine: Engine, sources: list[list[int]]
) -> None:
    found = engine.search(sources, SearchOptions(max_length=60))
    ended = [
        (source, one)
        for source, [one] in zip(sources, found, strict=True)
        if source and len(one.ids) < 60
    ]
    assert len(ended) > 3
    alignments = engine.align([source for source, _ in ended], [one.ids for _, one in ended])
    totals = [alignment.log_probabilities.sum() for alignment in alignments]
    np.testing.assert_allclose(totals, [one.log_probability for _, one in ended], atol=1e-4)


def test_an_alignment_has_a_row_for_each_token_and_its_end(
    engine: Engine, sources: list[list[int]]
) -> None:
    targets = [[7, 8], [], [9], [5] * 20, [6], [7], [8, 9], []]
    found = engine.align(sources, targets)
    for source, target, alignment in zip(sources, targets, found, strict=True):
        assert alignment.log_probabilities.shape == (len(target) + 1,)
        assert alignment.attention.shape == (len(target) + 1, len(source) + 1)
        np.testing.assert_allclose(alignment.attention.sum(axis=1), 1, atol=1e-5)
        assert (alignment.log_probabilities <= 0).all()
        [alone] = engine.align([source], [target])
        np.testing.assert_allclose(alone.attention, alignment.attention, atol=1e-5)
        np.testing.assert_allclose(alone.log_probabilities, alignment.log_probabilities, atol=1e-4)


def test_alignments_sum_to_keras_s_scores(
    engine: Engine, keras_side: Any, sources: list[list[int]]
) -> None:
    targets = sources[::-1]
    wanted = [total for _, _, total in keras_side.score_ids(sources, targets)]
    found = [float(one.log_probabilities.sum()) for one in engine.align(sources, targets)]
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-4)


def test_attention_alone_is_that_of_the_alignments(
    engine: Engine, sources: list[list[int]]
) -> None:
    targets = sources[::-1]
    found = zip(engine.attend(sources, targets), engine.align(sources, targets), strict=True)
    for attention, alignment in found:
        np.testing.assert_array_equal(attention, alignment.attention)


def test_each_source_needs_its_target(engine: Engine) -> None:
    with pytest.raises(ValueError, match="got 1 targets for 2 sources"):
        engine.align([[5], [6]], [[7]])
    assert engine.align([], []) == []


# Opening and closing.


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of graphs, as they are opened."""
    names: list[str] = []

    def open_noted(manifest: Manifest, files: ArtefactFiles, name: str, *more: Any) -> Any:
        names.append(name)
        return open_session(manifest, files, name, *more)

    monkeypatch.setattr(graphs, "open_session", open_noted)
    return names


def test_a_graph_is_opened_when_it_is_needed_first(
    exported: Any, manifest: Manifest, opened: list[str]
) -> None:
    engine = Engine(manifest, ArtefactFiles(exported.path), 1, 8192, None)
    counts = [len(opened)]
    engine.search([[5]], SearchOptions(max_length=2), with_scores=False)
    assert opened == ["encoder", "greedy"]
    engine.search([[5]], SearchOptions(max_length=2))
    counts.append(len(opened))
    engine.align([[5]], [[6]])
    assert [*counts, len(set(opened)), len(opened)] == [1, 3, 4, 4]


def test_the_graph_with_logits_is_opened_when_a_constraint_needs_them(
    exported: Any, manifest: Manifest, opened: list[str]
) -> None:
    for options in ({"forced_tokens": ((2, 7),)}, {"repetition_penalty": 1.5}):
        engine = Engine(manifest, ArtefactFiles(exported.path), 1, 8192, None)
        chosen = SearchOptions(max_length=9, **options)
        bare = engine.search([[5, 6], [7]], chosen, with_scores=False)
        assert set(opened) == {"encoder", "greedy", "greedy_scores"}
        opened.clear()
        assert ids_of(bare) == ids_of(engine.search([[5, 6], [7]], chosen))


def calls(engine: Engine) -> Iterator[Any]:
    yield lambda: engine.search([], SearchOptions())
    yield lambda: engine.search([[5]], SearchOptions())
    yield lambda: engine.stream([], SearchOptions())
    yield lambda: engine.stream([5], SearchOptions())
    yield lambda: engine.align([], [])
    yield lambda: engine.align([[5]], [[6]])


def test_a_closed_engine_refuses_everything(exported: Any, manifest: Manifest) -> None:
    engine = Engine(manifest, ArtefactFiles(exported.path), 1, 8192, None)
    engine.close()
    for call in calls(engine):
        with pytest.raises(RuntimeError, match="the model is closed: open it again"):
            call()


def test_a_stream_that_runs_finishes_after_closing(
    exported: Any, manifest: Manifest, opened: list[str]
) -> None:
    engine = Engine(manifest, ArtefactFiles(exported.path), 1, 8192, None)
    # The forced token needs a graph that is not open yet.
    options = SearchOptions(min_length=9, max_length=20, forced_tokens=((4, 7),))
    wanted = list(
        Engine(manifest, ArtefactFiles(exported.path), 1, 8192, None).stream([5, 6, 7], options)
    )
    opened.clear()
    stream = engine.stream([5, 6, 7], options)
    found = [next(stream)]
    before = set(opened)
    engine.close()
    assert [*found, *stream] == wanted and before < set(opened)
