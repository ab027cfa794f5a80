"""The decoder alone: against a float64 NumPy forward pass, its cache, its head."""

from typing import Any

import numpy as np
import pytest

from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.models.decoder_only import DecoderOnly, build_decoder

IDS = np.array([[2, 7, 9, 5, 3], [2, 6, 12, 0, 0]], np.int32)
LENGTHS = (5, 3)
VARIANTS: list[dict[str, Any]] = [
    {},
    {
        "norm": "post",
        "tied_head": False,
        "positions": "sinusoidal",
        "max_positions": None,
        "scale_embeddings": True,
    },
    {"key_dim": 5, "value_dim": 2, "activation": "relu", "scale_attention": False},
    {
        "norm_kind": "rms_norm",
        "gated_feed_forward": True,
        "activation": "silu",
        "use_bias": False,
        "num_heads": 6,
        "num_key_value_heads": 2,
        "key_dim": 4,
        "value_dim": 3,
        "rotary_base": 100.0,
        "positions": "none",
        "max_positions": None,
    },
    {
        "relative_buckets": 4,
        "relative_max_distance": 5,
        "positions": "none",
        "max_positions": None,
        "logit_bias": True,
        "relative_per_block": True,
    },
    {
        "attention_soft_cap": 0.5,
        "final_logit_soft_cap": 2.0,
        "logit_bias": True,
        "window": 3,
        "norm": "both",
    },
    {"logit_bias": True, "tied_head": False, "position_offset": 2, "embedding_norm": True},
    {
        "memory_length": 2,
        "relative_sinusoids": True,
        "positions": "none",
        "max_positions": None,
        "norm": "post",
    },
]
every_variant = pytest.mark.parametrize("fields", VARIANTS, ids=str)


@pytest.fixture(scope="module")
def make(randomize) -> Any:
    """`make(**fields)`: a small decoder with random weights."""

    def build(**fields: Any) -> DecoderOnly:
        sizes = {"vocab_size": 24, "model_dim": 12, "feed_forward_dim": 20, "num_heads": 3}
        settings = {"num_layers": 2, "max_positions": 30}
        return randomize(build_decoder(DecoderConfig(**{**sizes, **settings, **fields})))

    return build


def logits_in_float64(paper: Any, model: DecoderOnly, ids: np.ndarray) -> np.ndarray:
    """Radford et al. 2019, with the config's options, for one text without padding."""
    states = paper.embed(model.embeddings, ids)
    causal = np.tril(np.ones((len(ids), len(ids)), bool))

    def run(layer: Any, attends: bool, states: np.ndarray, bias: Any) -> np.ndarray:
        if attends:
            return paper.multi_head(layer, states, states, causal, bias)[0]
        return paper.feed_forward(layer, states)

    for number, block in enumerate(model.decoder_stack.blocks):
        bias = paper.relative_bias(model.decoder_stack, len(ids), number)
        for part in block.sub_layers:
            attends = part.attends_to == "own"
            states = paper.residual(
                part.residual,
                states,
                lambda x, part=part, attends=attends, bias=bias: run(part.layer, attends, x, bias),
            )
    return paper.logits(model.head, paper.last(model.decoder_stack, states))


@every_variant
def test_equals_the_paper_in_float64(fields: dict, paper, make) -> None:
    model = make(**fields)
    logits = model({"token_ids": IDS})
    for row, length in enumerate(LENGTHS):
        expected = logits_in_float64(paper, model, IDS[row, :length])
        np.testing.assert_allclose(logits[row, :length], expected, atol=3e-4, rtol=1e-4)


@every_variant
def test_cached_steps_equal_the_full_pass(fields: dict, make) -> None:
    model = make(**fields)
    ids = np.random.default_rng(0).integers(4, 24, (3, 5)).astype(np.int32)
    whole, caches = np.asarray(model({"token_ids": ids})), model.empty_caches(3, 8)
    for step in range(5):
        logits, caches = model.decode_step(ids[:, step], step, caches)
        assert logits.dtype == "float32"
        np.testing.assert_allclose(logits, whole[:, step], atol=5e-5)
    assert [(keys.shape, values.shape) for keys, values in caches] == [
        (
            (3, model.config.key_value_heads, 8, model.config.key_dim),
            (3, model.config.key_value_heads, 8, model.config.value_dim),
        )
    ] * 2


@every_variant
def test_states_times_the_matrix_are_the_logits(fields: dict, paper, make) -> None:
    model = make(**fields)
    states = model.prediction_states({"token_ids": IDS})
    assert states.shape[-1] == 12 + model.config.logit_bias
    products = np.asarray(states) @ np.asarray(model.output_matrix).T
    logits = paper.soft_capped(products, model.config.final_logit_soft_cap)
    np.testing.assert_allclose(logits, model({"token_ids": IDS}), atol=5e-5)


def test_caps_that_nothing_comes_near_change_nothing(make) -> None:
    caps = {"attention_soft_cap": 1e9, "final_logit_soft_cap": 1e9}
    capped, plain = (np.asarray(make(**each)({"token_ids": IDS})) for each in (caps, {}))
    np.testing.assert_allclose(capped, plain, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("cap", [0, -30.0, float("nan"), float("inf")])
def test_a_cap_of_logits_is_positive_and_finite(cap: float, make) -> None:
    with pytest.raises(ValueError, match="final_logit_soft_cap must be positive"):
        make(final_logit_soft_cap=cap)


def test_a_tied_head_is_the_embeddings_matrix(make) -> None:
    tied, untied = make(), make(tied_head=False)
    assert tied.head.tokens is tied.embeddings.tokens
    assert untied.count_params() == tied.count_params() + 24 * 12


def test_a_text_longer_than_the_positions_is_refused(make) -> None:
    with pytest.raises(ValueError, match=r"5 tokens is longer than max_positions \(4\)"):
        make(max_positions=4)({"token_ids": IDS})
