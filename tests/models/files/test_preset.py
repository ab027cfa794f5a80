"""Presets: what is in the directory, who reads it, and what is refused."""

import dataclasses
import io
import os
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

from keras_transformer import from_pretrained, load_run
from keras_transformer.cli import main
from keras_transformer.config import TransformerConfig
from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.models.decoder_only import DecoderOnly
from keras_transformer.models.encoder_only import EncoderOnly
from keras_transformer.models.families import build_model
from keras_transformer.models.transformer import Transformer
from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.recognise import read_pretrained
from keras_transformer.text.tokenizer import Tokenizer, train_tokenizer

LAYERS = {"num_encoder_layers": 1, "num_decoder_layers": 1}
SMALL: dict[str, Any] = {"model_dim": 8, "feed_forward_dim": 16, "num_heads": 2}
CONFIGS = [
    TransformerConfig.preset("tiny", vocab_size=30, **{**SMALL, **LAYERS}),
    EncoderConfig.preset("bert-tiny", vocab_size=30, head="regression", **SMALL),
    DecoderConfig.preset("gpt2-tiny", vocab_size=30, tied_head=False, **SMALL),
]
TRANSLATION, ENCODER, DECODER = CONFIGS
CLASSES = {TransformerConfig: Transformer, EncoderConfig: EncoderOnly, DecoderConfig: DecoderOnly}


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(["a small house", "a red house", "the red mouse"], vocab_size=17)


def inputs(model: Any) -> dict[str, np.ndarray]:
    ids = np.random.default_rng(0).integers(5, 17, (4, 6), np.int32)
    return {
        tensor.name: ids if tensor.name != "token_type_ids" else ids * 0 for tensor in model.inputs
    }


@pytest.mark.parametrize("config", CONFIGS)
def test_it_comes_back_as_it_was(config: Any, tmp_path: Path) -> None:
    model = build_model(config)
    model.save_to_preset(tmp_path / "preset")
    assert sorted(os.listdir(tmp_path / "preset")) == ["config.json", "model.keras"]
    same = CLASSES[type(config)].from_preset(tmp_path / "preset")
    assert same.config == config
    np.testing.assert_array_equal(same(inputs(same)), model(inputs(model)))


def test_runs_and_presets_are_read_alike(tokenizer: Tokenizer, tmp_path: Path) -> None:
    sizes = {"source_vocab_size": tokenizer.vocab_size, "target_vocab_size": tokenizer.vocab_size}
    model = build_model(dataclasses.replace(TRANSLATION, **sizes))
    model.save_to_preset(tmp_path / "preset", tokenizer)
    for read in (load_run, from_pretrained):
        same, source, target = read(tmp_path / "preset")
        assert source is target and source.model == tokenizer.model
        np.testing.assert_array_equal(same(inputs(same)), model(inputs(model)))


def test_two_vocabularies_stay_two(tokenizer: Tokenizer, tmp_path: Path) -> None:
    other = train_tokenizer(["a house a mouse", "see a sea"], vocab_size=12)
    build_model(TRANSLATION).save_to_preset(tmp_path / "preset", tokenizer, other)
    _, source, target = from_pretrained(tmp_path / "preset")
    assert (source.model, target.model) == (tokenizer.model, other.model)


@pytest.mark.exhaustive
def test_commands_take_it_as_a_run(
    tokenizer: Tokenizer, tmp_path: Path, capsysbinary: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = DecoderConfig.preset("gpt2-tiny", vocab_size=tokenizer.vocab_size, **SMALL)
    build_model(config).save_to_preset(tmp_path / "preset", tokenizer)
    prompts = io.TextIOWrapper(io.BytesIO(b"a small\n"), encoding="utf-8")
    monkeypatch.setattr("sys.stdin", prompts)
    assert main(["generate", str(tmp_path / "preset"), "--max-length", "3"]) == 0
    assert capsysbinary.readouterr().out.count(b"\n") == 1


def test_weights_may_be_new_ones_and_dtypes_others(tmp_path: Path) -> None:
    model = build_model(DECODER)
    model.save_to_preset(tmp_path / "preset")
    new = DecoderOnly.from_preset(tmp_path / "preset", load_weights=False)
    assert new.config == DECODER
    assert np.any(new.get_weights()[0] != model.get_weights()[0])
    half = DecoderOnly.from_preset(tmp_path / "preset", dtype="mixed_bfloat16")
    assert half.dtype_policy.name == "mixed_bfloat16"
    for value, weight in zip(model.get_weights(), half.get_weights(), strict=True):
        np.testing.assert_array_equal(value, weight)


def test_it_has_neither_optimizer_nor_factors(tmp_path: Path) -> None:
    model = build_model(ENCODER)
    model.enable_lora(2)
    model.compile(keras.optimizers.Adam(0.1), "mse", run_eagerly=True)
    model.fit(inputs(model), np.ones((4, 1)), epochs=2, verbose=0)
    model.save_to_preset(tmp_path / "preset")
    same = keras.saving.load_model(tmp_path / "preset" / "model.keras")
    assert not same.compiled
    assert len(same.weights) == len(build_model(ENCODER).weights)
    np.testing.assert_allclose(same(inputs(same)), model(inputs(model)), atol=1e-5)


@pytest.mark.exhaustive
def test_a_quantized_model_keeps_its_dtypes(tmp_path: Path) -> None:
    model = build_model(ENCODER)
    model.quantize("int8")
    model.save_to_preset(tmp_path / "preset")
    same = EncoderOnly.from_preset(tmp_path / "preset")
    np.testing.assert_array_equal(same(inputs(same)), model(inputs(model)))
    with pytest.raises(ValueError, match="a quantized model, .* leave out 'bfloat16'"):
        EncoderOnly.from_preset(tmp_path / "preset", dtype="bfloat16")


def test_what_lies_there_is_kept(tokenizer: Tokenizer, tmp_path: Path) -> None:
    model = build_model(ENCODER)
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="is not empty"):
        model.save_to_preset(tmp_path)
    assert os.listdir(tmp_path) == ["notes.txt"]
    model.save_to_preset(tmp_path / "preset", tokenizer)
    model.save_to_preset(tmp_path / "preset", overwrite=True)
    assert sorted(os.listdir(tmp_path / "preset")) == ["config.json", "model.keras"]
    (tmp_path / "preset" / "checkpoints").mkdir()
    with pytest.raises(FileExistsError, match="holds a training run"):
        model.save_to_preset(tmp_path / "preset", overwrite=True)


@pytest.mark.parametrize(
    "files",
    [
        {"manifest.json": "{}", "encoder.onnx": "graph", "tokenizer.model": "theirs"},
        {"config.json": '{"model_type": "bert"}', "tokenizer.json": "{}"},
        {"config.json": "[]"},
    ],
)
def test_what_is_no_preset_is_not_overwritten(files: dict[str, str], tmp_path: Path) -> None:
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    with pytest.raises(FileExistsError, match="holds something else than a preset, .* another dir"):
        build_model(ENCODER).save_to_preset(tmp_path, overwrite=True)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == files


def test_an_adapted_model_is_the_same_after_it_was_saved(tmp_path: Path) -> None:
    model = build_model(ENCODER)
    model.enable_lora(2)
    model.set_weights([value + 0.1 for value in model.get_weights()])
    before = model.get_weights()
    model.save_to_preset(tmp_path / "preset")
    for value, saved in zip(model.get_weights(), before, strict=True):
        np.testing.assert_array_equal(value, saved)


def test_one_that_was_not_written_to_its_end_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = build_model(ENCODER)
    model.save_to_preset(tmp_path / "preset")

    def fail(*arguments: Any, **options: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(EncoderOnly, "save", fail)
    with pytest.raises(OSError, match=r"model.keras: No space left"):
        model.save_to_preset(tmp_path / "preset", overwrite=True)
    with pytest.raises(FileNotFoundError, match=r"model.keras is missing: .* is no preset, or"):
        EncoderOnly.from_preset(tmp_path / "preset")


def test_what_is_no_preset_of_the_class_is_refused(tokenizer: Tokenizer, tmp_path: Path) -> None:
    build_model(ENCODER).save_to_preset(tmp_path / "preset")
    with pytest.raises(ValueError, match="holds a model of EncoderConfig, and DecoderOnly is made"):
        DecoderOnly.from_preset(tmp_path / "preset")
    with pytest.raises(FileNotFoundError, match="is no directory: .* Nothing is downloaded"):
        DecoderOnly.from_preset("gpt2_base_en")
    with pytest.raises(FileNotFoundError, match=r"tokenizer.model is missing: .* saved without it"):
        from_pretrained(tmp_path / "preset")
    with pytest.raises(ImportRefusedError, match="a preset or a training run of this package"):
        read_pretrained(tmp_path / "preset")
    small = build_model(DecoderConfig.preset("gpt2-tiny", vocab_size=12, **SMALL))
    with pytest.raises(ValueError, match="tokenizer has 17 ids, the model 12"):
        small.save_to_preset(tmp_path / "other", tokenizer)
    with pytest.raises(ValueError, match="target_tokenizer needs the tokenizer of the source"):
        build_model(TRANSLATION).save_to_preset(tmp_path / "other", None, tokenizer)
    assert not (tmp_path / "other").exists()


def test_a_run_whose_tokenizer_is_not_the_models_is_refused(
    tokenizer: Tokenizer, tmp_path: Path
) -> None:
    build_model(ENCODER).save_to_preset(tmp_path / "preset", tokenizer)
    message = "preset: the tokenizer has 17 ids, but the model's vocab_size is 30"
    with pytest.raises(ValueError, match=message):
        load_run(tmp_path / "preset")


@pytest.mark.parametrize("size", [0, 1000])
def test_a_model_that_was_cut_is_called_damaged(
    tokenizer: Tokenizer, tmp_path: Path, size: int
) -> None:
    build_model(ENCODER).save_to_preset(tmp_path / "preset", tokenizer)
    file = tmp_path / "preset" / "model.keras"
    file.write_bytes(file.read_bytes()[:size])
    with pytest.raises(ValueError, match=r"model\.keras is damaged or cut short"):
        load_run(tmp_path / "preset")
