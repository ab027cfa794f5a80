"""The CTranslate2 model is the Keras model: same probabilities, same ids."""

from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np
import pytest
from speed.ctranslate2_model import write_ctranslate2
from speed.random_run import randomize, synthetic_tokenizer

from keras_transformer.config import TransformerConfig
from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.models.transformer import build_transformer
from keras_transformer.text.tokenizer import Tokenizer

BOS_ID, EOS_ID = SpecialIds.bos, SpecialIds.eos

VOCABULARY = 200
LENGTH = 5
SOURCES = [[17, 5, 99, 42, 8], [61, 120], [4, 4, 4, 150, 33, 7, 81]]
VARIANTS = {
    "post": {},
    "pre": {"norm": "pre", "layer_norm_epsilon": 1e-3},
    "learned": {"positions": "learned", "max_positions": 12, "share_embeddings": "target"},
    "separate": {"norm": "pre", "share_embeddings": "none", "num_encoder_layers": 1},
}


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return synthetic_tokenizer(VOCABULARY)


def make(**fields: Any) -> Any:
    sizes = {"model_dim": 16, "feed_forward_dim": 24, "num_heads": 2}
    layers = {"num_encoder_layers": 2, "num_decoder_layers": 2}
    model = build_transformer(
        TransformerConfig(source_vocab_size=VOCABULARY, **{**sizes, **layers, **fields})
    )
    randomize(model)
    return model


@pytest.fixture(scope="module", params=VARIANTS.values(), ids=list(VARIANTS))
def engines(request: Any, tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A Keras model and the CTranslate2 translator made of it."""
    model = make(**request.param)
    directory = tmp_path_factory.mktemp("peer")
    write_ctranslate2(model, tokenizer, tokenizer, directory)
    return model, ctranslate2.Translator(str(directory), intra_threads=1)


def log_probabilities(model: Any, source: list[int], targets: list[list[int]]) -> np.ndarray:
    """Of every next token after each target: `(targets, length + 1, vocabulary)`."""
    source_ids = np.array([[*source, EOS_ID]] * len(targets))
    target_ids = np.array([[BOS_ID, *target] for target in targets])
    logits = np.asarray(model({"source_ids": source_ids, "target_ids": target_ids}), np.float64)
    logits -= logits.max(axis=-1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))


def search(model: Any, source: list[int], beam_size: int) -> list[int]:
    """The best of `LENGTH` tokens that beam search finds, the slow way."""
    beams: list[tuple[float, list[int]]] = [(0.0, [])]
    for _ in range(LENGTH):
        scores = log_probabilities(model, source, [ids for _, ids in beams])[:, -1]
        scores[:, EOS_ID] = -np.inf
        longer = [
            (total + row[token], [*ids, int(token)])
            for (total, ids), row in zip(beams, scores, strict=True)
            for token in np.argsort(-row)[:beam_size]
        ]
        beams = sorted(longer, key=lambda beam: -beam[0])[:beam_size]
    return beams[0][1]


@pytest.mark.parametrize("beam_size", [1, 4])
def test_both_find_the_same_ids(engines: Any, tokenizer: Tokenizer, beam_size: int) -> None:
    model, translator = engines
    found = translator.translate_batch(
        [tokenizer.pieces(source) for source in SOURCES],
        beam_size=beam_size,
        min_decoding_length=LENGTH,
        max_decoding_length=LENGTH,
    )
    expected = [tokenizer.pieces(search(model, source, beam_size)) for source in SOURCES]
    assert [result.hypotheses[0] for result in found] == expected


def test_both_give_the_same_log_probabilities(engines: Any, tokenizer: Tokenizer) -> None:
    model, translator = engines
    target = [9, 199, 64, 64, 5]
    pieces = tokenizer.pieces(target)
    found = translator.score_batch([tokenizer.pieces(s) for s in SOURCES], [pieces] * len(SOURCES))
    for source, result in zip(SOURCES, found, strict=True):
        rows = log_probabilities(model, source, [target])[0]
        expected = [row[token] for row, token in zip(rows, [*target, EOS_ID], strict=True)]
        np.testing.assert_allclose(result.log_probs, expected, atol=1e-4)


def test_int8_weights_take_a_quarter(tokenizer: Tokenizer, tmp_path: Path) -> None:
    model = make()
    sizes = []
    for quantization in (None, "int8"):
        write_ctranslate2(model, tokenizer, tokenizer, tmp_path / "peer", quantization)
        matrices = sum(int(np.prod(weight.shape)) for weight in model.weights)
        table = 1024 * model.config.model_dim * 4
        sizes.append(((tmp_path / "peer" / "model.bin").stat().st_size - table) / matrices)
    assert sizes[0] > 4
    assert sizes[1] < 0.6 * sizes[0]


def test_the_tokenizers_are_written_beside_it(tokenizer: Tokenizer, tmp_path: Path) -> None:
    write_ctranslate2(make(), tokenizer, tokenizer, tmp_path / "peer")
    for side in ("source", "target"):
        assert (tmp_path / "peer" / f"{side}.model").read_bytes() == tokenizer.model


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"activation": "tanh"}, "activation must be one of relu, .* for CTranslate2, got 'tanh'"),
        ({"value_dim": 4}, "key_dim and value_dim must be model_dim / num_heads"),
        ({"key_dim": 4, "value_dim": 4}, "got 4 and 4 for 16 / 2"),
    ],
)
def test_what_ctranslate2_has_not_is_refused(
    fields: dict[str, Any], message: str, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=message):
        write_ctranslate2(make(**fields), tokenizer, tokenizer, tmp_path / "peer")
    assert not (tmp_path / "peer").exists()
