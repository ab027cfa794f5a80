"""The backend of Keras: found with and without Keras, and named where it is not TensorFlow."""

import sys
from pathlib import Path
from typing import Any

import keras
import pytest
from fresh_process import python

import keras_transformer as kt
from keras_transformer.keras_backend import require_tensorflow_backend

NEEDED = "needs Keras on TensorFlow, got the backend {!r}: set KERAS_BACKEND=tensorflow"
WITHOUT_KERAS = """
import sys
from keras_transformer.cli import main
code = main(sys.argv[1:])
print(code, "keras" in sys.modules)
"""


@pytest.fixture
def on_jax(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")


@pytest.fixture
def without_keras(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A process in which Keras is not imported; the directory of its settings."""
    monkeypatch.delitem(sys.modules, "keras")
    monkeypatch.delenv("KERAS_BACKEND", raising=False)
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    return tmp_path


def test_tensorflow_serves() -> None:
    require_tensorflow_backend("this")


def test_before_its_import_keras_has_its_default(without_keras: Path) -> None:
    require_tensorflow_backend("this")
    for content in ("{}", "[]", "{"):
        (without_keras / "keras.json").write_text(content)
        require_tensorflow_backend("this")


def test_the_environment_wins_over_the_file(
    without_keras: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (without_keras / "keras.json").write_text('{"backend": "torch"}')
    with pytest.raises(ValueError, match="this " + NEEDED.format("torch")):
        require_tensorflow_backend("this")
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    with pytest.raises(ValueError, match=NEEDED.format("jax")):
        require_tensorflow_backend("this")
    monkeypatch.setenv("KERAS_BACKEND", "tensorflow")
    require_tensorflow_backend("this")


@pytest.mark.usefixtures("on_jax")
def test_training_refuses_other_backends_before_any_work(tmp_path: Path) -> None:
    corpus: Any = None
    with pytest.raises(ValueError, match="train " + NEEDED.format("jax")):
        kt.train(corpus, tmp_path / "run")
    with pytest.raises(ValueError, match="train_texts " + NEEDED.format("jax")):
        kt.train_texts("masked-lm", corpus, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_what_reads_and_writes_texts_refuses_other_backends(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    sizes = {"model_dim": 8, "feed_forward_dim": 8, "num_heads": 2}
    tokenizer = kt.train_tokenizer(["ab ba abba"] * 3, 8)
    given: dict[str, Any] = {"vocab_size": 8, "num_layers": 1, **sizes}
    both = {"num_encoder_layers": 1, "num_decoder_layers": 1, **sizes}
    models: dict[Any, Any] = {
        kt.Translator: kt.build_transformer(
            kt.TransformerConfig.preset("tiny", vocab_size=8, **both)
        ),
        kt.Generator: kt.build_decoder(kt.DecoderConfig.preset("gpt2-tiny", **given)),
        kt.TextEncoder: kt.build_encoder(kt.EncoderConfig.preset("bert-tiny", **given)),
    }
    request.getfixturevalue("on_jax")
    for pipeline, model in models.items():
        with pytest.raises(ValueError, match=pipeline.__name__ + " " + NEEDED.format("jax")):
            pipeline(model, tokenizer)


def test_a_command_names_the_backend_without_loading_keras(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    for name in ("config.json", "model.keras"):
        (tmp_path / name).write_bytes(b"")
    config = kt.EncoderConfig.preset("bert-tiny", vocab_size=100, head="masked_lm")
    (tmp_path / "config.json").write_text(config.to_json())
    done = python("-c", WITHOUT_KERAS, "fill-mask", tmp_path, given="a dog\n")
    assert done.stdout == "1 False\n"
    assert done.stderr.splitlines()[-1] == (
        "keras-transformer fill-mask: error: this command "
        + NEEDED.format("torch")
        + " before Keras is imported."
    )
