"""Options of positions and scores: which ones emitted graphs refuse by name, and that graphs traced
from Keras hold them all.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.decoding.translator import Translator
from keras_transformer.export import OnnxTranslator, export_onnx
from keras_transformer.export.onnx.expressible import unsupported
from keras_transformer.text.tokenizer import Tokenizer

# By the name of the model's config and by that of its blocks'.
REFUSED = ("additive_attention", "additive")
EMITTED: dict[str, Any] = {
    "position_offset": 2,
    "sinusoid_layout": "tensor2tensor",
    "relative_buckets": 8,
    "relative_max_distance": 20,
    "logit_bias": True,
}


def test_an_option_that_emitted_graphs_lack_is_named(tiny_config) -> None:
    fields: dict[str, Any] = {REFUSED[0]: True}
    decoder = DecoderConfig(vocab_size=30, positions="sinusoidal", max_positions=None, **fields)
    for config in (tiny_config(**fields), decoder):
        for target, precision in (("onnxruntime", "int8"), ("native", "float32")):
            assert unsupported(config, target, precision) == {REFUSED[1]: True}
        assert unsupported(config, "portable", "float32") == {}


@pytest.mark.exhaustive
def test_portable_graphs_of_these_options_find_the_same_as_keras(
    make_model: Callable[..., Any],
    tokenizer: Tokenizer,
    texts: list[str],
    tmp_path: Path,
    randomize: Callable[..., Any],
) -> None:
    fields: dict[str, Any] = {REFUSED[0]: True, **EMITTED}
    model = randomize(make_model(**fields, embedding_norm=True, scale_embeddings=False))
    path = export_onnx(model, tokenizer, tmp_path / "artefact", target="portable")
    runtime, keras_side = OnnxTranslator(path, threads=1), Translator(model, tokenizer)
    options: dict[str, Any] = {"beam_size": 2, "max_length": 8}
    wanted = keras_side.translate_n_best(texts, **options)
    found = runtime.translate_n_best(texts, **options)
    assert [[one.ids for one in few] for few in found] == [
        [one.ids for one in few] for few in wanted
    ]
    assert [few[0].score for few in found] == pytest.approx(
        [few[0].score for few in wanted], abs=1e-3
    )
