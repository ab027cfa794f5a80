"""What an engine refuses and where it stops: memory for keys and values, ids outside the
vocabulary, texts longer than learned positions."""

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_transformer.artefact.files import ArtefactFiles
from keras_transformer.export import Manifest
from keras_transformer.runtime.translation_engine import Engine
from keras_transformer.search.options import SearchOptions

TOKEN_BYTES = 2 * 2 * 4 * 8 * 4  # Keys and values of 2 layers, 4 heads 8 wide, 4 bytes.
BLOCK = 16


@pytest.fixture(scope="module")
def manifest(exported: Any) -> Manifest:
    return Manifest.read(exported.path)


@pytest.fixture(scope="module")
def engine(exported: Any, manifest: Manifest) -> Engine:
    return Engine(manifest, ArtefactFiles(exported.path), 1, 8192, None)


def ids_of(found: list[Any]) -> list[Any]:
    return [[candidate.ids for candidate in candidates] for candidates in found]


# Memory.


@settings(max_examples=15)
@given(
    blocks=st.integers(3, 40), max_length=st.sampled_from([5, 16, 33, 60]), beams=st.integers(1, 4)
)
def test_no_batch_takes_more_memory_than_allowed(
    exported: Any, manifest: Manifest, engine: Engine, blocks: int, max_length: int, beams: int
) -> None:
    random = np.random.default_rng(blocks)
    sources = [random.integers(4, 60, length).tolist() for length in random.integers(1, 16, 12)]
    limit = blocks * BLOCK * TOKEN_BYTES
    bounded = Engine(manifest, ArtefactFiles(exported.path), 1, 8192, limit)
    options = SearchOptions(max_length=max_length, beam_size=beams, min_length=max_length - 1)
    assert ids_of(bounded.search(sources, options)) == ids_of(engine.search(sources, options))
    # A single sentence may need more than that.
    single = (16 + beams * -(-max_length // BLOCK) * BLOCK) * TOKEN_BYTES
    assert bounded.peak_cache_bytes <= max(limit, single)


def test_the_peak_is_the_largest_batch_s_and_stays(exported: Any, manifest: Manifest) -> None:
    engine = Engine(manifest, ArtefactFiles(exported.path), 1, 8192, None)
    assert engine.peak_cache_bytes == 0
    options = SearchOptions(max_length=16, beam_size=2)
    engine.search([[5] * 9] * 4, options)
    # 4 sentences of 10 tokens, 8 rows of one block.
    peak = (4 * 10 + 8 * BLOCK) * TOKEN_BYTES
    assert engine.peak_cache_bytes == peak
    engine.search([[5] * 9], options)
    assert engine.peak_cache_bytes == peak


@pytest.mark.parametrize("name", ["batch_tokens", "max_cache_bytes"])
@pytest.mark.parametrize("value", [0, -5])
def test_a_limit_below_one_is_refused(
    exported: Any, manifest: Manifest, name: str, value: int
) -> None:
    limits = {"batch_tokens": 8192, "max_cache_bytes": None, name: value}
    with pytest.raises(ValueError, match=f"{name} must be at least 1, got {value}"):
        Engine(manifest, ArtefactFiles(exported.path), 1, **limits)


# What comes in.


@pytest.mark.parametrize("wrong", [-1, 60, 1000])
def test_ids_outside_the_vocabulary_are_named(engine: Engine, wrong: int) -> None:
    message = f"source_ids must lie in 0 to 59, got {wrong} in row 1"
    with pytest.raises(ValueError, match=message):
        engine.search([[5], [6, wrong]], SearchOptions())
    with pytest.raises(ValueError, match=message):
        engine.align([[5], [6, wrong]], [[5], [5]])
    with pytest.raises(ValueError, match=f"target_ids must lie in 0 to 59, got {wrong} in row 0"):
        engine.align([[5]], [[wrong]])


@pytest.fixture(scope="module")
def short(exported: Any, manifest: Manifest) -> Engine:
    """An engine whose manifest allows 12 positions."""
    config = {**manifest.config, "max_positions": 12}
    return Engine(
        dataclasses.replace(manifest, config=config), ArtefactFiles(exported.path), 1, 8192, None
    )


def test_texts_longer_than_the_model_s_positions_are_named(short: Engine) -> None:
    message = "text 1 has 13 {} tokens with eos, more than the model's max_positions \\(12\\)"
    long = [[5] * 11, [5] * 12]
    with pytest.raises(ValueError, match=message.format("source")):
        short.search(long, SearchOptions())
    with pytest.raises(ValueError, match=message.format("source")):
        short.align(long, long)
    with pytest.raises(ValueError, match=message.format("target")):
        short.align([[5], [6]], long)


def test_outputs_are_no_longer_than_the_model_s_positions(short: Engine) -> None:
    options = SearchOptions(banned_sequences=[[3]])
    [[found]] = short.search([[5, 6]], options)
    assert len(found.ids) == 12
    with pytest.raises(ValueError, match="min_length \\(13\\) is more than max_length \\(12\\)"):
        short.search([[5, 6]], SearchOptions(min_length=13))
