"""The graph of tags that are found together, against the layer that it is made of."""

import numpy as np
import onnxruntime
import pytest

from keras_transformer.export.onnx.heads.chain import chain_graph
from keras_transformer.layers import LinearChainCRF


@pytest.fixture(scope="module")
def chain(randomize) -> LinearChainCRF:
    layer = LinearChainCRF(4, forbidden=[(0, 1), (4, 2), (1, 4), (3, 3)])
    layer.build((None, None, 4))
    return randomize(layer, scale=2.0)


@pytest.mark.parametrize("opset", [18, 23])
@pytest.mark.parametrize("words", [1, 2, 9])
def test_tags_and_probabilities_are_those_of_the_layer(chain, opset: int, words: int) -> None:
    random = np.random.default_rng(words)
    logits = 3 * random.standard_normal((5, words, 4), np.float32)
    num_words = np.array([words, *random.integers(1, words + 1, 4)], np.int32)
    session = onnxruntime.InferenceSession(chain_graph(chain, opset).SerializeToString())
    tags, shares = session.run(None, {"logits": logits, "num_words": num_words})
    is_word = np.arange(words) < num_words[:, None]
    np.testing.assert_array_equal(tags[is_word], np.asarray(chain(logits, is_word))[is_word])
    expected = np.asarray(chain.marginals(logits, is_word))[is_word]
    np.testing.assert_allclose(shares[is_word], expected, atol=1e-5)
    assert all((4, row[0]) not in chain.forbidden for row in tags)
