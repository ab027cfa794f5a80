"""Decoders alone: what is refused of clusters of ids."""

from typing import Any

import pytest

from keras_transformer.config import SpecialIds
from keras_transformer.config.decoder_only import DecoderConfig

SIZES: dict[str, Any] = {"vocab_size": 100, "model_dim": 16, "num_heads": 2, "num_layers": 1}


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        ({"cutoffs": (10, 100)}, ValueError, "cutoffs must rise and be smaller than .* 100 ids"),
        ({"cutoffs": (10,), "div_value": 0}, ValueError, "div_value must be at least 1, got 0"),
        ({"div_value": 2}, ValueError, "div_value=2 needs cutoffs, which is not given"),
        ({"character_width": 2}, ValueError, "character_width=2 needs character_dim, which is"),
        ({"cutoffs": "10"}, TypeError, "cutoffs must be a sequence of ids, got '10'"),
        ({"cutoffs": (1.5,)}, TypeError, "each of cutoffs must be an integer, got 1.5"),
        (
            {"cutoffs": (10,), "final_logit_soft_cap": 3.0},
            ValueError,
            "final_logit_soft_cap=3.0 does not go with cutoffs",
        ),
    ],
)
def test_clusters_that_cannot_be_are_refused(
    fields: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        DecoderConfig(**SIZES, **fields)


def test_clusters_are_the_same_after_a_file() -> None:
    config = DecoderConfig(**SIZES, cutoffs=[10, 40], div_value=2, special_ids=SpecialIds())
    assert DecoderConfig.from_json(config.to_json()) == config
    assert [one.size for one in config.clusters] == [10, 30, 60]
