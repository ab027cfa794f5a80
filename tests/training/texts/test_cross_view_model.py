"""Cross-view training: views see only their part, their loss is the paper's in float64, and labels
alone train the model that sees all.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax, softmax

from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.layers.masks import padding_mask
from keras_transformer.models.encoder_only import build_encoder
from keras_transformer.training.texts.cross_view_model import VIEWS, CrossViewModel

PAD = 0


@pytest.fixture(
    scope="module",
    params=["classification", pytest.param("tagging", marks=pytest.mark.exhaustive)],
)
def model(request) -> CrossViewModel:
    """A small encoder without dropout."""
    sizes = {"vocab_size": 20, "model_dim": 8, "num_heads": 2, "feed_forward_dim": 8}
    config = EncoderConfig(
        **sizes,
        num_layers=2,
        dropout=0.0,
        attention_dropout=0.0,
        num_token_types=1,
        head=request.param,
        labels=("a", "b", "c"),
    )
    return CrossViewModel(build_encoder(config))


def states(model: CrossViewModel, ids: np.ndarray) -> list[np.ndarray]:
    """Returns what each view's head reads."""
    keep = padding_mask(ids, PAD)
    return [np.array(one) for one in model.states_of_views({"token_ids": ids}, keep)]


@settings(max_examples=4, deadline=None)
@given(st.data())
def test_a_view_is_blind_to_the_rest_of_the_text(model: CrossViewModel, data) -> None:
    row = np.array([data.draw(st.lists(st.integers(5, 19), min_size=6, max_size=6))], np.int32)
    place = data.draw(st.integers(0, 5))
    other = row.copy()
    other[0, place] = 5 + (row[0, place] - 4) % 15
    reads = {"forward": range(6)[: place], "backward": range(6)[place + 1 :],
             "past": range(6)[: place + 1], "future": range(6)[place:]}  # fmt: skip
    for name, before, after in zip(VIEWS, states(model, row), states(model, other), strict=True):
        for blind in reads[name]:
            np.testing.assert_array_equal(before[0, blind], after[0, blind], err_msg=name)
        assert place in reads[name] or not np.array_equal(before, after)


def test_padding_changes_no_view(model: CrossViewModel) -> None:
    row = np.array([[2, 7, 9, 3]], np.int32)
    padded = np.pad(row, ((0, 0), (0, 3)))
    for alone, among in zip(states(model, row), states(model, padded), strict=True):
        np.testing.assert_allclose(among[:, :4], alone, atol=1e-5)


def test_the_loss_of_views_is_that_of_the_paper(model: CrossViewModel) -> None:
    ids = np.array([[2, 7, 9, 3, 0], [2, 5, 6, 8, 3]], np.int32)
    is_text = model.transformer.config.head == "classification"
    asked = np.array([[True], [True]] if is_text else [[0, 1, 0, 0, 1], [0, 1, 0, 1, 0]], bool)
    logits = np.array(model.transformer({"token_ids": ids}), np.float64)
    total = weight = 0.0
    for row in range(2):
        places = [at for at in range(5) if ids[row, at] and (is_text or asked[row, at])]
        each = 1 / len(places) if is_text else 1.0
        for place in places:
            p = softmax(logits[row] if is_text else logits[row, place])
            weight += each
            for head, view in zip(model.views, states(model, ids), strict=True):
                q = log_softmax(view[row, place].astype(np.float64) @ _kernel(head) + _bias(head))
                total += each * (p * (np.log(p) - q)).sum()
    found = float(model.view_loss({"token_ids": ids}, asked))
    np.testing.assert_allclose(found, total / weight, rtol=1e-4)


def _kernel(head) -> np.ndarray:
    return np.array(head.linear.kernel, np.float64)


def _bias(head) -> np.ndarray:
    return np.array(head.linear.bias, np.float64)


def test_labels_alone_train_the_head_that_sees_the_whole_text(model: CrossViewModel) -> None:
    import tensorflow as tf

    ids = {"token_ids": np.array([[2, 7, 9, 3]], np.int32)}
    with tf.GradientTape() as tape:
        loss = model.view_loss(ids, np.array([[True]]))
    weights = [one.value for one in model.transformer.head.trainable_variables]
    assert all(one is None for one in tape.gradient(loss, weights))


def test_validation_has_no_loss_of_views(model: CrossViewModel) -> None:
    ids = {"token_ids": np.array([[2, 7, 9, 3]], np.int32)}
    of_text = model.transformer.config.head == "classification"
    labels = np.array([[1]] if of_text else [[0, 1, 0, 0]], np.int32)
    weights = (labels > 0).astype(np.float32)
    arguments = ids, labels, model(ids), weights
    valid, learnt = (float(model.compute_loss(*arguments, training=flag)) for flag in (False, True))
    assert valid == pytest.approx(learnt)  # No label is missing: there is nothing to learn from.
    unknown = np.where(weights > 0, -1, 0)
    missing = float(model.compute_loss(ids, unknown, model(ids), 0 * weights, training=True))
    assert missing > 0
