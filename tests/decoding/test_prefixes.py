"""A prefix is read in one run in a graph, too: the results are those of a model that is fed a token
a run, and so are the caches."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from keras import ops

from keras_transformer.decoding import search as searching
from keras_transformer.decoding.generator import KerasGenerationEngine
from keras_transformer.decoding.translator import KerasEngine
from keras_transformer.search.options import SearchOptions
from tools.covering import some

LONGEST = 40
OPTIONS: dict[str, dict[str, Any]] = {
    "greedy": {},
    "beam": {"beam_size": 4, "num_hypotheses": 4, "length_penalty": 0.8},
    "constrained": {"no_repeat_ngram_size": 2, "min_length": 12, "forced_tokens": [(14, 31)]},
    "penalized": {"repetition_penalty": 1.3},
    "samples": {"sample": True, "num_hypotheses": 3, "seed": 5, "top_k": 10},
}
# Each is traced with and without the reading of several tokens.
EVERY_OPTION = pytest.mark.parametrize(
    "options",
    [
        pytest.param(
            options,
            id=name,
            marks=() if name == "beam" else pytest.mark.exhaustive,
        )
        for name, options in OPTIONS.items()
    ],
)
WORDS = st.integers(10, 59)
VARIANTS: list[dict[str, Any]] = [
    {},
    {"norm": "pre", "rotary_base": 10000.0, "num_key_value_heads": 2, "key_dim": 6},
    {"relative_buckets": 8, "relative_max_distance": 16},
    {"relative_sinusoids": True, "num_key_value_heads": 2},
    {"positions": "learned", "max_positions": 30},
    {"decoder_recurrence": "ssru"},
]


class Single:
    """Switches off the reading of several tokens in graphs that are traced inside."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch

    def __call__(self, engine: Any, call: Callable[[Any], Any]) -> Any:
        with self._monkeypatch.context() as patch:
            patch.setattr(searching, "read_prefixes", lambda _, state, *others: state)
            return call(engine)


@pytest.fixture(scope="module")
def engines(learned_model: Any) -> tuple[KerasEngine, KerasEngine]:
    return KerasEngine(learned_model, 8192), KerasEngine(learned_model, 8192)


@pytest.mark.exhaustive
@EVERY_OPTION
@settings(
    max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    pairs=st.lists(
        st.tuples(
            st.lists(WORDS, min_size=1, max_size=9), st.lists(WORDS, max_size=LONGEST, unique=True)
        ),
        min_size=1,
        max_size=4,
    ),
    together=st.booleans(),
)
def test_hypotheses_and_scores_are_those_of_a_token_a_run(
    engines: tuple[KerasEngine, KerasEngine],
    monkeypatch: pytest.MonkeyPatch,
    options: dict[str, Any],
    pairs: list[tuple[list[int], list[int]]],
    together: bool,
) -> None:
    chosen = SearchOptions(max_length=LONGEST + 8, **options)
    sources, prefixes = (list(rows) for rows in zip(*pairs, strict=True))
    if together:
        prefixes = [prefixes[0]] * len(prefixes)
    arguments = [*sources, []], chosen, [*prefixes, []]
    found = engines[0].search(*arguments)
    wanted = Single(monkeypatch)(engines[1], lambda engine: engine.search(*arguments))
    agree(found, wanted)


def agree(found: list[Any], wanted: list[Any]) -> None:
    for ours, theirs in zip(found, wanted, strict=True):
        assert [one.ids for one in ours] == [one.ids for one in theirs]
        numbers = [[one[1:] for one in candidates] for candidates in (ours, theirs)]
        np.testing.assert_allclose(numbers[0], numbers[1], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("length", some([0, 1, 10, LONGEST], 10))
def test_a_stream_begins_with_the_prefix(
    engines: tuple[KerasEngine, KerasEngine], length: int
) -> None:
    prefix, chosen = list(range(12, 12 + length)), SearchOptions(max_length=LONGEST + 8)
    [[best]] = engines[0].search([[12, 13]], chosen, [prefix])
    assert list(engines[0].stream([12, 13], chosen, prefix)) == best.ids
    assert best.ids[:length] == prefix


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "options",
    [
        pytest.param(OPTIONS["beam"], id="beam"),
        pytest.param(OPTIONS["samples"], marks=pytest.mark.exhaustive, id="samples"),
    ],
)
def test_prompts_of_a_decoder_alone_are_read_in_one_run(
    small_decoder: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    model = small_decoder()
    prompts = [list(range(10, 10 + length)) for length in (LONGEST - 4, 7, 40)]
    chosen = SearchOptions(**{"max_length": 16, **options})
    whole, single = (KerasGenerationEngine(model, 8192) for _ in range(2))
    for rows in (prompts, prompts[:1] * 2):
        found = whole.search(rows, chosen)
        wanted = Single(monkeypatch)(single, lambda engine: engine.search(rows, chosen))  # noqa: B023
        agree(found, wanted)


@pytest.mark.parametrize(
    "fields",
    some(VARIANTS, VARIANTS[1], VARIANTS[5]),
    ids=lambda fields: ", ".join(fields) or "plain",
)
@pytest.mark.parametrize("begin", [pytest.param(0, marks=pytest.mark.exhaustive), 3])
def test_caches_and_scores_are_those_of_single_steps(
    make_model: Callable[..., Any], fields: dict[str, Any], begin: int
) -> None:
    model = make_model(**fields)
    source_ids = np.array([[11, 12, 3, 0], [13, 14, 15, 3]], "int32")
    source = model.read_source(source_ids)
    target_ids = np.random.default_rng(0).integers(10, 50, (2, 9)).astype("int32")
    caches, scores = model.empty_caches(2, 11), []
    for step in range(8):
        if step == begin:
            begun = caches
        logits, caches = model.decode_step(target_ids[:, step], step, caches, source)
        log_probs = np.asarray(ops.log_softmax(logits))
        scores.append(np.take_along_axis(log_probs, target_ids[:, step + 1, None], axis=1)[:, 0])
    found, written = model.read_prefix(
        target_ids[:, begin:8], begin, begun, source, target_ids[:, begin + 1 : 9]
    )
    np.testing.assert_allclose(found, np.stack(scores[begin:], axis=1), rtol=1e-4, atol=1e-5)
    for ours, theirs in zip(written, caches, strict=True):
        for part, wanted in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(part, wanted, rtol=1e-4, atol=1e-5)
