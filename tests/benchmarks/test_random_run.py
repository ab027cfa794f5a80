"""Random models whose translations are varied, the same every time, and never hold pad or eos."""

from typing import Any

import numpy as np
import pytest
from speed.ending_run import let_it_end
from speed.random_run import randomize, synthetic_tokenizer, write_random_run
from speed.sizes import SIZES

from keras_transformer.config import TransformerConfig
from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.models.transformer import build_transformer
from keras_transformer.runs.finished_run import load_run
from tools.covering import some

BOS_ID, EOS_ID, PAD_ID = SpecialIds.bos, SpecialIds.eos, SpecialIds.pad


@pytest.mark.parametrize("vocab_size", [100, 300, 2000])
def test_the_vocabulary_has_exactly_the_size(vocab_size: int) -> None:
    tokenizer = synthetic_tokenizer(vocab_size)
    assert tokenizer.vocab_size == vocab_size
    assert len(set(tokenizer.pieces(range(vocab_size)))) == vocab_size


@pytest.fixture(scope="module", params=some(["pre", "post"], "pre"))
def model(request: Any) -> Any:
    made = build_transformer(TransformerConfig.preset("tiny", vocab_size=300, norm=request.param))
    randomize(made)
    return made


def greedy(model: Any, batch: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Ids `(batch, length)` and the last logits."""
    source_ids = np.array([[*row, EOS_ID] for row in SIZES["mini"].sources(batch)])
    ids = np.full((batch, 1), BOS_ID)
    for _ in range(length):
        logits = np.asarray(model({"source_ids": source_ids, "target_ids": ids}))
        ids = np.concatenate([ids, logits[:, -1].argmax(axis=-1)[:, None]], axis=1)
    return ids[:, 1:], logits


@pytest.mark.exhaustive
def test_translations_depend_on_source_and_place(model: Any) -> None:
    ids, _ = greedy(model, batch=8, length=6)
    assert len({tuple(row) for row in ids.tolist()}) > 5
    assert len(set(ids.flat)) > 8


def test_pad_bos_and_eos_are_far_below_the_rest(model: Any) -> None:
    _, logits = greedy(model, batch=4, length=4)
    unwanted = [PAD_ID, BOS_ID, EOS_ID]
    np.testing.assert_allclose(logits[..., unwanted], -6, atol=1e-4)
    assert np.delete(logits, unwanted, axis=-1).max(axis=-1).min() > 1


@pytest.mark.exhaustive
@pytest.mark.parametrize("norm", some(["pre", "post"], "post"))
def test_translations_end_about_where_their_sources_do(norm: str) -> None:
    ending = build_transformer(TransformerConfig.preset("tiny", vocab_size=300, norm=norm))
    randomize(ending)
    let_it_end(ending)
    for tokens in (3, 9, 30):
        ids = np.random.default_rng(tokens).integers(EOS_ID + 1, 300, (2, tokens + 4))
        source_ids = np.append(ids[:1, :tokens], [[EOS_ID]], axis=1)
        target_ids = np.append([[BOS_ID]], ids[1:], axis=1)
        logits = np.asarray(ending({"source_ids": source_ids, "target_ids": target_ids}))
        first = int((logits[0].argmax(axis=-1) == EOS_ID).argmax())
        assert abs(first - tokens) <= 1


def test_the_weights_are_the_same_every_time(model: Any) -> None:
    twin = build_transformer(model.config)
    randomize(twin)
    for own, other in zip(model.get_weights(), twin.get_weights(), strict=True):
        np.testing.assert_array_equal(own, other)


@pytest.mark.exhaustive
def test_it_is_a_finished_run(tmp_path: Any) -> None:
    write_random_run(SIZES["mini"], tmp_path / "run")
    model, source, target = load_run(tmp_path / "run")
    assert model.config == SIZES["mini"].config
    assert source is target
    assert source.vocab_size == SIZES["mini"].vocab_size
