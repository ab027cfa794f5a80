"""The encoder alone: against a float64 NumPy forward pass, its heads, its parts."""

from typing import Any

import keras
import numpy as np
import pytest

from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.layers.heads.text_vector import unit_vectors
from keras_transformer.models.encoder_only import EncoderOnly, build_encoder

IDS = np.array([[2, 7, 9, 5, 3, 11, 3], [2, 6, 3, 0, 0, 0, 0]], np.int32)
TYPES = np.array([[0, 0, 0, 0, 0, 1, 1], [0, 0, 0, 0, 0, 0, 0]], np.int32)
LENGTHS = (7, 3)
MODERN: dict[str, Any] = {
    "norm": "pre",
    "norm_kind": "rms_norm",
    "gated_feed_forward": True,
    "activation": "silu",
    "use_bias": False,
    "num_key_value_heads": 1,
    "rotary_base": 100.0,
    "positions": "none",
    "max_positions": None,
    "num_token_types": 0,
    "embedding_norm": False,
}
T5: dict[str, Any] = {
    "norm": "pre",
    "norm_kind": "rms_norm",
    "use_bias": False,
    "scale_attention": False,
    "relative_buckets": 8,
    "relative_max_distance": 6,
    "positions": "none",
    "max_positions": None,
    "num_token_types": 0,
    "embedding_norm": False,
}


@pytest.fixture(scope="module")
def make(randomize) -> Any:
    """`make(**fields)`: a small encoder with random weights."""

    def build(**fields: Any) -> EncoderOnly:
        sizes = {"vocab_size": 24, "model_dim": 12, "feed_forward_dim": 20, "num_heads": 3}
        settings = {"num_layers": 2, "max_positions": 30, "layer_norm_epsilon": 1e-5}
        return randomize(build_encoder(EncoderConfig(**{**sizes, **settings, **fields})))

    return build


def feed(model: EncoderOnly) -> dict[str, np.ndarray]:
    return {name: {"token_ids": IDS, "token_type_ids": TYPES}[name] for name in model.input}


def layers_in_float64(paper: Any, model: EncoderOnly, row: int) -> list[np.ndarray]:
    """Devlin et al. 2018 for one text without padding: the embeddings and each block's states."""
    config, length = model.config, LENGTHS[row]
    types = TYPES[row, :length] if config.num_token_types else None
    states = paper.embed(model.embeddings, IDS[row, :length], types)
    found = [states]
    for number, block in enumerate(model.encoder_stack.blocks):
        bias = paper.relative_bias(model.encoder_stack, length, number)
        for sub_layer in block.sub_layers:
            states = residual(paper, sub_layer, states, bias)
        found.append(states)
    found[-1] = paper.last(model.encoder_stack, states)
    return found


def residual(paper: Any, sub_layer: Any, states: np.ndarray, bias: np.ndarray | None) -> np.ndarray:
    """One residual sub-layer over a text's states."""

    def run(states: np.ndarray) -> np.ndarray:
        if sub_layer.attends_to is None:
            return paper.feed_forward(sub_layer.layer, states)
        return paper.multi_head(sub_layer.layer, states, states, bias=bias)[0]

    return paper.residual(sub_layer.residual, states, run)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"norm": "pre", "activation": "gelu_tanh"},
        {"positions": "sinusoidal", "max_positions": None, "scale_embeddings": True},
        MODERN,
        T5,
        {
            "positions": "sinusoidal",
            "max_positions": None,
            "sinusoid_layout": "halves",
            "position_offset": 2,
        },
        {"positions": "sinusoidal", "max_positions": None, "sinusoid_layout": "tensor2tensor"},
        {"position_offset": 2},
    ],
    ids=str,
)
def test_the_states_of_every_layer_equal_the_paper_in_float64(fields: dict, paper, make) -> None:
    model = make(**fields)
    layers = model.hidden_states(feed(model))
    np.testing.assert_array_equal(layers[-1], model.encoder(feed(model)))
    for row, length in enumerate(LENGTHS):
        expected = layers_in_float64(paper, model, row)
        for found, states in zip(layers, expected, strict=True):
            np.testing.assert_allclose(found[row, :length], states, atol=2e-4, rtol=1e-4)


def test_the_plain_model_returns_states_and_pooled(paper, make) -> None:
    model = make()
    outputs = model(feed(model))
    assert set(outputs) == {"states", "pooled"}
    np.testing.assert_array_equal(outputs["states"], model.encoder(feed(model)))
    first = np.asarray(outputs["states"], np.float64)[:, 0]
    np.testing.assert_allclose(
        outputs["pooled"], np.tanh(paper.linear(model.pooler.linear, first)), atol=1e-5
    )


def test_without_a_pooler_it_returns_states_alone(make) -> None:
    model = make(pooler=False)
    assert model.pooler is None
    np.testing.assert_array_equal(model(feed(model)), model.encoder(feed(model)))


def test_masked_lm_logits_are_those_of_the_transformed_states(paper, make) -> None:
    model = make(head="masked_lm")
    states = np.asarray(model.encoder(feed(model)), np.float64)
    head = model.head
    features = paper.activate(head.activation, paper.linear(head.transform, states))
    features = paper.layer_norm(head.layer_norm, features)
    matrix = np.asarray(model.embeddings.tokens.matrix, np.float64)
    expected = features @ matrix.T + np.asarray(head.bias, np.float64)
    np.testing.assert_allclose(model(feed(model)), expected, atol=2e-4)


@pytest.mark.parametrize("pooler", [True, False])
@pytest.mark.parametrize(
    ("head", "size"), [("classification", 3), ("regression", 1), ("tagging", 3), ("spans", 2)]
)
def test_heads_are_linear_layers_of_their_states(
    head: str, size: int, pooler: bool, paper, make
) -> None:
    labels = ("a", "b", "c") if head in ("classification", "tagging") else ()
    model = make(head=head, labels=labels, pooler=pooler)
    features = np.asarray(model.encoder(feed(model)), np.float64)
    reads_text = head in ("classification", "regression")
    assert (model.pooler is not None) == (pooler and reads_text) == model.config.has_pooler
    if reads_text:
        features = features[:, 0]
        if pooler:
            features = np.tanh(paper.linear(model.pooler.linear, features))
    outputs = np.asarray(model(feed(model)))
    assert outputs.shape[-1] == size
    np.testing.assert_allclose(outputs, paper.linear(model.head.linear, features), atol=2e-5)


def test_embeddings_are_the_mean_or_the_first_of_the_real_states(make) -> None:
    mean, first = make(head="embedding"), make(head="embedding", pooling="first")
    states = np.asarray(mean.encoder(feed(mean)))
    expected = [states[row, :length].mean(0) for row, length in enumerate(LENGTHS)]
    np.testing.assert_allclose(mean(feed(mean)), expected, atol=1e-5)
    np.testing.assert_allclose(first(feed(first)), first.encoder(feed(first))[:, 0], atol=1e-6)


@pytest.mark.parametrize("pooling", ["mean", "first"])
def test_embeddings_may_have_unit_length(pooling: str, make) -> None:
    plain, unit = (
        make(head="embedding", pooling=pooling, unit_vectors=one) for one in (False, True)
    )
    vectors = np.asarray(plain(feed(plain)), np.float64)
    expected = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    np.testing.assert_allclose(unit(feed(unit)), expected, atol=1e-6)


def test_squares_that_half_precision_cannot_hold_are_summed() -> None:
    found = np.asarray(unit_vectors(np.full((1, 768), 200, np.float16)))
    assert found.dtype == np.float16
    np.testing.assert_allclose(found, 768**-0.5, rtol=1e-3)


def test_a_vector_of_zeros_stays_one() -> None:
    np.testing.assert_array_equal(unit_vectors(np.zeros((2, 3), np.float32)), np.zeros((2, 3)))


@pytest.mark.parametrize("head", ["classification", "tagging"])
def test_states_times_the_matrix_are_the_logits(head: str, make) -> None:
    model = make(head=head, labels=("a", "b", "c"))
    states = model.prediction_states(feed(model))
    logits = np.asarray(states) @ np.asarray(model.output_matrix).T
    if head == "classification":
        assert states.shape == (2, 1, 13)
        logits = logits[:, 0]
    np.testing.assert_allclose(logits, model(feed(model)), atol=2e-5)


def test_masked_states_are_those_of_the_given_places(make) -> None:
    model = make(head="masked_lm")
    places = np.array([[4, 1], [2, 2]], np.int32)
    states = model.prediction_states({**feed(model), "places": places})
    logits = np.asarray(states) @ np.asarray(model.output_matrix).T
    expected = np.take_along_axis(np.asarray(model(feed(model))), places[:, :, None], axis=1)
    np.testing.assert_allclose(logits, expected, atol=2e-5)


def test_pretraining_returns_what_a_masked_lm_and_a_classifier_of_its_weights_do(
    paper, make
) -> None:
    model = make(head="pretraining")
    outputs, alone = model(feed(model)), model.single_heads()
    np.testing.assert_allclose(alone["head"](feed(model)), outputs["logits"], atol=1e-5)
    np.testing.assert_allclose(
        alone["next_sentence"](feed(model)), outputs["next_sentence"], atol=1e-5
    )
    first = np.asarray(model.encoder(feed(model)), np.float64)[:, 0]
    pooled = np.tanh(paper.linear(model.pooler.linear, first))
    expected = paper.linear(model.next_sentence.linear, pooled)
    np.testing.assert_allclose(outputs["next_sentence"], expected, atol=2e-5)
    assert alone["head"].config.head == "masked_lm"
    assert alone["next_sentence"].config.labels == ("next", "random")


def test_pretraining_has_the_state_of_the_pair_before_those_of_the_places(make) -> None:
    model = make(head="pretraining")
    places = np.array([[4, 1], [2, 2]], np.int32)
    states = np.asarray(model.prediction_states({**feed(model), "places": places}))
    outputs = model(feed(model))
    expected = np.take_along_axis(np.asarray(outputs["logits"]), places[:, :, None], axis=1)
    tokens, pair = states[:, 1:], states[:, 0]
    np.testing.assert_allclose(tokens @ np.asarray(model.output_matrix).T, expected, atol=2e-5)
    found = pair @ np.asarray(model.next_sentence.matrix).T
    np.testing.assert_allclose(found, outputs["next_sentence"], atol=2e-5)


@pytest.mark.parametrize("head", [None, "regression", "spans", "embedding"])
@pytest.mark.parametrize("part", ["prediction_states", "output_matrix"])
def test_heads_without_choices_have_no_prediction_states(head: str | None, part: str, make) -> None:
    with pytest.raises(ValueError, match=f"head={head!r} gives no logits to choose"):
        getattr(make(head=head), part)


def test_token_types_tell_segments_apart(make) -> None:
    model = make()
    one, other = (model({"token_ids": IDS, "token_type_ids": t}) for t in (TYPES, 1 - TYPES))
    assert not np.allclose(one["states"], other["states"], atol=1e-2)


def test_a_text_longer_than_the_positions_is_refused(make) -> None:
    model = make(max_positions=6)
    with pytest.raises(ValueError, match=r"7 tokens is longer than max_positions \(6\)"):
        model(feed(model))


def test_several_labels_learn_each_by_itself() -> None:
    labels = {"head": "classification", "labels": ("a", "b", "c"), "multi_label": True}
    sizes: dict[str, Any] = {"model_dim": 8, "num_heads": 2, "num_layers": 1, "max_positions": 9}
    model = build_encoder(EncoderConfig(vocab_size=30, feed_forward_dim=16, **sizes, **labels))
    ids = np.arange(4, 28, dtype=np.int32).reshape(6, 4)
    inputs = {"token_ids": ids, "token_type_ids": np.zeros_like(ids)}
    wanted = np.array(
        [[0, 0, 0], [1, 1, 1], [1, 0, 1], [0, 1, 0], [1, 1, 0], [0, 0, 1]], np.float32
    )
    model.compile(keras.optimizers.Adam(0.02), jit_compile=False)
    logits = np.asarray(model(inputs), np.float64)
    expected = np.mean(np.log1p(np.exp(logits)) - wanted * logits)
    loss, accuracy = model.evaluate(inputs, wanted, verbose=0)
    assert loss == pytest.approx(expected, abs=1e-5)
    assert accuracy == pytest.approx(np.mean((logits > 0) == wanted), abs=1e-6)
    often = {name: np.tile(rows, (60, 1)) for name, rows in inputs.items()}
    model.fit(often, np.tile(wanted, (60, 1)), batch_size=6, shuffle=False, verbose=0)
    assert ((np.asarray(model(inputs)) > 0) == wanted).all()
