"""Portable graphs in stages: tf2onnx sees one block of a stack, and all of them are exported."""

from typing import Any

import numpy as np
import pytest
import tf2onnx

from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.config.transformer import TransformerConfig
from keras_transformer.export.onnx.graphs.portable import Portable
from keras_transformer.models.encoder_only import build_encoder
from keras_transformer.models.transformer import build_transformer

IDS = np.array([[5, 6, 7, 8, 3], [9, 10, 3, 0, 0]], np.int32)
SIZES = {"model_dim": 8, "num_heads": 2, "feed_forward_dim": 12}


@pytest.fixture
def conversions(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What tf2onnx was given so far."""
    seen, convert = list[Any](), tf2onnx.convert.from_function

    def noted(function: Any, **options: Any) -> Any:
        seen.append(function)
        return convert(function, **options)

    monkeypatch.setattr(tf2onnx.convert, "from_function", noted)
    return seen


def varied(model: Any) -> Any:
    """The model with weights that all differ."""
    random = np.random.default_rng(3)
    for weight in model.weights:
        weight.assign(weight + 0.1 * random.standard_normal(weight.shape))
    return model


@pytest.mark.parametrize(
    ("options", "stages"),
    [
        # The entry, a block, the head; before that the final norm.
        pytest.param({}, 3, marks=pytest.mark.exhaustive),
        pytest.param({"norm": "pre"}, 4, marks=pytest.mark.exhaustive),
        pytest.param({"relative_buckets": 4}, 3, marks=pytest.mark.exhaustive),
        ({"relative_buckets": 4, "relative_per_block": True}, 3),
    ],
    ids=["post-norm", "pre-norm", "one relative bias", "a relative bias each"],
)
def test_an_encoder_and_its_head_are_converted_once(
    options: dict[str, Any], stages: int, conversions: list[Any], open_graph: Any
) -> None:
    config = EncoderConfig(
        **SIZES, vocab_size=20, num_layers=3, num_token_types=0, head="embedding", **options
    )
    model, target = varied(build_encoder(config)), Portable()
    [states] = open_graph(target.graph("encoder", model, 18))(token_ids=IDS)
    [vectors] = open_graph(target.graph("head", model, 18))(token_ids=IDS)
    assert len(conversions) == stages
    real = IDS != 0
    np.testing.assert_allclose(states[real], model.encoder({"token_ids": IDS})[real], atol=1e-5)
    np.testing.assert_allclose(vectors, model({"token_ids": IDS}), atol=1e-5)


@pytest.mark.exhaustive
def test_steps_with_and_without_scores_are_converted_once(conversions: list[Any]) -> None:
    config = TransformerConfig(
        **SIZES, source_vocab_size=20, num_encoder_layers=3, num_decoder_layers=1
    )
    model, target = varied(build_transformer(config)), Portable()
    for name in ("encoder", "greedy", "greedy_scores"):
        target.graph(name, model, 18)
    # The entry, a block and the projections for the decoder; a step.
    assert len(conversions) == 4
