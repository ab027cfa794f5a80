"""Options that imported models have, on models which learned their texts: every target in every
precision gives Keras's ids, and nearly its log-probabilities.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_transformer.config import SpecialIds
from keras_transformer.decoding.translator import Translator
from keras_transformer.export import Manifest, OnnxTranslator, export_onnx
from keras_transformer.text.tokenizer import Tokenizer

VARIANTS: dict[str, dict[str, Any]] = {
    "biases of logits": {"logit_bias": True},
    "sinusoids of Tensor2Tensor": {"sinusoid_layout": "tensor2tensor"},
    "SSRU": {"decoder_recurrence": "ssru"},
    "as T5": {"special_ids": SpecialIds(decoder_start=SpecialIds.pad)},
}
EMITTED = ("onnxruntime", "native")
PRECISIONS = (None, "int8", "int8_batch_dependent")
# By default one that no imported model of tests/pretrained has in bytes; the others take long to
# learn and, without any operator of ours, to export.
QUICK = {("SSRU", "native", "int8_batch_dependent")}
CASES = [
    pytest.param(*case, marks=() if case in QUICK else pytest.mark.exhaustive)
    for case in (
        *((name, target, one) for name in VARIANTS for target in EMITTED for one in PRECISIONS),
        *(
            (name, *form)
            for name in ("biases of logits", "SSRU", "as T5")
            for form in (("portable", "float16"), ("native", "bfloat16"))
        ),
    )
    # One scale for the inputs of a whole batch blurs what its positions tell apart.
    if case[::2] != ("sinusoids of Tensor2Tensor", "int8_batch_dependent")
]
# Enough for one translation to be far better than the others. Where it is not, int8 may find
# another, and ids differ though the graph is right: `test_families.py` compares numbers.
STEPS = 200
# The largest error of a text's log-probability, in nats.
ERRORS = {None: 1e-3, "float16": 0.1, "bfloat16": 0.1, "int8": 0.5, "int8_batch_dependent": 1.0}
SEARCHES: list[dict[str, Any]] = [{"max_length": 40}, {"beam_size": 4, "max_length": 40}]


@pytest.fixture(scope="module")
def keras_found(
    learned: Callable[..., Any], as_t5: dict[str, Any], tokenizer: Tokenizer, texts: list[str]
) -> Callable[[str], tuple[Any, list[Any]]]:
    """`keras_found(name)`: a variant's model, and what Keras makes of the texts."""
    made: dict[str, tuple[Any, list[Any]]] = {}

    def get(name: str) -> tuple[Any, list[Any]]:
        if name not in made:
            model = learned(STEPS, **(as_t5 if name == "as T5" else {}), **VARIANTS[name])
            translator, sources = Translator(model, tokenizer), tokenizer.encode(texts)
            made[name] = model, [translator.translate_ids(sources, **one) for one in SEARCHES]
        return made[name]

    return get


@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "target", "quantize"), CASES)
def test_every_form_finds_the_same_as_keras(
    name: str,
    target: str,
    quantize: str | None,
    keras_found: Callable[[str], tuple[Any, list[Any]]],
    tokenizer: Tokenizer,
    texts: list[str],
    tmp_path: Path,
) -> None:
    model, wanted = keras_found(name)
    path = export_onnx(model, tokenizer, tmp_path / "a", target=target, quantize=quantize)
    assert Manifest.read(path).target == target
    with OnnxTranslator(path, threads=1) as translator:
        for search, theirs in zip(SEARCHES, wanted, strict=True):
            ours = translator.translate_ids(tokenizer.encode(texts), **search)
            assert [few[0].ids for few in ours] == [few[0].ids for few in theirs]
            totals = [[few[0].log_probability for few in found] for found in (ours, theirs)]
            np.testing.assert_allclose(*totals, rtol=0, atol=ERRORS[quantize])


@pytest.mark.exhaustive
def test_the_biases_of_logits_were_learned(keras_found: Any) -> None:
    model, _ = keras_found("biases of logits")
    assert np.abs(np.asarray(model.head.bias)).max() > 0.1
