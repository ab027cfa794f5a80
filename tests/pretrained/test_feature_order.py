"""A model whose features of the residual stream stand in another order computes the same."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from keras_transformer.pretrained.feature_order import with_halves

VARIANTS: dict[str, dict[str, Any]] = {
    "paper": {},
    "separate": {"norm": "pre", "share_embeddings": "none", "embedding_norm": True},
    "modern": {
        "norm": "pre",
        "norm_kind": "rms_norm",
        "gated_feed_forward": True,
        "use_bias": False,
        "key_dim": 4,
        "value_dim": 3,
        "logit_bias": True,
    },
}


@pytest.mark.parametrize("name", VARIANTS)
def test_logits_are_the_same_with_sines_first(name: str, random_model: Callable[..., Any]) -> None:
    model = random_model(**VARIANTS[name])
    twin = with_halves(model)
    generator = np.random.default_rng(0)
    inputs = {
        f"{side}_ids": generator.integers(4, 24, (2, length))
        for side, length in (("source", 7), ("target", 5))
    }
    assert twin.config.sinusoid_layout == "halves"
    assert model.config.sinusoid_layout == "interleaved"
    np.testing.assert_allclose(twin(inputs), model(inputs), atol=1e-4)
