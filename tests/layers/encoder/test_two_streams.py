"""Both streams of XLNet against the paper's equations in float64, and what neither may read."""

from typing import Any

import numpy as np
import pytest
from scipy.special import erf

from keras_transformer.config import SpecialIds
from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.layers.encoder.two_streams import QueryStart, content_mask, query_mask
from keras_transformer.models.encoder_only import build_encoder

ORDER = np.array([[0, 3, 0, 1, 0, 2, 0, 0]], "int32")
IDS = np.array([[2, 9, 7, 11, 5, 8, 3, 0]], "int32")
TYPES = np.array([[0, 0, 0, 0, 1, 1, 1, 0]], "int32")


@pytest.fixture(scope="module")
def model(randomize: Any) -> Any:
    """A small XLNet with its query stream and random weights."""
    sizes = {"model_dim": 12, "feed_forward_dim": 20, "num_heads": 3, "layer_norm_epsilon": 1e-5}
    head = {"head": "masked_lm", "query_stream": True, "special_ids": SpecialIds(mask=4)}
    config = EncoderConfig.preset("xlnet-tiny", vocab_size=24, **head, **sizes)
    return randomize(build_encoder(config))


def streams(model: Any) -> tuple[np.ndarray, np.ndarray]:
    """Section 2.6 with the attention of Dai et al. 2019: content and query states, float64."""
    real = IDS[0] != 0
    order, types = ORDER[0], TYPES[0]
    itself = np.eye(len(order), dtype=bool)
    before = order[None] < order[:, None]
    hidden = [real & (before | (order == 0) | itself), real & before]
    content = f64(model.embeddings.tokens.matrix)[IDS[0]]
    query = np.broadcast_to(f64(model.query_start.vector), content.shape)
    differs = types[:, None] != types[None]
    for block in model.encoder_stack.blocks:
        content, query = (
            in_block(block, states, content, mask, differs)
            for states, mask in zip((content, query), hidden, strict=True)
        )
    return content, query


def in_block(block: Any, states: Any, keys: Any, mask: Any, differs: Any) -> np.ndarray:
    """h_z = LayerNorm(z + FFN(z)), z = LayerNorm(states + attention of states to keys)."""
    attention, length = block.attention, len(states)
    heads, width = attention.config.num_heads, attention.config.key_dim
    q, k, v = (
        (x @ f64(layer.kernel)).reshape(length, heads, width)
        for layer, x in zip(attention.linear_layers, (states, keys, keys), strict=False)
    )
    rates = 10_000.0 ** (-np.arange(0, 12, 2) / 12)
    angles = (np.arange(length)[:, None] - np.arange(length)[None])[..., None] * rates
    sinusoids = np.stack([np.sin(angles), np.cos(angles)], -1).reshape(length, length, 12)
    r = (sinusoids @ f64(attention.distances.linear.kernel)).reshape(length, length, heads, width)
    u, w = f64(attention.distances.content_bias), f64(attention.distances.position_bias)
    same, other = f64(attention.segments.vectors)
    s = np.where(differs[..., None, None], other, same)
    scores = (
        np.einsum("ihd,jhd->hij", q + u, k)
        + np.einsum("ihd,ijhd->hij", q + w, r)
        + np.einsum("ihd,ijhd->hij", q + f64(attention.segments.segment_bias), s)
    ) / np.sqrt(width)
    weights = np.where(mask, np.exp(scores - scores.max()), 0)
    weights /= np.maximum(weights.sum(-1, keepdims=True), 1e-300)
    attended = np.einsum("hij,jhd->ihd", weights, v).reshape(length, -1)
    z = normal(states + attended @ f64(attention.output_linear.kernel), block.attention_residual)
    hidden, output = block.feed_forward.hidden, block.feed_forward.output_linear
    inner = gelu(z @ f64(hidden.kernel) + f64(hidden.bias))
    more = inner @ f64(output.kernel) + f64(output.bias)
    return normal(z + more, block.feed_forward_residual)


def f64(weight: Any) -> np.ndarray:
    return np.asarray(weight, np.float64)


def gelu(x: np.ndarray) -> np.ndarray:
    return x * (1 + erf(x / np.sqrt(2))) / 2


def normal(x: np.ndarray, residual: Any) -> np.ndarray:
    norm = residual.layer_norm
    centred = x - x.mean(-1, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
    return scaled * f64(norm.gamma) + f64(norm.beta)


def inputs(ids: np.ndarray = IDS) -> dict[str, np.ndarray]:
    return {"token_ids": ids, "token_type_ids": TYPES}


def test_the_query_stream_equals_its_equations_in_float64(model: Any) -> None:
    places = np.array([[1, 3, 5]], "int32")
    found = model.training_states()({**inputs(), "order": ORDER, "places": places})
    np.testing.assert_allclose(found[0, :, :-1], streams(model)[1][places[0]], atol=2e-5)


def test_the_content_stream_equals_its_equations_in_float64(model: Any, monkeypatch) -> None:
    monkeypatch.setitem(globals(), "ORDER", np.zeros_like(ORDER))
    found = model.encoder(inputs())[0]
    np.testing.assert_allclose(found[:7], streams(model)[0][:7], atol=2e-5)


@pytest.mark.parametrize("place", range(7))
def test_a_query_reads_what_comes_before_it_in_the_order_and_not_itself(model, place: int) -> None:
    changed = IDS.copy()
    changed[0, place] = 17
    before, after = (
        model.training_states()({**inputs(ids), "order": ORDER, "places": np.array([[1, 3, 5]])})
        for ids in (IDS, changed)
    )
    differs = np.abs(np.asarray(before) - after)[0].max(-1) > 1e-6
    np.testing.assert_array_equal(differs, ORDER[0, place] < ORDER[0, [1, 3, 5]])


def test_a_mask_is_read_by_none_and_predicted_from_all_others(model: Any) -> None:
    places, masked = np.array([[1, 3]], "int32"), IDS.copy()
    masked[0, places[0]] = 4
    found = model.prediction_states({**inputs(masked), "places": places})
    order = np.isin(np.arange(8), places[0])[None].astype("int32")
    given = {**inputs(), "order": order, "places": places}
    np.testing.assert_allclose(found, model.training_states()(given), atol=1e-5)
    logits = np.asarray(model(inputs(masked)))[0, places[0]]
    expected = np.asarray(found[0]) @ np.asarray(model.output_matrix).T
    np.testing.assert_allclose(logits, expected, atol=1e-4)


def test_masks_written_out() -> None:
    order, keep = np.array([[0, 2, 1, 0]], "int32"), np.array([[True, True, True, False]])
    content = [[1, 0, 0, 0], [1, 1, 1, 0], [1, 0, 1, 0], [1, 0, 0, 0]]
    query = [[0, 0, 0, 0], [1, 0, 1, 0], [1, 0, 0, 0], [0, 0, 0, 0]]
    np.testing.assert_array_equal(content_mask(order, keep)[0, 0], content)
    for places in ([0, 1, 2, 3], [2, 1]):
        found = query_mask(order, keep, np.array([places], "int32"))
        np.testing.assert_array_equal(found[0, 0], np.array(query)[places])


def test_the_query_stream_begins_alike_everywhere_and_its_layer_is_saved_with_its_dropout() -> None:
    layer = QueryStart.from_config(QueryStart(0.25).get_config())
    assert layer.dropout == 0.25
    places = np.zeros((2, 4), "int32")
    start = np.asarray(layer(np.zeros((2, 3, 5), "float32"), places))
    np.testing.assert_array_equal(start, np.broadcast_to(layer.vector, (2, 4, 5)))
