"""LoRA files: what is in them, where they fit, and what is refused."""

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

from keras_transformer.config import TransformerConfig
from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.models.families import build_model

SMALL: dict[str, Any] = {"model_dim": 8, "feed_forward_dim": 16, "num_heads": 2}
ENCODER = EncoderConfig.preset(
    "bert-tiny", vocab_size=20, head="classification", labels=("a", "b"), **SMALL
)
DECODER = DecoderConfig.preset("gpt2-tiny", vocab_size=20, **SMALL)
LAYERS = {"num_encoder_layers": 1, "num_decoder_layers": 1}
TRANSLATION = TransformerConfig.preset("tiny", vocab_size=20, **{**SMALL, **LAYERS})
HEAD = ("head/linear/kernel", "head/linear/bias")


def inputs(model: Any) -> dict[str, np.ndarray]:
    ids = np.random.default_rng(0).integers(5, 20, (4, 6), np.int32)
    return {
        tensor.name: ids if tensor.name != "token_type_ids" else ids * 0 for tensor in model.inputs
    }


def adapted(model: Any, rank: int = 2, **options: Any) -> Any:
    """Adapts a model and changes all that is trained."""
    model.enable_lora(rank, **options)
    for weight in model.trainable_weights:
        weight.assign(keras.random.normal(weight.shape, seed=1))
    return model


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "mine.lora.npz"


@pytest.mark.parametrize("config", [ENCODER, DECODER, TRANSLATION])
def test_a_file_makes_the_adapted_model_of_the_plain_one(config: Any, file: Path) -> None:
    plain = build_model(config)
    other = build_model(config)
    other.set_weights(plain.get_weights())
    model = adapted(plain, lora_alpha=3, target_layer_names=["query", "hidden"])
    model.save_lora_weights(file)
    other.load_lora_weights(file)
    np.testing.assert_array_equal(other(inputs(other)), model(inputs(model)))
    assert [w.path for w in other.trainable_weights] == [w.path for w in model.trainable_weights]


def test_the_file_has_what_is_trained_alone(file: Path) -> None:
    model = build_model(ENCODER)
    plain = model.get_weights()
    adapted(model, fresh=HEAD)
    model.save_lora_weights(file)
    with np.load(file) as saved:
        assert set(saved.files) == {"settings", *(w.path for w in model.trainable_weights)}
    assert set(HEAD) < {weight.path for weight in model.trainable_weights}
    other = build_model(ENCODER)
    other.set_weights(model.merge_lora().get_weights())
    with pytest.raises(ValueError, match="was trained beside other weights of these shapes. Load"):
        other.load_lora_weights(file)
    assert len(other.trainable_weights) == len(other.weights)
    for weight, value in zip(other.weights, plain, strict=True):
        weight.assign(value)
    other.load_lora_weights(file)
    for weight in model.trainable_weights:
        [found] = [w for w in other.trainable_weights if w.path == weight.path]
        np.testing.assert_array_equal(found, weight)


def test_training_goes_on_from_a_file(file: Path) -> None:
    model = adapted(build_model(ENCODER))
    model.save_lora_weights(file)
    values = [np.array(weight) for weight in model.trainable_weights]
    for weight in model.trainable_weights:
        weight.assign(weight * 2)
    model.load_lora_weights(file)
    for weight, value in zip(model.trainable_weights, values, strict=True):
        np.testing.assert_array_equal(weight, value)


def test_a_file_adapts_a_quantized_model(file: Path) -> None:
    model = build_model(ENCODER)
    quantized = build_model(ENCODER)
    quantized.set_weights(model.get_weights())
    quantized.quantize("int8")
    before = np.asarray(quantized(inputs(quantized)))
    adapted(model).save_lora_weights(file)
    quantized.load_lora_weights(file)
    after = np.asarray(quantized(inputs(quantized)))
    assert np.abs(after - before).max() > 0.01
    np.testing.assert_allclose(after, model(inputs(model)), atol=0.1)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (DECODER, "does not fit the model: the file has encoder/.*, the model has not"),
        (
            EncoderConfig.preset("bert-tiny", vocab_size=20, **{**SMALL, "model_dim": 12}),
            r"does not fit the model: .* has the shape \(8, 2\) in the file, \(12, 2\) in",
        ),
        (
            EncoderConfig.preset("bert-tiny", vocab_size=20, num_layers=1, **SMALL),
            "the file has encoder/block_1/.*, the model has not",
        ),
    ],
)
def test_a_model_that_it_does_not_fit_stays_as_it_is(config: Any, message: str, file: Path) -> None:
    adapted(build_model(ENCODER)).save_lora_weights(file)
    model = build_model(config)
    before = model.get_weights()
    with pytest.raises(ValueError, match=message):
        model.load_lora_weights(file)
    assert len(model.trainable_weights) == len(before) == len(model.weights)
    for value, weight in zip(before, model.weights, strict=True):
        np.testing.assert_array_equal(weight, value)


def test_another_rank_is_refused_by_an_adapted_model(file: Path) -> None:
    adapted(build_model(ENCODER)).save_lora_weights(file)
    model = adapted(build_model(ENCODER), rank=3)
    with pytest.raises(ValueError, match="has LoRA with rank 2 and alpha 2, the model with rank 3"):
        model.load_lora_weights(file)


def test_other_layers_are_refused_by_an_adapted_model(file: Path) -> None:
    adapted(build_model(ENCODER)).save_lora_weights(file)
    model = adapted(build_model(ENCODER), target_layer_names=["query"])
    with pytest.raises(ValueError, match="the file has .*, the model has not"):
        model.load_lora_weights(file)


@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_a_cut_file_is_refused(share: float, file: Path) -> None:
    adapted(build_model(ENCODER)).save_lora_weights(file)
    content = file.read_bytes()
    file.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ValueError, match=r"mine.lora.npz is no LoRA file, or damaged"):
        build_model(ENCODER).load_lora_weights(file)


def test_a_file_of_something_else_is_refused(file: Path) -> None:
    np.savez(file, kernel=np.zeros(3))
    with pytest.raises(ValueError, match="is no LoRA file: it has no settings"):
        build_model(ENCODER).load_lora_weights(file)
    with pytest.raises(FileNotFoundError, match=r"no such file: .*none.lora.npz"):
        build_model(ENCODER).load_lora_weights(file.with_name("none.lora.npz"))


def test_a_file_that_cannot_be_written_leaves_nothing(file: Path, monkeypatch: Any) -> None:
    model = adapted(build_model(ENCODER))
    model.save_lora_weights(file)
    before = file.read_bytes()

    def fail(path: Path, **arrays: Any) -> None:
        Path(path).write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", fail)
    with pytest.raises(OSError, match=r"mine.lora.npz: No space left on device. .* make room"):
        model.save_lora_weights(file)
    assert file.read_bytes() == before
    assert list(file.parent.iterdir()) == [file]


def test_what_cannot_be_saved_is_named(file: Path) -> None:
    with pytest.raises(ValueError, match=r"no LoRA weights to save: call enable_lora\(rank\)"):
        build_model(ENCODER).save_lora_weights(file)
    with pytest.raises(ValueError, match=r"must end in .lora.npz, got mine.h5"):
        adapted(build_model(ENCODER)).save_lora_weights(file.with_name("mine.h5"))
