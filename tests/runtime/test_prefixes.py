"""A translation's prefix is read in one run, and the results are those of an artefact without the
prefill graph, which reads it token by token."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keras_transformer.artefact.files import ArtefactFiles
from keras_transformer.artefact.manifest import Manifest
from keras_transformer.export import export_onnx
from keras_transformer.runtime.loop.batches import plan_by_prefix
from keras_transformer.runtime.onnx_graphs.decoder_steps import DecoderSteps
from keras_transformer.runtime.translation_engine import Engine
from keras_transformer.search.options import SearchOptions

Engines = tuple[Engine, Engine]
LONGEST = 24
OPTIONS: dict[str, dict[str, Any]] = {
    "greedy": {},
    "beam": {"beam_size": 4, "num_hypotheses": 4, "length_penalty": 0.8},
    "exact beam": {"beam_size": 4, "num_hypotheses": 2, "early_stopping": "exact"},
    "constrained": {"beam_size": 4, "no_repeat_ngram_size": 2, "min_length": 12},
    "forced": {"forced_tokens": [(3, 30), (14, 31)], "banned_sequences": [(40,), (41, 42)]},
    "penalized": {"beam_size": 2, "repetition_penalty": 1.3},
    "samples": {"sample": True, "num_hypotheses": 3, "seed": 5, "top_k": 10},
    "sample": {"sample": True, "seed": 7},
}


@pytest.fixture(
    scope="module",
    params=[
        "exported",
        "exported_native",
        pytest.param("exported_portable", marks=pytest.mark.exhaustive),
    ],
)
def engines(request: pytest.FixtureRequest) -> Engines:
    """One that reads prefixes in a run, and one that reads them token by token."""
    path = request.getfixturevalue(request.param).path
    return opened(path)


def opened(path: Any) -> Engines:
    manifest = Manifest.read(path)

    def without(graphs: Any) -> dict[str, Any]:
        return {name: graph for name, graph in graphs.items() if name != "prefill"}

    native = manifest.native
    if native is not None:
        native = dataclasses.replace(native, graphs=without(native.graphs))
    older = dataclasses.replace(manifest, graphs=without(manifest.graphs), native=native)
    assert Manifest.from_json(older.to_json()) == older
    whole, single = (Engine(one, ArtefactFiles(path), 1, 8192, None) for one in (manifest, older))
    return whole, single


def agree(found: list[Any], wanted: list[Any]) -> None:
    ids = [[[one.ids for one in candidates] for candidates in each] for each in (found, wanted)]
    assert ids[0] == ids[1]
    for ours, theirs in zip(found, wanted, strict=True):
        numbers = [[one[1:] for one in candidates] for candidates in (ours, theirs)]
        np.testing.assert_allclose(numbers[0], numbers[1], rtol=1e-4, atol=1e-4)


WORDS = st.integers(10, 59)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=list(OPTIONS))
@settings(
    max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    pairs=st.lists(
        st.tuples(
            st.lists(WORDS, min_size=1, max_size=9), st.lists(WORDS, max_size=LONGEST, unique=True)
        ),
        min_size=1,
        max_size=5,
    ),
    with_scores=st.booleans(),
)
def test_hypotheses_and_scores_are_those_of_a_token_a_run(
    engines: Engines,
    options: dict[str, Any],
    pairs: list[tuple[list[int], list[int]]],
    with_scores: bool,
) -> None:
    chosen = SearchOptions(max_length=LONGEST + 8, **options)
    sources, prefixes = (list(rows) for rows in zip(*pairs, strict=True))
    # Sources of no token, and prefixes of one length, are cases of their own.
    for given_prefixes in (prefixes, [prefixes[0]] * len(prefixes)):
        found, wanted = (
            engine.search([*sources, []], chosen, [*given_prefixes, []], with_scores=with_scores)
            for engine in engines
        )
        if with_scores:
            agree(found, wanted)
        else:
            assert [[c.ids for c in one] for one in found] == [
                [c.ids for c in one] for one in wanted
            ]


@pytest.mark.parametrize("options", [{}, {"sample": True, "seed": 3}], ids=str)
def test_a_stream_begins_with_the_prefix(engines: Engines, options: dict[str, Any]) -> None:
    prefix, chosen = list(range(20, 30)), SearchOptions(max_length=20, **options)
    found, wanted = (list(engine.stream([12, 13], chosen, prefix)) for engine in engines)
    assert found == wanted
    assert found[: len(prefix)] == prefix


def count_runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Returns a list that grows by the name of each run of a decoder."""
    runs: list[str] = []
    step, prefill = DecoderSteps._run, DecoderSteps.prefill

    def counted(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            runs.append(name)
            return method(*arguments)

        return run

    monkeypatch.setattr(DecoderSteps, "_run", counted("step", step))
    monkeypatch.setattr(DecoderSteps, "prefill", counted("prefill", prefill))
    return runs


@pytest.mark.parametrize("options", [{}, {"beam_size": 3}], ids=str)
def test_a_prefix_takes_one_run(
    engines: Engines, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    runs, chosen = count_runs(monkeypatch), SearchOptions(max_length=LONGEST + 1, **options)
    engines[0].search([[12, 13]], chosen, [list(range(20, 20 + LONGEST))])
    assert runs == ["prefill", "step"]


def test_prefixes_of_very_different_lengths_do_not_share_a_batch(
    engines: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs, chosen = count_runs(monkeypatch), SearchOptions(max_length=LONGEST + 1)
    prefixes = [list(range(20, 20 + length)) for length in (LONGEST, 0, LONGEST - 2)]
    engines[0].search([[12, 13]] * 3, chosen, prefixes)
    assert runs.count("prefill") == 1
    assert runs[runs.index("prefill") :] == ["prefill", *["step"] * 3]


def test_groups_hold_prefixes_of_like_length() -> None:
    assert plan_by_prefix([0, 9, 3, 8, 20, 0], 8) == [[0, 2, 3, 5], [1], [4]]
    assert plan_by_prefix([], 8) == []


@pytest.mark.parametrize(
    "fields",
    [
        {"norm": "pre", "norm_kind": "rms_norm", "rotary_base": 10000.0, "use_bias": False},
        {"num_key_value_heads": 2, "gated_feed_forward": True, "positions": "learned"},
        pytest.param({"key_dim": 6, "value_dim": 10}, marks=pytest.mark.exhaustive),
        {"decoder_recurrence": "ssru", "norm": "pre"},
    ],
    ids=lambda fields: ", ".join(fields),
)
def test_every_variant_of_the_blocks_reads_prefixes(
    make_model: Callable[..., Any], tokenizer: Any, tmp_path: Any, fields: dict[str, Any]
) -> None:
    if fields.get("positions") == "learned":
        fields = {**fields, "max_positions": 40}
    path = export_onnx(make_model(**fields), tokenizer, tmp_path / "model")
    engines = opened(path)
    chosen = SearchOptions(max_length=LONGEST, beam_size=2, num_hypotheses=2)
    prefixes = [list(range(20, 20 + length)) for length in (7, 12, 0)]
    found, wanted = (
        engine.search([[12, 13], [14], [15, 16]], chosen, prefixes) for engine in engines
    )
    agree(found, wanted)
