"""The encoder's states, as retrieval and probing want them."""

import numpy as np
import pytest

from keras_transformer.runtime.translator import OnnxTranslator


@pytest.fixture(scope="module", params=["exported", "exported_portable"])
def encoded(request):
    return request.getfixturevalue(request.param)


def test_states_are_kerass_whatever_else_is_in_the_batch(encoded, texts) -> None:
    texts = [*texts, "", "hello you"]
    with OnnxTranslator(encoded.path, batch_tokens=20) as translator:
        states, mask = translator.encode(texts)
    rows = [[*ids, 3] for ids in encoded.source_tokenizer.encode(texts)]
    assert (states.dtype, mask.dtype) == (np.float32, bool)
    assert mask.sum(axis=1).tolist() == [len(row) for row in rows]
    assert states.shape == (*mask.shape, 32) and not states[~mask].any()
    for row, state in zip(rows, states, strict=True):
        expected = np.asarray(encoded.model.encoder({"source_ids": np.array([row], np.int32)}))[0]
        np.testing.assert_allclose(state[: len(row)], expected, atol=1e-4)


def test_no_texts_have_no_states(exported) -> None:
    with OnnxTranslator(exported.path) as translator:
        states, mask = translator.encode([])
        with pytest.raises(TypeError, match="texts must be a list of strings"):
            translator.encode("hello")
    assert (states.shape, mask.shape) == ((0, 0, 32), (0, 0))
