"""Both translators of one model, behind one fixture: what is tested here holds for each engine."""

from collections.abc import Callable
from typing import Any

import pytest

from keras_transformer.export import OnnxTranslator
from keras_transformer.translation.translator import TextTranslator

OpenTranslator = Callable[..., TextTranslator]


# Keras traces every search anew, which takes its time. By default its engine is tested in
# tests/decoding, and with the other's in test_engines_agree.
@pytest.fixture(
    scope="session",
    params=[pytest.param("keras", marks=pytest.mark.exhaustive), "onnxruntime"],
)
def open_translator(request: pytest.FixtureRequest, exported: Any) -> OpenTranslator:
    """`open_translator(**options)` opens `exported`'s model; both take these options."""
    from keras_transformer.decoding.translator import Translator

    if request.param == "keras":
        return lambda **options: Translator(exported.model, exported.source_tokenizer, **options)
    return lambda **options: OnnxTranslator(exported.path, threads=1, **options)


@pytest.fixture(scope="session")
def translator(open_translator: OpenTranslator) -> TextTranslator:
    """A translator with the defaults: the Keras one traces each search once for all tests."""
    return open_translator()
