"""Training options: what they refuse, and that they go into a JSON file."""

import json

import pytest

from keras_transformer.training.run.options import TrainOptions, TrainPlan

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
        ({"final_model": "last"}, "final_model must be one of auto, average, best, got 'last'"),
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
    ("values", "option"),
    [
        ({"patience": 3}, "patience"),
        ({"final_model": "best"}, "final_model"),
        ({"early_stopping": "chrf"}, "early_stopping='chrf' chooses by the chrF"),
    ],
)
def test_choices_by_validation_need_validation_pairs(values: dict, option: str) -> None:
    options = TrainOptions(**values)
    options.check_validation(has_valid=True)
    TrainOptions().check_validation(has_valid=False)
    with pytest.raises(ValueError, match=f"{option}.* but there are no validation pairs"):
        options.check_validation(has_valid=False)


def test_translations_to_stop_by_need_a_task_that_translates() -> None:
    with pytest.raises(ValueError, match="early_stopping='bleu' goes by .* classify translates no"):
        TrainOptions(early_stopping="bleu").check_translations("classify")
    with pytest.raises(ValueError, match="early_stopping='chrf' .* bleu_sentences=0 leaves them"):
        TrainOptions(early_stopping="chrf", bleu_sentences=0)
    TrainOptions(early_stopping="loss", bleu_sentences=0).check_translations("classify")


def test_noise_is_for_texts_to_translate_and_to_classify() -> None:
    TrainOptions(noise=("emoji=0.1",)).check_translations("classify")
    with pytest.raises(ValueError, match="noise=emoji=0.1 .* not into those of tag: leave it out"):
        TrainOptions(noise=("emoji=0.1",)).check_translations("tag")
    with pytest.raises(ValueError, match="noise=merged=0.1 merges texts.* leave merged out"):
        TrainOptions(noise=("merged=0.1",)).check_translations("classify")


def test_soft_terms_are_a_share_of_translations() -> None:
    for share in (-0.1, 1.5):
        with pytest.raises(ValueError, match=rf"share of pairs in \[0, 1\], got {share}"):
            TrainOptions(soft_terms=share)
    with pytest.raises(ValueError, match="soft_terms=0.5 are translations of terms, and tag "):
        TrainOptions(soft_terms=0.5).check_translations("tag")


def test_what_is_left_open_is_filled_and_nothing_else() -> None:
    options = TrainOptions(epochs=3, r_drop=0.0, clip_norm=None)
    filled = options.filled({"epochs": 9, "r_drop": 5.0, "learning_rate": 0.1, "other": 1})
    assert (filled.epochs, filled.r_drop, filled.learning_rate) == (3, 0, 0.1)
    assert (filled.clip_norm, filled.warmup_steps) == (None, None)


def test_adam_is_the_papers() -> None:
    plan = TrainPlan()
    assert (plan.beta_2, plan.epsilon, plan.label_smoothing) == (0.98, 1e-9, 0.1)


def test_a_preset_decides_what_does_not_depend_on_the_corpus() -> None:
    options = TrainOptions.preset("tiny", r_drop=0.0)
    assert (options.optimizer, options.learning_rate, options.r_drop) == ("muon", 0.004, 0)
    assert (options.epochs, options.batch_tokens, options.warmup_steps) == (None, None, None)
    with pytest.raises(ValueError, match="preset must be one of tiny, small, base, big.*'huge'"):
        TrainOptions.preset("huge")


def test_json_round_trip() -> None:
    options = TrainOptions(max_steps=7, clip_norm=0.5)
    assert TrainOptions(**json.loads(json.dumps(options.to_dict()))) == options
