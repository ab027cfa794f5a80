"""A run's threshold of low confidence: what its own translations of validation sentences score."""

from pathlib import Path

import pytest

from keras_transformer.data.sources.corpus import Corpus, Pairs
from keras_transformer.decoding.translator import Translator
from keras_transformer.runs.finished_run import load_run
from keras_transformer.runs.run_directory import load_min_score
from keras_transformer.search.confidence import calibrated, token_score
from keras_transformer.training.run.options import TrainOptions
from keras_transformer.training.run.train import train

pytestmark = pytest.mark.usefixtures("few_updates")

WORDS = ("ab", "ba", "cad", "dac", "bed", "deb")
SIZE = {"model_dim": 8, "feed_forward_dim": 12, "num_heads": 2}


@pytest.mark.exhaustive
def test_a_run_stores_what_its_validation_translations_score(tmp_path: Path) -> None:
    lines = [f"{a} {b}" for a in WORDS for b in WORDS]
    pairs = Pairs(lines[:30], lines[:30], "words")
    corpus = Corpus(train=pairs, valid=Pairs(WORDS[:3], WORDS[:3], "w"))
    options = TrainOptions(max_steps=1, batch_tokens=96, warmup_steps=4, bleu_sentences=3)
    layers = {"num_encoder_layers": 1, "num_decoder_layers": 1}
    train(corpus, tmp_path, options=options, overrides=SIZE | layers, vocab_size=14)
    model, source, target = load_run(tmp_path)
    found = Translator(model, source, target).translate_ids(
        source.encode(WORDS[:3]), max_length_ratio=2.0, max_length=20
    )
    expected = calibrated(token_score(ids, total) for [(ids, _, total)] in found)
    assert abs(load_min_score(tmp_path) - expected) < 1e-4
    (tmp_path / "training.json").unlink()
    assert load_min_score(tmp_path) is None
