"""The encoder's states, as retrieval and probing want them, from each engine."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from keras_transformer.runtime.translator import OnnxTranslator
from keras_transformer.translation.translator import TextTranslator


@pytest.fixture(
    scope="module",
    params=["exported", pytest.param("exported_portable", marks=pytest.mark.exhaustive), "keras"],
)
def opened(request: pytest.FixtureRequest, exported: Any) -> TextTranslator:
    """A translator of `exported`'s model that makes several batches of the texts."""
    from keras_transformer.decoding.translator import Translator

    if request.param == "keras":
        return Translator(exported.model, exported.source_tokenizer, batch_tokens=20)
    return OnnxTranslator(request.getfixturevalue(request.param).path, batch_tokens=20)


def test_states_are_kerass_whatever_else_is_in_the_batch(
    opened: TextTranslator, exported: Any, texts: list[str]
) -> None:
    texts = [*texts, "", "hello you"]
    states, mask = opened.encoder_states(texts)
    rows = [[*ids, 3] for ids in exported.source_tokenizer.encode(texts)]
    assert (states.dtype, mask.dtype) == (np.float32, bool)
    assert mask.sum(axis=1).tolist() == [len(row) for row in rows]
    assert states.shape == (*mask.shape, 32) and not states[~mask].any()
    for row, state in zip(rows, states, strict=True):
        ids = np.array([row], np.int32)
        expected = np.asarray(exported.model.encoder({"source_ids": ids}))[0]
        np.testing.assert_allclose(state[: len(row)], expected, atol=1e-4)


def test_no_texts_have_no_states(open_translator: Callable[..., TextTranslator]) -> None:
    translator = open_translator(max_source_length=8)
    states, mask = translator.encoder_states([])
    assert (states.shape, mask.shape) == ((0, 0, 32), (0, 0))
    with pytest.raises(TypeError, match="texts must be a list of strings"):
        translator.encoder_states("hello")
    with pytest.raises(ValueError, match="index 1 has"):
        translator.encoder_states(["hello", "hello " * 9])
