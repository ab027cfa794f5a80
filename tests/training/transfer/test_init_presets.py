"""`train --init` starts from a preset as from a run: its weights, its config, its vocabulary."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_transformer import load_run
from keras_transformer.cli import main
from keras_transformer.config import TransformerConfig
from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.models.families import build_model
from keras_transformer.text.tokenizer import Tokenizer, train_tokenizer

pytestmark = pytest.mark.usefixtures("few_updates")

LINES = ["a small house", "a red house", "the red mouse"]
SMALL: dict[str, Any] = {"model_dim": 8, "feed_forward_dim": 16, "num_heads": 2}
# A step too small to see: what comes out is what training began with.
FLAGS = "--max-steps 1 --learning-rate 1e-9 --final-model average --average-checkpoints 1"
KINDS = {
    "translation": (
        TransformerConfig,
        "tiny",
        {"num_encoder_layers": 1, "num_decoder_layers": 1},
        "--data files --train-source {0} --train-target {0}",
    ),
    "causal-lm": (
        DecoderConfig,
        "gpt2-tiny",
        {"num_layers": 1},
        "--task causal-lm --train-text {0}",
    ),
}


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(LINES, vocab_size=17)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text"
    path.write_text("".join(f"{line}\n" for line in LINES * 10), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "kind", [pytest.param("translation", marks=pytest.mark.exhaustive), "causal-lm"]
)
def test_training_goes_on_from_a_preset(
    kind: str, tokenizer: Tokenizer, text: Path, tmp_path: Path
) -> None:
    config_class, size, layers, data = KINDS[kind]
    config = config_class.preset(size, vocab_size=tokenizer.vocab_size, **SMALL, **layers)
    model = build_model(config)
    model.save_to_preset(tmp_path / "preset", tokenizer)
    words = ["--init", str(tmp_path / "preset"), "--output", str(tmp_path / "run")]
    assert main(["train", *data.format(text).split(), *words, *FLAGS.split()]) == 0
    trained, source, _ = load_run(tmp_path / "run")
    assert trained.config == config
    assert source.model == tokenizer.model
    for found, begun in zip(trained.get_weights(), model.get_weights(), strict=True):
        np.testing.assert_allclose(found, begun, atol=1e-6)


def test_a_preset_without_its_tokenizer_is_refused_in_one_line(
    tokenizer: Tokenizer, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, _, layers, _ = KINDS["translation"]
    config = TransformerConfig.preset("tiny", vocab_size=tokenizer.vocab_size, **SMALL, **layers)
    build_model(config).save_to_preset(tmp_path / "preset")
    words = ["--init", str(tmp_path / "preset"), "--output", str(tmp_path / "run")]
    data = KINDS["translation"][3].format(text).split()
    assert main(["train", *data, *words]) == 1
    [message] = capsys.readouterr().err.splitlines()
    assert "tokenizer.model is missing" in message and "preset" in message
