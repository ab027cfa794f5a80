"""Files of models and layers whose configs named every option of a block beside the others, before
blocks were described by nested values: they load, and compute what they computed.

Each `NAME.keras` stands beside its inputs and the answer that it gave, `NAME.npz`.
"""

import tarfile
from collections.abc import Callable
from pathlib import Path

import keras
import numpy as np
import pytest

from tools.covering import some

# "layers" is a functional model of the layers themselves, as users build it.
NAMES = (
    "t5",
    "umt5",
    "marian_ssru",
    "bert",
    "llama",
    "transformer_xl",
    "quantized_and_frozen",
    "layers",
)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("flat")
    with tarfile.open(Path(__file__).with_name("models.tar.xz")) as archive:
        archive.extractall(folder, filter="data")
    return folder


@pytest.fixture
def answers(files: Path) -> Callable[[keras.Model, str], None]:
    """Checks that a model gives the answer that it gave."""

    def check(model: keras.Model, name: str) -> None:
        given = dict(np.load(files / f"{name}.npz"))
        expected = given.pop("answer")
        np.testing.assert_allclose(model(given), expected, atol=1e-6, rtol=1e-5)

    return check


@pytest.mark.parametrize("name", some(NAMES, "marian_ssru", "llama", "quantized_and_frozen"))
def test_a_model_loads_and_is_saved_again(files: Path, tmp_path: Path, name: str, answers) -> None:
    model = keras.saving.load_model(files / f"{name}.keras")
    answers(model, name)
    model.save(tmp_path / "again.keras")
    again = keras.saving.load_model(tmp_path / "again.keras")
    answers(again, name)
    assert [one.path for one in again.weights] == [one.path for one in model.weights]
    assert [one.path for one in again.trainable_weights] == [
        one.path for one in model.trainable_weights
    ]


def test_what_was_frozen_and_quantized_still_is(files: Path) -> None:
    model = keras.saving.load_model(files / "quantized_and_frozen.keras")
    block = model.decoder_stack.blocks[0]
    assert {one.quantization_mode for one in block.self_attention.linear_layers} == {"int8"}
    assert not block.feed_forward.trainable_weights and not model.embeddings.trainable_weights
    assert block.self_attention_residual.trainable_weights
