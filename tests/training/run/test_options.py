"""Training options: what they refuse, and that they go into a JSON file."""

import json

import pytest

from keras_transformer.config import PRESETS, TransformerConfig
from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.training.recipes import RECIPES
from keras_transformer.training.run.options import TrainOptions

COUNTS = (
    "epochs",
    "max_steps",
    "batch_tokens",
    "warmup_steps",
    "average_checkpoints",
    "patience",
    "checkpoint_steps",
    "micro_batches",
)


@pytest.mark.parametrize(
    ("name", "range_"),
    [
        *((name, "at least 1") for name in COUNTS),
        *((name, "positive") for name in ("learning_rate", "epsilon", "clip_norm")),
    ],
)
@pytest.mark.parametrize("value", [0, -3])
def test_sizes_and_rates_are_positive(name: str, range_: str, value: int) -> None:
    with pytest.raises(ValueError, match=f"{name} must be {range_}, got {value}"):
        TrainOptions(**{name: value})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"learning_rate": float("nan")}, "learning_rate must be positive, got nan"),
        ({"learning_rate": float("inf")}, "learning_rate must be positive, got inf"),
        ({"beta_2": 1.0}, r"beta_2 must lie in \[0, 1\), got 1.0"),
        ({"max_length": 1}, "max_length must be at least 2"),
        ({"r_drop": -0.5}, r"r_drop must be at least 0, got -0.5"),
        ({"label_smoothing": 1.0}, r"label_smoothing must lie in \[0, 1\), got 1.0"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
        ({"final_model": "last"}, "final_model must be one of average, best, got 'last'"),
        ({"dtype_policy": "mixed_float16"}, "one of float32, mixed_bfloat16, got 'mixed_float16'"),
        ({"strategy": "all"}, "strategy must be one of mirrored, multi-worker, got 'all'"),
        ({"freeze": "decoder"}, "'embeddings', 'encoder' or a number of blocks, got 'decoder'"),
    ],
)
def test_a_value_out_of_range_is_named(values: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TrainOptions(**values)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"epochs": 1.5}, "epochs must be an integer, got 1.5"),
        ({"max_steps": True}, "max_steps must be an integer, got True"),
        ({"epochs": None}, "epochs must be an integer, got None"),
        ({"seed": "1"}, "seed must be an integer, got '1'"),
        ({"learning_rate": "0.1"}, "learning_rate must be a number, got '0.1'"),
        ({"freeze": 2}, "freeze must be a string, got 2"),
        ({"subword_sampling": "no"}, "subword_sampling must be True or False, got 'no'"),
        ({"deterministic": "false"}, "deterministic must be True or False, got 'false'"),
        ({"jit_compile": 0.5}, "jit_compile must be True or False, got 0.5"),
        ({"recompute": None}, "recompute must be True or False, got None"),
    ],
)
def test_a_value_of_the_wrong_type_is_named(values: dict, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        TrainOptions(**values)


@pytest.mark.parametrize(
    ("values", "option"), [({"patience": 3}, "patience"), ({"final_model": "best"}, "final_model")]
)
def test_choices_by_validation_need_validation_pairs(values: dict, option: str) -> None:
    options = TrainOptions(**values)
    options.check_validation(has_valid=True)
    TrainOptions().check_validation(has_valid=False)
    with pytest.raises(ValueError, match=f"{option}.* but there are no validation pairs"):
        options.check_validation(has_valid=False)


def test_only_some_may_be_left_open() -> None:
    options = TrainOptions(max_steps=None, clip_norm=None, checkpoint_steps=None)
    assert (options.max_steps, options.clip_norm, options.checkpoint_steps) == (None, None, None)


def test_adam_is_the_papers() -> None:
    options = TrainOptions()
    assert (options.beta_2, options.epsilon, options.label_smoothing) == (0.98, 1e-9, 0.1)


def test_every_preset_has_a_recipe() -> None:
    presets = [*PRESETS, *EncoderConfig.presets, *DecoderConfig.presets]
    assert list(RECIPES) == presets


@pytest.mark.parametrize("preset", ["base", "big"])
def test_the_papers_presets_rise_to_the_papers_peak(preset: str) -> None:
    options = TrainOptions.preset(preset)
    width = TransformerConfig.preset(preset, vocab_size=100).model_dim
    assert options.learning_rate == pytest.approx((width * options.warmup_steps) ** -0.5, rel=0.02)
    assert (options.warmup_steps, options.cooldown, options.r_drop) == (4000, 0, 0)


def test_small_corpora_are_trained_with_muon_and_r_drop() -> None:
    tiny, small = map(TrainOptions.preset, ("tiny", "small"))
    assert tiny.optimizer == small.optimizer == "muon"
    assert (tiny.r_drop, tiny.epochs, tiny.average_checkpoints) == (3, 22, 4)
    assert (small.r_drop, small.epochs, small.average_checkpoints) == (5, 36, 6)


@pytest.mark.parametrize(("preset", "averaged"), [("tiny", 10), ("base", 5), ("big", 20)])
def test_denoising_is_trained_with_adam(preset: str, averaged: int) -> None:
    options = TrainOptions.for_denoising(preset)
    assert (options.optimizer, options.r_drop, options.epochs) == ("adam", 0, 20)
    assert options.average_checkpoints == averaged


def test_a_recipe_takes_overrides() -> None:
    options = TrainOptions.preset("tiny", epochs=3, r_drop=0.0)
    assert (options.epochs, options.r_drop, options.average_checkpoints) == (3, 0, 4)


def test_an_unknown_recipe_is_named() -> None:
    with pytest.raises(ValueError, match="preset must be one of tiny, small, base, big.*'huge'"):
        TrainOptions.preset("huge")


def test_json_round_trip() -> None:
    options = TrainOptions(max_steps=7, clip_norm=0.5)
    assert TrainOptions(**json.loads(json.dumps(options.to_dict()))) == options


@pytest.mark.parametrize(
    ("preset", "rate"), [("tiny", 0.0004), ("small", 0.0004), ("base", 0.00007), ("big", 0.00005)]
)
def test_fine_tuning_takes_as_much_of_the_presets_rate_as_what_is_mixed_in_bears(
    preset: str, rate: float
) -> None:
    config = TransformerConfig.preset(preset, vocab_size=100)
    options = TrainOptions.for_fine_tuning(config, has_valid=True, is_text=False, epochs=3)
    assert (options.learning_rate, options.warmup_steps, options.rehearsal) == (rate, 50, 0)
    assert rate == pytest.approx(TrainOptions.preset(preset).learning_rate / 10, rel=0.01)
    assert (options.epochs, options.r_drop, options.final_model) == (3, 0, "best")
    alone = TrainOptions.for_fine_tuning(config, has_valid=True)
    assert alone.learning_rate == pytest.approx(5 * rate, rel=0.2)
    assert (alone.warmup_steps, alone.rehearsal) == (200, 1)
    mixed = TrainOptions.for_fine_tuning(config, has_valid=True, has_general=True)
    assert mixed.learning_rate == pytest.approx(10 * rate)
    assert (mixed.warmup_steps, mixed.rehearsal) == (500, 0)


def test_wide_models_that_are_pre_norm_are_fine_tuned_as_the_papers() -> None:
    config = TransformerConfig.preset("big", vocab_size=100, norm="pre")
    options = TrainOptions.for_fine_tuning(config, has_valid=False, is_text=False)
    assert options.learning_rate == 0.00005
