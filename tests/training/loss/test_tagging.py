"""The figures of taggers in training: F1 of spans, and the sums of a chain's loss."""

import types

import numpy as np
import pytest

from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.layers import ChainHead
from keras_transformer.training.loss.tagging import SpanF1, Tagging
from keras_transformer.understanding.tag_schemes import TagScheme
from keras_transformer.understanding.tag_scores import tag_scores

LABELS = ("B-X", "B-Y", "E-X", "I-X", "I-Y", "O", "S-Y")


@pytest.mark.parametrize("seed", range(5))
def test_the_f1_of_spans_is_that_of_all_batches_words(seed: int) -> None:
    random = np.random.default_rng(seed)
    scheme = TagScheme.of(LABELS)
    assert scheme is not None
    metric, both = SpanF1(scheme), ([], [])
    for _ in range(3):
        right = random.integers(0, len(LABELS), (4, 9))
        found = np.where(random.random(right.shape) < 0.7, right, random.integers(0, 7, (4, 9)))
        weights = (random.random(right.shape) < 0.6).astype("float32")
        metric.update_state(right.astype("int32"), found.astype("int32"), weights)
        for texts, tags in zip(both, (found, right), strict=True):
            rows = zip(tags, weights > 0, strict=True)
            texts += [[LABELS[tag] for tag in row[mask]] for row, mask in rows]
    expected = tag_scores(*both, LABELS).spans
    assert expected is not None and expected.f1 > 0.1
    assert float(metric.result()) == pytest.approx(expected.f1)


def test_the_f1_of_nothing_is_0() -> None:
    scheme = TagScheme.of(LABELS)
    assert scheme is not None
    assert float(SpanF1(scheme).result()) == 0


def test_a_chain_s_loss_is_the_negative_likelihood_of_each_text(randomize) -> None:
    random = np.random.default_rng(0)
    head = ChainHead(3)
    head.build((None, None, 4))
    randomize(head)
    config = EncoderConfig(vocab_size=9, head="tagging", labels=("B-X", "I-X", "O"), crf=True)
    states, labels = random.standard_normal((2, 5, 5), np.float32), random.integers(0, 3, (2, 5))
    weights = np.array([[0, 1, 0, 1, 1], [1, 0, 0, 0, 0]], np.float32)
    tagging = Tagging(types.SimpleNamespace(head=head, config=config))
    found = tagging.sums(states, head.matrix, labels.astype("int32"), weights)
    assert found is not None
    emissions, mask = states @ np.asarray(head.matrix).T, weights > 0
    likelihood = float(np.sum(head.chain.log_likelihood(emissions, labels, mask)))
    hits = (np.asarray(head.chain(emissions, mask)) == labels)[mask].sum()
    np.testing.assert_allclose(found[0], [-likelihood, -likelihood, hits], rtol=1e-5)
    assert float(found[1]) == 4


def test_tags_without_a_scheme_have_no_f1() -> None:
    config = EncoderConfig(vocab_size=9, head="tagging", labels=("D", "N"))
    assert Tagging(types.SimpleNamespace(head=None, config=config)).span_f1 is None
