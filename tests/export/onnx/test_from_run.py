"""A run is exported with what it knows of its model: tokenizers, threshold and training text."""

from pathlib import Path
from typing import Any

import pytest

from keras_transformer.cli.commands.export import main
from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.data.sources.corpus import Corpus, Pairs
from keras_transformer.export import Manifest, OnnxTranslator, export_run
from keras_transformer.models.decoder_only import build_decoder
from keras_transformer.models.encoder_only import build_encoder
from keras_transformer.training.run.options import TrainOptions
from keras_transformer.training.run.train import train

pytestmark = pytest.mark.usefixtures("few_updates")

LINES = ["the red dog runs", "we see three birds. hello!", "you buy a book", "hello, how are you?"]
SIZES = {"model_dim": 16, "feed_forward_dim": 16, "num_heads": 2, "num_decoder_layers": 1}


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(True, marks=pytest.mark.exhaustive, id="joint"),
        pytest.param(False, id="two vocabularies"),
    ],
)
def run(request: pytest.FixtureRequest, tmp_path_factory: Any) -> Path:
    pairs = Pairs(LINES * 4, [line.upper() for line in LINES] * 4, origin="test")
    directory = tmp_path_factory.mktemp("run") / "run"
    # Short sentences are soon translated.
    short = Pairs(["red", "you"], ["RED", "YOU"], origin="test")
    train(
        Corpus(pairs, short),
        directory,
        overrides={**SIZES, "num_encoder_layers": 1},
        vocab_size=45,
        tokenizer_type="bpe",
        joint_vocabulary=request.param,
        options=TrainOptions(epochs=1, bleu_sentences=2, jit_compile=False),
    )
    return directory


def test_an_artefact_of_a_run_has_its_threshold_and_record(run: Path, tmp_path: Path) -> None:
    manifest = Manifest.read(export_run(run, tmp_path / "own"))
    assert manifest.min_score is not None and manifest.min_score < 0
    assert manifest.training_text is not None
    assert manifest.training_text.longest_source >= 4
    with OnnxTranslator(tmp_path / "own") as translator:
        assert len(translator.translate(LINES, max_length=5)) == len(LINES)
    given = export_run(run, tmp_path / "given", min_score=-9.0, training_text=None)
    assert (Manifest.read(given).min_score, Manifest.read(given).training_text) == (-9.0, None)


def test_what_is_no_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="is not a run directory of .* is empty"):
        export_run(tmp_path, tmp_path / "exported")


@pytest.mark.parametrize("family", ["encoder", "decoder"])
def test_a_run_of_one_stack_is_exported(
    family: str, tokenizer: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes = {"model_dim": 16, "feed_forward_dim": 16, "num_heads": 2, "num_layers": 1}
    sizes |= {"vocab_size": tokenizer.vocab_size, "special_ids": tokenizer.special_ids}
    if family == "encoder":
        model: Any = build_encoder(EncoderConfig(head="masked_lm", **sizes))
    else:
        model = build_decoder(DecoderConfig(**sizes))
    run = tmp_path / "run"
    run.mkdir()
    (run / "config.json").write_text(model.config.to_json())
    model.save(run / "model.keras")
    tokenizer.save(run / "tokenizer.model")
    output = tmp_path / "exported"
    assert main([str(run), "--format", "onnx", "--output", str(output)]) == 0
    assert f"exported {run} to {output}" in capsys.readouterr().out
    manifest = Manifest.read(output)
    assert (manifest.family, manifest.min_score, manifest.training_text) == (family, None, None)
    assert set(manifest.tokenizers) == {"text"}
