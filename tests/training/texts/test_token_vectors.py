"""Decoders with clusters of ids, or whose tokens are built from characters: resumed as begun."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from few_updates import without_graphs
from single_texts import weights

from keras_transformer.training.run.loss_record import read_losses

KINDS: dict[str, dict[str, Any]] = {
    "cutoffs": {"cutoffs": (6, 10)},
    "characters": {"character_dim": 4, "character_filters": 2, "tied_head": False},
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", KINDS)
def test_a_resumed_run_is_the_unbroken_one(start, tmp_path: Path, kind: str) -> None:
    settings: dict[str, Any] = {"overrides": KINDS[kind]}
    whole = start("causal-lm", "whole", **settings)
    start("causal-lm", "broken", options={"max_steps": 3}, **settings)
    (tmp_path / "broken" / "model.keras").unlink()
    resumed = start("causal-lm", "broken", resume=True, **settings)
    losses = [read_losses(tmp_path / name / "losses.tsv") for name in ("whole", "broken")]
    assert losses[0] == losses[1] and len(losses[0]) == 6
    for path, weight in weights(whole).items():
        np.testing.assert_array_equal(weight, weights(resumed)[path])


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("begun", "other", "message"),
    [
        ({"cutoffs": (6, 10)}, {"cutoffs": (6, 11)}, "cutoffs"),
        ({"cutoffs": (6, 10)}, {}, "cutoffs"),
        ({}, {"cutoffs": (6,)}, "cutoffs"),
        (KINDS["characters"], KINDS["characters"] | {"character_dim": 5}, "character_dim"),
    ],
)
def test_a_run_of_other_vectors_is_not_resumed(start, begun, other, message: str) -> None:
    options = {"max_steps": 1, "checkpoint_steps": 1}
    with without_graphs():
        start("causal-lm", "run", options=options, overrides=begun)
    with pytest.raises(ValueError, match=message):
        start("causal-lm", "run", options=options, overrides=other, resume=True)


def test_a_loss_of_all_ids_is_refused_before_the_text_is_read(start) -> None:
    message = r"label_smoothing=0.1 is not for a model with cutoffs: leave it at 0\."
    with pytest.raises(ValueError, match=message):
        start("causal-lm", "run", options={"label_smoothing": 0.1}, overrides=KINDS["cutoffs"])
