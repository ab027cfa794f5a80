"""Denoising: hidden spans become one mask each, and the target is the whole text."""

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_transformer.config import SpecialIds
from keras_transformer.data.objectives.denoising import Denoising
from keras_transformer.data.objectives.objective import Rows

IDS = SpecialIds(mask=4)


def rows_of(texts: list[list[int]]) -> Rows:
    full = [[IDS.bos, *text, IDS.eos] for text in texts]
    ids = tf.ragged.constant(full, dtype=tf.int32).to_tensor(default_value=IDS.pad)
    return Rows(ids, tf.zeros_like(ids), tf.zeros(len(texts), tf.int32))


@settings(max_examples=25, deadline=None)
@given(
    texts=st.lists(st.lists(st.integers(5, 60), min_size=1, max_size=20), min_size=1, max_size=5),
    seed=st.integers(0, 2**31),
)
def test_the_source_is_the_text_with_a_mask_for_each_hidden_span(
    texts: list[list[int]], seed: int
) -> None:
    inputs, labels, weights = Denoising(IDS)(rows_of(texts), tf.constant([seed, 1], tf.int64))
    for row, text in enumerate(texts):
        real = weights.numpy()[row] == 1
        assert labels.numpy()[row][real].tolist() == [*text, IDS.eos]
        assert inputs["target_ids"].numpy()[row][real].tolist() == [IDS.bos, *text]
        source = [token for token in inputs["source_ids"].numpy()[row].tolist() if token != IDS.pad]
        assert source[-1] == IDS.eos and IDS.mask in source
        assert (IDS.mask, IDS.mask) not in zip(source, source[1:], strict=False)
        # What is left of the text stands in its order.
        rest = iter([*text, IDS.eos])
        assert all(any(token == other for other in rest) for token in source if token != IDS.mask)


def test_a_third_of_the_text_is_hidden() -> None:
    texts = np.arange(5, 105)[None].repeat(50, axis=0).tolist()
    inputs, _, _ = Denoising(IDS)(rows_of(texts), tf.constant([0, 1], tf.int64))
    left = inputs["source_ids"].numpy()
    assert np.isin(left, range(5, 105)).sum() / 5000 == pytest.approx(0.7, abs=0.01)


def test_a_vocabulary_without_mask_is_refused() -> None:
    with pytest.raises(ValueError, match="the vocabulary has no <mask>, which denoising needs"):
        Denoising(SpecialIds())
    with pytest.raises(ValueError, match="share must lie between 0 and 1, got 0"):
        Denoising(IDS, 0)
